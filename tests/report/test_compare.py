"""Comparing and gating in Python: results and run folders alike, margins as fractions, units joined by their keys."""

from __future__ import annotations

import doctest
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import troth
from tests.report.make import GOLD, HASTY, STURDY, result
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.result import Result
from troth.report import compare as comparison
from troth.report import write
from troth.report.compare import compare, gate
from troth.tracking.score import dst


@pytest.fixture(scope="module")
def results() -> tuple[Result, Result]:
    both = dst(GOLD, HASTY, STURDY, metrics="jga,fga@0.5", resamples=10)
    return both.only("hasty"), both.only("sturdy")


def test_results_and_folders_alike(results: tuple[Result, Result], tmp_path: Path) -> None:
    for name, one in zip(("old", "new"), results, strict=True):
        one.save(tmp_path / name)
    expected = compare(*results, metrics=["jga", "fga@0.5"])
    assert [(one.base, one.system, one.metric) for one in expected] == [
        ("hasty", "sturdy", "jga"),
        ("hasty", "sturdy", "fga@0.5"),
    ]
    assert compare(tmp_path / "old", str(tmp_path / "new"), metrics="jga,fga@0.5") == expected
    assert compare(results[0], tmp_path / "new", metrics="jga, fga@0.5") == expected
    assert gate(tmp_path / "old", results[1], metric="jga", margin=0.01) == gate(*results, metric="jga", margin=0.01)


def test_public_names(results: tuple[Result, Result], tmp_path: Path) -> None:
    assert troth.compare is compare
    assert troth.gate is gate
    written = troth.report(*results, out=tmp_path / "page.html")
    assert written == (str(tmp_path / "page.html"), [])
    assert "sturdy and hasty" in (tmp_path / "page.html").read_text()


def test_several_systems_of_one_result(results: tuple[Result, Result]) -> None:
    both = dst(GOLD, HASTY, STURDY, metrics="jga", resamples=10)
    assert compare(both) == compare(*results)
    with pytest.raises(UserError, match="a gate takes two systems, and these runs hold 3"):
        gate(both, results[0], metric="jga", margin=0.01)
    with pytest.raises(UserError, match="at least two systems are needed"):
        compare(results[0])


def test_a_result_against_itself_is_known_by_its_place(results: tuple[Result, Result]) -> None:
    (one,) = compare(results[0], results[0])
    assert (one.base, one.system, one.difference, one.p_holm) == ("run 1", "run 2", 0.0, 1.0)


def test_the_order_of_rows_changes_nothing(results: tuple[Result, Result]) -> None:
    base, new = results
    shuffled = replace(new, make_rows=lambda: new.rows().sample(fraction=1.0, shuffle=True, seed=3))
    assert compare(base, shuffled) == compare(base, new)
    assert gate(base, shuffled, metric="jga", margin=0.01) == gate(base, new, metric="jga", margin=0.01)


def test_margins_are_fractions(results: tuple[Result, Result]) -> None:
    assert gate(*reversed(results), metric="jga", margin=0.005).verdict == "worse"
    for points in (0.25, 0.5, 1):
        with pytest.raises(UserError, match=r"a margin is a fraction: 0\.005 is half a point"):
            gate(*results, metric="jga", margin=points)
    with pytest.raises(UserError, match="0 or more"):
        gate(*results, metric="jga", margin=-0.1)


def test_a_margin_of_what_is_no_share_may_be_large() -> None:
    """A log ratio has no points."""
    pmi = Metric("pmi_faith", "PMI-Faith", scale="number")
    outcome = gate(result("a", pmi, 150), result("b", pmi, 10), metric="pmi_faith", margin=2.5)
    assert (outcome.verdict, outcome.scale) == ("not worse", "number")


def grounded(name: str, right: int) -> Result:
    return replace(result(name, Metric("nli", "Entailment", scale="number"), right), task="ground")


def test_the_first_metric_is_taken_where_none_is_named(results: tuple[Result, Result]) -> None:
    assert [one.metric for one in compare(grounded("a", 150), grounded("b", 10))] == ["nli"]
    assert [one.metric for one in compare(*results)] == ["jga"]
    with pytest.raises(UserError, match="no metric in common"):
        compare(results[0], grounded("a", 150))


