"""Overlap of a response with its document: U-F1, BLEU and ROUGE-L as in the code of PMI-Faith's authors, and coverage.

- U-F1 (Honovich et al., 2021): F1 of the two multisets of tokens without stop words and punctuation, in lower case; 0
  where nothing overlaps. Tokens, stop words and punctuation are those of spaCy's English rules (`spacy.blank("en")`,
  which gives the same as the small model that the authors load). As in their code, the document is lower-cased before
  it is tokenised and the response afterwards.
- BLEU: sacreBLEU's corpus BLEU of one response against one document (tokens 13a, exponential smoothing, no effective
  order, so a response of three tokens has no four-gram to match). Only the document is lower-cased. The value is a
  fraction; the authors print 0 to 100.
- ROUGE-L: F1 of the longest common subsequence over stemmed words, both texts as a whole, with the tokenizer and the
  Porter stemmer of rouge-score. The authors use py-rouge, which also knows WordNet's irregular forms: on BEGIN's dev
  data the value differs for 2 of 430 responses (WoW), 13 of 416 (CMU-DoG) and 41 of 383 (Topical-Chat), by 0.06
  at most.
- Coverage is from no paper: the share of the response's words, stemmed as for ROUGE-L, that are in the document. A
  response need not repeat its document, so recall, which is half of the other three, has no part in it.

The functions take any two texts; callers leave out empty ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from troth.core.extras import not_installed_error, require
from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.core.text_cache import clear_with_texts, text_cache
from troth.grounding.metrics import Models, Unscored, Value, faithfulness

NO_WORDS = "the response has no words in Latin letters"  # rouge-score knows no others
CHUNK = 256  # responses between two steps of the progress bar


def u_f1(document: str, response: str) -> float:
    grounds, said = _unigrams(document.lower()), _unigrams(response)
    return f1((grounds & said).total(), grounds.total(), said.total())


def bleu(document: str, response: str) -> float:
    # sacreBLEU's best is a little above 100, and not always the same.
    return min(1.0, float(_bleu().corpus_score([response], [[document.lower()]]).score) / 100)


def rouge_l(document: str, response: str) -> float:
    from rapidfuzz.distance import LCSseq

    grounds, said = _stems(document), _stems(response)
    return f1(LCSseq.similarity(grounds, said), len(grounds), len(said))


def coverage(document: str, response: str) -> Value:
    grounds, said = _vocabulary(document), _stems(response)
    return sum(word in grounds for word in said) / len(said) if said else Unscored(NO_WORDS)


def f1(same: int, grounds: int, said: int) -> float:
    """F1 from counts: through precision and recall, rounding would break ties that matter for ranking."""
    return 2 * same / (grounds + said) if same else 0.0


@dataclass(frozen=True)
class Overlap:
    """A grader that compares words and asks no model."""

    metric: Metric
    compare: Callable[[str, str], Value]
    recipe: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        values: list[Value] = []
        with bar(self.metric.name) as progress:
            for start in range(0, len(items), CHUNK):
                values += [self.compare(item.document, item.response) for item in items[start : start + CHUNK]]
                progress(len(values), len(items))
        return values


def _package_version(package: str, parts: int) -> dict[str, str]:
    """The part of a package's version that may move a number; an error where it is not installed."""
    try:
        return {package: ".".join(version(package).split(".")[:parts])}
    except PackageNotFoundError as error:
        raise not_installed_error(package, "text") from error


def _declare(
    name: str, title: str, about: str, compare: Callable[[str, str], Value], release: tuple[str, int], **rules: str
) -> Metric:
    def grader(_: Models) -> Overlap:
        return Overlap(metric, compare, rules | _package_version(*release))

    metric = faithfulness(name, title, about, needs=("text",), compute=grader, top=1.0)
    return metric


U_F1 = _declare(
    "u_f1", "Unigram F1", "F1 of the words that response and document share, without stop words and punctuation",
    u_f1, ("spacy", 2), tok="spacy-en", stop="spacy", case="lower",
)  # fmt: skip
BLEU = _declare(
    "bleu", "BLEU", "BLEU of the response against the document",
    bleu, ("sacrebleu", 1), doc="lower", case="mixed", eff="no", tok="13a", smooth="exp",
)  # fmt: skip
ROUGE_L = _declare(
    "rouge_l", "ROUGE-L", "F1 of the longest common subsequence of response and document, over stemmed words",
    rouge_l, ("rouge-score", 2), stem="porter",
)  # fmt: skip
COVERAGE = _declare(
    "coverage", "Coverage", "share of the response's words, stemmed, that are in the document",
    coverage, ("rouge-score", 2), stem="porter",
)  # fmt: skip


@text_cache
def _unigrams(text: str) -> Counter[str]:
    return Counter(
        token.text.lower() for token in english_tokenizer()(text) if not token.is_stop and not token.is_punct
    )


@cache
def english_tokenizer() -> Any:
    """spaCy's tokenizer for English."""
    return require("spacy", extra="text").blank("en").tokenizer


@cache
def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU()


@text_cache
def _stems(text: str) -> tuple[str, ...]:
    """rouge-score's words: lower case, letters and digits only; words of more than three letters are stemmed."""
    from rouge_score.tokenize import tokenize

    return tuple(stem for word in tokenize(text, None) if (stem := _stem(word)))


@text_cache
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(_stems(text))


@clear_with_texts
@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word)) if len(word) > 3 else word


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
