"""Asking a server by HTTP, with the standard library alone.

A request that fails is tried again where that may help (429, 5xx and no connection: three times, waiting longer each
time). The key is read from the environment when needed, sent nowhere but to the address that was named, and written
nowhere.
"""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from troth.core.errors import UserError

RETRIES = 3
PAUSE = 0.5  # seconds before the first retry, doubled each time
LONGEST = 30.0  # a server may ask for more patience; up to this much is given
MOST = 64_000_000  # bytes of an answer


class Refused(Exception):  # noqa: N818
    """The server answers, and says no."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status {status}")
        self.status, self.said = status, said


class Silent(Exception):  # noqa: N818
    """No answer: "timeout" or "no connection"."""


class Client:
    """One server, by its base address, such as http://localhost:8000/v1."""

    def __init__(self, url: str, *, key_variable: str, timeout: float) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UserError(f"'{url}' is no web address", hint="such as http://localhost:8000/v1")
        self.url, self.key_variable, self.timeout = url.rstrip("/"), key_variable, timeout
        self.reached = False
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, path: str, body: bytes, *, most: int = MOST) -> bytes:
        """The answer to a body of JSON, or Refused, or Silent; a key that is not taken is the user's to mend."""
        failed: Exception = Silent("no connection")
        for attempt in range(RETRIES + 1):
            try:
                return self._posted(path, body, most)
            except urllib.error.HTTPError as error:
                with error:
                    wait, said = error.headers.get("Retry-After", ""), _said(error)
                if error.code in (401, 403):
                    hint = f"is the key in {self.key_variable} right, and the model's name?"
                    raise UserError(f"{self.url}{path} answers {error.code}", hint=hint) from error
                failed = Refused(error.code, said)
                if error.code != 429 and error.code < 500:
                    break
            except TimeoutError:
                raise Silent("timeout") from None
            except (OSError, http.client.HTTPException) as error:
                if isinstance(getattr(error, "reason", None), TimeoutError):
                    raise Silent("timeout") from error
                failed, wait = Silent("no connection"), ""
                if attempt == RETRIES and not self.reached:  # not once: better said now than after a thousand questions
                    raise UserError(f"no connection to {self.url}{path}", hint="is it running there?") from error
            if attempt < RETRIES:
                time.sleep(min(float(wait), LONGEST) if wait.isdecimal() else PAUSE * 2**attempt)
        raise failed

    def _posted(self, path: str, body: bytes, most: int) -> bytes:
        headers = {"Content-Type": "application/json"}
        if secret := os.environ.get(self.key_variable, "").strip():
            if not (secret.isascii() and secret.isprintable()):
                raise UserError(f"the key in {self.key_variable} has characters that no key has")
            headers["Authorization"] = f"Bearer {secret}"
        request = urllib.request.Request(self.url + path, body, headers)  # noqa: S310 (the scheme was checked)
        with self._opener.open(request, timeout=self.timeout) as answer:
            data: bytes = answer.read(most + 1)
            self.reached = True
            if len(data) > most:
                raise UserError(f"{self.url}{path} answers with more than {most} bytes")
            if answer.length:  # the connection was closed before the end
                raise http.client.IncompleteRead(data, answer.length)
            return data


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Elsewhere the key has no business."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _said(error: urllib.error.HTTPError) -> str:
    """The beginning of what the server says of a refusal."""
    try:
        return error.read(2000).decode(errors="replace").strip()[:300]
    except (OSError, http.client.HTTPException):
        return ""
