"""Checkable facts of a text in a normal form: numbers with units, money, dates and times, with where they stand.

`two`, `2` and `2.0` are one number, `1,250` and `1.25 thousand` another; `90 minutes` is `1.5 hours`; `5pm` is `17:00`;
`March 1st` is a date whose year is not said, and `2019-03-01` one that agrees with it. Rules alone, no model. Names are
found by `troth.core.proper_names`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

FactKind = Literal["number", "money", "date", "time", "name"]
KINDS: tuple[FactKind, ...] = ("number", "money", "date", "time", "name")
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
LONGEST = 40  # digits of a number that words such as "million" can still change
REMEMBERED = 1 << 13  # texts: documents, instructions and results of tools repeat from answer to answer

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
    forms: str  # its spellings, without the plural's s


UNITS = {unit.forms.split()[0]: unit for unit in (
    Unit("percent", 1, "percent % per_cent"), Unit("length", 0.001, "millimeter millimetre mm"),
    Unit("length", 0.01, "centimeter centimetre cm"), Unit("length", 1, "meter metre m"),
    Unit("length", 1000, "kilometer kilometre km"), Unit("length", 1609.344, "mile mi"),
    Unit("length", 0.3048, "foot feet ft"), Unit("length", 0.0254, "inch inches"), Unit("length", 0.9144, "yard yd"),
    Unit("mass", 0.001, "gram g"), Unit("mass", 1, "kilogram kg kilo"), Unit("mass", 1000, "ton tonne"),
    Unit("mass", 0.45359237, "lb lbs"), Unit("mass", 0.028349523125, "ounce oz"),
    Unit("volume", 1, "liter litre"), Unit("volume", 0.001, "milliliter millilitre ml"),
    Unit("volume", 3.785411784, "gallon"), Unit("duration", 1, "second sec"),
    Unit("duration", 60, "minute min"), Unit("duration", 3600, "hour hr h"), Unit("duration", 86400, "day"),
    Unit("duration", 604800, "week"), Unit("months", 1, "month"), Unit("months", 12, "year yr"),
    Unit("months", 120, "decade"), Unit("months", 1200, "century centuries"), Unit("celsius", 1, "celsius °c"),
    Unit("fahrenheit", 1, "fahrenheit °f"), Unit("degree", 1, "degree °"), Unit("speed", 1, "km/h kph"),
    Unit("miles an hour", 1, "mph"), Unit("acres", 1, "acre"), Unit("hectares", 1, "hectare"),
    Unit("bytes", 1, "megabyte mb"), Unit("bytes", 1000, "gigabyte gb"), Unit("bytes", 10**6, "terabyte tb"),
    Unit("power", 1, "watt w"), Unit("power", 1000, "kilowatt kw"), Unit("frequency", 1, "hz hertz"),
    Unit("votes", 1, "vote"), Unit("people", 1, "people person"), Unit("dollar", 1, "dollar"),
    Unit("dollar", 0.01, "cent"), Unit("euro", 1, "euro"), Unit("pound", 1, "pound"), Unit("yen", 1, "yen"),
)}  # fmt: skip
MONEY = frozenset(("dollar", "euro", "pound", "yen"))
_UNIT_OF = {form.replace("_", " "): name for name, unit in UNITS.items() for form in unit.forms.split()}
_UNIT_OF |= {f"{form}s": name for form, name in _UNIT_OF.items() if len(form) > 2} | {"inches": "inch"}

_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + "|sept"
_SPELT = "|".join((*SMALL, *TENS))
_COUNTED = "|".join(sorted(map(re.escape, _UNIT_OF), key=len, reverse=True))
_AFTER = rf"(?:[\s-]?({_COUNTED})(?![\w/]))?"
# One pass over a text; of two readings that begin at the same character the earlier one here is taken.
# Nothing begins inside a word but digits, and few words begin one: looked at first, since most places are neither.
_BEGINS = (
    r"(?=\d|(?<!\w)(?:[$€£¥'’]|us\$|ja|fe|ma|ap|ju|au|se|oc|no|de|mo|tu|we|th|fr|sa|su|on|tw|fo|fi|si|ei|ni|te|el|ze|hu|"
    r"mi|bi|tr|do))"
)
_FACT = re.compile(
    _BEGINS + "(?:" + "|".join((
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
        r"(?P<year>(?<![\w$€£.,/-])((?:1[0-9]|20)\d\d)(?![\w%/]|[.,]\d|-\d|\s*(?:%|percent\b|people\b|votes?\b|meters?\b|"
        r"metres?\b|feet\b|miles?\b|km\b|dollars?\b|years?\b|days?\b|hours?\b|minutes?\b)))",
        r"(?P<money>(?<!\w)(us\$|[$€£¥])\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
        r"(?:\s?(hundred|thousand|million|billion|trillion|k|mn|m|bn|b))?(?!\w))",
        r"(?P<ordinal>(?<![\w.,])(\d+)(?:st|nd|rd|th)\b)",
        rf"(?P<number>(?<![\w.,/])(\d{{1,3}}(?:,\d{{3}})+|\d+)(\.\d+)?(?:[\s-]?(hundred|thousand|million|billion|trillion|"
        rf"dozen|bn|mn)\b)?{_AFTER}(?!\w)(?!\.\d|:\d))",
        rf"(?P<spelt>\b((?:(?:{_SPELT}|hundred|thousand|million|billion|trillion|dozen)\b(?:[\s-]|\sand\s)?)+)(?<=\w){_AFTER}"
        r"(?!\w))",
    )) + ")",
    re.IGNORECASE,
)  # fmt: skip


# Letters that expressions take for s, i and k where case is ignored.
_PLAIN_LETTERS = str.maketrans("ſıİ\u212a", "siIK")


class Fact(NamedTuple):
    """Something checkable in a text: its kind, its normal form, and where it stands.

    `value` of a number is its shortest form (`1250`), of a date `2019-03-01` with `*` for what is not said, of a time
    `05:00p`, of a name its words in lower case. `unit` is a unit of `UNITS`, or empty.
    """

    kind: FactKind
    value: str
    start: int
    end: int
    unit: str = ""


@lru_cache(maxsize=REMEMBERED)
def facts(text: str) -> tuple[Fact, ...]:
    """Numbers, amounts of money, dates and times of a text, in order; what is a date or a time is no number as well.

    >>> [(fact.kind, fact.value, fact.unit) for fact in facts("Two trams leave at 5pm on March 1st and cost $1,250.")]
    [('number', '2', ''), ('time', '05:00p', ''), ('date', '*-03-01', ''), ('money', '1250', 'dollar')]
    """
    found: list[Fact] = []
    for match in _FACT.finditer(text.translate(_PLAIN_LETTERS)):
        name = match.lastgroup or ""
        at = _FACT.groupindex[name]
        read = _READ[name](*(match[at + place] for place in range(1, _INNER[name] + 1)))
        if read is not None:
            kind, value, unit = read
            found.append(Fact(kind, value, match.start(), match.start() + len(match[0].rstrip(" -")), unit))
    return tuple(found)


def number(text: str) -> str:
    """A number in its shortest form: `1,250.00` is `1250`."""
    whole, _, rest = text.replace(",", "").partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def agree(said: Fact, known: Fact) -> bool:
    """Whether a fact says nothing that another fact does not: the same amount, moment or name, or a less exact date.

    A unit that one side leaves out is no difference; a year that only `said` has is one.
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


