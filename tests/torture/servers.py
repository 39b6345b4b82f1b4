"""Servers of language models that misbehave: an answer is scored, counted as not scored, or refused in one line."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import DATA
from troth.models.keys import repeats_key

KEY = "sk-torture-0123456789-abcdef-secret"
DEADLINE = 3.0  # seconds for an answer, in place of two minutes
ITEMS = 3  # responses that are scored

Handler = BaseHTTPRequestHandler


def right(prompt: str, logprob: Any = None) -> dict[str, Any]:
    """What a good server answers; `logprob` in place of one of its numbers."""
    tokens = re.findall(r"\s*\w+|\s*[^\w\s]|\s+", prompt)
    values: list[Any] = [None, *(-0.5 - len(token) % 3 for token in tokens[1:])]
    if logprob is not None:
        values[-2] = logprob
    return {"choices": [{"text": " x", "logprobs": {"tokens": [*tokens, " x"], "token_logprobs": [*values, -0.1]}}]}


def sent(handler: Handler, data: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def number(value: str) -> Callable[[Handler, str], None]:
    """A good answer with this text in place of a log-probability."""

    def answer(handler: Handler, prompt: str) -> None:
        sent(handler, json.dumps(right(prompt, "@here")).replace('"@here"', value).encode())

    return answer


def said(data: bytes, status: int = 200, **headers: str) -> Callable[[Handler, str], None]:
    return lambda handler, _: sent(handler, data, status, **headers)


def raw(*pieces: bytes, pause: float = 0.0, times: int = 1) -> Callable[[Handler, str], None]:
    """Bytes that need not be HTTP; the last piece is repeated."""

    def answer(handler: Handler, _: str) -> None:
        for piece in (*pieces[:-1], *[pieces[-1]] * times):
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(pause)
        handler.close_connection = True

    return answer


def echo(status: int, part: slice = slice(None), *, escaped: bool = False) -> Callable[[Handler, str], None]:
    """Sends the key back, or a part of it; `escaped`: in escapes of JSON."""

    def answer(handler: Handler, _: str) -> None:
        key = handler.headers.get("Authorization", "").removeprefix("Bearer ")[part]
        text = json.dumps({"error": {"message": "no: @"}, "choices": [{"text": "@"}]})
        sign = "".join(f"\\u{ord(letter):04x}" for letter in key) if escaped else key
        sent(handler, text.replace("@", sign).encode(), status)

    return answer


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Handler, str], None]:
    """A good answer with something changed in its choice."""

    def answer(handler: Handler, prompt: str) -> None:
        whole = right(prompt)
        change(whole["choices"][0])
        sent(handler, json.dumps(whole).encode())

    return answer


def sometimes(answer: Callable[[Handler, str], None]) -> Callable[[Handler, str], None]:
    """Good answers at first, then this."""
    count = iter(range(10**9))
    return lambda handler, prompt: answer(handler, prompt) if next(count) > ITEMS else number("-1.5")(handler, prompt)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
CASES: dict[str, Callable[[Handler, str], None]] = {
    "good": number("-1.5"),
    "nan": number("NaN"), "infinity": number("Infinity"), "minus infinity": number("-Infinity"),
    "positive": number("0.5"), "true": number("true"), "text": number('"-1.5"'), "null": number("null"),
    "huge": number("-1" + "0" * 400), "long": number("-" + "1" * 6000), "list": number("[-1.5]"),
    "fewer numbers": changed(lambda choice: choice["logprobs"]["token_logprobs"].pop()),
    "no numbers": changed(lambda choice: choice["logprobs"].pop("token_logprobs")),
    "other tokens": changed(lambda choice: choice["logprobs"].update(tokens=["a"] * 9)),
    "tokens of all kinds": changed(lambda choice: choice["logprobs"].update(tokens=[None, 1, {}, "\ud800"] * 9)),
    "no choices": said(b'{"choices": []}'), "no object": said(b"[]"), "a number": said(b"7"),
    "a listed choice": said(b'{"choices": [[]]}'),
    "not JSON": said(b"<html>"), "nothing": said(b""), "not UTF-8": said(b'{"choices": "\xff\xfe"}'),
    "deep": said(b"[" * 200_000), "deep choice": said(b'{"choices": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}"),
    "many": said(b"[" + b"{}," * 2_000_000 + b"0]"), "large": said(b'"' + b"x" * 80_000_000 + b'"'),
    "compressed": said(b"\x1f\x8b" + bytes(1000), Content_Encoding="gzip"),
    "no HTTP": raw(b"220 ready\r\n\r\n"), "closed at once": raw(b""), "broken off": raw(HEAD, b"{"),
    "drips content": raw(HEAD, b"x", pause=0.05, times=2000),
    "drips a header": raw(b"HTTP/1.1 200 OK\r\nX: ", b"x", pause=0.05, times=2000),
    "goes on": raw(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.01, times=2000),
    "long header": raw(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 10**6, times=50),
    "refuses": said(b'{"error": "\\u001b[31m\\n' + b"no" * 10**6 + b'"}', 400), "is absent": said(b"", 404),
    "forbids": said(b"{}", 403), "fails": said(b"busy", 500), "has no time": said(b"", 503, Retry_After="0"),
    "sends elsewhere": said(b"", 307, Location="http://127.0.0.1:9/"), "odd status": raw(b"HTTP/1.1 999 x\r\n\r\n"),
    "echoes the key": echo(200), "refuses with the key": echo(400), "fails with the key": echo(500),
    "echoes the end of the key": echo(200, slice(4, None)), "refuses with its end": echo(400, slice(10, None)),
    "echoes the escaped key": echo(200, escaped=True), "refuses with the escaped key": echo(400, escaped=True),
    "bad later": sometimes(said(b'{"choices": []}')), "fails later": sometimes(said(b"busy", 500)),
    "drips later": sometimes(raw(HEAD, b"x", pause=0.05, times=2000)),
}  # fmt: skip


def serving(case: str) -> tuple[int, int]:
    """A server in a process of its own; returns its number and port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    child = os.fork()
    if child:
        port = int(listening.getsockname()[1])
        listening.close()
        return child, port

    class Misbehaving(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with suppress(OSError):
                CASES[case](self, str(body.get("prompt", "")))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving, bind_and_activate=False)
    server.socket.close()
    server.socket, server.daemon_threads = listening, True
    threading.excepthook = lambda _: None
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.serve_forever()
    os._exit(0)


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """Each server in turn, for ever; the order by chance. Good answers are stored, and bad ones are not."""
    place = folder / "servers"
    place.mkdir(parents=True)
    lines = (DATA / "documents" / "careful.jsonl").read_bytes().splitlines()[:ITEMS]
    (place / "data.jsonl").write_bytes(b"\n".join(lines))
    while True:
        names = sorted(CASES)
        random.Random(seed).shuffle(names)
        for name in names:
            yield [Fault("servers", name, "ground --lm http://…", what) for what in _asked(place, name)]
        seed += 1


