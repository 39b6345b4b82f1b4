"""The engine `llm`: paraphrases from any OpenAI-compatible endpoint, with the standard library alone.

A request that fails is tried again where that may help (429 and 5xx, three times, waiting longer each time) and
counted as a refusal where it does not. Answers go to a JSON Lines file by the hash of their request, so a killed run
goes on and the same run costs nothing twice. The key is read from the environment when needed and written nowhere.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from troth.errors import UserError
from troth.perturb.engine import Failed, Request

RETRIES = 3
PAUSE = 0.5  # seconds before the first retry, doubled each time
LONGEST = 30.0  # a server may ask for more patience; up to this much is given
MOST = 1_000_000  # bytes of an answer

PROMPT = (
    "You rewrite messages that a user sends to an assistant. Say the same in other words: other sentence structure and "
    "other vocabulary, the same meaning, the same requests, answers and negations, nothing added, nothing left out. "
    "Copy these strings into your message exactly, letter by letter: {keep}. "
    "Answer with the rewritten message alone, without quotation marks or comment."
)


class Endpoint:
    """One endpoint and model; `rewrite` asks for several paraphrases at once."""

    varies = True

    def __init__(
        self,
        *,
        url: str,
        model: str,
        key_variable: str,
        temperature: float,
        timeout: float,
        parallel: int,
        cache: str | None,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UserError(f"'{url}' is no web address", hint="such as http://localhost:8000/v1")
        self.url = url.rstrip("/") + "/chat/completions"
        self.model, self.key_variable = model, key_variable
        self.temperature, self.timeout, self.parallel = temperature, timeout, parallel
        self.answers = _Answers(cache)
        self._reached = False
        self._opener = urllib.request.build_opener(_NoRedirect)

    def rewrite(self, requests: Sequence[Request]) -> list[str | Failed]:
        with ThreadPoolExecutor(min(self.parallel, max(1, len(requests)))) as pool:
            return list(pool.map(self._one, requests))

    def _one(self, request: Request) -> str | Failed:
        body = self._body(request)
        key = hashlib.sha256(f"{self.url}\n".encode() + body).hexdigest()
        known = self.answers.get(key)
        if known is not None:
            return known
        answer = self._asked(body)
        if isinstance(answer, str):
            self.answers.add(key, answer)
        return answer

    def _body(self, request: Request) -> bytes:
        keep = list(dict.fromkeys(request.text[part.start : part.end] for part in request.kept))
        listed = ", ".join(json.dumps(text, ensure_ascii=False) for text in keep) or "(none)"
        messages = [
            {"role": "system", "content": PROMPT.format(keep=listed)},
            {"role": "user", "content": request.text},
        ]
        seed = request.seed % 2**31  # what servers take for an integer
        asked = {"model": self.model, "messages": messages, "temperature": self.temperature, "seed": seed}
        return json.dumps(asked, ensure_ascii=False, sort_keys=True).encode()

    def _asked(self, body: bytes) -> str | Failed:
        failed = Failed("engine: no answer")
        for attempt in range(RETRIES + 1):
            try:
                return _content(self._posted(body))
            except urllib.error.HTTPError as error:
                with error:
                    wait = error.headers.get("Retry-After", "")
                if error.code in (401, 403, 404):
                    hint = f"is the key in {self.key_variable} right, and the model's name?"
                    raise UserError(f"{self.url} answers {error.code}", hint=hint) from error
                failed = Failed(f"engine: status {error.code}")
                if error.code != 429 and error.code < 500:
                    return failed
            except TimeoutError:
                return Failed("engine: timeout")
            except (OSError, http.client.HTTPException) as error:
                if isinstance(getattr(error, "reason", None), TimeoutError):
                    return Failed("engine: timeout")
                failed, wait = Failed("engine: no connection"), ""
                if attempt == RETRIES and not self._reached:  # not once: better said now than after a thousand turns
                    raise UserError(f"no connection to {self.url}", hint="is it running there?") from error
            if attempt < RETRIES:
                time.sleep(min(float(wait), LONGEST) if wait.isdecimal() else PAUSE * 2**attempt)
        return failed

    def _posted(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        if secret := os.environ.get(self.key_variable):
            headers["Authorization"] = f"Bearer {secret}"
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 (the scheme was checked)
        with self._opener.open(request, timeout=self.timeout) as answer:
            data: bytes = answer.read(MOST)
            self._reached = True
            return data


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Elsewhere the key has no business."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _content(data: bytes) -> str | Failed:
    try:
        text = json.loads(data)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return Failed("engine: malformed answer")
    if not isinstance(text, str) or not text.strip():
        return Failed("engine: malformed answer")
    text = " ".join(text.split())
    quoted = len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”"))
    return text[1:-1] if quoted and text.count('"') in (0, 2) else text


class _Answers:
    """Answers by request. Lines are appended whole; one torn by a kill is passed over."""

    def __init__(self, path: str | None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._known: dict[str, str] = {}
        if path is None or not Path(path).exists():
            return
        try:
            lines = Path(path).read_bytes().splitlines()
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", file=path) from error
        for line in lines:
            try:
                entry = json.loads(line)
                self._known[str(entry["key"])] = str(entry["text"])
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, key: str) -> str | None:
        return self._known.get(key)

    def add(self, key: str, text: str) -> None:
        line = json.dumps({"key": key, "text": text}, ensure_ascii=False).encode()
        with self._lock:
            self._known[key] = text
            if self._path is None:
                return
            try:
                with open(self._path, "ab") as file:  # a line break first: the line before may be torn
                    file.write(b"\n" + line if file.tell() else line)
            except OSError as error:
                raise UserError(f"cannot be written: {error.strerror}", file=self._path) from error
