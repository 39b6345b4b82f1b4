"""The engine `llm`: paraphrases from any OpenAI-compatible endpoint.

A failed request is repeated if that may help (see `troth.models.client`), and else counted as a refusal. Answers are
stored in a JSON Lines file by the hash of their request, so that a killed run can be resumed and no request is paid
twice.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from troth.core.errors import UserError
from troth.models.client import CHAT, Client, MalformedAnswerError, ServerError, parse_completion
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.paraphrase import Paraphrase
from troth.readers import source

MAX_BYTES = 1_000_000  # of an answer
MALFORMED = "engine: malformed answer"

PROMPT = (
    "You rewrite messages that a user sends to an assistant. Say the same in other words: other sentence structure and "
    "other vocabulary, the same meaning, the same requests, answers and negations, nothing added, nothing left out. "
    "Copy these strings into your message exactly, letter by letter: {keep}. "
    "Answer with the rewritten message alone, without quotation marks or comment."
)


def engine(options: Paraphrase) -> LlmParaphraser:
    """The engine `llm`, with the url and the model of the options."""
    if not options.url or not options.model:
        raise UserError("the engine 'llm' needs an endpoint", hint="set url and model")
    return LlmParaphraser(options.url, options)


class LlmParaphraser:
    """One endpoint and model; `rewrite` asks for several paraphrases at once."""

    varies = True

    def __init__(self, url: str, options: Paraphrase) -> None:
        self.client = Client(url, key_variable=options.key_variable, timeout=options.timeout)
        self.url = self.client.url + CHAT
        self.options = options
        self.answers = _Answers(options.cache)

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        with ThreadPoolExecutor(min(self.options.parallel, max(1, len(requests)))) as pool:
            return list(pool.map(self._rewrite_one, requests))

    def _rewrite_one(self, request: Rewrite) -> str | Failed:
        body = self._body(request)
        key = hashlib.sha256(f"{self.url}\n".encode() + body).hexdigest()
        answer: str | Failed | None = self.answers.known.get(key)
        if answer is None:
            answer = self._ask(body)
            if isinstance(answer, str):
                self.answers.add(key, answer)
        return answer

    def _body(self, request: Rewrite) -> bytes:
        keep = list(dict.fromkeys(request.text[part.start : part.end] for part in request.stretches))
        strings = ", ".join(json.dumps(text, ensure_ascii=False) for text in keep) or "(none)"
        body = {
            "model": self.options.model,
            "messages": [
                {"role": "system", "content": PROMPT.format(keep=strings)},
                {"role": "user", "content": request.text},
            ],
            "temperature": self.options.temperature,
            "seed": request.seed % 2**31,  # within the range of integers that servers accept
        }
        return json.dumps(body, ensure_ascii=False, sort_keys=True).encode()

    def _ask(self, body: bytes) -> str | Failed:
        try:
            answer = self.client.chat(body, parse=parse_completion, max_bytes=MAX_BYTES)
        except MalformedAnswerError:
            return Failed(MALFORMED)
        except ServerError as error:
            return Failed(f"engine: {error}")
        text = " ".join((answer.text or "").split())
        if not text:
            return Failed(MALFORMED)
        quoted = len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”"))
        return text[1:-1] if quoted and text.count('"') in (0, 2) else text


class _Answers:
    """Answers by request. Lines are appended one by one; an incomplete line of a killed run is ignored."""

    def __init__(self, path: str | None) -> None:
        self._path, self._lock = path, threading.Lock()
        self.known: dict[str, str] = {}
        if path is None or not Path(path).exists():
            return
        for line in source.read_bytes(path).splitlines():
            try:
                entry = json.loads(line)
                self.known[str(entry["key"])] = str(entry["text"])
            except (ValueError, KeyError, TypeError):
                continue

    def add(self, key: str, text: str) -> None:
        line = json.dumps({"key": key, "text": text}, ensure_ascii=False).encode()
        with self._lock:
            self.known[key] = text
            if self._path is None:
                return
            try:
                with open(self._path, "ab") as file:  # a line break first: the line before may be incomplete
                    file.write(b"\n" + line if file.tell() else line)
            except OSError as error:
                raise UserError(f"cannot be written: {error.strerror}", file=self._path) from error
