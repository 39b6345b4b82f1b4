"""What a paraphrase must leave as it was: values, numbers, names, times, yes and no. Whatever breaks one is refused.

An engine is any writer of text and is not believed. `protected` says which stretches of a turn carry its annotation;
`accepted` looks for each of them in the new text, writes them back letter by letter, moves the spans there, and gives
the reason where the text may not be kept. Nothing here needs a model; it cannot see a change of meaning that leaves all
these words in place, which is what an entailment model is for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from troth.core.records import Frame, Span, Turn

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


class Kept(NamedTuple):
    """Characters `start` to `end` of a text, and the reason to refuse whoever loses them."""

    start: int
    end: int
    reason: str


_RANK = (VALUE, NUMBER, TIME, NAME)  # where stretches overlap, the first of these is the reason


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SMALL = "two three four five six seven eight nine ten eleven twelve dozen zero"
_LARGE = (
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty hundred thousand"
)
_ORDER = "second third fourth fifth"  # "first" as well opens a list of wishes: "first, find me …"
NUMBERS = _set(f"{_SMALL} {_LARGE} {_ORDER}")
# "one" counts as a number except where it stands for a noun: "that one", "another one".
_STANDS_FOR = (
    "that|this|which|the|other|another|first|last|next|any|every|each|no|some|good|great|nice|cheaper|different|better"
)
_ONE = re.compile(r"(?<![\w-])one(?![\w-])", re.IGNORECASE)
_BEFORE_ONE = re.compile(rf"\b(?:{_STANDS_FOR})\s+$", re.IGNORECASE)
_DIGITS = re.compile(r"[$£€]?\d+(?:[.:,/-]\d+)*(?:st|nd|rd|th)?(?:\s?(?:[ap]\.m\.|[ap]m\b))?%?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")

_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_PARTS = "today tomorrow tonight yesterday morning afternoon evening night noon midnight midday week weekend month"
TIMES = _set(f"{_DAYS} {_PARTS}")
ORDER = TIMES | _set("before after until till earlier later")  # counted, but not held letter by letter

NEGATIONS = _set("no non not nope nah never nothing none nobody neither nor without cannot cant dont wont")
YES = _set("yes yeah yep yup yea ye aye absolutely definitely certainly exactly precisely")
# Words that say yes without "yes": "that works", "sounds good".
AGREE = YES | _set(
    "sure ok okay right correct good great fine perfect works work please alright sounds confirm confirmed happy love"
    " wonderful excellent indeed accurate awesome lovely super suits suit cool nice deal true do is it"
)
# What tells one value from another of its kind: "from A to B", "by noon". Another of these there is another slot.
_ROLES = _set("from to by until till before after")
_PREPOSITIONS = _ROLES | _set("since at for on in of with without about towards under over than")
_LAST = re.compile(r"([a-z]+)(?: (?:the|about|around))? *$", re.IGNORECASE)
_POINTING = _set("he she they it him her them his hers their theirs its that this there one ones those these")
_GENDERED = _set("he him his she her hers")
_THEY = _GENDERED | {"they", "them", "their", "theirs"}
_BEGIN = r"(?:^|[.!?,;-] *|\b(?:yes|yeah|yep|yup|no|ok|okay|great|thanks) )(?:and |but |so )?"
_POINTS = re.compile(
    rf"{_BEGIN}(?:{'|'.join(sorted(_POINTING))}|sounds|works|looks|all|everything|you|i like)\b", re.IGNORECASE
)
_THIRD = re.compile(rf"{_BEGIN}(it|he|she|they)\b", re.IGNORECASE)
_EMPTY = re.compile(r"it (?:would be great|would be|is possible|helps)\b", re.IGNORECASE)  # an "it" that is nobody

# Capital letters that name nothing.
_PLAIN = _set(
    "i i'm i'd i'll i've im ok okay please thanks thank yes no can could what where when how is are do does that the a"
    " an and but or so my we you it this find book let's hi hello hey great sure bye goodbye will would also there for"
    " to in on at of not now wifi wi-fi that's it's what's where's there's thats its sounds good perfect fine who which"
    " am if with from have has they he she then too one just maybe all right alright nope yeah yep yup actually awesome"
    " nice cool wonderful search show tell give get make dont don't doesn't isn't"
)
_START = re.compile(r"(?:^|[.!?…\n:;]|--)[\s\"'“‘(*]*$")


def words(text: str) -> list[str]:
    """The text's words, folded: what "the same but for case and punctuation" compares."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def protected(turn: Turn, before: Values | None = None) -> list[Kept]:
    """Stretches of the text that no engine may touch, in order: spans, values told, numbers, names, words of time."""
    text = turn.text
    found = [Kept(*_whole(text, span.start, span.exclusive_end), VALUE) for span in spans(turn)]
    for value in _told(turn, before or {}):
        if any(c.isalnum() for c in value):
            found += [Kept(*match.span(), VALUE) for match in _as_word(value).finditer(text)]
    found += [Kept(*match.span(), NUMBER) for match in (*_DIGITS.finditer(text), *_ones(text))]
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if word in NUMBERS or word in TIMES:
            found.append(Kept(*match.span(), NUMBER if word in NUMBERS else TIME))
        elif _named(text, match):
            found.append(Kept(*match.span(), NAME))
    return _merged(found)


