"""Schemas of tools that are made to freeze, to overflow, or that cannot be checked: one counted call each."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.limits import processor_limit
from troth.agents import forbidden
from troth.agents.forbidden import NO_TARGET, PATTERN, TOO_LONG, check_call
from troth.agents.live.budget import Budget, UnansweredError
from troth.agents.live.endpoint import CallableAssistant
from troth.agents.live.replay import call_key
from troth.agents.live.run import run_agent
from troth.agents.score import agent
from troth.agents.tools import Toolbox
from troth.core.decode import TOO_DEEP
from troth.core.trajectories import Call, Tool
from troth.readers.trajectories.bfcl import python_calls
from troth.readers.trajectories.parts import call as read_call


def verdict(parameters: dict[str, Any], **arguments: Any) -> tuple[str | None, str | None]:
    return check_call(Call("f", arguments), Toolbox({"f": Tool("f", "", parameters)}))


def test_a_pattern_made_to_take_forever() -> None:
    with processor_limit(30):
        violation, unchecked = verdict({"properties": {"a": {"pattern": "^(a+)+$"}}}, a="a" * 40 + "!")
        assert violation == f"a: '{'a' * 40}!' does not match '^(a+)+$'"
        assert unchecked is None
        for schema in (
            {"patternProperties": {"^(a+)+$": False}},
            {"patternProperties": {"^(a+)+$": True}, "additionalProperties": False},
            {"patternProperties": {"^(a+)+$": True}, "unevaluatedProperties": False},
            {"propertyNames": {"pattern": "^(a+)+$"}},
            {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/$defs/b",
             "$defs": {"b": {"$schema": "http://json-schema.org/draft-07/schema#",
                             "propertyNames": {"pattern": "^(a+)+$"}}}},
        ):  # fmt: skip
            verdict(schema, **{"a" * 40 + "!": 1})


@pytest.mark.parametrize(
    ("schema", "arguments", "violation", "unchecked"),
    [
        ({"properties": {"a": {"pattern": r"^\d{4}-\d{2}$"}}}, {"a": "2024-05"}, None, None),
        ({"properties": {"a": {"pattern": r"^.{1,1000}$"}}}, {"a": "x"}, None, None),
        ({"properties": {"a": {"pattern": "^[\\u0041-\\u005a]+$"}}}, {"a": "AZ"}, None, None),
        ({"properties": {"a": {"pattern": "^(?!x)"}}}, {"a": "x"}, None, PATTERN),
        ({"properties": {"a": {"pattern": "^(?!x)"}}, "required": ["b"]}, {"a": "x"},
         "'b' is a required property", PATTERN),
        ({"patternProperties": {"^x_": {"type": "string"}}, "additionalProperties": False}, {"x_a": "1"}, None, None),
        ({"patternProperties": {"^x_": {"type": "string"}}, "additionalProperties": False}, {"y": "1"},
         "'y' does not match any of the regexes: '^x_'", None),
        ({"patternProperties": {"^x_": {"type": "string"}}}, {"x_a": 1}, "x_a: 1 is not of type 'string'", None),
        ({"$ref": "#/nowhere"}, {}, None, NO_TARGET),
        ({"$ref": "#"}, {}, None, TOO_DEEP),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [{"b": 1}, {"b": 1.0}]},
         "a: [{'b': 1}, {'b': 1.0}] has non-unique elements", None),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, True, "1", [1], {"b": 1}]}, None, None),
    ],
)  # fmt: skip
def test_verdicts(schema: Any, arguments: Any, violation: str | None, unchecked: str | None) -> None:
    assert verdict(schema, **arguments) == (violation, unchecked)


def test_references_that_branch_end_after_so_many_steps() -> None:
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with processor_limit(60):
        assert verdict({"$ref": "#/$defs/d0", "$defs": definitions | {"d40": {}}}) == (None, TOO_LONG)


def nest(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"properties": value}
    return value


@pytest.mark.parametrize("depth", [120, 400, 900])
def test_deep_schemas_and_arguments(tmp_path: Path, depth: int) -> None:
    assert verdict(nest(depth)) == (None, TOO_DEEP)
    deep = read_call("f", nest(depth))
    assert (deep.arguments, deep.broken) == ({}, TOO_DEEP)
    call_key(deep)
    # Python's parser refuses the two deepest, which are then no calls; what it reads is a broken call.
    read = python_calls(f"f({'[' * depth}{']' * depth})")
    assert [call.broken is not None for call in read] == ([True] if depth == 120 else [])
    calls = [{"id": "a", "function": {"name": "f", "arguments": nest(depth)}}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": nest(depth)}}]
    good = [{"id": "b", "function": {"name": "f", "arguments": {}}}]
    rows = [
        {"id": name, "messages": [{"role": "assistant", "tool_calls": made}], "tools": tools,
         "expected": [{"name": "f", "arguments": {}}]}
        for name, made in (("deep", calls), ("good", good))
    ]  # fmt: skip
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    for rule in ("exact", "tau", "bfcl"):
        result = agent(file, rule=rule, resamples=10)
        assert result["forbidden_calls"].value == 0.5
        assert any(f"count as allowed: 1 (1: {TOO_DEEP})" in str(note) for note in result.notes)


def test_an_answer_that_cannot_be_stored_is_a_broken_answer() -> None:
    assistant = CallableAssistant(lambda *_: "half \ud800", "half", retries=0)
    with pytest.raises(UnansweredError, match="broken answer"):
        assistant.ask([], [], seed=0, budget=Budget())


@pytest.mark.parametrize("where", ["expected", "tools"])
def test_gold_and_tools_that_are_nested_too_deeply_cost_one_task(tmp_path: Path, where: str) -> None:
    """The other tasks of the file are scored, and the one is counted."""
    deep = nest(400)
    rows = []
    for name in ("deep", "good"):
        value = deep if name == "deep" else {"a": 1}
        row: dict[str, Any] = {"id": name, "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"x": {"a": 1}}}}]},
        ]}  # fmt: skip
        row["expected"] = [{"name": "f", "arguments": {"x": value if where == "expected" else {"a": 1}}}]
        if where == "tools":
            row["tools"] = [{"name": "f", "parameters": {"type": "object", "properties": {"x": {"default": value}}}}]
        rows.append(row)
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = agent(tmp_path / "t.jsonl", rule="exact", resamples=10)
    notes = " ".join(str(note) for note in result.notes)
    assert result["calls_right"].value == 1.0
    if where == "expected":
        assert result["calls_right"].n == 1
        assert f"tasks whose gold calls are {TOO_DEEP}, and are not scored: 1" in notes
    live = run_agent(lambda *_: "no", tmp_path / "t.jsonl", out=tmp_path / "run")
    assert live["finished"].n == 2
    if where == "tools":
        assert f"tools that were sent without their parameters, which are {TOO_DEEP}: 1" in str(live.notes)


def test_the_short_check_allows_nothing_that_the_full_one_forbids() -> None:
    kinds: list[dict[str, Any]] = [
        {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
        {"type": "string", "enum": ["a", ""]}, {"type": "float"}, {"type": "string", "pattern": "^a"},
        {"type": "array"}, {"type": "object", "description": "any"},
    ]  # fmt: skip
    values = ["a", "", "b", 0, 1, -3, 2.0, 2.5, True, False, None, [], {}, ["a"], 10**30]
    allowed = 0
    for kind, further, required in itertools.product(kinds, (True, False, None), ([], ["x"], ["y"])):
        schema = {"type": "object", "properties": {"x": kind}, "required": required}
        schema |= {} if further is None else {"additionalProperties": further}
        data = msgspec.json.encode(schema)
        plain, full = forbidden._plain_schema(data), forbidden._validator(data)
        assert (plain is None) == ("pattern" in kind)
        every: list[dict[str, Any]] = [
            {},
            {"y": 1},
            *({"x": value} for value in values),
            *({"x": value, "y": 1} for value in values),
        ]
        for arguments in every:
            if plain is not None and plain.allows(arguments):
                allowed += 1
                assert not list(full.iter_errors(arguments)), (schema, arguments)
    assert allowed > 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"required": "x"},
        {"required": ["x", "x"]},
        {"required": [1]},
        {"description": 1},
        {"properties": {"x": {"type": "string", "title": []}}},
        {"properties": {"x": {"type": "string", "enum": "a"}}},
        {"properties": {"x": {"type": "string", "examples": "a"}}},
    ],
)
def test_the_short_check_leaves_invalid_definitions_to_the_full_one(wrong: dict[str, Any]) -> None:
    tool = Tool("find", parameters={"type": "object", "properties": {"x": {"type": "string"}}, **wrong})
    verdict = forbidden.check_call(Call("find", {"x": "a"}), Toolbox({"find": tool}))
    assert verdict == (None, forbidden.NO_SCHEMA)
