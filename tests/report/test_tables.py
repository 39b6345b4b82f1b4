"""Tables: cells that would break a line or run in a spreadsheet, and the four kinds of numbers."""

from __future__ import annotations

import csv
import io
from typing import get_args

import pytest

from troth.core.groups import ALL
from troth.core.metric import Scale
from troth.core.score import Score
from troth.core.table import Table, figure, format_difference, number, one_line


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\x1b[31m", "\\x1b[31m"),
        ("two\nlines", "two\nlines"),
        ("-0.25", "-0.25"),
        ("+1.5e-07", "+1.5e-07"),
        ("-0.236 ± 0.789", "-0.236 ± 0.789"),
        ("-0.236 (-1.025 … 0.553)", "-0.236 (-1.025 … 0.553)"),
        ("-2 (calc)", "'-2 (calc)"),
        ("+0.100 … +0.200", "+0.100 … +0.200"),
        ("–", "–"),
        ("", ""),
    ],
)
def test_csv_runs_nothing(cell: str, written: str) -> None:
    found = list(csv.reader(io.StringIO(Table((cell,), ((cell,),)).csv() + "\n", newline="")))
    assert found == ([[written], [written]] if cell else [[""], [""]])


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\x0b", "\x85", "\u2028", "\t"])
def test_a_cell_is_one_line(breaks: str) -> None:
    made = Table((f"a{breaks}b", "n"), ((f"x{breaks}y", "1"),))
    assert one_line(f"x{breaks}y") == "x y"
    assert made.plain() == "a b  n\nx y  1"
    assert "x y & 1" in made.latex()
    assert len(made.markdown().splitlines()) == 3


def test_numbers() -> None:
    assert [number(0.37014, scale) for scale in get_args(Scale)] == ["37.01", "37.01", "0.370", "0.3701"]
    assert [number(-0.00001, scale) for scale in get_args(Scale)] == ["0.00", "0.00", "0.000", "0.0000"]
    assert [number(None, scale) for scale in get_args(Scale)] == ["–", "–", "–", "–"]
    assert [format_difference(0.37014, scale) for scale in get_args(Scale)] == ["+37.01", "+37.01", "+0.370", "+0.3701"]
    score = Score("s", "m", ALL, -3.2, -4.0, -3.0, 5, {}, scale="number")
    assert figure(score) == "-3.200 (-4.000 … -3.000)"
    assert figure(score, intervals=False) == "-3.200"
