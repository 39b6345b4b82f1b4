"""`troth.agent`: golden pass^k, the bundled assistants, gold from other files, and laws of every task."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import troth
from troth import demo
from troth.agents.explain import explain_rules
from troth.agents.metrics import METRICS, pass_hat
from troth.agents.rules import CHOICES, MatchingRule
from troth.agents.score import agent
from troth.core.errors import UserError
from troth.core.result import Result
from troth.core.signature import signature
from troth.core.trajectories import Call, Expected, Message, Trajectory
from troth.storage.trajectory_views import TrajectoryView

TOOLS = demo.path("agents/tools.json")
STURDY, HASTY = demo.path("agents/sturdy.jsonl"), demo.path("agents/hasty.jsonl")


def values(result: Result, *names: str) -> list[float | None]:
    return [result[name].value for name in names]


@pytest.fixture(scope="module")
def bundled() -> Result:
    return agent(HASTY, STURDY, tools=TOOLS, metrics="all")


@pytest.mark.shared
def test_pass_hat_k_is_what_the_benchmark_computes(shared: Path) -> None:
    """docs/metrics.md §5 of the shared folder: C(successes, k) / C(trials, k), mean over tasks."""
    file = shared / "data/agents/tau_airline/gpt-4o-airline.json"
    result = agent(file, tools=file.with_name("tools.json"), metrics="pass^1,pass^2,pass^3,pass^4")
    assert [f"{value:.6f}" for value in values(result, "pass^1", "pass^2", "pass^3", "pass^4")] == [
        "0.307143", "0.171429", "0.128571", "0.114286",
    ]  # fmt: skip
    assert result["pass^1"].n == 35
    assert result["pass^1"].signature.startswith("PASS^1|solved:reward|n:35")


@pytest.mark.shared
def test_140_trajectories_are_scored_whole(shared: Path) -> None:
    file = shared / "data/agents/tau_airline/gpt-4o-airline.json"
    result = agent(file, tools=file.with_name("tools.json"))
    assert result.counts["gpt-4o-airline"] == {"tasks": 35, "trials": 140, "missing_tasks": 0, "calls": 1001}
    assert values(result, "calls_right", "forbidden_calls", "claims_without_calls") == [43 / 140, 0.0, 27 / 183]
    alarms = [one for one in result.findings if one.kind in ("claim", "number", "time", "name", "value")]
    assert Counter(one.kind for one in alarms) == {"claim": 27, "name": 4, "value": 4}
    contradicted = [one for one in alarms if one.reason.startswith("the result has cabin")]
    assert len(contradicted) == 23, "τ-bench's tool leaves the cabin as it was"
    assert any("differ on 2 of 140 trials (2/1, 5/1)" in str(note) for note in result.notes)


@pytest.mark.shared
@pytest.mark.parametrize(("category", "right"), [("simple_python", 257), ("parallel_multiple", 142)])
def test_bfcl_whole(shared: Path, category: str, right: int) -> None:
    """Questions, answers and results joined: as many are right as the public checker says; states agree."""
    folder = shared / "data/agents/bfcl"
    gold = [folder / f"answers_{category}.json", folder / f"BFCL_v4_{category}.json"]
    result = agent(shared / f"golden/bfcl_{category}.json", gold=gold, metrics="calls_right,jga")
    assert result["calls_right"].value == right / result["calls_right"].n
    assert result["jga"].value == pytest.approx(
        result["calls_right"].value, abs=0.006
    )  # a required one that is optional


@pytest.mark.shared
def test_explain_takes_questions_and_answers(shared: Path) -> None:
    """From the public checker's rule to the exact one, on calls whose tools are in the questions."""
    folder = shared / "data/agents/bfcl"
    gold = [folder / "answers_multiple.json", folder / "BFCL_v4_multiple.json"]
    steps = explain_rules(shared / "golden/bfcl_multiple.json", gold=gold)
    golden = json.loads((shared / "golden/bfcl_multiple.json").read_bytes())
    assert steps[0].before == sum(row["valid"] for row in golden) / len(golden)
    assert [step.choice for step in steps] == ["values", "schema", "order"]
    assert steps[0].flips
    exact = agent(shared / "golden/bfcl_multiple.json", gold=gold, rule="exact", metrics="calls_right")
    assert steps[-1].after == exact["calls_right"].value


