"""How many dialogues and turns a corpus has."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from troth import demo, readers
from troth.core.records import Dialogue, Pair, Turn
from troth.tracking import statistics as module
from troth.tracking.check import check
from troth.tracking.statistics import CorpusStatistics, corpus_statistics


def test_user_turns_count() -> None:
    both = (Turn("USER"), Turn("SYSTEM"))
    found = corpus_statistics([Dialogue("a", both * 3), Dialogue("b", both[:1]), Dialogue("c", both[1:])])
    assert found == CorpusStatistics(3, 4, 4 / 3)
    assert str(found) == "3 dialogues, 4 user turns (1.33 per dialogue)"
    assert corpus_statistics([]).turns_per_dialogue is None


def test_check_counts_alike() -> None:
    every = [item for _, items in readers.batches(demo.path("gold"), None) for item in items]
    assert check(demo.path("gold")).statistics == corpus_statistics(
        item.gold if isinstance(item, Pair) else item for item in every
    )


@pytest.mark.shared
@pytest.mark.parametrize(("part", "expected"), [("val", (999, 7365)), ("test", (1000, 7372))])
def test_multiwoz(shared: Path, part: str, expected: tuple[int, int]) -> None:
    """As many as the raw files have. Table 2 prints 1000 and 7374, 999 and 7368: its files are not quite these."""
    found = corpus_statistics(
        item.gold if isinstance(item, Pair) else item
        for _, items in readers.batches(str(shared / f"data/multiwoz/{part}.json.zip"), None)
        for item in items
    )
    assert (found.dialogues, found.turns) == expected


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(module) == (0, 1)
