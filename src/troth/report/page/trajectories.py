"""The trajectories of all runs in one compact block: long texts once each, and records as runs keep them.

    {"texts": [...], "systems": [...], "verdicts": {...}, "trials": [{...}, ...]}

A trial is a `TrajectoryView` as JSON, without the fields that have their default. Its `system` is a place in `systems`,
and the `text` of its messages a place in `texts`: the system's instructions and many results are the same in all.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from typing import Any

import msgspec

from troth.report.sources import Source
from troth.storage.trajectory_views import CALL_VERDICTS, TrajectoryView


class TrialPack:
    """Trajectories of several runs in one block."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._trials: list[dict[str, Any]] = []

    def add(self, source: Source) -> None:
        """All trajectories of a run, under the names that its systems have on the page."""

        def view(view: TrajectoryView) -> None:
            packed = msgspec.to_builtins(view)
            packed["system"] = source.names.get(view.system, view.system)
            for message in packed.get("messages", ()):
                message["text"] = self._texts.setdefault(message.get("text", ""), len(self._texts))
            self._trials.append(packed)

        source.read_trials(view)

    def block(self, order: Sequence[str] = ()) -> str:
        """The block as base64 of gzip of JSON, empty without trajectories. `order`: systems that come first."""
        if not self._trials:
            return ""
        every = dict.fromkeys(trial["system"] for trial in self._trials)
        systems = [name for name in order if name in every] + [name for name in every if name not in order]
        codes = {name: code for code, name in enumerate(systems)}
        trials = [trial | {"system": codes[trial["system"]]} for trial in self._trials]
        block = {"texts": list(self._texts), "systems": systems, "verdicts": CALL_VERDICTS, "trials": trials}
        return base64.b64encode(gzip.compress(msgspec.json.encode(block), 6, mtime=0)).decode()


def pack_trials(sources: Sequence[Source]) -> TrialPack:
    """Reads and packs the trajectories of all runs."""
    packed = TrialPack()
    for source in sources:
        packed.add(source)
    return packed
