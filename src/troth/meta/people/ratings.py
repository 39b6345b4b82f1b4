"""Human studies of whole dialogues (FGA's paper, figure 2) and of two systems' responses (PMI-Faith's, figure 3).

- `fga`: people see each turn with gold's and the predicted state, and say of the whole dialogue whether they are
  satisfied with the tracker. `pearson:jga`, `pearson:aga`, `pearson:fga@0.5` are the correlations of the share of
  satisfied annotators with the metric's value of the dialogue.
- `pmi-decode`: people see a document, a dialogue and the responses of two systems, in random order and without names,
  and say agree, neutral or disagree for faithfulness, relevance and grammar. `agree:faithfulness` is the share of
  answers that are agree, for each system, as in the paper's table 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from troth import stats
from troth.core import names
from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.parts import Parts
from troth.core.randomness import generator
from troth.core.records import Grounded
from troth.core.result import Finding
from troth.core.score import NO_ESTIMATE, Estimate, Score, make_score
from troth.core.table import one_line
from troth.core.version import __version__
from troth.meta.labels.labelled import PEARSON
from troth.meta.people import sheets
from troth.meta.people.annotate import open_archive, select_system
from troth.meta.people.raters import KAPPA, RatedItem, kappa
from troth.meta.people.sheets import FGA_STUDY, PMI_STUDY, Answers
from troth.readers import grounded as readers
from troth.stats import estimates, intervals
from troth.stats.estimates import Cell, Resampling
from troth.stats.resampling import Array, divide, resample
from troth.storage import explorer, runs

CORRELATED = ("jga", "aga", "fga")  # metrics, or families of them, to correlate with ratings
SATISFIED = Metric("satisfied", "Satisfied", "share of answers that are satisfied with the tracker", unit="answer")
SHARES = {
    answer: Metric(answer, answer.capitalize(), f"share of answers that are {answer}", unit="answer",
                   better="lower" if answer == "disagree" else "higher")
    for answer in PMI_STUDY.categories
}  # fmt: skip


class RatedDialogue(msgspec.Struct, frozen=True):
    """A dialogue of the sheet, with the values of the metrics."""

    dialogue: str
    log: str
    values: dict[str, float]


class DialogueKey(msgspec.Struct, frozen=True):
    """The key of a sheet of whole dialogues."""

    study: Literal["fga"]
    troth: str
    source: str
    system: str
    seed: int
    recipes: dict[str, str]  # of the metrics
    items: dict[str, RatedDialogue]

    @property
    def mark(self) -> str:
        return sheets.hash_items([item.log for item in self.items.values()])


class RatedResponse(msgspec.Struct, frozen=True):
    """A response of the sheet, and the system that wrote it."""

    context: str  # id of document and dialogue; both systems have a response to it
    document: str
    dialog: str
    response: str
    system: str


class ResponseKey(msgspec.Struct, frozen=True):
    """The key of a sheet of responses of two systems."""

    study: Literal["pmi-decode"]
    troth: str
    systems: tuple[str, str]
    seed: int
    items: dict[str, RatedResponse]

    @property
    def mark(self) -> str:
        return sheets.hash_items([(item.document, item.dialog, item.response) for item in self.items.values()])

    def check(self, path: str) -> None:
        """Refuses a key that names a system other than its two, or lacks the response of one."""
        pairs = sorted((item.context, item.system) for item in self.items.values())
        if pairs != sorted((context, system) for context, _ in pairs[::2] for system in self.systems):
            what = "its responses are not one of each system for each context"
            raise UserError(what, file=path, hint="take the key that was written with the sheet")


def annotate_dialogues(
    run: names.Path, out: names.Path, *, dialogues: int = 100, seed: int = 0, system: str | None = None
) -> DialogueKey:
    """Writes a sheet of some dialogues of a run of `dst` to the new file `out` (.csv), and the key beside it."""
    source, sheet = names.path_of(run), names.path_of(out)
    sheets.check_sheet(sheet)
    record = runs.load(source)
    whole = [score for score in record.scores if score.group == ALL and score.metric.partition("@")[0] in CORRELATED]
    if record.command != "dst" or not whole:
        raise UserError("not a run with jga, aga or fga", file=source, hint="make one with troth dst … --out RUN")
    name = select_system(list(dict.fromkeys(score.system for score in whole)), system, source)
    recipes = {score.metric: score.identity for score in whole if score.system == name}
    values = _dialogue_values(source, name, list(recipes))
    views = [one for one in open_archive(source).dialogues if not one.set and one.id in values]
    logs = {one.id: format_log(one, name) for one in views}
    drawn = sorted(id for id, text in logs.items() if text)
    if not drawn:
        raise UserError("no dialogue with states to show", file=source, hint="make the run again")
    rng = generator(seed, "fga", "annotate")
    drawn = rng.sample(drawn, min(dialogues, len(drawn)))
    rows = [RatedDialogue(id, logs[id], values[id]) for id in drawn]
    items = sheets.number_items(rows, sheets.hash_items([one.log for one in rows]), "d")
    key = DialogueKey("fga", __version__, source, name, seed, recipes, items)
    sheets.write(sheet, FGA_STUDY, {id: (one.log,) for id, one in items.items()}, key)
    return key


def _dialogue_values(run: str, system: str, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """The value of each metric on each dialogue of the run, where it has one."""
    import polars as pl

    rows = runs.open(run).rows().filter((pl.col("system") == system) & pl.col("metric").is_in(metrics))
    sums = rows.group_by("dialogue", "metric").agg(pl.col("num").sum(), pl.col("den").sum())
    values: dict[str, dict[str, float]] = {}
    for dialogue, metric, num, den in sums.sort("dialogue", "metric").iter_rows():
        values.setdefault(dialogue, {})
        if den:
            values[dialogue][metric] = num / den
    return values


def format_log(dialogue: explorer.DialogueView, system: str) -> str:
    """A dialogue as figure 2 of the paper shows it; empty where the system has tracked no turn of it."""
    tracked = {turn.number: turn for track in dialogue.tracks if track.system == system for turn in track.tracked}
    lines, previous = [], ""
    for line in dialogue.utterances:
        if line.number is None:
            previous = line.text
            continue
        turn = tracked.get(line.number)
        if turn is not None:
            matched = bool(turn.units) and all(unit.joint == 1 for unit in turn.units)
            lines += [
                f"Turn: {line.number}", f"Sys : {one_line(previous)}", f"Usr : {one_line(line.text)}",
                f"GT : {_format_state(line.state)}", f"PR : {_format_state(turn.state)}", f"Matched : {matched}",
            ]  # fmt: skip
        previous = ""
    return "\n".join(lines)


def _format_state(state: explorer.States | None) -> str:
    if state is None:
        return "(not known)"
    shown = [
        f"{service}: " + ", ".join(f"{slot} = {' / '.join(values)}" for slot, values in sorted(slots.items()))
        for service, slots in sorted(state.items())
        if slots
    ]
    return one_line("; ".join(shown)) or "(empty)"


def dialogue_scores(
    votes: Mapping[str, Sequence[Answers]], key: DialogueKey | None, how: Resampling
) -> tuple[list[Score], list[Metric]]:
    """Correlations of ratings with metrics, the share of satisfied answers, and kappa."""
    raters = len(next(iter(votes.values())))
    cluster = {id: id if key is None else key.items[id].dialogue for id in votes}
    rated = [RatedItem(tuple(one for (one,) in answers), cluster[id]) for id, answers in votes.items()]
    recipe: dict[str, object] = {"study": FGA_STUDY.name, "annotators": raters}
    system = "people" if key is None else key.system
    parts = Parts.from_fractions(
        [(one.answers.count("yes"), raters) for one in rated], [(one.cluster, 0, "") for one in rated]
    )
    cell = Cell(SATISFIED, parts, recipe)
    scores = list(estimates.score_cells(system, [cell], list(cluster.values()), how))
    metrics = [SATISFIED]
    for name, of in ({} if key is None else key.recipes).items():
        metric = PEARSON.on(name)
        items = [] if key is None else [(key.items[id].values.get(name), answers) for id, answers in votes.items()]
        known = [(value, answers.count(("yes",)) / len(answers)) for value, answers in items if value is not None]
        scores.append(_pearson(system, metric, known, recipe | {"metric": f"[{of}]"}, how))
        metrics.append(metric)
    scores.append(kappa(rated, FGA_STUDY.categories, how, recipe))
    return scores, [*metrics, KAPPA]


def _pearson(
    system: str, metric: Metric, known: Sequence[tuple[float, float]], recipe: object, how: Resampling
) -> Score:
    """Pearson's correlation of values with ratings, a pair for each dialogue, with the expanded percentile interval."""
    table = np.array(known, dtype=np.float64).reshape(-1, 2)
    value = stats.pearson(table[:, 0], table[:, 1])
    if value is None:
        reason = "all dialogues have one value, or one rating" if len(table) else "no dialogue has a value"
        return make_score(system, metric, NO_ESTIMATE, recipe, reason=reason, n=len(table))
    x, y = (table - table.mean(axis=0)).T
    sums = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])

    def resampled_correlation(total: Array) -> Array:
        n, a, b, aa, bb, ab = total.T
        spread = np.maximum((n * aa - a * a) * (n * bb - b * b), 0)
        correlation: Array = divide(n * ab - a * b, np.where(spread > 1e-18, np.sqrt(spread), 0))
        return correlation.clip(-1, 1)

    count = intervals.enough_resamples(len(x), how.resamples) if len(x) > 1 else how.resamples
    drawn = resample([sums], resampled_correlation, resamples=count, seed=how.seed)
    (bounds,) = intervals.expanded_percentile(value, drawn, len(x))
    estimate = Estimate(value, bounds.low, bounds.high, len(table), bounds.reason)
    return make_score(system, metric, estimate, recipe)


