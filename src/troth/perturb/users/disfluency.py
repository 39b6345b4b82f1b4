"""Speech disfluencies in user turns: fillers, repetitions, restarts, and repairs of a value (CheckDST's SDI).

A repair says a wrong value of the same slot and corrects it: "to london no i meant cambridge". The right value does not
change, so spans, acts and states stay valid; nothing is inserted into a value or a word. The sources of the rates are
in docs/perturbations.md. LAUG (Liu et al. 2021), which made CheckDST's set, finds the positions with a tagger trained
on Switchboard and lower-cases everything; here positions are drawn evenly and the style of the text is kept.
"""

from __future__ import annotations

import calendar
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache, cached_property
from random import Random

import msgspec

from troth.core.records import Dialogue, Turn
from troth.perturb import lexicon
from troth.perturb.users import Family, Inventory, Twin
from troth.perturb.users.edit import Edit, edited
from troth.perturb.users.values import (
    NO_VALUE,
    Key,
    Shields,
    annotated_values,
    begins_sentence,
    find_words,
    protected_ranges,
    to_lower,
)

TRIES = 40  # draws of a wrong value before the turn gets no repair
REACH = 8  # words on either side of a drawn one in which a restart may stand
NO_ROOM = "no place outside of values"
NO_OTHER = "no other value of the slot is known"

_UNSAYABLE = NO_VALUE | {"true", "false", "yes", "no"}
_FIRST_PERSON = frozenset(("i", "i'm", "i'd", "i'll", "i've"))
_CONJUNCTIONS = frozenset(("and", "but", "or"))
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TOKEN = re.compile(r"\S+")
_END = re.compile(r"[.!?]")
_DIGITS, _ORDINAL = re.compile(r"[0-9]+"), re.compile(r"0(?:st|nd|rd|th)\b")
_CALENDAR = {
    **{name.lower(): "month" for name in calendar.month_name[1:]},
    **{name.lower(): "day" for name in calendar.day_name},
    **dict.fromkeys(("today", "tomorrow", "tonight", "next", "this", "later", "after", "day"), "relative"),
    "the": "the",
}
# Nobody pauses before these: punctuation, and parts of a word that are written apart ("John 's", "do n't").
_NO_WORD = re.compile(r"\s*(?:['’]\w|n['’]t\b|[^\w\s]+(?:\s|$))")

_Value = tuple[Key, int, int]  # service and slot of a value, its start and its end


class Disfluency(Family, frozen=True):
    """The user hesitates: fillers, repetitions, restarts, and repairs of a value (CheckDST's SDI).

    Fillers, repetitions and restarts are rates per word, repairs a rate per turn with a value; `scale` multiplies
    all four.
    """

    fillers: float = 0.026
    repetitions: float = 0.015
    restarts: float = 0.019
    repairs: float = 0.3
    scale: float = 1.0
    half: lexicon.Half = "all"  # of the fillers and other phrases to draw from

    def __post_init__(self) -> None:
        for name in ("fillers", "repetitions", "restarts", "repairs", "scale"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"'{name}' must be 0 or more")

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        """The dialogue with its user less fluent."""
        speaker = _Speaker(dialogue, rng, inventory, self)
        turns = list(dialogue.turns)
        changed: list[int] = []
        refused: Counter[str] = Counter()
        for index, turn in enumerate(turns):
            if turn.speaker != "USER" or not turn.text:
                continue
            edits, reason = speaker.edits(turn)
            if edits:
                turns[index] = edited(turn, edits)
                changed.append(index)
            elif reason is not None:
                refused[reason] += 1
            speaker.remember(turn)
        after = msgspec.structs.replace(dialogue, turns=tuple(turns)) if changed else dialogue
        return Twin(after, tuple(changed), dict(refused), speaker.figures)