def test_bundled_assistants(bundled: Result) -> None:
    expected = {  # hasty, sturdy
        "pass^1": (5 / 12, 11 / 12), "pass^2": (1 / 6, 5 / 6), "calls_right": (5 / 12, 11 / 12),
        "call_precision": (13 / 22, 22 / 23), "call_recall": (13 / 22, 1.0), "extra_calls": (9 / 12, 1 / 12),
        "missing_calls": (9 / 12, 0.0), "forbidden_calls": (2 / 22, 0.0), "failed_calls": (2 / 22, 0.0),
        "repeated_calls": (2 / 22, 0.0), "provenance": (31 / 32, 1.0), "claims_without_calls": (4 / 14, 0.0),
        "unsupported_numbers": (2 / 10, 0.0), "unsupported_times": (0.5, 0.0), "wavering_tasks": (3 / 6, 1 / 6),
        "same_calls": (2 / 6, 1.0), "calls_per_solved": (22 / 5, 23 / 11),
    }  # fmt: skip
    scored = {name: tuple(bundled.score(name, system=one).value for one in ("hasty", "sturdy")) for name in expected}
    assert scored == {name: pytest.approx(both) for name, both in expected.items()}
    findings = {(one.kind, one.task, one.trial, one.value or one.text) for one in bundled.details}
    assert ("value", "receipt", 1, "tomas.ruiz@example.com") in findings
    claim = "Your booking BK4711 has been cancelled, and $140 has been refunded to your card."
    assert ("claim", "cancel", 1, claim) in findings


def test_every_metric_has_a_value_or_a_reason(bundled: Result, tmp_path: Path) -> None:
    assert {score.metric for score in bundled.scores if score.value is None} == {
        "seconds_per_solved",
        "cost_per_solved",
    }
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]))
    reasons = {score.metric: score.reason for score in agent(bare, metrics="all").scores if score.value is None}
    assert reasons["call_f1"] == reasons["jga"] == "no gold calls are known; give gold"
    assert "neither rewards nor gold" in (reasons["pass^1"] or "")
    assert reasons["forbidden_calls"] == "the tools are not known; give them"


def test_what_has_no_value_has_no_rows(tmp_path: Path) -> None:
    lines = Path(demo.path("agents/hasty.jsonl")).read_text(encoding="utf-8").splitlines()
    bare = tmp_path / "bare.jsonl"
    bare.write_text("\n".join(json.dumps({**json.loads(line), "tools": None}) for line in lines), encoding="utf-8")
    result = agent(bare, metrics="forbidden_calls,call_f1")
    assert result["forbidden_calls"].value is None
    assert set(result.rows()["metric"]) == {"call_f1"}


def test_trials_of_a_task_are_drawn_together(bundled: Result) -> None:
    rows = bundled.rows()
    assert set(rows["dialogue"].to_list()) == {"ask", "book", "both", "cancel", "change", "receipt"}
    assert set(rows["service"].drop_nulls().to_list()) == {"trial 0", "trial 1"}
    verdict = troth.gate(bundled.only("hasty"), bundled.only("sturdy"), metric="pass^1", margin=0.05)
    assert (verdict.verdict, verdict.dialogues) == ("not worse", 6)
    assert bundled.clusters == "tasks"
    (difference,) = troth.compare(bundled, metrics="calls_per_solved")
    assert difference.value == pytest.approx(23 / 11), "trials that are not solved are paid for, too"


def test_counts_and_costs_are_never_below_zero(bundled: Result) -> None:
    counts = [one for one in bundled.scores if one.scale == "number" and one.low is not None]
    assert {one.metric for one in counts} >= {"extra_calls", "calls_per_solved", "tokens_per_solved"}
    assert all(0.0 <= one.low <= one.value <= one.high for one in counts)  # type: ignore[operator]


def test_scores_by_tool(bundled: Result) -> None:
    """The tools' calls add up to all calls; metrics over trials have no groups."""
    result = agent(HASTY, tools=TOOLS, by="tool", metrics="call_recall,arguments_right,failed_calls,provenance,pass^1")
    for name in ("call_recall", "arguments_right", "failed_calls", "provenance"):
        groups = [score for score in result.scores if score.metric == name and score.group != "all"]
        assert sum(score.n for score in groups) == result[name].n
        assert sum((score.value or 0.0) * score.n for score in groups) / result[name].n == pytest.approx(
            result[name].value
        )
    assert {score.group for score in result.scores if score.metric == "pass^1"} == {"all"}
    assert result.score("call_recall", group="tool:book_room").value == 1 / 4
    with pytest.raises(UserError, match="cannot group by 'tol'"):
        agent(HASTY, by="tol")


def test_saved_and_opened(bundled: Result, tmp_path: Path) -> None:
    bundled.save(tmp_path / "run")
    again = troth.open(tmp_path / "run")
    assert again.scores == bundled.scores
    views = list(again.explorer().trajectories)
    assert views == list(bundled.explorer().trajectories)
    assert len(views) == 24


