"""Matching by named rules: BFCL's checker case by case, τ-bench's rewards, and tables of small cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth.agents.matching import MatchedCalls, match_calls
from troth.agents.rules import MatchingRule, find_rule
from troth.agents.tools import Toolbox, is_error
from troth.core.errors import UserError
from troth.core.trajectories import Call, Expected, Message, Tool, Trajectory
from troth.readers import tools, trajectories

CATEGORIES = {"simple_python": 400, "multiple": 200, "parallel": 200, "parallel_multiple": 200}


@pytest.mark.shared
@pytest.mark.parametrize("category", CATEGORIES)
def test_bfcl_equals_the_public_checker_on_every_case(shared: Path, category: str) -> None:
    """Verdict and error type of BFCL's own checker on noisy calls: golden/bfcl_*.json."""
    file, folder = shared / "golden" / f"bfcl_{category}.json", shared / "data/agents/bfcl"
    golden = {row["id"]: row for row in json.loads(file.read_text())}
    questions = {one.id: one for one in trajectories.read(str(folder / f"BFCL_v4_{category}.json"))}
    answers = {one.id: one.expected or () for one in trajectories.read(str(folder / f"answers_{category}.json"))}
    scored = 0
    for one in trajectories.read(str(file)):
        toolbox = Toolbox({tool.name: tool for tool in questions[one.id].tools})
        matched = match_calls(one, answers[one.id], find_rule("bfcl"), toolbox)
        expected = golden[one.id]
        assert (matched.valid, matched.error) == (expected["valid"], expected.get("error_type")), one.id
        scored += 1
    assert scored == CATEGORIES[category]


@pytest.mark.shared
def test_tau_agrees_with_the_benchmark_but_for_two_trials(shared: Path) -> None:
    """2/1 ran out of turns, and the benchmark gave no reward; in 5/1 the database overwrites what differs."""
    folder = shared / "data/agents/tau_airline"
    toolbox = Toolbox({tool.name: tool for tool in tools.load(str(folder / "tools.json"))})
    other = [
        one.id
        for one in trajectories.read(str(folder / "gpt-4o-airline.json"))
        if match_calls(one, one.expected or (), find_rule("tau"), toolbox).valid != (one.reward == 1.0)
    ]
    assert other == ["2/1", "5/1"]


# -- small cases -------------------------------------------------------------------------------------------------------


def trajectory(*calls: Call, results: tuple[str, ...] = ()) -> Trajectory:
    messages = [Message("user", "please")]
    for number, call in enumerate(calls):
        messages.append(Message("assistant", calls=(call,)))
        messages += [Message("tool", results[number])] if number < len(results) else []
    return Trajectory("t", tuple(messages))


def want(tool: str, **arguments: Any) -> Expected:
    return Expected(tool, {name: (value,) for name, value in arguments.items()})


def verdict(one: Trajectory, gold: list[Expected], by: str, box: Toolbox | None = None) -> MatchedCalls:
    return match_calls(one, gold, find_rule(by), box or Toolbox())


BOOK, CANCEL, GET = Call("book", {"seats": 2}), Call("cancel", {"id": "a"}), Call("get_user", {"id": "u"})


@pytest.mark.parametrize(
    ("calls", "gold", "by", "error"),
    [
        ((), [], "exact", None),
        ((), [want("book", seats=2)], "exact", "missing_call"),
        ((BOOK,), [], "exact", "extra_call"),
        ((BOOK,), [want("book", seats=2)], "exact", None),
        ((BOOK,), [want("book", seats=3)], "exact", "missing_call"),
        ((CANCEL, BOOK), [want("book", seats=2), want("cancel", id="a")], "exact", "missing_call"),
        ((CANCEL, BOOK), [want("book", seats=2), want("cancel", id="a")], "exact+order:any", None),
        ((CANCEL, BOOK), [want("book", seats=2), want("cancel", id="a")], "tau", None),
        ((GET, BOOK), [want("book", seats=2)], "exact", "extra_call"),
        ((GET, BOOK), [want("book", seats=2)], "tau", None),  # only calls that change something count
        ((BOOK,), [want("get_user", id="u"), want("book", seats=2)], "tau", None),
        ((BOOK,), [want("book", seats=2.0)], "exact", None),  # numbers are equal as JSON,
        ((BOOK,), [want("book", seats=2.0)], "tau", "missing_call"),  # and differ as Python prints them
        ((Call("book", {"seats": True}),), [want("book", seats=1)], "exact", "missing_call"),
        ((Call("book", {"seats": 2, "note": None}),), [want("book", seats=2)], "exact", None),  # null is absent
        ((Call("book", {"seats": 2, "note": "x"}),), [want("book", seats=2)], "exact", "missing_call"),
        ((Call("f", {"x": [{"b": 1, "a": 2}]}),), [want("f", x=[{"a": 2, "b": 1}])], "exact", None),
        ((Call("f", {"x": [2, 1]}),), [want("f", x=[1, 2])], "exact", "missing_call"),
        ((Call("f", {"x": [2, 1]}),), [want("f", x=[1, 2])], "exact+lists:any", None),
        ((Call("f", {"x": [2, 2]}),), [want("f", x=[1, 2])], "exact+lists:any", "missing_call"),
        ((Call("f", {"x": {"y": [["b"], ["a"]]}}),), [want("f", x={"y": [["a"], ["b"]]})], "exact+lists:any", None),
        ((Call("f", {"x": ["B", "a"]}),), [want("f", x=["A", "b"])], "bfcl+lists:any", None),
        ((Call("f", {"x": ["B", "a"]}),), [want("f", x=["A", "b"])], "bfcl", "value_error:list/tuple"),
        ((Call("f", {}, broken="{x"),), [want("f")], "exact", "missing_call"),
        ((Call("f", {"x": "New York"}),), [want("f", x="new-york")], "bfcl", None),
        ((Call("f", {"x": "New York"}),), [want("f", x="new-york")], "exact", "missing_call"),
        ((BOOK, BOOK), [want("book", seats=2)], "bfcl", "simple_function_checker:wrong_count"),
        ((BOOK, BOOK), [want("book", seats=2)], "bfcl+extra:allowed", None),
        ((BOOK, GET), [want("book", seats=2), want("g")], "bfcl",
         "parallel_function_checker_no_order:cannot_find_match"),
    ],
)  # fmt: skip
def test_verdicts(calls: tuple[Call, ...], gold: list[Expected], by: str, error: str | None) -> None:
    assert verdict(trajectory(*calls), gold, by).error == error


