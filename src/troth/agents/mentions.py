"""Numbers, times, dates, weekdays and codes that stand in a text of a conversation, in a normal form.

Numbers are compared as numbers (`1,250.00`, `1.250,00` and 1250), times by the clock (`7:00 PM` and `19:00:00`), dates
by day and month (`May 20`, `20. Mai`, `20 de mayo` and `2024-05-20`). A time that does not say which half of the day it
means may be either; one with seconds or a leading 0 is of 24 hours. English, German and Spanish are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from troth.core.text_cache import text_cache
from troth.text.facts import SMALL, TENS, Fact, find_facts
from troth.text.lexicon import load_table

LANGUAGES = ("en", "de", "es")
SIGNS = {"€": "euro", "$": "dollar", "£": "pound", "¥": "yen", "%": "percent", "eur": "euro", "usd": "dollar"}

_DAY = re.compile(r"(?<=-)\d\d-\d\d$")
_SPELT = frozenset((*SMALL, *TENS))
_LETTERS = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"\d\.\d\d\s?(?:[ap]|Uhr)|\d\.\d{1,2}\.", re.IGNORECASE)
_DAY_FIRST = re.compile(r"\d{1,2}\D")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"[$€£]?\d[\d,.]*\d|[$€£]?\d")
_COMMA = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+|\d+),(\d{1,2})(?![\d,])|(?<![\d.,])\d{1,3}\.\d{3}(?=\s?(?:€|Euro\b))"
)
_SEPARATED = re.compile(r"\d[.,]\d")  # no match of `_COMMA` is without one
_SWAPPED = str.maketrans(".,", ",.")
_AFTER = re.compile(r"\s?(%|[€$£¥]|[^\W\d_]+)")
_RANGE = re.compile(r"\s*(?:to|-|–|—|and|or|through|until|till|bis|oder|und|al|a|o|y)\s*(?:the\s)?")
_MONTH_BEFORE = re.compile(r"\b([^\W\d_]{3,})\.?\s$")
# A code has letters and digits, parts joined by hyphens, or a number sign. `30-day`, `5pm`, `500mg` and `3rd` are not.
_CODE = re.compile(r"(?<![\w$€£.@-])#?\w+(?:[-_./]\w+)*(?![\w@]|\.\w|:\d)")
_CODE_SIGN = re.compile(r"\d|\.\w")  # no code is without one
_COUNTED = re.compile(
    r"\d+(?:[.,]\d+)*-?[a-zA-Z°%]*(?:/[a-z]+)?|\d+(?:-\d+)?-[a-z]+|\d{1,2}[-/]\d{1,2}(?:[-/]\d{2,4})?"
)
_NUMBER_CODE = re.compile(r"\d+(?:-\d+)+|\d+(?:\.\d+){2,}|#\d+")
_FILE = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.(?:tar|gz|zip|pdf|csv|tsv|txt|docx?|xlsx?|pptx?|png|jpe?g|svg|py|js|ts|json|md|log|sql|html|xml|ya?ml|"
    r"toml|mp3|mp4|wav)"
)
_MOMENT = re.compile(r"\d{4}-\d\d(?:-\d\d(?:T[\d:.Z+-]*)?)?|\d{1,2}\.\d{1,2}\.\d{4}")


class Mention(NamedTuple):
    """Something checkable in a text: its kind, its canonical form, and where it stands."""

    kind: str  # "time", "date", "weekday", "number", or "spelt" for a number in words
    value: str
    start: int
    end: int
    unit: str = ""  # of a number: a name of `troth.text.facts.units`, or of a currency
    year: str = ""  # of a date that has one


class Calendar(NamedTuple):
    """Names of months and weekdays of all languages; months and weekdays count from 1 and 0."""

    months: dict[str, int]
    weekdays: dict[str, int]


@cache
def calendar() -> Calendar:
    """Months and weekdays by name, in lower case, also abbreviated."""
    table = load_table("calendar")
    months: dict[str, int] = {}
    weekdays: dict[str, int] = {}
    for language in LANGUAGES:
        words = table[language]
        for names in (words["short"], words["months"]):
            months.update({name: number for number, name in enumerate(names.split(), 1)})
        weekdays.update({name: number for number, name in enumerate(words["weekdays"].split())})
    weekdays.update({name[:3]: number for name, number in list(weekdays.items())[:7]})
    return Calendar(months, weekdays)


@cache
def _other_dates() -> re.Pattern[str]:
    """Dates, hours and weekdays as German and Spanish have them, which `find_facts` does not read."""
    table = load_table("calendar")
    months = "|".join(name for language in ("de", "es") for name in table[language]["months"].split())
    days = "|".join(name for language in LANGUAGES for name in table[language]["weekdays"].split())
    return re.compile(
        rf"\b(?:(?P<first>\d{{1,2}})\.?(?:\s+(?:bis|al|und|y|a)\s+(?:zum\s+)?|\s?[-–—]\s?))?(?P<day>\d{{1,2}})\.?\s+(?:de\s+)?(?P<month>{months})\b"
        rf"(?:\s+(?:de\s+|del\s+)?(?P<year>\d{{4}})\b)?|\b(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?\s*Uhr\b"
        rf"|(?<![\d.:])(?P<dotted>\d{{1,2}})\.(?P<dotted_minute>[0-5]\d)(?:\s?(?P<half>[ap])\.?m\b|\s*Uhr\b)"
        rf"|(?<![\d.,])(?P<day_number>\d{{1,2}})\.(?P<month_number>\d{{1,2}})\.(?:(?P<number_year>\d{{4}})\b"
        rf"|(?<=\b(?:am|ab)\s\d\d\.\d\d\.)|(?=\s+[a-zäöü(]|\s?[-–]))"
        rf"|\ba\s+las?\s+(?P<las>\d{{1,2}})(?![\d:])|\b(?P<weekday>{days})s?\b",
        re.IGNORECASE,
    )


@cache
def _trigger_words() -> frozenset[str]:
    """Words without which a text has none of the dates of `_other_dates`, and no weekday."""
    table = load_table("calendar")
    names = [name for language in LANGUAGES for name in table[language]["weekdays"].split()]
    names += (name for language in ("de", "es") for name in table[language]["months"].split())
    return frozenset((*names, *(f"{name}s" for name in names), "uhr", "las", "la"))


@text_cache
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Times, dates, weekdays and numbers of a text, in order; what is a time or a date is no number as well."""
    words = set(_LETTERS.findall(text.lower()))
    has_digits, has_other = _DIGIT.search(text) is not None, not words.isdisjoint(_trigger_words())
    if not has_digits and not has_other and words.isdisjoint(_SPELT):
        return ()
    mentions: list[Mention] = []

    def mask(match: re.Match[str]) -> str:
        own = list(_read_other(match))
        mentions.extend(own)
        return " " * len(match[0]) if own else match[0]

    plain = _other_dates().sub(mask, text) if has_other or _DOTTED.search(text) else text
    if _SEPARATED.search(plain) and not text.lstrip().startswith(("{", "[")):
        plain = _COMMA.sub(lambda match: match[0].translate(_SWAPPED), plain)
    read = (_read_fact(plain, fact) for fact in find_facts(plain))
    mentions += (mention for mention in read if mention is not None)
    mentions.sort(key=lambda mention: mention.start)
    return tuple(_read_ranges(plain, mentions, text))