def annotate_responses(
    *sources: names.Path, out: names.Path, contexts: int = 100, seed: int = 0, systems: Sequence[str] = ()
) -> ResponseKey:
    """Writes a sheet of responses of two systems to the same contexts to the new file `out` (.csv), and its key.

    `sources`: two files of responses, each with an optional name (`greedy=a.jsonl`), or one run of `ground` that holds
    two systems or more, of which `systems` names two. The order of the two responses is random for each context.
    """
    sheet = names.path_of(out)
    sheets.check_sheet(sheet)
    read = _read_responses(sources, list(systems))
    (first, ours), (second, theirs) = read.items()
    both = [id for id in ours if id in theirs and _context(ours[id]) == _context(theirs[id])]
    if not both:
        hint = "both need responses to the same contexts, under the same ids"
        raise UserError(f"'{first}' and '{second}' have no context in common", hint=hint)
    rng = generator(seed, "pmi-decode", "annotate")
    rows: list[RatedResponse] = []
    for id in rng.sample(sorted(both), min(contexts, len(both))):
        pair = [(first, ours[id]), (second, theirs[id])]
        rng.shuffle(pair)
        rows += [RatedResponse(id, one.document, "\n".join(one.history), one.response, system) for system, one in pair]
    marked = sheets.hash_items([(one.document, one.dialog, one.response) for one in rows])
    items = sheets.number_items(rows, marked, "r")
    key = ResponseKey("pmi-decode", __version__, (first, second), seed, items)
    sheets.write(sheet, PMI_STUDY, {id: (one.document, one.dialog, one.response) for id, one in items.items()}, key)
    return key


