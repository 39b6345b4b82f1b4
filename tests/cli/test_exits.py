"""Exit code 1 is a gate's verdict and nothing else; whatever else goes wrong is one line and exit code 2."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from troth import cli
from troth.core.errors import ImmediateExit, UserError
from troth.storage import runs

from .conftest import GOLD, HASTY, STURDY, Troth

TROTH = f"{sys.executable} -m troth"
COMMANDS = (
    "--help",
    "--version",
    "ls metrics",
    "ls metrics --json",
    "check --help",
    f"dst {GOLD} {HASTY} --metrics jga",
    f"dst {GOLD} {HASTY} --metrics jga --json",
    f"gate {HASTY} {STURDY} --gold {GOLD} --metric jga --margin 1",
)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=os.environ | environment, check=False
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("to", [">&-", "> /dev/full"])
def test_output_that_cannot_be_written(command: str, to: str) -> None:
    if to == "> /dev/full" and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    ended = shell(f"{TROTH} {command} {to}")
    assert ended.returncode == 2
    notes = ("hasty: ", "broke: ", "mended: ", "… ")  # on the result
    lines = [line for line in ended.stderr.splitlines() if not line.startswith(notes)]
    assert [line.split(": ")[:2] for line in lines] == [["troth", "<stdout>"]]


@pytest.mark.parametrize("command", ["ls metrics --json", f"dst {GOLD} {HASTY} --by slot,turn"])
def test_a_reader_that_has_seen_enough(command: str) -> None:
    ended = shell(f"{TROTH} {command} | true; echo ${{PIPESTATUS[0]}}")
    assert ended.stdout == "141\n"
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("to", ["2>&-", "2> /dev/full"])
def test_errors_that_cannot_be_said(to: str) -> None:
    assert shell(f"{TROTH} nonsense {to}").returncode == 2
    assert shell(f"{TROTH} dst {GOLD} {HASTY} --metrics jga {to}").stdout.startswith("metric")


def test_a_closed_stream_gives_its_number_to_no_file(tmp_path: Path) -> None:
    ended = shell(f"{TROTH} convert {GOLD} {tmp_path}/out.jsonl --to jsonl <&- 2>&-")
    assert ended.returncode == 0
    assert b"troth" not in (tmp_path / "out.jsonl").read_bytes()


class _PanicError(BaseException):
    """As those of libraries in Rust, which are no Exception."""


@pytest.mark.parametrize("error", [KeyError("slot"), _PanicError("index out of\nbounds"), OSError(5, "I/O error")])
def test_a_crash_is_one_line(troth: Troth, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(runs, "load", crash)
    ended = troth("table", GOLD)
    assert ended.code == 2
    assert ended.err.startswith(f"troth: internal error: {type(error).__name__}: ")
    assert ended.err.count("\n") == 1
    assert "TROTH_DEBUG=1" in ended.err
    monkeypatch.setenv("TROTH_DEBUG", "1")
    assert "Traceback" in troth("table", GOLD).err


def test_memory_that_is_short(troth: Troth, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(runs, "load", crash)
    ended = troth("table", GOLD)
    assert (ended.code, ended.err) == (2, "troth: out of memory (fewer workers take less)\n")


@pytest.mark.parametrize("code", [1, "text"])
def test_an_exit_from_within_is_no_verdict(troth: Troth, monkeypatch: pytest.MonkeyPatch, code: object) -> None:
    """click exits with 1 where a pipe is closed."""

    def leave(*_: object) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(runs, "load", leave)
    assert troth("table", GOLD).code == 2


SLOW = """
import sys, time
from troth import cli
from troth.tracking import feed

def slow(function, items, workers, parallel_map=feed.parallel_map):
    sys.stderr.write("begun\\n")
    yield from parallel_map(lambda item: time.sleep(60), range(4), 3)

feed.parallel_map = slow
cli.main()
"""


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of a terminal: one line, no tracebacks of workers, nothing left behind."""
    command = [sys.executable, "-c", SLOW, "dst", GOLD, HASTY, "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        time.sleep(0.3)  # until the workers are at work
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr.read() == "\ntroth: interrupted\n"  # on a line of its own, after ^C
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_every_command_has_one_way_out() -> None:
    """No command ends the process by itself: `main` alone decides on the exit code."""
    for file in Path(cli.__file__).parent.glob("*.py"):
        text = file.read_text()
        assert ("sys.exit" in text) == (file.name == "__init__.py")
        assert text.count(".exit(1)") == (file.name == "gate.py")


def test_a_command_ends_with_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt on Ray need not wait: the engine knows that the process ends with the command."""
    import troth.engine

    asked: list[dict[str, object]] = []

    @contextmanager
    def using(name: str, **options: object) -> Iterator[None]:
        asked.append(options)
        raise UserError("enough")
        yield

    monkeypatch.setattr(troth.engine, "using", using)
    monkeypatch.setattr(sys, "argv", ["troth", "dst", "gold", "pred", "--on", "ray"])
    with pytest.raises(SystemExit):
        cli.main()
    assert asked == [{"address": None, "ends": True}]


def test_what_is_left_to_a_guard_ends_the_process_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Ended(BaseException):
        pass

    def leave(code: int) -> None:
        raise Ended(code)

    def interrupted(**_: object) -> None:
        raise ImmediateExit

    monkeypatch.setattr(cli.app, "main", interrupted)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(Ended) as ended:
        cli.main()
    assert ended.value.args == (130,)
    assert capsys.readouterr().err == "troth: interrupted\n"


@pytest.mark.parametrize("command", ["tracker", "response", "grounded"])
def test_no_steps_are_refused(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["troth", "train", command, "x", "y", "--steps", "0"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "0 is not in the range x>=1" in capsys.readouterr().err
