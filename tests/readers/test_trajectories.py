"""Transcripts of assistants in every layout: the same conversation comes out, and what does not fit is one line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.core.trajectories import Call, Expected, Message, Tool, Trajectory, Usage
from troth.readers import source, trajectories
from troth.readers.trajectories import bfcl, chat

ARGUMENTS = {"id": 7, "tags": ["a", {"b": None}]}
MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "Cancel order 7."),
    Message("assistant", "One moment.", (Call("cancel", ARGUMENTS, "c1"),)),
    Message("tool", "done", call_id="c1"),
    Message("assistant", "Order 7 is cancelled."),
)
OPENAI: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Cancel order 7."}, {"type": "image_url", "image_url": {}}]},
    {
        "role": "assistant", "content": "One moment.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": json.dumps(ARGUMENTS)}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
    {"role": "assistant", "content": "Order 7 is cancelled."},
]  # fmt: skip
ANTHROPIC: dict[str, Any] = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Cancel order 7."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "c1", "name": "cancel", "input": ARGUMENTS},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "done"}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Order 7 is cancelled."}]},
    ],
}
RESPONSES: dict[str, Any] = {
    "instructions": "Be brief.",
    "input": "Cancel order 7.",
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
        {"type": "function_call", "call_id": "c1", "name": "cancel", "arguments": json.dumps(ARGUMENTS)},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Order 7 is cancelled."}]},
    ],
}
GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Cancel order 7."}, {"inlineData": {"mimeType": "image/png"}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "One moment."},
                {"functionCall": {"id": "c1", "name": "cancel", "args": ARGUMENTS}, "thoughtSignature": "x"},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": "done"}}]},
        {"role": "model", "parts": [{"text": "Order 7 is cancelled."}]},
    ],
}
BEDROCK: dict[str, Any] = {
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"text": "Cancel order 7."}]},
        {
            "role": "assistant",
            "content": [
                {"text": "One moment."},
                {"toolUse": {"toolUseId": "c1", "name": "cancel", "input": ARGUMENTS}},
            ],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}}]},
        {"role": "assistant", "content": [{"text": "Order 7 is cancelled."}]},
    ],
}


def attribute(key: str, value: object) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": json.dumps(value) if not isinstance(value, str) else value}}


OTEL_SAID = [
    {"role": "user", "parts": [{"type": "text", "content": "Cancel order 7."}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "One moment."},
            {"type": "tool_call", "id": "c1", "name": "cancel", "arguments": ARGUMENTS},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "done"}]},
]
OTEL_ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": "Order 7 is cancelled."}]}]
OTEL: dict[str, Any] = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t1", "startTimeUnixNano": "1000000000", "endTimeUnixNano": "2000000000",
                            "attributes": [
                                attribute("gen_ai.input.messages", OTEL_SAID[:1]),
                                attribute("gen_ai.output.messages", OTEL_SAID[1:2]),
                                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "11"}},
                            ],
                        },
                        {
                            "traceId": "t1", "startTimeUnixNano": "3000000000", "endTimeUnixNano": "4500000000",
                            "attributes": [
                                attribute("gen_ai.system_instructions", [{"type": "text", "content": "Be brief."}]),
                                attribute("gen_ai.input.messages", OTEL_SAID),
                                attribute("gen_ai.output.messages", OTEL_ANSWER),
                                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "31"}},
                                {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "9"}},
                            ],
                        },
                    ]
                }
            ]
        }
    ]
}  # fmt: skip
TAU: list[dict[str, Any]] = [
    {
        "task_id": 3, "trial": 1, "reward": 1.0,
        "info": {"task": {"actions": [{"name": "cancel", "kwargs": ARGUMENTS}], "outputs": ["7"]}},
        "traj": OPENAI,
    }
]  # fmt: skip
TAU2: dict[str, Any] = {
    "tasks": [
        {
            "id": "3",
            "evaluation_criteria": {
                "actions": [
                    {"name": "cancel", "arguments": ARGUMENTS, "requestor": "assistant", "compare_args": ["id"]},
                    {"name": "reboot", "arguments": {}, "requestor": "user"},
                ],
                "communicate_info": ["7"],
            },
        }
    ],
    "simulations": [
        {
            "task_id": "3", "trial": 1, "reward_info": {"reward": 1.0}, "duration": 2.5, "agent_cost": 0.01,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Cancel order 7.", "tool_calls": None},
                {
                    "role": "assistant", "content": "One moment.",
                    "tool_calls": [{"id": "c1", "name": "cancel", "arguments": ARGUMENTS, "requestor": "assistant"}],
                },
                {"role": "tool", "id": "c1", "content": "done", "requestor": "assistant", "error": False},
                {"role": "tool", "id": "u1", "content": "rebooted", "requestor": "user"},
                {"role": "assistant", "content": "Order 7 is cancelled."},
            ],
        }
    ],
}  # fmt: skip


def read(path: Path, value: object, *, lines: bool = False) -> list[Trajectory]:
    file = path / "t.json"
    file.write_text("\n".join(map(json.dumps, value)) if lines else json.dumps(value))  # type: ignore[call-overload]
    return list(trajectories.read(str(file)))


def spoken(one: Trajectory) -> tuple[Message, ...]:
    """The messages; two of the assistant in a row, as items of the Responses API are, as one."""
    messages: list[Message] = []
    for message in one.messages:
        if messages and message.calls and messages[-1].role == "assistant" and not message.text:
            messages[-1] = Message("assistant", messages[-1].text, (*messages[-1].calls, *message.calls))
        else:
            messages.append(message)
    return tuple(messages)


@pytest.mark.parametrize(
    ("value", "format"),
    [(OPENAI, "chat"), ({"messages": OPENAI}, "chat"), ([OPENAI], "chat"), (ANTHROPIC, "chat"), (RESPONSES, "chat"),
     (GEMINI, "chat"), (BEDROCK, "chat"), (OTEL, "otel"), (TAU, "tau-bench"), (TAU2, "tau2-bench")],
)  # fmt: skip
def test_every_layout_gives_the_same_messages(tmp_path: Path, value: object, format: str) -> None:
    (one,) = read(tmp_path, value)
    assert spoken(one) == MESSAGES
    assert trajectories.detect(source.first(str(tmp_path / "t.json"))) == format
    (call,) = one.calls()
    assert (call.turn, one.messages[call.result or 0].text) == (0, "done")


def test_a_bare_list_of_messages_per_line(tmp_path: Path) -> None:
    assert [spoken(one) for one in read(tmp_path, [OPENAI, OPENAI], lines=True)] == [MESSAGES, MESSAGES]
    (one,) = read(tmp_path, [OPENAI], lines=True)
    assert spoken(one) == MESSAGES


def test_results_of_gemini_and_bedrock(tmp_path: Path) -> None:
    """Values as JSON, errors as such; a result of a tool that only looks like parts is left as it is."""
    given = {"toolUseId": "a", "status": "error", "content": [{"json": {"why": 1}}]}
    parts = [{"toolResult": given}, {"functionResponse": {"name": "get", "response": {"n": 2}}}]
    (one,) = read(tmp_path, [{"role": "user", "content": parts}, {"role": "tool", "content": [{"text": "x", "n": 1}]}])
    assert one.messages == (
        Message("tool", '{"why":1}', (), "a", "", True), Message("tool", '{"n":2}', (), "", "get"),
        Message("tool", '[{"text":"x","n":1}]'),
    )  # fmt: skip


def test_a_bare_list_of_items(tmp_path: Path) -> None:
    (one,) = read(tmp_path, [{"role": "user", "content": "Cancel order 7."}, *RESPONSES["output"]])
    assert spoken(one) == MESSAGES[1:]


def test_tau(tmp_path: Path) -> None:
    (one,) = read(tmp_path, TAU)
    assert (one.id, one.task, one.trial, one.reward, one.outputs) == ("3/1", "3", 1, 1.0, ("7",))
    assert one.expected == (Expected("cancel", {key: (value,) for key, value in ARGUMENTS.items()}),)


def test_tau2(tmp_path: Path) -> None:
    """Only the assistant's actions count, and only the arguments that are compared."""
    (one,) = read(tmp_path, TAU2)
    assert (one.id, one.reward, one.outputs) == ("3/1", 1.0, ("7",))
    assert one.expected == (Expected("cancel", {"id": (7,)}, open=True),)
    assert one.usage == Usage(seconds=2.5, cost=0.01)


