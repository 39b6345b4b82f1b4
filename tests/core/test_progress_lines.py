"""Progress where there is no terminal: a line every half minute."""

from __future__ import annotations

import pytest

from troth.core import progress


def test_a_line_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    step = progress._lines(lambda: now[0])
    for second in range(0, 100, 10):
        now[0] = float(second)
        step("nli", second, 100)
    assert capsys.readouterr().err.splitlines() == [
        "troth: nli: 30% done, about 1 min left",
        "troth: nli: 60% done, about 1 min left",
        "troth: nli: 90% done, about 1 min left",
    ]


def test_quick_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar("quick") as step:
        step(1, 2)
        step(2, 2)
    assert capsys.readouterr().err == ""
