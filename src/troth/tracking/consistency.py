"""CheckDST (Cho et al. 2022): is a tracker consistent between a dialogue and its perturbed twin? Does it invent names?

- cJGA, conditional: both right / at least one right (section 2.1 of the paper). The authors' later code divides by all
  pairs and calls that cJGA too; here it is `cjga_all`.
- NoHF: 1 - (predicted named-entity values absent from what was said) / (named-entity values predicted). The authors'
  code counts `dontcare` as absent, and looks for a value after its value map (`centre` has become `center` by then);
  the default does neither, `nohf:code` reproduces it.
- Coref JGA: JGA of the turns whose state needs coreference, by annotation or by the patterns of appendix B.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from troth.core.parts import Parts
from troth.core.records import Dialogue, Turn
from troth.text import normalize
from troth.tracking.frames import Frames
from troth.tracking.metrics import metric

# Appendix B.1: "simple regular expressions for pronouns and frequently used terms such as 'same X as'". Pronouns alone
# ("it", "that") stand in most turns without pointing at another slot's value; these are the uses that do.
COREFERENCE = re.compile(
    r"\b(?:the\s+)?same\s+(?:\w+\s+){0,3}?(?:as|with|for)\b"
    r"|\b(?:the|that|this)\s+same\s+\w+"
    r"|\b(?:from|to|at|near|in|leave|leaving|reach|get)\s+(?:there|it|them|that\s+one|the\s+(?:first|second|other)\s+one)\b"
    r"|\b(?:near|close\s+to|next\s+to|around|between)\s+(?:the\s+)?(?:it|that|those|both|two)\b"
    r"|\bbetween\s+the\s+(?:two|\w+\s+and\s+the\s+\w+)\b"
    r"|\b(?:that|those|the\s+same)\s+(?:day|date|time|area|part\s+of\s+town|price|price\s*range|number|group|place|city|location)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CheckdstRecipe:
    """The rules of CheckDST's metrics besides those of the profile."""

    right: str = field(default="exact", metadata={"always": True})  # a unit is right iff its joint score is 1
    nohf: str = field(default="default", metadata={"always": True})  # whether `dontcare` counts as invented: see above
    coref: str = field(default="annotated", metadata={"always": True})  # which turns need coreference
    slots: frozenset[str] | None = None  # "slot" or "service.slot" with named entities; None: those of MultiWOZ and SGD


class UserTurn(NamedTuple):
    """What CheckDST needs of a user turn besides its score."""

    dialogue: str
    number: int
    text: str
    supported: int  # predicted named-entity values that were said,
    named: int  # all predicted named-entity values
    coref: bool | None  # whether the state needs coreference; None: not annotated


class UserTurns:
    """Gathers user turns beside a scorer."""

    def __init__(self, recipe: CheckdstRecipe) -> None:
        self.recipe = recipe
        self.dialogues: list[str] = []
        self.turns: list[UserTurn] = []

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None:
        self.dialogues.append(gold.id)
        predicted = {} if pred is None else dict(pred.user_turns())
        said: list[str] = []
        numbers = iter([number for number, _ in gold.user_turns()])
        pointed = False
        for turn in gold.turns:
            said.append(turn.text)
            if turn.speaker != "USER":
                continue
            number = next(numbers)
            coref = turn.coref
            if self.recipe.coref == "patterns":
                # A state is cumulative: once it rests on a reference, it does so in the turns after.
                coref = pointed = pointed or bool(COREFERENCE.search(turn.text))
            entities = self._entities(predicted.get(number), turn, said)
            self.turns.append(UserTurn(gold.id, number, turn.text, *entities, coref))

    def merge(self, other: UserTurns) -> None:
        self.dialogues += other.dialogues
        self.turns += other.turns

    def texts(self) -> Mapping[tuple[str, int], str]:
        """What the user says, by dialogue and turn."""
        return {(turn.dialogue, turn.number): turn.text for turn in self.turns}

    def _entities(self, pred: Turn | None, gold: Turn, said: list[str]) -> tuple[int, int]:
        """Number of predicted named-entity values that were said, and number of all of them."""
        names = [
            value
            for frame in (pred.frames if pred is not None else ())
            for slot, values in (frame.state.slot_values if frame.state is not None else {}).items()
            if normalize.is_named_entity(frame.service, slot, self.recipe.slots)
            for value in values
        ]
        if not names:
            return 0, 0
        context = " ".join(said) if gold.context is None else gold.context
        if self.recipe.nohf == "code":
            mapped = [normalize.checkdst_value(value) or value for value in names if value != "dontcare"]
            return sum(value in context for value in mapped), len(names)
        context = " ".join(context.lower().split())
        names = [value for value in names if value != "dontcare" and not normalize.is_empty(value)]
        return sum(" ".join(value.lower().split()) in context for value in names), len(names)


def exact_parts(frames: Frames) -> Parts:
    """JGA's parts with every unit right or wrong: under fuzzy matching, right is a joint score of 1."""
    parts: Parts = metric("jga").compute(frames)
    return parts.with_values((parts.num == 1.0).astype(np.float64), parts.den)


def conditional_parts(original: Parts, twins: Parts) -> Parts:
    """cJGA's parts: both right, at least one right. The units of both sides are the same, in the same order."""
    return original.with_values(original.num * twins.num, np.maximum(original.num, twins.num))


def over_all_pairs(original: Parts, twins: Parts) -> Parts:
    """The parts of "both right / all pairs"."""
    return original.with_values(original.num * twins.num, np.ones(len(original.num)))


def hallucination_parts(turns: UserTurns) -> Parts:
    """NoHF's parts per turn: predicted named entities that were said, and all predicted named entities."""
    shares = [(turn.supported, turn.named) for turn in turns.turns]
    return Parts.from_fractions(shares, [(turn.dialogue, turn.number, "") for turn in turns.turns])


def coreference_parts(parts: Parts, turns: UserTurns) -> Parts:
    """The units of the turns whose state needs coreference."""
    pointing = {(turn.dialogue, turn.number) for turn in turns.turns if turn.coref}
    return parts.take(np.array([key[:2] in pointing for key in parts.units.keys()], dtype=bool))  # noqa: SIM118