def test_otel_sums_usage_over_spans(tmp_path: Path) -> None:
    (one,) = read(tmp_path, OTEL)
    assert (one.id, one.usage) == ("t1", Usage(42, 9, 3.5))


def test_otel_takes_results_from_spans_of_tools(tmp_path: Path) -> None:
    span = {
        "traceId": "t2",
        "attributes": [
            attribute("gen_ai.tool.name", "cancel"), attribute("gen_ai.tool.call.id", "x"),
            attribute("gen_ai.tool.call.arguments", {"id": 7}), attribute("gen_ai.tool.call.result", "done"),
        ],
    }  # fmt: skip
    (one,) = read(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert one.messages == (
        Message("assistant", calls=(Call("cancel", {"id": 7}, "x"),)),
        Message("tool", "done", call_id="x", tool="cancel"),
    )


def test_bfcl(tmp_path: Path) -> None:
    question = {"id": "s_0", "question": [[{"role": "user", "content": "Add."}]], "function": [{"name": "add"}]}
    (asked,) = read(tmp_path, [question], lines=True)
    assert (asked.id, asked.users(), asked.tools) == ("s_0", ["Add."], (Tool("add"),))
    (answer,) = read(tmp_path, [{"id": "s_0", "ground_truth": [{"add": {"a": [1], "unit": ["", "m"]}}]}], lines=True)
    gold = Expected("add", {"a": (1,), "unit": ("", "m")}, frozenset({"unit"}), turn=0, nested=True)
    assert answer.expected == (gold,)
    turns = {"id": "m_0", "ground_truth": [["add(a=1)"], ["sort('x')", "m.ls()"]]}
    (several,) = read(tmp_path, [turns], lines=True)
    assert [(one.tool, one.turn, one.arguments) for one in several.expected or ()] == [
        ("add", 0, {"a": (1,)}), ("sort", 1, {"0": ("x",)}), ("m.ls", 1, {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("result", "calls"),
    [
        ([{"add": {"a": 1}}], [[Call("add", {"a": 1})]]),
        ([{"add": '{"a": 1}'}], [[Call("add", {"a": 1})]]),
        ("[add(a=1), m.sub(b=[2, -3.5])]", [[Call("add", {"a": 1}), Call("m.sub", {"b": [2, -3.5]})]]),
        ("I cannot do that.", [[]]),
        ([], [[]]),
        ([[[{"add": "{}"}], [{"sub": "{}"}]], [[]]], [[Call("add")], [Call("sub")], []]),
        ([["[add(a=1)]", "[sub()]"], []], [[Call("add", {"a": 1})], [Call("sub")]]),
        ("[add(a=__import__('os'))]", [[Call("add", {}, broken="add(a=__import__('os'))")]]),
    ],
)
def test_results_of_bfcl(tmp_path: Path, result: object, calls: list[list[Call]]) -> None:
    """Python text is parsed, never run."""
    (one,) = read(tmp_path, [{"id": "s_0", "result": result, "latency": [[1.5, 0.5]]}], lines=True)
    assert [list(message.calls) for message in one.messages if message.role == "assistant"] == calls
    assert one.usage == Usage(seconds=2.0)


@pytest.mark.parametrize("text", ["add(", "x = 1", "[add(a=1), 3]", "(" * 10_000, "\0", ""])
def test_what_is_no_list_of_calls_gives_none(text: str) -> None:
    assert bfcl.python_calls(text) == ()


def test_written_conversations_read_back_the_same(tmp_path: Path) -> None:
    one = Trajectory(
        "3/1", (*MESSAGES, Message("assistant", calls=(Call("x", {}, broken="{oops"),), usage=Usage(5, 6))), "3", 1,
        (Tool("cancel", "Cancels.", {"type": "object"}, True),),
        (Expected("cancel", {"id": (7, 8)}, frozenset({"id"}), 0, nested=True, open=True),), ("7",), 1.0,
        Usage(1, 2, 3.0, 4.0),
    )  # fmt: skip
    out = io.BytesIO()
    chat.write([one], out)
    (tmp_path / "t.jsonl").write_bytes(out.getvalue())
    assert list(trajectories.read(str(tmp_path / "t.jsonl"))) == [one]


def test_plain_expected_calls_and_usage(tmp_path: Path) -> None:
    row = {
        "task": "t", "messages": OPENAI[:2], "expected": [{"name": "f", "arguments": {"x": 1}, "turn": 0}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }  # fmt: skip
    (one,) = read(tmp_path, [row], lines=True)
    assert (one.id, one.expected, one.usage) == ("t/0", (Expected("f", {"x": (1,)}, turn=0),), Usage(3, 4))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([], "not a known format of trajectories"),
        ({"messages": []}, None),
        ({"messages": 7}, "not a known format of trajectories"),
        ([{"role": "uzer", "content": "x"}], "dialogue 0, turn 0: role 'uzer' is not known"),
        ([{"role": "user", "content": "x"}, 7], "dialogue 0, turn 1: message 1 is a number, not an object"),
        ([{"role": "assistant", "tool_calls": [{"id": "t"}]}], "the name of a called function is null, not text"),
        ([{**TAU[0], "traj": {}}], "dialogue 3/1: 'traj' is an object, not a list"),
        ([{**TAU[0], "reward": "high"}], "dialogue 3/1: the reward is 'high', not a number"),
        ([TAU[0], TAU[0]], "dialogue 3/1: duplicate trial 1 of task 3"),
        ({**TAU2, "tasks": []}, "dialogue 3/1: there is no task '3' in the file"),
        ({"resourceSpans": []}, "no span has messages"),
        ([{"id": "s_0", "ground_truth": {"add": 1}}], "dialogue s_0: 'ground_truth' is an object, not a list"),
        ([{"id": "s_0", "ground_truth": [{"add": {"a": 1}}]}], "dialogue s_0: 'a' of 'add' is a number, not a list"),
    ],
)
def test_what_does_not_fit_is_one_line_with_its_place(tmp_path: Path, value: object, line: str | None) -> None:
    if line is None:
        assert len(read(tmp_path, value)) == 1
        return
    with pytest.raises(UserError) as caught:
        read(tmp_path, value)
    assert line in caught.value.line()
    assert "\n" not in caught.value.line()
    assert str(tmp_path) in caught.value.line()


def test_arguments_that_are_no_object_are_kept_as_text(tmp_path: Path) -> None:
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{broken"}}]}
    (one,) = read(tmp_path, [message])
    assert one.messages[0].calls == (Call("f", {}, broken="{broken"),)


@pytest.mark.shared
def test_real_files(shared: Path) -> None:
    folder = shared / "data/agents"
    tau = list(trajectories.read(str(folder / "tau_airline/gpt-4o-airline.json")))
    assert (len(tau), tau[0].id, tau[70].id, tau[-1].id) == (140, "0/0", "0/2", "34/3")
    assert sum(1 for one in tau for _ in one.calls()) == 1001
    assert all(call.result is not None for one in tau for call in one.calls())
    asked = list(trajectories.read(str(folder / "bfcl/BFCL_v4_multi_turn_base.json")))
    gold = list(trajectories.read(str(folder / "bfcl/answers_multi_turn_base.json")))
    assert [one.id for one in asked] == [one.id for one in gold]
    assert (len(asked), len(asked[0].users()), len(gold[0].expected or ())) == (200, 4, 10)


def test_arguments_that_hold_a_key_twice_are_kept_as_text(tmp_path: Path) -> None:
    """Decoders take the last one in silence."""
    text = '{"id": 7, "id": 8}'
    message = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "cancel", "arguments": text}}]}
    (one,) = read(tmp_path, [{"messages": [{"role": "user", "content": "x"}, message]}])
    (made,) = spoken(one)[-1].calls
    assert (made.arguments, made.broken) == ({}, text)


