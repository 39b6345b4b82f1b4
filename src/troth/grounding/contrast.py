"""`contrast`: having read the document, would a language model rather say something else in the same place?

From no paper. Each sentence of the response is set against rivals, sentences that differ from it in a few words, as
corruptions of answers make them (`perturb.answers`): a name, a number, a date of the passage in the place of another,
roles exchanged, another unit or quantifier, a negation more or less. The passage are the windows of the document that
share most words with the sentence (`evidence.py`). The margin of a rival is

    log P(sentence | passage) − log P(rival | passage)

summed over tokens and asked as PMI-Faith asks (`pmi.py`), without the history. The value of a response is its lowest
margin: above 0, the model prefers what is said to every rival; below 0, the document rather speaks for a rival, which
`explain` names. Another language model has another scale. A response without rivals has no value, with the reason.

What overlap and a small entailment model do not see, the document's own words put together wrongly, is what this metric
is for. It does not see what is merely added.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.evidence import passages
from troth.grounding.metrics import Unscored, Value, faithfulness, plain_texts
from troth.grounding.pmi import DOCUMENT, RESPONSE
from troth.models import Lm, Request
from troth.perturb.answers import KINDS, Replacement, SupportedAnswer
from troth.text.facts import Fact, agree, find_facts
from troth.text.proper_names import find_names, name_words
from troth.text.sentences import split_sentences

WINDOW, WINDOWS = 3, 3  # sentences of a window, and how many windows are a passage
RULES = ("unit", "roles", "quantifier", "negation")  # corruptions of answers that are rivals, beside exchanged facts
OTHERS = 6  # facts of the passage in the place of one, those that stand first
EACH = 24  # rivals of a rule
CHUNK = 64  # sentences asked together
NO_RIVALS = "the document has nothing that could stand in the place of a fact of the response"
NO_NUMBER = "the language model gives no finite probability"

CONTRAST: Metric = faithfulness(
    "contrast", "Contrast", "how much likelier the response is than the same with a fact of the document exchanged",
    needs=("lm",), compute=lambda models: Contrast(models.language_model),
)  # fmt: skip

_LIST = re.compile(r"[\s,&]*(?:and|or|to|–|-)?[\s,]*")


class Rival(NamedTuple):
    """A sentence that says something else: its text, the rule that made it, what is said, and what the rival says."""

    text: str
    kind: str
    said: str
    instead: str


class Margin(NamedTuple):
    """How much likelier a sentence is than a rival, in nats."""

    value: float
    rival: Rival
    passage: str


@dataclass(frozen=True)
class Contrast:
    """The metric, and the margins that it rests on."""

    lm: Lm
    metric: Metric = CONTRAST
    remarks: tuple[str, ...] = ()

    @property
    def recipe(self) -> dict[str, Any]:
        return {"lm": self.lm.name, "prompt": "pmi", "windows": f"{WINDOWS}x{WINDOW}", "rivals": f"{OTHERS}/{EACH}",
                "rules": "+".join(("fact", *RULES)), "worst": "rival"}  # fmt: skip

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        pairs = zip(items, self.margins(items), strict=True)
        return [min(m.value for m in margins) if margins else _explain_unscored(item) for item, margins in pairs]

    def explain(self, item: Grounded) -> list[str]:
        """The rivals that the language model prefers, the likeliest first; or the nearest one."""
        (margins,) = self.margins([item])
        ordered = sorted(margins, key=lambda margin: margin.value)
        better = [margin for margin in ordered if margin.value < 0] or ordered[:1]
        return [_format_margin(margin) for margin in better]

    def margins(self, items: Sequence[Grounded]) -> list[list[Margin]]:
        """The margins of each response's rivals; a rival for which the model has no number has no margin."""
        asked = [
            (index, passage, sentence, against)
            for index, item in enumerate(plain_texts(items))
            for passage, sentence in _statements(item)
            if (against := make_rivals(passage, sentence))
        ]
        by_item: list[list[Margin]] = [[] for _ in items]
        with bar("contrast") as progress:
            for at in range(0, len(asked), CHUNK):
                part = asked[at : at + CHUNK]
                requests = [
                    Request((DOCUMENT.format(passage),), RESPONSE.format(text), shorten=0)
                    for _, passage, sentence, against in part
                    for text in (sentence, *(other_rival.text for other_rival in against))
                ]
                answers = iter(self.lm.logprobs(requests))
                for index, passage, _, against in part:
                    logprob, *others = (_sum_logprobs(next(answers).logprobs) for _ in range(1 + len(against)))
                    by_item[index] += [
                        Margin(logprob - other, rival, passage)
                        for rival, other in zip(against, others, strict=True)
                        if math.isfinite(logprob - other)
                    ]
                progress(min(at + CHUNK, len(asked)), len(asked))
        return by_item


