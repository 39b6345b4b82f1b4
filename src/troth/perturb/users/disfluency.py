"""Speech disfluencies in what the user says: fillers, repetitions, restarts, and repairs of a value (CheckDST's SDI).

A repair says a wrong value of the same slot and takes it back: "to london no i meant cambridge". The right value stays
as it was, so spans, acts and states hold; nothing is ever inserted into a value or a word. Where the rates come from is
in docs/perturbations.md. LAUG (Liu et al. 2021), which made CheckDST's set, finds the places with a tagger trained on
Switchboard and lower-cases everything; here places are drawn evenly and the text's own style is kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from random import Random

import msgspec

from troth.core.records import Dialogue, Turn
from troth.perturb import Changed, Inventory
from troth.perturb.users.edit import Edit, edited
from troth.perturb.users.values import NO_VALUE, Key, Told, lowered, places, shields, told

TRIES = 12  # draws of a wrong value before the turn is left without a repair

START = ("uh", "uh", "um", "um", "well", "so", "okay")
MIDDLE = ("uh", "uh", "uh", "uh", "um", "um", "um", "you know", "I mean", "like")
AGAIN = ("", "", "uh", "um", "I mean", "sorry")  # between the words broken off and the same words again
ABANDONED = ("I was", "let me", "it's", "can we", "so I")  # beginnings that lead nowhere
TAKEN_BACK = ("no, I meant", "no, I mean", "sorry, I meant", "wait, no,", "no, make that", "I mean", "or rather")

# Repetitions are mostly of small words, and a first word that is one of these is no name: it may lose its capital.
SMALL = frozenset(
    re.findall(
        r"\S+",
        """
    a about an and are at but by can could do does for from get hello hey hi how if in is it it's like make may me
    my no of ok okay on one or our please so some sure thank thanks that that's the their then there these they this
    to was we what what's when where which who why will with would yes you your find book look looking show tell
    give need want let let's any also actually great good perfect not anything something are sorry she she's he he's
    they're we're we'd you're there's here's could've just now then try take right fine sounds does did has have
""",
    )
)
_FIRST_PERSON = frozenset(("i", "i'm", "i'd", "i'll", "i've"))
_PLAIN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TOKEN = re.compile(r"\S+")
# What no one pauses before: punctuation, and what is written apart but said as one ("John 's", "do n't").
_NO_WORD = re.compile(r"\s*(?:['’]\w|n['’]t\b|[^\w\s]+(?:\s|$))")

NO_ROOM = "no place outside of values"
NO_OTHER = "no other value of the slot is known"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rates: fillers, repetitions and restarts per word, repairs per turn that tells a value; `scale` is of all."""

    fillers: float = 0.026
    repetitions: float = 0.015
    restarts: float = 0.019
    repairs: float = 0.3
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"'{name}' must be 0 or more")


_Place = tuple[Key, int]  # a value's service and slot, and where it begins


def perturb(dialogue: Dialogue, rng: Random, inventory: Inventory, options: Options) -> Changed:
    """The dialogue with its user less fluent."""
    speaker = _Speaker(dialogue, rng, inventory, options)
    turns = list(dialogue.turns)
    changed: list[int] = []
    refused: dict[str, int] = {}
    for index, turn in enumerate(turns):
        if turn.speaker != "USER" or not turn.text:
            continue
        edits, reason = speaker.edits(turn)
        if edits:
            turns[index] = edited(turn, edits)
            changed.append(index)
        elif reason is not None:
            refused[reason] = refused.get(reason, 0) + 1
        speaker.heard(turn)
    after = msgspec.structs.replace(dialogue, turns=tuple(turns)) if changed else dialogue
    return Changed(after, tuple(changed), refused, speaker.figures)


