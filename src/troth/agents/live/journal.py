"""Answers of an assistant kept on disk, so that an interrupted run can be resumed.

Answers go to a JSON Lines file by the digest of the question; lines are appended whole, and one that was torn by
a kill, or damaged, is passed over. A question that two conversations ask at the same time is asked once.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from troth.agents.live.endpoint import Reply
from troth.core.decode import reading
from troth.storage.files import writing


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
