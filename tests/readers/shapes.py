"""One conversation with two calls in the raw shapes of SDKs, frameworks, gateways and tracing tools.

Written by hand from the public documentation of each. `SHAPES` maps a name to a shape: the rows of a file (one per
line), and what the shape leaves out.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

SYSTEM, ASKED, FIRST, LAST = "Be brief.", "Cancel order 7 and refund it.", "One moment.", "Order 7 is cancelled."
CANCEL, REFUND = {"id": 7}, {"id": 7, "amount": 12.5}
CANCELLED, REFUNDED = {"status": "cancelled"}, {"refunded": 12.5}
CALLS = [("cancel_order", CANCEL, CANCELLED), ("refund", REFUND, REFUNDED)]
PARAMETERS = {"type": "object", "properties": {"id": {"type": "integer"}}}


class Shape(NamedTuple):
    rows: list[Any]  # one per line
    tools: bool = False  # the shape has definitions of the tools
    system: bool = True
    whole: bool = False  # the file is one JSON value, the first row
    joined: int = 1  # rows that are joined into the conversation
    format: str = "chat"


def text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def whole(value: Any, **further: Any) -> Shape:
    return Shape([value], whole=True, **further)


# --- OpenAI ---------------------------------------------------------------------------------------------------------
def openai_call(id: str, name: str, arguments: object) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text(arguments)}}


OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": FIRST, "tool_calls": [openai_call("c1", "cancel_order", CANCEL)]},
    {"role": "tool", "tool_call_id": "c1", "content": text(CANCELLED)},
    {"role": "assistant", "content": None, "tool_calls": [openai_call("c2", "refund", REFUND)]},
    {"role": "tool", "tool_call_id": "c2", "content": text(REFUNDED)},
    {"role": "assistant", "content": LAST, "refusal": None, "annotations": []},
]
OPENAI_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": PARAMETERS}}
    for name in ("cancel_order", "refund")
]
OPENAI_PARTS = [
    {**m, "content": [{"type": "text", "text": m["content"]}]} if m["content"] and m["role"] != "tool" else m
    for m in OPENAI
]
LEGACY = [
    *OPENAI[:2],
    {"role": "assistant", "content": FIRST, "function_call": {"name": "cancel_order", "arguments": text(CANCEL)}},
    {"role": "function", "name": "cancel_order", "content": text(CANCELLED)},
    {"role": "assistant", "content": None, "function_call": {"name": "refund", "arguments": text(REFUND)}},
    {"role": "function", "name": "refund", "content": text(REFUNDED)},
    OPENAI[-1],
]
CUSTOM = [
    *OPENAI[:2],
    {
        "role": "assistant",
        "content": FIRST,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "cancel_order", "input": text(CANCEL)}}],
    },
    *OPENAI[3:],
]


def calls_of_model(messages: list[Any]) -> list[tuple[list[Any], Any]]:
    """Each message of the assistant with all messages before it."""
    return [(messages[:index], m) for index, m in enumerate(messages) if m["role"] in ("assistant", "model", "ai")]


def completion(message: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}


# --- Responses API, Agents SDK --------------------------------------------------------------------------------------
def item_call(id: str, name: str, arguments: object) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{id}",
        "call_id": id,
        "name": name,
        "arguments": text(arguments),
        "status": "completed",
    }


def item_text(said: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": said, "annotations": []}],
    }


ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    item_text(FIRST),
    item_call("c1", "cancel_order", CANCEL),
    {"type": "function_call_output", "call_id": "c1", "output": text(CANCELLED)},
    item_call("c2", "refund", REFUND),
    {"type": "function_call_output", "call_id": "c2", "output": text(REFUNDED)},
    item_text(LAST),
]
FLAT_TOOLS = [
    {"type": "function", "name": name, "description": name, "parameters": PARAMETERS}
    for name in ("cancel_order", "refund")
]
CUSTOM_ITEMS = [
    *ITEMS[:2],
    {"type": "custom_tool_call", "call_id": "c1", "name": "cancel_order", "input": text(CANCEL)},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": text(CANCELLED)},
    *ITEMS[4:],
]
MCP_ITEMS = [
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "shop", "tools": []},
    ITEMS[1],
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "shop",
        "name": "cancel_order",
        "arguments": text(CANCEL),
        "output": text(CANCELLED),
        "error": None,
    },
    {
        "type": "mcp_call",
        "id": "mcp_2",
        "server_label": "shop",
        "name": "refund",
        "arguments": text(REFUND),
        "output": text(REFUNDED),
        "error": None,
    },
    ITEMS[6],
]
AGENTS_JS = [
    {"type": "message", "role": "user", "content": ASKED},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": FIRST}]},
    {"type": "function_call", "callId": "c1", "name": "cancel_order", "arguments": text(CANCEL), "status": "completed"},
    {
        "type": "function_call_result",
        "callId": "c1",
        "name": "cancel_order",
        "status": "completed",
        "output": {"type": "text", "text": text(CANCELLED)},
    },
    {"type": "function_call", "callId": "c2", "name": "refund", "arguments": text(REFUND), "status": "completed"},
    {
        "type": "function_call_result",
        "callId": "c2",
        "name": "refund",
        "status": "completed",
        "output": {"type": "text", "text": text(REFUNDED)},
    },
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LAST}]},
]


def agents_trace() -> list[Any]:
    head = {"object": "trace.span", "trace_id": "trace_1", "parent_id": None}
    rows: list[Any] = [
        {
            **head,
            "id": f"span_{n}",
            "started_at": f"2025-01-01T00:00:0{2 * n}Z",
            "ended_at": f"2025-01-01T00:00:0{2 * n + 1}Z",
            "span_data": {"type": "generation", "input": before, "output": [answer], "model": "gpt"},
        }
        for n, (before, answer) in enumerate(calls_of_model(OPENAI))
    ]
    tool = {"type": "function", "name": "cancel_order", "input": text(CANCEL), "output": text(CANCELLED)}
    return [
        *rows,
        {
            **head,
            "id": "span_t",
            "started_at": "2025-01-01T00:00:01.5Z",
            "ended_at": "2025-01-01T00:00:01.6Z",
            "span_data": tool,
        },
    ]


# --- Anthropic ------------------------------------------------------------------------------------------------------
def used(id: str, name: str, input: object, kind: str = "tool_use") -> dict[str, Any]:
    return {"type": kind, "id": id, "name": name, "input": input}


def anthropic_result(id: str, value: object, kind: str = "tool_result") -> dict[str, Any]:
    return {"type": kind, "tool_use_id": id, "content": [{"type": "text", "text": text(value)}]}


ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": FIRST},
            used("c1", "cancel_order", CANCEL),
        ],
    },
    {"role": "user", "content": [anthropic_result("c1", CANCELLED)]},
    {"role": "assistant", "content": [used("c2", "refund", REFUND)]},
    {"role": "user", "content": [anthropic_result("c2", REFUNDED)]},
    {"role": "assistant", "content": [{"type": "text", "text": LAST}]},
]
ANTHROPIC_TOOLS = [
    {"name": name, "description": name, "input_schema": PARAMETERS} for name in ("cancel_order", "refund")
]
ANTHROPIC_MCP = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": FIRST},
            {**used("c1", "cancel_order", CANCEL, "mcp_tool_use"), "server_name": "shop"},
            {**anthropic_result("c1", CANCELLED, "mcp_tool_result"), "is_error": False},
            {**used("c2", "refund", REFUND, "mcp_tool_use"), "server_name": "shop"},
            {**anthropic_result("c2", REFUNDED, "mcp_tool_result"), "is_error": False},
            {"type": "text", "text": LAST},
        ],
    },
]
ANTHROPIC_SERVER = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": FIRST},
            used("c1", "cancel_order", CANCEL, "server_tool_use"),
            {"type": "cancel_order_tool_result", "tool_use_id": "c1", "content": CANCELLED},
            used("c2", "refund", REFUND, "server_tool_use"),
            {"type": "refund_tool_result", "tool_use_id": "c2", "content": REFUNDED},
            {"type": "text", "text": LAST},
        ],
    },
]
CLAUDE_CODE = [
    {"type": m["role"], "message": m, "sessionId": "s1", "uuid": str(n), "timestamp": f"2025-01-01T00:00:0{n}Z"}
    for n, m in enumerate(ANTHROPIC)
]

# --- Gemini, Bedrock ------------------------------------------------------------------------------------------------
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": ASKED}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": FIRST},
            {"functionCall": {"id": "c1", "name": "cancel_order", "args": CANCEL}},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "cancel_order", "response": CANCELLED}}]},
    {
        "role": "model",
        "parts": [{"functionCall": {"id": "c2", "name": "refund", "args": REFUND}, "thoughtSignature": "x"}],
    },
    {"role": "user", "parts": [{"functionResponse": {"id": "c2", "name": "refund", "response": REFUNDED}}]},
    {"role": "model", "parts": [{"text": LAST}]},
]
GEMINI_SNAKE = json.loads(
    text(GEMINI).replace("functionCall", "function_call").replace("functionResponse", "function_response")
)
GEMINI_TOOLS = [
    {
        "functionDeclarations": [
            {"name": name, "description": name, "parameters": PARAMETERS} for name in ("cancel_order", "refund")
        ]
    }
]
BEDROCK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": ASKED}, {"cachePoint": {"type": "default"}}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"text": FIRST},
            {"toolUse": {"toolUseId": "c1", "name": "cancel_order", "input": CANCEL}},
        ],
    },
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": CANCELLED}], "status": "success"}}],
    },
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c2", "name": "refund", "input": REFUND}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c2", "content": [{"json": REFUNDED}]}}]},
    {"role": "assistant", "content": [{"text": LAST}]},
]
BEDROCK_TOOLS = {
    "tools": [
        {"toolSpec": {"name": name, "description": name, "inputSchema": {"json": PARAMETERS}}}
        for name in ("cancel_order", "refund")
    ]
}


def invocations(operation: str) -> list[Any]:
    converse = operation == "Converse"
    rows = []
    for number, (before, answer) in enumerate(calls_of_model(BEDROCK if converse else ANTHROPIC)):
        system: Any = [{"text": SYSTEM}] if converse else SYSTEM
        body = {
            "messages": before,
            "system": system,
            **({"toolConfig": BEDROCK_TOOLS} if converse else {"tools": ANTHROPIC_TOOLS}),
        }
        out: Any = (
            {"output": {"message": answer}, "usage": {"inputTokens": 5, "outputTokens": 2}} if converse else answer
        )
        rows.append(
            {
                "schemaType": "ModelInvocationLog",
                "schemaVersion": "1.0",
                "timestamp": f"2025-01-01T00:00:0{number}Z",
                "operation": operation,
                "modelId": "m",
                "requestId": str(number),
                "input": {"inputBodyJson": body},
                "output": {"outputBodyJson": out},
            }
        )
    return rows


# --- AI SDK ---------------------------------------------------------------------------------------------------------
def invocation(id: str, name: str, args: object, result: object) -> dict[str, Any]:
    return {"state": "result", "toolCallId": id, "toolName": name, "args": args, "result": result}


AI4 = [
    {"id": "m1", "role": "user", "content": ASKED},
    {"id": "m2", "role": "assistant", "content": FIRST},
    {
        "id": "m3",
        "role": "assistant",
        "content": LAST,
        "toolInvocations": [
            {**invocation("c1", "cancel_order", CANCEL, CANCELLED), "step": 0},
            {**invocation("c2", "refund", REFUND, REFUNDED), "step": 1},
        ],
    },
]
AI42 = [
    {"id": "m1", "role": "user", "content": ASKED, "parts": [{"type": "text", "text": ASKED}]},
    {
        "id": "m2",
        "role": "assistant",
        "content": FIRST + LAST,
        "parts": [
            {"type": "step-start"},
            {"type": "text", "text": FIRST},
            {"type": "tool-invocation", "toolInvocation": invocation("c1", "cancel_order", CANCEL, CANCELLED)},
            {"type": "step-start"},
            {"type": "tool-invocation", "toolInvocation": invocation("c2", "refund", REFUND, REFUNDED)},
            {"type": "step-start"},
            {"type": "text", "text": LAST},
        ],
        "toolInvocations": [
            invocation("c1", "cancel_order", CANCEL, CANCELLED),
            invocation("c2", "refund", REFUND, REFUNDED),
        ],
    },
]


def ui_part(kind: str, id: str, input: object, output: object, **further: Any) -> dict[str, Any]:
    return {"type": kind, "toolCallId": id, "state": "output-available", "input": input, "output": output, **further}


AI5 = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
    {
        "id": "m2",
        "role": "assistant",
        "metadata": {"model": "x"},
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": FIRST, "state": "done"},
            ui_part("tool-cancel_order", "c1", CANCEL, CANCELLED),
            {"type": "step-start"},
            ui_part("dynamic-tool", "c2", REFUND, REFUNDED, toolName="refund"),
            {"type": "step-start"},
            {"type": "text", "text": LAST, "state": "done"},
        ],
    },
]


def ai_messages(arguments: str, result: str, wrap: bool) -> list[Any]:
    def output(value: object) -> object:
        return {"type": "json", "value": value} if wrap else value

    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": FIRST},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "cancel_order", arguments: CANCEL},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "cancel_order", result: output(CANCELLED)}
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c2", "toolName": "refund", arguments: REFUND}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c2", "toolName": "refund", result: output(REFUNDED)}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": LAST}]},
    ]


# --- LangChain, LangSmith, Langfuse ---------------------------------------------------------------------------------
def lc_call(id: str, name: str, args: object) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


LANGCHAIN: list[dict[str, Any]] = [
    {"type": "system", "content": SYSTEM},
    {"type": "human", "content": ASKED, "additional_kwargs": {}, "response_metadata": {}, "id": "h1"},
    {
        "type": "ai",
        "content": FIRST,
        "tool_calls": [lc_call("c1", "cancel_order", CANCEL)],
        "invalid_tool_calls": [],
        "additional_kwargs": {"tool_calls": [openai_call("c1", "cancel_order", CANCEL)]},
        "usage_metadata": None,
    },
    {"type": "tool", "content": text(CANCELLED), "tool_call_id": "c1", "name": "cancel_order", "status": "success"},
    {"type": "ai", "content": [used("c2", "refund", REFUND)], "tool_calls": [lc_call("c2", "refund", REFUND)]},
    {"type": "tool", "content": text(REFUNDED), "tool_call_id": "c2", "name": "refund", "artifact": None},
    {"type": "ai", "content": LAST, "tool_calls": []},
]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
LC_DICTS = [{"type": m["type"], "data": m} for m in LANGCHAIN]
LC_DUMPS: list[dict[str, Any]] = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", CLASSES[m["type"]]], "kwargs": m}
    for m in LANGCHAIN
]


def langsmith() -> list[Any]:
    """Runs of a trace, the newest first: model calls, a tool, and the graph around them."""
    head = {
        "trace_id": "t1",
        "session_id": "project",
        "extra": {"metadata": {"thread_id": "thread-1"}, "invocation_params": {"tools": OPENAI_TOOLS}},
    }
    models = [m for m in LC_DUMPS if m["kwargs"]["type"] == "ai"]
    runs: list[Any] = [
        {
            **head,
            "id": f"r{n}",
            "run_type": "llm",
            "name": "ChatModel",
            "start_time": f"2025-01-01T00:00:0{2 * n}",
            "end_time": f"2025-01-01T00:00:0{2 * n + 1}",
            "inputs": {"messages": [LC_DUMPS[: LC_DUMPS.index(m)]]},
            "outputs": {"generations": [[{"text": "", "type": "ChatGeneration", "message": m}]], "llm_output": None},
        }
        for n, m in enumerate(models)
    ]
    tool = {
        **head,
        "id": "r8",
        "run_type": "tool",
        "name": "cancel_order",
        "start_time": "2025-01-01T00:00:01.2",
        "end_time": "2025-01-01T00:00:01.4",
        "inputs": {"input": "{'id': 7}"},
        "outputs": {"output": LC_DUMPS[3]},
    }
    root = {
        **head,
        "id": "r9",
        "run_type": "chain",
        "name": "LangGraph",
        "start_time": "2025-01-01T00:00:00",
        "end_time": "2025-01-01T00:00:09",
        "inputs": {"messages": LANGCHAIN[:2]},
        "outputs": {"messages": LANGCHAIN},
    }
    return [root, *reversed(runs), tool]


def langfuse_observations() -> list[Any]:
    rows: list[Any] = [
        {
            "id": f"o{n}",
            "traceId": "t1",
            "type": "GENERATION",
            "name": "chat",
            "startTime": f"2025-01-01T00:00:0{2 * n}Z",
            "endTime": f"2025-01-01T00:00:0{2 * n + 1}Z",
            "model": "m",
            "usage": {"input": 4, "output": 2},
            "input": {"messages": before, "tools": OPENAI_TOOLS},
            "output": answer,
        }
        for n, (before, answer) in enumerate(calls_of_model(OPENAI))
    ]
    tool = {
        "id": "o7",
        "traceId": "t1",
        "type": "TOOL",
        "name": "cancel_order",
        "startTime": "2025-01-01T00:00:01.1Z",
        "endTime": "2025-01-01T00:00:01.2Z",
        "input": CANCEL,
        "output": text(CANCELLED),
    }
    span = {
        "id": "o8",
        "traceId": "t1",
        "type": "SPAN",
        "name": "retrieve",
        "startTime": "2025-01-01T00:00:00Z",
        "endTime": "2025-01-01T00:00:00.1Z",
        "input": "orders",
        "output": "7",
    }
    return [tool, *reversed(rows), span]


LANGFUSE_TRACE = {
    "id": "t1",
    "name": "agent",
    "sessionId": "s1",
    "input": ASKED,
    "output": LAST,
    "observations": langfuse_observations(),
}
LANGFUSE_LC = [
    {
        "id": f"o{n}",
        "traceId": "t1",
        "type": "GENERATION",
        "startTime": f"2025-01-01T00:00:0{n}Z",
        "input": [*before, *({"role": "tool", "content": tool} for tool in OPENAI_TOOLS)],
        "output": {
            "role": "assistant",
            "content": answer["content"] or "",
            "additional_kwargs": {"tool_calls": answer.get("tool_calls", [])},
        },
    }
    for n, (before, answer) in enumerate(calls_of_model(OPENAI))
]

# --- Pydantic AI, Inspect, AutoGen, Haystack, LlamaIndex, ADK, Ollama, Cohere ---------------
PYDANTIC = [
    {
        "kind": "request",
        "parts": [
            {"content": SYSTEM, "part_kind": "system-prompt", "timestamp": "2025-01-01T00:00:00Z"},
            {"content": ASKED, "part_kind": "user-prompt"},
        ],
    },
    {
        "kind": "response",
        "usage": {"input_tokens": 4},
        "model_name": "m",
        "parts": [
            {"content": "hm", "part_kind": "thinking"},
            {"content": FIRST, "part_kind": "text"},
            {"tool_name": "cancel_order", "args": text(CANCEL), "tool_call_id": "c1", "part_kind": "tool-call"},
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"tool_name": "cancel_order", "content": CANCELLED, "tool_call_id": "c1", "part_kind": "tool-return"}
        ],
    },
    {
        "kind": "response",
        "parts": [{"tool_name": "refund", "args": REFUND, "tool_call_id": "c2", "part_kind": "tool-call"}],
    },
    {
        "kind": "request",
        "parts": [{"tool_name": "refund", "content": REFUNDED, "tool_call_id": "c2", "part_kind": "tool-return"}],
    },
    {"kind": "response", "parts": [{"content": LAST, "part_kind": "text"}]},
]
INSPECT_MESSAGES = [
    {"id": "1", "role": "system", "content": SYSTEM},
    {"id": "2", "role": "user", "content": ASKED, "source": "input"},
    {
        "id": "3",
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": FIRST}],
        "tool_calls": [{"id": "c1", "function": "cancel_order", "arguments": CANCEL, "type": "function"}],
    },
    {"id": "4", "role": "tool", "content": text(CANCELLED), "tool_call_id": "c1", "function": "cancel_order"},
    {
        "id": "5",
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c2", "function": "refund", "arguments": REFUND, "type": "function"}],
    },
    {"id": "6", "role": "tool", "content": text(REFUNDED), "tool_call_id": "c2", "function": "refund", "error": None},
    {"id": "7", "role": "assistant", "content": LAST},
]
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "orders"},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": ASKED,
            "target": "x",
            "messages": INSPECT_MESSAGES,
            "output": {"model": "m", "choices": [{"message": INSPECT_MESSAGES[-1]}]},
            "scores": {"match": {"value": "C"}},
        }
    ],
}
AUTOGEN = [
    {"type": "TextMessage", "source": "user", "content": ASKED, "models_usage": None, "metadata": {}},
    {"type": "TextMessage", "source": "shop", "content": FIRST},
    {
        "type": "ToolCallRequestEvent",
        "source": "shop",
        "content": [{"id": "c1", "name": "cancel_order", "arguments": text(CANCEL)}],
    },
    {
        "type": "ToolCallExecutionEvent",
        "source": "shop",
        "content": [{"call_id": "c1", "name": "cancel_order", "content": text(CANCELLED), "is_error": False}],
    },
    {
        "type": "ToolCallRequestEvent",
        "source": "shop",
        "content": [{"id": "c2", "name": "refund", "arguments": text(REFUND)}],
    },
    {
        "type": "ToolCallExecutionEvent",
        "source": "shop",
        "content": [{"call_id": "c2", "name": "refund", "content": text(REFUNDED), "is_error": False}],
    },
    {"type": "TextMessage", "source": "shop", "content": LAST},
]


def haystack_result(id: str, name: str, arguments: object, result: object) -> dict[str, Any]:
    origin = {"tool_name": name, "arguments": arguments, "id": id}
    return {
        "role": "tool",
        "content": [{"tool_call_result": {"result": text(result), "origin": origin, "error": False}}],
    }


HAYSTACK = [
    {"role": "system", "meta": {}, "name": None, "content": [{"text": SYSTEM}]},
    {"role": "user", "meta": {}, "name": None, "content": [{"text": ASKED}]},
    {
        "role": "assistant",
        "content": [{"text": FIRST}, {"tool_call": {"tool_name": "cancel_order", "arguments": CANCEL, "id": "c1"}}],
    },
    haystack_result("c1", "cancel_order", CANCEL, CANCELLED),
    {"role": "assistant", "content": [{"tool_call": {"tool_name": "refund", "arguments": REFUND, "id": "c2"}}]},
    haystack_result("c2", "refund", REFUND, REFUNDED),
    {"role": "assistant", "content": [{"text": LAST}]},
]
LLAMA_INDEX = [
    {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": ASKED}]},
    {
        "role": "assistant",
        "additional_kwargs": {},
        "blocks": [
            {"block_type": "text", "text": FIRST},
            {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "cancel_order", "tool_kwargs": CANCEL},
        ],
    },
    {
        "role": "tool",
        "additional_kwargs": {"tool_call_id": "c1"},
        "blocks": [{"block_type": "text", "text": text(CANCELLED)}],
    },
    {"role": "assistant", "additional_kwargs": {"tool_calls": [openai_call("c2", "refund", REFUND)]}, "blocks": []},
    {
        "role": "tool",
        "additional_kwargs": {"tool_call_id": "c2"},
        "blocks": [{"block_type": "text", "text": text(REFUNDED)}],
    },
    {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": LAST}]},
]
ADK = {
    "id": "s1",
    "appName": "shop",
    "userId": "u",
    "state": {},
    "events": [
        {
            "author": "user" if m["role"] == "user" and "text" in m["parts"][0] else "shop",
            "invocationId": "e-1",
            "id": str(n),
            "content": m,
            "actions": {"stateDelta": {}},
        }
        for n, m in enumerate(GEMINI)
    ],
}
OLLAMA = [
    *OPENAI[:2],
    {
        "role": "assistant",
        "content": FIRST,
        "tool_calls": [{"function": {"name": "cancel_order", "arguments": CANCEL}}],
    },
    {"role": "tool", "tool_name": "cancel_order", "content": text(CANCELLED)},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "refund", "arguments": REFUND}}]},
    {"role": "tool", "tool_name": "refund", "content": text(REFUNDED)},
    OPENAI[-1],
]
COHERE = [
    {**m, "content": [{"type": "document", "document": {"id": "0", "data": m["content"]}}]}
    if m["role"] == "tool"
    else m
    for m in OPENAI
]
MISTRAL_TS = json.loads(text(OPENAI).replace("tool_calls", "toolCalls").replace("tool_call_id", "toolCallId"))
SHAREGPT = {
    "system": SYSTEM,
    "tools": text([tool["function"] for tool in OPENAI_TOOLS]),
    "conversations": [
        {"from": "human", "value": ASKED},
        {"from": "gpt", "value": FIRST},
        {"from": "function_call", "value": text({"name": "cancel_order", "arguments": CANCEL})},
        {"from": "observation", "value": text(CANCELLED)},
        {"from": "function_call", "value": text({"name": "refund", "arguments": REFUND})},
        {"from": "observation", "value": text(REFUNDED)},
        {"from": "gpt", "value": LAST},
    ],
}
HERMES = {
    "id": "h1",
    "conversations": [
        {"from": "system", "value": SYSTEM},
        {"from": "human", "value": ASKED},
        {
            "from": "gpt",
            "value": f"{FIRST}\n<tool_call>\n{text({'name': 'cancel_order', 'arguments': CANCEL})}\n</tool_call>",
        },
        {"from": "tool", "value": f"<tool_response>\n{text(CANCELLED)}\n</tool_response>"},
        {"from": "gpt", "value": f"<tool_call>\n{text({'name': 'refund', 'arguments': REFUND})}\n</tool_call>"},
        {"from": "tool", "value": f"<tool_response>\n{text(REFUNDED)}\n</tool_response>"},
        {"from": "gpt", "value": LAST},
    ],
}


# --- gateways: one row per model call -------------------------------------------------------------------------------
def gateway(request: str, response: str, *, body: bool = False, as_text: bool = False, **further: Any) -> list[Any]:
    rows = []
    for number, (before, answer) in enumerate(calls_of_model(OPENAI)):
        asked: Any = {"model": "m", "messages": before, "tools": OPENAI_TOOLS}
        told: Any = {**completion(answer), "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
        if body:
            asked, told = {"method": "POST", "body": asked}, {"status": 200, "body": told}
        if as_text:
            asked, told = text(asked), text(told)
        rows.append({"id": f"req-{number}", request: asked, response: told, **further})
    return rows


LITELLM = [
    {
        "id": f"chatcmpl-{n}",
        "trace_id": "trace-1",
        "call_type": "acompletion",
        "response_cost": 0.5,
        "startTime": n + 1.0,
        "endTime": n + 1.5,
        "messages": before,
        "response": completion(answer),
        "model_parameters": {"tools": OPENAI_TOOLS},
        "metadata": {"user_api_key_alias": "x"},
    }
    for n, (before, answer) in enumerate(calls_of_model(OPENAI))
]
DELTAS = [  # each row has only what is new
    {"session_id": "s1", "messages": OPENAI[:2], "response": OPENAI[2]},
    {"session_id": "s1", "messages": OPENAI[3:4], "response": OPENAI[4]},
    {"session_id": "s1", "messages": OPENAI[5:6], "response": OPENAI[6]},
]
RESPONSES_LOG = [
    {
        "request": {
            "instructions": SYSTEM,
            "tools": FLAT_TOOLS,
            "input": [{"role": "user", "content": ASKED}, *ITEMS[1:end]],
        },
        "response": {"id": "resp", "object": "response", "output": out},
    }
    for end, out in ((1, ITEMS[:3]), (4, ITEMS[4:5]), (6, ITEMS[6:]))
]
WEAVE = [
    {
        "id": f"call-{n}",
        "op_name": "openai.chat.completions.create",
        "trace_id": "t1",
        "started_at": f"2025-01-01T00:00:0{n}Z",
        "inputs": {"messages": before, "tools": OPENAI_TOOLS},
        "output": completion(answer),
    }
    for n, (before, answer) in enumerate(calls_of_model(OPENAI))
]
BRAINTRUST = [
    {
        "id": str(n),
        "span_id": str(n),
        "root_span_id": "r1",
        "created": f"2025-01-01T00:00:0{n}Z",
        "input": before,
        "output": [{"index": 0, "finish_reason": "stop", "message": answer}],
        "expected": None,
        "metadata": {"model": "m", "tools": OPENAI_TOOLS},
    }
    for n, (before, answer) in enumerate(calls_of_model(OPENAI))
]
DATABASE = [  # one message per row
    {"conversation_id": "c", "created_at": f"2025-01-01T00:00:0{n}Z", **m} for n, m in enumerate(OPENAI)
]


# --- OpenTelemetry --------------------------------------------------------------------------------------------------
def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(item) for item in value]}}
    return {"stringValue": value}


def attributes(values: dict[str, Any]) -> list[Any]:
    return [{"key": key, "value": otlp_value(value)} for key, value in values.items() if value is not None]


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """An export; each span has `attributes` as a mapping, and `events`: pairs of a name and a mapping."""
    records = [
        {
            "traceId": "t1",
            "spanId": f"s{n}",
            "name": "chat",
            "startTimeUnixNano": str(2 * n + 1),
            "endTimeUnixNano": str(2 * n + 2),
            "attributes": attributes(span["attributes"]),
            "events": [{"name": name, "attributes": attributes(values)} for name, values in span.get("events", [])],
        }
        for n, span in enumerate(spans)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": records}]}]}


def semconv(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message["tool_call_id"], "response": json.loads(message["content"])}
        return {"role": "tool", "parts": [part]}
    parts: list[Any] = [{"type": "text", "content": message["content"]}] if message["content"] else []
    for call in message.get("tool_calls", []):
        function = call["function"]
        parts.append(
            {
                "type": "tool_call",
                "id": call["id"],
                "name": function["name"],
                "arguments": json.loads(function["arguments"]),
            }
        )
    return {"role": message["role"], "parts": parts}


def genai(*, deltas: bool = False) -> list[Any]:
    spans, seen = [], 1
    for before, answer in calls_of_model(OPENAI):
        history = before[seen:] if deltas else before[1:]
        seen = len(before) + 1 if deltas else seen
        spans.append(
            {
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.system_instructions": text([{"type": "text", "content": SYSTEM}]),
                    "gen_ai.input.messages": text([semconv(m) for m in history]),
                    "gen_ai.output.messages": text([{**semconv(answer), "finish_reason": "stop"}]),
                    "gen_ai.tool.definitions": text(FLAT_TOOLS),
                }
            }
        )
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": text([semconv(OPENAI[1])]),
        "gen_ai.output.messages": text([semconv(OPENAI[-1])]),
    }
    return [*spans, {"attributes": agent}]


def event_of(message: dict[str, Any], *, choice: bool = False) -> tuple[str, dict[str, Any]]:
    if choice:
        return "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": message}
    if message["role"] == "tool":
        return "gen_ai.tool.message", {"id": message["tool_call_id"], "content": message["content"]}
    return f"gen_ai.{message['role']}.message", {key: value for key, value in message.items() if value is not None}


def event_spans() -> list[Any]:
    return [
        {
            "attributes": {"gen_ai.system": "openai"},
            "events": [
                *map(event_of, before),
                event_of({k: v for k, v in answer.items() if v is not None}, choice=True),
            ],
        }
        for before, answer in calls_of_model(OPENAI)
    ]


def event_logs() -> dict[str, Any]:
    records = []
    for number, span in enumerate(event_spans()):
        records += [
            {
                "traceId": "t1",
                "spanId": f"s{number}",
                "timeUnixNano": str(number + 1),
                "eventName": name,
                "attributes": attributes({"gen_ai.system": "openai"}),
                "body": otlp_value(values),
            }
            for name, values in span["events"]
        ]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def content_events() -> list[Any]:
    return [
        {
            "attributes": {},
            "events": [
                ("gen_ai.content.prompt", {"gen_ai.prompt": text(before)}),
                ("gen_ai.content.completion", {"gen_ai.completion": text([answer])}),
            ],
        }
        for before, answer in calls_of_model(OPENAI)
    ]


def openllmetry() -> list[Any]:
    def numbered(prefix: str, messages: list[Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for n, m in enumerate(messages):
            flat |= {
                f"{prefix}.{n}.role": m["role"],
                f"{prefix}.{n}.content": m["content"],
                f"{prefix}.{n}.tool_call_id": m.get("tool_call_id"),
            }
            for c, call in enumerate(m.get("tool_calls", [])):
                start = f"{prefix}.{n}.tool_calls.{c}"
                flat |= {
                    f"{start}.id": call["id"],
                    f"{start}.name": call["function"]["name"],
                    f"{start}.arguments": call["function"]["arguments"],
                }
        return flat

    tools = {
        f"llm.request.functions.{n}.{key}": text(PARAMETERS) if key == "parameters" else tool["function"][key]
        for n, tool in enumerate(OPENAI_TOOLS)
        for key in ("name", "description", "parameters")
    }
    return [
        {
            "attributes": {
                "llm.request.type": "chat",
                **tools,
                **numbered("gen_ai.prompt", before),
                **numbered("gen_ai.completion", [answer]),
            }
        }
        for before, answer in calls_of_model(OPENAI)
    ]


def inference_message(m: dict[str, Any], *, nested: bool) -> dict[str, Any]:
    calls = [{"tool_call": {"id": call["id"], "function": call["function"]}} for call in m.get("tool_calls", [])]
    if nested:
        message = {
            "role": m["role"],
            "content": m["content"],
            "tool_call_id": m.get("tool_call_id"),
            "tool_calls": calls,
        }
        return {"message": {key: value for key, value in message.items() if value}}
    flat = {
        "message.role": m["role"],
        "message.content": m["content"],
        "message.tool_call_id": m.get("tool_call_id"),
        "message.tool_calls": [
            {
                "tool_call.id": call["id"],
                "tool_call.function.name": call["function"]["name"],
                "tool_call.function.arguments": call["function"]["arguments"],
            }
            for call in m.get("tool_calls", [])
        ],
    }
    return {key: value for key, value in flat.items() if value}


def openinference() -> list[Any]:
    def numbered(prefix: str, messages: list[Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for n, m in enumerate(messages):
            start = f"{prefix}.{n}.message"
            flat |= {f"{start}.role": m["role"], f"{start}.tool_call_id": m.get("tool_call_id")}
            if m["role"] == "user":
                flat |= {
                    f"{start}.contents.0.message_content.type": "text",
                    f"{start}.contents.0.message_content.text": m["content"],
                }
            else:
                flat[f"{start}.content"] = m["content"]
            for c, call in enumerate(m.get("tool_calls", [])):
                flat |= {
                    f"{start}.tool_calls.{c}.tool_call.id": call["id"],
                    f"{start}.tool_calls.{c}.tool_call.function.name": call["function"]["name"],
                    f"{start}.tool_calls.{c}.tool_call.function.arguments": call["function"]["arguments"],
                }
        return flat

    tools = {f"llm.tools.{n}.tool.json_schema": text(tool) for n, tool in enumerate(OPENAI_TOOLS)}
    spans: list[Any] = [
        {
            "attributes": {
                "openinference.span.kind": "LLM",
                "session.id": "s1",
                "llm.token_count.prompt": 5,
                **tools,
                **numbered("llm.input_messages", before),
                **numbered("llm.output_messages", [answer]),
            }
        }
        for before, answer in calls_of_model(OPENAI)
    ]
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "cancel_order",
        "input.value": text(CANCEL),
        "output.value": text(CANCELLED),
    }
    return [spans[0], {"attributes": tool}, *spans[1:]]


def phoenix(*, nested: bool) -> list[Any]:
    rows: list[Any] = []
    for n, (before, answer) in enumerate(calls_of_model(OPENAI)):
        head: dict[str, Any] = {
            "name": "ChatCompletion",
            "span_kind": "LLM",
            "start_time": f"2025-01-01T00:00:0{n}+00:00",
            "end_time": f"2025-01-01T00:00:0{n}.5+00:00",
        }
        values = [[inference_message(m, nested=nested) for m in side] for side in (before, [answer])]
        tools: list[Any] = [
            {"tool": {"json_schema": text(tool)}} if nested else {"tool.json_schema": text(tool)}
            for tool in OPENAI_TOOLS
        ]
        if nested:
            llm = {"input_messages": values[0], "output_messages": values[1], "tools": tools}
            rows.append({**head, "context": {"trace_id": "t1", "span_id": f"s{n}"}, "attributes": {"llm": llm}})
        else:
            rows.append(
                {
                    **head,
                    "context.trace_id": "t1",
                    "context.span_id": f"s{n}",
                    "attributes.llm.input_messages": values[0],
                    "attributes.llm.output_messages": values[1],
                    "attributes.llm.tools": tools,
                }
            )
    return rows


def console() -> list[Any]:
    return [
        {
            "name": "chat",
            "context": {"trace_id": "0xt1", "span_id": f"0x{n}"},
            "start_time": f"2025-01-01T00:00:0{n}.000000Z",
            "end_time": f"2025-01-01T00:00:0{n}.500000Z",
            "attributes": span["attributes"],
            "events": [],
        }
        for n, span in enumerate(genai())
    ]


def ai_telemetry() -> list[Any]:
    messages = ai_messages("input", "output", wrap=True)
    tools = [text({"type": "function", "name": name, "inputSchema": PARAMETERS}) for name in ("cancel_order", "refund")]
    spans: list[Any] = []
    for before, answer in calls_of_model(messages):
        calls = [part for part in answer["content"] if part["type"] == "tool-call"]
        said = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
        spans.append(
            {
                "attributes": {
                    "ai.operationId": "ai.generateText.doGenerate",
                    "ai.prompt.messages": text(before),
                    "ai.prompt.tools": tools,
                    "ai.response.text": said or None,
                    "ai.response.toolCalls": text(calls) if calls else None,
                }
            }
        )
    tool = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "cancel_order",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": text(CANCEL),
        "ai.toolCall.result": text(CANCELLED),
    }
    return [spans[0], {"attributes": tool}, *spans[1:]]


def logfire() -> list[Any]:
    return [
        {
            "attributes": {
                "gen_ai.operation.name": "chat",
                "events": text([{"event.name": name, **values} for name, values in span["events"]]),
            }
        }
        for span in event_spans()
    ]


def jaeger() -> dict[str, Any]:
    spans = [
        {
            "traceID": "t1",
            "spanID": f"s{n}",
            "startTime": n + 1,
            "duration": 1,
            "tags": [{"key": key, "type": "string", "value": value} for key, value in span["attributes"].items()],
            "logs": [],
        }
        for n, span in enumerate(genai())
    ]
    return {"data": [{"traceID": "t1", "spans": spans, "processes": {}}]}


def mlflow() -> dict[str, Any]:
    spans = [
        {
            "name": "Completions",
            "context": {"trace_id": "t1", "span_id": f"s{n}"},
            "start_time": 2 * n + 1,
            "end_time": 2 * n + 2,
            "attributes": {
                "mlflow.spanType": text("CHAT_MODEL"),
                "mlflow.chat.tools": text(OPENAI_TOOLS),
                "mlflow.spanInputs": text({"messages": before}),
                "mlflow.spanOutputs": text(completion(answer)),
            },
        }
        for n, (before, answer) in enumerate(calls_of_model(OPENAI))
    ]
    return {"info": {"trace_id": "tr-1"}, "data": {"spans": spans}}


# --- answers that were streamed -------------------------------------------------------------------------------------
def streamed_openai(answer: dict[str, Any]) -> list[Any]:
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in (answer["content"] or "").partition(" ") if piece]
    for index, call in enumerate(answer.get("tool_calls", [])):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": index, "id": call["id"], "function": {"name": function["name"]}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in function["arguments"]]
    return [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]


def streamed_anthropic(answer: dict[str, Any]) -> list[Any]:
    events: list[Any] = [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
    for index, block in enumerate(answer["content"]):
        is_call = block["type"] == "tool_use"
        start = {**block, "input": {}} if is_call else {**block, block["type"]: ""}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        if is_call:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in text(block["input"])]
        else:
            deltas = [{"type": f"{block['type']}_delta", block["type"]: piece} for piece in block[block["type"]]]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]


def streamed_bedrock(answer: dict[str, Any]) -> list[Any]:
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(answer["content"]):
        head = {"contentBlockIndex": index}
        if "toolUse" in block:
            used = block["toolUse"]
            start = {"toolUse": {"toolUseId": used["toolUseId"], "name": used["name"]}}
            events.append({"contentBlockStart": {**head, "start": start}})
            deltas: list[Any] = [{"toolUse": {"input": piece}} for piece in text(used["input"])]
        elif "text" in block:
            deltas = [{"text": piece} for piece in block["text"]]
        else:
            deltas = [{"reasoningContent": {"text": "hm"}}]
        events += [{"contentBlockDelta": {**head, "delta": delta}} for delta in deltas]
    return [*events, {"messageStop": {"stopReason": "end_turn"}}]


def streamed(messages: list[Any], stream: Any, **beside: Any) -> list[Any]:
    return [
        {"request": {"messages": before, **beside}, "response": stream(answer)}
        for before, answer in calls_of_model(messages)
    ]


def as_events(answer: dict[str, Any]) -> str:
    return "".join(f"data: {text(chunk)}\n\n" for chunk in streamed_openai(answer)) + "data: [DONE]\n\n"


GEMINI_STREAM = [
    {"request": {"contents": before, "systemInstruction": SYSTEM},
     "response": [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in answer["parts"]]}
    for before, answer in calls_of_model(GEMINI)
]  # fmt: skip

TELEMETRY: dict[str, Any] = {"format": "otel", "joined": 3}
SHAPES: dict[str, Shape] = {
    "openai messages": whole(OPENAI),
    "openai request": Shape([{"messages": OPENAI, "tools": OPENAI_TOOLS}], tools=True),
    "openai content parts": Shape([{"messages": OPENAI_PARTS}]),
    "openai function_call": Shape(
        [{"messages": LEGACY, "functions": [t["function"] for t in OPENAI_TOOLS]}], tools=True
    ),
    "openai custom tool": Shape([{"messages": CUSTOM}]),
    "openai request and response": Shape([{"messages": OPENAI[:-1], "response": completion(OPENAI[-1])}]),
    "openai batch": Shape(
        [
            {
                "custom_id": "1",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {"messages": OPENAI, "tools": OPENAI_TOOLS},
            }
        ],
        tools=True,
    ),
    "responses input and output": Shape(
        [{"instructions": SYSTEM, "input": ASKED, "output": ITEMS, "tools": FLAT_TOOLS}], tools=True
    ),
    "responses items": whole([{"role": "user", "content": ASKED}, *ITEMS], system=False),
    "responses custom tool": whole([{"role": "user", "content": ASKED}, *CUSTOM_ITEMS], system=False),
    "responses mcp": whole([{"role": "user", "content": ASKED}, *MCP_ITEMS], system=False),
    "responses log": Shape(RESPONSES_LOG, tools=True, joined=3),
    "openai agents items": whole([{"role": "user", "content": ASKED, "type": "message"}, *ITEMS[1:]], system=False),
    "openai agents js items": whole(AGENTS_JS, system=False),
    "openai agents trace": Shape(agents_trace(), joined=3),
    "anthropic request": Shape([{"system": SYSTEM, "messages": ANTHROPIC, "tools": ANTHROPIC_TOOLS}], tools=True),
    "anthropic request and response": Shape(
        [
            {
                "request": {"system": SYSTEM, "messages": ANTHROPIC[:-1], "tools": ANTHROPIC_TOOLS},
                "response": {"id": "msg", "type": "message", **ANTHROPIC[-1]},
            }
        ],
        tools=True,
    ),
    "anthropic mcp": Shape([{"system": SYSTEM, "messages": ANTHROPIC_MCP}]),
    "anthropic server tools": Shape([{"system": SYSTEM, "messages": ANTHROPIC_SERVER}]),
    "claude code": Shape(CLAUDE_CODE, system=False),
    "gemini request": Shape(
        [{"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": GEMINI, "tools": GEMINI_TOOLS}], tools=True
    ),
    "gemini snake case": Shape([{"system_instruction": {"parts": [{"text": SYSTEM}]}, "contents": GEMINI_SNAKE}]),
    "gemini request and response": Shape(
        [
            {
                "request": {"contents": GEMINI[:-1], "config": {"systemInstruction": SYSTEM, "tools": GEMINI_TOOLS}},
                "response": {"candidates": [{"content": GEMINI[-1], "finishReason": "STOP"}]},
            }
        ],
        tools=True,
    ),
    "bedrock converse": Shape(
        [{"system": [{"text": SYSTEM}], "messages": BEDROCK, "toolConfig": BEDROCK_TOOLS}], tools=True
    ),
    "bedrock converse log": Shape(invocations("Converse"), tools=True, joined=3),
    "bedrock invoke log": Shape(invocations("InvokeModel"), tools=True, joined=3),
    "ai sdk 4 toolInvocations": whole(AI4, system=False),
    "ai sdk 4 parts": Shape([{"id": "chat", "messages": AI42}], system=False),
    "ai sdk 5 ui messages": whole(AI5, system=False),
    "ai sdk 4 core messages": Shape([{"messages": ai_messages("args", "result", wrap=False)}]),
    "ai sdk 5 model messages": Shape([{"messages": ai_messages("input", "output", wrap=True)}]),
    "langchain model_dump": Shape([{"messages": LANGCHAIN}]),
    "langchain messages_to_dict": whole(LC_DICTS),
    "langchain dumps": whole(LC_DUMPS),
    "langgraph state": whole({"values": {"messages": LANGCHAIN}, "next": [], "config": {}, "metadata": {}}),
    "langsmith runs": Shape(langsmith(), tools=True, joined=4),
    "langfuse trace": whole(LANGFUSE_TRACE, tools=True, joined=3),
    "langfuse observations": Shape(langfuse_observations(), tools=True, joined=3),
    "langfuse of langchain": Shape(LANGFUSE_LC, tools=True, joined=3),
    "pydantic ai": whole(PYDANTIC),
    "inspect log": whole(INSPECT),
    "autogen": whole(AUTOGEN, system=False),
    "haystack": Shape([{"messages": HAYSTACK}]),
    "llama index": Shape([{"messages": LLAMA_INDEX}], system=False),
    "google adk session": whole(ADK, system=False),
    "ollama": Shape([{"messages": OLLAMA}]),
    "cohere": Shape([{"messages": COHERE}]),
    "mistral typescript": Shape([{"messages": MISTRAL_TS}]),
    "sharegpt": Shape([SHAREGPT], tools=True),
    "sharegpt hermes": Shape([HERMES]),
    "gateway request and response": Shape(gateway("request", "response"), tools=True, joined=3),
    "gateway bodies": Shape(gateway("request", "response", body=True, trace_id="t1"), tools=True, joined=3),
    "helicone": Shape(
        gateway("request_body", "response_body", request_properties={"Helicone-Session-Id": "s"}), tools=True, joined=3
    ),
    "gateway bodies as text": Shape(gateway("request_body", "response_body", as_text=True), tools=True, joined=3),
    "openai stream": Shape(streamed(OPENAI, streamed_openai), joined=3),
    "openai server-sent events": Shape(streamed(OPENAI, as_events), joined=3),
    "anthropic stream": Shape(streamed(ANTHROPIC, streamed_anthropic, system=SYSTEM), joined=3),
    "bedrock stream": Shape(streamed(BEDROCK, streamed_bedrock, system=[{"text": SYSTEM}]), joined=3),
    "gemini stream": Shape(GEMINI_STREAM, joined=3),
    "litellm": Shape(LITELLM, tools=True, joined=3),
    "session deltas": Shape(DELTAS, joined=3),
    "weave": Shape(WEAVE, tools=True, joined=3),
    "braintrust": Shape(BRAINTRUST, tools=True, joined=3),
    "one message per row": Shape(DATABASE),
    "otel genai": whole(otlp(genai()), tools=True, format="otel", joined=4),
    "otel genai deltas": whole(otlp(genai(deltas=True)), tools=True, format="otel", joined=4),
    "otel span events": whole(otlp(event_spans()), **TELEMETRY),
    "otel log events": whole(event_logs(), **TELEMETRY),
    "otel content events": whole(otlp(content_events()), **TELEMETRY),
    "otel console": Shape(console(), tools=True, format="otel", joined=4),
    "openllmetry": whole(otlp(openllmetry()), tools=True, **TELEMETRY),
    "openinference": whole(otlp(openinference()), tools=True, **TELEMETRY),
    "phoenix rows": Shape(phoenix(nested=False), tools=True, **TELEMETRY),
    "phoenix api": Shape(phoenix(nested=True), tools=True, **TELEMETRY),
    "ai sdk telemetry": whole(otlp(ai_telemetry()), tools=True, **TELEMETRY),
    "logfire": whole(otlp(logfire()), **TELEMETRY),
    "jaeger": whole(jaeger(), tools=True, format="otel", joined=4),
    "mlflow": whole(mlflow(), tools=True, **TELEMETRY),
}
