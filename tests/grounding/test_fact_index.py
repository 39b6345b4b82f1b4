"""Facts are looked up in an index: the same answers as comparing each with each, in time that grows with the text."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.core.text_cache import forget_texts
from troth.grounding.evidence import Passages
from troth.grounding.facts import check_facts
from troth.text.facts import Fact, FactIndex, agree, find_facts
from troth.text.word_index import word_index
from troth.text.words import stem_words

TEXTS = (
    "5 km, 5000 m, 3 miles, 90 minutes, 1.5 hours, $5, 5 dollars, 5, 5th, 1984, 1984 pages, 0 km, 2 dozen",
    "March 1st, 2019-03-01, 1 March 2019, May 2019, 2019, 3/1, 3/1/19, 1990s, '90s, Monday, 19th century",
    "5pm, 17:00, 5:00, 05:00, 5:30 a.m., noon, 12:00, 00:30",
    f"{'9' * 400} km, {'9' * 400}, 1e5, 10 percent, 10%, twenty one, one hour, two million euros, 3 blocks",
)
FACTS = [fact for text in TEXTS for fact in find_facts(text)] + [
    Fact("date", "*-03-01", 0, 0),
    Fact("name", "bo", 0, 0),
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_index_answers_as_each_with_each(text: str) -> None:
    known = find_facts(text)
    index = FactIndex(known)
    for said in FACTS:
        assert index.has(said) == any(agree(said, fact) for fact in known), said
    for fact in known:
        assert [FactIndex([fact]).has(said) for said in FACTS] == [agree(said, fact) for said in FACTS], fact


WORDS = st.sampled_from(["of", "the", "and", "for", "National", "Football", "League", "N", "x", "Of", "3M", "42", "7.5",
                         "A-50", "v1.2.3", "12.", "no", "an", "One"])  # fmt: skip


@given(st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", ", ", "-", ". ", "\n", ""])), max_size=12))
def test_words_answer_as_patterns_do(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + gap for word, gap in parts)
    index = word_index(text)
    for letters in ("NF", "NFL", "FL", "NL", "OF", "LN3", "FLNFL", "NN"):
        pattern = r"\W+(?:of |the |and |for )*".join(rf"\b{letter}\w+" for letter in letters)
        assert (letters in index.acronyms) == (re.search(pattern, text) is not None), letters
        assert (letters in index.words) == (re.search(rf"\b{letters}\b", text) is not None)
    for value in ("42", "7.5", "50", "12", "1.2", "1.2.3"[:3], "75", "2.3"):
        pattern = rf"(?<![\d.]){re.escape(value)}(?![\d.]\d|\d)"
        assert (value in index.codes) == (re.search(pattern, text) is not None), value


def best_by_sorting(known: Passages, claim: str, size: int, number: int) -> list[int]:
    """The windows as they were chosen before: a sum for each, and all of them sorted."""
    count = known.windows(size)
    scores = [0.0] * count
    for word in dict.fromkeys(stem_words(claim)):
        numbers = [index for index, sentence in enumerate(known.sentences) if word in stem_words(sentence)]
        weight = math.log(1 + len(known.sentences) / len(numbers)) if numbers else 0.0
        for start in {s for index in numbers for s in range(max(0, index - size + 1), min(index + 1, count))}:
            scores[start] += weight
    return sorted(range(count), key=lambda start: (-scores[start], start))[:number]


def test_the_best_windows_are_those_of_a_full_sort() -> None:
    rng = random.Random(0)
    names = ["room", "tram", "Zürich", "price", "the", "night", "garden", "lake", "7", "5"]
    for _ in range(200):
        sentences = [" ".join(rng.choices(names, k=rng.randint(1, 6))) + "." for _ in range(rng.randint(0, 14))]
        known = Passages(" ".join(sentences))
        claim, size, number = " ".join(rng.choices(names, k=4)), rng.randint(1, 3), rng.randint(1, 4)
        if known.windows(size) > number:
            assert [w.start for w in known.best(claim, size, number)] == best_by_sorting(known, claim, size, number)


def different_numbers(count: int) -> str:
    return "".join(f"The {word(n)} of hall {n} costs {n * 7 + 3} dollars. " for n in range(count))


def different_names(count: int) -> str:
    return "".join(f"We met Mrs {word(n).title()} at the {word(n + 1).title()} lake. " for n in range(count))


def different_acronyms(count: int) -> str:
    return "".join(f"We saw the {word(n).upper()[-4:]} and paid {n}{n} for it. " for n in range(count))


def word(number: int) -> str:
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[letter]
    return f"a{letters}ia"


TEXT_KINDS = (different_numbers, different_names, different_acronyms)


@pytest.mark.parametrize("make", TEXT_KINDS)
@pytest.mark.parametrize("against", ["itself", "another"])
def test_many_different_facts_take_time_in_proportion(make: Callable[[int], str], against: str) -> None:
    """Eight times the facts take less than 20 times as long; with the square it would be 64 times."""

    def seconds(count: int) -> float:
        response = make(count)
        document = response if against == "itself" else make(2 * count)[len(response) :]
        forget_texts()
        begin = time.process_time()
        check_facts(document, response)
        return time.process_time() - begin

    seconds(50)
    assert any(seconds(1600) < 0.1 + 20 * seconds(200) for _ in range(3))
