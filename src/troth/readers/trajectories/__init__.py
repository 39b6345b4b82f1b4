"""Readers of trajectories: transcripts of assistants that call tools, one file per format, all giving `Trajectory`.

A reader is a module (or any object) as `troth.readers.format.Reader` describes it. It declares its format in one
record, `FORMAT`. Other packages add readers through the entry point group `troth.trajectory_readers`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from troth.core.errors import UserError
from troth.core.registry import Registry
from troth.core.trajectories import Trajectory
from troth.readers import source
from troth.readers.decode import LAYOUT, error_context
from troth.readers.format import Reader, recognise

FORMATS: Registry[Reader] = Registry(
    "format of trajectories",
    "troth.trajectory_readers",
    # In the order in which they are tried: the most distinctive formats first.
    {
        "tau-bench": "troth.readers.trajectories.tau",
        "tau2-bench": "troth.readers.trajectories.tau2",
        "bfcl": "troth.readers.trajectories.bfcl",
        "otel": "troth.readers.trajectories.otel",
        "chat": "troth.readers.trajectories.chat",
    },
)


def read(path: str, format: str | None = None, skipped: list[str] | None = None) -> Iterator[Trajectory]:
    """Every trajectory under a path (a file, a folder, an archive, `-`), in the order of the files.

    Ids are unique, and a task has each trial once; the same task in two files must have different trials. `skipped`: a
    list for the errors of rows that are skipped; None: the first error is raised.
    """
    seen: set[str] = set()
    trials: set[tuple[str, int]] = set()
    for whole in source.documents(path):
        document = msgspec.structs.replace(whole, skipped=skipped)
        reader = FORMATS.load(format or detect(document))
        with error_context(file=document.name, hint=LAYOUT):
            for item in reader.read(document):
                if item.id in seen or (item.unit, item.trial) in trials:
                    what = f"duplicate trial {item.trial} of task {item.unit}"
                    raise UserError(what, dialogue=item.id, hint="keep one of the two")
                seen.add(item.id)
                trials.add((item.unit, item.trial))
                yield item


def detect(document: source.Document) -> str:
    """The name of the format of a document."""
    return recognise(FORMATS, document)
