"""Tasks: the subject of each command that scores, and the section of the page that shows its runs.

A task is declared beside its scoring function. Other packages add tasks through the entry point group
`troth.scoring_tasks`; the page asks the registry, and knows no task by name.
"""

from __future__ import annotations

import msgspec

from troth.core.registry import Registry


class Task(msgspec.Struct, frozen=True):
    """One kind of result."""

    name: str  # the command: "dst", "robust sgdx"
    topic: str  # in the page's first sentence: "state tracking"
    counted: str  # the count that says how much was looked at: "dialogues", "responses"
    page: str  # import path of the module whose `contribute` makes the section
    varies: bool = False  # whether its sets may hold fewer dialogues than the original
    no_explorer: str = ""  # why the page of such runs alone has no explorer


TASKS: Registry[Task] = Registry(
    "task",
    "troth.scoring_tasks",
    {
        "agent score": "troth.agents.score:TASK",
        "agent run": "troth.agents.live.run:TASK",
        "dst": "troth.tracking.score:TASK",
        "robust checkdst": "troth.robustness.checkdst:TASK",
        "robust sgdx": "troth.robustness.sgdx:TASK",
        "nlg": "troth.responses.score:TASK",
        "multiwoz": "troth.responses.multiwoz.score:TASK",
        "ground": "troth.grounding.score:TASK",
    },
)
