"""What operators see: one JSON line per request on standard error, and figures for Prometheus."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LOG = logging.getLogger("troth.serve")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ScoringError(Exception):
    """An internal error as it may be logged: its name, and where it was raised. Its text may hold what was asked."""

    def __init__(self, name: str, places: list[str]) -> None:
        super().__init__(name, places)
        self.name, self.places = name, places

    @classmethod
    def from_exception(cls, error: BaseException | None) -> ScoringError:
        trace = _places(None if error is None else error.__traceback__)
        if isinstance(error, cls):  # of the process that scores
            return cls(error.name, [*trace, *error.places])
        return cls(type(error).__name__, trace)


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, message, and what the record was given as `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            error = ScoringError.from_exception(record.exc_info[1])
            line["error"], line["at"] = error.name, error.places
        return msgspec.json.encode(line).decode()


def _places(trace: Any) -> list[str]:
    """Where an error was raised: files and lines, and no values, which may hold what was asked."""
    places = []
    while trace is not None:
        places.append(f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return places


def log_to_stderr() -> None:
    """Sends the logs of the service and of uvicorn to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("troth.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)


class Figures:
    """Counts and durations of requests, sizes of batches, and requests at work."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "troth_requests", "Answered requests.", ["path", "status"], registry=self.registry
        )  # exported as troth_requests_total
        self.seconds = Histogram(
            "troth_request_seconds", "Time to answer.", ["path"], buckets=SECONDS, registry=self.registry
        )
        self.batches = Histogram(
            "troth_batch_size", "Requests that were scored together.", buckets=SIZES, registry=self.registry
        )
        self.working = Gauge("troth_requests_at_work", "Accepted and not yet answered.", registry=self.registry)
        self.verdicts = Counter(
            "troth_verdicts", "Answers by verdict: faithful, unfaithful or none.", ["path", "verdict"],
            registry=self.registry,
        )  # fmt: skip
        self.ready = Gauge("troth_ready", "1 where every question can be answered now.", registry=self.registry)
        self.at_work = 0

    @contextmanager
    def accepted(self, number: int = 1) -> Iterator[None]:
        """While a request, or a number of them, is at work."""
        self.at_work += number
        self.working.set(self.at_work)
        try:
            yield
        finally:
            self.at_work -= number
            self.working.set(self.at_work)

    def text(self) -> bytes:
        return generate_latest(self.registry)
