"""Replaces facts by others of the same document and type, units by others, numbers by new ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from troth.perturb.answers import CorruptionKind, Replacement, SupportedAnswer
from troth.perturb.answers.lexicon import answer_words, match_case, substitutes
from troth.text.facts import SMALL, Fact, FactKind, agree, date_shape, units
from troth.text.lexicon import word_set

FARTHEST_YEARS = 120  # between two years that can replace each other
FARTHEST_RATIO = 20.0  # of two numbers that can replace each other
LABELS = frozenset(("to", "from", "between", "no.", "no", "number", "part", "position", "chapter", "volume", "episode",
                    "season", "page", "route", "size", "section", "level", "grade", "age", "under"))  # fmt: skip

PEOPLE = frozenset(("who", "said", "says", "born", "died", "told", "wrote", "married", "joined"))  # after a name

# Text between two facts that a document lists together: a statement is true of both.
_LISTED = re.compile(r"[\s,;/&()\"'’–-]*(?:\b(?:and|or|to|the|a|an|in|of|as well as|until|through|by|with)\b[\s,]*)*")
_SPELT = {value: word for word, value in SMALL.items()}
_SIGNS = {"$": "€", "€": "$", "£": "$"}


def exchange_facts(answer: SupportedAnswer, kinds: Sequence[str]) -> Iterator[list[Replacement]]:
    """Replaces each fact of the answer by other facts of the document that fit."""
    for said in answer.facts:
        if said.kind not in kinds:
            continue
        matching = [fact for fact in answer.document_facts if agree(said, fact)]
        if not matching:
            continue
        for other in _others(answer, said):
            if not any(_are_listed(answer, fact, other) for fact in matching):
                old, new = answer.text[said.start : said.end], answer.document[other.start : other.end]
                yield [Replacement(said.start, said.end, match_case(new, old) if said.kind != "name" else new)]


def _others(answer: SupportedAnswer, said: Fact) -> Iterator[Fact]:
    """Facts of the document of the same type that the answer does not mention."""
    seen: set[str] = set()
    for other in answer.document_facts:
        key = f"{other.value} {other.unit}"
        if other.kind != said.kind or key in seen:
            continue
        if any(agree(other, mine) or agree(mine, other) for mine in answer.facts if mine.kind == other.kind):
            continue
        if (_fits_name if said.kind == "name" else _fits)(answer, said, other):
            seen.add(key)
            yield other


def _fits(answer: SupportedAnswer, said: Fact, other: Fact) -> bool:
    """Whether a number, a date or a time can replace another."""
    if is_range(answer.text, said) or is_range(answer.document, other):
        return False
    if said.kind == "date":
        near = not _year(said) or not _year(other) or abs(_year(said) - _year(other)) <= FARTHEST_YEARS
        same_shape = date_shape(said.value) == date_shape(other.value)
        return near and same_shape and word_before(answer.text, said) not in ("from", "between")
    if said.kind == "time":
        return True
    old, new = answer.text[said.start : said.end], answer.document[other.start : other.end]
    ratio = float(said.value or 0) / float(other.value) if float(other.value) else 0.0
    alike = old[0].isalpha() == new[0].isalpha() and 1 / FARTHEST_RATIO <= ratio <= FARTHEST_RATIO
    if not alike or (said.value == "1") != (other.value == "1") or ("-" in old) != ("-" in new):
        return False
    if not said.unit and not other.unit:
        return said.value != "1" and not _is_label(answer.text, said) and not _is_label(answer.document, other)
    measured = said.unit in units() and other.unit in units()
    return measured and units()[said.unit].measures == units()[other.unit].measures


def is_range(text: str, fact: Fact) -> bool:
    """Whether a number is an end of a range or a part of a score: 3–4, 1914-18."""
    around = text[max(0, fact.start - 1) : fact.start] + text[fact.end : fact.end + 1]
    return any(mark in "–—-/:+#" for mark in around)


def _is_label(text: str, fact: Fact) -> bool:
    """Whether a number only names a thing: Series 4, part 2, the Billboard 200."""
    match = re.search(r"([\w.'’-]+)\s*$", text[max(0, fact.start - 30) : fact.start])
    word = match[1] if match else ""
    return word.lower() in LABELS or (word[:1].isupper() and word.lower() not in word_set("sentence_openers"))


def _year(fact: Fact) -> int:
    return int(fact.value[:4]) if fact.value[:4].isdecimal() else 0


def _fits_name(answer: SupportedAnswer, said: Fact, other: Fact) -> bool:
    ours, theirs = said.value.split(), other.value.split()
    if not set(ours).isdisjoint(theirs) or not set(theirs).isdisjoint(re.findall(r"[\w.'’-]+", answer.text.lower())):
        return False
    old, new = answer.text[said.start : said.end], answer.document[other.start : other.end]
    if word_before(answer.text, said) in ("a", "an") and (old[0] in "AEIOU") != (new[0] in "AEIOU"):
        return False
    if (word_before(answer.text, said) == "the") != (word_before(answer.document, other) == "the"):
        return False
    if _is_possessive(answer.text, said) != _is_possessive(answer.document, other):
        return False
    if not _is_in_sentence(answer.document, other) or len(new) > 1.6 * len(old) + 6:
        return False
    kind = name_type(answer, said.value)
    often = sum(fact.value == other.value for fact in answer.document_facts) > 1
    also_word = re.search(rf"\b{re.escape(new.lower())}\b", answer.document) is not None
    return kind == name_type(answer, other.value) and (kind != "word" or (often and not also_word))


def _is_in_sentence(text: str, name: Fact) -> bool:
    """Whether a name is between words in lower case, which headings, captions and lists do not have."""
    left = re.search(r"([\w'’-]+)\W{0,2}$", text[max(0, name.start - 30) : name.start])
    right = re.match(r"['’]?s?\W{0,2}([\w'’-]+)", text[name.end : name.end + 30])
    return left is not None and right is not None and left[1].islower() and right[1].islower()


def name_type(answer: SupportedAnswer, name: str) -> str:
    """The likely type of a name, from its own words and from the words around it in answer and document."""
    parts = name.split()
    if len(parts) == 1 and parts[0] in answer_words("demonyms"):
        return "demonym"
    if not answer_words("organisations").isdisjoint(parts):
        return "organisation"
    earlier: list[str] = []
    after: list[str] = []
    written = ""
    for text, facts in ((answer.text, answer.facts), (answer.document, answer.document_facts)):
        for fact in facts:
            if fact.kind == "name" and fact.value == name:
                earlier.append(word_before(text, fact))
                after.append(_word_after(text, fact))
                written = text[fact.start : fact.end]
    initial = any(len(part.strip(".")) == 1 for part in parts)
    if initial or not answer_words("titles").isdisjoint((*earlier, *parts[:1])):
        return "person"
    if 2 * sum(word in answer_words("places") for word in earlier) > len(earlier):
        return "place"
    if "by" in earlier or not PEOPLE.isdisjoint(after):
        return "person"
    if written.isupper():
        return "letters"
    return "works" if len(parts) > 2 else "two words" if len(parts) == 2 else "word"


def word_before(text: str, fact: Fact) -> str:
    """The word before a fact, in lower case."""
    match = re.search(r"([\w.'’-]+)\W*$", text[max(0, fact.start - 30) : fact.start].lower())
    return match[1] if match else ""


def _word_after(text: str, fact: Fact) -> str:
    match = re.match(r"\W*(\w+)", text[fact.end : fact.end + 30].lower())
    return match[1] if match else ""


def _is_possessive(text: str, fact: Fact) -> bool:
    return re.match(r"['’]s?\b|['’]", text[fact.end : fact.end + 2]) is not None


def _are_listed(answer: SupportedAnswer, fact: Fact, other: Fact) -> bool:
    """Whether two facts are in one list, with only other facts and small words between them."""
    first, second = sorted((fact, other), key=lambda item: item.start)
    if second.start - first.end > 60:
        return False
    at, between = first.end, ""
    for inner in answer.document_facts:
        if first.end <= inner.start and inner.end <= second.start and inner.start >= at:
            between += answer.document[at : inner.start]
            at = inner.end
    return _LISTED.fullmatch(between + answer.document[at : second.start]) is not None


@cache
def _unit_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(substitutes('units'), key=len, reverse=True))})\b", re.IGNORECASE)


def change_units(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Replaces units and currencies of the answer's numbers by others of the same kind."""
    for fact in answer.facts:
        if fact.kind not in ("number", "money"):
            continue
        text = answer.text[fact.start : fact.end]
        for match in _unit_pattern().finditer(text):
            unit = match[0].lower()
            if fact.kind == "money" and unit == "pounds":
                continue
            for new in substitutes("units")[unit]:
                in_document = (text[: match.start()] + new).lower() in answer.document.lower()
                if f"{new} old" not in answer.text and not in_document:
                    yield [Replacement(fact.start + match.start(), fact.start + match.end(), match_case(new, match[0]))]
        if fact.kind == "money" and text[0] in _SIGNS:
            yield [Replacement(fact.start, fact.start + 1, _SIGNS[text[0]])]