class _Speaker:
    """Draws the positions of disfluencies: one draw per gap between them, not one per word."""

    def __init__(self, dialogue: Dialogue, rng: Random, inventory: Inventory, options: Disfluency) -> None:
        self.dialogue, self.rng, self.inventory = dialogue, rng, inventory
        rates = [options.scale * rate for rate in (options.fillers, options.repetitions, options.restarts)]
        self.repairs, self.half = options.scale * options.repairs, options.half
        self.rate = sum(rates)
        self.until = (rates[0], rates[0] + rates[1])
        self.fluency = math.log(1.0 - self.rate) if self.rate < 1 else -math.inf
        self.gap = self._draw_gap()
        counted = ("words", "inserted", "fillers", "repetitions", "restarts", "repairs")
        self.figures: dict[str, float] = dict.fromkeys(counted, 0)
        self.before: dict[Key, tuple[str, ...]] = {}  # the state so far, for corpora without spans

    def _draw_gap(self) -> float:
        """The number of words before the next disfluency; geometrically distributed."""
        if self.rate <= 0:
            return math.inf
        return 0 if self.rate >= 1 else int(math.log(1.0 - self.rng.random()) / self.fluency)

    @cached_property
    def values(self) -> set[str]:
        """All of the dialogue's values, in lower case."""
        return annotated_values(self.dialogue).all_values()

    def edits(self, turn: Turn) -> tuple[list[Edit], str | None]:
        """The insertions into a turn, and the reason if something was drawn and nothing is inserted."""
        count = len(turn.text.split())
        self.figures["words"] += count
        drawn: list[int] = []
        while self.gap < count:
            drawn.append(int(self.gap))
            self.gap += 1 + self._draw_gap()
        self.gap -= count
        repairable = self._repairable_values(turn) if self.rng.random() < self.repairs else []
        if not drawn and not repairable:
            return [], None
        text = _Text(turn.text, protected_ranges(turn, self.values))
        missing = repairable and not self._repair(repairable, text)
        for at in drawn:
            self._falter(text, at)
        self.figures["inserted"] += len(" ".join(text.inserted.values()).split())
        return text.edits(), None if text.inserted else NO_OTHER if missing and not drawn else NO_ROOM

    def remember(self, turn: Turn) -> None:
        for frame in turn.frames:
            if frame.spans is None and frame.state is not None:
                for slot, values in frame.state.slot_values.items():
                    self.before[frame.service, slot] = values

    def _falter(self, text: _Text, at: int) -> None:
        """Inserts one disfluency at a word; a repetition repeats the nearest word that allows it."""
        kind = self.rng.random() * self.rate
        if kind < self.until[0]:
            self.figures["fillers"] += self._filler(text, at)
        elif kind < self.until[1]:
            self.figures["repetitions"] += text.repeat_near(at)
        elif self._restart(text, at):
            self.figures["restarts"] += 1
        else:  # nothing to begin again: the user hesitates
            self.figures["fillers"] += self._filler(text, at)

    def _pick(self, phrases: Sequence[str]) -> str:
        of = lexicon.select_half(phrases, self.half)
        return of[int(self.rng.random() * len(of))]

    def _filler(self, text: _Text, at: int) -> bool:
        while text.joined(at):
            at -= 1
        if text.opens(at):
            return text.insert(text.places[at][0], f"{self._pick(lexicon.word_list('fillers_at_start'))}{text.comma} ")
        fillers = lexicon.word_list("fillers")
        short = text.opens(at - 1) or not text.begins_phrase(at)  # no "a car, you know, rental"
        filler = self._pick([one for one in fillers if " " not in one] if short else fillers)
        if text.comma and text.words[at - 1][-1].isalnum():  # "to, uh, leave"
            return text.insert(text.places[at - 1][1], f"{text.comma} {filler}{text.comma}")
        return text.insert(text.places[at][0], f"{filler}{text.comma} ")

    def _restart(self, text: _Text, at: int) -> bool:
        """A restart: words are said again, or a sentence like the one that follows is begun and dropped."""
        if self._say_again(text, at) or self._abandon(text):
            return True
        near = range(max(0, at - REACH), min(len(text.words), at + REACH + 1))
        return any(self._say_again(text, place) for place in sorted(near, key=lambda place: (abs(place - at), place)))

    def _say_again(self, text: _Text, at: int) -> bool:
        """Breaks off before a word, and repeats the two to four words before it."""
        run = 0
        while run < 4 and at - run - 1 >= 0 and text.plain(at - run - 1) and not (run and text.opens_clause(at - run)):
            run += 1
        if run < 2 or text.opens(at) or text.joined(at):
            return False
        starts = [back for back in range(2, run + 1) if text.begins_phrase(at - back)]
        if not starts:
            return False
        back = starts[int(self.rng.random() * len(starts))]
        again = self._pick(lexicon.word_list("again"))
        words = " ".join(text.lower_opening(i) for i in range(at - back, at))
        insertion = f"{text.comma} {again}{text.comma} {words}" if again else f"{text.comma} {words}"
        return text.insert(text.places[at - 1][1], insertion)

    def _abandon(self, text: _Text) -> bool:
        """Begins a sentence and drops it. Before "Nothing else." or "That works." no beginning would fit."""
        word = _bare_word(text.words[0])
        beginnings = _abandoned_beginnings().get(word, ())
        if not beginnings or (word.startswith(("wh", "how")) and not text.asks):  # "How kind!" is not a question
            return False
        beginning = self._pick(beginnings)
        return text.insert(text.places[0][0], f"{beginning}{text.comma} {self._pick(('uh', 'um'))}{text.comma} ")

    def _repair(self, candidates: Sequence[_Value], text: _Text) -> bool:
        """Inserts a wrong value before a right one."""
        key, start, end = candidates[int(self.rng.random() * len(candidates))]
        before = _bare_word(text.text[:start].rpartition(" ")[0].rpartition(" ")[2])
        wrong = self._wrong_value(key, text.text[start:end], before)
        if wrong is None:
            return False
        term = self._pick(lexicon.word_list("taken_back"))
        article = "the " if before == "the" and wrong[0].isdigit() else ""  # "the 4th, no, I mean the 2nd of March"
        done = text.insert(start, f"{wrong}{text.comma} {term.replace(',', text.comma)} {article}")
        self.figures["repairs"] += done
        return done

    def _repairable_values(self, turn: Turn) -> list[_Value]:
        """Values with their positions: spans or, in corpora without any, new values of the state that occur once."""
        repairable: list[_Value] = []
        text = to_lower(turn.text)
        for frame in turn.frames:
            repairable += [((frame.service, span.slot), span.start, span.exclusive_end) for span in frame.spans or ()]
            if frame.spans is None and frame.state is not None:
                for slot, values in frame.state.slot_values.items():
                    if self.before.get((frame.service, slot)) == values:
                        continue
                    sayable = [to_lower(value) for value in values if _is_sayable(value)]
                    positions = [position for value in sayable for position in find_words(text, value)]
                    if len(positions) == 1:
                        repairable.append(((frame.service, slot), *positions[0]))
        return repairable

    def _wrong_value(self, key: Key, said: str, before: str) -> str | None:
        """Another value of the slot that is not similar to any value of this dialogue, and fits in its place.

        `said`: the right value as the user says it; `before`: the word before it. "On the 11th" has no "March 8th", and
        "an Italian place" no "Thai". Capitals are those of the right value: of the values drawn, one that is written
        so is preferred.
        """
        other_case = None
        others = self.inventory.values.get(f"{key[0]}.{key[1]}", ())
        right = [to_lower(value) for value in annotated_values(self.dialogue).values_of(key)]
        for _ in range(TRIES if others else 0):
            wrong = others[int(self.rng.random() * len(others))]
            low = to_lower(wrong)
            if not _is_sayable(wrong) or low in self.values or any(low in value or value in low for value in right):
                continue
            if value_shape(wrong) == value_shape(said) and (before not in ("a", "an") or _article(wrong) == before):
                if wrong == _case_like(wrong, said):
                    return wrong
                other_case = other_case or wrong
        return _case_like(other_case, said) if other_case else None


