"""From a request to its answer: key, limits, decoding, scoring, and the status for whatever goes wrong.

Each limit has an answer of its own: 413 for a body that is too long, 429 while too many requests wait, 503 before the
models are loaded, 504 for a request whose time is up. What is wrong with a request is one line under `detail`, with
status 422.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from fastapi import HTTPException, Request, Response
from starlette.requests import ClientDisconnect

from troth.core.decode import DECODING_ERRORS, TOO_DEEP
from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.readers.decode import has_duplicate_key
from troth.serve.batching import MicroBatcher
from troth.serve.observed import LEFT
from troth.serve.process import Scorers
from troth.serve.settings import ServeSettings
from troth.serve.tasks import LANES, Lane, ServedTask
from troth.serve.watch import LOG, Figures

T = TypeVar("T")
JSON = "application/json"
LOADING = "the models are being loaded; try again"
SOON = {"Retry-After": "1"}
Work = Callable[[Request, float], Awaitable[Response]]  # the second: when the request's time is up
Handler = Callable[[Request], Awaitable[Response]]


@contextmanager
def refuse_misfits() -> Iterator[None]:
    """Turns what is wrong with a request into an HTTPException with status 422."""
    try:
        yield
    except DECODING_ERRORS as error:
        raise HTTPException(422, str(UserError(f"the request does not fit: {error}"))) from error
    except UserError as error:
        raise HTTPException(422, str(error)) from error


def decode_request(data: bytes | msgspec.Raw, kind: type[T]) -> T:
    """A request of this type, in which no object has a key twice."""
    if has_duplicate_key(bytes(data), msgspec.json.decode(data)):
        raise UserError("the request does not fit: an object has a key twice")
    return msgspec.json.decode(data, type=kind)


class Desk:
    """What all endpoints share: settings, figures, and the queue of each lane."""

    def __init__(self, settings: ServeSettings, figures: Figures, scorers: Scorers | None) -> None:
        """`scorers`: the processes that score; None: threads of this process, which nothing can end."""
        self.settings, self.figures, self.scorers = settings, figures, scorers
        figures.ready.set_function(lambda: float(self.is_ready()))
        self.batchers: Mapping[Lane, MicroBatcher] = {
            lane: MicroBatcher(settings.batch, observe=figures.batches.observe) for lane in LANES
        }

    def is_ready(self) -> bool:
        """Whether every question can be answered now."""
        return self.scorers is None or all(process.is_ready() for process in self.scorers.lanes.values())

    def serve(self, task: ServedTask) -> ServedTask:
        """The task, scored by the process of its lane where there is one."""
        return task if self.scorers is None else self.scorers.serve(task, self.batchers[task.lane].is_awaited)

    async def score(self, task: ServedTask, data: bytes | msgspec.Raw, deadline: float) -> Any:
        """The answer to one question. What is wrong with it is an HTTPException."""
        with refuse_misfits():
            item = task.prepare(decode_request(data, task.request))
        return await self.score_item(task, item, deadline)

    async def score_item(self, task: ServedTask, item: Any, deadline: float) -> Any:
        """The answer to one question that was decoded before."""
        if self.scorers is not None and not self.scorers.lanes[task.lane].was_ready:
            raise HTTPException(503, LOADING, SOON)
        try:
            async with asyncio.timeout(deadline - time.monotonic()) as limit:
                answer = await self.batchers[task.lane].answer(task.score, item, deadline)
        except TimeoutError as error:
            if not limit.expired():  # a model's own
                raise
            raise self.out_of_time() from error
        except UserError as error:
            raise HTTPException(task.fault, str(error)) from error
        except RecursionError as error:
            raise HTTPException(422, f"the request is {TOO_DEEP}") from error
        if hasattr(answer, "faithful"):
            verdict = {True: "faithful", False: "unfaithful", None: "none"}[answer.faithful]
            self.figures.verdicts.labels(task.path, verdict).inc()
        return answer

    def out_of_time(self) -> HTTPException:
        return HTTPException(504, f"no answer within {self.settings.timeout:g} seconds")

    def endpoint(self, path: str, work: Work) -> Handler:
        """A handler of requests that does the work within all limits."""

        async def answer(request: Request) -> Response:
            check_key(request, self.settings.key)
            self.check_room()
            try:
                with self.figures.accepted():
                    return await work(request, time.monotonic() + self.settings.timeout)
            except HTTPException:
                raise
            except ClientDisconnect:  # nobody reads it; the log has a line for the request, and no error of ours
                return Response(status_code=LEFT)
            except Exception as error:
                raise internal_error(path, request) from error

        return answer

    def check_room(self, number: int = 1) -> None:
        """Refuses what would be more requests at a time than allowed."""
        if self.figures.at_work + number > self.settings.concurrency:
            raise HTTPException(429, "too many requests at a time; try again", SOON)

    async def read(self, request: Request, deadline: float) -> bytes:
        """The body of a request, if it comes in time."""
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                body = await read_body(request, self.settings.body)
        except TimeoutError as error:
            raise self.out_of_time() from error
        request.state.bytes = len(body)
        request.state.text = body.decode("utf-8", "replace") if self.settings.log_text else None
        return body


def answer_task(desk: Desk, task: ServedTask) -> Handler:
    """The endpoint of one question."""

    async def work(request: Request, deadline: float) -> Response:
        body = await desk.read(request, deadline)
        answer = await unless_left(request, desk.score(task, body, deadline))
        return Response(encode_json(answer), media_type=JSON)

    return desk.endpoint(task.path, work)


async def unless_left(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, or ClientDisconnect as soon as the client has left. The body must have been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_departure(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _departure(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def read_body(request: Request, most: int) -> bytes:
    """The body, which is refused as soon as it is known to be too long."""
    refusal = HTTPException(413, f"the request is longer than {most} bytes")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise refusal
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise refusal
    return bytes(data)


def check_key(request: Request, key: str | None) -> None:
    """Refuses a request without the key. The time that it takes says nothing about the key."""
    scheme, _, sent = request.headers.get("authorization", "").encode("latin-1").partition(b" ")
    if key is not None and not (scheme.lower() == b"bearer" and hmac.compare_digest(sent.strip(), key.encode())):
        raise HTTPException(401, "the key is missing or wrong", {"WWW-Authenticate": "Bearer"})


def internal_error(path: str, request: Request) -> HTTPException:
    """Logs the current error without its text, which may hold what was asked; the answer to the client."""
    LOG.exception("internal error", extra={"fields": {"path": path, "id": request.state.id}})
    return HTTPException(500, "internal error; the log has the place")