def change_numbers(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Replaces numbers and years of the answer by new ones, which are neither in the answer nor in the document."""
    known = [fact for fact in (*answer.facts, *answer.document_facts) if fact.kind in ("number", "money", "date")]
    for fact in answer.facts:
        if not any(agree(fact, other) for other in answer.document_facts):
            continue
        text = answer.text[fact.start : fact.end]
        if fact.kind == "date" and fact.value.endswith("-*-*"):
            year = int(fact.value[:4])
            changed = [str(year + step) for step in (-23, -11, -6, -3, 4, 7, 12, 18) if year + step < 2026]
        elif fact.kind in ("number", "money") and fact.value.isdecimal() and fact.value not in ("0", "1"):
            changed = _numbers_near(int(fact.value), text)
        else:
            continue
        for new in changed:
            match = re.match(r"[$€£¥]?(\d[\d,]*|[A-Za-z]+)", text)
            if match is None or (not match[1][0].isdigit() and match[1].lower() not in SMALL):
                continue
            value = str(SMALL.get(new.lower(), new)).replace(",", "")
            if any(value in (other.value, other.value[:4]) for other in known):
                continue
            at = fact.start + match.start(1)
            yield [Replacement(at, fact.start + match.end(1), match_case(new, match[1]))]


def _numbers_near(value: int, text: str) -> list[str]:
    """Numbers of about the same size, in the same notation."""
    if text[0].isalpha():
        return [_SPELT[other] for other in (value - 2, value - 1, value + 1, value + 2, value + 4) if 2 <= other < 20]
    digits = re.match(r"[$€£¥]?(\d[\d,]*)", text)
    shown = int(digits[1].replace(",", "")) if digits else value
    others = {shown + 2, shown - 1, shown * 2, shown * 3, shown * 3 // 2, shown // 2} if shown < 100 else {
        shown * 2, shown // 2, shown * 3 // 2, shown * 4 // 5, shown * 5}  # fmt: skip
    comma = digits is not None and "," in digits[1]
    return [f"{other:,}" if comma else str(other) for other in sorted(others) if other > 1]


def _exchange(name: str, what: str, *kinds: FactKind) -> CorruptionKind:
    about = f"{what} becomes another of the document"
    return CorruptionKind(name, about, lambda answer: exchange_facts(answer, kinds))


NAME = _exchange("name", "a name", "name")
NUMBER = _exchange("number", "a number or an amount", "number", "money")
DATE = _exchange("date", "a date, a year or a time", "date", "time")
UNIT = CorruptionKind("unit", "the unit or the currency of a number changes", change_units)
NEW_NUMBER = CorruptionKind("new_number", "a number becomes one that the document does not have", change_numbers)
