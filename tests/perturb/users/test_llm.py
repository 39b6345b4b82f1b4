"""The engine `llm` against a server on this machine: what succeeds, what is tried again, what is counted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, Span, Turn
from troth.models import client
from troth.perturb.users import Inventory, Twin, apply
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.guard import VALUE, Stretch
from troth.perturb.users.llm import LlmParaphraser, engine
from troth.perturb.users.paraphrase import Paraphrase

Reply = tuple[int, bytes]


def said(text: object) -> Reply:
    return 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


class Stub:
    """Answers with `replies` in turn, the last one for good; remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply | Callable[[dict[str, Any]], Reply]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.delay = 0.0
        self.url = ""
        self.lock = threading.Lock()

    def answer(self, body: dict[str, Any], key: str | None) -> Reply:
        with self.lock:
            self.asked.append(body)
            self.keys.append(key)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        time.sleep(self.delay)
        return reply(body) if callable(reply) else reply


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    state = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code, data = state.answer(body, self.headers.get("Authorization"))
            try:
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", state.url)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked has stopped waiting

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr(client, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def endpoint(stub: Stub, **other: Any) -> LlmParaphraser:
    given = {"timeout": 5.0, "parallel": 2, "temperature": 0.5, "key_variable": "STUB_KEY"}
    return engine(Paraphrase(url=stub.url, model="m", **{**given, **other}))


ASKED = Rewrite("I want a room in Paris.", (Stretch(17, 22, VALUE),), 7)


def test_success(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "secret")
    stub.replies = [said('"A room in  Paris,\nplease."')]
    assert endpoint(stub).rewrite([ASKED]) == ["A room in Paris, please."]
    assert stub.keys == ["Bearer secret"]
    body = stub.asked[0]
    assert (body["model"], body["temperature"], body["seed"]) == ("m", 0.5, 7)
    assert '"Paris"' in body["messages"][0]["content"]
    assert body["messages"][1]["content"] == ASKED.text


def test_no_key_no_header(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STUB_KEY", raising=False)
    stub.replies = [said("x")]
    endpoint(stub).rewrite([ASKED])
    assert stub.keys == [None]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_tried_again(stub: Stub, code: int) -> None:
    stub.replies = [(code, b""), (code, b""), said("A room in Paris.")]
    assert endpoint(stub).rewrite([ASKED]) == ["A room in Paris."]
    assert len(stub.asked) == 3


@pytest.mark.parametrize(
    ("reply", "reason", "asked"),
    [
        ((429, b""), "engine: status 429", 4),
        ((400, b"no"), "engine: status 400", 1),
        ((302, b""), "engine: status 302", 1),
        ((200, b"<html>"), "engine: malformed answer", 1),
        ((200, b"\xff\xfe"), "engine: malformed answer", 1),
        ((200, b"[]"), "engine: malformed answer", 1),
        ((200, b'{"choices": []}'), "engine: malformed answer", 1),
        (said(None), "engine: malformed answer", 1),
        (said("  "), "engine: malformed answer", 1),
    ],
)
def test_counted(stub: Stub, reply: Reply, reason: str, asked: int) -> None:
    stub.replies = [reply]
    assert endpoint(stub).rewrite([ASKED]) == [Failed(reason)]
    assert len(stub.asked) == asked


def test_timeout(stub: Stub) -> None:
    stub.replies, stub.delay = [said("late")], 0.5
    assert endpoint(stub, timeout=0.05).rewrite([ASKED]) == [Failed("engine: timeout")]


def test_nobody_there(stub: Stub) -> None:
    gone = engine(Paraphrase(url="http://127.0.0.1:9/v1", model="m", timeout=1.0, parallel=1))
    with pytest.raises(UserError, match="no connection"):
        gone.rewrite([ASKED])
    gone.client.reached = True  # it was there before: a turn is lost, not the run
    assert gone.rewrite([ASKED]) == [Failed("engine: no connection")]


def test_a_wrong_key_is_the_users_to_mend(stub: Stub) -> None:
    stub.replies = [(401, b"")]
    with pytest.raises(UserError, match="STUB_KEY"):
        endpoint(stub).rewrite([ASKED])


def test_no_web_address() -> None:
    with pytest.raises(UserError, match="web address"):
        engine(Paraphrase(url="file:///etc", model="m"))


def test_the_cache_goes_on_after_a_kill(stub: Stub, tmp_path: Path) -> None:
    cache = tmp_path / "answers.jsonl"
    stub.replies = [said("A room in Paris.")]
    assert endpoint(stub, cache=str(cache)).rewrite([ASKED]) == ["A room in Paris."]
    with cache.open("ab") as file:
        file.write(b'\n{"key": "torn')  # killed in the middle of a line
    again = endpoint(stub, cache=str(cache))
    other = Rewrite("And now?", (), 7)
    assert again.rewrite([ASKED, other]) == ["A room in Paris."] * 2
    assert len(stub.asked) == 2, "the first was known"
    assert endpoint(stub, cache=str(cache)).rewrite([ASKED, other]) == ["A room in Paris."] * 2
    assert len(stub.asked) == 2


def test_as_a_family(stub: Stub) -> None:
    """From options to counted refusals: one turn said otherwise, one that loses its value, one not answered well."""

    def reply(body: dict[str, Any]) -> Reply:
        text = body["messages"][1]["content"]
        return {"I want a room in Paris.": said("In paris, a room is what I need."), "Two nights.": said("Three.")}.get(
            text, (200, b"{}")
        )

    stub.replies = [reply]
    turns = (
        Turn("USER", "I want a room in Paris.", (Frame("Hotels_1", None, (Span("city", 17, 22),)),)),
        Turn("USER", "Two nights."),
        Turn("USER", "Thanks."),
    )
    options = Paraphrase(engine="llm", url=stub.url, model="m", timeout=5.0, tries=1)
    known = Inventory({}, frozenset(), frozenset())

    def run(seed: int) -> Twin:
        return apply(options, Dialogue("1", turns), known, seed=seed)

    after = run(1)
    new = after.dialogue.turns[0]
    assert new.text == "In Paris, a room is what I need."
    assert [new.text[s.start : s.exclusive_end] for s in new.frames[0].spans or ()] == ["Paris"]
    assert after.refused == {"engine: malformed answer": 1, "number changed": 1}
    assert run(1) == after
    seeds = {body["seed"] for body in stub.asked}
    run(2)
    assert not seeds >= {body["seed"] for body in stub.asked}, "another seed asks with other seeds"


def test_it_needs_an_endpoint() -> None:
    with pytest.raises(UserError, match="url and model"):
        apply(Paraphrase(engine="llm"), Dialogue("1", (Turn("USER", "Hi"),)), Inventory({}, frozenset(), frozenset()))
