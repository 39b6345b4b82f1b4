"""New names for old ones: scrambled letters, or names out of a list; one new name for each old one, in any casing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import gcd
from random import Random

from troth.perturb.users.values import NO_VALUE, lowered, places

TRIES = 20  # shuffles of a word before other letters are taken, and draws from a list before it counts as used up
LETTERS = re.compile(r"[^\W\d_]+")
# For each length, by what strides one comes by all letters of a word of that length.
_STRIDES = [tuple(n for n in range(1, max(size, 2)) if gcd(n, size) == 1) for size in range(32)]
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


class ScrambledNames(dict[str, str]):
    """Name to scrambled name, made on first use.

    Words are scrambled one by one and a word always in the same way, so that "Andes Cafe" still stands in "Andes Cafe
    San Mateo". Values in `kept` (of other slots, in lower-case) stay readable where they are part of a name. No new
    word is `known`.
    """

    def __init__(self, rng: Random, known: frozenset[str], kept: Sequence[str]) -> None:
        super().__init__()
        self.rng, self.known, self.kept = rng, known, kept
        self.words = _Words(rng, known)

    def assign(self, names: Iterable[str]) -> None:
        """Gives all of them new names, in this order: words are drawn as they come."""
        for name in names:
            self[name]

    def __missing__(self, name: str) -> str:
        new = name
        if name not in NO_VALUE:
            words = self.words
            new = " ".join([words[word] for word in name.split(" ")])
            low = name.lower()
            stay = [place for value in self.kept if value in low for place in places(low, value)]
            if len(low) == len(name):
                for start, end in stay:
                    new = new[:start] + name[start:end] + new[end:]
        self[name] = new
        return new


class _Words(dict[str, str]):
    """Word to scrambled word, in its own casing."""

    def __init__(self, rng: Random, known: frozenset[str]) -> None:
        super().__init__()
        self.rng, self.known = rng, known
        self.taken: set[str] = set()

    def __missing__(self, word: str) -> str:
        low = word.lower()
        if not word.isalpha():
            new = LETTERS.sub(self._part, word)
        elif word == low:
            new = self._scrambled(word)
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

    def _part(self, match: re.Match[str]) -> str:
        return self[match[0]]

    def _scrambled(self, word: str) -> str:
        """Its own letters in another order if that makes something new, else others in their place."""
        size = len(word)
        if size < 2:
            return word
        random, strides = self.rng.random, _STRIDES[size] if size < len(_STRIDES) else (1,)
        mixed = word[::2] + word[1::2]
        for attempt in range(2 * TRIES):
            if attempt < TRIES:  # every so-manieth letter, round and round: each comes once, as no factor is shared
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
    """Name to a name out of a list; scrambled where the list is used up, or the name holds a value to be kept."""

    def __init__(self, rng: Random, known: frozenset[str], kept: Sequence[str], names: Sequence[str]) -> None:
        super().__init__(rng, known, kept)
        self.names = names
        self.given: dict[str, str] = {}
        self.taken: set[str] = set()

    def assign(self, names: Iterable[str]) -> None:
        """Short names first: "Andes Cafe" is to be told again in "Andes Cafe San Mateo" under its new name."""
        super().assign(sorted(names, key=lambda name: (len(name), name)))

    def __missing__(self, name: str) -> str:
        low = lowered(name)
        if name in NO_VALUE or any(value in low for value in self.kept):
            return super().__missing__(name)
        new = self.given.get(low)
        if new is None:
            new = self._within(name, low) or self._drawn(low)
            if new is None:
                return super().__missing__(name)
            self.given[low] = new
        self[name] = new.lower() if name == low else new.upper() if name.isupper() and len(name) > 3 else new
        return self[name]

    def _within(self, name: str, low: str) -> str | None:
        inside = [(other, place) for other in self.given for place in places(low, other)]
        if not inside:
            return None
        other, (start, end) = max(inside, key=lambda found: (len(found[0]), found[0]))
        return self._beside(name[:start]) + self.given[other] + self._beside(name[end:])

    def _beside(self, rest: str) -> str:
        """What becomes of the words around a name that has its new name already: nothing."""
        return rest

    def _drawn(self, low: str) -> str | None:
        for _ in range(TRIES):
            new = self.names[int(self.rng.random() * len(self.names))]
            folded = new.lower()
            if folded != low and folded not in self.known and folded not in self.taken:
                self.taken.add(folded)
                return new
        return None


class MixedNames(ListedNames):
    """Name to its letters in another order, across its words: "ask restaurant" to "asraktustr aen", as CheckDST has it.

    Spaces move with the letters; all else stays in its place. A name inside a longer one has the same new name there,
    and the words around it are scrambled one by one. So is a name that holds a value to be kept, and one whose letters
    give nothing new. Every word of a name in mixed casing begins with a capital.
    """

    def __init__(self, rng: Random, known: frozenset[str], kept: Sequence[str]) -> None:
        super().__init__(rng, known, kept, ())

    def _beside(self, rest: str) -> str:
        return " ".join([self.words[word] for word in rest.split(" ")])

    def _drawn(self, low: str) -> str | None:
        moving = [place for place, character in enumerate(low) if character.isalpha() or character == " "]
        letters = [low[place] for place in moving]
        for _ in range(TRIES):
            mixed = list(low)
            for place, letter in zip(moving, self.rng.sample(letters, len(letters)), strict=True):
                mixed[place] = letter
            new = "".join(mixed)
            words = new.split(" ")
            unheard = [new, *(word for word in words if len(word) > 1 and LETTERS.search(word))]
            if new != low and new not in self.taken and all(words) and self.known.isdisjoint(unheard):
                self.taken.add(new)
                return " ".join([_upper(word[0]) + word[1:] for word in words])
        return None
