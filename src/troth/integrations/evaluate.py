"""Metrics in the manner of Hugging Face's `evaluate`: load one by name, give it lists, get a dictionary.

    jga = troth.load("jga")
    jga.compute(predictions=[{"hotel-area": "east"}], references=[{"hotel-area": "east"}])

What stands behind it is what files are scored by, so the numbers are the same. `evaluate` itself is not needed.
What a prediction is held against decides what a metric takes for references:

- states: predicted and gold states of state tracking, see `troth.integrations.states`. FGA and turn match look back,
  and intervals are over dialogues, so both need to know which turns belong together;
- texts: corpus BLEU of responses against gold responses;
- values: slot error rate of responses, the values that each of them must give being listed for it;
- documents: faithfulness of responses to the documents they answer from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from troth import readers
from troth.core.errors import PredictionError, UserError, near
from troth.core.records import Grounded, Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.grounding import metrics as scorers
from troth.grounding.metrics import Models, Unscored
from troth.integrations.states import Columns, sides
from troth.readers import plain
from troth.responses import bleu as overlap
from troth.responses import ser as slot_error
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Scorer
from troth.tracking.join import Join
from troth.tracking.metrics import Parts
from troth.tracking.profiles import PROFILES, Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import default_profile
from troth.tracking.scores import ratios, system
from troth.tracking.scores import scores as summed

Against = Literal["states", "texts", "values", "documents"]

VALUES = ("ser", "ser_applicable")
LOOKING_BACK = ("fga", "turn_match")  # metrics that begin so need the turns before
FLAT = "dialogue_ids=, or a list of states for each dialogue"


@dataclass(frozen=True)
class Options:
    profile: str | Profile | None
    schema: Schema | None
    models: Models | None
    resamples: int
    seed: int


def load(
    metric: str | Sequence[str],
    *,
    against: Against | None = None,
    profile: str | Profile | None = None,
    schema: str | Schema | None = None,
    models: Models | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Metric:
    """A metric by name, or several that take the same input, to be computed together.

    `against`: what references are, where the name alone does not tell: `bleu` is against texts, unless this says
    documents. `profile` and `schema`: of state tracking, as in `troth.dst`. `models`: those that metrics of grounded
    responses ask.
    """
    names = [metric] if isinstance(metric, str) else list(dict.fromkeys(metric))
    if not names:
        raise UserError("no metric is named", hint="for example jga")
    kind = _kind(names) if against is None else against
    if kind not in KINDS:
        raise UserError(f"against '{kind}' is not known", hint="one of: " + ", ".join(get_args(Against)))
    for name in names:
        if not _known(name, kind):
            raise _unknown(name, kind)
        if kind == "states":
            aggregate.metric(name)  # says what is wrong with `fga@x`
    if kind != "states" and (profile is not None or schema is not None):
        raise UserError("profile and schema are of state tracking", hint=f"'{names[0]}' has neither")
    schemas = readers.schema(schema) if isinstance(schema, str) else schema
    return Metric(names, kind, Options(profile, schemas, models, resamples, seed))


class Metric:
    """Gathers predictions and references, and scores them: `compute` at once, or after any number of `add`s."""

    def __init__(self, names: Sequence[str], against: str, options: Options) -> None:
        self.names, self.against, self.options = tuple(names), against, options
        self._rows: list[dict[str, Any]] = []

    def add(
        self,
        *,
        prediction: Any,
        reference: Any,
        dialogue_id: object = None,
        turn_id: int | None = None,
        history: Sequence[str] | None = None,
    ) -> None:
        """One turn, one dialogue or one response."""
        row = {"predictions": prediction, "references": reference}
        further = {"dialogue_ids": dialogue_id, "turn_ids": turn_id, "histories": history}
        self._rows.append(row | {name: value for name, value in further.items() if value is not None})

    def add_batch(
        self,
        *,
        predictions: Iterable[Any],
        references: Iterable[Any],
        dialogue_ids: Iterable[object] | None = None,
        turn_ids: Iterable[int] | None = None,
        histories: Iterable[Sequence[str]] | None = None,
    ) -> None:
        """Several at once, each column with as many entries as the others."""
        given = {
            "predictions": predictions, "references": references,
            "dialogue_ids": dialogue_ids, "turn_ids": turn_ids, "histories": histories,
        }  # fmt: skip
        columns = {name: list(column) for name, column in given.items() if column is not None}
        if len({len(column) for column in columns.values()}) > 1:
            counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
            raise UserError(f"the columns differ in length: {counts}", hint="one reference for each prediction")
        self._rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def compute(
        self,
        *,
        predictions: Iterable[Any] | None = None,
        references: Iterable[Any] | None = None,
        dialogue_ids: Iterable[object] | None = None,
        turn_ids: Iterable[int] | None = None,
        histories: Iterable[Sequence[str]] | None = None,
    ) -> dict[str, Any]:
        """Every metric of what is given here and was added before, which is then forgotten.

        For each metric: `NAME` (a fraction, or None with a `NAME_reason`), `NAME_low`, `NAME_high`, `NAME_n`,
        `NAME_signature`. The bounds are None where nothing tells which turns belong to one dialogue.
        """
        if (predictions is None) != (references is None):
            raise UserError("predictions and references go together", hint="give both")
        if predictions is not None and references is not None:
            self.add_batch(
                predictions=predictions, references=references,
                dialogue_ids=dialogue_ids, turn_ids=turn_ids, histories=histories,
            )  # fmt: skip
        rows, self._rows = self._rows, []
        if not rows:
            raise UserError("nothing to score", hint="give predictions and references, or add them first")
        found = KINDS[self.against](self.names, _columns(rows), self.options)
        return {key: value for score in found for key, value in _entries(score)}


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    names = list(rows[0])
    if any(row.keys() != rows[0].keys() for row in rows):
        raise UserError("some of what was added has ids or histories, and some has not", hint="give them throughout")
    return Columns(**{name: [row[name] for row in rows] for name in names})


def _entries(score: Score) -> Iterable[tuple[str, Any]]:
    yield score.metric, score.value
    for name in ("low", "high", "n", "signature"):
        yield f"{score.metric}_{name}", getattr(score, name)
    if score.value is None:
        yield f"{score.metric}_reason", score.reason


# -- which metrics there are -------------------------------------------------------------------------------------------


def _known(name: str, kind: str) -> bool:
    if kind == "states":
        return name in aggregate.METRICS or name.startswith("fga@")
    return name in {"texts": ("bleu",), "values": VALUES, "documents": tuple(scorers.METRICS)}[kind]


def _kind(names: Sequence[str]) -> str:
    """The first kind that has them all."""
    for kind in KINDS:
        if all(_known(name, kind) for name in names):
            return kind
    for name in names:
        if not any(_known(name, kind) for kind in KINDS):
            raise _unknown(name)
    raise UserError(f"{', '.join(names)} are not held against the same", hint="load them apart")


def _unknown(name: str, kind: str | None = None) -> UserError:
    known = [n for n in (*aggregate.names(), "bleu", *VALUES, *scorers.METRICS) if kind is None or _known(n, kind)]
    if name.startswith("sgsacc"):
        return UserError(f"'{name}' needs acts and a schema", hint="troth.nlg scores it from files")
    hint = near(name, known) or "known: " + ", ".join(dict.fromkeys(known))
    return UserError(f"no metric {f'against {kind} ' if kind else ''}is called '{name}'", hint=hint)


# -- how they are computed ---------------------------------------------------------------------------------------------


def _states(names: Sequence[str], given: Columns, options: Options) -> list[Score]:
    _without(given, "histories")
    found = sides(given)
    for name in names:
        if name.startswith(LOOKING_BACK) and not found.grouped:
            raise UserError(f"'{name}' needs to know which turns belong to one dialogue", hint=FLAT)
    chosen = options.profile or PROFILES[default_profile(options.schema, "jsonl")]
    scorer = Scorer(find_profile(chosen) if isinstance(chosen, str) else chosen, options.schema)
    join = Join()
    pairs = join.pairs(iter([("references", [*found.golds])]), iter([("predictions", [*found.preds])]))
    for pair in (*pairs, *join.rest("predictions")):
        try:
            scorer.add(pair.gold, pair.pred)
        except PredictionError as error:
            raise error.at(file="predictions") from error
        except UserError as error:
            raise error.at(file="references") from error
    scored = system("", scorer, options.schema)
    made = summed(scored, names, (), None, options.schema, resamples=options.resamples, seed=options.seed)
    return [score if found.grouped else _unbounded(score) for score in made]


def _texts(names: Sequence[str], given: Columns, options: Options) -> list[Score]:
    """Corpus BLEU, as `troth nlg` has it: a missing response is an empty one, turns without gold are left out."""
    _without(given, "histories", "turn_ids")
    if not overlap.available():
        raise UserError(overlap.MISSING)
    golds = [plain.text(gold, "a reference") for gold in given.references]
    said = [_response(text) for text in given.predictions]
    dialogues = _dialogues(given)
    rank = {name: place for place, name in enumerate(sorted(set(dialogues)))}
    chosen = [place for place, gold in enumerate(golds) if gold.strip()]
    sums = np.zeros((len(rank), 2 * overlap.ORDERS + 2))
    counts = overlap.counts([said[place] for place in chosen], [golds[place] for place in chosen])
    np.add.at(sums, [rank[dialogues[place]] for place in chosen], counts)
    recipe = _recipe("BLEU", overlap.signature(), "missing:zero", n=len(chosen))
    if not chosen:
        return [Score("", "bleu", "all", None, None, None, 0, recipe, "no gold utterance")]
    score = Score(
        "", "bleu", "all", *overlap.interval(sums, resamples=options.resamples, seed=options.seed), len(chosen), recipe
    )
    return [score if given.dialogue_ids is not None else _unbounded(score) for _ in names]


def _values(names: Sequence[str], given: Columns, options: Options) -> list[Score]:
    """Slot error rate, by the values that are listed in place of those that acts and schema ask for."""
    _without(given, "histories", "turn_ids")
    due = [_due(values) for values in given.references]
    wrong = [
        float(text is None or bool(slot_error.missed(values, _response(text))))
        for values, text in zip(due, given.predictions, strict=True)
    ]
    dialogues = _dialogues(given)
    made = []
    for name in names:
        cells = [
            (dialogue, bad)
            for dialogue, bad, values in zip(dialogues, wrong, due, strict=True)
            if values or name == "ser"
        ]
        recipe = _recipe(name.upper(), "unit:turn", "match:substring", "values:given", "missing:zero", n=len(cells))
        score = _mean(name, cells, sorted(set(dialogues)), recipe, "no turn has a value to give", options)
        made.append(score if given.dialogue_ids is not None else _unbounded(score))
    return made


def _documents(names: Sequence[str], given: Columns, options: Options) -> list[Score]:
    """Faithfulness to documents, as `troth ground` has it: intervals are over documents."""
    from troth.grounding.score import unit

    _without(given, "dialogue_ids", "turn_ids")
    histories = given.histories or [()] * len(given.predictions)
    items = [
        Grounded(str(place), plain.text(document, "a document"), _response(text), _history(history))
        for place, (document, text, history) in enumerate(
            zip(given.references, given.predictions, histories, strict=True)
        )
    ]
    units = [unit(item) for item in items]
    made = []
    for metric in scorers.metrics(names, options.models or Models()):
        values = scorers.scored(metric, items)
        cells = [(name, v) for name, v in zip(units, values, strict=True) if not isinstance(v, Unscored)]
        reasons = Counter(value.reason for value in values if isinstance(value, Unscored))
        recipe = _recipe(scorers.signature(metric), n=len(cells))
        why = reasons.most_common(1)[0][0] if reasons else ""
        made.append(_mean(metric.name, cells, sorted(set(units) - {""}), recipe, why, options))
    return made


KINDS: dict[str, Callable[[Sequence[str], Columns, Options], list[Score]]] = {
    "states": _states,
    "texts": _texts,
    "values": _values,
    "documents": _documents,
}


def _mean(
    name: str, cells: Sequence[tuple[str, float]], units: Sequence[str], recipe: str, why: str, options: Options
) -> Score:
    """Of numbers, each with the unit that it is drawn by."""
    index = {unit: place for place, unit in enumerate(units)}
    place = np.array([index[unit] for unit, _ in cells], dtype=np.int64)
    none = np.full(len(cells), -1, dtype=np.int64)
    parts = Parts(np.array([v for _, v in cells], dtype=np.float64), np.ones(len(cells)), place, none, none)
    (found,) = ratios([parts], units, resamples=options.resamples, seed=options.seed)
    reason = why if found.value is None else None
    return Score("", name, "all", found.value, found.low, found.high, found.n, recipe, reason)


def _unbounded(score: Score) -> Score:
    """Turns of one dialogue are not independent: an interval over single turns would be too narrow."""
    return msgspec.structs.replace(score, low=None, high=None)


def _recipe(*parts: str, n: int) -> str:
    return "|".join([*parts, f"n:{n}", f"v:{__version__}"])


def _without(given: Columns, *names: str) -> None:
    for name in names:
        if getattr(given, name) is not None:
            raise UserError(f"{name} have no place here", hint="leave them out")


def _dialogues(given: Columns) -> list[str]:
    return [str(name) for name in given.dialogue_ids or range(len(given.predictions))]


def _response(text: object) -> str:
    return "" if text is None else plain.text(text, "a prediction")


def _due(values: object) -> list[slot_error.Value]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError("a reference is the list of values that the response must give", hint='for example ["Leeds"]')
    return [slot_error.Value("", "", plain.text(value, "a value")) for value in values]


def _history(said: object) -> tuple[str, ...]:
    if isinstance(said, str) or not isinstance(said, Iterable):
        raise UserError("a history is the list of what was said before, oldest first")
    return tuple(plain.text(line, "what was said") for line in said)
