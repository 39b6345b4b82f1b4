"""Responses word by word: what the document supports and what it does not, by `doubts.py` everywhere.

With a language model, each word also has what the document does for its probability (PMI-Faith); these numbers are
shown, and decide nothing: on words that people labelled, `doubts.py` is right more often (docs/grounding.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from troth.core.records import Grounded
from troth.grounding.doubts import Support, doubted_words
from troth.grounding.pmi import RESPONSE, Faith, Token, measure
from troth.models import Lm
from troth.storage.explorer import ClaimSupport, ResponseView
from troth.storage.files import new_file

BEFORE = RESPONSE.index("{}")  # characters of the scored text before the response
RULES, PMI = "words", "pmi_faith"
DECIMALS = 4  # of the numbers of a word in a file
NEITHER = "no document, or no response"


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """A word of the response. Its log-probability is the sum of its tokens'."""

    text: str
    support: Support
    doubt: float  # from 0, supported, to 1; see `doubts.py`
    given: float | None = None  # log-probability with the document
    ratio: float | None = None  # against the one without


class WordByWord(msgspec.Struct, frozen=True):
    """A response with its words; `value` is its PMI-Faith, or 1 less the mean doubt; None with a reason."""

    system: str
    id: str
    value: float | None
    words: tuple[Word, ...]
    reason: str | None = None
    by: str = PMI  # or "words": by rules


def judge_words(document: str, response: str, claims: Sequence[ClaimSupport] = ()) -> tuple[Word, ...]:
    """Every word of a response with its support; no model is asked. `claims`: what `faith` found of its sentences."""
    return tuple(Word(word.text, word.support, word.doubt) for word in doubted_words(document, response, claims))


def word_by_word(responses: Iterable[ResponseView], lm: Lm | None = None) -> list[WordByWord]:
    """The words of each response, in their order. A response without text or document has no words.

    Takes what a result of `ground` shows of its responses; `lm` adds the words' probabilities:

        word_by_word(result.explorer().responses, troth.models.lm("embedded"))
    """
    views, by = list(responses), RULES if lm is None else PMI
    able = [view for view in views if view.document.strip() and view.text.strip()]
    items = [Grounded(view.id, view.document, view.text, view.history) for view in able]
    faiths = iter([] if lm is None else measure(items, lm))
    rows = []
    for view in views:
        if not (view.document.strip() and view.text.strip()):
            rows.append(WordByWord(view.system, view.id, None, (), NEITHER, by))
            continue
        words = judge_words(view.document, view.text, view.claims)
        if lm is None:
            value = 1 - math.fsum(word.doubt for word in words) / len(words)
            rows.append(WordByWord(view.system, view.id, value, words, None, by))
        else:
            faith = next(faiths)
            likely = zip(words, measure_words(view.text, faith), strict=True)
            rated = tuple(msgspec.structs.replace(word, given=own.given, ratio=own.ratio) for word, own in likely)
            rows.append(WordByWord(view.system, view.id, faith.value, rated, faith.reason, by))
    return rows


class WordLikelihood(NamedTuple):
    """A word with its log-probability given the document, and that against the one without; None: not known."""

    text: str
    given: float | None
    ratio: float | None


def measure_words(response: str, faith: Faith) -> list[WordLikelihood]:
    """The words of the response, each with what the document does for its probability."""
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


def _word(text: str, tokens: Sequence[Token]) -> WordLikelihood:
    logprobs = [token.given for token in tokens if token.given is not None]
    ratios = [token.ratio for token in tokens if token.ratio is not None]
    if not tokens or len(logprobs) < len(tokens) or len(ratios) < len(tokens):
        return WordLikelihood(text, None, None)
    return WordLikelihood(text, math.fsum(logprobs), math.fsum(ratios))


def least_supported(rows: Sequence[WordByWord], number: int) -> list[WordByWord]:
    """The responses with the lowest values, the lowest first; of equal ones the earlier."""
    return sorted([row for row in rows if row.value is not None], key=lambda row: row.value or 0.0)[:number]


def write(rows: Sequence[WordByWord], out: str) -> None:
    """Writes the words of every response to a new JSONL file, numbers of words with four decimals."""
    encoder = msgspec.json.Encoder()
    with new_file(out) as file:
        for row in rows:
            words = tuple(_rounded(word) for word in row.words)
            file.write(encoder.encode(msgspec.structs.replace(row, words=words)) + b"\n")


def _rounded(word: Word) -> Word:
    numbers = {name: getattr(word, name) for name in ("doubt", "given", "ratio")}
    decimals = {name: round(number, DECIMALS) for name, number in numbers.items() if number is not None}
    return msgspec.structs.replace(word, **decimals)
