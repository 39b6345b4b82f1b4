"""`contrast`: having read the document, would a language model rather say something else in the same place?

From no paper. Each sentence of the response is set against rivals, sentences that differ from it in a few words:

- another fact of the passage in the place of one of its facts (names, numbers, dates, times: `core.facts`),
- two of its facts, or of its phrases, exchanged,
- another quantifier or relation, as corruptions of answers make them (`perturb.answers`).

The passage are the windows of the document that share most words with the sentence (`evidence.py`). The margin of a
rival is log P(sentence | passage) − log P(rival | passage), sums over tokens, asked as PMI-Faith asks (`pmi.py`), without
the history. The value of a response is its lowest margin: above 0, the model prefers what is said to every rival; below
0, the document rather speaks for a rival, which `explain` names. The scale is the model's own: another language model,
another scale. A response without rivals has no value, with the reason.

What overlap and a small entailment model cannot see, a name or a number of the document in the wrong place, is what
this metric is made for. It does not see what is added, and a negation hardly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from troth.core.facts import Fact, agree, facts
from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.proper_names import name_words, names
from troth.core.records import Grounded
from troth.grounding.evidence import passages
from troth.grounding.metrics import Unscored, Value, faithfulness
from troth.grounding.pmi import DOCUMENT, RESPONSE
from troth.grounding.sentences import sentences
from troth.models import Lm, Request
from troth.perturb.answers import KINDS, Replacement, SupportedAnswer

WINDOW, WINDOWS = 3, 3  # sentences of a window, and how many windows are a passage
RIVALS = 6  # of one fact, those that stand first in the passage
MOST = 24  # rivals of a sentence
RULES = ("roles", "quantifier", "relation")  # corruptions of answers that are rivals
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

    @property
    def recipe(self) -> dict[str, Any]:
        return {"lm": self.lm.name, "prompt": "pmi", "windows": f"{WINDOWS}x{WINDOW}", "rivals": f"{RIVALS}/{MOST}",
                "rules": "+".join(RULES), "worst": "rival"}  # fmt: skip

    @property
    def remarks(self) -> Sequence[str]:
        return []

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        return [min(one.value for one in own) if own else Unscored(NO_RIVALS) for own in self.margins(items)]

    def explain(self, item: Grounded) -> list[str]:
        """The rivals that the language model prefers, the likeliest first; or the nearest one."""
        (found,) = self.margins([item])
        ordered = sorted(found, key=lambda one: one.value)
        better = [one for one in ordered if one.value < 0] or ordered[:1]
        return [_line(one) for one in better]

    def margins(self, items: Sequence[Grounded]) -> list[list[Margin]]:
        """The margins of each response's rivals; a rival for which the model has no number has none."""
        asked = [
            (place, passage, sentence, against)
            for place, item in enumerate(items)
            for passage, sentence in _sentences(item)
            if (against := rivals(passage, sentence))
        ]
        found: list[list[Margin]] = [[] for _ in items]
        with bar("contrast") as progress:
            for at in range(0, len(asked), CHUNK):
                part = asked[at : at + CHUNK]
                requests = [
                    Request((DOCUMENT.format(passage),), RESPONSE.format(text), shorten=0)
                    for _, passage, sentence, against in part
                    for text in (sentence, *(one.text for one in against))
                ]
                answers = iter(self.lm.logprobs(requests))
                for place, passage, _, against in part:
                    said, *others = (_total(next(answers).logprobs) for _ in range(1 + len(against)))
                    found[place] += [
                        Margin(said - other, rival, passage)
                        for rival, other in zip(against, others, strict=True)
                        if math.isfinite(said - other)
                    ]
                progress(min(at + CHUNK, len(asked)), len(asked))
        return found


