"""`facts`: does the document have the response's names, numbers, dates and times where it speaks of the same thing?

From no paper; no model is asked. Each fact of the response is looked up in the windows of the document that share most
words with the rest of its sentence (`evidence`), in a normal form (`text.facts`): two is 2, 5pm is 17:00, March 1st
agrees with 2019-03-01. A name is found if the window has all its words, or its initials. The value is the mean over the
response's facts: 1 for one that is found, one half for one that stands elsewhere in the document, 0 for one that does
not. A response without facts has no value, with the reason.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.evidence import passages
from troth.grounding.metrics import Unscored, Value, faithfulness, plain_texts
from troth.text.facts import Fact, fact_index, find_facts
from troth.text.proper_names import find_names, name_words
from troth.text.sentences import locate_sentences
from troth.text.word_index import LONGEST_ACRONYM, word_index
from troth.text.words import stem

WINDOW = 3  # sentences of the document in which a fact is looked up
WINDOWS = 2  # of them, the best
ELSEWHERE = 0.5  # for a fact that another part of the document has
FARTHEST = 2000  # characters of a sentence on each side of a fact that choose the windows
CHUNK = 256  # responses between two steps of the progress bar
_SMALL = frozenset(("the", "of", "and", "for"))
_ONE = frozenset(("one", "a", "an", "single"))
NO_FACTS = "the response has no name, number, date or time"

FACTS = faithfulness(
    "facts", "Facts", "share of the response's names, numbers, dates and times that the document has in the same place",
    needs=(), compute=lambda _: FactCheck(), top=1.0,
)  # fmt: skip


class CheckedFact(msgspec.Struct, frozen=True):
    """A fact of a response, where it stands there, and the passage of the document that has it."""

    kind: str
    text: str
    start: int
    end: int
    found: bool
    passage: str  # where it was looked up
    elsewhere: bool = False  # not found there, but somewhere else in the document

    @property
    def credit(self) -> float:
        return 1.0 if self.found else ELSEWHERE if self.elsewhere else 0.0

    def line(self) -> str:
        """The fact as `--explain` shows it."""
        where = "found in" if self.found else "elsewhere in the document, not in" if self.elsewhere else "not in"
        return f"{self.kind} {self.text}: {where}: {self.passage}"


def check_facts(document: str, response: str) -> list[CheckedFact]:
    """Every fact of a response, in order, with whether the document's best window has it.

    >>> document = "The premium plan has 50 seats. It costs $20 a month. Support is free. The free plan has five seats."
    >>> [(fact.text, fact.found) for fact in check_facts(document, "The free plan has 5 seats for 30 days.")]
    [('5', True), ('30 days', False)]
    """
    known = passages(document)
    facts: list[CheckedFact] = []
    best: dict[str, list[str]] = {}  # windows by what they were chosen for: texts repeat themselves
    for start, sentence in locate_sentences(response):
        for fact in sentence_facts(sentence, document):
            before, after = sentence[max(0, fact.start - FARTHEST) : fact.start], sentence[fact.end :][:FARTHEST]
            rest = f"{before} {after}"  # a fact must not choose where it is looked up
            if rest not in best:
                best[rest] = [window.text for window in known.best(rest, WINDOW, WINDOWS)]
            windows = best[rest]
            passage = next((text for text in windows if _has(text, fact, sentence)), None)
            elsewhere = passage is None and _has(document, fact, sentence)
            facts.append(
                CheckedFact(
                    fact.kind, sentence[fact.start : fact.end], start + fact.start, start + fact.end,
                    passage is not None, passage or (windows[0] if windows else ""), elsewhere,
                )
            )  # fmt: skip
    return facts


def sentence_facts(sentence: str, document: str) -> list[Fact]:
    """The facts of a sentence in order; a number inside a name belongs to the name."""
    named = find_names(sentence, name_words(document))
    ends = [0, *(name.end for name in named)]  # of the last name that starts at a fact or before it
    starts = [name.start for name in named]
    counted = [fact for fact in find_facts(sentence) if fact.end > ends[bisect_right(starts, fact.start)]]
    return sorted((*counted, *named), key=lambda fact: fact.start)


def _has(passage: str, fact: Fact, sentence: str) -> bool:
    """Whether a passage has a fact, in any way of writing it."""
    if fact.kind == "name":
        return _has_name(passage, sentence[fact.start : fact.end])
    known = fact_index(passage)
    if known.has(fact):
        return True
    if fact.kind == "date" and fact.value.count("-") == 2:  # its year may stand apart from its day
        year, _, day = fact.value.partition("-")
        parts = [Fact("date", f"*-{day}", 0, 0), Fact("date", f"{year}-*-*", 0, 0)]
        return "*" not in (year, day) and all(map(known.has, parts))
    one = fact.value == "1" and not _ONE.isdisjoint(word_index(passage).lower)
    if one or fact.kind != "number" or fact.unit or len(fact.value) < 2:
        return one
    return fact.value in word_index(passage).codes


def _has_name(passage: str, name: str) -> bool:
    words = [word for word in re.findall(r"\w+", name.lower()) if len(word) > 1 and word not in _SMALL]
    known = word_index(passage)
    if all(stem(word) in known.stems for word in words):
        return True
    initials = "".join(word[0] for word in re.findall(r"\w+", name) if word[0].isupper())
    if len(initials) > 2 and initials in known.words:
        return True
    letters = name.replace(".", "")
    return letters.isupper() and 2 <= len(letters) <= LONGEST_ACRONYM and letters in known.acronyms


@dataclass(frozen=True)
class FactCheck:
    """Looks up the facts of each response in its document."""

    metric: Metric = FACTS
    remarks: tuple[str, ...] = ()

    @property
    def recipe(self) -> dict[str, int | str]:
        return {"window": WINDOW, "best": WINDOWS, "elsewhere": f"{ELSEWHERE:g}"}

    def explain(self, item: Grounded) -> list[str]:
        """Each fact of a response, found or not, and where."""
        (item,) = plain_texts([item])
        return [fact.line() for fact in check_facts(item.document, item.response)]

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        values: list[Value] = []
        with bar(self.metric.name) as progress:
            for item in plain_texts(items):
                facts = check_facts(item.document, item.response)
                values.append(sum(fact.credit for fact in facts) / len(facts) if facts else Unscored(NO_FACTS))
                if len(values) % CHUNK == 0 or len(values) == len(items):
                    progress(len(values), len(items))
        return values
