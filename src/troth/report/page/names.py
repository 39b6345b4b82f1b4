"""Unique names of runs and systems on a page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from troth.core.errors import UserError
from troth.core.names import split_profile
from troth.report.page.tracking import profiles
from troth.report.sources import Run, Source, open_run
from troth.tracking.score import TASK as TRACKING


def open_runs(runs: Sequence[Run]) -> list[Source]:
    """The runs of a page. A system has its own name, or its run's where two runs of one task have the same.

    Runs of different tasks ask different questions, and one name in both is taken for one system.
    """
    sources = [open_run(run, number) for number, run in enumerate(runs, 1)]
    folders = _folder_names([source.path for source in sources])
    names_by_run = [_system_names(source) for source in sources]
    shared = Counter(
        (source.result.task, name)
        for source, names in zip(sources, names_by_run, strict=True)
        for name in names.values()
    )
    named = []
    for folder, source, called in zip(folders, sources, names_by_run, strict=True):
        several = len(source.systems) > 1
        names = {
            system: name if shared[source.result.task, name] == 1 else f"{folder}:{name}" if several else folder
            for system, name in called.items()
        }
        named.append(replace(source, name=folder, names=names))
        _ = named[-1].rows  # damaged ones are reported before anything is computed
    return named


def _system_names(source: Source) -> dict[str, str]:
    """Systems by the names that they have in the run; under the first of several profiles, without the profile."""
    names = {system.system: system.system for system in source.systems}
    for group in profiles(source) if source.result.task == TRACKING.name else ():
        base = split_profile(group[0].system, next(iter(group[0].scores.values())).profile)
        if len(group) > 1 and base not in names:
            names[group[0].system] = base
    return names


def _folder_names(paths: Sequence[str]) -> list[str]:
    """The part of each path that differs from the others."""
    parts = [[part for part in os.path.abspath(path).split(os.sep) if part] or [path] for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise UserError("the same run is named twice", file=paths[0] if paths else None, hint="name every run once")
