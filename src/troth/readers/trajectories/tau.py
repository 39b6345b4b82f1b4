"""τ-bench result files: a list of trials with the task's gold actions, the reward and the messages.

    [{"task_id": 0, "trial": 0, "reward": 1.0, "info": {"task": {"actions": […], "outputs": […]}}, "traj": […]}]

Gold actions have no turns. A user's `###STOP###` ends a conversation, and is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.trajectories import Expected, Trajectory
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import first_item, items, skipping
from troth.readers.trajectories.messages import messages, name_of, trial_number, usage

LARGEST = 1e6  # larger numbers are not rewards

FORMAT = Format(
    name="tau-bench", about="τ-bench results: trials with gold actions, rewards and messages", profile="tau"
)


def detect(document: Document) -> bool:
    row = first_item(document)
    return isinstance(row, dict) and "traj" in row and "task_id" in row


def read(document: Document) -> Iterator[Trajectory]:
    for value in items(document):
        row = plain.mapping(value, "a result")
        task, trial = name_of(plain.field(row, "task_id", "a result"), ""), trial_number(row.get("trial"))
        with skipping(document), error_context(dialogue=f"{task}/{trial}"):
            yield _trajectory(row, task, trial)


def _trajectory(row: dict[str, Any], task: str, trial: int) -> Trajectory:
    info = row.get("info")
    gold = info.get("task") if isinstance(info, dict) else None
    gold = gold if isinstance(gold, dict) else {}
    outputs = plain.sequence(gold.get("outputs") or [], "'outputs'")
    unread: Counter[str] = Counter()
    return Trajectory(
        f"{task}/{trial}",
        messages(plain.sequence(plain.field(row, "traj", "a result"), "'traj'"), unread),
        task,
        trial,
        expected=actions(gold["actions"], "kwargs") if "actions" in gold else None,
        outputs=tuple(plain.text(output, "an output") for output in outputs),
        reward=reward(row.get("reward")),
        usage=usage(row),
        unread=dict(unread),
    )


def actions(value: object, arguments: str) -> tuple[Expected, ...]:
    """Gold actions, with their arguments under the key `arguments` and one accepted value each."""
    expected: list[Expected] = []
    for item in plain.sequence(value, "'actions'"):
        action = plain.mapping(item, "an action")
        values = plain.mapping(action.get(arguments) or {}, f"'{arguments}' of an action")
        compared = action.get("compare_args")  # τ²-bench: only these count; others may have any value or be missing
        compared = None if compared is None else plain.sequence(compared, "'compare_args'")
        counted = values if compared is None else {key: value for key, value in values.items() if key in compared}
        name = plain.text_of(action, "name", "an action")
        expected.append(Expected(name, {key: (value,) for key, value in counted.items()}, open=compared is not None))
    return tuple(expected)


def reward(value: object) -> float | None:
    """The reward that a benchmark gave."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST):
        return None if value is None else float(value)
    raise UserError(f"the reward is {plain.describe(value)}, not a number")
