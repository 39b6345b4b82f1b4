"""Overlap of a response with its document: U-F1, BLEU and ROUGE-L as in the code of PMI-Faith's authors, and coverage.

- U-F1 (Honovich et al., 2021): F1 of the two multisets of tokens without stop words and punctuation, in lower case; 0
  where nothing overlaps. Tokens, stop words and punctuation are those of spaCy's English rules (`spacy.blank("en")`,
  which gives the same as the small model that the authors load). The document is lower-cased before it is tokenised,
  the response after it; that is theirs, too.
- BLEU: sacreBLEU's corpus BLEU of the one response against the one document (tokens 13a, exponential smoothing, no
  effective order, so that a response of three tokens has no four-gram to match). The document is lower-cased and the
  response is not. A fraction here; the authors print 0 to 100.
- ROUGE-L: F1 of the longest common subsequence over stemmed words, both texts taken whole. By the words and the Porter
  stemmer of rouge-score. The authors use py-rouge, which also knows WordNet's irregular forms: of BEGIN's dev data
  its value differs for 2 of 430 responses (WoW), 13 of 416 (CMU-DoG) and 41 of 383 (Topical-Chat), by 0.06 at most.

- Coverage is no paper's: the share of the response's words, stemmed as for ROUGE-L, that stand in the document. What a
  response leaves out of its document is no fault, so that recall, which is half of the others, has no part in it.

Each takes any two texts; that an empty one is not to be scored is for the caller to know.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from troth.core.errors import UserError

KEPT = 512  # documents whose tokens are remembered: responses that share one often stand together


def u_f1(document: str, response: str) -> float:
    grounds, said = _unigrams(document.lower()), _unigrams(response)
    return _f1((grounds & said).total(), grounds.total(), said.total())


def bleu(document: str, response: str) -> float:
    # sacreBLEU's best is a little above 100, and not always the same.
    return min(1.0, float(_bleu().corpus_score([response], [[document.lower()]]).score) / 100)


def rouge_l(document: str, response: str) -> float:
    from rapidfuzz.distance import LCSseq

    grounds, said = _stems(document), _stems(response)
    return _f1(LCSseq.similarity(grounds, said), len(grounds), len(said))


def coverage(document: str, response: str) -> float:
    grounds, said = _vocabulary(document), _stems(response)
    return sum(word in grounds for word in said) / len(said) if said else 0.0


def _f1(same: int, grounds: int, said: int) -> float:
    """From the counts, not through precision and recall, whose rounding makes unequal what is equal, and ties count."""
    return 2 * same / (grounds + said) if same else 0.0


def recipe(name: str) -> str:
    """What moves the number, as parts of a signature. Loads nothing, and tells whether there is something to load."""
    rules, package, parts = {
        "u_f1": ("tok:spacy-en|stop:spacy|case:lower", "spacy", 2),
        "bleu": ("doc:lower|case:mixed|eff:no|tok:13a|smooth:exp", "sacrebleu", 1),
        "rouge_l": ("stem:porter", "rouge-score", 2),
        "coverage": ("stem:porter", "rouge-score", 2),
    }[name]
    try:
        release = version(package).split(".")[:parts]  # as much of it as may move a number
    except PackageNotFoundError as error:
        raise UserError(f"{package} is not installed", hint='pip install "troth[text]"') from error
    return f"{rules}|{package}:{'.'.join(release)}"


# -- other people's tokens ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=KEPT)
def _unigrams(text: str) -> Counter[str]:
    return Counter(token.text.lower() for token in _english()(text) if not token.is_stop and not token.is_punct)


@cache
def _english() -> Any:
    import spacy

    return spacy.blank("en").tokenizer


@cache
def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU()


@lru_cache(maxsize=KEPT)
def _stems(text: str) -> tuple[str, ...]:
    """rouge-score's words: lower case, letters and digits alone; what has more than three is stemmed."""
    from rouge_score.tokenize import tokenize

    return tuple(stem for word in tokenize(text, None) if (stem := _stem(word)))


@lru_cache(maxsize=KEPT)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(_stems(text))


@cache
def _stem(word: str) -> str:
    return str(_stemmer().stem(word)) if len(word) > 3 else word


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
