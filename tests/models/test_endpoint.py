"""A language model behind a server, against servers on this machine that answer as known ones do."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.eventloop import finished
from troth import models
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding.pmi import NO_NUMBER, measure
from troth.models import Continuation, Request, client
from troth.models.endpoint import EndpointLm, find_spans
from troth.models.fake import FakeLm

Reply = tuple[int, Any]
Body = dict[str, Any]


class Server:
    def __init__(self) -> None:
        self.reply: Callable[[str, Body], Reply] = vllm
        self.asked: list[tuple[str, Body]] = []
        self.keys: list[str | None] = []
        self.encodings: list[str | None] = []
        self.url = ""
        self.delay = 0.0
        self.headers: dict[str, str] = {}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append((self.path, body))
            state.keys.append(self.headers.get("Authorization"))
            state.encodings.append(self.headers.get("Accept-Encoding"))
            time.sleep(state.delay)
            code, said = state.reply(self.path.removeprefix("/v1"), body)
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            try:
                self.send_response(code)
                for name, value in {"Content-Length": str(len(data)), **state.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked has stopped waiting

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr(client, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_port}/v1"
    yield state
    running.shutdown()
    running.server_close()
    thread.join()


# -- servers -----------------------------------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    return re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text)


def value(token: str) -> float:
    return -float(len(token))


def vllm(path: str, body: Body) -> Reply:
    """Scores what it is given with `echo`; with a mark at the beginning, which its offsets count, where asked for."""
    if path != "/completions":
        return 404, {"error": "no such place"}
    if not body.get("echo"):
        return 200, {"choices": [{"text": " made" * body["max_tokens"]}]}
    tokens = (["<s>"] if body["add_special_tokens"] else []) + split(body["prompt"])
    values = [None, *(value(token) for token in tokens[1:])]
    if body["max_tokens"]:
        tokens, values = [*tokens, " made"], [*values, -0.5]
    return 200, {
        "choices": [{"text": "…", "logprobs": {"tokens": tokens, "token_logprobs": values, "text_offset": [-1]}}]
    }


def prompt_logprobs(path: str, body: Body) -> Reply:
    """vLLM's own way: the token itself first, likelier ones after; nothing for the first place."""
    if body.get("echo"):
        return 400, {"error": "echo is not supported"}
    if "prompt_logprobs" not in body:
        return vllm(path, body)
    listed: list[Any] = [None]
    for token in split(body["prompt"])[1:]:
        likelier = {"decoded_token": " the", "logprob": -0.1}
        listed.append({"7": {"decoded_token": token, "logprob": value(token)}, "1": likelier})
    return 200, {"choices": [{"text": " made", "prompt_logprobs": listed}]}


def echo_ignored(path: str, body: Body) -> Reply:
    """Scores only what it made up itself."""
    return 200, {"choices": [{"text": " made", "logprobs": {"tokens": [" made"], "token_logprobs": [-0.5]}}]}


def no_scores(path: str, body: Body) -> Reply:
    return 200, {"choices": [{"text": " made", "logprobs": None}]}


def echo_refused(path: str, body: Body) -> Reply:
    return 400, {"error": "Only no echo is supported"} if body.get("echo") else no_scores(path, body)[1]


def chat_only(path: str, body: Body) -> Reply:
    if path != "/chat/completions":
        return 404, {}
    return 200, {"choices": [{"message": {"role": "assistant", "content": body["messages"][0]["content"].upper()}}]}


# -- log-probabilities -------------------------------------------------------------------------------------------------

ASKED = Request(("Document: tea.\n\n", "hi.\n"), "Agent: tea is nice.")


def lm(server: Server) -> EndpointLm:
    return EndpointLm(server.url, "m", timeout=60.0, parallel=3)


@pytest.mark.parametrize("kind", [vllm, prompt_logprobs])
def test_logprobs(server: Server, kind: Callable[[str, Body], Reply]) -> None:
    server.reply = kind
    found, alone = lm(server).logprobs([ASKED, Request((), "tea is nice")])
    assert found.tokens == ("Agent", ":", " tea", " is", " nice", ".")
    assert found.logprobs == tuple(value(token) for token in ("\nAgent", ":", " tea", " is", " nice", "."))
    assert (alone.tokens, alone.logprobs) == (("tea", " is", " nice"), (None, -3.0, -5.0))


def test_a_mark_at_the_beginning_gives_the_first_token_a_score(server: Server) -> None:
    (found,) = lm(server).logprobs([Request((), "tea is", bos=True)])
    assert (found.tokens, found.logprobs) == (("tea", " is"), (-3.0, -3.0))
    assert server.asked[0][1]["add_special_tokens"] is True