def date_shape(value: str) -> str:
    """Which parts of a date are said: a year, a day, a decade, a weekday."""
    if value.startswith("century"):
        return "century"
    return re.sub(r"\d+", "0", value) if value[0] in "*0123456789" else "weekday"


def clock_readings(value: str) -> tuple[str, ...]:
    """A time with its half of the day: both where it does not say which."""
    return (f"{value}a", f"{value}p") if value[-1].isdigit() else (value,)


def _dates_agree(said: str, known: str) -> bool:
    ours, theirs = said.split("-"), known.split("-")
    if len(ours) != 3 or len(theirs) != 3:  # a decade or a century
        return said == known
    return all(own in ("*", other) for own, other in zip(ours, theirs, strict=True))


def _amounts_agree(said: Fact, known: Fact) -> bool:
    if said.unit and known.unit:
        ours, theirs = (UNITS.get(fact.unit) for fact in (said, known))
        if ours is None or theirs is None or ours.measures != theirs.measures:
            return said.unit == known.unit and said.value == known.value
        own, other = float(said.value) * ours.factor, float(known.value) * theirs.factor
        return abs(own - other) <= 1e-9 * max(own, other)
    return said.value == known.value


# -- readings ----------------------------------------------------------------------------------------------------------

_Reading = tuple[FactKind, str, str] | None