def _sentences(item: Grounded) -> Iterator[tuple[str, str]]:
    """The sentences of a response that state something, each with its passage of the document."""
    known = passages(item.document)
    for sentence in sentences(item.response):
        if not sentence.endswith("?"):
            windows = known.best(sentence, WINDOW, WINDOWS)
            places = sorted({place for one in windows for place in range(one.start, one.start + one.size)})
            yield " ".join(known.sentences[place] for place in places if place < len(known.sentences)), sentence


def rivals(passage: str, sentence: str) -> list[Rival]:
    """Sentences that a passage could rather support, each once.

    >>> [one.text for one in rivals("Premium has 50 seats, Free has 5 seats.", "The Free plan has 50 seats.")]
    ['The Premium plan has 50 seats.', 'The Free plan has 5 seats.']
    """
    own = sorted([*facts(sentence), *names(sentence, name_words(passage))], key=lambda fact: fact.start)
    others = sorted([*facts(passage), *names(passage, name_words(sentence))], key=lambda fact: fact.start)
    made: dict[str, Rival] = {}
    for one in (*_others(passage, sentence, own, others), *_exchanged(sentence, own), *_by_rules(passage, sentence)):
        if one.text.lower() != sentence.lower():
            made.setdefault(one.text.lower(), one)
    return list(made.values())[:MOST]


def _others(passage: str, sentence: str, own: Sequence[Fact], others: Sequence[Fact]) -> Iterator[Rival]:
    """Each fact of a sentence in the place of which another of the passage can stand."""
    for said in own:
        old, seen = sentence[said.start : said.end], set[str]()
        for other in others:
            new = passage[other.start : other.end]
            known = any(agree(other, mine) or agree(mine, other) for mine in own)
            if known or not _alike(said, other) or new.lower() in sentence.lower() or new.lower() in seen:
                continue
            seen.add(new.lower())
            yield Rival(sentence[: said.start] + new + sentence[said.end :], said.kind, old, new)
            if len(seen) == RIVALS:
                break


def _alike(said: Fact, other: Fact) -> bool:
    if said.kind == "name" and other.kind == "name":
        return set(said.value.split()).isdisjoint(other.value.split())
    return said.kind == other.kind and (not said.unit or not other.unit or said.unit == other.unit)


def _exchanged(sentence: str, own: Sequence[Fact]) -> Iterator[Rival]:
    """Two facts of a sentence, each in the place of the other, where they are not parts of one list."""
    for number, first in enumerate(own):
        for second in own[number + 1 :]:
            one, two = sentence[first.start : first.end], sentence[second.start : second.end]
            between = sentence[first.end : second.start]
            if second.start >= first.end and _alike(first, second) and not _LIST.fullmatch(between):
                text = sentence[: first.start] + two + between + one + sentence[second.end :]
                yield Rival(text, "roles", f"{one} … {two}", f"{two} … {one}")


def _by_rules(passage: str, sentence: str) -> Iterator[Rival]:
    answer = SupportedAnswer(passage, sentence)
    for kind in RULES:
        for way in KINDS.load(kind).ways(answer):
            text, said, instead = _replaced(sentence, way)
            yield Rival(text, kind, said, instead)


def _replaced(sentence: str, way: Sequence[Replacement]) -> tuple[str, str, str]:
    """A sentence after replacements; what stood there, and what stands there now."""
    text, ordered = sentence, sorted(way)
    for one in reversed(ordered):
        text = text[: one.start] + one.text + text[one.end :]
    said = [sentence[one.start : one.end] for one in ordered]
    return text, " … ".join(said), " … ".join(one.text for one in ordered)


def _total(logprobs: Sequence[float | None]) -> float:
    """The log-probability of a text; NaN where the model does not know all of it."""
    return math.nan if None in logprobs else math.fsum(one for one in logprobs if one is not None)


def _line(one: Margin) -> str:
    if one.value < 0:
        verdict = f"the document rather speaks for “{one.rival.instead}” ({-one.value:.1f})"
    else:
        verdict = f"likelier than “{one.rival.instead}” ({one.value:.1f})"
    return f"“{one.rival.said}”: {verdict}: {one.passage}"
