"""Errors are one line that can be printed, whatever a file holds."""

from __future__ import annotations

import pytest

from troth.core.errors import UserError, suggest_name, truncate
from troth.core.progress import note

HUGE = "x" * 10_000_000


def test_a_line_is_short_enough_to_read() -> None:
    line = str(UserError(f"'{HUGE}' is not known", file="f.json", dialogue=HUGE, turn=3, hint=f"is it {HUGE}?"))
    assert len(line) < 3000
    assert line.startswith("f.json: dialogue xxx")
    assert " … " in line
    assert "turn 3: 'xxx" in line
    assert line.endswith("xxx?)")


def test_short_ones_stay_as_they_are() -> None:
    line = str(UserError("w" * 1000, file="f" * 4000, dialogue="d" * 200, hint="h" * 1000))
    assert "…" not in line
    assert truncate("abcdefgh", 8) == "abcdefgh"
    assert truncate("abcdefghi", 8) == "abcdef … hi"


def test_long_names_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def record(name: str, *_: object, **__: object) -> list[str]:
        compared.append(name)
        return []

    monkeypatch.setattr("difflib.get_close_matches", record)
    assert suggest_name(HUGE, [HUGE + "y", "x"]) is None
    assert not compared
    assert suggest_name("x" * 10, ["y"]) is None
    assert compared == ["x" * 10]


def test_notes_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"the slot {HUGE} and\nanother line")
    said = capsys.readouterr().err
    assert len(said) < 5000
    assert said.count("\n") == 1
