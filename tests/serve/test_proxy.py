"""The proxy before an OpenAI-compatible server: verdicts as headers, blocking, streams, keys."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.serve.test_service import SETTINGS, _slow
from troth.core.errors import UserError
from troth.serve import ServeSettings, service

PROXY = replace(SETTINGS, metrics="coverage", threshold=0.7, proxy="http://model/v1")
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "When is breakfast?"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "look_up", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "Breakfast is served until ten. The hotel has a pool."},
]
RIGHT, WRONG = "Breakfast is served until ten.", "Order 7 has been cancelled, and 45 dollars were refunded."
Upstream = Callable[[httpx.Request], httpx.Response]


class Model:
    """The server behind the proxy: says one thing, and keeps the requests."""

    def __init__(self, text: str, *, stream: bool = False, status: int = 200) -> None:
        self.text, self.stream, self.status = text, stream, status
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.status != 200:
            return httpx.Response(self.status, json={"error": {"message": "no"}})
        if self.stream:
            words = [word + " " for word in self.text.split(" ")]
            deltas = [{"role": "assistant"}, *({"content": word} for word in (*words[:-1], words[-1].rstrip()))]
            pieces = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            body = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
            return httpx.Response(200, text=body, headers={"Content-Type": "text/event-stream"})
        return httpx.Response(200, json={"choices": [{"message": {"role": "assistant", "content": self.text}}]})


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    real = httpx.AsyncClient

    def asked(model: Upstream, settings: ServeSettings = PROXY, key: str | None = None, **more: Any) -> Any:
        monkeypatch.setattr(httpx, "AsyncClient", lambda **_: real(transport=httpx.MockTransport(model)))
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        with TestClient(service(settings)) as client:
            body = {"model": "m", "messages": TALK, **more}
            answer: Any = client.post("/v1/chat/completions", json=body, headers=headers)
        return answer

    return asked


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("text", "verdict"), [(RIGHT, "true"), (WRONG, "false")])
def test_the_verdict_is_a_header(ask: Any, text: str, verdict: str, stream: bool) -> None:
    model = Model(text, stream=stream)
    answer = ask(model, stream=stream)
    assert (answer.status_code, answer.headers["x-troth-faithful"]) == (200, verdict)
    assert (answer.headers["x-troth-findings"] == "0") is (verdict == "true")
    assert answer.content == model(model.requests[0]).content
    assert str(model.requests[0].url) == "http://model/v1/chat/completions"
    assert json.loads(model.requests[0].content)["messages"] == TALK


@pytest.mark.parametrize("stream", [False, True])
def test_an_unfaithful_answer_is_blocked_where_asked(ask: Any, stream: bool) -> None:
    block = replace(PROXY, block=True)
    refused = ask(Model(WRONG, stream=stream), block)
    assert refused.status_code == 422
    assert refused.json()["error"]["type"] == "unfaithful_answer"
    assert "claim" in {finding["kind"] for finding in refused.json()["troth"][0]["talk"]}
    assert ask(Model(RIGHT, stream=stream), block).status_code == 200


def test_what_the_document_does_not_support_is_unfaithful(ask: Any) -> None:
    """By the rule of /ground: nothing is claimed to be done, and no number is wrong."""
    assert ask(Model("Dragons fly swiftly over mountains, singing ballads.")).headers["x-troth-faithful"] == "false"


def test_faults_of_earlier_messages_are_not_held_against_the_answer(ask: Any) -> None:
    earlier = [TALK[0], {"role": "assistant", "content": WRONG}, *TALK]
    assert ask(Model(RIGHT), messages=earlier).headers["x-troth-faithful"] == "true"


def test_calls_are_checked(ask: Any) -> None:
    call = {"id": "b", "type": "function", "function": {"name": "refund", "arguments": '{"amount": 7345}'}}

    def model(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": None, "tool_calls": [call]}}]})

    assert ask(model).headers["x-troth-faithful"] == "false"


def test_answers_that_cannot_be_checked_are_unknown(ask: Any) -> None:
    for messages in ([{"role": "pope", "content": "x"}], "text"):
        answer = ask(Model(RIGHT), replace(PROXY, block=True), messages=messages)
        assert (answer.status_code, answer.headers["x-troth-faithful"]) == (200, "unknown")
    model, settings = _slow(timeout=0.3)
    threading.Timer(3, model.go.set).start()
    late = ask(Model(RIGHT), replace(settings, proxy="http://model/v1"))
    assert (late.status_code, late.headers["x-troth-faithful"]) == (200, "true")  # by the rules, which answered


def test_refusals_and_silence_of_the_server_are_passed_on(ask: Any) -> None:
    assert ask(Model(RIGHT, status=400)).json() == {"error": {"message": "no"}}

    def silent(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    assert ask(silent).status_code == 502


def test_the_key_of_the_service_is_not_passed_on(ask: Any) -> None:
    cases = [
        (PROXY, "client", "Bearer client"),
        (replace(PROXY, proxy_key="model"), "client", "Bearer model"),
        (replace(PROXY, key="own"), "own", None),
        (replace(PROXY, key="own", proxy_key="model"), "own", "Bearer model"),
    ]
    for settings, sent, expected in cases:
        model = Model(RIGHT)
        assert ask(model, settings, sent).status_code == 200
        assert model.requests[0].headers.get("authorization") == expected
    assert ask(Model(RIGHT), replace(PROXY, key="own"), "other").status_code == 401


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UserError, match="not a web address"):
        ServeSettings(proxy="model:8000")
    with pytest.raises(UserError, match="with a proxy only"):
        ServeSettings(block=True)
