"""Asks a server by HTTP, with a deadline for the whole answer and a limit to its size.

A request that fails is tried again where that may help (429, 5xx and no connection: three times, waiting longer each
time). The key is read from the environment when it is needed, sent only to the address that was named (redirects are
not followed), and never written: an answer that repeats it is not shown. Answers are taken as they come, without
decompression: a few kilobytes cannot become gigabytes.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import cached_property
from typing import TYPE_CHECKING

from troth.core.errors import UserError

if TYPE_CHECKING:
    import ssl

    import httpx

RETRIES = 3
PAUSE = 0.5  # seconds before the first retry, doubled each time
LONGEST = 30.0  # seconds that are waited at most where a server asks for more patience
MOST = 64_000_000  # bytes of an answer
SHOWN = 300  # characters of a refusal
TELLING = 8  # characters of a key that give it away; a refusal that has the first so many of them is not shown
LEAST_KEY = 16  # characters: a shorter key may well stand in a text by chance
WITHHELD = "its answer repeats the key and is not shown"


class Refused(Exception):  # noqa: N818
    """The server answers with an error."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status {status}")
        self.status, self.said = status, said


class Silent(Exception):  # noqa: N818
    """No answer: "timeout" or "no connection"."""


class Client:
    """One server, by its base address, such as http://localhost:8000/v1; `timeout` is for the whole of an answer."""

    def __init__(self, url: str, *, key_variable: str, timeout: float) -> None:
        import httpx

        try:
            valid = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
        except httpx.InvalidURL:
            valid = False
        if not valid:
            raise UserError(f"'{url}' is not a web address", hint="such as http://localhost:8000/v1")
        self.url, self.key_variable, self.timeout = url.rstrip("/"), key_variable, timeout
        self.reached = False

    def post(self, path: str, body: bytes, *, most: int = MOST) -> bytes:
        """The answer to a body of JSON; raises Refused or Silent, or UserError where the user can mend it.

        To be called from a thread that runs no event loop.
        """
        import httpx

        failed: Exception = Silent("no connection")
        for attempt in range(RETRIES + 1):
            wait = ""
            try:
                answer, data = asyncio.run(self._posted(path, body, most))
                status, wait = answer.status_code, answer.headers.get("Retry-After", "")
                if status < 300:
                    if len(self._key) >= LEAST_KEY and self._key.encode() in data:
                        hint = "is this the server that the key is for?"
                        raise UserError(f"{self.url}{path}: {WITHHELD}", hint=hint)
                    return data
                if status in (401, 403):
                    hint = f"is the key in {self.key_variable} right, and the model's name?"
                    raise UserError(f"{self.url}{path} answers {status}", hint=hint)
                failed = Refused(status, self._shown(data))
                if status != 429 and status < 500:
                    break
            except (TimeoutError, httpx.TimeoutException):
                raise Silent("timeout") from None
            except httpx.HTTPError as error:
                failed = Silent("no connection")
                if attempt == RETRIES and not self.reached:  # better now than after a thousand questions
                    raise UserError(f"no connection to {self.url}{path}", hint="is it running there?") from error
            if attempt < RETRIES:
                time.sleep(min(float(wait), LONGEST) if wait.isdecimal() else PAUSE * 2**attempt)
        raise failed

    async def _posted(self, path: str, body: bytes, most: int) -> tuple[httpx.Response, bytes]:
        """One attempt. A deadline for everything (connection, headers, content) needs a task that can be cancelled."""
        import httpx

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if secret := self._key:
            if not (secret.isascii() and secret.isprintable()):
                raise UserError(f"the key in {self.key_variable} has characters that no key has")
            headers["Authorization"] = f"Bearer {secret}"
        data = bytearray()
        async with (
            asyncio.timeout(self.timeout),
            httpx.AsyncClient(timeout=None, verify=self._certificates) as client,  # noqa: S113 (the line above)
            client.stream("POST", self.url + path, content=body, headers=headers) as answer,
        ):
            refused = answer.status_code >= 300
            async for chunk in answer.aiter_raw():
                data += chunk
                if refused and len(data) > 4 * SHOWN:  # enough to show
                    break
                if len(data) > most:
                    raise UserError(f"{self.url}{path} answers with more than {most} bytes")
        self.reached = True
        return answer, bytes(data)

    @property
    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def _shown(self, data: bytes) -> str:
        """The beginning of what a server says to a refusal."""
        text = data.decode(errors="replace").strip()
        return WITHHELD if self._key and self._key[:TELLING] in text else text[:SHOWN]

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """Read once: it takes longer than many an answer."""
        import httpx

        return httpx.create_ssl_context()
