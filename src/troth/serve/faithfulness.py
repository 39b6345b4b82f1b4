"""Is a response faithful to its document? The verdict, the metrics that were asked, sentences and words by support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from troth.core.names import parse_names
from troth.core.records import Grounded
from troth.core.signature import signature
from troth.grounding.calibration import Fitted
from troth.grounding.claims import OBJECTIONS
from troth.grounding.graded import GradedSystem, grade_systems
from troth.grounding.metrics import Grader, Unscored, default_metrics, make_graders
from troth.grounding.score import match_calibration, match_default
from troth.grounding.words import Word, judge_words
from troth.serve.settings import ServeSettings
from troth.storage.explorer import ClaimSupport
from troth.text.courtesies import NO_CLAIM

LEAST = "least supported"  # kind of a finding: supported by itself, in a response that as a whole is not
NO_RULE = "no verdict without a calibration or a threshold"


class GroundRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A response, the document that it answers from, and what was said before, oldest first."""

    document: str
    response: str
    history: tuple[str, ...] = ()
    words: bool = False  # whether to say of every word if the document supports it
    signatures: bool = False  # whether to name the recipe of each score


class ServedScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """The value of one metric; null with a reason. `faithful` and `probability`: by the calibration, if it has one."""

    metric: str
    value: float | None
    reason: str | None = None
    faithful: bool | None = None
    probability: float | None = None
    group: str | None = None  # where the value is not over everything
    n: int | None = None  # number of units that the value is over; none where it is over one response
    signature: str | None = None  # where it was asked for


class SentenceFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence that the document does not support, how probably it does, and the passage that decides."""

    kind: str  # contradicted, absent, or least supported where no sentence is either and the verdict is false
    sentence: str
    supported: float
    passage: str


class GroundAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`faithful` is left out with a reason where there is no verdict. What was not asked for is left out.

    `findings`: sentences that the document does not support, by the first metric that judges sentences. An unfaithful
    response has at least one where a metric judges sentences; a faithful one may have some.
    `unsupported`: the words that it does not support, which are those that `words` marks as unsupported.
    """

    scores: tuple[ServedScore, ...]
    faithful: bool | None = None
    reason: str | None = None
    findings: tuple[SentenceFinding, ...] = ()
    unsupported: tuple[str, ...] = ()
    words: tuple[Word, ...] | None = None


class VerdictRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the verdicts rest on: a metric, its threshold, and what flagging below it did on the calibration's data."""

    metric: str
    threshold: float  # of the metric's value
    aim: str | None = None
    recall: float | None = None  # share of the unfaithful that are flagged
    precision: float | None = None  # share of the flagged that are unfaithful
    n: int | None = None  # labelled responses


@dataclass(frozen=True)
class GroundTask:
    """Scores responses with the metrics of `troth ground`."""

    settings: ServeSettings

    @cached_property
    def graders(self) -> list[Grader]:
        return make_graders(parse_names(self.settings.metrics) or default_metrics(), self.settings.open_models)

    @cached_property
    def judges(self) -> Mapping[str, Fitted] | None:
        """The calibration of each metric: the one that was named, else that of the package where it fits."""
        if self.settings.calibration is not None or self.settings.threshold is not None:
            return match_calibration(self.settings.calibration, self.graders)
        return match_default(self.graders) or None

    @property
    def rule(self) -> VerdictRule | None:
        """What verdicts rest on; None: there are none."""
        name = next((grader.metric.name for grader in self.graders if grader.metric.name in (self.judges or {})), None)
        if name is None or self.judges is None:
            limit = self.settings.threshold
            return None if limit is None else VerdictRule(self.graders[0].metric.name, limit)
        fitted = self.judges[name]
        threshold = fitted.low + fitted.threshold * (fitted.high - fitted.low)
        at = fitted.at
        return VerdictRule(
            name, threshold, fitted.aim, None if at is None else at.recall, None if at is None else at.precision,
            fitted.n,
        )  # fmt: skip

    def check(self) -> None:
        """Raises an error for metrics, a calibration or a schema that are not there, before anything is asked."""
        _ = self.judges, self.settings.services

    def prepare(self, asked: GroundRequest) -> GroundRequest:
        return asked

    def score(self, items: Sequence[GroundRequest]) -> list[GroundAnswer]:
        responses = [
            Grounded(str(index), item.document, item.response, item.history) for index, item in enumerate(items)
        ]
        (system,) = grade_systems({"": responses}, self.graders, self.judges)
        return [self._answer(system, index, item) for index, item in enumerate(items)]

    def _answer(self, system: GradedSystem, index: int, asked: GroundRequest) -> GroundAnswer:
        scores = []
        for one in system.metrics:
            value, verdict = one.values[index], one.verdicts[index]
            reason = value.reason if isinstance(value, Unscored) else None
            number = None if isinstance(value, Unscored) else float(value)
            line = signature(one.metric, one.recipe, n=1) if asked.signatures else None
            faithful, probability = verdict or (None, None)
            scores.append(ServedScore(one.metric.name, number, reason, faithful, probability, signature=line))
        faithful, reason = self._verdict(scores)
        claims = next((one.claims[index] for one in system.metrics if one.claims is not None), ())
        words = judge_words(asked.document, asked.response, claims) if asked.document.strip() else ()
        return GroundAnswer(
            tuple(scores), faithful, reason,
            find_sentences(claims, faithful),
            tuple(word.text for word in words if word.support == "unsupported"),
            words if asked.words else None,
        )  # fmt: skip

    def _verdict(self, scores: Sequence[ServedScore]) -> tuple[bool | None, str | None]:
        """By the first metric with a value that the calibration knows, or the first metric and the threshold."""
        known = [one for one in scores if one.metric in (self.judges or {})]
        if known:
            judged = next((one for one in known if one.faithful is not None), known[0])
            return judged.faithful, judged.reason
        first = scores[0]
        if self.settings.threshold is not None and first.value is not None:
            return first.value >= self.settings.threshold, None
        return None, first.reason or NO_RULE


def find_sentences(claims: Sequence[ClaimSupport], faithful: bool | None) -> tuple[SentenceFinding, ...]:
    """The sentences that are not supported; the least supported one where there is none and the verdict is false."""
    findings = [(claim.verdict, claim) for claim in claims if claim.verdict in OBJECTIONS]
    judged = [claim for claim in claims if claim.verdict != NO_CLAIM]
    if faithful is False and judged and not findings:
        findings = [(LEAST, min(judged, key=lambda claim: claim.supported))]
    return tuple(SentenceFinding(kind, claim.sentence, claim.supported, claim.passage) for kind, claim in findings)
