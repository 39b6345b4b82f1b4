"""How many of the labelled findings are found, and how many alarms are right."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.agents.labelled import compare, main, read_half, trajectory
from tests.limits import processor_limit
from troth.agents.analysis import AnalysisRules, analyse
from troth.agents.corpus import ReadTrials, join
from troth.agents.rules import find_rule
from troth.stats import quantiles
from troth.stats.noninferiority import POWER

FLOORS = {  # precision and recall: of the development half, and of the half that was looked at once
    "claims": ((0.95, 0.95), (0.8, 0.7)),
    "details": ((0.95, 0.95), (0.8, 0.7)),
    "values": ((0.95, 0.95), (0.8, 0.7)),
}


def test_a_judge_that_does_not_exist_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["labelled", "judge", "gguf:nothing", "--limit", "1"])
    with pytest.raises(SystemExit, match="2"):
        main()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("labelled: no GGUF model is called 'nothing'")
    assert told.err.count("\n") == 1


@pytest.mark.parametrize("finder", FLOORS)
@pytest.mark.parametrize("development", [True, False])
def test_precision_and_recall(finder: str, development: bool) -> None:
    counts = compare(development)[0][finder]
    precision, recall = FLOORS[finder][0 if development else 1]
    assert counts.precision >= precision
    assert counts.recall >= recall
    assert counts.right > 10 or finder == "values"


def test_labels_are_many_and_varied() -> None:
    halves = [read_half(True), read_half(False)]
    assert [len(half) for half in halves] == [104, 104]
    assert {record["language"] for half in halves for record in half} == {"en", "de", "es"}
    assert all(sum(not record["findings"] for record in half) > 40 for half in halves), "conversations without a fault"
    for half in halves:
        for record in half:
            for kind, message, text, at in record["findings"]:
                if kind != "value":
                    assert record["messages"][message][1][at : at + len(text)] == text


def test_the_published_figures_are_those_of_the_script() -> None:
    page = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
    rows = {
        row[0]: row[1:]
        for row in re.findall(r"^\| (\w+) \| ([\d.]+) / ([\d.]+) \| .*? \| ([\d.]+) / ([\d.]+) \|", page, re.MULTILINE)
    }
    for finder in ("claims", "details", "values"):
        now = [compare(development)[0][finder] for development in (True, False)]
        figures = tuple(f"{share:.2f}" for counts in now for share in (counts.precision, counts.recall))
        assert rows[finder] == figures


def test_five_thousand_conversations_take_seconds() -> None:
    """Far below the limit on an idle machine; the work grows with the number of conversations."""
    records = [record for half in (True, False) for record in read_half(half)]
    trials = [trajectory({**record, "id": f"{record['id']}-{number}"}) for number in range(24) for record in records]
    corpus = join({"x": ReadTrials(trials, "chat", "labelled")})
    with processor_limit(15):
        analysis = analyse(corpus, corpus.systems[0], AnalysisRules(find_rule("exact"), "match"))
    assert len(analysis.trials) == 24 * 208


def test_the_table_of_tasks_and_trials_follows_its_formula() -> None:
    page = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) points \| (.*) \|$", page, re.MULTILINE)
    assert [int(margin) for margin, _ in rows] == [20, 10, 5, 2]
    for margin, cells in rows:
        needed = [
            ((quantiles.normal(0.95) + POWER) * math.sqrt(1 / (3 * k)) / (int(margin) / 100)) ** 2 for k in (1, 2, 4, 8)
        ]
        assert [int(cell.replace(",", "")) for cell in cells.split(" | ")] == [math.ceil(number) for number in needed]