def _asked(place: Path, name: str) -> Iterator[str]:
    sandbox.removed(place / "cache.sqlite")
    child, port = serving(name)
    try:
        outcome = _scored(place, port)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if wrong := sandbox.fault(outcome):
        yield wrong
    stored = (place / "cache.sqlite").read_bytes() if (place / "cache.sqlite").exists() else b""
    if repeats_key(outcome.out + outcome.err, KEY) or repeats_key(stored.decode(errors="replace"), KEY):
        yield "prints or stores the key"
    if name == "good" and outcome.code != 0:
        yield f"a good server is refused: {outcome.err[-200:]}"
    if outcome.code != 0 or name == "good":
        return
    mean = next(one["value"] for one in json.loads(outcome.out) if one["metric"] == "pmi_faith")
    if mean is not None and "later" not in name:
        yield f"what is no log-probability is scored: {mean}"


def _scored(place: Path, port: int) -> sandbox.Outcome:
    def work() -> None:
        from troth.models import client, endpoint

        client.PAUSE, endpoint.TIMEOUT = 0.0, DEADLINE
        name = f"http://127.0.0.1:{port}/v1#m"
        sandbox.command(["ground", "data.jsonl", "--metrics", "pmi_faith", "--lm", name, "--cache", "cache.sqlite",
                         "--resamples", "10", "--json"])  # fmt: skip

    return sandbox.forked(work, place, {"OPENAI_API_KEY": KEY, "no_proxy": "*"})
