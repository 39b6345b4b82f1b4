"""What follows from the numbers, times and dates that were seen: sums, shares, other units, rounding, later days.

A number follows if it is a seen one rounded, in another unit (cents, minutes, gigabytes), or is calculated from numbers
of which one stands in the answer itself, or which stand together in a short message: sum, difference, product with a
count, share, mean. The search is bounded, so that a random number is rarely calculated by chance: operands of a sum
have the same unit, and a small number is a sum or a difference only beside a word such as "left" or "more".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import combinations, pairwise

from troth.agents.mentions import Mention
from troth.agents.sources import LONGEST_COUNTED, Amount
from troth.text.facts import units
from troth.text.lexicon import load_table, word_set

MONEY = frozenset(("dollar", "euro", "pound", "yen", "cent"))
BYTES = {"byte": 1, "kilobyte": 10**3, "megabyte": 10**6, "gigabyte": 10**9, "terabyte": 10**12}
BINARY = {"megabyte": 2**20, "gigabyte": 2**30, "terabyte": 2**40, "byte": 1}
COUNTS = range(2, 32)
SMALL_NUMBER = 10
MOST_SHOWN, MOST_SEEN, MOST_BESIDE, MOST_SUMMED = 12, 80, 24, 4
PARTS_OF_HOURS = {
    "half": 30,
    "halbe": 30,
    "media": 30,
    "quarter": 15,
    "viertelstunde": 15,
    "hour": 60,
    "stunde": 60,
    "hora": 60,
}
_CUE = re.compile(
    r"\b(?:left|remain\w*|more|less|fewer|total|together|altogether|in all|difference|save|saves|saving|additional|"
    r"extra|over|longer|shorter|free|used|übrig|bleiben|verbleib\w*|zusammen|insgesamt|mehr|weniger|noch|quedan?|más|menos|"
    r"restan?)\b",
    re.IGNORECASE,
)
_EACH = re.compile(r"\b(?:each|every|per|apiece|pro|je|jeweils|cada|por|split|half|a piece)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean|on average|durchschnitt\w*|media|promedio)\b", re.IGNORECASE)
# Periods for which a price, a dose or an interest is counted, and how many times.
_PERIODS = (
    (re.compile(r"\b(?:week|weekly|woche|semana)\b", re.IGNORECASE), (7, 52)),
    (re.compile(r"\b(?:month|monthly|monat|mes|mensual)\b", re.IGNORECASE), (12, 30)),
    (re.compile(r"\b(?:year|yearly|annual|annually|jahr|jährlich|año)\b", re.IGNORECASE), (12, 52, 365)),
    (re.compile(r"\b(?:day|daily|tag|täglich|día)\b", re.IGNORECASE), (24, 7, 30)),
)


@dataclass(frozen=True)
class Basis:
    """Numbers that an answer may be calculated from."""

    text: str  # the sentence or answer around the number
    shown: Sequence[Amount]  # numbers of the answer that are supported
    seen: Sequence[Amount]  # all that were seen before it
    beside: Sequence[Amount] = ()  # those of objects that the answer names
    times: Sequence[Mention] = ()
    dates: Sequence[Mention] = ()
    words: Collection[str] = ()  # of the user and the answer: "tomorrow", "week"


def follows(mention: Mention, decimals: int, basis: Basis) -> bool:
    """Whether a number follows from what is known."""
    value, unit = float(mention.value), mention.unit
    if unit == "cent":
        value, unit, decimals = value / 100, "dollar", decimals + 2
    seen = list(dict.fromkeys(amount._replace(message=0) for amount in basis.seen[-MOST_SEEN:]))
    if any(_is_near(amount.value, value, decimals) for amount in seen if not amount.value.is_integer()):
        return True
    if unit in MONEY and any(_is_cents(amount, value) for amount in seen):
        return True
    if unit == "percent" and value == 100:
        return True  # "100% sure"
    if unit == "percent" and any(0 < a.value < 1 and _is_near(100 * a.value, value, decimals) for a in seen):
        return True
    if unit and any(_converts(amount, value, unit, decimals) for amount in (*basis.shown, *seen)):
        return True
    if unit in ("day", "week", "hour", "minute") and _spans(value, unit, basis):
        return True
    if value < SMALL_NUMBER and value.is_integer() and unit not in MONEY and not _CUE.search(basis.text):
        if unit:
            return any(_is_multiple(value, count, other) for count, other in _pairs(basis))
        return _is_scaled(value, basis)
    if _is_calculated(value, unit, decimals, basis):
        return True
    return any(
        _is_calculated(value * factor, other, decimals, basis)
        for other, factor in _other_units(unit, basis.seen).items()
    )


def _other_units(unit: str, seen: Iterable[Amount]) -> dict[str, float]:
    """Units of the same kind that were seen, and how many of them make one of this unit."""
    own = units().get(unit)
    others = {amount.unit: units().get(amount.unit) for amount in seen if amount.unit and amount.unit != unit}
    return {
        name: own.factor / other.factor
        for name, other in others.items()
        if own is not None and other is not None and own.measures == other.measures
    }


def _is_near(calculated: float, value: float, decimals: int) -> bool:
    """Whether a value equals the calculated one, rounded to as many decimals as the value is written with."""
    return abs(calculated - value) <= 0.5 * 10.0**-decimals + 1e-9


def _is_cents(amount: Amount, value: float) -> bool:
    return amount.value.is_integer() and abs(amount.value - 100 * value) < 1e-6


def _converts(amount: Amount, value: float, unit: str, decimals: int) -> bool:
    """Whether an amount is the value in another unit; whole and remainder of minutes and months count, too."""
    if amount.unit in ("celsius", "") and unit == "fahrenheit":
        return _is_near(amount.value * 9 / 5 + 32, value, decimals)
    if amount.unit in ("fahrenheit", "") and unit == "celsius":
        return _is_near((amount.value - 32) * 5 / 9, value, decimals)
    if unit == amount.unit == "minute":
        return amount.value > 60 and amount.value % 60 == value
    if not amount.unit or amount.unit == unit:
        return False
    for scale in (BYTES, BINARY):
        is_size = amount.unit in scale and unit in scale
        if is_size and _is_near(amount.value * scale[amount.unit] / scale[unit], value, decimals):
            return True
    own, other = units().get(amount.unit), units().get(unit)
    if own is None or other is None or own.measures != other.measures:
        return False
    converted = amount.value * own.factor / other.factor
    if _is_near(converted, value, decimals):
        return True
    smaller = own.measures in ("duration", "months") and own.factor < other.factor
    return bool(smaller and converted >= 1 and int(converted) == value)


def _spans(value: float, unit: str, basis: Basis) -> bool:
    """Whether a duration lies between two days, or two times, that are known."""
    if unit in ("day", "week"):
        days = [day for mention in basis.dates[-20:] for day in _days(mention, basis.dates)]
        spans = {abs((first - second).days) for first, second in combinations(set(days), 2)}
        factor = 7 if unit == "week" else 1
        return any(span in spans for span in (value * factor, value * factor - 1))
    minutes = value * (60 if unit == "hour" else 1)
    clock = {reading for mention in basis.times[-20:] for reading in _minutes(mention)}
    return any(abs(first - second) == minutes for first, second in combinations(clock, 2))


def _pairs(basis: Basis) -> Iterator[tuple[Amount, Amount]]:
    """Pairs of numbers that may be combined: one is in the answer, or both are in one short message."""
    shown = list(dict.fromkeys(basis.shown))[-MOST_SHOWN:]
    seen = list(dict.fromkeys(basis.seen))[-MOST_SEEN:]
    for first in shown:
        for second in (*shown, *seen):
            if first != second:
                yield first, second
    beside = dict.fromkeys(amount._replace(message=0) for amount in basis.beside)
    yield from combinations(list(beside)[-MOST_BESIDE:], 2)
    for group in _short_messages(seen):
        yield from combinations(group, 2)


def _short_messages(seen: Sequence[Amount]) -> Iterator[list[Amount]]:
    """Numbers of the messages that hold few of them."""
    groups: dict[int, list[Amount]] = {}
    for amount in seen:
        groups.setdefault(amount.message, []).append(amount)
    return (group for group in groups.values() if len(group) <= LONGEST_COUNTED)


def _is_multiple(value: float, first: Amount, second: Amount) -> bool:
    return any(
        count.value in COUNTS and abs(count.value * other.value - value) < 1e-6
        for count, other in ((first, second), (second, first))
    )


def _is_calculated(value: float, unit: str, decimals: int, basis: Basis) -> bool:
    is_each = _EACH.search(basis.text) is not None
    for first, second in _pairs(basis):
        if _is_multiple(value, first, second) or _is_from_pair(value, unit, decimals, (first, second), is_each=is_each):
            return True
    shown = list(dict.fromkeys(basis.shown))[-MOST_SHOWN:]
    groups = [shown, *_short_messages(list(dict.fromkeys(basis.seen))[-MOST_SEEN:])]
    for group in groups:
        amounts = [amount.value for amount in group if amount.unit != "percent" and _same_kind(amount.unit, unit)]
        if any(abs(sum(amounts[start:]) - value) < 1e-6 for start in range(len(amounts) - 1)):
            return True
        for count in range(3, MOST_SUMMED + 1):
            if any(abs(sum(part) - value) < 1e-6 for part in combinations(amounts[:MOST_SHOWN], count)):
                return True
        means = (sum(part) / len(part) for part in _runs(amounts)) if _MEAN.search(basis.text) else ()
        if any(_is_near(mean, value, decimals) for mean in means):
            return True
    factors = {factor for pattern, factors in _PERIODS if pattern.search(basis.text) for factor in factors}
    for amount in (*shown, *basis.seen[-MOST_SEEN:]):
        if amount.unit != "percent" and any(
            abs(amount.value * factor - value) < 1e-6 or _is_near(amount.value / factor, value, max(decimals, 2))
            for factor in factors
        ):
            return True
    return _is_scaled(value, basis)


def _runs(amounts: Sequence[float]) -> Iterator[Sequence[float]]:
    return (amounts[start:end] for start in range(len(amounts)) for end in range(start + 2, len(amounts) + 1))


def _is_scaled(value: float, basis: Basis) -> bool:
    """Whether a value is in proportion: 300 g for 6 people, where the result has 200 g for 4."""
    shown = {amount.value for amount in basis.shown if amount.value in COUNTS}
    return any(
        base.value in COUNTS and abs(amount.value * wanted / base.value - value) < 1e-6
        for group in _short_messages(list(dict.fromkeys(basis.seen))[-MOST_SEEN:])
        for base in group
        for amount in group
        if amount is not base
        for wanted in shown
        if wanted != base.value
    )


def _same_kind(first: str, second: str) -> bool:
    """Whether two numbers may be added: equal units, or one has none. Percentages are added to percentages only."""
    if "percent" in (first, second):
        return first == second
    return not first or not second or first == second or {first, second} <= MONEY


def _is_from_pair(value: float, unit: str, decimals: int, pair: tuple[Amount, Amount], *, is_each: bool) -> bool:
    first, second = pair
    if unit == "percent":
        return any(_is_near(100 * share, value, decimals) for share in _shares(first.value, second.value))
    a, b = first.value, second.value
    can_add = _same_kind(first.unit, second.unit) and _same_kind(first.unit or second.unit, unit)
    if can_add and (abs(a + b - value) < 1e-6 or abs(abs(a - b) - value) < 1e-6):
        return True
    for amount, other in ((a, second), (b, first)):
        rate = other.value / 100 if other.unit == "percent" else other.value
        if (other.unit == "percent" or 0 < other.value < 1) and any(
            abs(calculated - value) <= 0.005 + 1e-9
            for calculated in (amount * rate, amount * (1 + rate), amount * (1 - rate))
        ):
            return True
        if (
            is_each
            and other.value in COUNTS
            and other.unit != "percent"
            and _is_near(amount / other.value, value, max(decimals, 2))
        ):
            return True
    fractions = [not x.is_integer() for x in (a, b)]
    return any(fractions) and decimals > 0 and _is_near(a * b, value, decimals)


def _shares(a: float, b: float) -> Iterator[float]:
    """Parts and changes of two numbers."""
    for part, whole in ((a, b), (b, a)):
        if whole:
            yield part / whole
            yield abs(part - whole) / whole


# -- times and dates ---------------------------------------------------------------------------------------------------


def _minutes(mention: Mention) -> list[int]:
    """The minutes since midnight that a time may mean."""
    hour, minute = int(mention.value[:2]) % 12, int(mention.value[3:5])
    halves = {"a": (0,), "p": (12,)}.get(mention.value[-1], (0, 12))
    return [60 * (hour + half) + minute for half in halves]


def time_follows(mention: Mention, basis: Basis) -> bool:
    """Whether a time is a known one plus or minus a known duration, or an hour that was named without minutes."""
    wanted = set(_minutes(mention))
    spans = {
        amount.value * (60 if amount.unit == "hour" else 1)
        for amount in (*basis.shown, *basis.seen[-MOST_SEEN:])
        if amount.unit in ("minute", "hour")
    }
    spans |= {length for word, length in PARTS_OF_HOURS.items() if word in basis.words}
    starts = {minute for time in basis.times for minute in _minutes(time)}
    return any((start + sign * span) % 1440 in wanted for start in starts for span in spans for sign in (1, -1))


def _days(mention: Mention, dates: Iterable[Mention]) -> list[date]:
    """The days that a date may mean: in its year, else in each year that other dates name."""
    years = {int(mention.year)} if mention.year else {int(other.year) for other in dates if other.year} or {2024, 2025}
    days = []
    for year in years:
        try:
            days.append(date(year, int(mention.value[:2]), int(mention.value[3:])))
        except ValueError:  # February 30, or year 0
            continue
    return days


def count_days(dates: Sequence[Mention]) -> list[Amount]:
    """The days between two dates that follow each other in an answer, with and without the last day."""
    amounts: list[Amount] = []
    for first, second in pairwise(dates):
        for start, end in zip(_days(first, dates), _days(second, dates), strict=False):
            days = (end - start).days
            amounts += (Amount(float(count), "day", -1) for count in (days, days + 1) if days > 0)
    return amounts


def date_follows(mention: Mention, basis: Basis, weekdays: Collection[int] = ()) -> bool:
    """Whether a day lies as many days, weeks or months from a known day as was said.

    `weekdays`: those that were named; the next two of each after a known day count as named, too.
    """
    offsets = {
        sign * int(amount.value) * (7 if amount.unit == "week" else 1)
        for amount in (*basis.shown, *basis.seen[-MOST_SEEN:])
        if amount.unit in ("day", "week") and amount.value < 1000
        for sign in (1, -1)
    }
    relative = load_table("calendar")["relative"]
    offsets |= {sign * relative[word] for word in basis.words if word in relative for sign in (1, -1)}
    if {"day", "after", "tomorrow"} <= set(basis.words) or {"pasado", "mañana"} <= set(basis.words):
        offsets.add(2)
    if "day" in basis.words and not word_set("neighbours", "speech").isdisjoint(basis.words):
        offsets |= {1, -1}
    if any(re.fullmatch(r"(?:\w*week|woche|semana)\w*", word) for word in basis.words):
        offsets |= set(range(1, 15)) if weekdays else {7, 14}
    months = {
        int(amount.value) * (12 if amount.unit == "year" else 1)
        for amount in (*basis.shown, *basis.seen[-MOST_SEEN:])
        if amount.unit in ("month", "year") and amount.value < 1000
    }
    if not {f"{int(mention.value[3:])}{ending}" for ending in ("st", "nd", "rd", "th")}.isdisjoint(basis.words):
        return True  # "the 23rd"
    wanted = {(int(mention.value[:2]), int(mention.value[3:]))}
    for base in basis.dates[-MOST_SEEN:]:
        for day in _days(base, basis.dates):
            days = [_shift(day, offset) for offset in offsets]
            ahead = (_shift(day, offset) for offset in range(15))
            days += (later for later in ahead if later is not None and later.weekday() in weekdays)
            for count in months:
                for sign in (1, -1):
                    later = _shift_months(day, sign * count)
                    days += (later, None if later is None else _shift(later, -1))
            if any(later is not None and (later.month, later.day) in wanted for later in days):
                return True
    return False


def weekday_agrees(weekday: int, mention: Mention | None, dates: Sequence[Mention]) -> bool:
    """Whether a weekday is that of the date beside it, or of any known date. True where no year is known."""
    chosen = dates if mention is None else [other for other in dates if other.year and other.value == mention.value]
    if mention is not None and mention.year:
        chosen = [mention]
    days = [day for one in chosen if one.year for day in _days(one, ())]
    return not days or any(day.weekday() == weekday for day in days)


def _shift(day: date, offset: int) -> date | None:
    try:
        return day + timedelta(days=offset)
    except OverflowError:
        return None


def _shift_months(day: date, count: int) -> date | None:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    try:
        return date(year, month + 1, min(day.day, 28) if day.day > 28 else day.day)
    except ValueError:
        return None
