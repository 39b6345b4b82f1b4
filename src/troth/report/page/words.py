"""Numbers, lists and titles in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from troth.core import table
from troth.core.metric import PERCENT, Scale
from troth.core.score import Score

SHARES = {  # in words; the nearest is taken
    0.05: "one in twenty", 0.1: "a tenth", 0.2: "a fifth", 0.25: "a quarter", 1 / 3: "a third", 0.4: "two fifths",
    0.5: "half", 0.6: "three fifths", 2 / 3: "two thirds", 0.75: "three quarters", 0.8: "four fifths",
    0.9: "nine tenths",
}  # fmt: skip


def percent(value: float | None, digits: int = 1) -> str:
    return table.percent(value, digits)


def number(value: float | None, scale: Scale) -> str:
    """A share in percent with one digit, any other number with three."""
    return percent(value) if scale in PERCENT else table.number(value, scale)


def figure(score: Score | None) -> str:
    """A score's value and its interval, as the page's tables show it."""
    if score is None or score.value is None:
        return "–"
    value = number(score.value, score.scale)
    if score.low is None or score.high is None:
        return value
    return f"{value} ({number(score.low, score.scale)} … {number(score.high, score.scale)})"


def bounds(low: float | None, high: float | None, scale: Scale) -> str:
    """The interval of a difference: points of a share."""
    ends = [f"{'+' if end > 0 else ''}{number(end, scale)}" for end in (low, high) if end is not None]
    return " … ".join(ends) or "–"


def share_in_words(value: float) -> str:
    """A share in words: 0.66 is "two thirds". Only 0 is "none", and only 1 is "all"."""
    if value <= 0.0 or value >= 1.0:
        return "none" if value <= 0.0 else "all"
    if value < 0.025:
        return "hardly any"
    if value > 0.95:
        return "nearly all"
    return SHARES[min(SHARES, key=lambda known: abs(known - value))]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def truncate(items: Sequence[str], number: int) -> list[str]:
    """The first few items, and how many more there are."""
    return [*items[:number], *([f"{len(items) - number} more"] if len(items) > number else [])]


def join_words(items: Sequence[str]) -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def title_in_sentence(title: str) -> str:
    """A metric's title within a sentence: "joint goal accuracy", but "AGA, free slots" and "cJGA"."""
    return title if title[:2].isupper() or not title[1:2].islower() else title[0].lower() + title[1:]


def base_title(title: str, variant: str) -> str:
    """The title of the metric that one is derived from: "cJGA" of "cJGA under NED", "JGA" of "JGA, v3"."""
    return title.removesuffix(variant).rstrip(":, ").removesuffix(" under") if title.endswith(variant) else title


def unit_noun(*scores: Score) -> str:
    """The noun for the units of scores: turns or frames; "units" if they differ or are unknown."""
    units = {score.recipe.get("unit", "unit") for score in scores}
    return (units.pop() if len(units) == 1 else "unit") + "s"


def name_units(about: str, scores: Iterable[Score]) -> str:
    """A metric's description, with its units by their name: "share of turns whose whole state is right"."""
    return re.sub(r"\bunits\b", unit_noun(*scores), about)