def _context(item: Grounded) -> tuple[str, tuple[str, ...]]:
    return item.document, item.history


def _read_responses(sources: Sequence[names.Path], systems: Sequence[str]) -> dict[str, dict[str, Grounded]]:
    """The responses of two systems by id; empty ones are left out."""
    if len(sources) == 2:
        read = {name: list(readers.read(path, None)) for name, path in names.name_paths(sources, "file")}
    elif len(sources) == 1:
        path = names.path_of(sources[0])
        read = _responses_of_run(open_archive(path).responses)
        if len(systems) != 2 and len(read) != 2:
            raise UserError(f"{len(read)} systems in it", file=path, hint="two are compared; choose among "
                            + (", ".join(read) or "runs of troth ground"))  # fmt: skip
        for name in systems:
            if name not in read:
                raise UserError(
                    f"no system is called '{name}'", file=path, hint=suggest_name(name, read) or ", ".join(read)
                )
        read = {name: read[name] for name in systems or read}
    else:
        raise UserError(f"{len(sources)} files are given", hint="two files of responses, or one run of troth ground")
    if len(read) != 2:
        raise UserError("both files have one name", hint="name them: greedy=a.jsonl pmi=b.jsonl")
    return {name: {item.id: item for item in items if item.response.strip()} for name, items in read.items()}


