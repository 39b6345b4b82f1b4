"""Calls fold into states: last call wins, null removes, calls of one turn are kept apart, gold finds its turn."""

from __future__ import annotations

from typing import Any

import pytest

from troth.agents.matching import match_calls
from troth.agents.rules import find_rule
from troth.agents.states import FoldedStates, fold, pair_nearest, wrong_arguments
from troth.agents.tools import Toolbox
from troth.core.trajectories import Call, Expected, Message, Trajectory

State = dict[str, dict[str, tuple[str, ...]]]


def trajectory(*turns: list[Call]) -> Trajectory:
    messages: list[Message] = []
    for calls in turns:
        messages += [Message("user", "go on"), *(Message("assistant", calls=(call,)) for call in calls)]
    return Trajectory("t", tuple(messages))


def want(tool: str, turn: int | None = None, **arguments: Any) -> Expected:
    return Expected(tool, {name: (value,) for name, value in arguments.items()}, turn=turn)


def states(one: Trajectory, *gold: Expected, by: str = "exact") -> FoldedStates:
    matched = match_calls(one, gold, find_rule(by), Toolbox())
    return fold(one, matched, pair_nearest(matched, find_rule(by)), find_rule(by))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (([],), [{}]),
        (([Call("book", {"seats": 2})], []), [{"book": {"seats": ("2",)}}] * 2),
        (([Call("f", {"x": 1, "y": "a"})], [Call("f", {"x": 2})]), [{"f": {"x": ("1",), "y": ("a",)}},
                                                                    {"f": {"x": ("2",), "y": ("a",)}}]),
        (([Call("f", {"x": 1, "y": 2})], [Call("f", {"y": None})]), [{"f": {"x": ("1",), "y": ("2",)}},
                                                                     {"f": {"x": ("1",)}}]),
        (([Call("f", {"x": 1}), Call("f", {"x": 2})],), [{"f": {"x": ("1",)}, "f#2": {"x": ("2",)}}]),
        (([Call("ping")],), [{"ping": {"called": ("yes",)}}]),
        (([Call("f", {"x": {"b": 1, "a": [2]}})],), [{"f": {"x": ('{"a":[2],"b":1}',)}}]),
        (([Call("f", {}, broken="{x")],), [{"f": {"arguments": ("{x",)}}]),
    ],
)  # fmt: skip
def test_folding(turns: tuple[list[Call], ...], expected: list[State]) -> None:
    assert states(trajectory(*turns)).pred == expected


def test_parallel_calls_take_the_numbers_of_the_gold_calls_that_they_match() -> None:
    one = trajectory([Call("f", {"x": 2}), Call("f", {"x": 1})])
    both = states(one, want("f", x=1), want("f", x=2), by="exact+order:any")
    assert both.gold == both.pred


def test_a_value_that_the_rule_accepts_is_written_as_gold_writes_it() -> None:
    gold = Expected("f", {"city": ("New York", "NYC"), "unit": ("", "km")}, frozenset({"unit"}), nested=True)
    for city in ("new-york", "nyc"):
        both = states(trajectory([Call("f", {"city": city})]), gold, by="bfcl")
        assert both.pred == [{"f": {"city": ("New York",)}}]
        assert both.gold == [{"f": {"city": ("New York", "NYC")}}], "an optional argument may be left out"


def test_a_value_that_the_rule_refuses_is_not_written_as_gold_writes_it() -> None:
    both = states(trajectory([Call("f", {"x": "3"})]), want("f", x=3))
    assert (both.gold, both.pred) == ([{"f": {"x": ("3",)}}], [{"f": {"x": ('"3"',)}}])


def test_gold_without_turns_is_expected_where_it_was_made_or_at_the_end() -> None:
    one = trajectory([], [Call("book", {"seats": 2})], [Call("pay", {"sum": 9})], [])
    right, wrong, missing = want("book", seats=2), want("pay", sum=7), want("mail", to="me")
    both = states(one, right, wrong, missing, by="exact+order:any")
    assert [sorted(state) for state in both.gold] == [[], ["book"], ["book", "pay"], ["book", "mail", "pay"]]
    assert both.gold[2]["pay"] == {"sum": ("7",)}, "the wrong call stands for the gold call of its tool"


def test_gold_with_turns_keeps_them() -> None:
    both = states(trajectory([Call("f", {"x": 1})], []), want("f", 1, x=1))
    assert both.gold == [{}, {"f": {"x": ("1",)}}]
    assert both.pred == [{"f": {"x": ("1",)}}] * 2


def test_the_nearest_call_of_the_same_tool_stands_for_a_gold_call() -> None:
    one = trajectory([Call("f", {"x": 0, "y": 0}), Call("f", {"x": 1, "y": 0})])
    matched = match_calls(one, [want("f", x=1, y=1)], find_rule("exact"), Toolbox())
    near = pair_nearest(matched, find_rule("exact"))
    assert (near.pairs, near.wrong) == ({0: 1}, {0: ("y",)})


def test_wrong_arguments_are_named() -> None:
    gold = Expected("f", {"x": (1,), "y": (2,), "z": (3,)}, frozenset({"z"}))
    assert wrong_arguments({"x": 1, "y": 3, "extra": 0}, gold, find_rule("exact")) == ("y", "extra")
