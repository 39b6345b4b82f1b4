"""Run folders: `run.json`, `rows.parquet` and, for people to look at, `dialogues.jsonl.gz`.

A run is replaced as a whole or not at all. `run.json` holds the SHA-256 of the files beside it and a digest of its own
content, so that a damaged run is an error and never another number.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core.decode import reading
from troth.core.encoding import decode_json, encode_json
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.panics import without_backtrace
from troth.core.result import FINDINGS, Note, Result, UnscoredCount, package_versions
from troth.core.score import Score
from troth.storage import files
from troth.storage.files import recover, sha256

if TYPE_CHECKING:
    import polars as pl

    from troth.storage.explorer import Archive

ROWS, EXPLORER = "rows.parquet", "dialogues.jsonl.gz"
FILES = ("run.json", ROWS, EXPLORER, "report.html")  # files that a run folder may hold
LAYOUT = 2  # of run.json; raised when a reader of the old one would go wrong
AGAIN = "make the run again"
LARGEST = 1e15  # of a score, a numerator or a denominator: beyond it, sums lose whole units and then overflow


class Run(msgspec.Struct, frozen=True):
    """The content of `run.json`: task, options, inputs and scores."""

    command: str
    arguments: dict[str, Any]
    versions: dict[str, str]
    counts: dict[str, dict[str, int]]  # per system: dialogues, and what was missing
    scores: list[Score]
    layout: int = LAYOUT
    findings: list[dict[str, Any]] = []
    metrics: list[Metric] = []
    notes: list[Note] = []
    inputs: dict[str, dict[str, str]] = {}  # per system: digests of what it was scored against
    cluster: str = "dialogue"
    unscored: list[UnscoredCount] = []
    sha256: dict[str, str] = {}  # of the files beside run.json
    seal: str = ""  # digest of all of the above


class _Layout(msgspec.Struct, frozen=True):
    layout: int
    sha256: dict[str, str] = {}


def save(result: Result, folder: str) -> None:
    """Writes a run folder, whole or not at all; an older run in its place is replaced."""
    import polars as pl

    run = Run(
        result.task,
        dict(result.arguments),
        dict(result.versions) or package_versions(),
        {system: dict(counts) for system, counts in result.counts.items()},
        list(result.scores),
        findings=[msgspec.to_builtins(finding) for finding in result.findings],
        metrics=[metric.stored for metric in result.metrics],
        notes=list(result.notes),
        inputs={system: dict(digests) for system, digests in result.inputs.items()},
        cluster=result.cluster,
        unscored=list(result.unscored),
    )
    with files.replaced_folder(folder, foreign_content) as fresh:
        rows = result.rows() if result.make_rows is None else result.make_rows()
        write = rows.write_parquet if isinstance(rows, pl.DataFrame) else rows.sink_parquet
        write(fresh / ROWS)
        if result.make_explorer is not None:
            from troth.storage import explorer

            explorer.write(fresh / EXPLORER, result.explorer())
        digests = {name: sha256(fresh / name) for name in (ROWS, EXPLORER) if (fresh / name).is_file()}
        run = msgspec.structs.replace(run, sha256=digests)
        sealed = msgspec.structs.replace(run, seal=compute_seal(encode_json(run)))
        (fresh / "run.json").write_bytes(msgspec.json.format(encode_json(sealed), indent=1) + b"\n")


def compute_seal(data: bytes) -> str:
    """A digest of the content of `run.json`, whatever the order of its keys, without the seal itself."""
    content = msgspec.json.decode(data)
    content.pop("seal", None)
    return hashlib.sha256(encode_json(content, deterministic=True)).hexdigest()


def open(folder: str | os.PathLike[str]) -> Result:
    """Opens a run folder that `--out` or `Result.save` wrote.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     troth.dst(demo.path("gold"), demo.path("hasty"), metrics="jga", out=f"{folder}/run")["jga"].n
    ...     troth.open(f"{folder}/run")["jga"].n
    184
    184
    """
    path = os.fspath(folder)
    run = load(path)

    def archive() -> Archive:
        from troth.storage import explorer

        return explorer.stream(_verify(path, EXPLORER))

    return Result(
        run.command,
        run.scores,
        run.metrics,
        run.counts,
        run.notes,
        [_typed(finding, path) for finding in run.findings],
        run.arguments,
        run.versions,
        run.inputs,
        run.cluster,
        run.unscored,
        make_rows=lambda: rows(path),
        make_explorer=archive if (Path(path) / EXPLORER).is_file() else None,
    )


def _typed(finding: dict[str, Any], path: str) -> Any:
    """A stored finding as the record that its task declares; findings of tasks that are not installed stay mappings."""
    tag = str(finding.get("finding"))
    if tag not in FINDINGS:
        return finding
    try:
        return msgspec.convert(finding, FINDINGS[tag])
    except msgspec.ValidationError as error:
        raise UserError(f"run.json: findings: {error}", file=path, hint=AGAIN) from None


def check_out(out: str | os.PathLike[str]) -> str:
    """Checks before any work is done that a run can be written here, and replaces nothing but a run."""
    files.check_replaceable(os.fspath(out), foreign_content)
    return os.fspath(out)


def describe_files(out: str) -> str:
    """The line that tells the user which files of a run were written."""
    return "written: " + ", ".join(f"{out}/{name}" for name in FILES[:3] if (Path(out) / name).is_file())


def foreign_content(target: Path) -> str | None:
    """Content of a folder that does not belong to a run and would be lost; None if there is none."""
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
        data = file.read_bytes()
        layout = msgspec.json.decode(data, type=_Layout).layout
        if layout != LAYOUT:
            age, what = ("a newer", "update troth to read it") if layout > LAYOUT else ("an older", AGAIN)
            raise UserError(f"written by {age} troth", file=str(file), hint=what)
        run = decode_json(data, Run)
    if run.seal != compute_seal(data):
        raise UserError("damaged: its content does not match its digest", file=str(file), hint=AGAIN)
    for score in run.scores:
        if not _is_possible(score):
            what = f"impossible: '{score.metric}' is {score.value}, with an interval from {score.low} to {score.high}"
            raise UserError(what, file=str(file), hint=AGAIN)
    return run


def _is_possible(score: Score) -> bool:
    """Whether a score's numbers can be printed, and its interval runs from low to high."""
    known = [number for number in (score.value, score.low, score.high) if number is not None]
    in_order = score.low is None or score.high is None or score.low <= score.high
    return in_order and all(abs(number) <= LARGEST for number in known)