def _explain_unscored(item: Grounded) -> Unscored:
    asked = any(make_rivals(passage, sentence) for passage, sentence in _statements(item))
    return Unscored(NO_NUMBER if asked else NO_RIVALS)


def _statements(item: Grounded) -> Iterator[tuple[str, str]]:
    """The sentences of a response that state something, each with its passage of the document."""
    known = passages(item.document)
    for sentence in split_sentences(item.response):
        if not sentence.endswith("?"):
            windows = known.best(sentence, WINDOW, WINDOWS)
            numbers = sorted({n for window in windows for n in range(window.start, window.start + window.size)})
            yield " ".join(known.sentences[n] for n in numbers if n < len(known.sentences)), sentence


def make_rivals(passage: str, sentence: str) -> list[Rival]:
    """Changed versions of a sentence that the passage might support instead, without repetitions.

    >>> passage = "The pool opens at 9 am and closes at 5 pm."
    >>> [rival.text for rival in make_rivals(passage, "The pool opens at 5 pm.")]
    ['The pool opens at 9 am.', 'The pool does not open at 5 pm.']
    """
    answer, by_text = SupportedAnswer(passage, sentence), dict[str, Rival]()
    ways = {kind: KINDS.load(kind).ways(answer) for kind in RULES}
    for kind, replacements in (("fact", _exchange_facts(answer)), *ways.items()):
        for way in itertools.islice(replacements, EACH):
            rival = _make_rival(sentence, kind, way)
            if rival.text.lower() != sentence.lower():
                by_text.setdefault(rival.text.lower(), rival)
    return list(by_text.values())


def _exchange_facts(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Another fact of the passage in the place of each fact of the sentence; two facts of the sentence exchanged.

    Looser than corruptions, which must be fluent and false: here the language model weighs what fits.
    """
    own = sorted(
        [*find_facts(answer.text), *find_names(answer.text, name_words(answer.document))], key=lambda fact: fact.start
    )
    foreign = [
        fact for fact in answer.document_facts if not any(agree(fact, mine) or agree(mine, fact) for mine in own)
    ]
    for number, said in enumerate(own):
        others = dict.fromkeys(answer.document[fact.start : fact.end] for fact in foreign if _is_alike(said, fact))
        for other in itertools.islice(others, OTHERS):
            yield [Replacement(said.start, said.end, other)]
        for second in own[number + 1 :]:
            between = answer.text[said.end : second.start]
            if second.start >= said.end and _is_alike(said, second) and not _LIST.fullmatch(between):
                texts = answer.text[said.start : said.end], answer.text[second.start : second.end]
                yield [Replacement(said.start, said.end, texts[1]), Replacement(second.start, second.end, texts[0])]


def _is_alike(said: Fact, other: Fact) -> bool:
    """Whether one fact can stand in the place of another: names without a common word, amounts in one unit."""
    if said.kind == "name" and other.kind == "name":
        return set(said.value.split()).isdisjoint(other.value.split())
    return said.kind == other.kind and (not said.unit or not other.unit or said.unit == other.unit)


def _make_rival(sentence: str, kind: str, way: Sequence[Replacement]) -> Rival:
    text, ordered = sentence, sorted(way)
    for replacement in reversed(ordered):
        text = text[: replacement.start] + replacement.text + text[replacement.end :]
    said = [sentence[replacement.start : replacement.end] for replacement in ordered]
    return Rival(text, kind, " … ".join(said), " … ".join(replacement.text for replacement in ordered))


def _sum_logprobs(logprobs: Sequence[float | None]) -> float:
    """The log-probability of a text; NaN where the model does not know all of it."""
    return math.nan if None in logprobs else math.fsum(logprob for logprob in logprobs if logprob is not None)


def _format_margin(margin: Margin) -> str:
    """A margin for a reader; a rival that only adds or leaves out words is shown whole."""
    said, instead = margin.rival.said.strip(), margin.rival.instead.strip()
    rival = instead if said and instead else margin.rival.text
    if margin.value < 0:
        verdict = f"the document rather speaks for “{rival}” ({-margin.value:.1f})"
    else:
        verdict = f"likelier than “{rival}” ({margin.value:.1f})"
    return f"{f'“{said}”: ' if said and instead else ''}{verdict}: {margin.passage}"
