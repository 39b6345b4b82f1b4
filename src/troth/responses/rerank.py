"""The fidelity reranker (SGSAcc, section 3): of several responses, the one that is true to most of its acts.

One point for each act with a candidate reference that the response entails. The highest sum wins; of equal
ones the likeliest. No gold utterance is used. Acts that no rule puts into words are passed over.

Three things are not in the paper's section 3, and the recipe names them:

- Of equally likely ones, or where no likelihoods are given, the one that comes closest to entailing its acts wins: the
  highest sum of probabilities of entailment; then the first.
- `augment="retry"` asks again in context where the response alone fails, as the metric does (section 2.1;
  `troth.responses.sgsacc`). A value in the user's words may then make up for one that the response lacks.
- `gated`: every value that is said as it is must stand in the response, too (`tamper.present`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from troth.core.errors import UserError
from troth.core.records import Act, Schema
from troth.models import Entailment, Nli
from troth.responses import references, sgsacc, tamper
from troth.responses.references import Refs
from troth.responses.sgsacc import Answer, Augment, DueAct, due_act

ALWAYS = {"always": True}


@dataclass(frozen=True, kw_only=True)
class RerankRecipe:
    """Settings that change the choice."""

    rule: str = field(metadata=ALWAYS)  # any, any+present (gated)
    refs: str = field(default=references.RULES, metadata=ALWAYS)
    descriptions: str = field(default="schema", metadata={"rule": "desc"})  # `part`, `none`: the schema lacks them
    augment: Augment | None = None
    ties: str = field(default="likelihood+entailment", metadata=ALWAYS)
    nli: str = ""

    @classmethod
    def for_model(
        cls, nli: Nli, *, gated: bool, augment: Augment, descriptions: str = "schema", refs: Refs = "b"
    ) -> RerankRecipe:
        rule = "any+present" if gated else "any"
        wording = references.rules_name(refs)
        return cls(rule=rule, refs=wording, descriptions=descriptions, augment=augment, nli=nli.name)


class Reason(msgspec.Struct, frozen=True):
    """One act in one candidate: the reference that fits best, and the model's probabilities for it."""

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


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One response to choose from, with its points."""

    text: str
    score: float | None
    fidelity: int
    acts: tuple[Reason, ...]
    system: str = ""  # the system that wrote it, if several compete


class Choice(msgspec.Struct, frozen=True):
    """The chosen response, and why: every candidate with its points."""

    response: str
    choice: int  # which candidate, from 0
    likeliest: int  # which one it would have been without the reranker
    fidelity: int
    acts: int  # how many could be judged
    reasons: tuple[Candidate, ...]


class Nbest(msgspec.Struct, frozen=True):
    """One turn: the responses to choose from, the acts to express, and the turn before."""

    candidates: tuple[str, ...]
    acts: tuple[DueAct, ...]
    previous: str = ""
    scores: tuple[float, ...] | None = None  # likelihoods in any unit, higher is likelier
    systems: tuple[str, ...] = ()  # the system of each candidate, if several compete

    def __post_init__(self) -> None:
        if not self.candidates:
            raise UserError("no candidate to choose from", hint="give one or more")
        if self.scores is None:
            return
        if len(self.scores) != len(self.candidates):
            what = f"{len(self.candidates)} candidates and {len(self.scores)} scores"
            raise UserError(what, hint="give a score for each candidate, or none at all")
        if not all(map(_is_finite, self.scores)):
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
    """Chooses the candidate that is true to most acts.

    `acts`: the acts to express, by service. `previous`: the turn before. `scores`: likelihoods of the candidates.

    >>> from troth import demo, models, readers
    >>> acts = {"Stays_1": [Act("OFFER", "hotel_name", ("Lantern Rooms",))]}
    >>> schema = readers.schema(demo.path("gold"))
    >>> rerank(["Sure.", "The hotel name is Lantern Rooms."], acts, schema, models.nli("fake")).choice
    1
    """
    listed = Nbest(tuple(candidates), due_acts(acts, schema), previous, None if scores is None else tuple(scores))
    return rerank_all([listed], nli, gated=gated, augment=augment)[0]


def rerank_all(
    turns: Iterable[Nbest], nli: Nli, *, gated: bool = False, augment: Augment = "never", refs: Refs = "b"
) -> list[Choice]:
    """Chooses for many turns at once, so that the model gets large batches."""
    return [
        choice
        for part in sgsacc.batches(list(turns), "reranking")
        for choice in _choose_all(part, nli, gated=gated, augment=augment, refs=refs)
    ]


def due_acts(acts: Mapping[str, Sequence[Act]], schema: Schema) -> tuple[DueAct, ...]:
    """Acts with their services; a service or a slot that the schema lacks is an error."""
    return tuple(due_act(act, service, schema) for service, listed in acts.items() for act in listed)


def _choose_all(turns: Sequence[Nbest], nli: Nli, *, gated: bool, augment: Augment, refs: Refs) -> Iterator[Choice]:
    all_acts = [[(due, references.candidates(*due, refs)) for due in turn.acts] for turn in turns]
    judged = [[(due, sentences) for due, sentences in acts if sentences] for acts in all_acts]
    questions = [
        sgsacc.build_question(due, text, turn.previous, sentences)
        for turn, acts in zip(turns, judged, strict=True)
        for text in turn.candidates
        for due, sentences in acts
    ]
    answers = iter(sgsacc.ask(nli, questions, augment=augment))
    return (_choose(turn, acts, answers, gated) for turn, acts in zip(turns, judged, strict=True))


def _choose(
    turn: Nbest, judged: Sequence[tuple[DueAct, Sequence[str]]], answers: Iterator[Answer], gated: bool
) -> Choice:
    scores: Sequence[float | None] = turn.scores or [None] * len(turn.candidates)
    systems = turn.systems or [""] * len(turn.candidates)
    candidates = []
    for text, score, system in zip(turn.candidates, scores, systems, strict=True):
        pairs = zip(judged, islice(answers, len(judged)), strict=True)
        acts = tuple(
            _explain_act(due, _best_reference(texts, answer), answer, text, gated) for (due, texts), answer in pairs
        )
        candidates.append(Candidate(text, score, sum(act.faithful for act in acts), acts, system))
    likely = [0.0 if score is None else score for score in scores]
    close = [math.fsum(act.entailment for act in candidate.acts) for candidate in candidates]
    indexes = range(len(candidates))
    best = max(indexes, key=lambda i: (candidates[i].fidelity, likely[i], close[i]))  # the first of ties
    likeliest = max(indexes, key=likely.__getitem__)
    chosen = candidates[best]
    return Choice(chosen.text, best, likeliest, chosen.fidelity, len(judged), tuple(candidates))


def _explain_act(due: DueAct, best: tuple[str, bool, Entailment], answer: Answer, text: str, gated: bool) -> Reason:
    act, service = due
    present = tamper.has_values(act, service, text)
    faithful = answer.entailed and (present or not gated)
    reference, context, scores = best
    return Reason(
        service.name, act.act, act.slot, act.values, faithful, answer.entailed, present, reference, context, *scores
    )


def _best_reference(candidates: Sequence[str], answer: Answer) -> tuple[str, bool, Entailment]:
    """What is entailed comes first, then what comes closest to it; of equal ones the first, and without context."""
    pairs = [(*pair, False) for pair in zip(candidates, answer.plain, strict=True)]
    if answer.augmented:
        pairs += [(*pair, True) for pair in zip(candidates, answer.augmented, strict=True)]
    reference, probabilities, context = max(pairs, key=lambda item: (item[1].entailed, item[1].entailment))
    return reference, context, probabilities


def _is_finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:  # an integer that no float can hold
        return False
