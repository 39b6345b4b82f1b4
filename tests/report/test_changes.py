"""Which tasks and dialogues broke between two runs, and where they first differ."""

from __future__ import annotations

from typing import Any

import pytest

import troth
from troth import demo
from troth.core.result import Result
from troth.core.trajectories import Call, Expected, Message, Trajectory
from troth.report import page
from troth.report.changes import Changes, compare_trials, find_changes
from troth.report.compare import open_pair
from troth.report.page.model import Examples
from troth.report.page.names import open_runs
from troth.storage.trajectory_views import TrajectoryView

GOLD = (Expected("cancel_order", {"id": (7,)}), Expected("send_mail", {"to": ("a@b.c",)}))
RIGHT = (Call("cancel_order", {"id": 7}), Call("send_mail", {"to": "a@b.c"}))


def trial(calls: tuple[Call, ...], said: str = "Done.", id: str = "t", number: int = 0) -> Trajectory:
    messages = [Message("user", "Cancel order 7 and tell a@b.c.")]
    for call in calls:
        messages += [Message("assistant", calls=(call,)), Message("tool", "ok")]
    messages.append(Message("assistant", said))
    return Trajectory(f"{id}/{number}", tuple(messages), task=id, trial=number, expected=GOLD)


def run(*trials: Trajectory) -> Result:
    return troth.agent(list(trials), resamples=1)


def changes(old: Result, new: Result, metric: str = "pass^1") -> Changes:
    return find_changes(*open_pair(old, new), metric)


def view(one: Trajectory) -> TrajectoryView:
    (found,) = run(one).explorer().trajectories
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(("calls", "text", "message"), [
    (RIGHT[:1], "send_mail(to=a@b.c) is not called", None),
    ((*RIGHT, Call("refund", {})), "refund() is called in addition", 5),
    ((RIGHT[1], RIGHT[0]), "send_mail(to=a@b.c) in place of cancel_order(id=7)", 1),
    ((Call("cancel_order", {"id": 8}), RIGHT[1]), "cancel_order: id = 8, not 7", 1),
    ((Call("cancel_order", {}), RIGHT[1]), "cancel_order: id = nothing, not 7", 1),
    ((Call("cancel_order", broken="7"), RIGHT[1]), "cancel_order: the arguments are not a JSON object", 1),
    (RIGHT, "the same calls and answers", None),
])  # fmt: skip
def test_the_first_step_that_differs(calls: tuple[Call, ...], text: str, message: int | None) -> None:
    found = compare_trials(view(trial(RIGHT)), view(trial(calls)))
    assert (found.text, found.message) == (text, message)


def test_another_answer_after_the_same_calls() -> None:
    found = compare_trials(view(trial(RIGHT)), view(trial(RIGHT, "Sorry.")))
    assert (found.text, found.turn, found.message, found.base_message) == ("the same calls, another answer", 0, 5, 5)


def test_tasks_that_broke_and_tasks_that_were_mended() -> None:
    wrong = RIGHT[:1]
    old = run(trial(RIGHT, id="a"), trial(RIGHT, id="a", number=1), trial(wrong, id="b"), trial(RIGHT, id="c"))
    new = run(trial(RIGHT, id="a"), trial(wrong, id="a", number=1), trial(RIGHT, id="b"), trial(RIGHT, id="c"))
    broken, mended = changes(old, new)
    assert [(one.unit, one.before, one.after) for one in broken] == [("a", 1.0, 0.5)]
    assert [(one.unit, one.before, one.after, one.step) for one in mended] == [("b", 0.0, 1.0, None)]
    step: Any = broken[0].step
    assert (step.trial, step.base_trial, step.text) == (1, 0, "send_mail(to=a@b.c) is not called")
    assert changes(old, old) == ([], [])


def test_conversations_without_gold_break_by_what_is_said() -> None:
    def said(text: str) -> Result:
        others = [trial(RIGHT, id="other")]
        messages = (Message("user", "Cancel LC-1."), Message("assistant", text))
        return run(*others, Trajectory("chat", messages))

    broken, _ = changes(
        said("Shall I cancel it?  I cancelled nothing."), said("I have cancelled LC-1."), "grounded_answers"
    )
    assert broken == []  # there was nothing to judge before
    old, new = said("I cancelled LC-2. I can help."), said("I cancelled LC-2, and I have sent a mail.")
    assert changes(old, new, "claims_without_calls").broken == []  # all claims were false before, and are
    hasty, sturdy = (troth.agent(demo.path(f"agents/{name}.jsonl")) for name in ("hasty", "sturdy"))
    step: Any = changes(sturdy, hasty, "claims_without_calls").broken[0].step
    assert (step.trial, step.turn, step.message) == (0, 0, 6)
    assert step.text.startswith("claim: I have cancelled BK7100")


def test_dialogues_break_at_a_turn(tmp_path: Any) -> None:
    for result in (troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), metrics="jga"),):
        old, new = result.only("sturdy"), result.only("hasty")
        found = changes(old, new, "jga")
        first = found.broken[0]
        assert (first.unit, first.after) == ("demo_09", 0.0)
        assert first.step is not None
        assert first.step.turn == 0
        old.save(tmp_path / "old")
        new.save(tmp_path / "new")
        assert find_changes(*open_pair(tmp_path / "old", tmp_path / "new"), "jga") == found


def test_the_page_lists_tasks_that_broke_and_were_mended() -> None:
    old, new = (troth.agent(demo.path(f"agents/{name}.jsonl")) for name in ("sturdy", "hasty"))
    for runs, title, tasks in (
        ((old, new), "Solved by sturdy, failed now", 5),
        ((new, old), "Failed by hasty, solved now", 5),
    ):
        made = page.build(open_runs(runs))
        lists = {block.title: block for one in made.sections for block in one.blocks if isinstance(block, Examples)}
        assert len(lists[title].items) == tasks
    broken = [
        block
        for one in page.build(open_runs((old, new))).sections
        for block in one.blocks
        if isinstance(block, Examples)
    ]
    first = next(block for block in broken if block.title.startswith("Solved by")).items[0]
    assert (first.place, first.system, first.trial, first.turn) == ("task change", "hasty", "0", "m2")
    assert first.pieces[0].text.startswith("change_booking(booking_id=BK5020, nights=two more) in place of get_booking")
