"""Shares in percent, other numbers as they are: `table`, `compare` and `gate` on runs of grounded responses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Troth
from tests.cli.test_ground import ROWS
from tests.report.make import reseal

WORSE = [
    {"id": "a", "document": "red wine", "response": "red cheese"},
    {"id": "b", "document": "old beer", "response": "new cheese"},
    {"id": "c", "document": "long skis", "response": "short crayons"},
    {"id": "e", "document": "green tea", "response": "green tea"},
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def runs(fine: Troth, tmp_path: Path) -> tuple[str, str]:
    """u_f1 is 0.625 and 0.375; the calibration calls half and a quarter faithful."""
    good, bad = write(tmp_path / "good.jsonl", ROWS), write(tmp_path / "bad.jsonl", WORSE)
    judge = str(tmp_path / "c.json")
    fine("meta", "fit", good, "--metrics", "u_f1", "--out", judge)
    made = (str(tmp_path / "old"), str(tmp_path / "new"))
    for data, out in zip((good, bad), made, strict=True):
        fine("ground", data, "--metrics", "u_f1", "--calibration", judge, "--out", out)
    return made


@pytest.mark.parametrize("command", ["table", "compare"])
def test_a_run_of_an_older_layout_is_refused(troth: Troth, runs: tuple[str, str], command: str) -> None:
    """Layout 1 did not always say what the metrics of a run are."""
    path = Path(runs[0]) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"layout": 1}))
    result = troth(command, *runs)
    assert (result.code, result.err) == (2, f"troth: {path}: written by an older troth (make the run again)\n")


def test_table(fine: Troth, runs: tuple[str, str]) -> None:
    rows = dict(line.split(maxsplit=1) for line in fine("table", *runs, "--groups", "all").out.splitlines())
    assert " ".join(rows["u_f1"].split()) == "0.625 (0.117 … 0.954) 0.375 (0.046 … 0.883)"
    assert " ".join(rows["faithful:u_f1"].split()) == "50.00 (6.53 … 93.47) 25.00 (1.85 … 85.51)"
    markdown = fine("table", *runs, "--groups", "all", "--no-intervals", "--to", "markdown").out
    assert "| u_f1 | **0.625** | 0.375 |" in markdown.replace("**0.375**", "0.375")
    latex = fine("table", *runs, "--groups", "all", "--no-intervals", "--to", "latex").out
    assert "0.625" in latex
    assert "62.5" not in latex
    tidy = list(csv.DictReader(io.StringIO(fine("table", *runs, "--to", "csv").out)))
    assert (tidy[0]["metric"], tidy[0]["value"]) == ("u_f1", "0.625")
    by_source = fine("table", *runs).out.partition("\n\n")[2]
    assert "0.750" in by_source


def test_a_run_of_meta_eval(fine: Troth, tmp_path: Path) -> None:
    data, run = write(tmp_path / "x.jsonl", ROWS), str(tmp_path / "run")
    dev = write(tmp_path / "dev.jsonl", [row | {"response": f"{row['response']}."} for row in ROWS])
    fine("meta", "eval", data, "--dev", dev, "--metrics", "u_f1,rouge_l", "--resamples", "50", "--out", run)
    rows = dict(line.split(maxsplit=1) for line in fine("table", run, "--groups", "all").out.splitlines())
    assert rows["auroc:u_f1"].startswith("1.000")
    assert rows["f1:u_f1"].startswith("1.000")
    assert rows["auroc:rouge_l-u_f1"].startswith("0.000")
    assert "p:auroc:rouge_l-u_f1" not in rows  # too few documents for a test
    assert "**" not in fine("table", run, f"{run}/.", "--metrics", "p:auroc:rouge_l-u_f1", "--to", "markdown").out
    # Its rows are the metrics' own, which the scores do not name.
    line = fine("compare", run, f"{run}/.", "--metrics", "u_f1,faithful:u_f1").out.splitlines()
    assert line[1].split()[3:6] == ["0.625", "0.625", "+0.000"]
    assert line[2].split()[3:6] == ["50.00", "50.00", "+0.00"]


def test_compare(fine: Troth, runs: tuple[str, str]) -> None:
    out = fine("compare", *runs, "--metrics", "u_f1,faithful:u_f1").out.splitlines()
    assert out[1].split()[2:6] == ["u_f1", "0.375", "0.625", "-0.250"]
    assert out[2].split()[2:6] == ["faithful:u_f1", "25.00", "50.00", "-25.00"]
    low, high = (float(out[1].split()[place]) for place in (6, 8))
    assert -1 <= low < -0.25 < high <= 1


def test_gate(fine: Troth, troth: Troth, runs: tuple[str, str]) -> None:
    """A margin is in the unit in which the difference is printed."""
    told = fine("gate", *runs, "--metric", "u_f1", "--margin", "0.2").out
    assert told.startswith("undecided: u_f1 -0.250 (")
    assert " over 4 documents, margin 0.2\n" in told
    refused = troth("gate", *runs, "--metric", "u_f1", "--margin", "1")
    assert refused.code == 2
    assert "accepts almost any result" in refused.err
    assert fine("gate", *runs, "--metric", "u_f1", "--margin", "0.02", "--json").json()["margin"] == 0.02
    share = fine("gate", *runs, "--metric", "faithful:u_f1", "--margin", "20").out
    assert share.startswith("undecided: faithful:u_f1 -25.00 (")
    assert fine("gate", *runs, "--metric", "faithful:u_f1", "--margin", "20", "--json").json()["margin"] == 0.2
    assert "own unit" in troth("gate", "--help").out


def test_a_metric_of_someone_else(fine: Troth, runs: tuple[str, str]) -> None:
    """Of a metric that is not ours the scale is not known: log ratios, sums, and points beyond 1."""
    path = Path(runs[0]) / "run.json"
    kept = json.loads(path.read_bytes())
    for score in kept["scores"]:
        if score["metric"] == "u_f1":
            score |= {"metric": "theirs", "value": -3.70149, "low": -4.0, "high": -3.0}
    path.write_text(json.dumps(kept))
    reseal(runs[0])
    assert "theirs         -3.701 (-4.000 … -3.000)\n" in fine("table", runs[0], "--groups", "all").out
