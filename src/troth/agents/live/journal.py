"""Answers of an assistant kept on disk, so that an interrupted run can be resumed, and a budget of what may be asked.

Answers go to a JSON Lines file by the digest of the question; lines are appended whole, and one that was torn by
a kill, or damaged, is passed over. A question that two conversations ask at the same time is asked once.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from troth.agents.live.endpoint import Reply, UnansweredError
from troth.core.decode import reading
from troth.core.errors import UserError
from troth.storage.files import writing

EXHAUSTED = "budget"
UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


class _Line(msgspec.Struct, frozen=True):
    key: str
    reply: Reply
    digest: str = ""  # of both: an answer that is not what was written is not used

    def sealed(self) -> _Line:
        content = msgspec.json.encode((self.key, self.reply), order="sorted")
        return msgspec.structs.replace(self, digest=hashlib.sha256(content).hexdigest()[:16])


class Journal:
    """Answers by question. `asked` counts the questions that were new in this run."""

    def __init__(self, path: Path) -> None:
        self.path, self.asked = path, 0
        self._lock = threading.Lock()
        self._known: dict[str, Reply] = {}
        self._open: dict[str, Future[Reply]] = {}
        with reading(path):
            lines = path.read_bytes().splitlines() if path.exists() else []
        decoder = msgspec.json.Decoder(_Line)
        for line in lines:
            try:
                entry = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # torn by a kill, or damaged: asked again
            if entry == entry.sealed():
                self._known[entry.key] = entry.reply

    def answer(self, question: Any, ask: Callable[[], Reply]) -> Reply:
        """The answer to a question: a known one, or what `ask` gives, which is kept."""
        key = hashlib.sha256(msgspec.json.encode(question, order="sorted")).hexdigest()
        with self._lock:
            if key in self._known:
                return self._known[key]
            pending = self._open.get(key)
            is_new = pending is None
            if pending is None:
                pending = self._open[key] = Future()
        if is_new:
            self._fill(key, pending, ask)
        return pending.result()

    def _fill(self, key: str, pending: Future[Reply], ask: Callable[[], Reply]) -> None:
        try:
            reply = ask()
            self._write(key, reply)
            pending.set_result(reply)
        except BaseException as error:  # noqa: BLE001 (whoever waits for the answer gets it)
            pending.set_exception(error)
        finally:
            with self._lock:
                del self._open[key]

    def _write(self, key: str, reply: Reply) -> None:
        line = msgspec.json.encode(_Line(key, reply).sealed())
        with self._lock, writing(str(self.path)):
            self._known[key] = reply
            self.asked += 1
            with self.path.open("ab") as file:  # a line break first: the line before may be torn
                file.write(b"\n" + line if file.tell() else line)


class Budget:
    """What a run may ask: a number of questions or of tokens. Answers from the journal cost nothing."""

    def __init__(self, text: str | int | None) -> None:
        """`text`: such as `500`, `500 calls`, `200k tokens`; None: without a limit."""
        limit = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([km]?)\s*(calls?|tokens?)?", str(text or "").strip().lower())
        if text is not None and (limit is None or float(limit[1]) <= 0):
            raise UserError(f"'{text}' is not a valid budget", hint="such as 500, 500calls or 200ktokens")
        self.unit = "tokens" if limit is not None and (limit[3] or "").startswith("token") else "calls"
        self.limit = None if limit is None else float(limit[1]) * UNITS[limit[2]]
        self.calls = self.tokens = 0
        self._lock = threading.Lock()

    def stop(self) -> None:
        """From now on nothing more is asked."""
        self.limit = 0

    def spend(self, ask: Callable[[], Reply]) -> Reply:
        """What `ask` gives, counted; UnansweredError once the budget is used up."""
        with self._lock:
            used = self.tokens if self.unit == "tokens" else self.calls
            if self.limit is not None and used >= self.limit:
                raise UnansweredError(EXHAUSTED)
            self.calls += 1
        reply = ask()
        with self._lock:
            self.tokens += _tokens(reply)
        return reply


def _tokens(reply: Reply) -> int:
    """The tokens that a reply has cost; where the server does not say, about four characters of the answer each."""
    spent = reply.usage
    counted = (
        [] if spent is None else [count for count in (spent.input_tokens, spent.output_tokens) if count is not None]
    )
    return sum(counted) if counted else len(msgspec.json.encode(reply.message)) // 4 + 1
