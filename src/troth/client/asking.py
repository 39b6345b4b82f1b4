"""Clients of the service, blocking and asynchronous. A deadline holds for a whole question, retries included.

A service that is busy or loading (429, 502, 503) or cannot be reached is asked again, after the pause that it names.
Other refusals are errors at once: the same request would be refused again, or take as long again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import httpx
import msgspec

from troth.client.answers import BatchedAnswer, SentenceAnswer, ServiceAnswer, ServiceError
from troth.text.courtesies import NO_CLAIM, claims_nothing
from troth.text.sentences import SentenceBuffer

T = TypeVar("T")
URL = "http://127.0.0.1:8017"
TIMEOUT = 35.0  # seconds; a little longer than the service takes by default
RETRIES = 3
PAUSE = 0.2  # seconds before the first retry, doubled each time
AGAIN = frozenset((429, 502, 503))
UNASKED = ServiceAnswer(reason=NO_CLAIM)


class _Batch(msgspec.Struct, frozen=True):
    answers: tuple[BatchedAnswer, ...]


class _Attempts:
    """The attempts at one question: how long each may take, and how long to wait before the next."""

    def __init__(self, timeout: float, retries: int) -> None:
        self.end, self.left, self._pause, self._timeout = time.monotonic() + timeout, retries, PAUSE, timeout

    def seconds(self) -> float:
        """What is left of the time; an error where nothing is."""
        if (seconds := self.end - time.monotonic()) <= 0:
            raise self.out_of_time()
        return seconds

    def out_of_time(self) -> ServiceError:
        return ServiceError(f"no answer within {self._timeout:g} seconds")

    def pause_after(self, error: ServiceError, response: httpx.Response | None) -> float:
        """Seconds until the next attempt; the error itself where there is none."""
        if self.left <= 0 or (error.status is not None and error.status not in AGAIN):
            raise error
        asked = "" if response is None else response.headers.get("Retry-After", "")
        pause = float(asked) if asked.isdecimal() else self._pause
        if pause >= self.end - time.monotonic():
            raise error
        self.left, self._pause = self.left - 1, 2 * self._pause
        return pause


class _Outcome(NamedTuple):
    data: bytes
    error: ServiceError | None
    response: httpx.Response | None


def _read(response: httpx.Response, content: bytes) -> _Outcome:
    if response.status_code == 200:
        return _Outcome(content, None, response)
    try:
        detail = msgspec.json.decode(content, type=dict[str, Any])["detail"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        detail = "no reason is given"
    return _Outcome(b"", ServiceError(str(detail), response.status_code), response)


def _unreachable(error: httpx.HTTPError) -> _Outcome:
    return _Outcome(b"", ServiceError(f"the service cannot be reached: {type(error).__name__}"), None)


def _decode(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceError(f"the answer does not fit: {error}") from error


def _encode(request: Any) -> bytes:
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError as error:
        raise ServiceError("the request cannot be sent: a text has half of a surrogate pair") from error


def _ground(document: str, response: str, history: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(history, str):
        raise TypeError("history is a list of texts, not a text")
    return {"document": document, "response": response, "history": list(history), **options}


def _batch(items: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    return {"items": [{"question": question, "request": request} for question, request in items]}


def _headers(key: str | None) -> dict[bytes, bytes]:
    headers = {b"Content-Type": b"application/json"}
    try:
        return headers if key is None else headers | {b"Authorization": f"Bearer {key}".encode()}
    except UnicodeEncodeError as error:
        raise ServiceError("the key cannot be sent: it has half of a surrogate pair") from error


class TrothClient:
    """Asks the service and waits for the answer. Threads may share one client."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.timeout, self.retries = timeout, retries
        self._http = httpx.Client(base_url=url, headers=_headers(key), transport=transport)

    def ground(self, document: str, response: str, history: Sequence[str] = (), **options: Any) -> ServiceAnswer:
        """Is the response faithful to its document? Options: `words`, `signatures`."""
        return _decode(self._post("/ground", _ground(document, response, history, options)), ServiceAnswer)

    def agent(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> ServiceAnswer:
        """Does the conversation rest on its tool results? Options: `tools`, `expected`, `metrics`, …"""
        return _decode(self._post("/agent", {"messages": list(messages), **options}), ServiceAnswer)

    def ask(self, question: str, **request: Any) -> dict[str, Any]:
        """The answer to any question of the service, such as `dst`, as it comes."""
        return _decode(self._post(f"/{question}", request), dict[str, Any])

    def batch(self, items: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[BatchedAnswer, ...]:
        """The answers to many questions: pairs of a question and its request."""
        return _decode(self._post("/batch", _batch(items)), _Batch).answers

    def sentences(self, document: str, pieces: Iterable[str], **options: Any) -> Iterator[SentenceAnswer]:
        """Judges a response that is still being written, each sentence as soon as it is complete.

        Questions and courtesies claim nothing, and are not asked about.
        """

        def judge(start: int, sentence: str) -> SentenceAnswer:
            answer = UNASKED if claims_nothing(sentence) else self.ground(document, sentence, **options)
            return SentenceAnswer(start, sentence, answer)

        buffer = SentenceBuffer()
        for piece in pieces:
            yield from (judge(*found) for found in buffer.add(piece))
        yield from (judge(*found) for found in buffer.add("", last=True))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, path: str, request: Any) -> bytes:
        body, attempts = _encode(request), _Attempts(self.timeout, self.retries)
        while True:
            try:
                with self._http.stream("POST", path, content=body, timeout=attempts.seconds()) as response:
                    content = b""
                    for chunk in response.iter_bytes():  # httpx's limit is for each read, and starts anew
                        content += chunk
                        attempts.seconds()
                outcome = _read(response, content)
            except httpx.TimeoutException:
                raise attempts.out_of_time() from None
            except httpx.HTTPError as error:
                outcome = _unreachable(error)
            if outcome.error is None:
                return outcome.data
            time.sleep(attempts.pause_after(outcome.error, outcome.response))


class AsyncTrothClient:
    """The same for asyncio."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.timeout, self.retries = timeout, retries
        self._http = httpx.AsyncClient(base_url=url, headers=_headers(key), transport=transport)

    async def ground(self, document: str, response: str, history: Sequence[str] = (), **options: Any) -> ServiceAnswer:
        """Is the response faithful to its document? Options: `words`, `signatures`."""
        return _decode(await self._post("/ground", _ground(document, response, history, options)), ServiceAnswer)

    async def agent(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> ServiceAnswer:
        """Does the conversation rest on its tool results? Options: `tools`, `expected`, `metrics`, …"""
        return _decode(await self._post("/agent", {"messages": list(messages), **options}), ServiceAnswer)

    async def ask(self, question: str, **request: Any) -> dict[str, Any]:
        """The answer to any question of the service, such as `dst`, as it comes."""
        return _decode(await self._post(f"/{question}", request), dict[str, Any])

    async def batch(self, items: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[BatchedAnswer, ...]:
        """The answers to many questions: pairs of a question and its request."""
        return _decode(await self._post("/batch", _batch(items)), _Batch).answers

    async def sentences(
        self, document: str, pieces: AsyncIterable[str], **options: Any
    ) -> AsyncIterator[SentenceAnswer]:
        """Judges a response that is still being written, each sentence as soon as it is complete.

        Questions and courtesies claim nothing, and are not asked about.
        """

        async def judge(start: int, sentence: str) -> SentenceAnswer:
            answer = UNASKED if claims_nothing(sentence) else await self.ground(document, sentence, **options)
            return SentenceAnswer(start, sentence, answer)

        buffer = SentenceBuffer()
        async for piece in pieces:
            for start, sentence in buffer.add(piece):
                yield await judge(start, sentence)
        for start, sentence in buffer.add("", last=True):
            yield await judge(start, sentence)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _post(self, path: str, request: Any) -> bytes:
        body, attempts = _encode(request), _Attempts(self.timeout, self.retries)
        while True:
            try:
                async with asyncio.timeout(attempts.seconds()):
                    response = await self._http.post(path, content=body, timeout=None)
                outcome = _read(response, response.content)
            except TimeoutError:
                raise attempts.out_of_time() from None
            except httpx.HTTPError as error:
                outcome = _unreachable(error)
            if outcome.error is None:
                return outcome.data
            await asyncio.sleep(attempts.pause_after(outcome.error, outcome.response))
