"""The application: routes, limits, keys, health, figures and the page, around the tasks.

Each limit has an answer of its own: 413 for a body that is too long, 429 while too many requests wait, 504 for a
request whose time is up. What is wrong with a request is one line under `detail`, with status 422.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import msgspec
from fastapi import FastAPI, HTTPException, Request, Response
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect

from troth.core.decode import DECODING_ERRORS, TOO_DEEP
from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.core.names import parse_names
from troth.core.version import __version__
from troth.readers.decode import has_duplicate_key
from troth.serve.batching import MicroBatcher
from troth.serve.observed import LEFT, Observed
from troth.serve.openapi import describe_api, operation
from troth.serve.origin import OriginCheck
from troth.serve.process import ScoringProcess
from troth.serve.settings import ServeSettings
from troth.serve.tasks import ServedTask, tasks
from troth.serve.watch import LOG, Figures

JSON = "application/json"
PAGE = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}

Handler = Callable[[Request], Awaitable[Response]]


def service(settings: ServeSettings | None = None, process: ScoringProcess | None = None) -> FastAPI:
    """The service as an ASGI application. `process` scores; None: a thread of this process, which nothing can end."""
    own = settings or ServeSettings()
    figures = Figures()
    batcher = MicroBatcher(own.batch, observe=figures.batches.observe)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await batcher.close()

    app = FastAPI(
        title="troth", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Tells whether responses, states and calls of a dialogue system can be trusted.",
    )  # fmt: skip
    served = tasks(own)  # what is wrong with the settings is an error now
    if process is not None:
        served = [process.serve(task, batcher.is_awaited) for task in served]
    for task in served:
        app.add_api_route(
            task.path, _endpoint(task, own, batcher, figures), methods=["POST"], summary=task.about,
            response_class=Response, **operation(task),
        )  # fmt: skip
    _add_pages(app, own, figures)
    origins = parse_names(own.origins)
    if origins:
        app.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=["POST"], allow_headers=["*"])
    app.add_middleware(OriginCheck, hosts=parse_names(own.hosts), origins=origins)
    app.add_middleware(Observed, figures=figures)
    app.openapi = lambda: describe_api(app, served, key=own.key is not None)  # type: ignore[method-assign]
    return app


def _endpoint(task: ServedTask, settings: ServeSettings, batcher: MicroBatcher, figures: Figures) -> Handler:
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(task.request)

    async def scored(request: Request) -> Any:
        body = await _body(request, settings.body)
        request.state.bytes = len(body)
        request.state.text = body.decode("utf-8", "replace") if settings.log_text else None
        try:
            if has_duplicate_key(body, msgspec.json.decode(body)):
                raise UserError("the request does not fit: an object has a key twice")
            item = task.prepare(decoder.decode(body))
        except DECODING_ERRORS as error:
            raise HTTPException(422, str(UserError(f"the request does not fit: {error}"))) from error
        except UserError as error:
            raise HTTPException(422, str(error)) from error
        try:
            return await batcher.answer(task.score, item)
        except UserError as error:
            raise HTTPException(task.fault, str(error)) from error
        except RecursionError as error:
            raise HTTPException(422, f"the request is {TOO_DEEP}") from error

    async def in_time(request: Request) -> Any:
        try:
            async with asyncio.timeout(settings.timeout) as limit:
                return await scored(request)
        except TimeoutError as error:
            if not limit.expired():  # a model's own
                raise
            raise HTTPException(504, f"no answer within {settings.timeout:g} seconds") from error

    async def answer(request: Request) -> Response:
        check_key(request, settings.key)
        if figures.at_work >= settings.concurrency:
            raise HTTPException(429, "too many requests at a time; try again", {"Retry-After": "1"})
        try:
            with figures.accepted():
                return Response(encode_json(await in_time(request)), media_type=JSON)
        except HTTPException:
            raise
        except ClientDisconnect:  # nobody reads it; the log has a line for the request, and no error of ours
            return Response(status_code=LEFT)
        except Exception as error:
            LOG.exception("internal error", extra={"fields": {"path": task.path, "id": request.state.id}})
            raise HTTPException(500, "internal error; the log has the place") from error

    return answer


async def _body(request: Request, most: int) -> bytes:
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
    sent = request.headers.get("authorization", "").encode("latin-1")
    if key is not None and not hmac.compare_digest(sent, f"Bearer {key}".encode()):
        raise HTTPException(401, "the key is missing or wrong", {"WWW-Authenticate": "Bearer"})


def _add_pages(app: FastAPI, settings: ServeSettings, figures: Figures) -> None:
    async def health() -> Response:
        return Response(msgspec.json.encode({"status": "ok", "version": __version__}), media_type=JSON)

    async def metrics(request: Request) -> Response:
        check_key(request, settings.key)
        return Response(figures.text(), media_type="text/plain; version=0.0.4")

    app.add_api_route("/health", health, summary="Is the service up?", **operation(None))
    app.add_api_route("/metrics", metrics, include_in_schema=False)
    for path, (name, kind) in PAGE.items():
        app.add_api_route(path, _file(name, kind, settings.key is not None), include_in_schema=False)


def _file(name: str, kind: str, key: bool) -> Callable[[], Awaitable[Response]]:
    text = (resources.files("troth.serve") / "page" / name).read_text("utf-8")
    text = text.replace("{{version}}", __version__).replace("{{key}}", "needed" if key else "none")

    async def page() -> Response:
        return Response(text, media_type=kind)

    return page
