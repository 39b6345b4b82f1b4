"""What the service answers, as typed records. Fields that a newer service adds are left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class AnswerScore(msgspec.Struct, frozen=True):
    """The value of one metric; None with a reason."""

    metric: str
    value: float | None = None
    reason: str | None = None
    faithful: bool | None = None
    probability: float | None = None
    group: str | None = None
    n: int | None = None
    signature: str | None = None


class AnswerWord(msgspec.Struct, frozen=True):
    """A word of the response: supported, unsupported or free."""

    text: str
    support: str
    doubt: float


class ServiceAnswer(msgspec.Struct, frozen=True):
    """What `/ground` and `/agent` say. `faithful` is None with a reason where there is no verdict."""

    faithful: bool | None = None
    reason: str | None = None
    scores: tuple[AnswerScore, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()
    unsupported: tuple[str, ...] = ()
    words: tuple[AnswerWord, ...] | None = None


class SentenceAnswer(NamedTuple):
    """A sentence of a response that is being written, where it starts, and what the service says of it."""

    start: int
    sentence: str
    answer: ServiceAnswer


class BatchedAnswer(msgspec.Struct, frozen=True):
    """One answer of a batch: its status, and what would have been answered alone, or why not."""

    status: int
    answer: dict[str, Any] = {}
    detail: str | None = None


class ServiceError(Exception):
    """The service gave no answer. `status` is None where it could not be reached, or not in time."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail if status is None else f"{status}: {detail}")
        self.detail, self.status = detail, status