def _read_other(match: re.Match[str]) -> Iterator[Mention]:
    if match["month"]:
        month, year = calendar().months[match["month"].lower()], match["year"] or ""
        for group in ("first", "day"):
            if match[group] and 1 <= int(match[group]) <= 31:
                end = match.end(group) if group == "first" else match.end()
                yield Mention("date", f"{month:02}-{int(match[group]):02}", match.start(group), end, year=year)
    elif match["day_number"]:
        day, month = int(match["day_number"]), int(match["month_number"])
        if 1 <= day <= 31 and 1 <= month <= 12:
            yield Mention("date", f"{month:02}-{day:02}", *match.span(), year=match["number_year"] or "")
    elif match["weekday"]:
        yield Mention("weekday", str(calendar().weekdays[match["weekday"].lower()]), *match.span())
    elif match["dotted"]:
        hour, half = int(match["dotted"]), (match["half"] or "").lower()
        if hour <= 24:
            half = half or (("p" if 12 <= hour < 24 else "a") if hour > 12 or hour == 0 else "")
            yield Mention("time", f"{hour % 12 or 12:02}:{match['dotted_minute']}{half}", *match.span())
    elif (hour := int(match["hour"] or match["las"])) <= 24:
        minute, half = match["minute"] or "00", ("p" if 12 <= hour < 24 else "a") if hour > 12 or hour == 0 else ""
        yield Mention("time", f"{hour % 12 or 12:02}:{minute}{half}", *match.span())


