"""Models that load or work stop nothing else, and every request has its line in the log."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.eventloop import finished
from tests.serve.test_service import REQUESTS, SETTINGS, _ask, _slow
from troth.serve import service
from troth.serve.process import Scorers
from troth.serve.tasks import LANES, tasks


def test_rules_answer_while_a_model_works() -> None:
    model, settings = _slow()
    with TestClient(service(settings)) as client:
        answers: list[Any] = []
        thread = _ask(client, answers)
        assert model.begun.wait(20)
        for path in ("/agent", "/dst"):
            assert client.post(path, json=REQUESTS[path]).status_code == 200
        assert not answers
        model.go.set()
        thread.join()
    assert answers[0].status_code == 200


def test_every_question_has_one_lane() -> None:
    lanes = {lane: {task.path for task in tasks(SETTINGS, lane)} for lane in LANES}
    assert lanes == {"models": {"/ground", "/nlg", "/rerank"}, "rules": {"/dst", "/agent"}}
    assert {task.path for task in tasks(SETTINGS)} == lanes["models"] | lanes["rules"]


@pytest.mark.slow
def test_the_service_is_live_before_it_is_ready() -> None:
    scorers, errors = Scorers(SETTINGS), list[Exception]()
    try:
        with TestClient(service(SETTINGS, scorers)) as client:
            assert client.get("/live").status_code == client.get("/health").status_code == 200
            loading = client.get("/ready")
            assert (loading.status_code, loading.json()["status"]) == (503, "loading")
            refused = client.post("/ground", json=REQUESTS["/ground"])
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "troth_ready 0.0" in client.get("/metrics").text
            scorers.start(errors.append)
            end = time.monotonic() + 120
            while client.get("/ready").status_code != 200 and time.monotonic() < end:
                assert not errors
                time.sleep(0.05)
            assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 200
            assert client.post("/agent", json=REQUESTS["/agent"]).status_code == 200
            assert "troth_ready 1.0" in client.get("/metrics").text
    finally:
        scorers.close()


# -- log lines ---------------------------------------------------------------------------------------------------------

Receive = Callable[[], Awaitable[dict[str, Any]]]


def _lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int]]:
    fields = [record.fields for record in caplog.records if record.getMessage() == "request"]  # type: ignore[attr-defined]
    return [(field["path"], field["status"]) for field in fields]


async def _call(app: Any, receive: Receive) -> list[dict[str, Any]]:
    """Asks /ground as a server does."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"testserver"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "method": "POST", "path": "/ground", "raw_path": b"/ground", "root_path": "", "scheme": "http",
        "query_string": b"", "headers": headers, "server": ("testserver", 80), "client": ("127.0.0.1", 1),
        "http_version": "1.1", "asgi": {"version": "3.0"},
    }  # fmt: skip
    await app(scope, receive, send)
    return sent


def _body_then(rest: Callable[[], Awaitable[dict[str, Any]]]) -> Receive:
    messages = [{"type": "http.request", "body": json.dumps(REQUESTS["/ground"]).encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else await rest()

    return receive


def test_a_request_whose_time_is_up_has_a_line(caplog: pytest.LogCaptureFixture) -> None:
    model, settings = _slow(timeout=0.2)
    with TestClient(service(settings)) as client, caplog.at_level(logging.INFO, "troth.serve"):
        assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 504
        assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 504
        model.go.set()
    assert _lines(caplog) == [("/ground", 504), ("/ground", 504)]


def test_a_client_that_leaves_has_a_line_at_once_and_its_work_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """Else clients that leave early could have the process killed, and models loaded again, for good."""
    model, settings = _slow()
    app = service(settings)

    async def run() -> None:
        left = asyncio.Event()

        async def leave() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        async with app.router.lifespan_context(app):
            asked = asyncio.create_task(_call(app, _body_then(leave)))
            await asyncio.to_thread(model.begun.wait, 20)
            left.set()
            await asyncio.wait_for(asked, 10)
            assert _lines(caplog) == [("/ground", 499)]
            model.go.set()

    with caplog.at_level(logging.INFO, "troth.serve"):
        finished(run)
    assert len(model.calls) == 1


def test_a_request_that_the_server_cancels_has_a_line(caplog: pytest.LogCaptureFixture) -> None:
    model, settings = _slow()
    app = service(settings)

    async def run() -> None:
        async with app.router.lifespan_context(app):
            asked = asyncio.create_task(_call(app, _body_then(asyncio.Event().wait)))  # type: ignore[arg-type]
            await asyncio.to_thread(model.begun.wait, 20)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            model.go.set()

    with caplog.at_level(logging.INFO, "troth.serve"):
        finished(run)
    assert _lines(caplog) == [("/ground", 499)]
