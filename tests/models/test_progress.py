"""What people see while a model works."""

from __future__ import annotations

import io
import sys

import pytest

from troth.core.progress import bar, note, within


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar("model [bold]x[/bold]@1") as progress:
        monkeypatch.setattr(sys, "stderr", io.StringIO())  # what a library may do meanwhile
        progress(1, 4)
        progress(4, 4)
    assert "model [bold]x[/bold]@1" in terminal.getvalue(), "names are not markup"
    assert "%" in terminal.getvalue()
    assert "\x1b[2K" in terminal.getvalue().rpartition("model")[2], "it goes when its work is done"


def test_no_bar_before_there_is_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once would write over each other: the outer one waits while the model is fetched."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar("outer") as outer:
        with bar("inner") as inner:
            inner(1, 1)
        assert "outer" not in terminal.getvalue()
        outer(1, 1)
    assert "outer" in terminal.getvalue()


def test_a_display_of_the_callers_takes_the_place_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    seen: list[tuple[str, int, int]] = []
    with within(lambda *told: seen.append(told)), bar("x") as progress:
        progress(1, 2)
    assert seen == [("x", 1, 2)]
    assert terminal.getvalue() == ""
    with bar("y") as progress:
        progress(1, 1)
    assert "y" in terminal.getvalue(), "it is the caller's no longer"


def test_nothing_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("x") as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_note_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    note("a\nb\x1b[31m")
    assert capsys.readouterr().err == "troth: a b [31m\n"
