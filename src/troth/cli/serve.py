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
from troth.core.names import parse_names
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

        from troth.serve.app import service
        from troth.serve.process import Scorers
        from troth.serve.proxy import KEY as PROXY_KEY
        from troth.serve.settings import METRICS_KEY, ServeSettings, key_of_environment, parse_address
        from troth.serve.watch import log_to_stderr
    from troth.grounding.metrics import Models

    gc.enable()  # a process that runs for months must collect cycles
    serving = ServeSettings(
        models=Models(**models, cache=cache, timeout=None),
        cached=cache is not None,
        body=size(body),
        key=key_of_environment(),
        metrics_key=key_of_environment(METRICS_KEY),
        proxy_key=key_of_environment(PROXY_KEY),
        **settings | {"hosts": (*parse_names(settings["hosts"]), host)},
    )
    if serving.key is None and host not in ("127.0.0.1", "::1", "localhost"):
        show.note(f"WARNING: anyone who reaches {host} can ask: set TROTH_SERVE_KEY to a long random text")
    scorers, errors = Scorers(serving), list[Exception]()
    app = service(serving, scorers)
    with _listen(host, port) as listener:
        log_to_stderr()
        if serving.metrics_address is not None:
            _serve_metrics(*parse_address(serving.metrics_address), app.state.figures.registry)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(serving.timeout) + 5,
        )  # fmt: skip
        server = uvicorn.Server(config)

        def fail(error: Exception) -> None:
            errors.append(error)
            server.should_exit = True

        address, bound, *_ = listener.getsockname()
        show.note(f"listening on http://{f'[{address}]' if ':' in address else address}:{bound}")
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn shuts down, and then raises the signal again
            signal.signal(number, lambda *_: None)
        scorers.start(fail)
        try:
            server.run(sockets=[listener])
        finally:
            scorers.close()
    if errors:
        raise errors[0]


def _serve_metrics(host: str, port: int, registry: Any) -> None:
    """Answers with the figures on an address of their own, in a thread."""
    from prometheus_client import start_http_server

    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise _occupied(host, port, error, "--metrics-address chooses another") from error
    show.note(f"figures on http://{f'[{host}]' if ':' in host else host}:{port}/metrics")


def _occupied(host: str, port: int, error: OSError, hint: str) -> UserError:
    what = f"cannot listen on {host}:{port}: {error.strerror or error}"
    return UserError(what, hint=f"is another service there? {hint}")


def _listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise _occupied(host, port, error, "--port chooses another") from error
