"""When a predicted value counts as the gold one: a score between 0 and 1 for a pair of strings.

The public SGD script matches with fuzzywuzzy 0.18. Its result depends on other installed packages: with
python-Levenshtein it is the Indel ratio, without it difflib's. Both are here, bit for bit (tests compare them with
fuzzywuzzy itself), because published numbers exist for both.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, Levenshtein

from troth.core.errors import UserError
from troth.core.text_cache import clear_with_texts

Matcher = Callable[[str, str], float]  # (gold, predicted) -> score; not symmetric for difflib

_NOT_WORD = re.compile(r"(?ui)\W")
# fuzzywuzzy "forces ASCII" by deleting U+0080 to U+00FF and nothing beyond: "Zoë" becomes "zo", "Łódź" stays "łódź"
# but for its ó.
_LATIN1 = dict.fromkeys(range(128, 256))
_PAIRS = 1 << 17  # pairs kept: predictions repeat from turn to turn, so nearly every comparison is a look-up


LONGEST_FUZZY = 20_000  # letters of a value that is compared with another: the time grows with the square
LONGEST = 1_000  # the same, of ways of comparing that take longer


def _fuzzy(gold: str, pred: str, ratio: Callable[[str, str], float], longest: int = LONGEST_FUZZY) -> float:
    """The ratio, for values that are not too long for it."""
    if gold != pred and max(len(gold), len(pred)) > longest:
        raise _too_long(gold, pred, "fuzzy matching", longest)
    return ratio(gold, pred)


def _too_long(gold: str, pred: str, what: str, longest: int) -> UserError:
    length = max(len(gold), len(pred))
    hint = f"values may have {longest:,}; is it a whole text?"
    return UserError(f"a value has {length:,} letters, which is too long for {what}", hint=hint)


def exact(gold: str, pred: str) -> float:
    return float(gold == pred)


@clear_with_texts
@lru_cache(maxsize=_PAIRS)
def token_sort(text: str) -> str:
    """fuzzywuzzy's processing: Latin-1 letters dropped, non-word characters to spaces, lower case, tokens sorted."""
    return " ".join(sorted(_NOT_WORD.sub(" ", text.translate(_LATIN1)).lower().split()))


@clear_with_texts
@lru_cache(maxsize=_PAIRS)
def fuzzy_indel(gold: str, pred: str) -> float:
    """`token_sort_ratio` of fuzzywuzzy with python-Levenshtein installed: rounded to a whole percent."""
    a, b = token_sort(gold), token_sort(pred)
    if a == b:
        return 1.0
    return round(100 * _fuzzy(a, b, Indel.normalized_similarity)) / 100.0 if a and b else 0.0


@clear_with_texts
@lru_cache(maxsize=_PAIRS)
def fuzzy_difflib(gold: str, pred: str) -> float:
    """`token_sort_ratio` of fuzzywuzzy without python-Levenshtein: difflib's ratio, which is not symmetric."""
    a, b = token_sort(gold), token_sort(pred)
    if a == b:
        return 1.0
    return round(100 * _fuzzy(a, b, _difflib, LONGEST)) / 100.0 if a and b else 0.0


def _difflib(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


@clear_with_texts
@lru_cache(maxsize=_PAIRS)
def fuzzy_raw(gold: str, pred: str) -> float:
    """`token_sort_ratio` of rapidfuzz 3 as NeMo's port calls it: neither processed nor rounded."""
    return _fuzzy(gold, pred, fuzz.token_sort_ratio) / 100.0


@clear_with_texts
@lru_cache(maxsize=_PAIRS)
def partial_95(gold: str, pred: str) -> float:
    """mwzeval: 1 if the partial ratio is above 95, else 0. Substrings match by design: "cafe" is "cafe uno"."""
    return float(partial_ratio(gold, pred) > 95)


def partial_ratio(gold: str, pred: str) -> int:
    """fuzzywuzzy's `partial_ratio` with python-Levenshtein, in whole percent.

    It lays the shorter text over the longer only where their alignment has equal runs, and so can miss the best place;
    rapidfuzz tries every place and calls "ian hong house" and "lan hong house" a match. The script uses fuzzywuzzy.
    """
    if gold == pred:
        return 100
    if not gold or not pred:
        return 0
    if max(len(gold), len(pred)) > LONGEST:
        raise _too_long(gold, pred, "partial matching", LONGEST)
    shorter, longer = (gold, pred) if len(gold) <= len(pred) else (pred, gold)
    best = 0.0
    for block in Levenshtein.opcodes(shorter, longer).as_matching_blocks():
        start = max(block.b - block.a, 0)
        score = Indel.normalized_similarity(shorter, longer[start : start + len(shorter)])
        if score > 0.995:
            return 100
        best = max(best, score)
    return round(100 * best)


MATCHERS: dict[str, Matcher] = {
    "fuzzy-indel": fuzzy_indel,
    "fuzzy-difflib": fuzzy_difflib,
    "fuzzy-raw": fuzzy_raw,
    "partial-95": partial_95,
    "exact": exact,
}