class _Speaker:
    """Draws where the user falters. Between two disfluencies lie words; how many is one draw, not one a word."""

    def __init__(self, dialogue: Dialogue, rng: Random, inventory: Inventory, options: Options) -> None:
        self.dialogue, self.rng, self.inventory = dialogue, rng, inventory
        rates = [options.scale * rate for rate in (options.fillers, options.repetitions, options.restarts)]
        self.repairs = options.scale * options.repairs
        self.rate = sum(rates)
        self.until = (rates[0], rates[0] + rates[1])
        self.fluency = math.log(1.0 - self.rate) if self.rate < 1 else -math.inf
        self.gap = self._fluent()
        self.figures: dict[str, float] = dict.fromkeys(
            ("words", "inserted", "fillers", "repetitions", "restarts", "repairs"), 0
        )
        self.before: dict[Key, tuple[str, ...]] = {}  # the state so far, where only that tells what is new

    def _fluent(self) -> float:
        """How many words go well before the next that does not: geometric."""
        if self.rate <= 0:
            return math.inf
        return 0 if self.rate >= 1 else int(math.log(1.0 - self.rng.random()) / self.fluency)

    @cached_property
    def told(self) -> Told:
        return told(self.dialogue)

    @cached_property
    def values(self) -> set[str]:
        """All of the dialogue's values, in lower-case."""
        return self.told.every()

    def edits(self, turn: Turn) -> tuple[list[Edit], str | None]:
        """What to insert into a turn, and, where something was drawn and nothing is inserted, why."""
        count = len(turn.text.split())
        self.figures["words"] += count
        drawn: list[int] = []
        while self.gap < count:
            drawn.append(int(self.gap))
            self.gap += 1 + self._fluent()
        self.gap -= count
        repairable = self._repairable(turn) if self.rng.random() < self.repairs else []
        if not drawn and not repairable:
            return [], None
        text = _Text(turn, shields(turn, self.values))
        missing = repairable and not self._repair(repairable, text)
        for at in drawn:
            self._falter(text, at)
        self.figures["inserted"] += len(" ".join(text.inserted.values()).split())
        return text.edits(), None if text.inserted else NO_OTHER if missing and not drawn else NO_ROOM

    def heard(self, turn: Turn) -> None:
        for frame in turn.frames:
            if frame.spans is None and frame.state is not None:
                for slot, values in frame.state.slot_values.items():
                    self.before[frame.service, slot] = values

    def _falter(self, text: _Text, at: int) -> None:
        """One disfluency at a word or, where it cannot be there, at the nearest word after or before it."""
        kind = self.rng.random() * self.rate
        if kind < self.until[0]:
            done, name = self._filler(text, at), "fillers"
        elif kind < self.until[1]:
            done, name = self._repetition(text, at), "repetitions"
        else:
            done, name = self._restart(text, at), "restarts"
        self.figures[name] += done

    def _pick(self, of: Sequence[str]) -> str:
        return of[int(self.rng.random() * len(of))]

    def _filler(self, text: _Text, at: int) -> bool:
        if text.opens(at):
            return text.insert(at, f"{self._pick(START)}{text.comma} ")
        filler = self._pick(MIDDLE)
        if text.comma and text.words[at - 1][-1].isalnum():  # "to, uh, leave"
            return text.insert_after(at - 1, f"{text.comma} {filler}{text.comma}")
        return text.insert(at, f"{filler}{text.comma} ")

    def _repetition(self, text: _Text, at: int) -> bool:
        near = sorted(range(len(text.words)), key=lambda i: abs(i - at))
        order = [i for i in near if text.small(i)] + [i for i in near if not text.small(i)]
        return any(text.plain(i) and text.insert(i, f"{text.words[i]}{text.comma} ") for i in order)

    def _restart(self, text: _Text, at: int) -> bool:
        """Some words are broken off and said again from where they began; else a beginning leads nowhere."""
        run = 0
        while run < 4 and at - run - 1 >= 0 and text.plain(at - run - 1) and not (run and text.opens(at - run)):
            run += 1
        if run >= 2 and not text.opens(at):
            back = 2 + int(self.rng.random() * (run - 1))
            again = self._pick(AGAIN)
            words = " ".join(text.lower_opening(i) for i in range(at - back, at))
            said = f"{text.comma} {again}{text.comma} {words}" if again else f"{text.comma} {words}"
            return text.insert_after(at - 1, said)
        return text.insert(0, f"{self._pick(ABANDONED)}{text.comma} {self._pick(('uh', 'um'))}{text.comma} ")

    # -- repairs ---------------------------------------------------------------------------------------------------

    def _repair(self, where: Sequence[_Place], text: _Text) -> bool:
        """A wrong value before a right one."""
        key, start = where[int(self.rng.random() * len(where))]
        wrong = self._wrong(key)
        if wrong is None:
            return False
        term = self._pick(TAKEN_BACK)
        done = text.insert_at(start, f"{wrong}{text.comma} {term.replace(',', text.comma)} ")
        self.figures["repairs"] += done
        return done

    def _repairable(self, turn: Turn) -> list[_Place]:
        """Values with their places: spans or, in corpora without any, new values of the state that stand there once."""
        found: list[_Place] = []
        text = lowered(turn.text)
        for frame in turn.frames:
            found += [((frame.service, span.slot), span.start) for span in frame.spans or ()]
            if frame.spans is None and frame.state is not None:
                for slot, values in frame.state.slot_values.items():
                    if self.before.get((frame.service, slot)) == values:
                        continue
                    stands = [place for value in values if _sayable(value) for place in places(text, lowered(value))]
                    if len(stands) == 1:
                        found.append(((frame.service, slot), stands[0][0]))
        return found

    def _wrong(self, key: Key) -> str | None:
        """A value of the slot that nobody could take for one of this dialogue's."""
        others = self.inventory.values.get(f"{key[0]}.{key[1]}", ())
        right = [lowered(value) for value in self.told.of(key)]
        for _ in range(TRIES if others else 0):
            wrong = others[int(self.rng.random() * len(others))]
            low = lowered(wrong)
            if _sayable(wrong) and low not in self.values and not any(low in value or value in low for value in right):
                return wrong
        return None


