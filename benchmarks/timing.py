"""How things are timed: whole processes, the best of several, and what they took at their peak."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median


@dataclass(frozen=True)
class Took:
    seconds: float
    peak_mb: float
    out: str
    cpu: float = 0.0  # seconds of processor time, of the process and its children


def run(*command: str, repeat: int = 5) -> Took:
    """The best of several runs of a command: what the machine can do, with the least of what else it did."""
    best: Took | None = None
    least = float("inf")  # processor time grows with what else runs, and its best may be that of another run
    for _ in range(repeat):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate()
        seconds = time.perf_counter() - start
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{err}")
        peak = float(err.rsplit("peak_kb=", 1)[1].split()[0]) / 1024 if "peak_kb=" in err else 0.0
        cpu = float(err.rsplit("cpu=", 1)[1].split()[0]) if "cpu=" in err else 0.0
        least = min(least, cpu)
        if best is None or seconds < best.seconds:
            best = Took(seconds, peak, out, cpu)
    assert best is not None
    return replace(best, cpu=least)


def python(code: str, *arguments: str, repeat: int = 5) -> Took:
    """A piece of Python in a process of its own, which reports its peak of memory and its processor time at the end."""
    tail = (
        "\nimport os as _o, resource as _r, sys as _s\n_t = _o.times()\n"
        "_s.stderr.write(f'peak_kb={_r.getrusage(_r.RUSAGE_SELF).ru_maxrss} cpu={sum(_t[:4])} ')\n"
    )
    return run(sys.executable, "-c", code + tail, *arguments, repeat=repeat)


def troth(*arguments: str, repeat: int = 5) -> Took:
    """Our command, whole: start of the interpreter to the last line printed."""
    code = "from troth.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    return python(code, *arguments, repeat=repeat)


def interleaved(*runs: Callable[[int], float], rounds: int = 3) -> list[list[float]]:
    """What each of several runs measures, round by round: all of them meet the same load of the machine."""
    measured = [[run(number) for run in runs] for number in range(rounds)]
    return [list(figures) for figures in zip(*measured, strict=True)]


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median over rounds of one figure divided by the other."""
    return median(one / other for one, other in zip(above, below, strict=True))


def show(title: str, rows: Sequence[tuple[str, str]]) -> None:
    print(f"\n{title}")
    for name, figure in rows:
        print(f"  {name:<58} {figure}")


def cpu() -> str:
    model = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
