"""Results on disk: a folder with `run.json`, `rows.parquet` and, for people to look at, `dialogues.jsonl.gz`.

A run is replaced as a whole or not at all.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth import __version__
from troth.errors import UserError
from troth.records import Scale, Score

if TYPE_CHECKING:
    import polars as pl

FILES = ("run.json", "rows.parquet", "dialogues.jsonl.gz", "report.html")  # what may lie in a run's folder
LAYOUT = 1  # of run.json; raised when a reader of the old one would go wrong


class Run(msgspec.Struct, frozen=True):
    """What was run, with what, and what came out."""

    command: str
    arguments: dict[str, Any]
    versions: dict[str, str]
    counts: dict[str, dict[str, int]]  # per system: dialogues, and what was missing
    scores: list[Score]
    layout: int = LAYOUT
    details: list[Any] = []  # single units that a reader should see: flips, wavering ones


def versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("msgspec", "numpy", "polars", "rapidfuzz")
    return {"troth": __version__, "python": sys.version.split()[0], **{name: version(name) for name in packages}}


def save(
    out: str,
    *,
    command: str,
    arguments: Mapping[str, Any],
    scores: list[Score],
    rows: pl.DataFrame,
    counts: Mapping[str, dict[str, int]],
    details: Sequence[Any] = (),
    dialogues: Iterable[bytes] | None = None,
) -> None:
    """Write a run. A crash at any moment leaves the old folder or the new one.

    `dialogues`: the lines of `dialogues.jsonl.gz`, see `troth.report.kept`.
    """
    run = Run(command, dict(arguments), versions(), dict(counts), scores, details=list(details))
    target = refuse(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            (fresh / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
            rows.write_parquet(fresh / "rows.parquet")
            if dialogues is not None:
                from troth.report import kept

                kept.write(fresh / kept.NAME, dialogues)
            fresh.chmod(0o755)
            if target.exists():
                exchange(fresh, target)
            else:
                fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)  # what was not moved, or what was there before
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint="choose another --out") from error


def refuse(out: str) -> Path:
    """Told before any work is done: something else is at the place of the run, or it cannot be written.

    Returns the place: a link to a run stays one.
    """
    try:
        target = Path(out).resolve()
        foreign = _foreign(target)
        if foreign is not None:
            raise UserError(f"exists and is not a run of troth: {foreign}", file=out, hint="choose another --out")
        refuse_current(target, out)
        there = next(folder for folder in target.parents if folder.exists())
        if not there.is_dir():
            raise UserError(f"cannot be written: {there} is a file", file=out, hint="choose another --out")
        if not os.access(there, os.W_OK):
            raise UserError(f"cannot be written: no right to write to {there}", file=out, hint="choose another --out")
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint="choose another --out") from error
    return target


def refuse_current(target: Path, out: str) -> None:
    """A folder is replaced as a whole; who stands in it would be left in one that is gone."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it is gone already
        return
    if here.is_relative_to(target.resolve()):
        what = "is the current folder" if here == target.resolve() else "holds the current folder"
        raise UserError(f"{what}, which cannot be replaced", file=out or ".", hint="name a new folder")


def written(out: str) -> str:
    """What to tell the user after `save`."""
    there = [f"{out}/{name}" for name in FILES[:3] if (Path(out) / name).is_file()]
    return "written: " + ", ".join(there)


def _foreign(target: Path) -> str | None:
    """What at the place of a run is not a run's, and would be lost."""
    if not target.exists():
        return None
    if not target.is_dir():
        return "it is a file"
    other = sorted(path.name for path in target.iterdir() if path.name not in FILES)
    return f"it holds '{other[0]}'" if other else None


@contextmanager
def new_folder(out: str) -> Iterator[Path]:
    """A folder to fill, which appears under the name `out` when it is whole, and not at all if anything fails."""
    place = Path(out)
    if place.exists() or place.is_symlink():
        raise UserError("is there already", file=out, hint="name a new folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        try:
            yield part
            part.chmod(0o755)
            part.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        hint = "is there room, and the right to?"
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error


def load(path: str) -> Run:
    file = Path(path)
    try:
        file = file / "run.json" if file.is_dir() else file
        if not file.is_file():
            raise UserError("not a run: no run.json in it", file=path, hint="make one with troth dst … --out RUN")
        run = msgspec.json.decode(file.read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"not a run: {error}", file=str(file), hint="was it written by troth dst --out?") from error
    if run.layout > LAYOUT:
        raise UserError("written by a newer troth", file=str(file), hint="update troth to read it")
    if all(score.scale == "share" for score in run.scores):
        # A run from before scores said what they are: what it ran tells.
        scores = [msgspec.structs.replace(score, scale=scale_of(run.command, score.metric)) for score in run.scores]
        return msgspec.structs.replace(run, scores=scores)
    return run


def scale_of(command: str, metric: str) -> Scale:
    """How a metric of a run is to be read.

    A grounded metric may be anyone's and of any size (a log ratio, a sum), so that only verdicts are shares there.
    """
    if command not in ("ground", "meta eval") or metric.startswith("faithful:"):
        return "share"
    return "p" if command == "meta eval" and metric.startswith("p:") else "number"


def is_run(path: str) -> bool:
    try:
        return (Path(path) / "run.json").is_file()
    except OSError:  # a name too long to be one
        return False


def distinct(systems: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each (folder, system): the system's own, or its folder where systems of two runs have the same."""
    folders = Counter(folder for folder, _ in set(systems))
    names = Counter(name for _, name in set(systems))
    return [
        name if names[name] == 1 else folder.rstrip("/") + ("" if folders[folder] == 1 else f":{name}")
        for folder, name in systems
    ]


def rows(path: str) -> pl.DataFrame:
    import polars as pl

    file = Path(path) / "rows.parquet"
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise UserError(f"cannot be read: {first}", file=str(file), hint="make the run again") from error


def exchange(fresh: Path, target: Path) -> None:
    """Swap two folders in one step where the system can (Linux), else in two renames with the old one kept aside."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        swapped = ctypes.CDLL(None).renameat2(here, os.fsencode(fresh), here, os.fsencode(target), exchange) == 0
    except (AttributeError, OSError):
        swapped = False
    if not swapped:
        old = target.with_name(f".{target.name}-old-{os.getpid()}")
        target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old, ignore_errors=True)
