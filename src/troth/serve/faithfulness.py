"""Is a response faithful to its document? The verdict, the metrics that were asked, and the words by support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from troth.core.names import parse_names
from troth.core.records import Grounded
from troth.core.signature import signature
from troth.grounding.calibration import Fitted
from troth.grounding.doubts import doubted_words
from troth.grounding.graded import GradedSystem, grade_systems
from troth.grounding.metrics import Grader, Unscored, default_metrics, make_graders
from troth.grounding.score import match_calibration
from troth.grounding.words import Word, word_by_word
from troth.serve.settings import ServeSettings
from troth.storage.explorer import ResponseView

NO_RULE = "no verdict without a calibration or a threshold"


class GroundRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A response, the document that it answers from, and what was said before, oldest first."""

    document: str
    response: str
    history: tuple[str, ...] = ()
    words: bool = False  # whether to say of each word if the document supports it, which a language model does


class ResponseScore(msgspec.Struct, frozen=True):
    """The value of one metric; None with a reason. `faithful` and `probability`: by the calibration, if it has one."""

    metric: str
    value: float | None
    signature: str
    reason: str | None = None
    faithful: bool | None = None
    probability: float | None = None


class GroundAnswer(msgspec.Struct, frozen=True):
    """`faithful` is None with a reason. `unsupported`: words that the document does not have where it should.

    `words`: every word, with what the document does for its probability; None where it was not asked for.
    """

    faithful: bool | None
    reason: str | None
    scores: tuple[ResponseScore, ...]
    unsupported: tuple[str, ...]
    words: tuple[Word, ...] | None = None


@dataclass(frozen=True)
class GroundTask:
    """Scores responses with the metrics of `troth ground`."""

    settings: ServeSettings

    @cached_property
    def graders(self) -> list[Grader]:
        return make_graders(parse_names(self.settings.metrics) or default_metrics(), self.settings.open_models)

    @cached_property
    def judges(self) -> Mapping[str, Fitted] | None:
        return match_calibration(self.settings.calibration, self.graders)

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
        words = self._words(items)
        return [self._answer(system, index, words.get(index)) for index in range(len(items))]

    def _words(self, items: Sequence[GroundRequest]) -> dict[int, tuple[Word, ...]]:
        """The marked words, for the responses whose request asked for them."""
        views = [
            ResponseView("", str(index), item.document, item.response, item.history)
            for index, item in enumerate(items)
            if item.words
        ]
        if not views:
            return {}
        return {int(one.id): one.words for one in word_by_word(views, self.settings.open_models.language_model)}

    def _answer(self, system: GradedSystem, index: int, words: tuple[Word, ...] | None) -> GroundAnswer:
        scores = []
        for one in system.metrics:
            value, verdict = one.values[index], one.verdicts[index]
            reason = value.reason if isinstance(value, Unscored) else None
            number = None if isinstance(value, Unscored) else float(value)
            line = signature(one.metric, one.recipe, n=1)
            scores.append(ResponseScore(one.metric.name, number, line, reason, *(verdict or (None, None))))
        faithful, reason = self._verdict(scores)
        item = system.items[index]
        doubted = doubted_words(item.document, item.response)
        unsupported = tuple(word.text for word in doubted if word.unsupported)
        return GroundAnswer(faithful, reason, tuple(scores), unsupported, words)

    def _verdict(self, scores: Sequence[ResponseScore]) -> tuple[bool | None, str | None]:
        """By the first metric with a value that the calibration knows, or the first metric and the threshold."""
        known = [one for one in scores if one.metric in (self.judges or {})]
        if known:
            judged = next((one for one in known if one.faithful is not None), known[0])
            return judged.faithful, judged.reason
        first = scores[0]
        if self.settings.threshold is not None and first.value is not None:
            return first.value >= self.settings.threshold, None
        return None, first.reason or NO_RULE
