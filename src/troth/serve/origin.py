"""Refuses requests that web pages of other sites make.

A browser sends a page's requests to any address, also to loopback. It names the page's site in `Origin`; it asks
nobody before it sends `text/plain`, so that only JSON is taken; and a site whose name is made to lead to this machine
(DNS rebinding) is known by its name in `Host`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from troth.core.errors import one_line, truncate

STREAMED = "/ground/stream"  # takes lines of JSON, too, which no page sends unasked


class OriginCheck:
    """ASGI middleware. `hosts`: names of this service besides localhost and addresses; `*` allows any name.

    `origins`: sites whose pages may ask, such as `https://example.org`.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        self.app, self.hosts, self.origins = app, {host.lower() for host in hosts} | {"localhost"}, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self.app(scope, receive, send)
        else:
            status, reason = refusal
            await JSONResponse({"detail": one_line(reason)}, status)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may believe the other one
            return 400, "the request has both Content-Length and Transfer-Encoding"
        if "*" not in self.hosts and not self._is_own_name(host):
            return 421, f"'{truncate(host, 100)}' is not a name of this service; the option 'hosts' adds names"
        if origin is not None and origin not in self.origins and _netloc(origin) != host.lower():
            return 403, f"pages of '{truncate(origin, 100)}' may not ask; the option 'origins' allows them"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        lines = scope["path"] == STREAMED and kind == "application/x-ndjson"
        if scope["method"] == "POST" and kind != "application/json" and not lines:
            return 415, "the content type is not application/json"
        return None

    def _is_own_name(self, host: str) -> bool:
        """Whether `Host` is an address, which no site can claim as its name, or one of our names."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.hosts
        return True


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
