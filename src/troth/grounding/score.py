"""Score grounded responses: files in, every metric's mean out, with intervals, signatures and a row a response.

Intervals are over documents: responses from one document share its difficulty, so all of them are drawn together. What
a metric cannot score has no part in its mean, and is counted with the reason.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.score import Score
from troth.core.version import __version__
from troth.grounding import metrics as scorers
from troth.grounding.calibration import Data, Fitted
from troth.grounding.calibration import load as load_calibration
from troth.grounding.metrics import Metric, Models, Unscored, Value
from troth.readers import grounded as readers
from troth.storage import files
from troth.storage.runs import scale_of
from troth.tracking.metrics import Parts
from troth.tracking.score import labels
from troth.tracking.scores import Found, ratios

if TYPE_CHECKING:
    import polars as pl

DEFAULT = ("u_f1", "bleu", "rouge_l")

Steps = Callable[[str, int, int], None]  # a metric, how much of it is done, how much there is


@dataclass(frozen=True)
class Loaded:
    """Responses, and the files that they come from."""

    items: list[Grounded]
    data: tuple[Data, ...]


class Verdict(NamedTuple):
    faithful: bool
    probability: float


@dataclass(frozen=True)
class System:
    """One file's responses, scored; nothing summed yet."""

    name: str
    items: list[Grounded]
    values: dict[str, list[Value]]  # by metric, one a response
    fitted: Mapping[str, Fitted] = field(default_factory=dict)  # where a calibration judges the metric

    @cached_property
    def units(self) -> list[str]:
        """What each response is drawn by."""
        return [unit(item) for item in self.items]

    @cached_property
    def judged(self) -> dict[str, list[Verdict | None]]:
        """What the calibration says of each response, by metric; None where there is no number."""
        made: dict[str, list[Verdict | None]] = {}
        for name, judge in self.fitted.items():
            numbers = np.array(
                [value for value in self.values[name] if not isinstance(value, Unscored)], dtype=np.float64
            )
            said = zip(judge.faithful(numbers).tolist(), judge.probability(numbers).tolist(), strict=True)
            made[name] = [None if isinstance(value, Unscored) else Verdict(*next(said)) for value in self.values[name]]
        return made

    def counts(self) -> dict[str, int]:
        """What there is, and what has no score and why."""
        found = {"responses": len(self.items), "documents": len(set(self.units) - {""})}
        for name, values in self.values.items():
            why = Counter(value.reason for value in values if isinstance(value, Unscored))
            found |= {f"{name}: {reason}": count for reason, count in sorted(why.items())}
        return found


@dataclass(frozen=True)
class Result(Found):
    """Scores with their intervals, and the responses that they come from."""

    scores: list[Score]
    systems: list[System]
    metrics: list[str]
    signatures: dict[str, str]
    notes: list[str] = field(default_factory=list)  # what the user should know besides

    def responses(self) -> Iterator[dict[str, Any]]:
        """One row a response with every metric; None where there is no number, and `reasons` says why."""
        for system in self.systems:
            for place, item in enumerate(system.items):
                yield _response(system, item, place)

    def rows(self) -> pl.DataFrame:
        """One row a response and metric, `num` over `den`. `dialogue` is what intervals are over: the document."""
        return rows(self.systems)


def ground(
    *data: str,
    metrics: Sequence[str] = DEFAULT,
    calibration: str | None = None,
    format: str | None = None,
    models: Models | None = None,
    resamples: int = 1000,
    seed: int = 0,
    steps: Steps | None = None,
) -> Result:
    """Score the responses of files, each a system: paths, optionally as `name=path`.

    `metrics`: names of the registry. `calibration`: a file of `troth meta fit`; with it every response has a verdict
    and `faithful:METRIC` is the share of faithful ones. `models`: the ones to ask, where they should not be the
    default ones: `Models(nli=…, lm=…, cache=…)`.
    """
    if not data:
        raise UserError("no data is named", hint="for example responses.jsonl, or name=responses.jsonl")
    judge = None if calibration is None else load_calibration(calibration)
    chosen = scorers.metrics(metrics, models or Models())
    signatures = {metric.name: scorers.signature(metric) for metric in chosen}
    try:
        fitted = {} if judge is None else judge.matching(signatures)
    except UserError as error:
        raise error.at(file=calibration) from error
    called = labels(data, "file")
    loaded = [load([path], format) for _, path in called]
    everything = [item for one in loaded for item in one.items]
    values = {metric.name: values_of(metric, everything, steps) for metric in chosen}
    systems: list[System] = []
    start = 0
    for (name, _), one in zip(called, loaded, strict=True):
        end = start + len(one.items)
        systems.append(System(name, one.items, {key: all[start:end] for key, all in values.items()}, fitted))
        start = end
    scores = [score for system in systems for score in _scores(system, signatures, resamples=resamples, seed=seed)]
    return Result(scores, systems, list(signatures), signatures, _notes(systems, chosen, judge is not None, fitted))


def load(paths: Sequence[str], format: str | None = None) -> Loaded:
    """All responses of some files."""
    items: list[Grounded] = []
    data: list[Data] = []
    for path in paths:
        for document, found in readers.batches(path, format):
            name = Path(document.name).name
            data.append(Data(name, len(found), hashlib.sha256(document.data).hexdigest()))
            items += found
    if not items:
        raise UserError("no response in it", file=paths[0], hint="see docs/formats.md for the layouts")
    return Loaded(items, tuple(data))


def values_of(metric: Metric, items: Sequence[Grounded], steps: Steps | None) -> list[Value]:
    progress = None if steps is None else lambda done, total: steps(metric.name, done, total)
    return scorers.scored(metric, items, progress=progress)