@pytest.mark.parametrize("kind", [echo_ignored, no_scores, echo_refused, chat_only])
def test_a_server_without_them_is_refused(server: Server, kind: Callable[[str, Body], Reply]) -> None:
    server.reply = kind
    with pytest.raises(UserError, match="gives no log-probabilities of a prompt") as error:
        lm(server).logprobs([ASKED])
    assert "\n" not in str(error.value)
    assert f"{server.url}#m" in str(error.value)


def test_the_way_is_found_once(server: Server) -> None:
    server.reply = prompt_logprobs
    model = lm(server)
    model.logprobs([Request((), f"tea {number}") for number in range(10)])
    assert len(server.asked) == 11, "one way tried in vain, then ten answers"


def test_equal_requests_are_asked_once_and_empty_ones_not_at_all(server: Server) -> None:
    found = lm(server).logprobs([ASKED, Request(("x",), ""), ASKED])
    assert found[0] == found[2]
    assert found[1].tokens == ()
    assert len(server.asked) == 1


NO_LOGPROBS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "0.5",
    "1e-9",
    "true",
    "false",
    '"-1.5"',
    "null",
    "[]",
    "{}",
    "-1" + "0" * 400,
]


@pytest.mark.parametrize("said", NO_LOGPROBS)
@pytest.mark.parametrize("listed", [False, True])
def test_what_is_no_log_probability_is_not_taken_for_one(server: Server, said: str, listed: bool) -> None:
    """Only a finite number of at most 0 is; a metric counts the item as not scored."""
    place = f'{{"7": {{"decoded_token": " b", "logprob": {said}}}}}'
    answer = f'{{"prompt_logprobs": [null, {place}]}}'
    if not listed:
        answer = f'{{"logprobs": {{"tokens": ["a", " b"], "token_logprobs": [null, {said}]}}}}'
    server.reply = lambda *_: (200, f'{{"choices": [{answer}]}}'.encode())
    (found,) = lm(server).logprobs([("a", " b")])
    assert found.tokens == (" b",)
    assert math.isnan(found.logprobs[0] or 0.0)
    item = Grounded("1", "b", "b", ("a",))
    (value,) = measure([item], Answering(found))
    assert (value.value, value.reason) == (None, NO_NUMBER)


class Answering(FakeLm):
    """Gives one answer to everything."""

    def __init__(self, answer: Continuation) -> None:
        super().__init__()
        self.answer = answer

    def logprobs(self, requests: Any) -> list[Continuation]:
        return [self.answer for _ in requests]


def test_a_bad_answer_among_good_ones_does_not_end_the_run_and_is_not_kept(server: Server, tmp_path: Any) -> None:
    cache = str(tmp_path / "c.sqlite")
    asked = [Request(("tea.\n",), f"cup {number}") for number in range(20)]

    def lapses(path: str, body: Body) -> Reply:
        if "cup 7" in body["prompt"]:
            return 200, {"choices": [{"logprobs": {"tokens": ["odd"], "token_logprobs": []}}]}
        return vllm(path, body)

    server.reply = lapses
    found = models.lm(f"{server.url}#m", cache=cache).logprobs(asked)
    assert [number for number, one in enumerate(found) if math.isnan(one.logprobs[0] or 0.0)] == [7]
    server.reply, server.asked = vllm, []
    assert models.lm(f"{server.url}#m", cache=cache).logprobs(asked)[7].logprobs == (-4.0, -2.0)
    assert [body["prompt"] for _, body in server.asked] == ["tea.\ncup 7"]


def test_what_was_answered_is_kept_when_the_server_fails(server: Server, tmp_path: Any) -> None:
    cache = str(tmp_path / "c.sqlite")
    asked = [Request(("tea.\n",), f"cup {number:03}") for number in range(40)]
    server.reply = lambda path, body: (500, {}) if "cup 030" in body["prompt"] else vllm(path, body)
    with pytest.raises(UserError, match="answers 500"):
        models.lm(f"{server.url}#m", cache=cache).logprobs(asked)
    server.reply, server.asked = vllm, []
    assert len(models.lm(f"{server.url}#m", cache=cache).logprobs(asked)) == 40
    assert len(server.asked) <= 10 + 8, "all earlier batches are in the cache"


@pytest.mark.parametrize("opening", [b"[", b'{"choices": ', b'{"choices": [{"logprobs": '])
def test_deep_answers_are_one_line(server: Server, opening: bytes) -> None:
    server.reply = lambda *_: (200, opening + b"[" * 100_000 + b"]" * 100_000)
    with pytest.raises(UserError, match="invalid JSON, or JSON that is nested too deeply"):
        lm(server).logprobs([ASKED])


def test_an_answer_is_not_decompressed(server: Server) -> None:
    """A kilobyte could become a gigabyte."""
    server.headers = {"Content-Encoding": "gzip"}
    server.reply = lambda *_: (200, gzip.compress(b'{"choices": [{"text": "yes"}]}' + b" " * 10**6))
    with pytest.raises(UserError, match="invalid JSON"):
        lm(server).generate(["a"])
    assert server.encodings == ["identity"]


