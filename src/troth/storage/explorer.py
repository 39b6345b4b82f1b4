"""What a run keeps of its dialogues for people to look at: `dialogues.jsonl.gz`, a line each after a first one.

Texts, gold and predicted states, and a verdict on every unit and slot. The runners write it when a run is saved, the
page is made from it; nothing is scored again.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.records import Speaker
from troth.storage.trajectory_views import TrajectoryView

NAME = "dialogues.jsonl.gz"
LAYOUT = 1  # raised when a reader of the old one would go wrong
LONGEST = 10**8  # bytes of one record: a small packed record may unpack to any size

T = TypeVar("T")
States = dict[str, dict[str, tuple[str, ...]]]  # service to slot to values
Kind = Literal["missed", "invented", "wrong", "stale"]
KINDS: dict[Kind, str] = {
    "missed": "gold has the slot, the prediction has not",
    "invented": "the prediction has a slot that gold has not",
    "wrong": "both have the slot, with values that do not match",
    "stale": "the prediction keeps a value that gold has given up",
}


class Utterance(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    index: int  # into the dialogue's turns
    speaker: Speaker
    text: str
    number: int | None = None  # a user turn's number, as scores and errors call it
    state: States | None = None  # gold's


class UnitView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is right or wrong as a whole: a frame, or a turn (then the service is empty)."""

    service: str
    joint: float
    blamed: int | None = (
        None  # the turn whose mistake this is, its own number for a fresh one; None: right, or nobody's
    )


class SlotFault(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A slot that is not right, and the turn since which it has not been."""

    service: str
    slot: str
    kind: Kind
    since: int
    score: float = 0.0  # of a value that is nearly right, under fuzzy matching


class TurnView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Predictions of a tracker for one user turn."""

    number: int
    state: States | None = None  # None: nothing was predicted, or right and wrong without values
    units: tuple[UnitView, ...] = ()
    frames: dict[str, float] = {}  # joint score per service, where a unit is the whole turn
    faults: tuple[SlotFault, ...] = ()


class ActView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One act that a response was to convey."""

    service: str
    act: str
    slot: str = ""
    values: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()  # values that must stand in the response word for word
    missed: tuple[str, ...] = ()  # those of them that do not
    entailed: bool | None = None  # None: no model was asked, or there is no rule for such an act
    reference: str | None = None
    plain: tuple[float, ...] | None = None  # entailment, neutral, contradiction
    augmented: tuple[float, ...] | None = None  # the same in context, where it was asked again
    excluded: str | None = None  # why validation leaves it out
    kind: str = ""  # of the value: name, time, boolean, …
    entailed_plain: bool | None = None  # the verdict without the retry in context
    present: bool | None = None  # whether its values stand in the response; None: no model was asked

    @property
    def helped(self) -> bool:
        """Whether the act is entailed in context only."""
        return bool(self.entailed) and self.augmented is not None


class PointView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One act in one candidate of an n-best list: whether it gave a point, and why."""

    act: str
    faithful: bool
    slot: str = ""
    values: tuple[str, ...] = ()
    reference: str = ""
    entailment: float = 0.0
    neutral: float = 0.0
    contradiction: float = 0.0
    context: bool = False  # these are the probabilities in context
    present: bool = True  # whether its values stand in the text


class CandidateView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One response of an n-best list."""

    text: str
    score: float | None = None  # likelihood
    fidelity: int | None = None  # points; None: the reranker was not asked
    acts: tuple[PointView, ...] = ()
    system: str = ""  # the system that wrote it, if several compete


class AnswerView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A response to one system turn's acts; no text if there was none."""

    index: int
    text: str | None
    acts: tuple[ActView, ...] = ()
    candidates: tuple[CandidateView, ...] = ()  # the n-best list that it was chosen from, where the file has it


class SystemView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    system: str
    tracked: tuple[TurnView, ...] = ()
    answers: tuple[AnswerView, ...] = ()
    wording: str = ""  # of the schema that the system was given, where a run has several


class DialogueView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One dialogue of one test set, with what each system made of it."""

    id: str
    utterances: tuple[Utterance, ...]
    tracks: tuple[SystemView, ...]
    set: str = ""  # a perturbed set's name; empty for the original
    services: tuple[str, ...] = ()


class ClaimSupport(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A sentence of a response, the verdict of its document on it, and the passage that decides."""

    sentence: str
    verdict: str  # supported, contradicted, absent, no claim
    supported: float  # probabilities
    contradicted: float
    absent: float
    passage: str
    odds: float = 0.0  # log odds of support
    doubts: tuple[float, ...] = ()  # of each word by white space, where the model tells them: 1 is not supported


class ResponseView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A response that should follow from a document, with its scores."""

    system: str
    id: str
    document: str
    text: str
    history: tuple[str, ...] = ()
    label: int | None = None  # 1: people found it supported
    source: str = ""
    values: dict[str, float] = {}  # by metric
    faithful: dict[str, bool] = {}  # verdict of the calibration, by metric
    probability: dict[str, float] = {}
    reasons: dict[str, str] = {}  # why there is no value, by metric
    claims: tuple[ClaimSupport, ...] = ()  # its sentences, where a metric judged them one by one


class Header(msgspec.Struct, frozen=True):
    layout: int = LAYOUT
    holds: Literal["dialogues", "responses", "trajectories"] = "dialogues"
    seen: tuple[str, ...] | None = None  # services of the training schema, where it was given


@dataclass(frozen=True)
class Archive:
    """What the explorer shows of a run: dialogues, responses, or trajectories. Files are read on iteration."""

    header: Header = field(default_factory=Header)
    dialogues: Iterable[DialogueView] = ()
    responses: Iterable[ResponseView] = ()
    trajectories: Iterable[TrajectoryView] = ()


def write(path: Path, archive: Archive) -> None:
    """One dialogue or response at a time; without a time stamp, so that the same content gives the same bytes."""
    encoder = msgspec.json.Encoder()
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
        for one in chain([archive.header], archive.dialogues, archive.responses, archive.trajectories):
            file.write(encoder.encode(one) + b"\n")


def read(path: Path) -> Archive:
    """The whole file, with lists in place of iterators."""
    archive = stream(path)
    return Archive(archive.header, list(archive.dialogues), list(archive.responses), list(archive.trajectories))


def stream(path: Path) -> Archive:
    """The file one record at a time: dialogues and responses are read anew whenever they are iterated over."""
    with _reading(path), gzip.open(path, "rb") as file:
        header = msgspec.json.decode(file.readline(LONGEST), type=Header)
    if header.layout > LAYOUT:
        raise UserError("written by a newer troth", file=str(path), hint="update troth to read it")
    if header.holds == "responses":
        return Archive(header, responses=_Records(path, ResponseView))
    if header.holds == "trajectories":
        return Archive(header, trajectories=_Records(path, TrajectoryView))
    return Archive(header, dialogues=_Records(path, DialogueView))


class _Records(Generic[T]):
    """The lines of a file after the first, decoded as they are reached."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self.path, self.kind = path, kind

    def __iter__(self) -> Iterator[T]:
        decoder = msgspec.json.Decoder(self.kind)
        with _reading(self.path), gzip.open(self.path, "rb") as file:
            file.readline(LONGEST)
            while line := file.readline(LONGEST):  # a longer one is cut, and cannot be decoded
                yield decoder.decode(line)


def _reading(path: Path) -> AbstractContextManager[None]:
    return reading(path, hint="make the run again", also=(EOFError, zlib.error))