def unit(item: Grounded) -> str:
    """What responses are drawn by: a short name for the document; none for an empty one, which nothing can score."""
    if not item.document.strip():
        return ""
    return hashlib.sha256(item.document.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def by_group(items: Sequence[Grounded]) -> dict[str, list[int]]:
    """Places of all responses, of each source, and of each label."""
    groups: dict[str, list[int]] = {"all": list(range(len(items)))}
    further: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.source:
            further.setdefault(f"source:{item.source}", []).append(place)
        if item.label is not None:
            further.setdefault(f"label:{item.label}", []).append(place)
    return groups | {name: further[name] for name in sorted(further, key=lambda name: (name[0] == "l", name))}


# -- scores ------------------------------------------------------------------------------------------------------------


def _columns(system: System) -> dict[str, list[float | None]]:
    """Every metric as numbers, and its verdicts as 1 and 0; None where there is no number."""
    found: dict[str, list[float | None]] = {}
    for name, values in system.values.items():
        found[name] = [None if isinstance(value, Unscored) else value for value in values]
        if name in system.judged:
            found[f"faithful:{name}"] = [None if one is None else float(one.faithful) for one in system.judged[name]]
    return found


def _scores(system: System, signatures: Mapping[str, str], *, resamples: int, seed: int) -> Iterator[Score]:
    units = system.units
    documents = sorted(set(units) - {""})
    index = {name: place for place, name in enumerate(documents)}
    cells: list[tuple[str, str]] = []
    parts: list[Parts] = []
    groups = by_group(system.items)
    for name, numbers in _columns(system).items():
        for group, places in groups.items():
            able = [(index[units[place]], number) for place in places if (number := numbers[place]) is not None]
            cells.append((name, group))
            parts.append(_parts(able))
    for (name, group), found in zip(cells, ratios(parts, documents, resamples=resamples, seed=seed), strict=True):
        if group == "all" or found.n:
            recipe = _signature(name, group, found.n, signatures, system.fitted)
            reason = None if found.value is not None else _why(system, name)
            bounds = (found.low, found.high)
            yield Score(
                system.name, name, group, found.value, *bounds, found.n, recipe, reason, scale_of("ground", name)
            )


def _parts(able: Sequence[tuple[int, float]]) -> Parts:
    num = np.array([number for _, number in able], dtype=np.float64)
    place = np.array([place for place, _ in able], dtype=np.int64)
    none = np.full(len(able), -1, dtype=np.int64)
    return Parts(num, np.ones(len(able)), place, none, none)


def _why(system: System, name: str) -> str:
    """The commonest reason why a metric has no number at all."""
    values = system.values[name.removeprefix("faithful:")]
    reasons = Counter(value.reason for value in values if isinstance(value, Unscored))
    return reasons.most_common(1)[0][0]


def _signature(name: str, group: str, n: int, signatures: Mapping[str, str], fitted: Mapping[str, Fitted]) -> str:
    base = name.removeprefix("faithful:")
    parts = [signatures[base]]
    if base != name:
        parts = ["FAITHFUL", signatures[base], f"low:{fitted[base].low:.6g}", f"high:{fitted[base].high:.6g}"]
        parts.append(f"threshold:{fitted[base].threshold:.6g}")
    if group != "all":
        parts.append(f"group:{group}")
    return "|".join([*parts, f"n:{n}", f"v:{__version__}"])


def _notes(
    systems: Sequence[System], metrics: Sequence[Metric], judged: bool, fitted: Mapping[str, Fitted]
) -> list[str]:
    made: list[str] = []
    for system in systems:
        if all(not item.document.strip() for item in system.items):
            where = "docs/formats.md says where each format takes it from, and what Topical-Chat needs"
            made.append(f"{system.name}: no response has a document; {where}")
        for name, values in system.values.items():
            why = Counter(value.reason for value in values if isinstance(value, Unscored))
            made += [f"{system.name}: {name}: {n} of {len(values)} not scored: {reason}" for reason, n in why.items()]
    made += [f"{metric.name}: {remark}" for metric in metrics for remark in metric.remarks]
    without = [name for name in systems[0].values if judged and name not in fitted]
    if without:
        made.append(f"no verdict: the calibration has no {', '.join(without)}")
    return made


def rows(systems: Sequence[System]) -> pl.DataFrame:
    import polars as pl

    made = [
        (system.name, name, key, item.id, item.source, item.label, num, 1.0)
        for system in systems
        for name, numbers in _columns(system).items()
        for key, item, num in zip(system.units, system.items, numbers, strict=True)
        if num is not None
    ]
    texts = dict.fromkeys(("system", "metric", "dialogue", "id", "source"), pl.String)
    return pl.DataFrame(made, schema={**texts, "label": pl.Int64, "num": pl.Float64, "den": pl.Float64}, orient="row")


# -- one row a response ------------------------------------------------------------------------------------------------


def _response(system: System, item: Grounded, place: int) -> dict[str, Any]:
    row: dict[str, Any] = {"system": system.name, "id": item.id, "source": item.source, "label": item.label}
    values = {name: found[place] for name, found in system.values.items()}
    row |= {name: None if isinstance(value, Unscored) else value for name, value in values.items()}
    reasons = {name: value.reason for name, value in values.items() if isinstance(value, Unscored)}
    if reasons:
        row["reasons"] = reasons
    judged = {name: one for name, found in system.judged.items() if (one := found[place]) is not None}
    if judged:
        row["faithful"] = {name: one.faithful for name, one in judged.items()}
        row["probability"] = {name: one.probability for name, one in judged.items()}
    return row


def write_responses(result: Result, out: str) -> None:
    """Every response's row as JSONL, whole or not at all."""
    encoder = msgspec.json.Encoder()
    with files.new_file(out) as file:
        for row in result.responses():
            file.write(encoder.encode(row) + b"\n")
