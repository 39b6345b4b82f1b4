"""Checks paraphrases: values, numbers, names, times, yes and no must not change; otherwise it is refused.

The author of the paraphrase is not trusted. `find_protected` finds the parts of a turn that carry its annotation.
`check_paraphrase` looks for each of them in the new text, restores its exact letters and moves the spans there, or
gives the reason for the refusal. No model is needed. A change of meaning that keeps all these words is not detected
here; an entailment model can detect it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from troth.core.records import Span, Turn
from troth.perturb.lexicon import word_set
from troth.perturb.users.values import Claims, skip_back

Values = Mapping[str, Mapping[str, tuple[str, ...]]]  # service to the slots' values before the turn

UNCHANGED = "unchanged"
VALUE = "value lost"
NUMBER = "number changed"
NAME = "name lost"
TIME = "time changed"
NEGATION = "negation changed"
ANSWER = "answer changed"
PERSON = "person changed"
ROLE = "role of a value changed"
GARBLED = "garbled"
ENTAILED = "not entailed"


class Stretch(NamedTuple):
    """Characters `start` to `end` of a text, and the reason to refuse a paraphrase that loses them."""

    start: int
    end: int
    reason: str


NEAR = 100  # characters in which the word before a position is searched
_RANK = (VALUE, NUMBER, TIME, NAME)  # if stretches overlap, the first of these is the reason

# "one" counts as a number except where it stands for a noun: "that one", "another one".
_ONE = re.compile(r"(?<![\w-])one(?![\w-])", re.IGNORECASE)
_BEFORE_ONE = re.compile(
    r"\b(?:that|this|which|the|other|another|first|last|next|any|every|each|no|some|good|great|nice|cheaper|different"
    r"|better)\s+$",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[$£€]?\d+(?:[.:,/-]\d+)*(?:st|nd|rd|th)?(?:\s?(?:[ap]\.m\.|[ap]m\b))?%?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")
_LAST = re.compile(r"([a-z]+)(?: (?:the|about|around))? *$", re.IGNORECASE)

_MARKS = "*#@[]{}<>\ufffd"  # leftovers of translators and models
_ORDER = frozenset(["before", "after", "until", "till", "earlier", "later"])  # counted, but may change their form
_POINTING = frozenset((
    "he", "she", "they", "it", "him", "her", "them", "his", "hers", "their", "theirs", "its", "that", "this", "there",
    "one", "ones", "those", "these",
))  # fmt: skip
_GENDERED = frozenset(["he", "him", "his", "she", "her", "hers"])
_THEY = _GENDERED | {"they", "them", "their", "theirs"}
_BEGIN = r"(?:^|[.!?,;-] *|\b(?:yes|yeah|yep|yup|no|ok|okay|great|thanks) )(?:and |but |so )?"
_POINTS = re.compile(rf"(?i){_BEGIN}(?:{'|'.join(sorted(_POINTING))}|sounds|works|looks|all|everything|you|i like)\b")
_THIRD = re.compile(rf"{_BEGIN}(it|he|she|they)\b", re.IGNORECASE)
_EMPTY = re.compile(r"it (?:would be great|would be|is possible|helps)\b", re.IGNORECASE)  # "it" without a referent


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, for comparisons that ignore case and punctuation."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def find_protected(turn: Turn, before: Values | None = None) -> list[Stretch]:
    """Stretches of the text that must not change, in order: spans, values, numbers, names, words of time."""
    text = turn.text
    numbers, times = word_set("numbers"), word_set("times")
    stretches = [Stretch(*_extend_to_words(text, span.start, span.exclusive_end), VALUE) for span in spans(turn)]
    for value in _values(turn, before or {}):
        if any(c.isalnum() for c in value):
            stretches += [Stretch(*match.span(), VALUE) for match in _word_pattern(value).finditer(text)]
    stretches += [Stretch(*match.span(), NUMBER) for match in (*_DIGITS.finditer(text), *_ones(text))]
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if word in numbers or word in times:
            stretches.append(Stretch(*match.span(), NUMBER if word in numbers else TIME))
        elif _is_name(text, match):
            stretches.append(Stretch(*match.span(), NAME))
    return _merge(stretches)


def check_paraphrase(turn: Turn, stretches: Sequence[Stretch], new: str, *, roles_stay: bool = False) -> Turn | str:
    """The turn with its new text and moved spans, or the reason why the text is refused.

    With `roles_stay`, "from" or "to" before a value must not be missing either.
    """
    old = turn.text
    positions = _locate(old, stretches, new)
    if isinstance(positions, str):
        return positions
    moves = list(zip(stretches, positions, strict=True))
    for part, position in moves:  # with the letters of the original; no length changes
        new = new[:position] + old[part.start : part.end] + new[position + part.end - part.start :]
    if tokens(new) == tokens(old):
        return UNCHANGED
    contexts = [(_text_before(old, part.start), _text_before(new, position)) for part, position in moves]
    if any(_changes_role(before, after, missing=roles_stay) for before, after in contexts):
        return ROLE
    if (reason := find_change(old, new)) is not None:
        return reason

    def move(span: Span) -> Span:
        for part, position in moves:
            if part.start <= span.start and span.exclusive_end <= part.end:
                shift = position - part.start
                return replace(span, start=span.start + shift, exclusive_end=span.exclusive_end + shift)
        raise ValueError(f"the span of {span.slot} is not in a protected stretch")

    frames = [replace(f, spans=tuple(map(move, f.spans))) if f.spans else f for f in turn.frames]
    return replace(turn, text=new, frames=tuple(frames))


def find_change(old: str, new: str) -> str | None:
    """The change of meaning that counting words can detect; None if there is none."""
    before, after = tokens(old), tokens(new)
    yes, agreement = word_set("yes"), word_set("yes") | word_set("agreement")
    if _numbers(old) != _numbers(new):
        return NUMBER
    times = word_set("times") | _ORDER
    if Counter(word for word in before if word in times) != Counter(word for word in after if word in times):
        return TIME
    if _negations(before) != _negations(after):
        return NEGATION
    if any(not yes.isdisjoint(a) and agreement.isdisjoint(b) for a, b in ((before, after), (after, before))):
        return ANSWER
    if _changes_person(old, new):
        return PERSON
    left_over = Counter(c for c in new if c in _MARKS) - Counter(c for c in old if c in _MARKS)
    too_long = len(after) > 3 * len(before) + 12
    repeats = repeated_words(new) - repeated_words(old)
    return GARBLED if left_over or too_long or repeats or _quotes(new) != _quotes(old) else None


def spans(turn: Turn) -> Iterator[Span]:
    return (span for frame in turn.frames for span in frame.spans or ())


def _values(turn: Turn, before: Values) -> Iterator[str]:
    """The values of the turn's acts and new values of its state."""
    for frame in turn.frames:
        for act in frame.acts:
            if act.slot != "intent":
                yield from act.values
                yield from act.canonical_values
        if frame.state is not None:
            known = before.get(frame.service, {})
            for slot, values in frame.state.slot_values.items():
                if known.get(slot) != values:
                    yield from values


