"""Commands killed at random moments: the same command then gives what it gives undisturbed, and nothing is left.

Works that go on after a kill are killed several times before they may finish. No question is asked of a model or an
assistant twice, apart from those that were open at a kill.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.torture import sandbox, works
from tests.torture.sandbox import Fault
from tests.torture.works import WORKS, Work

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST = 5  # kills before a work may finish
OPEN = 16  # questions in one batch of a language model, at most
STOP = 1.0  # seconds of work after an interrupt


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """One kill after the other, for ever: the works in turn, the signal and the moment by chance."""
    place = folder / "kills"
    works.lay(place)
    expected: dict[str, tuple[str, float]] = {}
    for number, name in enumerate(itertools.cycle(WORKS)):
        if WORKS[name].heavy and not (place / "trained").exists():
            sandbox.import_models()
            works.lay_models(place)
        if name not in expected:
            began = time.monotonic()
            works.done(place, *WORKS[name].arguments)
            expected[name] = works.digest(place, WORKS[name].target), time.monotonic() - began
            works.cleared(place)
        yield from _killed_often(place, name, expected[name], random.Random(f"{seed} {name} {number}"))


def _killed_often(place: Path, name: str, expected: tuple[str, float], chance: random.Random) -> Iterator[list[Fault]]:
    work = WORKS[name]
    kills = chance.randint(1, MOST) if work.goes_on else 1
    for number in range(kills):
        sign = chance.choice(SIGNALS)
        wrong = _killed(place, work, sign, chance.random() * expected[1])
        if number == kills - 1:
            outcome = sandbox.forked(works.noting(work.arguments), place)
            wrong += [what for what in (sandbox.fault(outcome), *sandbox.leftovers(place)) if what]
            if not wrong and works.digest(place, work.target) != expected[0]:
                wrong.append("the result is not that of an undisturbed run")
            wrong += _asked_again(place, kills)
            works.cleared(place)
        yield [Fault("kills", f"{name} {sign.name}", " ".join(work.arguments), what) for what in wrong]


def _asked_again(place: Path, kills: int) -> list[str]:
    log = place.parent / works.CALLS
    questions = Counter(log.read_bytes().splitlines()) if log.exists() else Counter()
    again = questions.total() - len(questions)
    sandbox.figure("questions asked again, per kill", again / kills)
    most = kills * OPEN
    return [f"asks {again} questions again after {kills} kills"] if again > most else []


def _killed(place: Path, work: Work, sign: signal.Signals, after: float) -> list[str]:
    """Starts a command and sends it a signal; what is wrong with how it ends."""
    logs = [place.parent / f".kills-{name}" for name in ("out", "err")]
    for log in logs:
        log.write_bytes(b"")  # a child may be killed before it has opened them
    child = sandbox.start(works.noting(work.arguments), place, logs)
    time.sleep(after)
    used, began = _used(child), time.monotonic()
    with suppress(ProcessLookupError):
        os.kill(child, sign)  # the leader alone: its workers must notice by themselves
    _, status, spent = os.wait4(child, 0)
    took, busy = time.monotonic() - began, spent.ru_utime + spent.ru_stime - used
    code, err = os.waitstatus_to_exitcode(status), logs[1].read_bytes().decode(errors="replace")
    wrong = ["leaves processes"] if sandbox.left_alive(child) else []
    if "Traceback" in err or "internal error" in err:
        wrong.append(f"a traceback at {sign.name}: {err.strip().splitlines()[-1][:200]}")
    if code not in (0, -sign, 130, 143):
        wrong.append(f"exits with {code} at {sign.name}: {err[-200:]}")
    if sign == signal.SIGINT and code == 130:
        sandbox.figure("seconds from Ctrl-C to the end", took)
        sandbox.figure("seconds of work after Ctrl-C", busy)
        if busy > STOP:
            wrong.append(f"works for {busy:.1f} s after an interrupt")
        if (
            work.goes_on
            and (place / work.target).exists()
            and "resume with: troth " not in err
            and "--lm" not in work.arguments
        ):
            wrong.append("does not say how to go on")
    return wrong


def _used(child: int) -> float:
    """Seconds of processor time that a process has used; Linux only."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
