"""The package's face: three lines from files to a frame, and nothing heavy until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import troth
from troth import demo


def test_three_lines() -> None:
    result = troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), resamples=50)
    frame = result.frame()
    assert result["jga"].system == "hasty"
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["system", "metric", "group", "value", "low", "high", "n", "signature", "reason", "scale"]
    assert frame.filter(pl.col("metric") == "jga")["value"].to_list() == [
        result.score("jga", system=name).value for name in ("hasty", "sturdy")
    ]


def test_every_public_name_loads() -> None:
    for name in troth.__all__:
        assert getattr(troth, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'dts'"):
        _ = troth.dts


def test_import_is_light() -> None:
    code = "import sys, troth; print([m for m in ('numpy', 'polars', 'rich', 'msgspec', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_comparing_from_python() -> None:
    systems = troth.sides([demo.path("hasty"), demo.path("sturdy")], ["jga"], gold=demo.path("gold"))
    (found,) = troth.compare(systems, ["jga"], resamples=500)
    assert (found.base, found.system) == ("hasty", "sturdy")
    assert found.difference == pytest.approx(found.value - found.base_value)
    assert troth.gate(systems[1], systems[0], "jga", margin=0.01).verdict == "worse"