@cache
def _abandoned_beginnings() -> dict[str, list[str]]:
    """Beginnings of sentences that are dropped, by the word that the sentence then begins with."""
    table: dict[str, list[str]] = lexicon.load_table("words")["abandoned"]
    return {word: beginnings for words, beginnings in table.items() for word in words.split()}


@cache
def _lowered_words() -> frozenset[str]:
    """Ordinary words, which lose the capital of a sentence's start when another word is put before them."""
    ordinary = lexicon.word_set("small") | lexicon.word_set("common") | lexicon.word_set("no_names")
    return (ordinary | _abandoned_beginnings().keys()) - lexicon.word_set("times") - _FIRST_PERSON - {"mr"}


def _may_lower(word: str) -> bool:
    """Whether a word that begins a sentence is an ordinary one ("That'll"), so that it loses its capital elsewhere."""
    bare = _bare_word(word)
    return bare in _lowered_words() or ("'" in bare and bare.partition("'")[0] in _lowered_words())


@cache
def _joined_words() -> frozenset[str]:
    return frozenset(lexicon.word_list("joined"))


def _bare_word(word: str) -> str:
    return word.lower().replace("’", "'").strip(",.!?;:")


def _case_like(value: str, said: str) -> str:
    """The value in lower case or with capitals, as another one is written; in dates, days and months have capitals."""
    if said.islower():
        return value.lower()
    stay = lexicon.word_set("particles")
    if "word" not in value_shape(value).split():
        stay |= {word for word, kind in _CALENDAR.items() if kind in ("relative", "the")}
        value = value.lower()
    words = [word if word in stay or word.isupper() else word[:1].upper() + word[1:].lower() for word in value.split()]
    return " ".join(words)


def _article(value: str) -> str:
    return "an" if value[:1].lower() in "aeiou" else "a"


def value_shape(value: str) -> str:
    """The form of a value: dates, times and numbers are alike only if they are written alike, names if both or neither
    have a comma ("Sydney, Australia").

    >>> value_shape("11th"), value_shape("March 8th"), value_shape("Alder Court") == value_shape("Birch")
    ('0th', 'month 0th', True)
    """
    words = [_shape_of_word(word) for word in value.lower().replace(",", " ,").split()]
    return " ".join(word for index, word in enumerate(words) if not index or word != words[index - 1])


