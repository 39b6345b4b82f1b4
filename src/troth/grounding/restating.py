"""A claim with its facts written as a passage writes them: an entailment model need not know that they are equal.

Small models take `15:40` and `3:40 pm`, `1500` and `1,500`, two weeks and 14 days for different values. Rules know
better (`text.facts`): a number, amount, date or time of the claim that has the same normal form as one of the passage
is replaced by that one before the model is asked. Names stay as they are, and so do facts that are only implied (2019
by March 2019).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from troth.models.protocols import Entailment, WordedEntailment
from troth.text.facts import Fact, agree, clock_readings, find_facts

_WORD = re.compile(r"\S+")
MOST = 40  # facts of a claim that are looked at: tables have hundreds
_NUMERAL = re.compile(r"\d[\d.,]*")


class Restated(NamedTuple):
    """A claim in a passage's terms: what stands for each of its words; empty where the word before has it all."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(filter(None, self.words))

    def answer(self, told: Entailment) -> Entailment:
        """The model's answer with its doubts for the words of the claim as it was written."""
        if not isinstance(told, WordedEntailment):
            return told
        doubts, at = bytearray(), 0
        for word in self.words:
            number = len(word.split())
            doubts.append(max(told.doubts[at : at + number], default=0) if number else doubts[-1])
            at += number
        return WordedEntailment.of(told, bytes(doubts))


def restate_facts(claim: str, passage: str) -> Restated | None:
    """The claim with the passage's spelling of equal facts; None where nothing differs.

    >>> restate_facts("It leaves at 15:40.", "The last train leaves at 3:40 pm on weekdays.").text
    'It leaves at 3:40 pm.'
    """
    facts = [fact for fact in find_facts(claim)[:MOST] if claim[fact.start : fact.end] not in passage]
    pairs = [(fact, twin) for fact in facts if (twin := _twin(fact, claim, passage)) is not None]
    if not pairs:
        return None
    spans = [match.span() for match in _WORD.finditer(claim)]
    words = [claim[start:end] for start, end in spans]
    free = set(range(len(words)))
    for fact, text in pairs:
        inside = [index for index, (start, end) in enumerate(spans) if start < fact.end and fact.start < end]
        if free.issuperset(inside):
            free -= set(inside)
            first, last = inside[0], inside[-1]
            before, after = claim[spans[first][0] : fact.start], claim[fact.end : spans[last][1]]
            words[first : last + 1] = [f"{before}{text}{after}", *[""] * (last - first)]
    return Restated(tuple(words))


def _twin(fact: Fact, claim: str, passage: str) -> str | None:
    """A fact of the claim as the first equal one of the passage is written; None if nothing changes."""
    text = claim[fact.start : fact.end]
    known = next((known for known in find_facts(passage) if _is_same(fact, known)), None)
    if known is None:
        return None
    twin = passage[known.start : known.end]
    if bool(fact.unit) == bool(known.unit):
        return twin
    mine, theirs = _NUMERAL.match(text), _NUMERAL.match(twin)  # 1800 people, of 1,800: the unit stays
    return f"{theirs[0].rstrip('.,')}{text[mine.end() :]}" if mine and theirs and mine[0] != theirs[0] else None


def _is_same(fact: Fact, known: Fact) -> bool:
    if fact.kind == "time" and known.kind == "time":
        return clock_readings(fact.value) == clock_readings(known.value)
    amounts = {fact.kind, known.kind} <= {"number", "money"}
    return (amounts or fact.kind == known.kind) and agree(fact, known) and agree(known, fact)


def unrestated(restated: Sequence[Restated | None], answers: Sequence[Entailment]) -> list[Entailment]:
    """The answers, each for the words of the claim as it was written."""
    both = zip(restated, answers, strict=True)
    return [told if own is None else own.answer(told) for own, told in both]