def _sayable(value: str) -> bool:
    return value.lower() not in NO_VALUE and value.lower() not in ("true", "false", "yes", "no")


class _Text:
    """A turn's text with what is to be inserted, one thing a place."""

    def __init__(self, turn: Turn, shielded: list[tuple[int, int]]) -> None:
        self.text, self.shielded = turn.text, shielded
        self.places = [match.span() for match in _TOKEN.finditer(turn.text)]
        self.words = [turn.text[start:end] for start, end in self.places]
        self.inserted: dict[int, str] = {}
        text = turn.text
        self.capitals = text != text.lower()
        self.commas = text[-1] in ".?!" or self.capitals
        # Tokenised MultiWOZ, where punctuation stands apart.
        self.comma = (" ," if " ." in text or " ?" in text or " ," in text else ",") if self.commas else ""

    def opens(self, at: int) -> bool:
        """Whether a word begins a sentence."""
        return at == 0 or self.words[at - 1][-1] in ".?!"

    def plain(self, at: int) -> bool:
        """Whether a word is letters alone and no part of a value: what may be said twice."""
        if not _PLAIN.fullmatch(self.words[at]):
            return False
        begin, stop = self.places[at]
        return not any(begin < end and start < stop for start, end in self.shielded)

    def small(self, at: int) -> bool:
        low = self.words[at].lower()
        return low in SMALL or low in _FIRST_PERSON

    def lower_opening(self, at: int) -> str:
        word = self.words[at]
        return word.lower() if self.opens(at) and word.lower() in SMALL else word

    def insert(self, at: int, said: str) -> bool:
        return self.insert_at(self.places[at][0], said)

    def insert_after(self, at: int, said: str) -> bool:
        return self.insert_at(self.places[at][1], said)

    def insert_at(self, place: int, said: str) -> bool:
        if place in self.inserted or _NO_WORD.match(self.text, place):
            return False
        for start, end in self.shielded:
            if start < place < end:
                return False
        self.inserted[place] = said if self.capitals else said.lower()
        return True

    def edits(self) -> list[Edit]:
        """The insertions; where one opens a sentence, the capital moves to it from a word that does not need it."""
        made = []
        text = self.text
        for place, said in self.inserted.items():
            before = text[:place].rstrip()
            if not self.capitals or (before and before[-1] not in ".?!") or text[place : place + 1].isspace():
                made.append(Edit(place, place, said))
                continue
            opening = said[0].upper() + said[1:]
            word = text[place:].split(None, 1)[0].rstrip(",.!?;:").lower()
            shielded = any(start <= place < end for start, end in self.shielded)
            if word in SMALL and not shielded and text[place].isupper():
                made.append(Edit(place, place + 1, opening + word[0]))
            else:
                made.append(Edit(place, place, opening))
        return made
