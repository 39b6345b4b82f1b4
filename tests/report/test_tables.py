"""`troth.table`, `Result.plot` and the record that `compare` returns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import troth
from tests.report.make import GOLD, HASTY, STURDY
from troth.core.groups import ALL
from troth.core.metric import Scale
from troth.core.result import Result
from troth.core.score import Score
from troth.core.table import figure
from troth.tracking.score import dst


@pytest.fixture(scope="module")
def result() -> Result:
    return dst(GOLD, HASTY, STURDY, profile="trade", metrics="jga,fga@0.5,slot_f1", by="service", resamples=20)


def test_results_and_folders_give_the_same_table(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    for form in ("plain", "markdown", "latex", "csv", "json"):
        assert troth.table(result, to=form) == troth.table(tmp_path / "run", to=form)
    names = [score["metric"] for score in json.loads(troth.table(result, to="json", groups="all", systems="hasty"))]
    assert names == ["jga", "fga@0.5", "slot_f1"]


def test_latex_has_printed_names_and_short_intervals(result: Result) -> None:
    lines = troth.table(result, to="latex", groups="all", names={"sturdy": "Ours & co"}).splitlines()
    assert r"system & JGA & FGA, $\lambda$ = 0.5 & Slot F1 \\" in lines
    (ours,) = [line for line in lines if line.startswith(r"Ours \& co & ")]
    assert r"\textbf{55.37 {\scriptsize [46.5, 63.9]}}" in ours


def test_an_interval_in_latex_has_a_digit_less() -> None:
    cases: list[tuple[float | None, float | None, Scale]] = [
        (0.456, 0.5449, "share"), (None, None, "share"), (-1.2345, 0.5, "number"),
    ]  # fmt: skip
    shown = [figure(Score("a", "m", ALL, 0.5, low, high, 10, scale=scale)) for low, high, scale in cases]
    assert shown == ["50.00 (45.60 … 54.49)", "50.00", "0.500 (-1.234 … 0.500)"]
    assert [(cell.value, cell.low, cell.high) for cell in shown] == [  # type: ignore[attr-defined]
        ("50.00", "45.6", "54.5"), ("50.00", "", ""), ("0.500", "-1.23", "0.50"),
    ]  # fmt: skip


def test_keywords_are_named_in_errors(result: Result) -> None:
    with pytest.raises(troth.UserError, match="names has 'hast', which the table does not have"):
        troth.table(result, names={"hast": "Ours"})
    with pytest.raises(troth.UserError, match="names is not a mapping of names to texts"):
        troth.table(result, names="hasty=Ours")  # type: ignore[arg-type]
    with pytest.raises(troth.UserError, match="to cannot be 'html'"):
        troth.table(result, to="html")
    with pytest.raises(troth.UserError, match="no run is named"):
        troth.table()


def test_a_comparison_reads_well(result: Result) -> None:
    found = troth.compare(result, metrics="jga,slot_f1", resamples=200)
    assert [one.metric for one in found] == ["jga", "slot_f1"]
    assert found[0] is found.differences[0]
    head, columns, first, _ = repr(found).splitlines()
    assert head == "troth compare: 2 differences over 22 dialogues"
    assert columns.split()[:3] == ["system", "against", "metric"]
    assert first.split()[:6] == ["sturdy", "hasty", "jga", "55.37", "33.33", "+22.03"]
    assert found._repr_html_().startswith("<table>")
    assert repr(troth.compare(result, metrics="jga", resamples=200)).startswith("troth compare: 1 difference over 22 ")
    assert found == troth.compare(result, metrics="jga,slot_f1", resamples=200)


def test_a_plot_has_every_system_and_interval(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    drawn = result.plot("jga,slot_f1", path=tmp_path / "scores.svg").to_dict()
    rows = [list(row.values()) for row in drawn["data"]["values"]]
    assert [row[:2] for row in rows] == [
        ["hasty", "JGA"], ["sturdy", "JGA"], ["hasty", "Slot F1"], ["sturdy", "Slot F1"],
    ]  # fmt: skip
    assert rows[1][2] == pytest.approx(100 * (result.score("jga", system="sturdy").value or 0.0))
    assert (tmp_path / "scores.svg").read_text().startswith("<svg")
    assert len(result.plot("jga", group="service:Stays_1").to_dict()["data"]["values"]) == 2
    with pytest.raises(troth.UserError, match="metrics has 'jg', which is not in the result"):
        result.plot("jg")
    with pytest.raises(troth.UserError, match="group has no scores: 'service:X'"):
        result.plot(group="service:X")


def test_a_plot_without_altair_names_the_extra(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(troth.UserError, match=r"altair is not installed .pip install \"troth\[charts\]\""):
        result.plot()