def test_the_size_of_an_answer_is_in_proportion_to_the_question(server: Server) -> None:
    server.reply = lambda *_: (200, b'{"choices": ["' + b"x" * 1_200_000 + b'"]}')
    with pytest.raises(UserError, match="answers with more than"):
        lm(server).generate(["a"])


# -- alignment ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "prompt", "expected"),
    [
        (["a", " b"], "a b", [(0, 1), (1, 3)]),
        (["<s>", "a", " b"], "a b", [(0, 0), (0, 1), (1, 3)]),
        (["", "a", " b"], "a b", [(0, 0), (0, 1), (1, 3)]),
        (["", " b"], "a b", [(0, 1), (1, 3)]),
        (["a", "", " b"], "a b", [(0, 1), (1, 1), (1, 3)]),
        (["x ", "�", "�", "�", " y"], "x 😀 y", [(0, 2), (2, 3), (3, 3), (3, 3), (3, 5)]),
        (["�", "�", "y"], "éy", [(0, 1), (1, 1), (1, 2)]),
        (["x", "�", "�"], "xé", [(0, 1), (1, 2), (2, 2)]),
        (["a", " b"], "a c", None),
        (["a"], "a b", None),
        (["a", " b", " c"], "a b", None),
        (["q", "�", "y"], "xéy", None),
        ([], "a", None),
    ],
)
def test_spans(tokens: list[str], prompt: str, expected: list[tuple[int, int]] | None) -> None:
    assert find_spans(tokens, prompt) == expected


@given(
    st.lists(
        st.text(st.characters(exclude_characters="�", exclude_categories=["Cs"]), min_size=1, max_size=4), min_size=1
    )
)
def test_any_tokens_of_a_text_are_found_again(tokens: list[str]) -> None:
    prompt = "".join(tokens)
    found = find_spans(tokens, prompt)
    assert found is not None
    assert [prompt[start:end] for start, end in found] == tokens


# -- generation --------------------------------------------------------------------------------------------------------


def test_generation(server: Server) -> None:
    assert lm(server).generate(["a", "b", "a"], max_tokens=2, temperature=0.5, seed=3) == [" made made"] * 3
    assert len(server.asked) == 2
    body = server.asked[0][1]
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("m", 0.5, 3, 2)


def test_a_server_that_only_chats(server: Server) -> None:
    server.reply = chat_only
    model = lm(server)
    assert model.generate(["say a", "say b"]) == ["SAY A", "SAY B"]
    assert [path for path, _ in server.asked].count("/v1/completions") == 1


# -- what can be wrong -------------------------------------------------------------------------------------------------


def test_the_key_is_sent_and_a_wrong_one_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    lm(server).generate(["a"])
    assert server.keys == ["Bearer secret"]
    server.reply = lambda *_: (401, {})
    with pytest.raises(UserError, match="OPENAI_API_KEY") as error:
        lm(server).generate(["a"])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("before", [0, 100, 280])
def test_a_key_that_comes_back_is_not_shown(server: Server, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    """Nor a part of it, where what is shown of a refusal ends within it."""
    key = "sk-0123456789abcdef-secret"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for status in (200, 400, 404, 500):
        server.reply = lambda *_, status=status: (status, {"error": " " * before + key, "choices": [{"text": key}]})
        with pytest.raises(UserError, match="repeats the key") as error:
            lm(server).generate(["a"])
        assert "0123" not in str(error.value)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((400, {"error": "too long:\n5000 tokens"}), "answers 400: .*too long"),
        ((503, b"busy"), "answers 503: busy"),
        ((200, b"<html>"), "invalid JSON"),
        ((200, {"choices": []}), "without a text"),
        ((200, {"choices": [{"text": None}]}), "without a text"),
    ],
)
def test_refusals(server: Server, reply: Reply, told: str) -> None:
    server.reply = lambda *_: reply
    with pytest.raises(UserError, match=told) as error:
        lm(server).generate(["a"])
    assert "\n" not in str(error.value)


def test_a_text_that_is_too_long_does_not_end_the_run(server: Server) -> None:
    model = lm(server)
    document, words = "tea " * 50, "tea is nice"
    server.reply = lambda path, body: (400, {"error": "too long"}) if len(body["prompt"]) > 99 else vllm(path, body)
    asked = [ASKED, Request((document, "hi.\n"), words), Request(("hi.\n",), words), Request((), document)]
    first, long, alone, longest = model.logprobs(asked)
    assert None not in first.logprobs
    assert (long.tokens, long.logprobs) == (alone.tokens, (None,) * 3)
    assert (longest.tokens, longest.logprobs) == ((document,), (None,))


