"""Runs commands in forked children with limits, and judges how they end."""

from __future__ import annotations

import importlib
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from troth import cli

SECONDS = 60  # of processor time that a command may take: 2 GB of a random device take ten on quiet cores
PATIENCE = 300  # seconds until it must have ended, on a machine that may be busy
ADDRESSES = 16 << 30  # bytes that it may reserve
MEGABYTES = 2_500  # that it may use: data is read up to two gigabytes
LINE = 5_000  # characters of an error


class Outcome(NamedTuple):
    """How a command ended; a negative code is a signal."""

    code: int
    out: str
    err: str
    megabytes: int
    orphans: bool = False


class Fault(NamedTuple):
    """A promise that was not kept."""

    kind: str
    case: str
    command: str
    what: str


FIGURES: dict[str, float] = {}  # the largest of what was measured


def figure(name: str, value: float) -> None:
    """Keeps the largest value of something that is measured."""
    FIGURES[name] = max(value, FIGURES.get(name, value))


def import_commands() -> None:
    """Imports what most commands need before children are forked, so that each of them need not."""
    for module in ("agents", "grounding", "responses", "tracking"):
        importlib.import_module(f"troth.{module}.score")


def import_models() -> None:
    """Imports what models need before children are forked, so that each of them need not; on one thread."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()


def command(arguments: Sequence[str]) -> None:
    """`troth` with these arguments, in this process."""
    if arguments[0] == "train":  # V8, which draws its charts, reserves more addresses than any machine has memory
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    sys.argv = ["troth", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


def call(arguments: Sequence[str], folder: Path, settings: Mapping[str, str] | None = None) -> Outcome:
    """The outcome of a command that is run in a folder."""
    return forked(lambda: command(arguments), folder, settings)


def forked(work: Callable[[], None], folder: Path, settings: Mapping[str, str] | None = None) -> Outcome:
    """The outcome of some work in a child with a process group of its own."""
    logs = [folder.parent / f".{folder.name}-{name}" for name in ("out", "err")]
    child = start(work, folder, logs, settings)
    _, status, used = os.wait4(child, 0)
    orphans = left_alive(child)
    out, err = (log.read_bytes().decode(errors="replace") for log in logs)
    for log in logs:
        log.unlink()
    return Outcome(os.waitstatus_to_exitcode(status), out, err, used.ru_maxrss // 1024, orphans)


def start(
    work: Callable[[], None], folder: Path, logs: Sequence[Path], settings: Mapping[str, str] | None = None
) -> int:
    """Forks; returns the child's number."""
    ending = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # until the child is one
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        return child
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        os.setpgid(0, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, log in enumerate(logs, 1):
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ.update(settings or {})
        os.chdir(folder)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 (whatever it is, it is a fault)
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def left_alive(group: int) -> bool:
    """Whether processes of an ended child are still there after a moment; they are ended."""
    for _ in range(50):
        if not _running(group):
            return False
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return True


def _running(group: int) -> bool:
    """Whether a group of processes has one that has not ended; an ended one may wait for init to take note of it."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
            if int(own) == group and state not in "ZX":
                return True
    return not Path("/proc/self/stat").exists()


def fault(outcome: Outcome, *, verdict: bool = False) -> str | None:
    """Which promise an outcome breaks; None where it keeps all. `verdict`: exit code 1 is a gate's verdict."""
    err = outcome.err.strip()
    last = err.splitlines()[-1] if err else ""
    if outcome.code in (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL):
        return f"does not end within {SECONDS} s of work, or {PATIENCE} s"
    if outcome.orphans:
        return "leaves processes"
    if outcome.megabytes > MEGABYTES:
        return f"needs {outcome.megabytes} MB"
    if "Traceback" in err or "panicked" in err or "internal error" in err:
        return last[:300]
    if outcome.code == 0 or (verdict and outcome.code == 1):
        return None if outcome.out or err else "says nothing"
    if outcome.code != 2:
        return f"exits with {outcome.code}: {last[:200]}"
    if not last.startswith("troth: ") or not last.isprintable() or len(last) > LINE:
        return f"is not refused in one line: {last[:200]}"
    return None


def leftovers(folder: Path) -> list[str]:
    """Half-written files."""
    return sorted(path.name for path in folder.rglob(".*") if path.name.endswith(".part"))


def removed(path: Path) -> None:
    """Removes a file or folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
