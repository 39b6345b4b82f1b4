"""Run folders: `run.json`, `rows.parquet` and, for people to look at, `dialogues.jsonl.gz`.

A run is replaced as a whole or not at all. Folders of earlier versions are read, too (`_completed`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.metric import Better, Metric
from troth.core.panics import without_backtrace
from troth.core.score import Score
from troth.core.version import __version__
from troth.storage.files import recover, sha256

if TYPE_CHECKING:
    import polars as pl

ROWS = "rows.parquet"
FILES = ("run.json", ROWS, "dialogues.jsonl.gz", "report.html")  # what may lie in a run's folder
LAYOUT = 1  # of run.json; raised when a reader of the old one would go wrong
AGAIN = "make the run again"
LARGEST = 1e15  # of a score, a numerator or a denominator: beyond it, sums lose whole units and then overflow


class Run(msgspec.Struct, frozen=True):
    """What `run.json` holds: what was run, with what, and what came out."""

    command: str
    arguments: dict[str, Any]
    versions: dict[str, str]
    counts: dict[str, dict[str, int]]  # per system: dialogues, and what was missing
    scores: list[Score]
    layout: int = LAYOUT
    details: list[Any] = []  # single units that a reader should see: flips, wavering ones
    metrics: list[Metric] = []  # what the scores' metrics are; runs before 0.2 have none
    notes: list[str] = []
    inputs: dict[str, dict[str, str]] = {}  # per system: digests of what it was scored against
    sha256: dict[str, str] = {}  # of the rows, which carry no checksum of their own; runs of earlier versions have none


class _Sealed(msgspec.Struct, frozen=True):
    """The part of `run.json` that says what the files beside it are."""

    sha256: dict[str, str] = {}


def versions() -> dict[str, str]:
    """The versions of troth, of Python, and of the packages that scores depend on."""
    from importlib.metadata import version

    packages = ("msgspec", "numpy", "polars", "rapidfuzz")
    return {"troth": __version__, "python": sys.version.split()[0], **{name: version(name) for name in packages}}


def foreign(target: Path) -> str | None:
    """What lies at the place of a run that is not a run's, and would be lost."""
    if not target.is_dir():
        return "is not a run of troth: it is a file"
    other = sorted(path.name for path in target.iterdir() if path.name not in FILES)
    return f"is not a run of troth: it holds '{other[0]}'" if other else None


def is_run(path: str) -> bool:
    """Whether a path is a run folder."""
    try:
        recover(Path(path))
        return (Path(path) / "run.json").is_file()
    except (OSError, ValueError):  # a name that cannot be one
        return False


def load(path: str) -> Run:
    """What `run.json` of a run folder holds."""
    file = Path(path)
    hint = "was it written by troth dst --out?"
    with reading(path, "not a run", hint=hint, also=(ValueError,)):  # ValueError: a null character in the name
        recover(file)
        file = file / "run.json" if file.is_dir() else file
        if not file.is_file():
            raise UserError("not a run: no run.json in it", file=path, hint="make one with troth dst … --out RUN")
    with reading(file, "not a run", hint=hint):
        run = msgspec.json.decode(file.read_bytes(), type=Run)
    if run.layout > LAYOUT:
        raise UserError("written by a newer troth", file=str(file), hint="update troth to read it")
    for score in run.scores:
        if not _is_possible(score):
            what = f"impossible: '{score.metric}' is {score.value}, with an interval from {score.low} to {score.high}"
            raise UserError(what, file=str(file), hint=AGAIN)
    return run if run.metrics else _completed(run)


def _is_possible(score: Score) -> bool:
    """Whether a score's numbers can be printed, and its interval runs from low to high."""
    known = [number for number in (score.value, score.low, score.high) if number is not None]
    in_order = score.low is None or score.high is None or score.low <= score.high
    return in_order and all(abs(number) <= LARGEST for number in known)


def rows(path: str) -> pl.DataFrame:
    """`rows.parquet`: one row per unit and metric."""
    import polars as pl

    with _reading(_verified(path)) as file:
        return pl.read_parquet(file)


def rows_by_metric(path: str) -> Iterator[pl.DataFrame]:
    """`rows.parquet` metric by metric, so that memory holds the rows of one; all at once where it has no metrics."""
    import polars as pl

    with _reading(_verified(path)) as file:
        lazy = pl.scan_parquet(file)
        named = lazy.collect_schema().get("metric") == pl.String
        names = lazy.select(pl.col("metric").unique()).collect()["metric"] if named else pl.Series([None])
    if names.null_count():
        yield rows(path)
        return
    for name in names.sort():
        with _reading(file):
            mine = lazy.filter(pl.col("metric") == name).collect()
        yield mine


def _verified(path: str) -> Path:
    """The file with the rows, if it is the one that was written with `run.json`."""
    file = Path(path) / ROWS
    with reading(file, hint=AGAIN):
        expected = msgspec.json.decode((file.parent / "run.json").read_bytes(), type=_Sealed).sha256.get(ROWS)
        same = expected is None or expected == sha256(file)
    if not same:
        raise UserError("is not the file that the run wrote: its SHA-256 differs", file=str(file), hint=AGAIN)
    return file


@contextmanager
def _reading(file: Path) -> Iterator[Path]:
    """Turns what polars says of a damaged file into one line; on some it panics."""
    import polars as pl

    damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    with reading(file, hint=AGAIN, also=damage), without_backtrace():
        yield file


# -- runs of version 0.1, which did not say what their metrics are -----------------------------------------------------

_LOWER = r"ser|ser_applicable|(ss|all_wrong)_.+|(false_accepts|gold_rejected)(:.+)?"
_HEADLINE = ("jga", "aga", "fga@0.5", "turn_match")
_FAMILIES = (  # names of derived metrics: the metric that they are of, and what by
    r"(?P<variant>ss|all_wrong)_(?P<of>.+)",
    r"(?P<of>[^:]+):(?P<variant>.+)",
    r"(?P<of>.+)_(?P<variant>orig|drop|v\d.*|.*\+.*)",
    r"(?P<of>fga)@(?P<variant>.+)",
)


def _completed(run: Run) -> Run:
    """The same run with what its metrics are, which 0.1 knew by their names."""
    metrics: dict[str, Metric] = {}
    for score in run.scores:
        scale = score.scale
        if scale == "share" and run.command in ("ground", "meta eval") and not score.metric.startswith("faithful:"):
            scale = "p" if run.command == "meta eval" and score.metric.startswith("p:") else "number"
        better: Better = "lower" if re.fullmatch(_LOWER, score.metric) else "higher"
        derived = next(filter(None, (re.fullmatch(form, score.metric) for form in _FAMILIES)), None)
        of, variant = (derived["of"], derived["variant"]) if derived else ("", "")
        metrics[score.metric] = Metric(
            score.metric, score.metric, better=better, scale=scale, of=of, variant=variant,
            headline=score.metric in _HEADLINE,
        )  # fmt: skip
        if run.command == "meta eval" and of == "auroc":  # its rows are of the metric itself
            metrics[variant] = Metric(variant, variant, scale="number")
    scores = [
        msgspec.structs.replace(s, scale=metrics[s.metric].scale, better=metrics[s.metric].better) for s in run.scores
    ]
    return msgspec.structs.replace(run, scores=scores, metrics=list(metrics.values()))