def accepted(turn: Turn, kept: Sequence[Kept], new: str) -> Turn | str:
    """The turn with its new text and its spans moved there, or the reason why not."""
    old = turn.text
    places = _located(old, kept, new)
    if isinstance(places, str):
        return places
    for part, at in zip(kept, places, strict=True):  # in the original's own letters; no length changes
        new = new[:at] + old[part.start : part.end] + new[at + part.end - part.start :]
    if words(new) == words(old):
        return UNCHANGED
    if any(_role_changed(old[: part.start], new[:at]) for part, at in zip(kept, places, strict=True)):
        return ROLE
    reason = changed(old, new)
    if reason is not None:
        return reason
    frames = tuple(_moved(frame, kept, places) for frame in turn.frames)
    return msgspec.structs.replace(turn, text=new, frames=frames)


def changed(old: str, new: str) -> str | None:
    """What a reader would take differently, as far as counting words can tell; None where nothing is found."""
    before, after = words(old), words(new)
    if _numbers(old) != _numbers(new):
        return NUMBER
    if _count(before, ORDER) != _count(after, ORDER):
        return TIME
    if _negations(before) != _negations(after):
        return NEGATION
    said_yes, agrees = any(w in YES for w in before), any(w in AGREE for w in after)
    if (said_yes and not agrees) or (not any(w in AGREE for w in before) and any(w in YES for w in after)):
        return ANSWER
    if _persons(old, new):
        return PERSON
    if (
        doubled(new) - doubled(old)
        or len(after) > 3 * len(before) + 12
        or _quotes(new) != _quotes(old)
        or _marks(new) - _marks(old)
    ):
        return GARBLED
    return None


# -- what stands where -------------------------------------------------------------------------------------------------


def spans(turn: Turn) -> Iterator[Span]:
    return (span for frame in turn.frames for span in frame.spans or ())


def _told(turn: Turn, before: Values) -> Iterator[str]:
    """The values of the turn's acts and of what its state adds."""
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


