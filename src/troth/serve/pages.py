"""What is not a question: liveness, readiness, figures, and the files of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

import msgspec
from fastapi import FastAPI, Request, Response

from troth.core.version import __version__
from troth.serve.answering import JSON, SOON, Desk, check_key
from troth.serve.faithfulness import VerdictRule
from troth.serve.openapi import ServiceState, describe_state

PAGE = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
    "/docs": ("docs.html", "text/html"),
    "/docs.js": ("docs.js", "text/javascript"),
}


def add_pages(app: FastAPI, desk: Desk, rule: VerdictRule | None) -> None:
    """Adds everything that is asked with GET. `rule`: what verdicts rest on."""

    async def live() -> Response:
        return _state(200, "ok")

    async def ready() -> Response:
        return _state(200, "ready", rule) if desk.is_ready() else _state(503, "loading", rule)

    async def metrics(request: Request) -> Response:
        check_key(request, desk.settings.metrics_key or desk.settings.key)
        return Response(desk.figures.text(), media_type="text/plain; version=0.0.4")

    app.add_api_route("/live", live, summary="Does the service run?", **describe_state())
    app.add_api_route("/ready", ready, summary="Are all models loaded?", **describe_state("Not yet, or not now."))
    app.add_api_route("/health", live, summary="The same as /live.", **describe_state())
    if desk.settings.metrics_address is None:
        app.add_api_route("/metrics", metrics, include_in_schema=False)
    for path, (name, kind) in PAGE.items():
        app.add_api_route(path, _file(name, kind, desk.settings.key is not None), include_in_schema=False)


def _state(status: int, name: str, rule: VerdictRule | None = None) -> Response:
    body = msgspec.json.encode(ServiceState(name, __version__, rule))
    return Response(body, status, media_type=JSON, headers=SOON if status == 503 else None)


def _file(name: str, kind: str, key: bool) -> Callable[[], Awaitable[Response]]:
    text = (resources.files("troth.serve") / "page" / name).read_text("utf-8")
    text = text.replace("{{version}}", __version__).replace("{{key}}", "needed" if key else "none")

    async def page() -> Response:
        return Response(text, media_type=kind)

    return page
