"""The client of the service: what it sends and returns, retries, deadlines; blocking and asynchronous alike."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.eventloop import finished
from troth.client import AsyncTrothClient, ServiceAnswer, ServiceError, TrothClient, asking

ANSWER = {"scores": [{"metric": "faith", "value": 0.2}], "faithful": False, "unsupported": ["noon."], "newer": 1}
Handler = Callable[[httpx.Request], httpx.Response]


class Service:
    """Answers with these statuses in turn, and then 200; keeps the requests."""

    def __init__(self, *statuses: int, answer: Any = ANSWER, headers: dict[str, str] | None = None) -> None:
        self.statuses, self.answer, self.headers = list(statuses), answer, headers or {}
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(status, json=self.answer if status == 200 else {"detail": "why"}, headers=self.headers)


def ground(service: Handler, way: str, **options: Any) -> ServiceAnswer:
    """Asks one question, by either client."""
    transport = httpx.MockTransport(service)
    if way == "sync":
        with TrothClient("http://troth", "sesame", transport=transport, **options) as client:
            return client.ground("A document.", "A response.", ["Hi."])

    async def run() -> ServiceAnswer:
        async with AsyncTrothClient("http://troth", "sesame", transport=transport, **options) as client:
            return await client.ground("A document.", "A response.", ["Hi."])

    return finished(run)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE", 0.001)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_question_and_its_answer(way: str) -> None:
    service = Service()
    answer = ground(service, way)
    assert (answer.faithful, answer.unsupported, answer.scores[0].value) == (False, ("noon.",), 0.2)
    (request,) = service.requests
    assert (request.url.path, request.headers["authorization"]) == ("/ground", "Bearer sesame")
    assert json.loads(request.content) == {"document": "A document.", "response": "A response.", "history": ["Hi."]}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("status", [429, 502, 503, 0])
def test_what_may_pass_is_asked_again(way: str, status: int) -> None:
    service = Service(status, status)
    assert ground(service, way).faithful is False
    assert len(service.requests) == 3
    stubborn = Service(*[status] * 10)
    with pytest.raises(ServiceError) as error:
        ground(stubborn, way, retries=1)
    assert (error.value.status, len(stubborn.requests)) == (status or None, 2)


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("status", [401, 413, 422, 500, 504])
def test_other_refusals_are_errors_at_once(way: str, status: int) -> None:
    service = Service(status)
    with pytest.raises(ServiceError, match=f"{status}: why"):
        ground(service, way)
    assert len(service.requests) == 1


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_pause_beyond_the_deadline_is_not_waited_for(way: str) -> None:
    service = Service(503, headers={"Retry-After": "60"})
    with pytest.raises(ServiceError, match="503"):
        ground(service, way, timeout=5)
    assert len(service.requests) == 1


def test_the_deadline_holds_for_the_whole_question() -> None:
    async def slow(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        raise AssertionError

    async def run() -> None:
        client = AsyncTrothClient("http://troth", transport=httpx.MockTransport(slow), timeout=0.05)
        with pytest.raises(ServiceError, match=r"within 0\.05 seconds"):
            await client.ground("a", "b")
        await client.close()

    finished(run)


def test_the_deadline_holds_for_an_answer_that_comes_byte_by_byte() -> None:
    class Drops(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                time.sleep(0.02)
                yield b" "

    began = time.monotonic()
    with pytest.raises(ServiceError, match=r"no answer within 0\.1 seconds"):
        ground(lambda _: httpx.Response(200, stream=Drops()), "sync", timeout=0.1)
    assert time.monotonic() - began < 1.5


def test_a_timeout_says_so() -> None:
    def late(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    with pytest.raises(ServiceError, match=r"^no answer within 7 seconds$"):
        ground(late, "sync", timeout=7)


@pytest.mark.parametrize("kind", [TrothClient, AsyncTrothClient])
def test_texts_that_cannot_be_sent_are_an_error_of_the_client(kind: Any) -> None:
    service = Service()
    client = kind("http://troth", "sésame", transport=httpx.MockTransport(service))

    def ask(*texts: Any) -> Any:
        async def run() -> Any:
            answer = client.ground(*texts)
            return await answer if kind is AsyncTrothClient else answer

        return finished(run)

    with pytest.raises(ServiceError, match="surrogate"):
        ask("a \ud800", "b")
    with pytest.raises(TypeError, match="list of texts"):
        ask("a", "b", "When?")
    assert not service.requests
    assert ask("a", "b").faithful is False
    assert dict(service.requests[0].headers.raw)[b"Authorization"] == "Bearer sésame".encode()
    with pytest.raises(ServiceError, match="key"):
        kind("http://troth", "\ud800")


@pytest.mark.parametrize("answer", [[1], {"scores": 7}, "text"])
def test_an_answer_of_another_shape_is_an_error(answer: Any) -> None:
    with pytest.raises(ServiceError, match="does not fit"):
        ground(Service(answer=answer), "sync")


def test_a_batch() -> None:
    answers = {"answers": [{"status": 200, "answer": ANSWER}, {"status": 422, "detail": "why"}]}
    service = Service(answer=answers)
    with TrothClient("http://troth", transport=httpx.MockTransport(service)) as client:
        right, wrong = client.batch([("ground", {"document": "a", "response": "b"}), ("dst", {})])
    assert (right.answer["faithful"], wrong.detail) == (False, "why")
    assert [item["question"] for item in json.loads(service.requests[0].content)["items"]] == ["ground", "dst"]


def test_sentences_are_asked_about_when_they_are_complete() -> None:
    service, asked = Service(), list[int]()

    def pieces() -> Any:
        for piece in ("It is ", "open. It", " has a pool."):
            asked.append(len(service.requests))
            yield piece

    with TrothClient("http://troth", transport=httpx.MockTransport(service)) as client:
        found = list(client.sentences("A document.", pieces()))
    assert [(one.start, one.sentence) for one in found] == [(0, "It is open."), (12, "It has a pool.")]
    assert asked == [0, 0, 1]
    with TrothClient("http://troth", transport=httpx.MockTransport(service)) as client:
        (polite,) = client.sentences("A document.", ["Would you like to book it?"])
    assert (polite.answer.faithful, polite.answer.reason) == (None, "no claim")
    assert len(service.requests) == 2

    async def run() -> list[str]:
        async def written() -> AsyncIterator[str]:
            for piece in ("It is open. ", "It has a pool."):
                yield piece

        async with AsyncTrothClient("http://troth", transport=httpx.MockTransport(service)) as client:
            return [one.sentence async for one in client.sentences("A document.", written())]

    assert finished(run) == ["It is open.", "It has a pool."]


def test_it_needs_nothing_of_the_service() -> None:
    code = "import sys, troth.client; print([name for name in ('fastapi', 'numpy', 'polars') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