def test_calls_that_failed_do_not_count_for_tau() -> None:
    one = trajectory(Call("book", {"seats": 9}), BOOK, results=("Error: too many seats", '{"id": "r1"}'))
    assert verdict(one, [want("book", seats=2)], "tau").valid
    assert verdict(one, [want("book", seats=2)], "tau+failed:counted").error == "extra_call"


def test_expected_outputs_are_needed_for_tau() -> None:
    said = Trajectory("t", (Message("assistant", "It costs $1,786 in all."),), outputs=("1786",))
    silent = Trajectory("t", (Message("user", "1786?"), Message("assistant", "No idea.")), outputs=("1786",))
    assert verdict(said, [], "tau").valid
    assert verdict(silent, [], "tau").error == "missing_output"
    assert verdict(silent, [], "exact").valid


def test_gold_calls_of_a_turn_match_in_that_turn_only() -> None:
    messages = (Message("user"), Message("assistant", calls=(BOOK,)), Message("user"), Message("assistant", "done"))
    gold = Expected("book", {"seats": (2,)}, turn=1)
    assert verdict(Trajectory("t", messages), [gold], "exact").missing == [0]


def test_the_longest_run_in_order_is_taken() -> None:
    calls = [Call(name) for name in "acdb"]
    matched = verdict(trajectory(*calls), [want(name) for name in "abcd"], "exact")
    assert matched.pairs == {0: 0, 2: 1, 3: 2}
    assert (matched.missing, matched.extra) == ([1], [3])


def test_accepted_values_inside_objects() -> None:
    gold = Expected("f", {"p": ({"min": [1, 2], "max": [5, ""]},)}, nested=True)
    assert verdict(trajectory(Call("f", {"p": {"min": 2}})), [gold], "exact").valid
    assert not verdict(trajectory(Call("f", {"p": {"max": 5}})), [gold], "exact").valid


def test_schema_is_checked_where_the_rule_says_so() -> None:
    box = Toolbox({"f": Tool("f", "", {"properties": {"x": {"type": "integer"}}, "required": ["x"]})})
    gold = [Expected("f", {"x": (1,), "y": (2,)}, frozenset({"x", "y"}))]
    for call in (Call("f", {"y": 2}), Call("f", {"x": 1, "y": 2})):
        assert verdict(trajectory(call), gold, "exact", box).valid
        assert not verdict(trajectory(call), gold, "exact+schema:checked", box).valid


def test_rules_by_name() -> None:
    assert find_rule("tau+calls:all").calls == "all"
    with pytest.raises(UserError, match="no matching rule is called 'taw' \\(did you mean 'tau'"):
        find_rule("taw")
    with pytest.raises(UserError, match="'call' is not a choice of a matching rule"):
        find_rule("tau+call:all")
    with pytest.raises(UserError, match="order cannot be 'some'"):
        find_rule("tau+order:some")
    assert find_rule("exact") == MatchingRule("exact", find_rule("exact").summary)


@pytest.mark.parametrize(
    ("name", "writes"),
    [("book_reservation", True), ("getUserDetails", False), ("math.compute_area", False), ("transfer_money", True),
     ("transfer_to_human_agents", False), ("GetFile", False), ("", True)],
)  # fmt: skip
def test_what_changes_something_is_told_by_name(name: str, writes: bool) -> None:
    assert Toolbox().writes(name) is writes
    assert Toolbox({name: Tool(name, writes=not writes)}).writes(name) is not writes
    assert Toolbox(writing=["pay"]).writes(name) is False


@pytest.mark.parametrize(
    ("text", "failed"),
    [("", False), ("Error: no such user", True), ('{"error": "gone"}', True), ('{"error": null}', False),
     ('{"success": false}', True), ("Errors were found: 0", False), ("{broken", False), ("[1]", False)],
)  # fmt: skip
def test_results_that_are_errors(text: str, failed: bool) -> None:
    assert is_error(Message("tool", text)) is failed
    assert is_error(Message("tool", text, error=True))