def _word_pattern(value: str) -> re.Pattern[str]:
    left = r"(?<!\w)" if value[0].isalnum() else ""
    right = r"(?!\w)" if value[-1].isalnum() else ""
    return re.compile(left + re.escape(value) + right, re.IGNORECASE)


def _extend_to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Extends a span that ends inside a word to the whole word: "8" of "8th"."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def _ones(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _ONE.finditer(text) if not _BEFORE_ONE.search(_text_before(text, match.start())))


def find_names(text: str) -> list[str]:
    """Words with a capital that does not come from the beginning of a sentence, in lower case."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text) if _is_name(text, match)]


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a capitalised word is not at the beginning of a sentence."""
    word = match.group()
    if not word[0].isupper() or word.lower().replace("’", "'") in word_set("no_names"):
        return False
    start = match.start()
    before = skip_back(text, start, "\"'“‘(*")
    begins = before == 0 or text[before - 1] in ".!?…:;" or text[max(0, before - 2) : before] == "--"
    return not begins and "\n" not in text[before:start]


def _merge(stretches: Iterable[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for part in sorted(stretches):
        if merged and part.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Stretch(last.start, max(part.end, last.end), min(part.reason, last.reason, key=_RANK.index))
        else:
            merged.append(part)
    return merged


def _locate(old: str, stretches: Sequence[Stretch], new: str) -> list[int] | str:
    """The start of each stretch in the new text; equal stretches are matched in order. Or the reason of a lost one."""
    begins: dict[int, int] = {}
    taken = Claims()
    by_text: dict[str, list[int]] = {}
    for index, part in enumerate(stretches):
        by_text.setdefault(old[part.start : part.end].lower(), []).append(index)
    for text in sorted(by_text, key=lambda text: (-len(text), text)):  # the longest first: "York" is not in "New York"
        pattern = _word_pattern(text)
        free = [match.start() for match in pattern.finditer(new) if not taken.touch(*match.span())]
        originals = [match.start() for match in pattern.finditer(old)]
        if len(originals) == len(free):  # "the first one … one seat": the second here is the second there
            starts = {stretches[index].start for index in by_text[text]}
            free = [position for position, start in zip(free, originals, strict=True) if start in starts]
        for index, position in zip(by_text[text], free, strict=False):
            begins[index] = position
            taken.add(position, position + len(text))
        lost = [index for index in by_text[text] if index not in begins]
        if lost:
            return stretches[lost[0]].reason
    return [begins[index] for index in range(len(stretches))]


def _numbers(text: str) -> Counter[str]:
    numbers = Counter(re.sub(r"\s", "", match.group().lower()) for match in _DIGITS.finditer(text))
    numbers.update(word for word in tokens(text) if word in word_set("numbers"))
    numbers["one"] += sum(1 for _ in _ones(text))
    return +numbers


def _negations(words: Sequence[str]) -> int:
    """The number of negations: "nothing else" and "not anything else" have one each."""
    parts = [part for word in words for part in word.split("-")]  # "step-free" is not "not-free"
    return sum(part in word_set("negations") or part.endswith("n't") for part in parts)


def _text_before(text: str, at: int) -> str:
    return text[max(0, at - NEAR) : at]


def _changes_role(old: str, new: str, *, missing: bool) -> bool:
    """Whether the preposition before a value changes. A missing one is a change if so asked: "visit Paris"."""
    before, after = (match[1].lower() if (match := _LAST.search(text)) else "" for text in (old, new))
    roles = word_set("roles")
    other = after != before and (missing or after in roles or after in word_set("prepositions"))
    return before in roles and other and {before, after} != {"till", "until"}


def _changes_person(old: str, new: str) -> bool:
    """Whether a third person is added ("it would like" for "I would like"), or "they" are lost."""
    before, after = ({word.split("'")[0] for word in tokens(text)} for text in (old, new))
    if after & _GENDERED - before or (before & _THEY and not after & (_THEY | _POINTING)):
        return True
    old_parts, new_parts = re.split(r"[.!?]+\s+", old), re.split(r"[.!?]+\s+", new)
    if len(old_parts) != len(new_parts):
        old_parts, new_parts = [old], [new]
    return any(
        sum(not _EMPTY.match(b, match.start(1)) for match in _THIRD.finditer(b)) > len(_POINTS.findall(a))
        for a, b in zip(old_parts, new_parts, strict=True)
    )


def repeated_words(text: str) -> Counter[str]:
    """Words that occur twice in a row."""
    parts = [tokens(part) for part in re.split(r"[.!?,;:]", text)]
    return Counter(a for words in parts for a, b in pairwise(words) if a == b)


def _quotes(text: str) -> tuple[int, int]:
    return text.count('"') % 2, text.count("“") - text.count("”")
