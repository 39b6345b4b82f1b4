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
from array import array
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core import normalize
from troth.core.records import Dialogue, Turn
from troth.tracking.metrics import Parts

NohfRule = Literal["default", "code"]
CorefRule = Literal["annotated", "patterns"]

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


class Pairs(NamedTuple):
    """Two sets of units, matched by what they are called: dialogue, turn and service."""

    first: NDArray[np.int64]  # positions in the one, and in the same order in the other
    second: NDArray[np.int64]
    only_first: int
    only_second: int


def paired(first: list[tuple[str, int, str]], second: list[tuple[str, int, str]]) -> Pairs:
    where = {key: position for position, key in enumerate(second)}
    found = [(position, where[key]) for position, key in enumerate(first) if key in where]
    ours, theirs = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Pairs(ours, theirs, len(first) - len(found), len(second) - len(found))


def conditional(right: NDArray[np.bool_], twin: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """cJGA's parts per pair: both right, at least one right."""
    return (right & twin).astype(np.float64), (right | twin).astype(np.float64)


class Notes:
    """What CheckDST needs of a turn besides its score: the named entities in it, coreference, the words."""

    def __init__(
        self, *, nohf: NohfRule = "default", coref: CorefRule = "annotated", slots: frozenset[str] | None = None
    ) -> None:
        """`slots`: "slot" or "service.slot" names that hold named entities; None: MultiWOZ's and SGD's usual ones."""
        self.nohf, self.coref, self.slots = nohf, coref, slots
        self.dialogues: list[str] = []
        self.texts: list[str] = []  # what the user says, a row each
        self._rows = array("d")  # dialogue, turn, supported, predicted, coreference (NaN: not annotated)

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None:
        index = len(self.dialogues)
        self.dialogues.append(gold.id)
        predicted = {} if pred is None else dict(pred.user_turns())
        said: list[str] = []
        numbered = gold.user_turns()
        pointed = False
        for turn in gold.turns:
            said.append(turn.text)
            if turn.speaker != "USER":
                continue
            number, _ = next(numbered)
            supported, count = self._entities(predicted.get(number), turn, said)
            needs: float = np.nan if turn.coref is None else float(turn.coref)
            if self.coref == "patterns":
                # A state is cumulative: once it rests on a reference, it does so in the turns after.
                pointed = pointed or bool(COREFERENCE.search(turn.text))
                needs = float(pointed)
            self._rows.extend((index, number, supported, count, needs))
            self.texts.append(turn.text)

    def merge(self, other: Notes) -> None:
        rows = np.array(other._rows, dtype=np.float64).reshape(-1, 5)
        rows[:, 0] += len(self.dialogues)
        self._rows.frombytes(rows.tobytes())
        self.dialogues += other.dialogues
        self.texts += other.texts

    def _entities(self, pred: Turn | None, gold: Turn, said: list[str]) -> tuple[int, int]:
        """How many predicted named-entity values stand in what was said, and how many there are."""
        supported = count = 0
        context: str | None = None
        for frame in pred.frames if pred is not None else ():
            for slot, values in (frame.state.slot_values if frame.state is not None else {}).items():
                if not self.named(frame.service, slot):
                    continue
                for value in values:
                    if self.nohf == "default" and (value == "dontcare" or normalize.is_empty(value)):
                        continue
                    if context is None:
                        context = " ".join(said) if gold.context is None else gold.context
                        context = context if self.nohf == "code" else " ".join(context.lower().split())
                    count += 1
                    supported += self._stands(value, context)
        return supported, count

    def _stands(self, value: str, context: str) -> bool:
        if self.nohf == "code":
            return value != "dontcare" and (normalize.checkdst_value(value) or value) in context
        return " ".join(value.lower().split()) in context

    def named(self, service: str, slot: str) -> bool:
        return normalize.is_named_entity(service, slot, self.slots)

    def table(self) -> NDArray[np.float64]:
        return np.array(self._rows, dtype=np.float64).reshape(-1, 5)

    def said(self) -> dict[tuple[int, int], str]:
        """What the user says, by dialogue and turn."""
        keys = self.table()[:, :2].astype(np.int64).tolist()
        return {(dialogue, turn): text for (dialogue, turn), text in zip(keys, self.texts, strict=True)}

    def hallucination(self) -> Parts:
        """NoHF's parts per turn."""
        rows = self.table()
        keys = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), np.full(len(rows), -1)
        return Parts(rows[:, 2].copy(), rows[:, 3].copy(), *keys)

    def pointing(self) -> Mapping[tuple[int, int], bool] | None:
        """Which turns need coreference, by dialogue and turn; None if nothing says so."""
        rows = self.table()
        if np.isnan(rows[:, 4]).all():
            return None
        return {(int(d), int(t)): c == 1.0 for d, t, c in rows[:, [0, 1, 4]].tolist()}
