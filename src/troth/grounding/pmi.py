"""PMI-Faith and UPMI-Faith (PMI-Faith, section 4.1): how much likelier does its document make a response?

    PMI-Faith  = log P(r | d, h) − log P(r | h)
    UPMI-Faith = log P(r | d)    − log P(r)

as the authors' code computes them, by any language model of `backends`:

- The pieces `Document: {d}\\n\\n`, `{h}.\\n` and `Agent: {r}.` are tokenised apart. `Agent:` and the last full stop are
  scored with the response. Turns of the history stand on a line each, which the authors, whose data has one turn, leave
  open; no history at all is `.\\n`.
- Means per token of the response (`norm:mean`). `norm:sum` is the formula as printed.
- Without a document and a history the first token has nothing before it and is not scored: the second term of
  UPMI-Faith is a mean over one token less than the first.

Differences: where all is longer than the model reads, the authors give NaN; here the document loses its end, and such
responses are counted in `shortened`; where nothing is left of it, there is no number. For long documents there is also
the best of overlapping windows (`window:…`).

`measure` has the parts of the number, token by token; `words` says which words of the response the document supports.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from troth.core.records import Grounded
from troth.grounding.metrics import Models, Progress, Unscored, Value
from troth.models import Continuation, Lm, Request

DOCUMENT, HISTORY, RESPONSE = "Document: {}\n\n", "{}.\n", "Agent: {}."
BEFORE = RESPONSE.index("{}")  # characters of the scored text that stand before the response

Norm = Literal["mean", "sum"]
Support = Literal["supported", "unsupported", "free"]

CHUNK = 4096  # responses asked together; documents are not torn apart
WINDOW = 128  # words of a window, for the metric that has windows
LIKELIER = math.log(2)  # a word is supported where the document makes it at least twice as likely
UNLIKELY = math.log(0.1)  # and unsupported where it does not, and the word is no more likely than this even so

TOO_LONG = "history and response are longer than the language model reads"
NO_ROOM = "the language model cannot read document, history and response together"
NO_NUMBER = "the language model gives no finite probability"


class Token(msgspec.Struct, frozen=True):
    """A token of the scored text, with its log-probabilities; None where it has none."""

    text: str
    given: float | None  # with the document
    alone: float | None  # without

    @property
    def ratio(self) -> float | None:
        return None if self.given is None or self.alone is None else self.given - self.alone


class Word(msgspec.Struct, frozen=True):
    """A word of the response. Its log-probability is the sum of its tokens'."""

    text: str
    given: float | None
    ratio: float | None
    support: Support


class Faith(msgspec.Struct, frozen=True):
    """PMI-Faith of one response, and what it is made of. `value` is None with a reason."""

    value: float | None
    given: float | None  # log P(r | d, h), mean or sum
    alone: float | None  # log P(r | h)
    tokens: tuple[Token, ...]
    dropped: int = 0  # tokens of the document that the model did not get to see
    window: int = 0  # which window of the document won
    reason: str | None = None


class Asked(NamedTuple):
    """What an item asks of the model: one request a window of its document, and one without a document."""

    given: tuple[Request, ...]
    alone: Request


# -- asking ------------------------------------------------------------------------------------------------------------


def asked(item: Grounded, *, conditional: bool = True, window: int | None = None) -> Asked:
    before = (HISTORY.format("\n".join(item.history)),) if conditional else ()
    said = RESPONSE.format(item.response)
    documents = windows(item.document, window) if window else [item.document]
    return Asked(
        tuple(Request((DOCUMENT.format(text), *before), said, shorten=0) for text in documents),
        # Nothing here should lose its end but the document; a history that is too long loses its beginning.
        Request(before, said, shorten=-1),
    )


