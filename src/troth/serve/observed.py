"""Around every request: an id, headers that browsers obey, one line in the log, and figures."""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from troth.serve.watch import LOG, Figures

ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")  # what a client may call its request
LEFT = 499  # status, as nginx has it: the client left before an answer
SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Observed:
    """ASGI middleware. Texts of requests are logged only where the application puts them into `request.state.text`.

    `request.state.status` is logged and counted in place of the status that was sent: an error may come later.
    """

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app, self.figures = app, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), LEFT
        state: dict[str, Any] = scope.setdefault("state", {})
        sent = dict(scope["headers"]).get(b"x-request-id", b"")
        state["id"] = sent.decode() if ID.fullmatch(sent) else uuid.uuid4().hex

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(SAFE | {"X-Request-Id": state["id"]})
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            seconds, status = time.perf_counter() - begin, state.get("status", status)
            # A path that does not exist is not a label: anyone could fill memory with them.
            path = route.path if (route := scope.get("route")) is not None else "other"
            self.figures.requests.labels(path, str(status)).inc()
            self.figures.seconds.labels(path).observe(seconds)
            fields = {"id": state["id"], "method": scope["method"], "path": path, "status": status}
            fields |= {"ms": round(1000 * seconds, 1), "bytes": state.get("bytes", 0)}
            fields |= {"text": state["text"]} if state.get("text") is not None else {}
            LOG.info("request", extra={"fields": fields})