def _as_word(value: str) -> re.Pattern[str]:
    left = r"(?<!\w)" if value[0].isalnum() else ""
    right = r"(?!\w)" if value[-1].isalnum() else ""
    return re.compile(left + re.escape(value) + right, re.IGNORECASE)


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """A span that ends inside a word keeps the whole word: "8" of "8th"."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def _ones(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _ONE.finditer(text) if not _BEFORE_ONE.search(text, 0, match.start()))


def _named(text: str, match: re.Match[str]) -> bool:
    word = match.group()
    return (
        word[0].isupper() and word.lower().replace("’", "'") not in _PLAIN and not _START.search(text, 0, match.start())
    )


def _merged(found: Iterable[Kept]) -> list[Kept]:
    merged: list[Kept] = []
    for part in sorted(found):
        if merged and part.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Kept(last.start, max(part.end, last.end), min(part.reason, last.reason, key=_RANK.index))
        else:
            merged.append(part)
    return merged


# -- finding it again --------------------------------------------------------------------------------------------------


def _located(old: str, kept: Sequence[Kept], new: str) -> list[int] | str:
    """Where each kept stretch begins in the new text; the same stretch several times is taken in order."""
    begins: dict[int, int] = {}
    taken: list[tuple[int, int]] = []
    by_text: dict[str, list[int]] = {}
    for index, part in enumerate(kept):
        by_text.setdefault(old[part.start : part.end].lower(), []).append(index)
    for text in sorted(by_text, key=lambda text: (-len(text), text)):  # the longest first: "York" is not in "New York"
        pattern = _as_word(text)
        free = [
            match.start()
            for match in pattern.finditer(new)
            if not any(match.start() < end and start < match.end() for start, end in taken)
        ]
        said = [match.start() for match in pattern.finditer(old)]
        if len(said) == len(free):  # "the first one … one seat": the second here is the second there
            starts = [kept[index].start for index in by_text[text]]
            free = [at for at, start in zip(free, said, strict=True) if start in starts]
        for index, at in zip(by_text[text], free, strict=False):
            begins[index] = at
            taken.append((at, at + len(text)))
        lost = [index for index in by_text[text] if index not in begins]
        if lost:
            return kept[lost[0]].reason
    return [begins[index] for index in range(len(kept))]


def _moved(frame: Frame, kept: Sequence[Kept], begins: Sequence[int]) -> Frame:
    if not frame.spans:
        return frame
    return msgspec.structs.replace(frame, spans=tuple(_span(span, kept, begins) for span in frame.spans))


def _span(span: Span, kept: Sequence[Kept], begins: Sequence[int]) -> Span:
    for part, begin in zip(kept, begins, strict=True):
        if part.start <= span.start and span.exclusive_end <= part.end:
            start = begin + span.start - part.start
            return msgspec.structs.replace(span, start=start, exclusive_end=start + span.exclusive_end - span.start)
    raise ValueError(f"the span of {span.slot} lies in no protected stretch")


# -- counting ----------------------------------------------------------------------------------------------------------


def _numbers(text: str) -> Counter[str]:
    found = Counter(re.sub(r"\s", "", match.group().lower()) for match in _DIGITS.finditer(text))
    found.update(word for word in words(text) if word in NUMBERS)
    found["one"] += sum(1 for _ in _ones(text))
    return +found


def _count(listed: Sequence[str], among: frozenset[str]) -> Counter[str]:
    return Counter(word for word in listed if word in among)


def _negations(listed: Sequence[str]) -> int:
    """How many, not which: "nothing else" and "not anything else" are one each."""
    parts = [part for word in listed for part in word.split("-")]  # "step-free" is not "not-free"
    return sum(part in NEGATIONS or part.endswith("n't") for part in parts)


def _role_changed(old: str, new: str) -> bool:
    """Whether another preposition leads up to a value than did before. None at all is no change: "visit Paris"."""
    before, after = (match[1].lower() if (match := _LAST.search(text)) else "" for text in (old, new))
    return before in _ROLES and after in _PREPOSITIONS - {before} and {before, after} != {"till", "until"}


def _persons(old: str, new: str) -> bool:
    """A third person comes in from nowhere to speak or act ("it would like" for "I would like"), or "they" are lost."""
    before, after = {w.split("'")[0] for w in words(old)}, {w.split("'")[0] for w in words(new)}
    if after & _GENDERED - before or (before & _THEY and not after & (_THEY | _POINTING)):
        return True
    old_parts, new_parts = re.split(r"[.!?]+\s+", old), re.split(r"[.!?]+\s+", new)
    if len(old_parts) != len(new_parts):
        old_parts, new_parts = [old], [new]
    return any(_third(b) > len(_POINTS.findall(a)) for a, b in zip(old_parts, new_parts, strict=True))


def _third(text: str) -> int:
    return sum(not _EMPTY.match(text, match.start(1)) for match in _THIRD.finditer(text))


def doubled(text: str) -> Counter[str]:
    """Words that stand twice in a row."""
    parts = [words(part) for part in re.split(r"[.!?,;:]", text)]
    return Counter(a for listed in parts for a, b in pairwise(listed) if a == b)


def _marks(text: str) -> Counter[str]:
    return Counter(c for c in text if c in "*#@[]{}<>\ufffd")  # what translators and models leave behind


def _quotes(text: str) -> tuple[int, int]:
    return text.count('"') % 2, text.count("“") - text.count("”")
