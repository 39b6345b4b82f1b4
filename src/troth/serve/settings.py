"""Settings of the service: what it scores with, and its limits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from troth import models as backends
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import option, python_only
from troth.core.records import Schema
from troth.core.text_cache import forget_texts
from troth.grounding.metrics import Models
from troth.models.batches import Cutting
from troth.readers import schema as read_schema

KEY = "TROTH_SERVE_KEY"  # environment variable: clients must send it as a bearer token
METRICS_KEY = "TROTH_METRICS_KEY"  # the same for /metrics alone


@dataclass(frozen=True)
class ServeSettings:
    metrics: str | Iterable[str] = option(
        (), "Metrics, comma-separated. Default: faith, coverage and facts, as far as they are installed.", "NAMES",
        complete=("troth.grounding.metrics:METRICS",),
    )  # fmt: skip
    models: Models = field(
        default_factory=Models,
        metadata=python_only("All models that metrics ask; their cache is used only with `cached`."),
    )
    cached: bool = option(
        False, "Keep model answers in the cache file, with the texts of the responses.", shape="python"
    )
    calibration: Path | None = option(
        None,
        "Calibration file of `troth meta fit`; decides which responses are faithful. Default: troth's own, if it fits.",
        "FILE",
    )
    threshold: float | None = option(
        None, "Without a calibration: lowest value of the first metric at which a response is faithful.", "NUMBER"
    )
    schema: Path | Schema | None = option(
        None, "Schema of the services, for acts; requests can also contain one.", "FILE"
    )
    batch: int = option(64, "Most requests that are scored together (1 = one at a time).", least=1)
    body: int = option(256_000, "Longest request in bytes; longer ones get 413.", shape="python")
    concurrency: int = option(256, "Most requests at a time, waiting ones included; further ones get 429.", least=1)
    timeout: float = option(30.0, "Longest time for a request; then it gets 504.", "SECONDS", least=0.001)
    key: str | None = option(None, "Key that clients must send; None: anyone may ask.", shape="python")
    metrics_key: str | None = option(None, "Key of /metrics; None: that of the service.", shape="python")
    metrics_address: str | None = option(
        None, "Address of /metrics alone, without a key; it is then no path of the service.", "HOST:PORT"
    )
    hosts: str | Iterable[str] = option(
        (), "Names of this service, besides localhost and addresses; a request to another name is refused (* = any).",
        "NAMES",
    )  # fmt: skip
    origins: str | Iterable[str] = option(
        (), "Sites whose pages may ask, such as https://example.org; requests of other pages are refused.", "NAMES"
    )
    proxy: str | None = option(
        None, "Forward chat requests to this OpenAI-compatible server and check its answers.", "URL"
    )
    proxy_key: str | None = option(None, "Key of the server behind the proxy.", shape="python")
    block: bool = option(False, "Refuse answers of the proxy that are found unfaithful (422).")
    log_text: bool = option(False, "Put the texts of requests into the log.")

    def __post_init__(self) -> None:
        for name in ("batch", "body", "concurrency", "timeout"):
            if not getattr(self, name) > 0:
                raise UserError(f"must be above 0, not {getattr(self, name)}", option=name)
        if self.proxy is not None and not self.proxy.startswith(("http://", "https://")):
            raise UserError(f"'{self.proxy}' is not a web address", hint="such as http://localhost:8000/v1")
        if self.block and self.proxy is None:
            raise UserError("works with a proxy only", option="block", hint="name the server that answers")
        if self.metrics_address is not None:
            parse_address(self.metrics_address)
        if self.threshold is not None and self.calibration is not None:
            raise UserError("a calibration has its own threshold", hint="give one of the two")

    @cached_property
    def services(self) -> Schema:
        if self.schema is None:
            return {}
        return self.schema if isinstance(self.schema, dict) else read_schema(path_of(self.schema))

    @cached_property
    def open_models(self) -> Models:
        """The models, opened so that memory does not grow with the requests, and nothing that is asked is kept."""
        own = self.models
        if self.cached:
            return own
        nli = backends.uncached_nli(own.nli) if isinstance(own.nli, str) else own.nli
        lm = backends.uncached_lm(own.lm) if isinstance(own.lm, str) else own.lm
        return replace(own, nli=nli, lm=lm, cache=None)

    def forget(self) -> None:
        """Clears what models and text functions have cached of earlier requests."""
        forget_texts()
        nli = vars(self.open_models).get("entailment_model")
        if isinstance(nli, Cutting):
            nli.forget()


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of an address such as 127.0.0.1:9017 or [::1]:9017."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"'{text}' is not an address", hint="such as 127.0.0.1:9017")
    return host.strip("[]"), int(port)


def key_of_environment(name: str = KEY) -> str | None:
    """The key that the environment names; one that is empty is a mistake, not an open door.

    Blanks around it, such as the last newline of a file, are left out: no client could send them.
    """
    key = os.environ.get(name)
    key = None if key is None else key.strip()
    if key == "":
        raise UserError(f"{name} is set, but empty", hint="set it to a long random text, or unset it")
    return key
