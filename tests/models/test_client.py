"""The client of model servers: connections stay open, retries are counted once, answers are parsed in one place."""

from __future__ import annotations

import gc
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.models import client
from troth.models.client import (
    Client,
    Completion,
    MalformedAnswerError,
    NoResponseError,
    RefusedError,
    ServerError,
    parse_address,
    parse_completion,
    retry,
    user_error,
)  # fmt: skip


class Server:
    """What it answers, in turn (the last answer repeats), and what it saw."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[tuple[int, bytes]] = [(200, b"{}")]
        self.requests = 0
        self.ports: set[int] = set()
        self.cookies: list[str | None] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            state.requests += 1
            state.ports.add(self.client_address[1])
            state.cookies.append(self.headers.get("Cookie"))
            status, data = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Set-Cookie", "a=b")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr(client, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_port}/v1"
    yield state
    gc.collect()  # closes the connections of clients that are gone
    running.shutdown()
    running.server_close()
    thread.join()


def opened(server: Server, **options: Any) -> Client:
    return Client(server.url, key_variable="NO_SUCH_KEY", timeout=20.0, **options)


def test_the_connection_stays_open(server: Server) -> None:
    http = opened(server)
    for _ in range(5):
        http.post("/x", b"{}", parse=bytes)
    assert server.requests == 5
    assert len(server.ports) == 1
    assert server.cookies == [None] * 5, "an answer does not depend on earlier requests"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_connections_of_its_own(server: Server) -> None:
    http = opened(server)
    http.post("/x", b"{}", parse=bytes)
    child = os.fork()
    if not child:
        try:
            http.post("/x", b"{}", parse=bytes)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    http.post("/x", b"{}", parse=bytes)
    assert len(server.ports) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("retries", [0, 2])
def test_the_number_of_requests(server: Server, status: int, retries: int) -> None:
    server.answers = [(status, b"busy")]
    with pytest.raises(RefusedError) as error:
        opened(server, retries=retries).post("/x", b"{}", parse=bytes)
    assert (error.value.status, error.value.text, server.requests) == (status, "busy", retries + 1)


def test_what_is_retried(server: Server) -> None:
    server.answers = [(200, b"<html>"), (200, b"{}")]
    with pytest.raises(MalformedAnswerError):
        opened(server).post("/x", b"{}", parse=parse_completion)
    server.answers = [(200, b"<html>"), (200, b"{}")]
    assert opened(server, retry_on=(MalformedAnswerError,)).post("/x", b"{}", parse=parse_completion) == Completion(
        {}, {}
    )


def test_a_chat_that_is_not_there(server: Server) -> None:
    server.answers = [(404, b"no such model")]
    with pytest.raises(UserError, match=r"/chat/completions answers 404: no such model.*name of the model"):
        opened(server).chat(b"{}", parse=parse_completion)
    with pytest.raises(RefusedError):
        opened(server).post("/x", b"{}", parse=parse_completion)


def test_retry() -> None:
    errors = [ServerError("a", temporary=True, pause=0.0), ServerError("b", temporary=True, pause=0.0)]

    def attempt() -> str:
        if errors:
            raise errors.pop(0)
        return "done"

    assert retry(attempt, 2) == "done"
    errors += [ServerError("final")]
    with pytest.raises(ServerError, match="final"):
        retry(attempt, 2)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, None), ([], None), (7, None), ({"choices": []}, None), ({"choices": [[]]}, None), ({"choices": {}}, None),
        ({"choices": [{"text": "a"}]}, "a"), ({"choices": [{"text": 1}]}, None),
        ({"choices": [{"message": {"content": "a"}}]}, "a"), ({"choices": [{"message": {"content": None}}]}, None),
        ({"choices": [{"message": []}]}, None),
    ],
)  # fmt: skip
def test_parse_completion(data: Any, text: str | None) -> None:
    assert parse_completion(json.dumps(data).encode()).text == text


@pytest.mark.parametrize("data", [b"", b"<html>", b"\xff\xfe", b"[" * 200_000])
def test_answers_that_are_not_json(data: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        parse_completion(data)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RefusedError(400, ""), "m answers 400: no message"),
        (RefusedError(429, "slow"), "run the same command again"),
        (RefusedError(500, "busy"), "when the server has recovered"),
        (NoResponseError("timeout"), "longer timeout"),
        (MalformedAnswerError("x"), "invalid JSON"),
    ],
)
def test_user_errors(error: ServerError, text: str) -> None:
    assert text in str(user_error(error, "m"))


def test_parse_address() -> None:
    assert parse_address("http://h/v1#m", "KEY") == ("http://h/v1", "m")
    assert parse_address("http://h/v1", "KEY") == ("http://h/v1", "")
    with pytest.raises(UserError, match="KEY"):
        parse_address("http://user:secret@h/v1#m", "KEY")
