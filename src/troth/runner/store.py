"""Results on disk: a folder with `run.json` and `rows.parquet`, replaced as a whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth import __version__
from troth.errors import UserError
from troth.records import Score

if TYPE_CHECKING:
    import polars as pl

LAYOUT = 1  # of run.json; raised when a reader of the old one would go wrong


class Run(msgspec.Struct, frozen=True):
    """What was run, with what, and what came out."""

    command: str
    arguments: dict[str, Any]
    versions: dict[str, str]
    counts: dict[str, dict[str, int]]  # per system: dialogues, and what was missing
    scores: list[Score]
    layout: int = LAYOUT


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
) -> None:
    """Write a run. A crash at any moment leaves the old folder or the new one."""
    target = Path(out)
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / "run.json").is_file())):
        raise UserError("exists and is not a run of troth", file=out, hint="choose another --out")
    run = Run(command, dict(arguments), versions(), dict(counts), scores)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint="choose another --out") from error
    try:
        (fresh / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
        rows.write_parquet(fresh / "rows.parquet")
        fresh.chmod(0o755)
        if target.exists():
            _exchange(fresh, target)
        else:
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # what was not moved, or what was there before


def load(path: str) -> Run:
    file = Path(path) / "run.json" if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise UserError("not a run: no run.json in it", file=path, hint="make one with troth dst … --out RUN")
    try:
        run = msgspec.json.decode(file.read_bytes(), type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"not a run: {error}", file=str(file), hint="was it written by troth dst --out?") from error
    if run.layout > LAYOUT:
        raise UserError("written by a newer troth", file=str(file), hint="update troth to read it")
    return run


def rows(path: str) -> pl.DataFrame:
    import polars as pl

    file = Path(path) / "rows.parquet"
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise UserError(f"cannot be read: {first}", file=str(file), hint="make the run again") from error


def _exchange(fresh: Path, target: Path) -> None:
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