def _read_fact(text: str, fact: Fact) -> Mention | None:
    if fact.kind == "time":
        return Mention("time", fact.value, fact.start, fact.end)
    if fact.kind == "date" and (day := _DAY.search(fact.value)):
        return Mention("date", day[0], fact.start, fact.end, year=fact.value[: -len("-mm-dd")].strip("*"))
    written = _DIGITS.search(text, fact.start, fact.end)
    if fact.unit == "ordinal":
        return None
    if written is None:
        return Mention("spelt", fact.value, fact.start, fact.end, fact.unit) if fact.kind == "number" else None
    value = fact.value.partition("-")[0] if fact.kind == "date" else fact.value
    if not value.replace(".", "").isdecimal():
        return None
    unit = fact.unit
    if not unit and (after := _AFTER.match(text, written.end())):
        word = after[1].lower()
        unit = SIGNS.get(word) or load_table("calendar")["units"].get(word, "")
    return Mention("number", value, fact.start, written.end(), unit)


def _read_ranges(text: str, mentions: list[Mention], written: str) -> Iterator[Mention]:
    """Mentions with the other end of a range read like its end: `9 to 11 AM`, `July 7 to 11`, `4 to 6 days`.

    `written`: the text in which nothing is masked.
    """
    for index, mention in enumerate(mentions):
        before = mentions[index - 1] if index else None
        after = next((other for other in mentions[index + 1 : index + 3] if other.kind != "weekday"), None)
        number = int(mention.value) if mention.kind == "number" and len(mention.value) <= 2 and not mention.unit else 0
        if number:
            month = _MONTH_BEFORE.search(text, max(0, mention.start - 12), mention.start)
            if month and month[1].lower() in calendar().months and number <= 31:  # "June 7: …"
                value = f"{calendar().months[month[1].lower()]:02}-{number:02}"
                yield Mention("date", value, month.start(1), mention.end)
                continue
            if after and _RANGE.fullmatch(text, mention.end, after.start):
                if after.kind == "time" and number <= 12:
                    yield Mention("time", f"{number:02}:00", mention.start, mention.end)
                    continue
                if after.kind == "date" and number <= 31 and _DAY_FIRST.match(written, after.start):  # "13–17 July"
                    yield Mention("date", f"{after.value[:3]}{number:02}", mention.start, mention.end, year=after.year)
                    continue
                if after.kind == "number":
                    yield mention._replace(unit=after.unit)
                    continue
            elif (
                before and before.kind == "date" and number <= 31 and _RANGE.fullmatch(text, before.end, mention.start)
            ):
                yield Mention("date", f"{before.value[:3]}{number:02}", mention.start, mention.end, year=before.year)
                continue
        yield mention


class Code(NamedTuple):
    """An identifier in a text: `LC-46003`, `#W2378156`, `ch_3Nxyz`, `555-0142`, `HAT136`."""

    text: str
    start: int
    end: int


@text_cache
def find_codes(text: str) -> tuple[Code, ...]:
    """Identifiers of a text, in order: letters with digits, or digits in groups. Amounts, dates and times are none."""
    codes: list[Code] = []
    if not _CODE_SIGN.search(text):
        return ()
    for match in _CODE.finditer(text):
        word = match[0]
        if "." in word and _FILE.fullmatch(word):
            codes.append(Code(word, *match.span()))
            continue
        if len(word) < 3 or not _DIGIT.search(word) or _MOMENT.fullmatch(word):
            continue
        if _COUNTED.fullmatch(word) and not _is_number_code(word):
            continue
        codes.append(Code(word, *match.span()))
    return tuple(codes)


def _is_number_code(word: str) -> bool:
    """Whether a text of digits is an identifier: `555-0142`, `1.5.0`, `#97`; not `4-6` and not `3/4`."""
    return _NUMBER_CODE.fullmatch(word) is not None and not re.fullmatch(r"\d{1,2}-\d{1,2}(?:-\d{2,4})?", word)
