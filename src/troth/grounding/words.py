"""Responses word by word: what the document supports and what it does not.

By PMI-Faith's language model (`word_by_word`), or by the words of the document alone (`words_by_rules`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from troth.core.records import Grounded
from troth.grounding.doubts import DoubtedWord, doubted_words
from troth.grounding.pmi import RESPONSE, Faith, Token, measure
from troth.models import Lm
from troth.storage.explorer import ResponseView
from troth.storage.files import new_file

BEFORE = RESPONSE.index("{}")  # characters of the scored text before the response
LIKELIER = math.log(2)  # a word is supported where the document makes it at least twice as likely
UNLIKELY = math.log(0.1)  # unsupported: the document does not, and the word is at most this likely even with it

CERTAIN = 0.2  # by rules: a word with less doubt is supported
RULES = "words"
NEITHER = "no document, or no response"

Support = Literal["supported", "unsupported", "free"]


class Word(msgspec.Struct, frozen=True):
    """A word of the response. Its log-probability is the sum of its tokens'."""

    text: str
    given: float | None
    ratio: float | None
    support: Support
    doubt: float | None = None  # by rules: from 0, supported, to 1; see `doubts.py`


class WordByWord(msgspec.Struct, frozen=True):
    """A response with its words; `value` is its PMI-Faith, or 1 less the mean doubt; None with a reason."""

    system: str
    id: str
    value: float | None
    words: tuple[Word, ...]
    reason: str | None = None
    by: str = "pmi_faith"  # or "words": by rules


def words_by_rules(responses: Iterable[ResponseView]) -> list[WordByWord]:
    """The words of each response, in their order, by rules: no model is asked."""
    rows = []
    for view in responses:
        if not _has_both(view):
            rows.append(WordByWord(view.system, view.id, None, (), NEITHER, RULES))
            continue
        doubted = doubted_words(view.document, view.text)
        judged = tuple(Word(word.text, None, None, _support(word), word.doubt) for word in doubted)
        value = 1 - math.fsum(word.doubt for word in doubted) / len(doubted)
        rows.append(WordByWord(view.system, view.id, value, judged, None, RULES))
    return rows


def _support(word: DoubtedWord) -> Support:
    return "unsupported" if word.unsupported else "supported" if word.doubt < CERTAIN else "free"


def word_by_word(responses: Iterable[ResponseView], lm: Lm) -> list[WordByWord]:
    """The words of each response, in their order. A response without text or document has no words.

    Takes what a result of `ground` shows of its responses:

        word_by_word(result.explorer().responses, troth.models.lm("embedded"))
    """
    views = list(responses)
    items = [Grounded(view.id, view.document, view.text, view.history) for view in views if _has_both(view)]
    faiths = iter(measure(items, lm))
    rows = []
    for view in views:
        if _has_both(view):
            faith = next(faiths)
            rows.append(
                WordByWord(view.system, view.id, faith.value, tuple(judge_words(view.text, faith)), faith.reason)
            )
        else:
            rows.append(WordByWord(view.system, view.id, None, (), NEITHER))
    return rows


def _has_both(view: ResponseView) -> bool:
    return bool(view.document.strip() and view.text.strip())


def judge_words(response: str, faith: Faith) -> list[Word]:
    """The words of the response, each with what the document does for it.

    Supported: the document makes it at least twice as likely. Unsupported: it does not, and the word's probability is
    at most one in ten even so. All others are free: language itself leads to them ("the", "of", a full stop).
    """
    bounds = [match.span() for match in re.finditer(r"\S+", response)]
    tokens: list[list[Token]] = [[] for _ in bounds]
    at = -BEFORE
    number = 0
    last: list[Token] = []
    for token in faith.tokens:
        if not token.text:  # the rest of a character that the token before it began
            last.append(token)
            continue
        begin = at + len(token.text) - len(token.text.lstrip())  # a token's space belongs to the word after it
        at += len(token.text)
        while number < len(bounds) and bounds[number][1] <= begin:
            number += 1
        inside = number < len(bounds) and begin >= 0 and bool(token.text.strip())
        last = tokens[number] if inside else []
        last.append(token)
    return [_word(response[start:end], word_tokens) for (start, end), word_tokens in zip(bounds, tokens, strict=True)]


def _word(text: str, tokens: Sequence[Token]) -> Word:
    logprobs = [token.given for token in tokens if token.given is not None]
    ratios = [token.ratio for token in tokens if token.ratio is not None]
    if not tokens or len(logprobs) < len(tokens) or len(ratios) < len(tokens):
        return Word(text, None, None, "free")
    likely, ratio = math.fsum(logprobs), math.fsum(ratios)
    support: Support = "supported" if ratio >= LIKELIER else "unsupported" if likely <= UNLIKELY else "free"
    return Word(text, likely, ratio, support)


def least_supported(rows: Sequence[WordByWord], number: int) -> list[WordByWord]:
    """The responses with the lowest values, the lowest first; of equal ones the earlier."""
    return sorted([row for row in rows if row.value is not None], key=lambda row: row.value or 0.0)[:number]


def write(rows: Sequence[WordByWord], out: str) -> None:
    """Writes the words of every response to a new JSONL file."""
    encoder = msgspec.json.Encoder()
    with new_file(out) as file:
        file.writelines(encoder.encode(row) + b"\n" for row in rows)
