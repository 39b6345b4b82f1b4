"""Metrics with the interface of Hugging Face's `evaluate`: load one by name, give it lists, get a dictionary.

    jga = troth.load("jga")
    jga.compute(predictions=[{"hotel-area": "east"}], references=[{"hotel-area": "east"}])

Lists become records, which the task of the metric scores. `evaluate` itself is not needed. What a metric takes as
references is declared by the metric (`Metric.against`): gold states (see `integrations.states`), gold texts for corpus
BLEU, the values that a response must give, or documents (`integrations.columns` converts these).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import parse_names
from troth.core.options import keywords, resolve
from troth.core.score import Score
from troth.integrations import columns as tables
from troth.integrations.kinds import TASKS, LoadSettings, find_metrics


@keywords(LoadSettings)
def load(metric: str | Iterable[str], **options: Any) -> Computable:
    """A metric by name, or several that take the same input, to be computed together.

    >>> load("jga").compute(predictions=[{"hotel-area": "east"}], references=[{"hotel-area": "west"}])["jga"]
    0.0
    """
    settings = resolve(LoadSettings, options)
    names = parse_names(metric)
    if not names:
        raise UserError("no metric is named", hint="for example jga")
    against, metrics = find_metrics(names, settings.against)
    if against != "states" and (settings.profile is not None or settings.schema is not None):
        raise UserError("profile and schema are for state tracking", hint=f"'{names[0]}' has neither")
    return Computable(metrics, against, settings)


class Computable:
    """Gathers predictions and references, and scores them: `compute` at once, or after any number of `add`s."""

    def __init__(self, metrics: Sequence[Metric], against: str, settings: LoadSettings) -> None:
        self.metrics, self.against, self.settings = tuple(metrics), against, settings
        self._rows: list[dict[str, Any]] = []

    def add(self, *, prediction: Any, reference: Any, **further: Any) -> None:
        """Adds one turn, one dialogue or one response; `further`: dialogue_id, turn_id, history."""
        self._rows.append(tables.row(prediction, reference, further))

    def add_batch(
        self, *, predictions: Iterable[Any], references: Iterable[Any], **further: Iterable[Any] | None
    ) -> None:
        """Adds several at once; `further`: dialogue_ids, turn_ids, histories, each as long as the others."""
        self._rows += tables.rows({"predictions": predictions, "references": references, **further})

    def compute(
        self, *, predictions: Iterable[Any] | None = None, references: Iterable[Any] | None = None, **further: Any
    ) -> dict[str, Any]:
        """Scores these items together with those added before, then clears the added items.

        For each metric: `NAME` (a fraction, or None with a `NAME_reason`), `NAME_low`, `NAME_high`, `NAME_n`,
        `NAME_signature`. The bounds are None where nothing tells which turns belong to one dialogue.
        """
        if (predictions is None) != (references is None):
            raise UserError("predictions and references go together", hint="give both")
        if predictions is not None and references is not None:
            self.add_batch(predictions=predictions, references=references, **further)
        return {key: value for score in self.scores() for key, value in _entries(score)}

    def scores(self) -> list[Score]:
        """The scores of the added items, one per metric; the added items are cleared."""
        rows, self._rows = self._rows, []
        if not rows:
            raise UserError("nothing to score", hint="give predictions and references, or add them first")
        return [*TASKS[self.against](self.metrics, tables.columns(rows), self.settings)]


def _entries(score: Score) -> Iterator[tuple[str, Any]]:
    yield score.metric, score.value
    for name in ("low", "high", "n", "signature"):
        yield f"{score.metric}_{name}", getattr(score, name)
    if score.value is None:
        yield f"{score.metric}_reason", score.reason
