"""Near misses: wrong values that equal gold except for a small difference in writing.

Hundreds of wrong values of one slot that differ from gold only by spaces are a problem of normalisation, not of the
tracker. Each wrong value is tried against a list of differences, the smallest first, and counted under the first one
that explains it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache

from troth.core.text_cache import clear_with_texts

FEWEST = 5  # near misses of one slot and one kind that are reported
SHOWN = 5  # lines per system
LONGEST_TIME = 40  # letters of a time of day
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS)}


def _write_digits(text: str) -> str:
    return " ".join(_NUMBERS.get(word, word) for word in text.lower().split())


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in letters if c.isalnum())


_TIME = re.compile(r"(?:after|before|by|at|around)?\s*(\d{1,2})\s*[:.h]?\s*(\d{2})?\s*([ap])?\.?\s*m?\.?")


def _clock(text: str) -> str:
    """Converts a time of day to HH:MM; returns other text unchanged."""
    # On one space between words and a text that is short enough: the pattern takes long on many spaces.
    time = _TIME.fullmatch(" ".join(text.lower().split())) if len(text) <= LONGEST_TIME else None
    if time is None or not (time[2] or time[3]):
        return text
    hour = int(time[1]) % 12 + 12 * (time[3] == "p") if time[3] else int(time[1])
    return f"{hour:02d}:{time[2] or '00'}"


DIFFERENCES: dict[str, Callable[[str], str]] = {
    "any of gold's values counts": str,  # a profile may take the first one only
    "letter case is ignored": str.lower,
    "spaces are ignored": lambda text: "".join(text.lower().split()),
    "punctuation and accents are ignored": _plain,
    "a leading 'the' or 'a' is ignored": lambda text: _plain(re.sub(r"^(?:the|an?)\s+", "", text.lower())),
    "numbers are written as digits": lambda text: _plain(_write_digits(text)),
    "times are written as HH:MM": _clock,
}


@clear_with_texts
@lru_cache(maxsize=1 << 16)
def difference(gold: tuple[str, ...], pred: str) -> str | None:
    """The smallest difference in writing between a wrong value and one of gold's; None if it is more than that."""
    for name, reduce in DIFFERENCES.items():
        reduced = reduce(pred)
        if reduced and any(reduced == reduce(value) for value in gold):
            return name
    return None


def lines(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """One line for each slot and difference that explains many wrong values, the most frequent first."""
    for (slot, name), count in counts.most_common(SHOWN):
        if count >= FEWEST:
            yield f"{count} wrong {slot} values equal gold if {name}"