def _date(year: str | None, month: int, day: int | None) -> _Reading:
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    if year is not None and len(year) == 2:
        year = f"20{year}" if int(year) < 50 else f"19{year}"
    return "date", f"{year or '*'}-{month:02}-{'*' if day is None else f'{day:02}'}", ""


def _month(name: str) -> int:
    return next(place for place, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def _clock(hour: int, minute: int, half: str | None, exact: bool) -> _Reading:
    """`07:00a` or `07:00p`; `07:00` for a time that does not say which. `exact`: written as a 24-hour clock."""
    if hour > 24 or minute > 59:
        return None
    if half is None and (exact or hour > 12 or hour == 0):
        hour, half = hour % 12 or 12, "p" if 12 <= hour < 24 else "a"
    return "time", f"{hour:02}:{minute:02}{(half or '').lower()}", ""


def _scaled(digits: str, scale: str | None) -> str:
    plain = number(digits)
    if not scale or scale.lower() not in SCALES or len(plain) > LONGEST:
        return plain
    whole, _, rest = plain.partition(".")
    factor = SCALES[scale.lower()]
    return number(_shortest((int(whole + rest) * factor) / 10 ** len(rest)))


def _shortest(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _amount(digits: str, scale: str | None, unit: str | None) -> _Reading:
    name = _UNIT_OF.get((unit or "").lower(), "")
    return "money" if name in MONEY else "number", _scaled(digits, scale), name


def _spelt(words: str, unit: str | None = None) -> _Reading:
    """A number in words; `one` alone is mostly no number, and stands for one only before a unit."""
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
        else:
            current += SMALL.get(part, TENS.get(part, 0))
    return _amount(str(total + current), None, unit)


_READ: dict[str, Callable[..., _Reading]] = {
    "iso": lambda year, month, day: _date(year, int(month), int(day)),
    "day": lambda month, day, year: _date(year, _month(month), int(day)),
    "day_first": lambda day, month, year: _date(year, _month(month), int(day)),
    "month": lambda month, year: _date(year, _month(month), None),
    "slashed": lambda month, day, year: _date(year, int(month), int(day)),
    "time": lambda hour, minute, seconds, half: _clock(
        int(hour), int(minute), half, seconds is not None or hour.startswith("0")
    ),
    "hour": lambda hour, half: _clock(int(hour), 0, half, False),
    "decade": lambda century, ten: ("date", f"{century or '19'}{ten}s", ""),
    "weekday": lambda name: ("date", name.lower(), ""),
    "century": lambda number: ("date", f"century {number}", ""),
    "year": lambda year: ("date", f"{year}-*-*", ""),
    "money": lambda sign, whole, rest, scale: (
        "money", _scaled(whole + (rest or ""), scale), CURRENCIES[sign.lower()]
    ),
    "ordinal": lambda digits: ("number", number(digits), "ordinal"),
    "number": lambda whole, rest, scale, unit: _amount(whole + (rest or ""), scale, unit),
    "spelt": _spelt,
}  # fmt: skip
_INNER = {"iso": 3, "day": 3, "day_first": 3, "month": 2, "slashed": 3, "time": 4, "hour": 2, "decade": 2,
          "weekday": 1, "century": 1, "year": 1, "money": 4, "ordinal": 1, "number": 4, "spelt": 2}  # fmt: skip
