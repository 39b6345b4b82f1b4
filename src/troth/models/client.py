"""HTTP client for model servers: one pool of open connections per server, one retry policy, one parser of answers.

Every request has a deadline for the whole answer and a limit to its size. Status 429, 5xx and lost connections are
retried with growing pauses. The API key is read from the environment for each request, sent only to the configured
address (redirects are not followed) and never written: an answer that repeats the key, or a part of it, is not used and
not shown (`troth.models.keys`). Answers are not decompressed, so that a few kilobytes cannot become gigabytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from troth.core.errors import UserError
from troth.models.keys import decode_answer, repeats_key

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

CHAT = "/chat/completions"
RETRIES = 3
PAUSE = 0.5  # seconds before the first retry, doubled each time
LONGEST_PAUSE = 30.0  # seconds; limits what a server may ask for by Retry-After
MAX_BYTES = 64_000_000  # of an answer
EXCERPT = 300  # characters of a refusal that are shown
WITHHELD = "its answer repeats the key and is not shown"


class ServerError(Exception):
    """The server gave no usable answer; the message is the reason in a few words."""

    def __init__(self, reason: str, *, temporary: bool = False, pause: float | None = None) -> None:
        super().__init__(reason)
        self.temporary = temporary  # whether the same request may succeed later
        self.pause = pause  # seconds that the server asks to wait


class RefusedError(ServerError):
    """The server answered with an error status."""

    def __init__(self, status: int, text: str, *, pause: float | None = None) -> None:
        super().__init__(f"status {status}", temporary=status == 429 or status >= 500, pause=pause)
        self.status, self.text = status, text


class NoResponseError(ServerError):
    """The server did not answer: "timeout" or "no connection"."""


class MalformedAnswerError(ServerError):
    """The answer does not have the expected form."""


class Completion(NamedTuple):
    """First choice of a completion and the token counts; empty where the server sent none."""

    choice: dict[str, Any]
    usage: dict[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        return _as_dict(self.choice.get("message"))

    @property
    def text(self) -> str | None:
        """Generated text; None for an answer without text, such as a tool call."""
        text = self.message.get("content") if "message" in self.choice else self.choice.get("text")
        return text if isinstance(text, str) else None


class Client:
    """One server, by its base address, such as http://localhost:8000/v1.

    `timeout` is the number of seconds for a whole answer. Errors of the types in `retry_on` are retried in addition to
    temporary ones.
    """

    def __init__(
        self,
        url: str,
        *,
        key_variable: str,
        timeout: float,
        retries: int = RETRIES,
        retry_on: tuple[type[ServerError], ...] = (),
    ) -> None:
        import httpx

        try:
            is_valid = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
        except httpx.InvalidURL:
            is_valid = False
        if not is_valid:
            raise UserError(f"'{url}' is not a web address", hint="such as http://localhost:8000/v1")
        self.url, self.key_variable, self.timeout = url.rstrip("/"), key_variable, timeout
        self.retries, self.retry_on = retries, retry_on
        self.reached = False  # whether the server has ever answered
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def post(
        self,
        path: str,
        body: bytes,
        *,
        parse: Callable[[bytes], T],
        before: Callable[[], None] = lambda: None,
        max_bytes: int = MAX_BYTES,
    ) -> T:
        """Sends JSON and returns the parsed answer; `parse` may raise MalformedAnswerError.

        `before` is called before each request, also before one that is repeated; what it raises is not retried.
        Raises ServerError after the last retry, or UserError if retrying cannot help.
        """

        def attempt() -> T:
            before()
            return parse(self._post(path, body, max_bytes))

        try:
            return retry(attempt, self.retries, self.retry_on)
        except NoResponseError as error:
            if self.reached or str(error) == "timeout":
                raise
            # Reported now rather than after a thousand requests.
            raise UserError(f"no connection to {self.url}{path}", hint="is the server running?") from error

    def chat(self, body: bytes, *, parse: Callable[[bytes], T], **options: Any) -> T:
        """As `post` to the path of chat completions; a server without it, or without the model, is a UserError."""
        try:
            return self.post(CHAT, body, parse=parse, **options)
        except RefusedError as error:
            if error.status != 404:
                raise
            raise user_error(error, self.url + CHAT) from error

    def _post(self, path: str, body: bytes, max_bytes: int) -> bytes:
        """Sends one request; returns the body of a successful answer."""
        import httpx

        try:
            response, data = run_in_background(self._send(path, body, max_bytes))
        except (TimeoutError, httpx.TimeoutException):
            raise NoResponseError("timeout") from None
        except httpx.HTTPError as error:
            raise NoResponseError("no connection", temporary=True) from error
        status, key = response.status_code, self._key
        if status in (401, 403):
            hint = f"check the key in {self.key_variable} and the name of the model"
            raise UserError(f"{self.url}{path} answers {status}", hint=hint)
        if status >= 300:
            text = decode_answer(data).strip()
            shown = WITHHELD if key and (key in text or repeats_key(text, key)) else text[:EXCERPT]
            raise RefusedError(status, shown, pause=_parse_pause(response.headers.get("Retry-After", "")))
        if key and repeats_key(decode_answer(data), key):
            raise UserError(f"{self.url}{path}: {WITHHELD}", hint="is this the server that the key belongs to?")
        return data

    async def _send(self, path: str, body: bytes, max_bytes: int) -> tuple[httpx.Response, bytes]:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key := self._key:
            if not (key.isascii() and key.isprintable()):
                raise UserError(f"the key in {self.key_variable} has characters that are not allowed in a key")
            headers["Authorization"] = f"Bearer {key}"
        data = bytearray()
        http = self._connected()
        async with (
            asyncio.timeout(self.timeout),
            http.stream("POST", self.url + path, content=body, headers=headers) as response,
        ):
            is_error = response.status_code >= 300
            async for chunk in response.aiter_raw():
                data += chunk
                if is_error and len(data) > 4 * EXCERPT:
                    break
                if len(data) > max_bytes:
                    raise UserError(f"{self.url}{path} answers with more than {max_bytes} bytes")
        http.cookies.clear()  # an answer must not depend on earlier requests
        self.reached = True
        return response, bytes(data)

    def _connected(self) -> httpx.AsyncClient:
        """The open connections; a forked process opens its own. Called in the background loop."""
        import httpx

        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            limits = httpx.Limits(max_connections=None)  # callers limit how many requests run at once
            self._http, self._loop = httpx.AsyncClient(timeout=None, limits=limits), loop  # noqa: S113 (see _send)
            weakref.finalize(self, _close, self._http, loop)
        return self._http

    @property
    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()


def run_in_background(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in the background loop: a deadline for the whole answer needs a task to cancel."""
    future = asyncio.run_coroutine_threadsafe(work, _background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def retry(attempt: Callable[[], T], retries: int, retry_on: tuple[type[ServerError], ...] = ()) -> T:
    """Calls `attempt` until it succeeds, up to `retries` times more after temporary errors and those of `retry_on`."""
    for number in range(retries):
        try:
            return attempt()
        except ServerError as error:
            if not (error.temporary or isinstance(error, retry_on)):
                raise
            time.sleep(PAUSE * 2**number if error.pause is None else error.pause)
    return attempt()


def parse_completion(data: bytes) -> Completion:
    """First choice and usage of a completion; raises MalformedAnswerError if it is not JSON."""
    try:
        answer = _as_dict(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError("invalid JSON") from error
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return Completion(_as_dict(first), _as_dict(answer.get("usage")))


def user_error(error: ServerError, name: str) -> UserError:
    """What happened and what to do next, for a request that ends the command."""
    if isinstance(error, RefusedError):
        hint = "check the address and the name of the model"
        if error.status == 429:
            hint = "rate limit reached; answers so far are kept: wait, then run the same command again"
        elif error.status >= 500:
            hint = "answers so far are kept: run the same command again when the server has recovered"
        return UserError(f"{name} answers {error.status}: {error.text or 'no message'}", hint=hint)
    if isinstance(error, NoResponseError):
        longer = " with a longer timeout" if str(error) == "timeout" else ""
        return UserError(f"{name} does not answer: {error}", hint=f"answers so far are kept; try again{longer}")
    return UserError(f"{name} returned invalid JSON, or JSON that is nested too deeply")


def parse_address(name: str, key_variable: str) -> tuple[str, str]:
    """Splits `http://HOST:PORT/v1#MODEL` into address and model; an address that contains a key is refused."""
    url, _, model = name.partition("#")
    if "@" in url or "?" in url:
        raise UserError("a key in a server's address would end up in results", hint=f"put it into {key_variable}")
    return url, model


def _parse_pause(text: str) -> float | None:
    return min(float(text), LONGEST_PAUSE) if text.isdecimal() else None


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_LOOPS: list[asyncio.AbstractEventLoop] = []  # the loop of this process, once it is started
_STARTING = threading.Lock()


def _background_loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        if not _LOOPS:
            _LOOPS.append(asyncio.new_event_loop())
            threading.Thread(target=_LOOPS[0].run_forever, name="troth-http", daemon=True).start()
        return _LOOPS[0]


def _close(http: httpx.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
    if loop in _LOOPS and loop.is_running():
        asyncio.run_coroutine_threadsafe(http.aclose(), loop)


def _after_fork() -> None:
    """Threads are not forked: the child starts a loop of its own."""
    global _STARTING  # noqa: PLW0603
    _STARTING = threading.Lock()
    _LOOPS.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
