"""Recipes for trackers: the protocol and the registry.

A recipe is a frozen struct whose fields are its options. `open` gives a `TrackerModel` from a folder with weights of
transformers: those of a pretrained model, or of a tracker that was trained by the recipe. The model turns user turns
into states, and, if it is a `TrainableTracker`, into examples to learn from. Everything else (order of the data,
optimiser, checkpoints, curves, files of predictions) is the same for all recipes. Other packages add recipes through
the entry point group `troth.recipes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec

from troth.core.errors import UserError
from troth.core.records import State
from troth.core.registry import Registry
from troth.perturb.options import configure
from troth.systems.data import TrackerCorpus, TrackerTurn
from troth.systems.training import E, Trainable

RECIPES: Registry[type[Recipe]] = Registry(
    "recipe",
    "troth.recipes",
    {
        "span": "troth.systems.span:SpanRecipe",
        "sgp-dst": "troth.systems.schemaguided:SgpDst",
        "sgd-baseline": "troth.systems.schemaguided:SgdBaseline",
        "simpletod": "troth.systems.wholestate:SimpleTod",
        "bart-dst": "troth.systems.wholestate:BartDst",
        "soloist": "troth.systems.firstphase:Soloist",
        "muppet": "troth.systems.firstphase:Muppet",
        "prefinedst": "troth.systems.firstphase:PrefineDst",
        "t5dst": "troth.systems.t5dst:T5Dst",
        "trippy": "troth.systems.trippy:Trippy",
        "convbert-dg": "troth.systems.trippy:ConvBertDg",
        "prompted": "troth.systems.prompted:Prompted",
    },
)
TRACKERS: Registry[Callable[[], Path]] = Registry(  # trained ones by name: functions that return their folder
    "tracker",
    "troth.trackers",
    {"troth-track": "troth.systems.tracker:find_plain", "troth-track-robust": "troth.systems.tracker:find_robust"},
)


class TrackerModel(ABC):
    """Predicts the states of dialogues."""

    @abstractmethod
    def track(self, dialogues: Sequence[Sequence[TrackerTurn]]) -> list[list[dict[str, State]]]:
        """The states after every turn of some dialogues, by service. `before` of the turns is gold: not to be used."""


class StatelessTracker(TrackerModel):
    """Predicts the states after a turn from what was said, so that all turns can be asked about together."""

    @abstractmethod
    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        """The states after each of some turns, by service; `before` of the turns is gold: not to be used."""

    def track(self, dialogues: Sequence[Sequence[TrackerTurn]]) -> list[list[dict[str, State]]]:
        states = iter(self.predict([turn for turns in dialogues for turn in turns]))
        return [[next(states) for _ in turns] for turns in dialogues]


class TurnTracker(TrackerModel):
    """Predicts the states after a turn from those before it."""

    @abstractmethod
    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        """The states after each of some turns of different dialogues, by service; `before` has the tracker's own."""

    def track(self, dialogues: Sequence[Sequence[TrackerTurn]]) -> list[list[dict[str, State]]]:
        """The states after every turn: the first turns of all dialogues, then the second ones, …"""
        states: list[list[dict[str, State]]] = [[] for _ in dialogues]
        known: list[dict[str, State]] = [{} for _ in dialogues]
        for number in range(max(map(len, dialogues), default=0)):
            going = [index for index, turns in enumerate(dialogues) if number < len(turns)]
            turns = [msgspec.structs.replace(dialogues[index][number], before=known[index]) for index in going]
            for index, answer in zip(going, self.predict(turns), strict=True):
                states[index].append(answer)
                known[index] = known[index] | answer
        return states


class TrainableTracker(Trainable[E], TrackerModel):
    """A tracker that learns from examples of the type `E`."""

    @abstractmethod
    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[E]:
        """Training examples from user turns; kept in memory, so they should be small."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of tracker. Its fields are its options; `troth ls` shows the first line of its docstring."""

    base: ClassVar[str] = ""  # the model of `troth models` to begin with, where none is named; "": one must be named
    families: ClassVar[tuple[str, ...]] = ()  # of supported pretrained models, by `model_type` of their config.json
    first: ClassVar[Literal["", "dialogues", "tasks"]] = ""  # data of the first phase
    trains: ClassVar[bool] = True

    def open(self, model: str, *, trained: bool) -> TrackerModel:
        """The model of this name or in this folder: pretrained, or, if `trained`, what its `save` has written.

        A recipe that `trains` gives a `TrainableTracker` for a pretrained model. `files` gives the folder of a model,
        and refuses in one line what does not fit.
        """
        raise NotImplementedError

    def fit_to(self, _corpus: TrackerCorpus) -> Self:
        """The recipe with facts of the training data that it needs, such as its slots; most recipes need none."""
        return self

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        """Examples of the first phase, to learn from and to measure the loss on."""
        raise NotImplementedError

    def digest(self, model: str) -> str:  # noqa: ARG002
        """A digest of the files of a model that is used without training; empty if it has none."""
        return ""

    def own_first_examples(
        self, _model: TrainableTracker[Any], _corpus: TrackerCorpus, _seed: int
    ) -> tuple[list[Any], list[Any]] | None:
        """The same from the training dialogues, if no data of a first phase is named; None: no first phase.

        A recipe that has this can be trained without data of a first phase.
        """
        return None

    def files(self, model: str) -> Path:
        """The folder with weights and configuration of a model that fits: a folder, hf:ORG/MODEL or "embedded"."""
        from troth.models import hub

        if model == "embedded":
            if not self.base:
                hint = f"name a folder or hf:ORG/MODEL; supported families: {', '.join(self.families)}"
                raise UserError("this recipe has no bundled base model", hint=hint)
            return hub.embedded_files(self.base).folder()
        folder = hub.source(model).folder()
        with hub.loading(str(folder)):
            family = msgspec.json.decode((folder / "config.json").read_bytes())["model_type"]
        if self.families and family not in self.families:
            what = f"a model of the family '{family}' does not fit this recipe"
            raise UserError(what, file=str(folder), hint="supported families: " + ", ".join(self.families))
        return folder


def recipe_of(name: str, options: Mapping[str, Any] | None = None) -> Recipe:
    return configure(RECIPES, name, options or {})
