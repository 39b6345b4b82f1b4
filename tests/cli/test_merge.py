"""`troth merge`: folders in, the run of the whole out."""

from __future__ import annotations

import shutil
from pathlib import Path

import troth as package
from tests.cli.conftest import Troth
from tests.report.test_merge import cut, score
from troth.core.encoding import decode_json
from troth.report.merge import merge


def test_runs_are_merged(troth: Troth, tmp_path: Path) -> None:
    results = [score(one) for one in cut(tmp_path)]
    runs = [str(tmp_path / f"run{number}") for number in range(3)]
    for run, one in zip(runs, results, strict=True):
        one.save(run)
    done = troth("merge", *runs, "--json", "--out", str(tmp_path / "all"))
    assert done.code == 0
    assert decode_json(done.out.encode(), list[package.Score]) == list(merge(*results).scores)
    assert package.open(tmp_path / "all")["jga"] == merge(*results)["jga"]
    twice = troth("merge", runs[0], runs[0])
    assert twice.code == 2
    assert f"is in {runs[0]}, too" in twice.err
    shutil.rmtree(runs[1])
    gone = troth("merge", *runs)
    assert gone.code == 2
    assert "run1" in gone.err
