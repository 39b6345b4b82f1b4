"""The fidelity reranker (SGSAcc, section 3): of several responses, the one that is true to most of its acts.

One point for each act of which any candidate reference is entailed by the response. The highest sum wins; of equal
ones the likeliest. No gold utterance is used. Acts that no rule puts into words are passed over.

Three things are not in the paper's section 3, and the recipe names them:

- Of equally likely ones, or where no likelihoods are given, the one that comes closest to entailing its acts wins: the
  highest sum of probabilities of entailment; then the first.

- `augment="retry"` asks once more in context where the response alone fails, as the metric does (section 2.1;
  `troth.responses.sgsacc`). A value of the user's words may then make up for one that the response lacks.
- `gated`: every value that is said as it stands must stand in the response, too (`tamper.present`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import msgspec

from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, Schema, Turn
from troth.models import Nli, Verdict
from troth.responses import references, sgsacc, tamper
from troth.responses.sgsacc import Answer, Augment, Due

CHUNK = 256  # turns whose pairs are asked together

Progress = Callable[[int, int], None]  # turns done, turns there are


class Reason(msgspec.Struct, frozen=True):
    """One act in one candidate: the reference that fits best, and what the model says of it."""

    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    faithful: bool  # the point that the act gives
    entailed: bool
    present: bool  # every value that is said as it stands is in the text; counts where the reranker is gated
    reference: str
    context: bool  # these are the probabilities with the previous turn and the description before the text
    entailment: float
    neutral: float
    contradiction: float


class Candidate(msgspec.Struct, frozen=True):
    text: str
    score: float | None
    fidelity: int
    acts: tuple[Reason, ...]


class Choice(msgspec.Struct, frozen=True):
    """What was chosen, and why: every candidate with its points."""

    response: str
    choice: int  # which candidate, from 0
    likeliest: int  # which one it would have been without the reranker
    fidelity: int
    acts: int  # how many could be judged
    reasons: tuple[Candidate, ...]


class Nbest(msgspec.Struct, frozen=True):
    """One turn: what may be said, what is to be said, what was said before."""

    candidates: tuple[str, ...]
    due: tuple[Due, ...]
    previous: str = ""
    scores: tuple[float, ...] | None = None  # likelihoods in any unit, higher is likelier

    def __post_init__(self) -> None:
        if not self.candidates:
            raise UserError("no candidate to choose from", hint="give one or more")
        if self.scores is None:
            return
        if len(self.scores) != len(self.candidates):
            what = f"{len(self.candidates)} candidates and {len(self.scores)} scores"
            raise UserError(what, hint="give a score for each candidate, or none at all")
        if not all(map(_finite, self.scores)):
            raise UserError("a score is not a finite number", hint="leave out candidates that have none")


def rerank(
    candidates: Sequence[str],
    acts: Mapping[str, Sequence[Act]],
    schema: Schema,
    nli: Nli,
    *,
    previous: str = "",
    scores: Sequence[float] | None = None,
    gated: bool = False,
    augment: Augment = "never",
) -> Choice:
    """The candidate that is true to most acts. `acts`: what is to be said, by service; `previous`: the turn before."""
    listed = Nbest(tuple(candidates), due(acts, schema), previous, None if scores is None else tuple(scores))
    return rerank_all([listed], nli, gated=gated, augment=augment)[0]


def rerank_all(
    turns: Iterable[Nbest],
    nli: Nli,
    *,
    gated: bool = False,
    augment: Augment = "never",
    progress: Progress | None = None,
) -> list[Choice]:
    """Many turns at once: the model gets them in large batches."""
    turns = list(turns)
    made: list[Choice] = []
    for start in range(0, len(turns), CHUNK):
        made += _chosen(turns[start : start + CHUNK], nli, gated, augment)
        if progress is not None:
            progress(len(made), len(turns))
    return made


def due(acts: Mapping[str, Sequence[Act]], schema: Schema) -> tuple[Due, ...]:
    """Acts with their services; a service or a slot that the schema lacks is an error."""
    frames = tuple(Frame(service, acts=tuple(listed)) for service, listed in acts.items())
    try:
        (unit,) = sgsacc.units(Dialogue("", (Turn("SYSTEM", frames=frames),)), schema)
    except UserError as error:
        raise UserError(error.what, hint=error.hint) from error
    return unit.due


def recipe(
    nli: Nli,
    *,
    gated: bool = False,
    augment: Augment = "never",
    descriptions: str = "schema",
) -> str:
    """Whatever moves the choice: a part of signatures. `descriptions`: none or part, where the schema lacks them."""
    marks = ["rule:any+present" if gated else "rule:any", f"refs:{references.RULES}"]
    marks += [f"desc:{descriptions}"] if descriptions != "schema" else []
    return "|".join([*marks, f"augment:{augment}", "ties:likelihood+entailment", f"nli:{nli.name}"])


def _finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:  # an integer that no float can hold
        return False


def _chosen(turns: Sequence[Nbest], nli: Nli, gated: bool, augment: Augment) -> list[Choice]:
    judged = [[one for one in turn.due if references.candidates(*one)] for turn in turns]
    questions = [
        sgsacc.question(one, text, turn.previous)
        for turn, listed in zip(turns, judged, strict=True)
        for text in turn.candidates
        for one in listed
    ]
    answers = iter(sgsacc.ask(nli, questions, augment=augment))
    return [_choice(turn, listed, answers, gated) for turn, listed in zip(turns, judged, strict=True)]


def _choice(turn: Nbest, judged: Sequence[Due], answers: Iterable[Answer], gated: bool) -> Choice:
    answers = iter(answers)
    scores: Sequence[float | None] = turn.scores or [None] * len(turn.candidates)
    made = []
    for text, score in zip(turn.candidates, scores, strict=True):
        pairs = zip(judged, islice(answers, len(judged)), strict=True)
        acts = tuple(_reason(one, answer, text, gated) for one, answer in pairs)
        made.append(Candidate(text, score, sum(act.faithful for act in acts), acts))
    likely = [0.0 if score is None else score for score in scores]
    close = [math.fsum(act.entailment for act in one.acts) for one in made]
    places = range(len(made))
    best = max(places, key=lambda place: (made[place].fidelity, likely[place], close[place]))  # the first of equal ones
    likeliest = max(places, key=likely.__getitem__)
    return Choice(made[best].text, best, likeliest, made[best].fidelity, len(judged), tuple(made))


def _reason(one: Due, answer: Answer, text: str, gated: bool) -> Reason:
    present = tamper.present(one.act, one.service, text)
    reference, context, verdict = _best(references.candidates(*one), answer)
    return Reason(
        one.service.name, one.act.act, one.act.slot, one.act.values, answer.entailed and (present or not gated),
        answer.entailed, present, reference, context, *verdict,
    )  # fmt: skip


def _best(candidates: Sequence[str], answer: Answer) -> tuple[str, bool, Verdict]:
    """What is entailed comes first, then what comes closest to it; of equal ones the first, and without context."""
    found = [(*pair, False) for pair in zip(candidates, answer.plain, strict=True)]
    if answer.augmented:
        found += [(*pair, True) for pair in zip(candidates, answer.augmented, strict=True)]
    reference, verdict, context = max(found, key=lambda item: (item[1].entailed, item[1].entailment))
    return reference, context, verdict
