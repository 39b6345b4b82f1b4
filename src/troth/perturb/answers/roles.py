"""Exchanges two participants of a statement: agent and patient, origin and destination."""

from __future__ import annotations

import re
from collections.abc import Iterator

from troth.perturb.answers import AnswerSentence, CorruptionKind, Replacement, SupportedAnswer
from troth.perturb.answers.lexicon import answer_words, verb_forms
from troth.perturb.answers.swaps import is_range, name_type, word_before
from troth.text.facts import Fact

_NOUNS = (
    r"(?:the |a |an |its |their |his |her |most |many |some )?[\w'’-]+(?: (?!(?:than|that|and|or|by)\b)[\w'’-]+){0,2}"
)
_THAN = re.compile(
    rf"^(?P<first>{_NOUNS}) (?:is|are|was|were|has|have|had|costs?|weighs?|grows?|runs?)\b[^,.;]*? than "
    rf"(?P<second>{_NOUNS})(?=\s*[.,;!]|$)",
    re.IGNORECASE,
)
_BY = re.compile(
    rf"^(?P<first>{_NOUNS}) (?:is|are|was|were|has been|have been)(?: \w+ly| also)? \w+(?:ed|en|wn|ung|ade|uilt) by "
    rf"(?P<second>{_NOUNS})(?=\s*[.,;!]|$)",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"\bfrom (?P<first>[\w$€£.,'’-]+(?: \w+)?) to (?P<second>[\w$€£'’-]+(?:[.,]\d+)*)", re.IGNORECASE)
_PRONOUNS = frozenset(("i", "it", "he", "she", "they", "we", "you", "this", "that", "there", "these", "those", "which",
                       "who", "what", "its", "one", "other", "any", "ever", "before"))  # fmt: skip


def exchange_roles(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Exchanges pairs of names, or of phrases around `than` or `from … to`, if that changes the meaning."""
    for sentence in answer.sentences:
        yield from _names(answer, sentence)
        yield from _phrases(sentence)


def _names(answer: SupportedAnswer, sentence: AnswerSentence) -> Iterator[list[Replacement]]:
    inside = [fact for fact in answer.facts if sentence.start <= fact.start < sentence.end]
    for index, first in enumerate(inside):
        for second in inside[index + 1 :]:
            if second.kind != first.kind or first.value == second.value or first.unit != second.unit:
                continue
            if first.kind == "name" and not _has_roles(answer, first, second):
                continue
            if first.kind != "name" and not _has_owners(answer, first, second):
                continue
            yield _swap(answer.text, (first.start, first.end), (second.start, second.end))


def _has_roles(answer: SupportedAnswer, first: Fact, second: Fact) -> bool:
    """Whether a verb or a preposition between two names makes their order matter."""
    between = re.findall(r"[\w'’-]+", answer.text[first.end : second.start].lower())
    if not between or not set(between).isdisjoint(answer_words("symmetric")) or len(between) > 12:
        return False
    if not set(first.value.split()).isdisjoint(second.value.split()):
        return False
    verb = between[0] in verb_forms() and len(between) <= 3 and answer_words("places").isdisjoint(between)
    passive = between[0] in ("is", "was", "were", "are") and between[-1] == "by" and len(between) <= 4
    quoted = any(mark in answer.text[first.start - 1 : second.end + 1] for mark in '"“”()') if first.start else False
    articles = len({word_before(answer.text, fact) == "the" for fact in (first, second)}) > 1
    inner = word_before(answer.text, first) in answer_words("places") | {"of"}
    if quoted or articles or inner or verb or passive:
        return not quoted and not articles and not inner
    if name_type(answer, first.value) != name_type(answer, second.value):
        return False
    acts = any(word in verb_forms() or word.endswith("ed") for word in between) or "by" in between
    near = len(between) <= 4 or name_type(answer, first.value) != "word"
    return acts and near and between[0] not in ("is", "was", "are", "were", "of")


def _has_owners(answer: SupportedAnswer, first: Fact, second: Fact) -> bool:
    """Whether two numbers belong to different things: there are more words between them than in a list."""
    between = re.findall(r"[^\W\d_]{4,}", answer.text[first.end : second.start].lower())
    if is_range(answer.text, first) or is_range(answer.text, second) or first.value == "1" or second.value == "1":
        return False
    return len(between) >= 2 and all(word in answer.words for word in between) and first.kind != "date"


def _phrases(sentence: AnswerSentence) -> Iterator[list[Replacement]]:
    for form in (_THAN, _BY, _FROM_TO):
        for match in form.finditer(sentence.text):
            sides = [match["first"], match["second"]]
            if any(side.lower().split()[0] in _PRONOUNS or side.lower().split()[-1] in _PRONOUNS for side in sides):
                continue
            if form is _FROM_TO and not all(side[0].isupper() or side[0] in "0123456789$€£" for side in sides):
                continue
            plural = [side.endswith("s") for side in sides]
            if form is not _FROM_TO and plural[0] != plural[1]:
                continue
            at = sentence.start
            first, second = ((at + match.start(side), at + match.end(side)) for side in ("first", "second"))
            yield _swap(sentence.text, first, second, at)


def _swap(text: str, first: tuple[int, int], second: tuple[int, int], at: int = 0) -> list[Replacement]:
    """Exchanges two phrases; `text` begins at character `at` of the answer."""
    first_text, second_text = text[first[0] - at : first[1] - at], text[second[0] - at : second[1] - at]
    if first[0] == at and first_text[0].isupper() and second_text[0].islower():  # the sentence keeps its capital
        first_text, second_text = first_text[0].lower() + first_text[1:], second_text[0].upper() + second_text[1:]
    return [Replacement(*first, second_text), Replacement(*second, first_text)]


ROLES = CorruptionKind("roles", "two participants of a statement are exchanged", exchange_roles)
