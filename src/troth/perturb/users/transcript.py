"""Errors of speech recognisers and keyboards in the user's text: case, punctuation and digits lost, keys slipped.

Values keep their characters, except capitals. A value in lower case is updated in the annotation: the act has the new
form, and the state has it beside the other forms, so that spans still match the annotation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from random import Random
from typing import Literal

import msgspec

from troth.core.records import Act, Dialogue, Frame
from troth.perturb.users import Family, Inventory, Twin
from troth.perturb.users.edit import Edit, edited
from troth.perturb.users.values import Claims, Key, Shields, annotated_values, protected_ranges, to_lower

EMPTY = "nothing would be left of it"

_MARKS = re.compile(r"(?<!\s)\s*[.,;:!?\"“”()]+(?=\s|$|[.,;:!?\"“”()])|(?:(?<=\s)|^)[\"“(]+")
_NUMBER = re.compile(r"(?<![\w.,:/$£€#+-])\d{1,4}(?![\w%]|[.,:/-]\d)")
_LETTERS = re.compile(r"[^\W\d_]{4,}")

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
# Without "one": it mostly refers to a thing ("that one") and is not a number.
_AS_DIGITS = {word: str(number) for number, word in enumerate(_UNITS) if word != "one"} | {
    word: str(10 * number) for number, word in enumerate(_TENS, 2)
}
_SPELLED = re.compile(rf"(?<![\w-])(?:{'|'.join(_AS_DIGITS)})(?![\w-])", re.IGNORECASE)

_BESIDE = {
    key: row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for at, key in enumerate(row)
}


class Transcript(Family, frozen=True):
    """What speech recognisers and keyboards do to the user's text: case, punctuation and digits lost, keys slipped."""

    case: Literal["lower", "keep"] = "lower"
    punctuation: Literal["drop", "keep"] = "drop"
    digits: Literal["words", "digits", "keep"] = "words"  # spelled out, or the other way round
    slips: float = 0.0  # per word

    def __post_init__(self) -> None:
        if not 0 <= self.slips <= 1:
            raise ValueError("'slips' must be between 0 and 1")

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        """The dialogue with user turns as from a speech recogniser or a keyboard."""
        values = annotated_values(dialogue).all_values()
        low: dict[Key, set[str]] = {}  # values of each slot that the user said in lower case
        turns = []
        changed = []
        refused: Counter[str] = Counter()
        figures: dict[str, float] = {"words": 0, "numbers": 0, "slips": 0}
        for index, turn in enumerate(dialogue.turns):
            if turn.speaker != "USER":
                turns.append(turn)
                continue
            edits = self._edits(turn.text, _Free(protected_ranges(turn, values)), rng, inventory.known, figures)
            new = edited(turn, edits) if edits else turn
            if turn.text.strip() and not new.text.strip():
                refused[EMPTY] += 1
                new = turn
            elif self.case == "lower":
                frames = tuple(_follow(new.text, frame, low) for frame in new.frames)
                new = msgspec.structs.replace(new, text=to_lower(new.text), frames=frames)
            if new.text != turn.text:
                changed.append(index)
            turns.append(new)
        after = msgspec.structs.replace(dialogue, turns=tuple(turns))
        return Twin(after, tuple(changed), dict(refused), figures)

    def _edits(self, text: str, free: _Free, rng: Random, known: Set[str], figures: dict[str, float]) -> list[Edit]:
        """All edits except case, outside of values."""
        if self.digits == "words":
            for match in _NUMBER.finditer(text):
                figures["numbers"] += free.edit(match, spell_out(int(match[0])))
        elif self.digits == "digits":
            for match in _SPELLED.finditer(text):
                figures["numbers"] += free.edit(match, _AS_DIGITS[match[0].lower()])
        if self.punctuation == "drop":
            for match in _MARKS.finditer(text):
                free.edit(match, "")
        figures["words"] += len(text.split())
        if self.slips:
            for match in _LETTERS.finditer(text):
                if rng.random() < self.slips:
                    new = _slip(match[0], rng)
                    if new.lower() not in known:  # "there" must not become "three"
                        figures["slips"] += free.edit(match, new)
        return free.edits


class _Free:
    """Edits that overlap neither values nor each other."""

    def __init__(self, shielded: Shields) -> None:
        self.shielded, self.claims = shielded, Claims()
        self.edits: list[Edit] = []

    def edit(self, match: re.Match[str], text: str) -> bool:
        free = not self.shielded.touch(*match.span()) and self.claims.add(*match.span())
        if free:
            self.edits.append(Edit(*match.span(), text))
        return free


def spell_out(number: int) -> str:
    """0 to 9999 in words."""
    if number < 20:
        return _UNITS[number]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = f" {spell_out(number % size)}" if number % size else ""
            return f"{spell_out(number // size)} {name}{rest}"
    return _TENS[number // 10 - 2] + (f" {_UNITS[number % 10]}" if number % 10 else "")


def _slip(word: str, rng: Random) -> str:
    """Two keys exchanged, one missing, one doubled, or a neighbouring key; the first letter does not change."""
    at = 1 + int(rng.random() * (len(word) - 2))
    kind = int(rng.random() * 4)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    beside = _BESIDE.get(word[at].lower(), "")
    if kind == 2 or not beside:
        return word[:at] + word[at] + word[at:]
    return word[:at] + beside[int(rng.random() * len(beside))] + word[at + 1 :]


def _follow(text: str, frame: Frame, low: dict[Key, set[str]]) -> Frame:
    """Adds the lower-case form of a frame's spans to its acts and its state, and to `low` for later turns."""
    here: dict[str, set[str]] = {}
    for span in frame.spans or ():
        here.setdefault(span.slot, set()).add(text[span.start : span.exclusive_end])
    for slot, said in here.items():
        low.setdefault((frame.service, slot), set()).update(said)
    acts = tuple(_act(act, here[act.slot]) if act.slot in here else act for act in frame.acts)
    state = frame.state
    if state is not None:
        values = {
            slot: _add_lower(alternatives, low.get((frame.service, slot), set()))
            for slot, alternatives in state.slot_values.items()
        }
        state = msgspec.structs.replace(state, slot_values=values)
    return msgspec.structs.replace(frame, acts=acts, state=state)


def _act(act: Act, said: set[str]) -> Act:
    values = tuple(to_lower(value) if value in said else value for value in act.values)
    return act if values == act.values else msgspec.structs.replace(act, values=values)


def _add_lower(alternatives: tuple[str, ...], said: set[str]) -> tuple[str, ...]:
    more = [to_lower(value) for value in alternatives if value in said]
    return tuple(dict.fromkeys((*alternatives, *more))) if more else alternatives
