"""A user's own checker of answers behind an HTTP address, as a grader like any other.

Each answer is one POST of `{"document": …, "response": …, "history": […]}`. The checker answers with
`{"score": number}`, higher for answers that are better supported, or with `{"faithful": true or false}`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.metrics import Unscored, Value
from troth.models.client import Client, MalformedAnswerError, NoResponseError, RefusedError

KEY = "TROTH_CHECKER_KEY"  # environment variable; sent as a bearer token where it is set
TIMEOUT = 60.0  # seconds for one answer
LARGEST = 1_000_000  # bytes of an answer
NO_ANSWER = "the checker gave no answer"
NO_SCORE = "the checker's answer has no number 'score' and no truth value 'faithful'"

CHECKER = Metric(
    "checker", "Own checker", "what the user's own checker says of the response", scale="number", unit="response",
    against="documents",
)  # fmt: skip


class _Verdict(msgspec.Struct):
    score: float | None = None
    faithful: bool | None = None


@dataclass(frozen=True)
class HttpChecker:
    """Asks the checker at an address about one response at a time."""

    url: str
    timeout: float = TIMEOUT
    metric: Metric = CHECKER
    remarks: tuple[str, ...] = ()

    @property
    def recipe(self) -> dict[str, str]:
        return {"url": self.url}

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        client = Client(self.url, key_variable=KEY, timeout=self.timeout)
        values: list[Value] = []
        with bar(self.metric.name) as progress:
            for item in items:
                values.append(_ask(client, item))
                progress(len(values), len(items))
        if items and all(isinstance(value, Unscored) for value in values):
            reason = next(value.reason for value in values if isinstance(value, Unscored))
            raise UserError(f"{self.url}: {reason}", hint="see docs/stress.md for what a checker gets and answers")
        return values


def _ask(client: Client, item: Grounded) -> Value:
    body = {"document": item.document, "response": item.response, "history": item.history}
    try:
        verdict = client.post("", msgspec.json.encode(body), parse=_parse_verdict, max_bytes=LARGEST)
    except RefusedError as error:
        return Unscored(f"the checker answered with status {error.status}")
    except NoResponseError as error:
        return Unscored(f"{NO_ANSWER}: {error}")
    except MalformedAnswerError:
        return Unscored(NO_SCORE)
    if verdict.score is not None and math.isfinite(verdict.score):
        return verdict.score
    return Unscored(NO_SCORE) if verdict.faithful is None else float(verdict.faithful)


def _parse_verdict(data: bytes) -> _Verdict:
    try:
        return msgspec.json.decode(data, type=_Verdict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedAnswerError(NO_SCORE) from error