def test_pairs_and_bases() -> None:
    three = [grounded(name, right) for name, right in (("a", 100), ("b", 120), ("c", 10))]
    every = compare(*three, pairs=True, resamples=200)
    assert [(one.base, one.system) for one in every] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [one.p_holm for one in every] == pytest.approx([3 / 201] * 3)
    led = compare(*three, base="c", resamples=200)
    assert [(one.base, one.system) for one in led] == [("c", "a"), ("c", "b")]
    with pytest.raises(UserError, match=r"there is no system 'd' \(systems: a, b, c\)"):
        compare(*three, base="d")


def test_examples() -> None:
    for module in (comparison, write):
        assert doctest.testmod(module).failed == 0
        assert doctest.testmod(module).attempted > 0


# -- what was scored against -------------------------------------------------------------------------------------------


@pytest.fixture
def corrected(tmp_path: Path) -> str:
    """The same gold with one value changed, under the same ids."""
    folder = tmp_path / "corrected"
    shutil.copytree(GOLD, folder)
    file = folder / "dialogues_001.json"
    file.write_text(file.read_text().replace('"Standard"', '"Standards"'))
    return str(folder)


def test_other_gold_under_the_same_ids(corrected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their scores are of different questions, whatever the dialogues are called."""
    one = dst(GOLD, HASTY, metrics="jga", resamples=10, out=tmp_path / "one")
    other = dst(corrected, HASTY, metrics="jga", resamples=10, out=tmp_path / "other")
    for runs in ((one, other), (tmp_path / "one", tmp_path / "other")):
        with pytest.raises(UserError, match="scored against different gold for the same dialogues"):
            compare(*runs)
        with pytest.raises(UserError, match="scored against different gold for the same dialogues"):
            gate(*runs, metric="jga", margin=0.01)
        with pytest.raises(UserError, match="scored against different gold for the same dialogues"):
            compare(*runs, common=True)
    troth.report(one, other, out=tmp_path / "page.html")
    assert "scored against different gold for the same dialogues" in capsys.readouterr().err
    assert "not compared with run 1: other gold for the same dialogues." in (tmp_path / "page.html").read_text()


def test_the_same_gold_in_another_form(tmp_path: Path) -> None:
    """Order, layout, format and the number of workers are no difference."""
    packed = tmp_path / "gold.json.gz"
    dialogues = json.loads((Path(GOLD) / "dialogues_001.json").read_bytes())[::-1]
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                if "state" in frame:
                    values = frame["state"]["slot_values"]
                    frame["state"]["slot_values"] = dict(reversed(values.items()))
    packed.write_bytes(gzip.compress(json.dumps(dialogues).encode()))
    schema = str(Path(GOLD) / "schema.json")
    one = dst(GOLD, HASTY, metrics="jga", resamples=10)
    other = dst(packed, STURDY, metrics="jga", resamples=10, schema=schema, workers=2)
    assert one.inputs["hasty"] == other.inputs["sturdy"]
    assert compare(one, other)


def test_another_schema_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(
        (Path(GOLD) / "schema.json").read_text().replace('"description": "', '"description": "Really: ', 1)
    )
    one, other = (dst(GOLD, HASTY, metrics="jga", resamples=10, schema=one) for one in (None, str(schema)))
    assert compare(one, other)
    assert "are scored with different schemas" in capsys.readouterr().err


def test_runs_that_do_not_say(results: tuple[Result, Result], corrected: str) -> None:
    """Those of earlier versions."""
    other = dst(corrected, STURDY, metrics="jga", resamples=10)
    assert compare(replace(results[0], inputs={}), other)


def test_rows_of_a_folder_are_summed_metric_by_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of all metrics at once take gigabytes for some ten thousand dialogues."""
    both = dst(GOLD, HASTY, STURDY, metrics="jga,aga,fga@0.5", resamples=10)
    both.save(tmp_path / "run")
    expected = compare(both, metrics="jga,fga@0.5")
    monkeypatch.setattr("troth.storage.runs.rows", lambda _: pytest.fail("all rows are read at once"))
    assert compare(tmp_path / "run", metrics="jga,fga@0.5") == expected
