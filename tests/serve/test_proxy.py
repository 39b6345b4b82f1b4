"""The proxy before an OpenAI-compatible server: verdicts as headers, blocking, streams, keys."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.serve.running import Running
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
    for messages in ([{"role": "pope", "content": "x"}], [5], "text", None, 5):
        answer = ask(Model(RIGHT), replace(PROXY, block=True), messages=messages)
        assert (answer.status_code, answer.headers["x-troth-faithful"]) == (200, "unknown")
    model, settings = _slow(timeout=0.3)
    threading.Timer(3, model.go.set).start()
    late = ask(Model(RIGHT), replace(settings, proxy="http://model/v1"))
    assert (late.status_code, late.headers["x-troth-faithful"]) == (200, "unknown")  # the rules alone do not tell


def test_no_verdict_of_ground_is_unknown(ask: Any) -> None:
    assert ask(Model(RIGHT), replace(PROXY, threshold=None)).headers["x-troth-faithful"] == "unknown"
    assert ask(Model(WRONG), replace(PROXY, threshold=None)).headers["x-troth-faithful"] == "false"  # by the rules


def test_nothing_to_check_against_is_unknown(ask: Any) -> None:
    assert ask(Model("Hello."), messages=TALK[:1]).headers["x-troth-faithful"] == "unknown"
    assert ask(Model(""), messages=TALK).headers["x-troth-faithful"] == "unknown"


def test_the_words_of_the_user_are_no_evidence(ask: Any) -> None:
    said = "Dragons fly swiftly over mountains, singing ballads."
    instructions = [{"role": role, "content": said} for role in ("system", "user")]
    assert ask(Model(said), messages=[*instructions, *TALK]).headers["x-troth-faithful"] == "false"
    result = [{"type": "tool_result", "tool_use_id": "a", "content": RIGHT}]  # a result in a message of the user
    assert ask(Model(RIGHT), messages=[{"role": "user", "content": result}]).headers["x-troth-faithful"] == "true"


@pytest.mark.parametrize("choices", [5, None, [], [5], [{"message": {"content": RIGHT}}, {"message": 5}]])
def test_a_reply_of_another_shape_is_passed_on_as_unknown(ask: Any, choices: Any) -> None:
    body = json.dumps({"choices": choices}).encode()
    headers = {"Content-Type": "application/json"}
    answer = ask(lambda _: httpx.Response(200, content=body, headers=headers), replace(PROXY, block=True))
    assert (answer.status_code, answer.headers["x-troth-faithful"], answer.content) == (200, "unknown", body)


def test_a_stream_of_another_shape_is_passed_on_as_unknown(ask: Any) -> None:
    body = "".join(f'data: {{"choices": [{{"index": {at}, "delta": {{}}}}]}}\n\n' for at in ('"a"', "0", "[]"))
    answer = ask(lambda _: httpx.Response(200, text=body, headers={"Content-Type": "text/event-stream"}))
    assert (answer.status_code, answer.headers["x-troth-faithful"]) == (200, "unknown")


def test_the_query_and_the_pause_are_passed_on(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, real = Model(RIGHT), httpx.AsyncClient
    busy = httpx.Response(429, json={"error": {}}, headers={"Retry-After": "7"})
    assert ask(lambda _: busy).headers["retry-after"] == "7"
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: real(transport=httpx.MockTransport(model)))
    with TestClient(service(PROXY)) as client:
        client.post("/v1/chat/completions?api-version=2", json={"messages": TALK})
        client.get("/v1/models?after=x")
    assert [str(request.url) for request in model.requests] == [
        "http://model/v1/chat/completions?api-version=2", "http://model/v1/models?after=x",
    ]  # fmt: skip


def test_the_time_limit_holds_for_the_server_behind_it(ask: Any) -> None:
    async def slow(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        raise AssertionError

    answer = ask(slow, replace(PROXY, timeout=0.2))
    assert (answer.status_code, answer.json()) == (504, {"detail": "no answer within 0.2 seconds"})


def test_a_stop_while_the_server_behind_it_works_is_clean(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        fakes = ("--nli", "fake", "--lm", "fake", "--metrics", "nli", "--threshold", "0.5")
        answers: list[httpx.Response] = []
        with Running(tmp_path / "log", *fakes, "--proxy", url, "--timeout", "3") as one:
            chat = f"{one.url}/v1/chat/completions"
            body = {"messages": TALK}
            thread = threading.Thread(target=lambda: answers.append(httpx.post(chat, json=body, timeout=30)))
            thread.start()
            forwarded, _ = silent.accept()
            assert one.stop() == 0
            thread.join()
            forwarded.close()
            assert "Exception in ASGI application" not in one.log.read_text()
    assert (answers[0].status_code, answers[0].json()["detail"]) == (504, "no answer within 3 seconds")


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
    with pytest.raises(UserError, match="block needs a rule"):
        service(replace(PROXY, threshold=None, block=True))