def _shape_of_word(word: str) -> str:
    if word in _CALENDAR:
        return _CALENDAR[word]
    digits = _DIGITS.sub("0", word)
    return _ORDINAL.sub("0th", digits) if "0" in digits else word if word == "," else "word"


def _is_sayable(value: str) -> bool:
    return value.lower() not in _UNSAYABLE


class _Text:
    """A turn's text and its insertions, at most one per position."""

    def __init__(self, text: str, shielded: Shields) -> None:
        self.text, self.shielded = text, shielded
        self.places = [match.span() for match in _TOKEN.finditer(text)]
        self.words = [text[start:end] for start, end in self.places]
        self.inserted: dict[int, str] = {}
        self.small = lexicon.word_set("small")
        self.restarts = self.small | _FIRST_PERSON
        self.capitals = text != text.lower()
        end = _END.search(text)
        self.asks = end is None or end[0] == "?"  # whether the first sentence is a question, as far as marks tell
        commas = text[-1] in ".?!" or self.capitals
        # Tokenised MultiWOZ has spaces before punctuation.
        self.comma = (" ," if " ." in text or " ?" in text or " ," in text else ",") if commas else ""

    def opens(self, at: int) -> bool:
        """Whether a word begins a sentence."""
        return at == 0 or self.words[at - 1][-1] in ".?!"

    def opens_clause(self, at: int) -> bool:
        """Whether a word begins a sentence, or joins a clause to another one."""
        return self.opens(at) or _bare_word(self.words[at]) in _CONJUNCTIONS

    def begins_phrase(self, at: int) -> bool:
        """Whether a speaker can begin again with a word: the first of a clause, or a small one ("to", "my")."""
        if self.opens_clause(at) or self.words[at - 1][-1] == ",":
            return True
        word, before = _bare_word(self.words[at]), _bare_word(self.words[at - 1])
        return word in self.restarts and before not in lexicon.word_set("bound") and not self.joined(at)

    def joined(self, at: int) -> bool:
        """Whether a word belongs to the one before, so that nobody hesitates between them: "thank you", "check in"."""
        return at > 0 and f"{_bare_word(self.words[at - 1])} {_bare_word(self.words[at])}" in _joined_words()

    def plain(self, at: int) -> bool:
        """Whether a word consists of letters and is not part of a value, so that it may be repeated."""
        return _LETTERS.fullmatch(self.words[at]) is not None and not self.shielded.touch(*self.places[at])

    def lower_opening(self, at: int) -> str:
        word = self.words[at]
        return word.lower() if self.opens(at) and _may_lower(word) else word

    def repeat_near(self, at: int) -> bool:
        """Repeats a word: the nearest small one, or the nearest of all if no small one can be repeated."""
        for words in self._repeatable:
            while words:
                insertion = bisect_left(words, at)
                nearest = min(words[max(0, insertion - 1) : insertion + 1], key=lambda index: (abs(index - at), index))
                del words[insertion - (insertion == len(words) or words[insertion] != nearest)]  # tried only once
                if self.insert(self.places[nearest][0], f"{self.words[nearest]}{self.comma} "):
                    return True
        return False

    @cached_property
    def _repeatable(self) -> tuple[list[int], list[int]]:
        """Indices of the words that can be repeated: the small ones, and the others."""
        plain = [index for index in range(len(self.words)) if self.plain(index) and not self.joined(index)]
        small = [index for index in plain if self.words[index].lower() in self.restarts]
        return small, sorted({*plain} - {*small})

    def insert(self, position: int, text: str) -> bool:
        if position in self.inserted or _NO_WORD.match(self.text, position) or self.shielded.touch(position, position):
            return False
        self.inserted[position] = text if self.capitals else text.lower()
        return True

    def edits(self) -> list[Edit]:
        """The insertions. An insertion at the start of a sentence gets the capital of the word after it."""
        edits = []
        text = self.text
        for position, inserted in self.inserted.items():
            if not self.capitals or not begins_sentence(text, position) or text[position : position + 1].isspace():
                edits.append(Edit(position, position, inserted))
                continue
            opened = inserted[0].upper() + inserted[1:]
            token = _TOKEN.match(text, position)
            may_lower = token is not None and text[position].isupper() and _may_lower(token[0])
            if may_lower and not self.shielded.touch(position, position + 1):
                edits.append(Edit(position, position + 1, opened + text[position].lower()))
            else:
                edits.append(Edit(position, position, opened))
        return edits
