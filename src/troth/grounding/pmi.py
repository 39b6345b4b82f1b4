"""PMI-Faith and UPMI-Faith (PMI-Faith, section 4.1): how much likelier does its document make a response?

    PMI-Faith  = log P(r | d, h) − log P(r | h)
    UPMI-Faith = log P(r | d)    − log P(r)

as the authors' code computes them, with any language model of `troth.models`:

- The pieces `Document: {d}\\n\\n`, `{h}.\\n` and `Agent: {r}.` are tokenised separately. `Agent:` and the final full
  stop are scored with the response. Each turn of the history is a line (the authors' data has one turn); an empty
  history is `.\\n`.
- Means per token of the response (`norm:mean`). `norm:sum` is the formula as printed.
- Without a document and a history, the first token has nothing before it and is not scored: the second term of
  UPMI-Faith is a mean over one token less than the first.

Where everything together is longer than the model reads, the authors give NaN, and here there is no number, with the
reason: a document that lost its end would give a low one. For long documents there is the best of overlapping windows
(`window:…`). Should even a window lose its end, because history and response are long, it is counted in `shortened`.

`measure` gives the parts of the number token by token; `words.py` makes verdicts on words of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import msgspec

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.metrics import Unscored, Value, cut_remarks, faithfulness
from troth.models import Continuation, Lm, Request
from troth.models.batches import group_indexes

DOCUMENT, HISTORY, RESPONSE = "Document: {}\n\n", "{}.\n", "Agent: {}."

Norm = Literal["mean", "sum"]

CHUNK = 4096  # responses asked together; those of one document stay together
WINDOW = 128  # words of a window, for the metric that has windows

TOO_LONG = "history and response are longer than the language model reads"
NO_ROOM = "the language model cannot read document, history and response together"
CUT = "the document is longer than the language model reads; pmi_faith_windows reads it in parts"
NO_NUMBER = "the language model gives no finite probability"


class Token(msgspec.Struct, frozen=True):
    """A token of the scored text, with its log-probabilities; None where it has none."""

    text: str
    given: float | None  # with the document
    alone: float | None  # without

    @property
    def ratio(self) -> float | None:
        return None if self.given is None or self.alone is None else self.given - self.alone


class Faith(msgspec.Struct, frozen=True):
    """PMI-Faith of one response, and what it is made of. `value` is None with a reason."""

    value: float | None
    given: float | None  # log P(r | d, h), mean or sum
    alone: float | None  # log P(r | h)
    tokens: tuple[Token, ...]
    dropped: int = 0  # tokens of the document that the model did not get to see
    window: int = 0  # which window of the document won
    reason: str | None = None


class PmiRequests(NamedTuple):
    """The requests for one item: one per window of its document, and one without a document."""

    given: tuple[Request, ...]
    alone: Request


def build_requests(item: Grounded, *, conditional: bool = True, window: int | None = None) -> PmiRequests:
    """The requests of one item; with `window`, one for each window of that many words."""
    before = (HISTORY.format("\n".join(item.history)),) if conditional else ()
    response = RESPONSE.format(item.response)
    documents = split_windows(item.document, window) if window else [item.document]
    return PmiRequests(
        tuple(Request((DOCUMENT.format(text), *before), response, shorten=0) for text in documents),
        # Nothing here should lose its end but the document; a history that is too long loses its beginning.
        Request(before, response, shorten=-1),
    )


def split_windows(document: str, words: int) -> list[str]:
    """Overlapping parts of `words` words: each begins in the middle of the one before, the last ends with the text."""
    spans = [match.span() for match in re.finditer(r"\S+", document)]
    if len(spans) <= words:
        return [document]
    starts = [*range(0, len(spans) - words, max(1, words // 2)), len(spans) - words]
    return [document[spans[start][0] : spans[start + words - 1][1]] for start in starts]


def measure(
    items: Sequence[Grounded], lm: Lm, *, conditional: bool = True, norm: Norm = "mean", window: int | None = None
) -> list[Faith]:
    """PMI-Faith of each item, or UPMI-Faith if it is not `conditional` on the history.

    Items of one document are asked together, so that a backend can read it once. Progress is in characters that the
    model reads, each document once.
    """
    questions = [build_requests(item, conditional=conditional, window=window) for item in items]
    faiths: list[Faith | None] = [None] * len(items)
    parts = list(_chunks([item.document for item in items]))
    sizes = [_size([questions[index] for index in part]) for part in parts]
    with bar("PMI-Faith") as progress:
        for number, part in enumerate(parts):
            requests = [request for index in part for request in (*questions[index].given, questions[index].alone)]
            answers = iter(lm.logprobs(requests))
            for index in part:
                with_document = [next(answers) for _ in questions[index].given]
                faiths[index] = _best_window(with_document, next(answers), norm)
            progress(sum(sizes[: number + 1]), sum(sizes))
    return [faith for faith in faiths if faith is not None]


def _chunks(documents: Sequence[str]) -> Iterator[list[int]]:
    """Indexes of items in chunks; items of one document stay together."""
    chunk: list[int] = []
    for same_document in group_indexes(documents):
        chunk += same_document
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _size(questions: Sequence[PmiRequests]) -> int:
    requests = [r for question in questions for r in (*question.given, question.alone)]
    documents = {r.context[0] for r in requests if r.shorten == 0}
    rest = sum(len(r.continuation) + sum(map(len, r.context[r.shorten + 1 :])) for r in requests)
    return rest + sum(map(len, documents))


def _best_window(given: Sequence[Continuation], alone: Continuation, norm: Norm) -> Faith:
    """The window that makes the response likeliest; the first of equals."""
    windows = [_faith(answer, alone, norm, number) for number, answer in enumerate(given)]
    return max(windows, key=lambda faith: -math.inf if faith.value is None else faith.value)


def _faith(given: Continuation, alone: Continuation, norm: Norm, window: int) -> Faith:
    same = given.tokens == alone.tokens  # a server tokenises the whole text, and may cut it differently
    others = alone.logprobs if same else [None] * len(given.tokens)
    tokens = tuple(Token(*each) for each in zip(given.tokens, given.logprobs, others, strict=True))
    if None in alone.logprobs[1:] or all(logprob is None for logprob in alone.logprobs):
        return Faith(None, None, None, tokens, given.dropped, window, TOO_LONG)
    if None in given.logprobs:
        return Faith(None, None, None, tokens, given.dropped, window, NO_ROOM)
    first, second = _normalise(given.logprobs, norm), _normalise(alone.logprobs, norm)
    if not math.isfinite(first - second):
        return Faith(None, None, None, tokens, given.dropped, window, NO_NUMBER)
    return Faith(first - second, first, second, tokens, given.dropped, window)


def _normalise(logprobs: Sequence[float | None], norm: Norm) -> float:
    scored = [logprob for logprob in logprobs if logprob is not None]
    return math.fsum(scored) / (len(scored) if norm == "mean" else 1)


PMI_FAITH = faithfulness(
    "pmi_faith", "PMI-Faith", "how much likelier the document makes the response, given the history: mean over tokens",
    needs=("lm",), compute=lambda models: PmiFaith(models.language_model),
)  # fmt: skip
PMI_FAITH_SUM: Metric = PMI_FAITH.derive(
    "pmi_faith_sum", title="PMI-Faith, sum", about="PMI-Faith as the formula is printed: sum over tokens",
    variant="sum", compute=lambda models: PmiFaith(models.language_model, norm="sum", metric=PMI_FAITH_SUM),
)  # fmt: skip
PMI_FAITH_WINDOWS: Metric = PMI_FAITH.derive(
    "pmi_faith_windows", title="PMI-Faith, windows", about="PMI-Faith by the best of a long document's windows",
    variant="windows", compute=lambda models: PmiFaith(models.language_model, window=WINDOW, metric=PMI_FAITH_WINDOWS),
)  # fmt: skip
UPMI_FAITH: Metric = PMI_FAITH.derive(
    "upmi_faith", title="UPMI-Faith", about="how much likelier the document makes the response: mean over tokens",
    variant="no history", compute=lambda models: PmiFaith(models.language_model, conditional=False, metric=UPMI_FAITH),
)  # fmt: skip


@dataclass(frozen=True)
class PmiFaith:
    """PMI-Faith by a language model; UPMI-Faith if it is not `conditional` on the history."""

    lm: Lm
    conditional: bool = True
    norm: Norm = "mean"
    window: int | None = None  # words of a window; None: the whole document
    metric: Metric = PMI_FAITH
    shortened: set[str] = field(default_factory=set, compare=False)  # ids of items whose document lost its end

    @property
    def recipe(self) -> dict[str, Any]:
        window = f"{self.window}-words-best" if self.window else "none"
        return {"lm": self.lm.name, "prompt": "authors", "norm": self.norm, "window": window}

    @property
    def remarks(self) -> Sequence[str]:
        return cut_remarks(self.shortened, "document", "the language model")

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        faiths = measure(items, self.lm, conditional=self.conditional, norm=self.norm, window=self.window)
        if self.window:
            self.shortened.update(item.id for item, faith in zip(items, faiths, strict=True) if faith.dropped)
        return [self._value(faith) for faith in faiths]

    def _value(self, faith: Faith) -> Value:
        if faith.value is None:
            return Unscored(faith.reason or NO_NUMBER)
        return Unscored(CUT) if faith.dropped and not self.window else faith.value
