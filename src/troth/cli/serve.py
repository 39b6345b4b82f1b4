"""`troth serve`: the scores over HTTP."""

from __future__ import annotations

import gc
import signal
import socket
from typing import Any

import click

from troth.cli import ground, options, show
from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.core.options import size


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8017, show_default=True, help="Port (0 = any free one).")
@ground.METRICS
@options.option("--calibration", "FILE", "Calibration file of `troth meta fit`: says which responses are faithful.")
@options.option(
    "--threshold", "NUMBER", "Without a calibration: responses with this value of the first metric are faithful.",
    type=options.Real(),
)  # fmt: skip
@options.option("--schema", "FILE", "Schema of the services, for acts; requests can also bring one.", type=options.FILE)
@ground.MODEL_NAMES
@click.option(
    "--cache", metavar="FILE", type=options.FILE,
    help="Keep models' answers in this file, with texts of responses. Default: keep nothing.",
)  # fmt: skip
@options.number("--batch", 64, "Most requests that are scored together (1 = one at a time).", least=1)
@options.option("--body", "SIZE", "Longest request; longer ones get 413.", default="256KB")
@options.number("--concurrency", 256, "Most requests at a time; further ones get 429.", least=1)
@options.option(
    "--timeout", "SECONDS", "Longest time for a request; then it gets 504.", type=options.Real(min=0.001), default=30.0
)
@click.option("--log-text", is_flag=True, help="Put the texts of requests into the log.")
def serve(host: str, port: int, models: dict[str, str], cache: str | None, body: str, **settings: Any) -> None:
    """Score single responses, states and calls over HTTP, for an assistant that asks before it answers.

    The environment variable TROTH_SERVE_KEY is the key that clients must send. The log is JSON lines on standard error.
    """
    with requiring("serve"):
        import uvicorn

        from troth.serve.app import service, warm
        from troth.serve.settings import ServeSettings, key_of_environment
        from troth.serve.watch import log_to_stderr
    from troth.grounding.metrics import Models

    gc.enable()  # a process that runs for months must collect cycles
    own = ServeSettings(
        models=Models(**models, cache=cache, timeout=None),
        cached=cache is not None,
        body=size(body),
        key=key_of_environment(),
        **settings,
    )
    if own.key is None and host not in ("127.0.0.1", "::1", "localhost"):
        show.note(f"WARNING: anyone who reaches {host} can ask: set TROTH_SERVE_KEY to a long random text")
    app = service(own)
    with _listening(host, port) as listener:
        warm(own)
        log_to_stderr()
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(own.timeout) + 5,
        )  # fmt: skip
        address, number, *_ = listener.getsockname()
        show.note(f"listening on http://{f'[{address}]' if ':' in address else address}:{number}")
        for asked in (signal.SIGTERM, signal.SIGINT):  # uvicorn stops in good order, and then raises the signal again
            signal.signal(asked, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections; those that come before the models are loaded wait."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        what = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise UserError(what, hint="is another service there? --port chooses another") from error
