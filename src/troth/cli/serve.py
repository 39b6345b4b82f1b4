"""`troth serve`: the scores over HTTP."""

from __future__ import annotations

import gc
import signal
import socket
from typing import Any

import click

from troth.cli import options, show
from troth.cli.ground import MODELS
from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.core.options import size


@options.command(
    "troth.serve.settings:ServeSettings", models=options.SettingsSource(MODELS, leave_out=("cache", "timeout"))
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8017, show_default=True, help="Port (0 = any free one).")
@click.option(
    "--cache", metavar="FILE", type=options.FILE,
    help="Keep model answers in this file, with the texts of responses. Default: keep nothing.",
)  # fmt: skip
@options.option("--body", "SIZE", "Longest request; longer ones get 413.", default="256KB")
def serve(host: str, port: int, models: dict[str, str], cache: str | None, body: str, **settings: Any) -> None:
    """Score single responses, states and calls over HTTP.

    For an assistant that checks its answers before it sends them. The environment variable TROTH_SERVE_KEY is the key
    that clients must send. The log is JSON lines on standard error.
    """
    with requiring("serve"):
        import uvicorn

        from troth.serve.app import service, warm
        from troth.serve.settings import ServeSettings, key_of_environment
        from troth.serve.watch import log_to_stderr
    from troth.grounding.metrics import Models

    gc.enable()  # a process that runs for months must collect cycles
    opened = Models(**models, cache=cache, timeout=None)
    limit, secret = size(body), key_of_environment()
    serving = ServeSettings(models=opened, cached=cache is not None, body=limit, key=secret, **settings)
    if serving.key is None and host not in ("127.0.0.1", "::1", "localhost"):
        show.note(f"WARNING: anyone who reaches {host} can ask: set TROTH_SERVE_KEY to a long random text")
    app = service(serving)
    with _listen(host, port) as listener:
        warm(serving)
        log_to_stderr()
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(serving.timeout) + 5,
        )  # fmt: skip
        address, bound, *_ = listener.getsockname()
        show.note(f"listening on http://{f'[{address}]' if ':' in address else address}:{bound}")
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn shuts down, and then raises the signal again
            signal.signal(number, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; those that come before the models are loaded wait."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        what = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise UserError(what, hint="is another service there? --port chooses another") from error
