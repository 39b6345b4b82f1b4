"""Many questions in one request, responses that are still being written, and figures on an address of their own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.eventloop import finished
from tests.serve.test_service import DOCUMENT, JSON, REQUESTS, SETTINGS, _slow
from troth.core.errors import UserError
from troth.serve import ServeSettings, service
from troth.serve.settings import parse_address
from troth.text.sentences import SentenceBuffer

RESPONSE = "Breakfast is served until ten. The pool is free. It opens at 7 a.m. every day."


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(service(SETTINGS)) as opened:
        yield opened


def ask_batch(client: TestClient, *items: tuple[str, Any]) -> Any:
    return client.post("/batch", json={"items": [{"question": name, "request": own} for name, own in items]})


def test_a_batch_has_the_answers_of_single_requests(client: TestClient) -> None:
    answers = ask_batch(client, *((path.strip("/"), own) for path, own in REQUESTS.items())).json()["answers"]
    assert [one["status"] for one in answers] == [200] * len(REQUESTS)
    alone = [client.post(path, json=own).json() for path, own in REQUESTS.items()]
    assert [one["answer"] for one in answers] == alone


def test_a_wrong_item_fails_alone(client: TestClient) -> None:
    wrong = [("grond", {}), ("dst", {"references": []}), ("agent", {"messages": [], "rule": "exakt"}), ("ground", 7)]
    answers = ask_batch(client, ("ground", REQUESTS["/ground"]), *wrong).json()["answers"]
    assert [one["status"] for one in answers] == [200, 422, 422, 422, 422]
    assert "did you mean 'ground'?" in answers[1]["detail"]
    assert all("\n" not in one["detail"] and "answer" not in one for one in answers[1:])


@pytest.mark.parametrize(
    "body", [b"{}", b'{"items": []}', b'{"items": [], "items": [1]}', b'{"items": [{"question": "dst"}]}', b"["]
)
def test_a_wrong_batch_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/batch", content=body, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_items_of_a_batch_count_as_requests() -> None:
    with TestClient(service(replace(SETTINGS, concurrency=2))) as client:
        two, three = ([("dst", REQUESTS["/dst"])] * number for number in (2, 3))
        assert ask_batch(client, *two).status_code == 200
        assert ask_batch(client, *three).status_code == 422
        assert "troth_requests_at_work 0.0" in client.get("/metrics").text


def test_items_whose_time_is_up_fail_alone() -> None:
    model, settings = _slow(timeout=0.5)
    with TestClient(service(settings)) as client:
        answers = ask_batch(client, ("ground", REQUESTS["/ground"]), ("dst", REQUESTS["/dst"])).json()["answers"]
        model.go.set()
    assert [one["status"] for one in answers] == [504, 200]


# -- responses that are being written ----------------------------------------------------------------------------------


def events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_a_sentence_is_complete_when_the_next_one_begins() -> None:
    for size in (1, 3, 7, 1000):
        draft, found = SentenceBuffer(), list[tuple[int, str]]()
        for at in range(0, len(RESPONSE), size):
            found += draft.add(RESPONSE[at : at + size])
        found += draft.add("", last=True)
        assert [sentence for _, sentence in found] == [
            "Breakfast is served until ten.", "The pool is free.", "It opens at 7 a.m. every day.",
        ]  # fmt: skip
        assert all(RESPONSE.startswith(sentence, place) for place, sentence in found)
    assert SentenceBuffer().add("", last=True) == []


def test_every_sentence_and_then_the_whole(client: TestClient) -> None:
    lines = [{"document": DOCUMENT, "response": "Breakfast is served "}, {"text": "until ten. The pool"}, {"text": "."}]
    body = "\n".join(map(json.dumps, lines)).encode()
    answer = client.post("/ground/stream", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    first, second, end = events(answer.text)
    assert (first[0], first[1]["sentence"], first[1]["start"]) == ("sentence", "Breakfast is served until ten.", 0)
    assert (second[0], second[1]["sentence"], second[1]["start"]) == ("sentence", "The pool.", 31)
    whole = client.post("/ground", json={"document": DOCUMENT, "response": "Breakfast is served until ten. The pool."})
    assert end == ("end", whole.json())


def test_a_question_in_a_stream_is_no_claim(client: TestClient) -> None:
    body = json.dumps({"document": DOCUMENT, "response": "The pool is free. Would you like to book it?"}).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    first, second, _ = events(client.post("/ground/stream", content=body, headers=headers).text)
    assert first[1]["answer"]["scores"]
    assert second[1]["answer"] == {"scores": [], "reason": "no claim"}


@pytest.mark.parametrize(("body", "status"), [(b"", 422), (b'{"text": "a"}', 422), (b"{}\n{", 422)])
def test_what_is_wrong_with_a_stream_is_its_last_event(client: TestClient, body: bytes, status: int) -> None:
    answer = client.post("/ground/stream", content=body, headers=JSON)
    (*_, (name, problem)) = events(answer.text)
    assert (name, problem["status"]) == ("error", status)


def test_a_stream_that_is_too_long_or_too_slow_ends(caplog: pytest.LogCaptureFixture) -> None:
    with TestClient(service(replace(SETTINGS, body=1000))) as client, caplog.at_level(logging.INFO, "troth.serve"):
        answer = client.post("/ground/stream", json={"document": "a" * 2000})
        assert 'troth_requests_total{path="/ground/stream",status="413"} 1.0' in client.get("/metrics").text
    assert caplog.records[0].fields["status"] == 413  # type: ignore[attr-defined]
    assert events(answer.text) == [("error", {"status": 413, "detail": "the request is longer than 1000 bytes"})]


def test_sentences_are_judged_before_the_response_is_complete() -> None:
    """The next piece is sent when the event of the first sentence has come."""
    app = service(SETTINGS)

    async def run() -> list[str]:
        sent, judged = list[str](), asyncio.Event()
        pieces = [
            {"document": DOCUMENT, "response": "Breakfast is served until ten. The"}, {"text": " pool is free."}
        ]  # fmt: skip

        async def receive() -> dict[str, Any]:
            if not pieces:
                return {"type": "http.disconnect"}
            if len(pieces) == 1:
                await asyncio.wait_for(judged.wait(), 20)
            line = json.dumps(pieces.pop(0)).encode() + b"\n"
            return {"type": "http.request", "body": line, "more_body": bool(pieces)}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.body" and message["body"]:
                sent.append(message["body"].decode())
                judged.set()

        headers = [(b"host", b"testserver"), (b"content-type", b"application/x-ndjson")]
        scope = {
            "type": "http", "method": "POST", "path": "/ground/stream", "raw_path": b"/ground/stream", "root_path": "",
            "scheme": "http", "query_string": b"", "headers": headers, "server": ("testserver", 80),
            "client": ("127.0.0.1", 1), "http_version": "1.1", "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)
        return sent

    assert [name for name, _ in events("".join(finished(run)))] == ["sentence", "sentence", "end"]


# -- figures -----------------------------------------------------------------------------------------------------------


def test_figures_have_a_key_or_an_address_of_their_own() -> None:
    with TestClient(service(replace(SETTINGS, key="a", metrics_key="b"))) as client:
        for key, status in (("a", 401), ("b", 200)):
            assert client.get("/metrics", headers={"Authorization": f"Bearer {key}"}).status_code == status
    with TestClient(service(replace(SETTINGS, metrics_address="127.0.0.1:9017"))) as client:
        assert client.get("/metrics").status_code == 404


def test_addresses() -> None:
    assert parse_address("127.0.0.1:9017") == ("127.0.0.1", 9017)
    assert parse_address("[::1]:80") == ("::1", 80)
    for wrong in ("9017", ":9017", "localhost:", "localhost:http", "localhost:70000"):
        with pytest.raises(UserError, match="not an address"):
            ServeSettings(metrics_address=wrong)
