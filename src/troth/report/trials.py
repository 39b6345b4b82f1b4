"""Facts of a run's trajectories beyond its scores: which trials are solved, and where the others first go wrong."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from troth.storage.trajectory_views import TrajectoryView

WRONG, EXTRA, MISSING = "wrong arguments", "not expected", "missing"


class TrialFacts(NamedTuple):
    """One trial of a task, in a few facts."""

    system: str
    task: str
    trial: int
    solved: float | None
    wrong_turn: int | None  # the first user turn after which the state is wrong
    faults: Counter[tuple[str, str]]  # calls that differ from gold: tool, and kind of fault


def trial_facts(view: TrajectoryView) -> TrialFacts:
    """The facts of a trial as a run keeps it."""
    faults: Counter[tuple[str, str]] = Counter()
    for message in view.messages:
        for call in message.calls:
            if call.verdict in ("wrong", "extra"):
                faults[call.tool, WRONG if call.verdict == "wrong" else EXTRA] += 1
    for gold in view.gold or ():
        if gold.message is None and not gold.matched:
            faults[gold.tool, MISSING] += 1
    return TrialFacts(view.system, view.task, view.trial, view.solved, view.first_wrong_turn, faults)