def view(result: Result, system: str, id: str) -> TrajectoryView:
    views: list[TrajectoryView] = list(result.explorer().trajectories)
    return next(view for view in views if (view.system, view.id) == (system, id))


def test_equal_calls_are_different_calls() -> None:
    """Gold has one of two equal calls: the first is right, the second is extra, however an accent is written."""
    for name in ("Ana", "Zoe\u0308"):
        call = Call("add_guest", {"name": name})
        messages = (Message("user", "Add a guest."), Message("assistant", calls=(call, call)))
        gold = (Expected("add_guest", {"name": (name,)}),)
        result = troth.agent([Trajectory("t", messages, expected=gold)])
        one = view(result, "trajectories", "t")
        assert [call.verdict for call in one.messages[1].calls] == ["right", "extra"]


@pytest.mark.parametrize(
    ("name", "hint"), [("claim_without_calls", "claims_without_calls"), ("stats", "states"), ("al", "all")]
)
def test_misspelt_metrics_and_sets_get_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=f"'{re.escape(name)}'.*did you mean '{re.escape(hint)}'"):
        agent(HASTY, metrics=f"call_f1,{name}")


def test_the_explorer_shows_calls_states_gold_and_claims(bundled: Result) -> None:
    one = view(bundled, "hasty", "change/1")
    verdicts = [(call.tool, call.verdict, call.wrong) for message in one.messages for call in message.calls]
    assert verdicts == [
        ("change_booking", "extra", ()), ("get_booking", "right", ()), ("get_booking", "extra", ()),
        ("change_booking", "wrong", ("nights",)),
    ]  # fmt: skip
    first = one.messages[2].calls[0]
    assert (first.failed, first.unsourced) == (True, {})
    assert first.forbidden == "nights: 'two more' is not of type 'integer'"
    assert one.messages[6].calls[0].repeats
    assert (one.solved, one.error, one.first_wrong_turn, one.first_wrong_message) == (0.0, "missing_call", 0, 2)
    assert [(gold.tool, gold.matched, gold.message) for gold in one.gold or ()] == [
        ("get_booking", True, 4), ("change_booking", False, 8),
    ]  # fmt: skip
    (state,) = one.states
    assert (state.right, state.pred["change_booking"]["nights"]) == (False, ("2",))
    said = one.messages[10]
    assert [(said.text[c.start : c.end], c.kind, c.supported) for c in said.claims] == [
        ("has been updated", "action", True), ("June 15", "time", True), ("11:00", "time", False),
    ]  # fmt: skip
    parted = view(bundled, "hasty", "book/1")
    assert [(p.trial, p.turn, p.message, p.other) for p in parted.partings] == [(0, 1, 6, 6)]
    assert view(bundled, "sturdy", "book/0").partings == ()


def test_trials_part_where_one_of_them_changes_nothing_more(tmp_path: Path) -> None:
    """The turn is that of the call which the other trial makes."""
    call = {"function": {"name": "cancel", "arguments": {"id": 7}}}
    said: list[dict[str, Any]] = [{"role": "user", "content": "Hello."}, {"role": "user", "content": "Cancel 7."}]
    rows = [
        {"task": "a", "trial": trial, "messages": [*said, *calls], "reward": reward}
        for trial, (calls, reward) in enumerate([([], 0), ([{"role": "assistant", "tool_calls": [call]}], 1)])
    ]
    result = agent(written(tmp_path / "r.jsonl", rows), metrics="wavering_tasks")
    assert [(one.kind, one.solved, one.failed, one.parts_at) for one in result.details if one.kind == "wavers"] == [
        ("wavers", (1,), (0,), 1)
    ]
    assert [(p.trial, p.turn, p.message, p.other) for p in view(result, "r", "a/0").partings] == [(1, 1, None, 2)]


def test_hostile_text_stays_text(bundled: Result) -> None:
    assert "<b>Enjoy!</b>" in view(bundled, "hasty", "both/0").messages[-1].text
    name = agent(f"<img>={HASTY}", metrics="pass^1")
    assert "<img" not in name._repr_html_()


# -- gold of its own ---------------------------------------------------------------------------------------------------


def written(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


QUESTIONS = [
    {"id": f"multiple_{n}", "question": [[{"role": "user", "content": f"Add {n}."}]],
     "function": [{"name": "math.add", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}},
                                                      "required": ["a"]}}, {"name": "noop"}]}
    for n in range(3)
]  # fmt: skip
ANSWERS = [{"id": f"multiple_{n}", "ground_truth": [{"math.add": {"a": [n]}}]} for n in range(3)]


