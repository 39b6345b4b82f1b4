"""Settings of the service: what it scores with, and its limits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from troth import models as backends
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.records import Schema
from troth.grounding.metrics import Models
from troth.models.batches import Cutting
from troth.readers import schema as read_schema

KEY = "TROTH_SERVE_KEY"  # environment variable: clients must send it as a bearer token


@dataclass(frozen=True)
class ServeSettings:
    metrics: str | Iterable[str] = ()  # of grounded responses, by name; none: as `troth ground`
    models: Models = field(default_factory=Models)  # by name; `cache` only counts where `cached` is set
    cached: bool = False  # whether models' answers are kept in the cache file, texts of responses among them
    calibration: Path | None = None  # of `meta.fit`: says which responses are faithful
    threshold: float | None = None  # without a calibration: the value of the first metric from which they are
    schema: Path | Schema | None = None  # of the services, for acts; requests can bring their own
    batch: int = 64  # requests that are scored together at most
    body: int = 256_000  # bytes of a request
    concurrency: int = 256  # requests at a time, waiting ones included
    timeout: float = 30.0  # seconds for a request
    key: str | None = None  # that clients must send; None: anyone may ask
    log_text: bool = False  # whether logs hold what is asked

    def __post_init__(self) -> None:
        for name in ("batch", "body", "concurrency", "timeout"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name} must be above 0, not {getattr(self, name)}")
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
        """Lets go of what models remember of the requests so far."""
        nli = vars(self.open_models).get("entailment_model")
        if isinstance(nli, Cutting):
            nli.forget()


def key_of_environment() -> str | None:
    """The key that the environment names; one that is empty is a mistake, not an open door.

    Blanks around it, such as the last newline of a file, are left out: no client could send them.
    """
    key = os.environ.get(KEY)
    key = None if key is None else key.strip()
    if key == "":
        raise UserError(f"{KEY} is set, but empty", hint="set it to a long random text, or unset it")
    return key
