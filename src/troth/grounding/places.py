"""Does a fact stand where the document has it? Names, numbers and dates of the document, put in each other's place.

"Premium has 50 seats, free has 5" does not support "free has 50 seats", though it has every word of it. Each fact of
the claim is compared with the facts of its kind in the document by the words around them: near words count more, words
on the other side count half, and a word counts less the more sentences of the document have it. Where another fact has
the words of the claim around it, and the claim's own fact has not, the claim's fact is out of place. Rules alone, no
model. Settings were tried on supported answers of BEGIN, FaithDial's audit, WiCE, FM2, COVID-Fact and Climate-FEVER
against the same with facts exchanged. By itself it says next to nothing about other faults, nor about paraphrases.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from troth.core.text_cache import text_cache
from troth.grounding.evidence import passages
from troth.grounding.facts import sentence_facts
from troth.text.facts import Fact, agree, date_shape
from troth.text.lexicon import word_set
from troth.text.words import stem

NEAR = 3  # words after which the weight of a word around a fact has fallen to a third
OTHER_SIDE = 0.5  # weight of a word that stands after the fact here and before it there
COMMON_WEIGHT = 0.3
LITTLE = 0.2  # shared words that are as good as none
MISPLACED = -0.18  # a fact with a lower fit counts as out of place
FARTHEST = 12  # words on each side that are looked at
SENTENCES = 20  # of the document, those that share most with the claim
MOST = 40  # facts of a sentence that are looked at: tables have hundreds

_WORD = re.compile(r"\w+")

Around = dict[tuple[str, bool], float]  # words around a fact and whether they stand before it, to their weights


class PlacedFact(NamedTuple):
    """A fact of a claim, how well its place fits (below 0: another fact's fits better), and that other fact."""

    text: str
    start: int
    end: int
    fit: float
    other: str


class _Known(NamedTuple):
    fact: Fact
    text: str
    around: Around


def rate_places(document: str, claim: str) -> list[PlacedFact]:
    """The facts of a claim that the document also has, if it has other facts of the same kind.

    >>> document = "The premium plan has 50 seats. The free plan has 5 seats."
    >>> [(fact.text, fact.fit < 0, fact.other) for fact in rate_places(document, "The free plan has 50 seats.")]
    [('50', True, '5')]
    """
    facts = sentence_facts(claim, document)[:MOST]
    near = [window.text for window in passages(document).best(claim, 1, SENTENCES)] if facts else []
    known = [fact for sentence in near for fact in _document_facts(document, sentence)]
    rated = []
    for fact in facts:
        alike = [rival for rival in known if _is_alike(fact, rival.fact)]
        same = [rival for rival in alike if _is_same(fact, rival.fact)]
        others = [rival for rival in alike if not _is_same(fact, rival.fact)]
        if not same or not others:
            continue
        around = _weigh_context(document, claim, fact)
        whole = _shared_weight(around, around) or 1.0
        mine = max(_shared_weight(around, rival.around) for rival in same) / whole
        other = max(others, key=lambda rival: _shared_weight(around, rival.around))
        theirs = _shared_weight(around, other.around) / whole
        fit = (mine - theirs) / math.sqrt(mine + theirs + LITTLE)
        rated.append(PlacedFact(claim[fact.start : fact.end], fact.start, fact.end, fit, other.text))
    return rated


def misplaced_facts(document: str, claim: str) -> list[PlacedFact]:
    """The facts of a claim that stand where the document has another fact."""
    return [fact for fact in rate_places(document, claim) if fact.fit < MISPLACED]


@text_cache
def _document_facts(document: str, sentence: str) -> list[_Known]:
    """The facts of a sentence of a document with the words around them."""
    return [
        _Known(fact, sentence[fact.start : fact.end], _weigh_context(document, sentence, fact))
        for fact in sentence_facts(sentence, document)[:MOST]
    ]


def _weigh_context(document: str, sentence: str, fact: Fact) -> Around:
    known, common = passages(document), word_set("stop_words")
    before = [match[0].lower() for match in _WORD.finditer(sentence, 0, fact.start)]
    after = [match[0].lower() for match in _WORD.finditer(sentence, fact.end)]
    around: Around = {}
    for first, words in ((True, before[::-1]), (False, after)):
        for distance, word in enumerate(words[:FARTHEST]):
            weight = math.exp(-distance / NEAR) * known.rarity(stem(word))
            key = stem(word), first
            around[key] = max(around.get(key, 0.0), weight * COMMON_WEIGHT if word in common else weight)
    return around


def _shared_weight(claim: Around, known: Around) -> float:
    return math.fsum(
        weight * max(known.get((word, first), 0.0), OTHER_SIDE * known.get((word, not first), 0.0))
        for (word, first), weight in claim.items()
    )


def _is_alike(fact: Fact, other: Fact) -> bool:
    """Whether one could stand in the other's place: a number for a number of the same unit, a year for a year."""
    if fact.kind != other.kind or fact.unit != other.unit:
        return False
    return fact.kind != "date" or date_shape(fact.value) == date_shape(other.value)


def _is_same(fact: Fact, other: Fact) -> bool:
    if fact.kind == "name":  # Obama and Barack Obama, but not John Adams and John Smith
        first, second = set(fact.value.split()), set(other.value.split())
        return first <= second or second <= first
    return agree(fact, other) or agree(other, fact)
