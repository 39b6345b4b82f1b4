"""The history of an assistant or system: a small JSONL file with one line per recorded run.

The file is replaced as a whole, so that it holds a run or not, and never half of one. Processes that record runs at the
same time wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.metric import Better, Scale
from troth.core.result import Result
from troth.storage import runs
from troth.storage.files import replaced_file, writing
from troth.storage.locks import lock

WAIT = 10.0  # seconds to wait for another process that records a run
NOT_HISTORY = "is not a history of troth"


class RecordedScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """A score over everything, as a run had it."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    identity: str = ""  # the signature without the number of units and the version: equal ones can be compared
    title: str = ""
    scale: Scale = "share"
    better: Better = "higher"
    headline: bool = False


class HistoryEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One recorded run of one system."""

    time: str  # UTC, ISO 8601
    task: str
    system: str
    scores: dict[str, RecordedScore]
    label: str = ""  # of the user's own: a commit, a version
    verdicts: dict[str, str] = {}  # of gates, by metric


def record_run(
    path: str | os.PathLike[str],
    run: Result | str | os.PathLike[str],
    *,
    system: str | None = None,
    label: str = "",
    verdicts: Mapping[str, str] | None = None,
) -> HistoryEntry:
    """Adds a run, a `Result` or a run folder, to a history file, which is made if there is none; returns the entry.

    `system`: which one of several; by default the first. `label`: a commit or a version. `verdicts`: those of gates.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> result = troth.agent(demo.path("agents/hasty.jsonl"), metrics="pass^1")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     entry = troth.record_run(f"{folder}/history.jsonl", result, label="1a2b3c")
    >>> entry.label, entry.scores["pass^1"].n
    ('1a2b3c', 6)
    """
    result = run if isinstance(run, Result) else runs.open(run)
    name = system if system is not None else result.systems[0] if result.systems else ""
    known = [one for one in result.scores if (one.system, one.group) == (name, ALL) and one.value is not None]
    if not known:
        raise UserError(f"'{name}' has no score to record", hint="systems: " + ", ".join(result.systems))
    metrics = {one.metric: result.metric(one.metric) for one in known}
    scores = {
        one.metric: RecordedScore(
            one.value or 0.0, one.low, one.high, one.n, one.identity, metrics[one.metric].title, one.scale, one.better,
            metrics[one.metric].headline,
        )
        for one in known
    }  # fmt: skip
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = HistoryEntry(now, result.task, name, scores, label, dict(verdicts or {}))
    target = Path(os.fspath(path))
    with writing(str(target)):
        folder = target.parent.resolve()
    with lock(folder, WAIT):  # the file itself is replaced: a lock on it would not hold
        before = target.read_bytes() if target.is_file() and read_history(target) else b""
        with replaced_file(str(target), lambda file: None if file.is_file() else NOT_HISTORY) as file:
            file.write(
                before + (b"\n" if before and not before.endswith(b"\n") else b"") + msgspec.json.encode(entry) + b"\n"
            )
    return entry


def read_history(path: str | os.PathLike[str]) -> list[HistoryEntry]:
    """The runs of a history file, in the order in which they were recorded."""
    file = os.fspath(path)
    entries = []
    with reading(file):
        lines = Path(file).read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            with reading(file, f"{NOT_HISTORY}: line {number}", hint="was it written by troth gate --history?"):
                entries.append(msgspec.json.decode(line, type=HistoryEntry))
    return entries
