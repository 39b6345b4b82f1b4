"""Metrics with the interface of Hugging Face's `evaluate`: load one by name, give it lists, get a dictionary.

    jga = troth.load("jga")
    jga.compute(predictions=[{"hotel-area": "east"}], references=[{"hotel-area": "east"}])

The same code scores files, so the numbers are the same. `evaluate` itself is not needed. What a metric takes as
references is declared by the metric (`Metric.against`):

- states: gold states of state tracking, see `integrations.states`. FGA and turn match look back, and intervals are over
  dialogues, so both need to know which turns belong together;
- texts: gold responses, for corpus BLEU;
- values: for each response the list of values that it must give, for slot error rate;
- documents: the documents that responses answer from, for faithfulness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from troth.core.errors import PredictionError, UserError, near
from troth.core.metric import Metric
from troth.core.names import Path, listed
from troth.core.options import keywords, option, python_only, resamples_option, resolve, seed_option
from troth.core.parts import Parts
from troth.core.records import Grounded, Schema
from troth.core.registry import Registry, imported
from troth.core.score import Score
from troth.core.signature import signature
from troth.grounding.graded import document_key
from troth.grounding.metrics import Models, Unscored, graders
from troth.grounding.spread import in_blocks
from troth.integrations.states import Columns, dialogues_of
from troth.readers import plain
from troth.readers.grounded.mapped import passages
from troth.responses import bleu, ser
from troth.stats.estimates import Cell, Resampling, scores
from troth.tracking.cells import Grouping, TrackedSystem, cells
from troth.tracking.join import Join
from troth.tracking.metrics import metric as tracking_metric
from troth.tracking.profiles import Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import default_profile, schema_of
from troth.tracking.scorer import Scorer

REGISTRIES = ("troth.tracking.metrics:METRICS", "troth.responses.metrics:METRICS", "troth.grounding.metrics:METRICS")
FLAT = "dialogue_ids=, or a list of states for each dialogue"


@dataclass(frozen=True)
class LoadSettings:
    against: str | None = option(
        None, "Kind of references, where the name of the metric does not tell: `bleu` also has documents."
    )
    profile: str | Profile | None = option(None, "Scoring recipe of state tracking, as in `troth.dst`.")
    schema: Path | Schema | None = option(None, "Schema of the services, for state tracking.")
    models: Models = field(
        default_factory=Models, metadata=python_only("Models that metrics of grounded responses ask.")
    )
    resamples: int = resamples_option()
    seed: int = seed_option()

    @property
    def how(self) -> Resampling:
        return Resampling(self.resamples, self.seed)


@keywords(LoadSettings)
def load(metric: str | Iterable[str], **options: Any) -> Computable:
    """A metric by name, or several that take the same input, to be computed together.

    >>> load("jga").compute(predictions=[{"hotel-area": "east"}], references=[{"hotel-area": "west"}])["jga"]
    0.0
    """
    settings = resolve(LoadSettings, options)
    names = listed(metric)
    if not names:
        raise UserError("no metric is named", hint="for example jga")
    against, metrics = _loaded(names, settings.against)
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
        columns = {"dialogue_id": "dialogue_ids", "turn_id": "turn_ids", "history": "histories"}
        for name in further:
            if name not in columns:
                raise UserError(f"there is no '{name}' to add", hint=near(name, columns) or ", ".join(columns))
        row = {"predictions": prediction, "references": reference}
        self._rows.append(row | {columns[name]: value for name, value in further.items() if value is not None})

    def add_batch(
        self, *, predictions: Iterable[Any], references: Iterable[Any], **further: Iterable[Any] | None
    ) -> None:
        """Adds several at once; `further`: dialogue_ids, turn_ids, histories, each as long as the others."""
        every = {"predictions": predictions, "references": references, **further}
        columns = {name: list(column) for name, column in every.items() if column is not None}
        for name in columns:
            if name not in Columns._fields:
                raise UserError(f"there is no column '{name}'", hint=near(name, Columns._fields))
        if len({len(column) for column in columns.values()}) > 1:
            counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
            raise UserError(f"the columns differ in length: {counts}", hint="one reference for each prediction")
        self._rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def compute(
        self, *, predictions: Iterable[Any] | None = None, references: Iterable[Any] | None = None, **further: Any
    ) -> dict[str, Any]:
        """Scores what is given here together with what was added before, and empties the list of what was added.

        For each metric: `NAME` (a fraction, or None with a `NAME_reason`), `NAME_low`, `NAME_high`, `NAME_n`,
        `NAME_signature`. The bounds are None where nothing tells which turns belong to one dialogue.
        """
        if (predictions is None) != (references is None):
            raise UserError("predictions and references go together", hint="give both")
        if predictions is not None and references is not None:
            self.add_batch(predictions=predictions, references=references, **further)
        return {key: value for score in self.scores() for key, value in _entries(score)}

    def scores(self) -> list[Score]:
        """The scores of what was added, one per metric; the list of what was added is emptied."""
        rows, self._rows = self._rows, []
        if not rows:
            raise UserError("nothing to score", hint="give predictions and references, or add them first")
        return KINDS[self.against](self.metrics, _columns(rows), self.settings)


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    if any(row.keys() != rows[0].keys() for row in rows):
        raise UserError("some of what was added has ids or histories, and some has not", hint="give them throughout")
    return Columns(**{name: [row[name] for row in rows] for name in rows[0]})


def _entries(score: Score) -> Iterator[tuple[str, Any]]:
    yield score.metric, score.value
    for name in ("low", "high", "n", "signature"):
        yield f"{score.metric}_{name}", getattr(score, name)
    if score.value is None:
        yield f"{score.metric}_reason", score.reason


# -- which metrics there are -------------------------------------------------------------------------------------------


def _loaded(names: Sequence[str], against: str | None) -> tuple[str, list[Metric]]:
    """What the metrics take as references, and the metrics; the first kind that has them all."""
    if against is not None and against not in KINDS:
        raise UserError(f"against '{against}' is not known", hint="one of: " + ", ".join(KINDS))
    known = {kind: dict(_members(kind)) for kind in ([against] if against else KINDS)}
    by_kind = {kind: [_find(name, kind, members) for name in names] for kind, members in known.items()}
    for kind, metrics in by_kind.items():
        if all(metrics):
            return kind, [one for one in metrics if one is not None]
    for place, name in enumerate(names):
        if not any(metrics[place] for metrics in by_kind.values()):
            raise _unknown(name, against, [one for members in known.values() for one in members])
    raise UserError(f"{', '.join(names)} do not take the same references", hint="load them apart")


def _members(kind: str) -> Iterator[tuple[str, Metric]]:
    for registry in _registries():
        yield from ((name, one) for name in registry if (one := registry.load(name)).against == kind)


def _registries() -> list[Registry]:
    return [imported(path) for path in REGISTRIES]


def _find(name: str, kind: str, members: Mapping[str, Metric]) -> Metric | None:
    if kind == "states" and "@" in name:
        return tracking_metric(name)  # FGA at any rate
    return members.get(name)


def _unknown(name: str, against: str | None, known: Sequence[str]) -> UserError:
    if any(name in registry and not registry.load(name).against for registry in _registries()):
        return UserError(f"'{name}' needs acts and a schema", hint="troth.nlg scores it from files")
    hint = near(name, known) or "known: " + ", ".join(dict.fromkeys(known))
    return UserError(f"no metric {f'against {against} ' if against else ''}is called '{name}'", hint=hint)


# -- how they are computed ---------------------------------------------------------------------------------------------


def _states(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    _refuse(columns, "histories")
    sides = dialogues_of(columns)
    for metric in metrics:
        if "fga" not in metric.ignores and not sides.grouped:
            raise UserError(f"'{metric.name}' needs to know which turns belong to one dialogue", hint=FLAT)
    schema = None if settings.schema is None else schema_of(settings.schema, "")
    profile = default_profile(schema, "jsonl") if settings.profile is None else find_profile(settings.profile)
    scorer = Scorer(profile, schema)
    join = Join()
    waiting = (*join.add_gold("references", sides.golds), *join.add_pred("predictions", sides.preds))
    for pair in (*waiting, *join.rest("predictions")):
        try:
            scorer.add(pair.gold, pair.pred)
        except PredictionError as error:
            raise error.at(file="predictions") from error
        except UserError as error:
            raise error.at(file="references") from error
    system = TrackedSystem.of("", scorer)
    every = cells(system, metrics, Grouping(schema=schema))
    return _bounded(scores("", every, system.frames.dialogues, settings.how), known=sides.grouped)


def _texts(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    """Corpus BLEU as `troth.nlg` has it: a missing response is an empty one, turns without gold are left out."""
    _refuse(columns, "histories", "turn_ids")
    if not bleu.available():
        raise UserError(bleu.MISSING)
    golds = [plain.text(gold, "a reference") for gold in columns.references]
    texts = [_response(text) for text in columns.predictions]
    dialogues = _dialogues(columns)
    chosen = [place for place, gold in enumerate(golds) if gold.strip()]
    recipe = bleu.rules() | {"missing": "zero"}
    scores = []
    for metric in metrics:
        line = signature(metric, recipe, n=len(chosen))
        if not chosen:
            scores.append(Score("", metric.name, "all", None, None, None, 0, line, "no gold utterance"))
            continue
        counts = bleu.counts([texts[place] for place in chosen], [golds[place] for place in chosen])
        estimate = bleu.estimate(counts, [dialogues[place] for place in chosen], settings.how)
        scores.append(Score("", metric.name, "all", estimate.value, estimate.low, estimate.high, estimate.n, line))
    return _bounded(scores, known=columns.dialogue_ids is not None)


def _values(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    """Slot error rate by the values that are listed, in place of those that acts and schema ask for."""
    _refuse(columns, "histories", "turn_ids")
    due = [_due(values) for values in columns.references]
    wrong = [
        float(text is None or bool(ser.missed(values, _response(text))))
        for values, text in zip(due, columns.predictions, strict=True)
    ]
    dialogues = _dialogues(columns)
    keys = [(dialogue, place, "") for place, dialogue in enumerate(dialogues)]
    recipe = {"unit": "turn", "match": "substring", "values": "given", "missing": "zero"}
    every = []
    for metric in metrics:
        applies = [float(bool(values) or not metric.of) for values in due]  # `ser` divides by all turns
        parts = Parts.of(((bad * one, one) for bad, one in zip(wrong, applies, strict=True)), keys)
        every.append(Cell(metric, parts, recipe, reason="no turn has a value to give"))
    return _bounded(scores("", every, dialogues, settings.how), known=columns.dialogue_ids is not None)


def _documents(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    """Faithfulness to documents as `troth.ground` has it: intervals are over documents."""
    _refuse(columns, "dialogue_ids", "turn_ids")
    histories = columns.histories or [()] * len(columns.predictions)
    items = [
        Grounded(str(place), passages(document, "a document"), _response(text), _history(history))
        for place, (document, text, history) in enumerate(
            zip(columns.references, columns.predictions, histories, strict=True)
        )
    ]
    documents = [document_key(item) for item in items]
    every = []
    for metric, grader in zip(metrics, graders([one.name for one in metrics], settings.models), strict=True):
        values = in_blocks(grader, items).values
        rows = [
            (float(value), (document, -1, item.id))
            for value, document, item in zip(values, documents, items, strict=True)
            if not isinstance(value, Unscored)
        ]
        reasons = Counter(value.reason for value in values if isinstance(value, Unscored)).most_common(1)
        parts = Parts.of(((value, 1.0) for value, _ in rows), [key for _, key in rows])
        every.append(Cell(metric, parts, grader.recipe, reason=reasons[0][0] if reasons else ""))
    return list(scores("", every, [name for name in documents if name], settings.how))


KINDS: dict[str, Callable[[Sequence[Metric], Columns, LoadSettings], list[Score]]] = {
    "states": _states,
    "texts": _texts,
    "values": _values,
    "documents": _documents,
}


def _bounded(scores: Iterable[Score], *, known: bool) -> list[Score]:
    """Without known dialogues there is no interval: turns of one dialogue are not independent."""
    return [score if known else msgspec.structs.replace(score, low=None, high=None) for score in scores]


def _refuse(columns: Columns, *names: str) -> None:
    for name in names:
        if getattr(columns, name) is not None:
            raise UserError(f"{name} have no place here", hint="leave them out")


def _dialogues(columns: Columns) -> list[str]:
    return [str(name) for name in columns.dialogue_ids or range(len(columns.predictions))]


def _response(text: object) -> str:
    return "" if text is None else plain.text(text, "a prediction")


def _due(values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError("a reference is the list of values that the response must give", hint='for example ["Leeds"]')
    return [plain.text(value, "a value") for value in values]


def _history(lines: object) -> tuple[str, ...]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise UserError("a history is the list of what was said before, oldest first")
    return tuple(plain.text(line, "a line of the history") for line in lines)
