"""How much data with documents there is."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth, fine, troth  # noqa: F401
from troth.core.records import Grounded
from troth.grounding import statistics as module
from troth.grounding.statistics import GroundedStatistics, grounded_statistics, statistics


def test_by_hand() -> None:
    items = [
        Grounded("a", "one two three", "four five", ("six", "seven  eight")),
        Grounded("b", "one two three", "four", ()),
        Grounded("c", " ", "four five six", ("nine",)),
    ]
    assert grounded_statistics("x", items) == GroundedStatistics("x", 3, 1, 2.0, 4 / 3, 2.0)
    assert grounded_statistics("x", []) == GroundedStatistics("x", 0, 0, 0.0, 0.0, 0.0)


@pytest.mark.shared
def test_real_data(shared: Path) -> None:
    (found,) = statistics(str(shared / "data/begin/wow/begin_dev_wow.tsv"))
    assert (found.responses, found.documents) == (430, 333)
    assert 10 < found.document_words < 60


def test_the_command(fine: Troth, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"id": "a", "document": "red wine", "history": ["Hi"], "response": "red"}) + "\n")
    lines = fine("ground", str(path), "--statistics").out.splitlines()
    assert lines[0].split("  ")[0] == "data"
    assert lines[1].split() == ["x", "1", "1", "2.0", "1.0", "1.0"]
    assert fine("ground", str(path), "--statistics", "--json").json() == [
        {"data": "x", "responses": 1, "documents": 1, "document_words": 2.0, "history_words": 1.0,
         "response_words": 1.0}
    ]  # fmt: skip


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(module) == (0, 2)
