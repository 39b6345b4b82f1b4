"""A real HTTP server with a small deterministic policy in place of a model, which can also misbehave."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Trouble = Callable[[dict[str, Any], int], str | None]  # what goes wrong with a request, and how often it was asked


def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Reads descriptions as a model does: calls the tool that is described with the user's first word.

    Its arguments are the last words of the user, given to the arguments that are described as "id" and "reason".
    """
    last = messages[-1]
    if last["role"] != "user":
        return {"role": "assistant", "content": f"Done: {last['content']}"}
    words = [word.strip(".,!?") for word in last["content"].lower().split()]
    for tool in tools:
        function = tool["function"]
        described = function["description"].lower().split()
        verb = next((word for word in words if word in described), None)
        if verb is not None and verb in ("cancels", "finds", "cancel", "find"):
            arguments: dict[str, Any] = {}
            for name, schema in function["parameters"]["properties"].items():
                if "number" in schema.get("description", ""):
                    arguments[name] = next((int(word) for word in words if word.isdigit()), 0)
                elif "why" in schema.get("description", ""):
                    arguments[name] = words[-1]
            call = {"id": "c1", "type": "function", "function": {"name": function["name"]}}
            call["function"]["arguments"] = json.dumps(arguments)  # type: ignore[index]
            return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": "I cannot help with that."}


class PolicyServer:
    """What was asked, and what goes wrong: `trouble` names "hang", "400", "429", "500", "broken" or "empty"."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.seen: Counter[str] = Counter()
        self.troubled: set[str] = set()
        self.trouble: Trouble = lambda _body, _times: None
        self.override: Callable[[dict[str, Any]], tuple[int, bytes] | None] = lambda _body: None  # another answer
        self.lock = threading.Lock()
        self.closing = threading.Event()

    def answer(self, body: dict[str, Any]) -> tuple[int, bytes]:
        with self.lock:
            self.asked.append(body)
            key = json.dumps(body, sort_keys=True)
            wrong = self.trouble(body, self.seen[key])
            self.seen[key] += 1
            self.troubled.update({wrong} - {None})  # type: ignore[arg-type]
        if wrong == "hang":
            self.closing.wait(20)
            return 500, b""
        if wrong in ("429", "500"):
            return int(wrong), b"{}"
        if wrong == "400":
            return 400, b'{"error":\n "too long"}'
        if wrong == "broken":
            return 200, b'{"choices": [{"mess'
        if wrong == "empty":
            return 200, b'{"choices": []}'
        if (other := self.override(body)) is not None:
            return other
        message = policy(body["messages"], body.get("tools", []))
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return 200, json.dumps({"choices": [{"message": message}], "usage": usage}).encode()


@contextmanager
def running() -> Iterator[PolicyServer]:
    """The server, as long as the block lasts."""
    state = PolicyServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            except ValueError:
                return  # whoever asked has stopped before the question was complete
            code, data = state.answer(body)
            try:
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked has stopped waiting

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "cancel_order",
            "description": "cancels an order, which find_order has found",
            "parameters": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "description": "the number of the order"},
                    "reason": {"type": "string", "description": "why"},
                },
                "required": ["id"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "finds an order",
            "parameters": {
                "type": "object",
                "properties": {"id": {"type": "integer", "description": "the number of the order"}},
            },
        },
    },
]


def tasks(count: int) -> list[dict[str, Any]]:
    """Recorded conversations: an order is found, then cancelled."""
    conversations = []
    for number in range(count):
        order = 10 + number
        messages: list[dict[str, Any]] = [{"role": "system", "content": "Use find_order before cancel_order."}]
        for user, tool, arguments in (
            (f"Please finds my order {order} for me", "find_order", {"id": order}),
            (f"Now cancels order {order} because late", "cancel_order", {"id": order, "reason": "late"}),
        ):
            call = {"id": tool, "function": {"name": tool, "arguments": json.dumps(arguments)}}
            messages += [
                {"role": "user", "content": user},
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": tool, "content": f"result of {tool} {order}"},
                {"role": "assistant", "content": "done"},
            ]
        expected = [
            {"name": "find_order", "arguments": {"id": order}, "turn": 0},
            {"name": "cancel_order", "arguments": {"id": order, "reason": "late"}, "turn": 1},
        ]
        conversations.append({"id": f"t{number}", "messages": messages, "expected": expected})
    return conversations
