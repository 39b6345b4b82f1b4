"""The comparison of our disfluencies with those of Disfl-QA: what it counts as added."""

from __future__ import annotations

import pytest
from experiments.disfluency import compare, describe

FLUENT = "How many miles is Berlin from Warsaw?"


@pytest.mark.parametrize(
    ("disfluent", "runs"),
    [
        (FLUENT, []),
        ("How many miles is Paris no I mean Berlin from Warsaw ?", [["paris", "no", "i", "mean"]]),
        ("how many, uh, miles is Berlin from from Warsaw", [["uh"], ["from"]]),
        ("What is the capital of Poland?", None),
        ("", None),
    ],
)
def test_added_words(disfluent: str, runs: list[list[str]] | None) -> None:
    change = compare(FLUENT, disfluent)
    assert (change and change.runs) == runs


def test_description() -> None:
    changes = [compare(FLUENT, "How many miles is Paris no I mean Berlin from Warsaw"), compare(FLUENT, f"Uh {FLUENT}")]
    row = describe("ours", [change for change in changes if change])
    assert row == ["ours", "2", "0.36", "1.00", "2.5", "50 %", "50 %"]


def test_a_clitic_is_part_of_its_word() -> None:
    change = compare("What is Earth's mass?", "What is Earth ' s uh mass ?")
    assert change is not None
    assert change.runs == [["uh"]]