def test_a_refusal_after_the_way_is_known(server: Server) -> None:
    model = lm(server)
    model.logprobs([ASKED])
    server.reply = lambda *_: (404, {"error": "no such model"})
    with pytest.raises(UserError, match=r"answers 404: .*no such model"):
        model.logprobs([("a", "b")])


def test_an_answer_that_breaks_off_is_asked_for_again(server: Server) -> None:
    class Short(bytes):
        def __len__(self) -> int:  # what the server says that it will send
            return super().__len__() + (len(server.asked) == 1)

    server.reply = lambda *_: (200, Short(b'{"choices": [{"text": "yes"}]}'))
    assert lm(server).generate(["a"]) == ["yes"]
    assert len(server.asked) == 2


def test_an_answer_that_is_too_large(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troth.models.client.MAX_BYTES", 20)
    with pytest.raises(UserError, match="more than 20 bytes"):
        lm(server).generate(["a"])


@pytest.mark.parametrize(("key", "sent"), [(" secret\n", "Bearer secret"), ("sécret", None), ("sec\nret", None)])
def test_keys(server: Server, monkeypatch: pytest.MonkeyPatch, key: str, sent: str | None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    if sent:
        lm(server).generate(["a"])
        assert server.keys == [sent]
        return
    with pytest.raises(UserError, match="the key in OPENAI_API_KEY has characters") as error:
        lm(server).generate(["a"])
    assert key not in str(error.value)


def test_a_token_without_text_that_the_server_made_up(server: Server) -> None:
    """Its end of a text, after the prompt: it has no part in the continuation."""
    given = {"tokens": ["a", " b", ""], "token_logprobs": [None, -2.0, -0.1]}
    server.reply = lambda *_: (200, {"choices": [{"logprobs": given}]})
    (found,) = lm(server).logprobs([("a", " b")])
    assert (found.tokens, found.logprobs) == ((" b",), (-2.0,))


def test_no_answer_in_time(server: Server) -> None:
    server.delay = 0.5
    with pytest.raises(UserError, match="does not answer: timeout"):
        EndpointLm(server.url, "m", timeout=0.05).logprobs([ASKED])


@pytest.mark.parametrize("slow", ["headers", "content"])
def test_the_deadline_is_for_the_whole_answer(server: Server, slow: str) -> None:
    """A server that sends a byte now and then never lets a single read time out."""
    sent: list[bytes] = []
    head, body = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX: ", b"\r\n\r\n" + b" " * 1000
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(head + (body if slow == "content" else b"")[:4])
                for _ in range(400):
                    connection.sendall(b"x")
                    sent.append(b"x")
                    time.sleep(0.01)

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with pytest.raises(UserError, match="does not answer: timeout"):
            EndpointLm(url, "m", timeout=0.3).generate(["a"])
        assert len(sent) < 400, "the error came before the server was done"
        thread.join()


def test_within_an_event_loop(server: Server) -> None:
    """As in a notebook."""

    async def cell() -> list[str]:
        return lm(server).generate(["a"], max_tokens=1)

    assert finished(cell) == [" made"]


def test_redirects_are_not_followed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is for the address that was named."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server.reply = lambda *_: (307, {})
    server.headers = {"Location": f"{server.url}/elsewhere"}
    with pytest.raises(UserError, match="answers 307"):
        lm(server).generate(["a"])
    assert [path for path, _ in server.asked] == ["/v1/completions"]


def test_nobody_there(server: Server) -> None:
    with pytest.raises(UserError, match="no connection"):
        EndpointLm("http://127.0.0.1:9/v1", "m", timeout=1.0).generate(["a"])


@pytest.mark.parametrize(
    "name",
    [
        "http://host/v1", "http://#m", "https://#m", "http:m#m", "http://[::1/v1#m", "http://user:secret@host/v1#m", "http://user:secret@host/v1",
        "http://user:secret@#m", "http://host/v1?key=secret#m", "http://host/v1?key=secret",
    ],
)  # fmt: skip
def test_no_such_name(name: str) -> None:
    with pytest.raises(UserError) as error:
        EndpointLm.from_name(name)
    assert "secret" not in str(error.value)


def test_by_name(server: Server, tmp_path: Any) -> None:
    model = models.lm(f"{server.url}#m", cache=str(tmp_path / "c.sqlite"))
    assert model.name == f"{server.url}#m"
    first = model.logprobs([ASKED])
    assert models.lm(f"{server.url}/#m", cache=str(tmp_path / "c.sqlite")).logprobs([ASKED]) == first
    assert len(server.asked) == 1, "the second is from the cache"


def test_no_entailment_there() -> None:
    with pytest.raises(UserError, match="gives no entailment"):
        models.nli("http://localhost:8000/v1#m", cache=None)