def _responses_of_run(responses: Iterable[explorer.ResponseView]) -> dict[str, list[Grounded]]:
    read: dict[str, list[Grounded]] = {}
    for view in responses:
        item = Grounded(view.id, view.document, view.text, view.history, source=view.source)
        read.setdefault(view.system, []).append(item)
    return read


class ResponseRating(NamedTuple):
    """All answers of all annotators about one response."""

    document: str
    system: str
    answers: Sequence[Answers]  # by annotator, then by question


def response_scores(
    votes: Mapping[str, Sequence[Answers]], key: ResponseKey | None, how: Resampling
) -> tuple[list[Score], list[Metric]]:
    """The share of each answer for each system and dimension, the difference of the systems, and kappa."""
    raters = len(next(iter(votes.values())))
    recipe: dict[str, object] = {"study": PMI_STUDY.name, "annotators": raters}
    rated = [
        ResponseRating(id if key is None else key.items[id].document, "people" if key is None else key.items[id].system,
                       answers) for id, answers in votes.items()
    ]  # fmt: skip
    documents = sorted({rating.document for rating in rated})
    scores: list[Score] = []
    for system in dict.fromkeys(("people",) if key is None else key.systems):
        own_ratings = [rating for rating in rated if rating.system == system]
        scores += estimates.score_cells(system, list(_cells(own_ratings, recipe)), documents, how)
    metrics = [SHARES[answer].on(name) for name in PMI_STUDY.questions for answer in PMI_STUDY.categories]
    for index, name in enumerate(PMI_STUDY.questions):
        metric = KAPPA.on(name)
        items = [RatedItem(tuple(answers[index] for answers in rating.answers), rating.document) for rating in rated]
        scores.append(kappa(items, PMI_STUDY.categories, how, recipe, metric))
        metrics.append(metric)
    return scores, metrics


def _cells(rated: Sequence[ResponseRating], recipe: object) -> Iterator[Cell]:
    keys = [(rating.document, 0, "") for rating in rated]
    for index, name in enumerate(PMI_STUDY.questions):
        for answer in PMI_STUDY.categories:
            counts = [sum(answers[index] == answer for answers in rating.answers) for rating in rated]
            parts = Parts.from_fractions(
                [(count, len(rating.answers)) for count, rating in zip(counts, rated, strict=True)], keys
            )
            yield Cell(SHARES[answer].on(name), parts, recipe, n=len(rated))


class RatingDifference(Finding, frozen=True, tag="rating difference"):
    """The second system against the first, in the share of agree."""

    metric: str
    base: str
    system: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float


def compare_systems(
    votes: Mapping[str, Sequence[Answers]], key: ResponseKey, how: Resampling
) -> list[RatingDifference]:
    """Both systems compared on each dimension, document by document, with Holm's correction."""
    documents = sorted({one.document for one in key.items.values()})
    sums = []
    for system in key.systems:
        mine = [ResponseRating(key.items[id].document, system, said)
                for id, said in votes.items() if key.items[id].system == system]  # fmt: skip
        cells = [cell for cell in _cells(mine, {}) if cell.metric.of == "agree"]
        sums.append((cells, estimates.stack_sums([cell.parts for cell in cells], documents)))
    (cells, a), (_, b) = sums
    tested = stats.compare(*a, *b, resamples=max(how.resamples, 10_000), seed=how.seed)
    corrected = stats.holm([one.p_randomization for one in tested])
    return [
        RatingDifference(cell.metric.name, *key.systems, one.difference, one.low, one.high, one.p_randomization, p)
        for cell, one, p in zip(cells, tested, corrected, strict=True)
    ]
