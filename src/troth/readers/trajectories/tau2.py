"""τ²-bench result files: tasks with their gold actions, and simulations of them.

    {"tasks": [{"id": "0", "evaluation_criteria": {"actions": […], "communicate_info": […]}}],
     "simulations": [{"task_id": "0", "trial": 0, "messages": […], "reward_info": {"reward": 1.0}}]}

Actions and calls of the simulated user (`requestor: user`) are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.trajectories import Expected, Trajectory
from troth.readers import plain
from troth.readers.decode import decode, error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import skipping
from troth.readers.trajectories.messages import messages, name_of, trial_number, usage
from troth.readers.trajectories.tau import actions, reward

FORMAT = Format(name="tau2-bench", about="τ²-bench results: tasks with gold actions, and simulations", profile="tau")


def detect(document: Document) -> bool:
    return document.starts(b"{") and b'"simulations"' in document.data and b'"tasks"' in document.data


def read(document: Document) -> Iterator[Trajectory]:
    whole = decode(document, dict[str, msgspec.Raw])
    for key in ("tasks", "simulations"):
        plain.field(whole, key, "the file")
    tasks: dict[str, dict[str, Any]] = {}
    for gold in decode(document, list[dict[str, Any]], data=whole["tasks"]):
        tasks[name_of(plain.field(gold, "id", "a task"), "")] = gold
    for raw in decode(document, list[msgspec.Raw], data=whole["simulations"]):
        row = plain.mapping(decode(document, object, data=raw), "a simulation")
        task, trial = name_of(plain.field(row, "task_id", "a simulation"), ""), trial_number(row.get("trial"))
        with skipping(document), error_context(dialogue=f"{task}/{trial}"):
            if task not in tasks:
                raise UserError(f"there is no task '{task}' in the file", hint="is the file whole?")
            yield _trajectory(row, tasks[task], task, trial)


def _trajectory(row: dict[str, Any], gold: dict[str, Any], task: str, trial: int) -> Trajectory:
    criteria = plain.mapping(gold.get("evaluation_criteria") or {}, "'evaluation_criteria'")
    reward_info = row.get("reward_info") or {}
    outputs = plain.sequence(criteria.get("communicate_info") or [], "'communicate_info'")
    unread: Counter[str] = Counter()
    return Trajectory(
        f"{task}/{trial}",
        messages(plain.sequence(plain.field(row, "messages", "a simulation"), "'messages'"), unread),
        task,
        trial,
        expected=_expected(criteria.get("actions")),
        outputs=tuple(plain.text(output, "an entry of 'communicate_info'") for output in outputs),
        reward=reward(plain.mapping(reward_info, "'reward_info'").get("reward")),
        usage=usage(row),
        unread=dict(unread),
    )


def _expected(value: Any) -> tuple[Expected, ...] | None:
    if value is None:
        return None
    items = plain.sequence(value, "'actions'")
    by_user = [isinstance(item, dict) and item.get("requestor") == "user" for item in items]
    return actions([item for item, skip in zip(items, by_user, strict=True) if not skip], "arguments")