def test_bfcl_files_together(tmp_path: Path) -> None:
    """Function calling APIs allow no dots in names; a missing task is counted and scores 0."""
    gold = [written(tmp_path / "q.json", QUESTIONS), written(tmp_path / "a.json", ANSWERS)]
    rows = [
        {"id": "multiple_0", "result": [{"math_add": '{"a": 0}'}]},
        {"id": "multiple_1", "result": "[math_add(a=5)]"},
    ]
    result = agent(written(tmp_path / "r.json", rows), gold=gold)
    assert result["calls_right"].value == pytest.approx(1 / 3)
    assert result["pass^1"].value == pytest.approx(1 / 3)
    assert "rule:bfcl" in result["calls_right"].signature
    assert result.counts["r"]["missing_tasks"] == 1
    assert any("tasks of gold without a trial, which count as not solved: 1" in str(note) for note in result.notes)
    views = {one.id: one for one in result.explorer().trajectories}
    assert views["multiple_1"].error == "value_error:others"
    assert views["multiple_1"].messages[0].text == "Add 1.", "the question is gold's"


def test_gold_transcripts_and_errors(tmp_path: Path) -> None:
    result = agent(STURDY, gold=STURDY, metrics="calls_right,jga")
    assert values(result, "calls_right", "jga") == [pytest.approx(11 / 12), pytest.approx(20 / 22)]
    with pytest.raises(UserError, match="gold has no task 'book'"):
        agent(STURDY, gold=written(tmp_path / "a.json", ANSWERS))
    with pytest.raises(UserError, match="there is no option 'metric'"):
        agent(STURDY, metric="jga")
    with pytest.raises(UserError, match="no transcript is named"):
        agent()
    with pytest.raises(UserError, match="solved cannot be 'luck'"):
        agent(STURDY, solved="luck")
    with pytest.raises(UserError, match="no metric of assistants is called 'call_f2'"):
        agent(STURDY, metrics="call_f2")


def test_writing_tools_can_be_named() -> None:
    result = agent(STURDY, rule="tau", writing="send_receipt", metrics="call_recall")
    assert result["call_recall"].n == 2


# -- laws --------------------------------------------------------------------------------------------------------------


def test_the_order_of_lines_and_files_changes_nothing(bundled: Result, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in Path(HASTY).read_text().splitlines()]
    random.Random(7).shuffle(lines)
    shuffled = agent(STURDY, f"hasty={written(tmp_path / 'x.jsonl', lines)}", tools=TOOLS, metrics="all")
    for system in ("hasty", "sturdy"):
        mine, theirs = ([s for s in one.scores if s.system == system] for one in (bundled, shuffled))
        assert mine == theirs


def test_every_choice_of_a_rule_stands_in_the_signature() -> None:
    metric = METRICS.load("call_f1")
    base = signature(metric, MatchingRule("exact", ""), n=1)
    for name, choices in CHOICES.items():
        changed = MatchingRule("exact", "").with_choices(**{name: choices[-1]})
        assert signature(metric, changed, n=1) != base


def test_pass_hat_of_unequal_trials(tmp_path: Path) -> None:
    """A task with fewer than k trials has no pass^k; one that was never tried has 0."""
    rows = [
        {"task": task, "trial": trial, "messages": [{"role": "user", "content": "x"}], "reward": reward}
        for task, rewards in {"a": [1, 1, 0], "b": [1]}.items()
        for trial, reward in enumerate(rewards)
    ]
    result = agent(written(tmp_path / "r.jsonl", rows), metrics=["pass^1", "pass^2", "pass^5"])
    assert values(result, "pass^1", "pass^2", "pass^5") == [pytest.approx((2 / 3 + 1) / 2), pytest.approx(1 / 3), None]
    assert pass_hat(2).of == "pass^k"
    assert any("tasks have 1 to 3 trials" in str(note) for note in result.notes)


def test_explain_steps_add_up() -> None:
    steps = explain_rules(HASTY, start="exact", end="tau")
    assert [step.choice for step in steps] == ["values", "order", "failed", "calls", "outputs"]
    for before, after in pairwise(steps):
        assert before.after == after.before
    ends = [agent(HASTY, rule=name, metrics="calls_right")["calls_right"].value for name in ("exact", "tau")]
    assert [steps[0].before, steps[-1].after] == pytest.approx(ends)
    flips = [(flip.task, flip.trial, flip.after) for step in steps for flip in step.flips]
    assert ("change", 0, None) in flips