def rows(path: str) -> pl.DataFrame:
    """`rows.parquet`: one row per unit and metric."""
    import polars as pl

    with _reading(_verify(path, ROWS)) as file:
        return pl.read_parquet(file)


def rows_by_metric(path: str, only: str | None = None) -> Iterator[pl.DataFrame]:
    """`rows.parquet` metric by metric, so that memory holds the rows of one; all at once where it has no metrics.

    `only`: the rows of this metric alone, which may be none.
    """
    import polars as pl

    with _reading(_verify(path, ROWS)) as file:
        lazy = pl.scan_parquet(file)
        named = lazy.collect_schema().get("metric") == pl.String
        names = lazy.select(pl.col("metric").unique()).collect()["metric"] if named else pl.Series([None])
    if names.null_count():
        yield rows(path)
        return
    for name in names.sort() if only is None else [only]:
        with _reading(file):
            mine = lazy.filter(pl.col("metric") == name).collect()
        yield mine


def _verify(path: str, name: str) -> Path:
    """A file of the run folder, if it is the one that was written with `run.json`."""
    file = Path(path) / name
    with reading(file, hint=AGAIN):
        expected = msgspec.json.decode((file.parent / "run.json").read_bytes(), type=_Layout).sha256.get(name)
        same = expected == sha256(file)
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
