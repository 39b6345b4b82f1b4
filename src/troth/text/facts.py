"""Facts of a text that can be checked, in a normal form with their positions: numbers with units, money, dates, times.

`two`, `2` and `2.0` are the same number, and so are `1,250` and `1.25 thousand`; `90 minutes` is `1.5 hours`; `5pm` is
`17:00`; `March 1st` is a date without a year, and agrees with `2019-03-01`. Rules alone, no model. Names are found by
`troth.text.proper_names`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

from troth.core.text_cache import text_cache
from troth.text.lexicon import load_table

FactKind = Literal["number", "money", "date", "time", "name"]
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
MAX_SCALED_DIGITS = 40  # longer numbers are not multiplied by words such as "million"
MAX_SPELT = 10**MAX_SCALED_DIGITS  # "hundred hundred …" is not a number

SMALL = {word: number for number, word in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
     "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"))
}  # fmt: skip
TENS = {word: 10 * number for number, word in enumerate(
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}  # fmt: skip
SCALES = {"hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "m": 10**6,
          "billion": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12, "dozen": 12}  # fmt: skip
CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "us$": "dollar", "usd": "dollar", "eur": "euro",
              "gbp": "pound"}  # fmt: skip


class Unit(NamedTuple):
    """A unit of measurement: what it measures, and how many of the base unit it is."""

    measures: str
    factor: float


MONEY = frozenset(("dollar", "euro", "pound", "yen"))


@cache
def units() -> Mapping[str, Unit]:
    """The units of `data/units.toml`, by name."""
    return {name: Unit(unit["measures"], unit["factor"]) for name, unit in load_table("units").items()}


@cache
def _units_by_spelling() -> Mapping[str, str]:
    """Name of a unit by its spelling, singular or plural."""
    names = {
        spelling.replace("_", " "): name
        for name, unit in load_table("units").items()
        for spelling in unit["spellings"].split()
    }
    return names | {f"{spelling}s": name for spelling, name in names.items() if len(spelling) > 2} | {"inches": "inch"}


_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + "|sept"
_SPELT = "|".join((*SMALL, *TENS))
# A fact begins with a digit, a sign or one of these pairs of letters. Tested first, because few positions pass.
_BEGINNING = (
    r"(?=\d|(?<!\w)(?:[$€£¥'’]|us\$|ja|fe|ma|ap|ju|au|se|oc|no|de|mo|tu|we|th|fr|sa|su|on|tw|fo|fi|si|ei|ni|te|el|ze|hu|"
    r"mi|bi|tr|do))"
)


@cache
def _fact_pattern() -> re.Pattern[str]:
    """All facts in one pass; where two readings begin at the same character, the one listed first is taken."""
    counted = "|".join(sorted(map(re.escape, _units_by_spelling()), key=len, reverse=True))
    unit = rf"(?:[\s-]?({counted})(?![\w/]))?"
    plural = "|".join(sorted(name for name in _units_by_spelling() if len(name) > 3 and name.endswith("s")))
    readings = (
        r"(?P<iso>(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d))",
        rf"(?P<day>\b({_MONTH})\.?\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:|\s*[ap]\.?m\b)(?:,?\s+(\d{{4}})\b)?)",
        rf"(?P<day_first>(?<![\w.])(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b(?:,?\s+(\d{{4}})\b)?)",
        rf"(?P<month>\b({_MONTH})\.?,?\s+(?:of\s+)?((?:1[0-9]|20)\d\d)\b)",
        r"(?P<slashed>(?<![\d/])(\d{1,2})/(\d{1,2})(?:/(\d{2,4}))?(?![\d/]))",
        r"(?P<time>(?<![\d:])(\d{1,2}):(\d{2})(:\d{2})?(?:\s*([ap])(?:\.\s?m\b\.?|\s?m\b))?(?!\d))",
        r"(?P<hour>(?<![\w:.])(\d{1,2})\s*([ap])(?:\.m\b\.?|m\b))",
        r"(?P<decade>(?<![\w$€£.])(?:(1[0-9]|20)|['’])(\d0)['’]?s\b)",
        r"(?P<weekday>\b((?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b)",
        r"(?P<century>\b(\d{1,2})(?:st|nd|rd|th)[\s-]century\b)",
        r"(?P<year>(?<![\w$€£.,/-])((?:1[0-9]|20)\d\d)(?![\w%/]|[.,]\d|-\d|\s*(?:%|"
        rf"(?:{plural}|people|feet|km|kg|percent|dollar|euro|pound|yen|meter|metre|mile|vote|year|day|hour|minute)\b)))",
        r"(?P<money>(?<!\w)(us\$|[$€£¥])\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
        r"(?:\s?(hundred|thousand|million|billion|trillion|k|mn|m|bn|b))?(?!\w))",
        r"(?P<ordinal>(?<![\w.,])(\d+)(?:st|nd|rd|th)\b)",
        rf"(?P<number>(?<![\w.,/])(\d{{1,3}}(?:,\d{{3}})+|\d+)(\.\d+)?(?:[\s-]?(hundred|thousand|million|billion|trillion|"
        rf"dozen|bn|mn)\b)?{unit}(?!\w)(?!\.\d|:\d))",
        rf"(?P<spelt>\b((?:(?:{_SPELT}|hundred|thousand|million|billion|trillion|dozen)\b(?:[\s-]|\sand\s)?)+)(?<=\w){unit}"
        r"(?!\w))",
    )  # fmt: skip
    return re.compile(f"{_BEGINNING}(?:{'|'.join(readings)})", re.IGNORECASE)


@cache
def _fact_groups() -> Mapping[str, Sequence[int]]:
    """The groups of each reading that its reader takes, after the whole match."""
    first = _fact_pattern().groupindex
    return {name: (0, *range(first[name] + 1, first[name] + 1 + count)) for name, count in _INNER_GROUPS.items()}


# Letters that regular expressions take for s, i and k if case is ignored.
_PLAIN_LETTERS = str.maketrans("ſıİ\u212a", "siIK")


class Fact(NamedTuple):
    """Something in a text that can be checked: its kind, its normal form, and its position.

    `value` of a number is its shortest form (`1250`), of a date `2019-03-01` with `*` for missing parts, of a time
    `05:00p`, of a name its words in lower case. `unit` is a name of `units()`, or empty.
    """

    kind: FactKind
    value: str
    start: int
    end: int
    unit: str = ""


@text_cache
def find_facts(text: str) -> tuple[Fact, ...]:
    """Numbers, amounts of money, dates and times of a text, in order. A date or a time is not also a number.

    >>> [(fact.kind, fact.value, fact.unit) for fact in find_facts("Two trams leave at 5pm on March 1st and cost $9.")]
    [('number', '2', ''), ('time', '05:00p', ''), ('date', '*-03-01', ''), ('money', '9', 'dollar')]
    """
    facts: list[Fact] = []
    groups = _fact_groups()
    for match in _fact_pattern().finditer(text if text.isascii() else text.translate(_PLAIN_LETTERS)):
        name = match.lastgroup or ""
        whole, *parts = match.group(*groups[name])
        reading = _READERS[name](*parts)
        if reading is not None:
            kind, value, unit = reading
            facts.append(Fact(kind, value, match.start(), match.start() + len(whole.rstrip(" -")), unit))
    return tuple(facts)


def normalize_number(text: str) -> str:
    """A number in its shortest form: `1,250.00` is `1250`."""
    whole, _, rest = text.replace(",", "").partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def agree(said: Fact, known: Fact) -> bool:
    """Whether `known` implies `said`: the same amount, moment or name, or a less exact date.

    A unit that only one side has does not matter; a year that only `said` has does.
    """
    if said.kind == "date" and known.kind == "date":
        return _dates_agree(said.value, known.value)
    if said.kind == "time" and known.kind == "time":
        return not set(clock_readings(said.value)).isdisjoint(clock_readings(known.value))
    if {said.kind, known.kind} <= {"number", "money"}:
        return _amounts_agree(said, known)
    if {said.kind, known.kind} == {"date", "number"}:  # 1984 pages, or the year
        return said.value.removesuffix("-*-*") == known.value.removesuffix("-*-*")
    return said.kind == known.kind and said.value == known.value


class FactIndex:
    """The facts of a text, arranged so that one question takes the same time however many there are."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = {(fact.kind, fact.value) for fact in facts}
        self._amounts: set[tuple[str, str]] = set()  # value and unit, of numbers and money
        self._measured: dict[str, list[float]] = {}  # amounts in the base unit, by what is measured
        self._readings: set[str] = set()  # of times
        self._dates: set[tuple[str, ...]] = set()  # with every choice of parts left open
        for fact in facts:
            if fact.kind in ("number", "money"):
                self._amounts |= {(fact.value, fact.unit), (fact.value, "*")}
                if fact.unit in units():
                    unit = units()[fact.unit]
                    self._measured.setdefault(unit.measures, []).append(float(fact.value) * unit.factor)
            elif fact.kind == "time":
                self._readings.update(clock_readings(fact.value))
            elif fact.kind == "date" and len(parts := fact.value.split("-")) == 3:
                self._dates.update(product(*((part, "*") for part in parts)))
        for amounts in self._measured.values():
            amounts.sort()

    def has(self, said: Fact) -> bool:
        """Whether any of the facts implies `said`, see `agree`."""
        if said.kind == "time":
            return not self._readings.isdisjoint(clock_readings(said.value))
        if said.kind == "date":
            parts = tuple(said.value.split("-"))
            is_known = parts in self._dates if len(parts) == 3 else ("date", said.value) in self._facts
            return is_known or ("number", said.value.removesuffix("-*-*")) in self._facts
        if said.kind == "number" and any(("date", f"{said.value}{rest}") in self._facts for rest in ("", "-*-*")):
            return True
        if said.kind in ("number", "money"):
            return self._has_amount(said)
        return (said.kind, said.value) in self._facts

    def _has_amount(self, said: Fact) -> bool:
        if not said.unit:
            return (said.value, "*") in self._amounts
        if (said.value, "") in self._amounts:
            return True
        if said.unit not in units():
            return (said.value, said.unit) in self._amounts
        unit = units()[said.unit]
        known, amount = self._measured.get(unit.measures, []), float(said.value) * unit.factor
        at = bisect_left(known, amount)
        # The nearest ones; and the ends, which may be infinite.
        return any(
            _is_same_amount(amount, other) for other in (*known[max(0, at - 1) : at + 2], *known[:1], *known[-1:])
        )


