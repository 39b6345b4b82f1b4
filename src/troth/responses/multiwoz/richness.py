"""Lexical richness of responses, as mwzeval counts it with lexical-diversity's tokens.

Responses first go through the Moses tokenizer and detokenizer (sacremoses), as for BLEU. mwzeval cuts the text into
windows in the order of the file; here dialogues are sorted, so that the order of a file changes nothing (PPTOD's MSTTR
is 65.040 in place of 65.041).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any

import msgspec

from troth.core.extras import install_command

WINDOW = 50  # tokens
MISSING = f"sacremoses is not installed: {install_command('text')}"
# As lexical-diversity deletes it, in this order; the text around a mark is joined.
PUNCTUATION = ("``", "''", "'", ".", ",", "?", "!", ")", "(", "%", "/", "-", "_", "SYM", ":", ";")
_SPACES = re.compile(r"\s+")


class Richness(msgspec.Struct, frozen=True):
    """Lexical richness of responses."""

    msttr: float  # mean type-token ratio of windows of 50 tokens
    unigrams: int  # distinct ones, as the next two
    bigrams: int
    trigrams: int
    entropy: float  # bits per token
    conditional_entropy: float  # bits per token, given the one before


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("sacremoses") is not None


def detokenize(response: str) -> str:
    """A response in mwzeval's form without `-s` and `-ly`, through the Moses tokenizer and detokenizer."""
    tokenizer, detokenizer = _moses()
    words = tokenizer.tokenize(response.replace("-s", "").replace("-ly", ""))
    return str(detokenizer.detokenize(words))


@cache
def _moses() -> tuple[Any, Any]:
    from sacremoses import MosesDetokenizer, MosesTokenizer

    return MosesTokenizer(lang="en"), MosesDetokenizer(lang="en")


def tokenize(text: str) -> list[str]:
    """lexical-diversity's tokens: punctuation deleted, lower case, split at spaces. An empty text is one empty token.

    >>> tokenize("What's the PHONE number?")
    ['whats', 'the', 'phone', 'number']
    """
    for mark in PUNCTUATION:
        text = text.replace(mark, "")
    return _SPACES.sub(" ", text).lower().split(" ")


def measure_richness(responses: Sequence[Sequence[str]]) -> Richness:
    """The richness of tokenized responses; there must be a token."""
    tokens = list(chain.from_iterable(responses))
    words, pairs, triples = Counter(tokens), Counter(_pairs(responses)), set(_triples(responses))
    total = len(tokens)
    entropy = -math.fsum(count / total * math.log2(count / total) for count in words.values())
    conditional = -math.fsum(count / total * math.log2(count / words[first]) for (first, _), count in pairs.items())
    return Richness(_msttr(tokens), len(words), len(pairs), len(triples), entropy, conditional)


def _pairs(responses: Iterable[Sequence[str]]) -> Iterable[tuple[str, str]]:
    return chain.from_iterable(map(pairwise, responses))


def _triples(responses: Iterable[Sequence[str]]) -> Iterable[tuple[str, str, str]]:
    return chain.from_iterable(zip(tokens, tokens[1:], tokens[2:], strict=False) for tokens in responses)


def _msttr(tokens: Sequence[str]) -> float:
    """The mean over whole windows; of a text that is no longer than one window, its own ratio."""
    if len(tokens) <= WINDOW:
        return len(set(tokens)) / len(tokens)
    ends = range(WINDOW, len(tokens) + 1, WINDOW)
    return math.fsum(len(set(tokens[end - WINDOW : end])) / WINDOW for end in ends) / len(ends)