ANSWER = {"role": "assistant", "content": "Order 7 is cancelled."}


@pytest.mark.parametrize("response", [
    "Order 7 is cancelled.",
    ANSWER,
    {"id": "x", "choices": [{"index": 0, "message": ANSWER}]},
    {"id": "x", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Order 7 is cancelled."}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Order 7 is cancelled."}]}}]},
    {"output": {"message": {"role": "assistant", "content": [{"text": "Order 7 is cancelled."}]}}},
    {"output": [{"type": "message", **ANSWER}]},
], ids=["text", "message", "openai", "anthropic", "gemini", "bedrock", "responses"])  # fmt: skip
@pytest.mark.parametrize("logged", [OPENAI[:-1], OPENAI], ids=["new", "already the last"])
def test_a_logged_response(response: Any, logged: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"messages": logged, "response": response}))
    (one,) = trajectories.read(str(path))
    assert one.messages == MESSAGES


@pytest.mark.parametrize("response", [7, {}, [], {"choices": []}, ["text"], {"output": {}}])
def test_a_logged_response_that_is_no_message_is_one_line(response: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"messages": OPENAI[:-1], "response": response}))
    with pytest.raises(UserError, match="the 'response' is not a message") as refused:
        list(trajectories.read(str(path)))
    assert "\n" not in str(refused.value)
