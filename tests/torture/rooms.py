"""Full disks and folders that may not be written: one line, nothing half-written, and what was there before stays."""

from __future__ import annotations

import ctypes
import itertools
import random
import resource
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import sandbox, works
from tests.torture.sandbox import Fault
from tests.torture.works import WORKS, Work


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """The works in turn, for ever: with files that cannot grow beyond a size drawn by chance, or in a folder that is
    read-only; over an old result where the work replaces one. With room, the same command must then finish."""
    place = folder / "rooms"
    works.lay(place)
    expected: dict[str, tuple[str, int]] = {}
    for number, name in enumerate(itertools.cycle(WORKS)):
        work = WORKS[name]
        if work.heavy and not (place / "trained").exists():
            sandbox.import_models()
            works.lay_models(place)
        if name not in expected:
            works.done(place, *work.arguments)
            expected[name] = works.digest(place, work.target), _largest(place / work.target)
            works.cleared(place)
        chance = random.Random(f"{seed} {name} {number}")
        bounded = chance.random() < 0.7
        kind = "disk full" if bounded else "read-only"
        wrong = _tried(place, work, expected[name], chance.random() if bounded else None)
        works.cleared(place)
        yield [Fault("rooms", f"{name}, {kind}", " ".join(work.arguments), what) for what in wrong]


def _tried(place: Path, work: Work, expected: tuple[str, int], share: float | None) -> list[str]:
    old = "--force" in work.arguments or work.target.endswith(".html")
    if old:
        works.done(place, *work.arguments)
    settings = {"TROTH_CACHE": str(place.parent / "own-cache")}
    if share is None:
        with _read_only(place):
            outcome = sandbox.forked(_without_rights(work.arguments), place, settings)
    else:
        outcome = sandbox.forked(_bounded(work.arguments, int(share * expected[1])), place, settings)
    wrong = [what for what in (sandbox.fault(outcome), *sandbox.leftovers(place)) if what]
    if outcome.code == 0 and share is None:
        wrong.append("writes where it may not")
    if old and works.digest(place, work.target) != expected[0]:
        wrong.append("the old result is gone")
    if not old and not work.goes_on and outcome.code != 0 and (place / work.target).exists():
        wrong.append("a part of the result is there")
    again = outcome if outcome.code == 0 else sandbox.call(work.arguments, place)
    if again.code != 0:
        wrong.append(f"does not finish with room: {again.err[-200:]}")
    elif works.digest(place, work.target) != expected[0]:
        wrong.append("the result with room is another one")
    return wrong


def _largest(target: Path) -> int:
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return max(path.stat().st_size for path in files)


def _bounded(arguments: tuple[str, ...], size: int) -> Callable[[], None]:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        sandbox.command(arguments)

    return work


def _without_rights(arguments: tuple[str, ...]) -> Callable[[], None]:
    """A command for which permissions count, even where the attack is run as root."""

    def work() -> None:
        nothing = (ctypes.c_uint32 * 6)()  # capset(2): no capabilities, in their third layout
        ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), nothing)
        sandbox.command(arguments)

    return work


class _read_only:  # noqa: N801 (a context manager)
    """A folder and what lies in it, without permission to write."""

    def __init__(self, place: Path) -> None:
        self.modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.rglob("*"))}

    def __enter__(self) -> None:
        for path, mode in self.modes.items():
            path.chmod(mode & ~0o222)

    def __exit__(self, *_: object) -> None:
        for path, mode in self.modes.items():
            if path.exists():
                path.chmod(mode)