def windows(document: str, words: int) -> list[str]:
    """Parts of so many words, each beginning in the middle of the one before; the last one ends where the text does."""
    spans = [match.span() for match in re.finditer(r"\S+", document)]
    if len(spans) <= words:
        return [document]
    starts = [*range(0, len(spans) - words, max(1, words // 2)), len(spans) - words]
    return [document[spans[start][0] : spans[start + words - 1][1]] for start in starts]


def measure(
    items: Sequence[Grounded],
    lm: Lm,
    *,
    conditional: bool = True,
    norm: Norm = "mean",
    window: int | None = None,
    progress: Progress | None = None,
) -> list[Faith]:
    """PMI-Faith of each item, or UPMI-Faith if it is not `conditional` on the history.

    Items of one document are asked together, so that a backend can read it once. Progress is in characters that the
    model has to read, each document once.
    """
    questions = [asked(item, conditional=conditional, window=window) for item in items]
    found: list[Faith | None] = [None] * len(items)
    parts = list(_chunks([item.document for item in items]))
    sizes = [_size([questions[place] for place in part]) for part in parts]
    for number, part in enumerate(parts):
        requests = [one for place in part for one in (*questions[place].given, questions[place].alone)]
        answers = iter(lm.logprobs(requests))
        for place in part:
            given = [next(answers) for _ in questions[place].given]
            found[place] = _best(given, next(answers), norm)
        if progress is not None:
            progress(sum(sizes[: number + 1]), sum(sizes))
    return [one for one in found if one is not None]


def _chunks(documents: Sequence[str]) -> Iterator[list[int]]:
    """Places of items, those of one document together, some thousand at a time."""
    first: dict[str, int] = {}
    for place, document in enumerate(documents):
        first.setdefault(document, place)
    order = sorted(range(len(documents)), key=lambda place: first[documents[place]])
    chunk: list[int] = []
    for _, same in itertools.groupby(order, key=lambda place: first[documents[place]]):
        chunk += same
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _size(questions: Sequence[Asked]) -> int:
    requests = [one for question in questions for one in (*question.given, question.alone)]
    documents = {one.context[0] for one in requests if one.shorten == 0}
    rest = sum(len(one.continuation) + sum(map(len, one.context[one.shorten + 1 :])) for one in requests)
    return rest + sum(map(len, documents))


def _best(given: Sequence[Continuation], alone: Continuation, norm: Norm) -> Faith:
    """The window that makes the response likeliest; the first of equals."""
    made = [_faith(one, alone, norm, number) for number, one in enumerate(given)]
    return max(made, key=lambda one: -math.inf if one.value is None else one.value)


def _faith(given: Continuation, alone: Continuation, norm: Norm, window: int) -> Faith:
    same = given.tokens == alone.tokens  # a server, which tokenises the whole text, may cut it otherwise
    others = alone.logprobs if same else [None] * len(given.tokens)
    tokens = tuple(Token(*each) for each in zip(given.tokens, given.logprobs, others, strict=True))
    if None in alone.logprobs[1:] or all(one is None for one in alone.logprobs):
        return Faith(None, None, None, tokens, given.dropped, window, TOO_LONG)
    if None in given.logprobs:
        return Faith(None, None, None, tokens, given.dropped, window, NO_ROOM)
    first, second = _normed(given.logprobs, norm), _normed(alone.logprobs, norm)
    if not math.isfinite(first - second):
        return Faith(None, None, None, tokens, given.dropped, window, NO_NUMBER)
    return Faith(first - second, first, second, tokens, given.dropped, window)


def _normed(logprobs: Sequence[float | None], norm: Norm) -> float:
    scored = [one for one in logprobs if one is not None]
    return math.fsum(scored) / (len(scored) if norm == "mean" else 1)


# -- words -------------------------------------------------------------------------------------------------------------


def words(response: str, faith: Faith) -> list[Word]:
    """The words of the response, each with what the document does for it.

    Supported: the document makes it at least twice as likely. Unsupported: it does not, and the word is no more likely
    than one in ten even so. All else is free: what language itself leads to ("the", "of", a full stop).
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
    return [_word(response[start:end], own) for (start, end), own in zip(bounds, tokens, strict=True)]


def _word(text: str, tokens: Sequence[Token]) -> Word:
    given = [token.given for token in tokens if token.given is not None]
    ratios = [token.ratio for token in tokens if token.ratio is not None]
    if not tokens or len(given) < len(tokens) or len(ratios) < len(tokens):
        return Word(text, None, None, "free")
    likely, ratio = math.fsum(given), math.fsum(ratios)
    support: Support = "supported" if ratio >= LIKELIER else "unsupported" if likely <= UNLIKELY else "free"
    return Word(text, likely, ratio, support)


# -- the metrics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PmiFaith:
    """A metric of grounded responses."""

    lm: Lm
    conditional: bool = True
    norm: Norm = "mean"
    window: int | None = None
    name: str = "pmi_faith"
    shortened: set[str] = field(default_factory=set, compare=False)  # ids of items whose document lost its end

    @property
    def recipe(self) -> str:
        windowed = f"{self.window}-words-best" if self.window else "none"
        return f"lm:{self.lm.name}|prompt:authors|norm:{self.norm}|window:{windowed}"

    @property
    def remarks(self) -> Sequence[str]:
        if not self.shortened:
            return []
        return [f"{len(self.shortened)} documents were longer than the language model reads, and lost their end"]

    def measure(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Faith]:
        found = measure(
            items, self.lm, conditional=self.conditional, norm=self.norm, window=self.window, progress=progress
        )
        self.shortened.update(item.id for item, one in zip(items, found, strict=True) if one.dropped)
        return found

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        found = self.measure(items, progress=progress)
        return [one.value if one.value is not None else Unscored(one.reason or NO_NUMBER) for one in found]


def pmi_faith(models: Models) -> PmiFaith:
    """How much likelier the document makes the response, given what was said before; mean per token."""
    return PmiFaith(models.lm)


def pmi_faith_sum(models: Models) -> PmiFaith:
    """The same as the formula is printed: a sum over tokens."""
    return PmiFaith(models.lm, norm="sum", name="pmi_faith_sum")


def pmi_faith_windows(models: Models) -> PmiFaith:
    """The same for long documents: the best of overlapping windows."""
    return PmiFaith(models.lm, window=WINDOW, name="pmi_faith_windows")


def upmi_faith(models: Models) -> PmiFaith:
    """How much likelier the document makes the response, whatever was said before."""
    return PmiFaith(models.lm, conditional=False, name="upmi_faith")