@text_cache
def fact_index(text: str) -> FactIndex:
    """The index of the facts of a text."""
    return FactIndex(find_facts(text))


def date_shape(value: str) -> str:
    """Which parts a date has, with 0 for every number: `0-*-*` is a year, `*-0-0` a day of a month."""
    if value.startswith("century"):
        return "century"
    return re.sub(r"\d+", "0", value) if value[0] in "*0123456789" else "weekday"


def clock_readings(value: str) -> tuple[str, ...]:
    """The possible readings of a time: two if it does not say which half of the day it means."""
    return (f"{value}a", f"{value}p") if value[-1].isdigit() else (value,)


def _dates_agree(said: str, known: str) -> bool:
    said_parts, known_parts = said.split("-"), known.split("-")
    if len(said_parts) != 3 or len(known_parts) != 3:  # a decade or a century
        return said == known
    return all(part in ("*", other) for part, other in zip(said_parts, known_parts, strict=True))


def _amounts_agree(said: Fact, known: Fact) -> bool:
    if said.unit and known.unit:
        said_unit, known_unit = (units().get(fact.unit) for fact in (said, known))
        if said_unit is None or known_unit is None or said_unit.measures != known_unit.measures:
            return said.unit == known.unit and said.value == known.value
        amount, other = float(said.value) * said_unit.factor, float(known.value) * known_unit.factor
        return _is_same_amount(amount, other)
    return said.value == known.value


