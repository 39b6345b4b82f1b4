"""New names for old ones: scrambled letters, or names from a list; one new name per old one, in any casing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import gcd
from random import Random

from troth.perturb import lexicon
from troth.perturb.users.values import NO_VALUE, find_words, to_lower

TRIES = 20  # shuffles of a word before other letters are used, and draws from a list before it counts as used up
LETTERS = re.compile(r"[^\W\d_]+")
# For each length of a word, the strides that visit all letters.
_STRIDES = [tuple(n for n in range(1, max(size, 2)) if gcd(n, size) == 1) for size in range(32)]
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
_SPOKEN = "bdfgklmnprstv"


class ScrambledNames(dict[str, str]):
    """Scrambled names by name, made on first use.

    Words are scrambled one by one and a word always in the same way, so that "Andes Cafe" is still in "Andes Cafe
    San Mateo". Values in `fixed` (of other slots, in lower case) are not changed inside a name. No new word is `known`.
    """

    def __init__(self, rng: Random, known: frozenset[str], fixed: Sequence[str]) -> None:
        super().__init__()
        self.rng, self.known, self.fixed = rng, known, fixed
        self.words = _Words(rng, known)

    def assign(self, names: Iterable[str]) -> None:
        """Assigns new names to all names, in this order, which determines the draws."""
        for name in names:
            self[name]

    def __missing__(self, name: str) -> str:
        new = name
        if name not in NO_VALUE:
            new = " ".join(self._rename_words(name.split(" ")))
            low = name.lower()
            stay = [span for value in self.fixed if value in low for span in find_words(low, value)]
            if len(low) == len(name):
                for start, end in stay:
                    new = new[:start] + name[start:end] + new[end:]
        self[name] = new
        return new

    def _rename_words(self, words: Sequence[str]) -> list[str]:
        """New words; articles, prepositions and conjunctions stay, unless a name has nothing else."""
        stay = lexicon.word_set("particles")
        if all(word.lower() in stay for word in words):
            stay = frozenset()
        return [word if word.lower() in stay else self.words[word] for word in words]


class SpokenNames(ScrambledNames):
    """Made-up names that can be pronounced, "Todif Ragu" for "Andes Cafe": consonants and vowels alternate."""

    def __init__(self, rng: Random, known: frozenset[str], fixed: Sequence[str]) -> None:
        super().__init__(rng, known, fixed)
        self.words = _Words(rng, known, spoken=True)


class _Words(dict[str, str]):
    """Scrambled words by word, in the same casing; `spoken`: pronounceable words of the same length."""

    def __init__(self, rng: Random, known: frozenset[str], *, spoken: bool = False) -> None:
        super().__init__()
        self.rng, self.known, self.spoken = rng, known, spoken
        self.taken: set[str] = set()

    def __missing__(self, word: str) -> str:
        low = word.lower()
        if not word.isalpha():
            new = LETTERS.sub(lambda match: self[match[0]], word)
        elif word == low:
            new = self._scramble(word)
        elif len(low) != len(word):
            new = word
        else:
            base = self[low]
            if word[1:] == low[1:]:
                new = _upper(base[0]) + base[1:]
            else:
                new = "".join([_upper(n) if c.isupper() else n for c, n in zip(word, base, strict=True)])
        self[word] = new
        return new

    def _scramble(self, word: str) -> str:
        """The letters of a word in another order if that gives a new word, else other letters."""
        size = len(word)
        if size < 2:
            return word
        random, strides = self.rng.random, _STRIDES[size] if size < len(_STRIDES) else (1,)
        mixed = word[::2] + word[1::2]
        for attempt in range(2 * TRIES):
            if self.spoken:
                first = attempt % 2 if word[0] in _VOWELS else 1 - attempt % 2
                new = "".join([self.rng.choice((_VOWELS, _SPOKEN)[(index + first) % 2]) for index in range(size)])
            elif attempt < TRIES:  # every n-th letter, cyclically: each once, since stride and size share no factor
                stride = strides[int(random() * len(strides))]
                new = (mixed * (stride + 1))[int(random() * size) :: stride][:size]
            else:
                new = "".join([self.rng.choice(_VOWELS if c in _VOWELS else _CONSONANTS) for c in word])
            if new not in self.known and new not in self.taken and new != word:
                self.taken.add(new)
                return new
        return word


def _upper(letter: str) -> str:
    upper = letter.upper()
    return upper if len(upper) == 1 else letter


class ListedNames(ScrambledNames):
    """Names from a list by name; scrambled if the list is used up, or the name contains a fixed value."""

    def __init__(self, rng: Random, known: frozenset[str], fixed: Sequence[str], names: Sequence[str]) -> None:
        super().__init__(rng, known, fixed)
        self.names = names
        self.assigned: dict[str, str] = {}
        self.taken: set[str] = set()

    def assign(self, names: Iterable[str]) -> None:
        """Short names first, so that the new name of "Andes Cafe" is used in "Andes Cafe San Mateo"."""
        super().assign(sorted(names, key=lambda name: (len(name), name)))

    def __missing__(self, name: str) -> str:
        low = to_lower(name)
        if name in NO_VALUE or any(value in low for value in self.fixed):
            return super().__missing__(name)
        new = self.assigned.get(low)
        if new is None:
            new = self._replace_part(name, low) or self._draw(low)
            if new is None:
                return super().__missing__(name)
            self.assigned[low] = new
        self[name] = new.lower() if name == low else new.upper() if name.isupper() and len(name) > 3 else new
        return self[name]

    def _replace_part(self, name: str, low: str) -> str | None:
        inside = [(other, span) for other in self.assigned for span in find_words(low, other)]
        if not inside:
            return None
        other, (start, end) = max(inside, key=lambda item: (len(item[0]), item[0]))
        return self._rename_rest(name[:start]) + self.assigned[other] + self._rename_rest(name[end:])

    def _rename_rest(self, rest: str) -> str:
        """The words around a name that is already renamed, unchanged."""
        return rest

    def _draw(self, low: str) -> str | None:
        for _ in range(TRIES):
            new = self.names[int(self.rng.random() * len(self.names))]
            folded = new.lower()
            if folded != low and folded not in self.known and folded not in self.taken:
                self.taken.add(folded)
                return new
        return None


class MixedNames(ListedNames):
    """Names with their letters in another order, across words: "asraktustr aen" for "ask restaurant", as in CheckDST.

    Spaces move with the letters; other characters stay. A name inside a longer one has the same new name there, and the
    words around it are scrambled one by one. So is a name with a fixed value, and one whose letters give nothing new.
    Every word of a name in mixed casing begins with a capital.
    """

    def __init__(self, rng: Random, known: frozenset[str], fixed: Sequence[str]) -> None:
        super().__init__(rng, known, fixed, ())

    def _rename_rest(self, rest: str) -> str:
        return " ".join([self.words[word] for word in rest.split(" ")])

    def _draw(self, low: str) -> str | None:
        moving = [index for index, character in enumerate(low) if character.isalpha() or character == " "]
        letters = [low[index] for index in moving]
        for _ in range(TRIES):
            mixed = list(low)
            for index, letter in zip(moving, self.rng.sample(letters, len(letters)), strict=True):
                mixed[index] = letter
            new = "".join(mixed)
            words = new.split(" ")
            unheard = [new, *(word for word in words if len(word) > 1 and LETTERS.search(word))]
            if new != low and new not in self.taken and all(words) and self.known.isdisjoint(unheard):
                self.taken.add(new)
                return " ".join([_upper(word[0]) + word[1:] for word in words])
        return None