def _is_same_amount(amount: float, other: float) -> bool:
    return abs(amount - other) <= 1e-9 * max(amount, other)


_Reading = tuple[FactKind, str, str] | None


def _date(year: str | None, month: int, day: int | None) -> _Reading:
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    if year is not None and len(year) == 2:
        year = f"20{year}" if int(year) < 50 else f"19{year}"
    return "date", f"{year or '*'}-{month:02}-{'*' if day is None else f'{day:02}'}", ""


def _month(name: str) -> int:
    return next(index for index, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def _clock(hour: int, minute: int, half: str | None, exact: bool) -> _Reading:
    """`07:00a` or `07:00p`; `07:00` if the half of the day is unknown. `exact`: written as a 24-hour clock."""
    if hour > 24 or minute > 59:
        return None
    if half is None and (exact or hour > 12 or hour == 0):
        hour, half = hour % 12 or 12, "p" if 12 <= hour < 24 else "a"
    return "time", f"{hour:02}:{minute:02}{(half or '').lower()}", ""


def _multiply(digits: str, scale: str | None) -> str:
    plain = normalize_number(digits)
    if not scale or scale.lower() not in SCALES or len(plain) > MAX_SCALED_DIGITS:
        return plain
    whole, _, rest = plain.partition(".")
    factor = SCALES[scale.lower()]
    value = (int(whole + rest) * factor) / 10 ** len(rest)
    return normalize_number(str(int(value)) if value == int(value) else repr(value))


def _amount(digits: str, scale: str | None, unit: str | None) -> _Reading:
    name = _units_by_spelling().get((unit or "").lower(), "")
    return "money" if name in MONEY else "number", _multiply(digits, scale), name


def _spelt(words: str, unit: str | None = None) -> _Reading:
    """A number in words. A single `one` is read as a number only before a unit."""
    parts = re.findall(r"[a-z]+", words.lower().replace(" and ", " "))
    if not parts or (parts == ["one"] and not unit) or parts[0] in SCALES:
        return None
    total = current = 0
    for part in parts:
        if part in SCALES:
            scale = SCALES[part]
            current = max(current, 1) * scale
            if scale >= 1000:
                total, current = total + current, 0
            if current > MAX_SPELT:
                return None
        else:
            current += SMALL.get(part, TENS.get(part, 0))
    return _amount(str(total + current), None, unit)


_READERS: dict[str, Callable[..., _Reading]] = {
    "iso": lambda year, month, day: _date(year, int(month), int(day)),
    "day": lambda month, day, year: _date(year, _month(month), int(day)),
    "day_first": lambda day, month, year: _date(year, _month(month), int(day)),
    "month": lambda month, year: _date(year, _month(month), None),
    "slashed": lambda month, day, year: _date(year, int(month), int(day)),
    "time": lambda hour, minute, seconds, half: _clock(int(hour), int(minute), half, bool(seconds) or hour[0] == "0"),
    "hour": lambda hour, half: _clock(int(hour), 0, half, False),
    "decade": lambda century, ten: ("date", f"{century or '19'}{ten}s", ""),
    "weekday": lambda name: ("date", name.lower(), ""),
    "century": lambda ordinal: ("date", f"century {ordinal}", ""),
    "year": lambda year: ("date", f"{year}-*-*", ""),
    "money": lambda sign, whole, rest, by: ("money", _multiply(whole + (rest or ""), by), CURRENCIES[sign.lower()]),
    "ordinal": lambda digits: ("number", normalize_number(digits), "ordinal"),
    "number": lambda whole, rest, scale, unit: _amount(whole + (rest or ""), scale, unit),
    "spelt": _spelt,
}  # fmt: skip
_INNER_GROUPS = {"iso": 3, "day": 3, "day_first": 3, "month": 2, "slashed": 3, "time": 4, "hour": 2, "decade": 2,
          "weekday": 1, "century": 1, "year": 1, "money": 4, "ordinal": 1, "number": 4, "spelt": 2}  # fmt: skip
