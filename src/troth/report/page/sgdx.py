"""SGD-X: does a tracker stay right when the schema is worded differently? The card and its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from troth.core.metric import PERCENT
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.cards import CardQuestion, card, examples_per_system, metrics_grid
from troth.report.page.contests import Contest
from troth.report.page.model import Block, Card, Cell, Chart, Example, Examples, Piece
from troth.report.sources import SHOWN, ScoredSystem
from troth.robustness.sgdx import VaryingUnit

QUESTION = CardQuestion(
    "Does it stay right when the schema is worded differently?", "robustness", "the mean of what it is under each", 1
)


class SgdxMetrics(NamedTuple):
    """Names of the metrics of a run: all are derived from one metric, by default JGA."""

    base: str
    original: str
    average: str  # over the wordings
    sensitivity: str
    all_wrong: str
    wordings: dict[str, str]  # wording to metric


def metrics_of(system: ScoredSystem) -> SgdxMetrics:
    """The metrics of a run by their meaning."""
    metrics = system.source.result.metrics
    base = next((metric.of for metric in metrics if metric.name == f"ss_{metric.of}"), "jga")
    original, drop, sensitivity, wrong = f"{base}_orig", f"{base}_drop", f"ss_{base}", f"all_wrong_{base}"
    derived = {metric.name: metric.variant for metric in system.derived_metrics(base)}
    wordings = {variant: name for name, variant in derived.items() if name == f"{base}:{variant}"}
    named = {original, drop, sensitivity, wrong, *wordings.values()}
    average = next((name for name in derived if name not in named), base)
    return SgdxMetrics(base, original, average, sensitivity, wrong, wordings)


def headline(systems: Sequence[ScoredSystem]) -> list[str]:
    """The metric of the summary."""
    return [metrics_of(systems[0]).average] if systems else []


def make_card(contest: Contest) -> Card | None:
    return card(QUESTION, contest, lambda system: metrics_of(system).average, _sentence, _facts)


def _sentence(system: ScoredSystem, score: Score) -> str:
    called = metrics_of(system)
    value = f"{words.percent(score.value, 0)}%"
    # Only joint accuracy counts units that are right; other metrics are averages.
    right = f"Right in {value} of {words.unit_noun(score)} on average"
    text = right if called.base == "jga" else f"{_title(system)} is {value}"
    text += f" over {words.count(len(called.wordings), 'wording')}"
    original = system.value(called.original)
    return text + (f", {words.percent(original, 0)}% under the original schema." if original is not None else ".")


def _title(system: ScoredSystem) -> str:
    """The title of the metric that the run's metrics derive from; the run itself may not have it."""
    called = metrics_of(system)
    first, wording = next(((name, label) for label, name in called.wordings.items()), (called.base, ""))
    return words.base_title(system.metric(first).title, wording)


def _facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    called = metrics_of(system)
    sensitivity, wrong = system.known_score(called.sensitivity), system.value(called.all_wrong)
    if sensitivity is not None:
        shown = words.number(sensitivity.value, sensitivity.scale)
        yield f"Schema sensitivity {shown}; 0 would be perfectly steady."
    if wrong:
        yield f"{words.percent(wrong)}% are wrong under every wording, which counts as steady."
    services = system.groups(called.sensitivity, "service")
    if len(services) > 1:
        fragile = max(services, key=lambda name: services[name].value or 0.0)
        shown = words.number(services[fragile].value, system.metric(called.sensitivity).scale)
        yield f"Most fragile service: {fragile} (sensitivity {shown})."


def blocks(contest: Contest, index: int) -> list[Block]:
    """What the section shows; `place`: of the contest in it."""
    systems = contest.systems
    single = len(systems) == 1
    rows: list[list[Cell]] = []
    for system in systems:
        called = metrics_of(system)
        for group in ("all", "seen", "unseen") if single else ("all",):
            rows += (
                [system.name, group, label, score.value, score.low, score.high, score.n]
                for label, name in {"original": called.original, **called.wordings}.items()
                if (score := system.known_score(name, group))
            )
    points = [point for system in systems for point in _points(system)]
    split = single and any(point[2] != "all" for point in points)
    title, scale = _title(systems[0]), systems[0].metric(metrics_of(systems[0]).sensitivity).scale
    scores = [score for system in systems if (score := system.known_score(metrics_of(system).average))]
    over = f"{title} over {words.unit_noun(*scores)}"
    return [
        Chart(
            "wordings", "lines", f"{title} under each wording of the schema",
            ["system", "services", "wording", "value", "low", "high", "n"], rows, "wording", "value",
            "services" if single else "system", "low", "high", x_title="wording", y_title=over, percent=True,
            note="A steady system is a level line. SGD-X's variants move further from the original from v1 to v5.",
        ),
        Chart(
            "sensitivity", "scatter", "Sensitivity against accuracy, by service",
            ["system", "service", "services", "accuracy", "sensitivity"], points, "accuracy", "sensitivity",
            "services" if split else "system", label="service", x_title=f"{over}, mean over the wordings",
            y_title="schema sensitivity", percent=True, plain="" if scale in PERCENT else "sensitivity",
            note="Lower right is best: right, and steady. A service that is always wrong is steady, too.",
        ),
        metrics_grid("sgdx", contest, index=index),
        *_wavering_examples(systems),
    ]  # fmt: skip


def _points(system: ScoredSystem) -> Iterator[list[Cell]]:
    called, seen = metrics_of(system), system.source.header.seen
    accuracy = system.groups(called.average, "service")
    for service, score in system.groups(called.sensitivity, "service").items():
        if service in accuracy:
            kind = "all" if seen is None else "seen" if service in seen else "unseen"
            yield [system.name, service, kind, accuracy[service].value, score.value]


def _wavering_examples(systems: Sequence[ScoredSystem]) -> list[Block]:
    """Units with a score that depends on the wording; for several systems some of each, to be selected by system."""
    items: list[Example] = []
    for system in systems:
        texts = system.source.tallies.texts
        for unit in system.findings(VaryingUnit)[: examples_per_system(SHOWN, systems)]:
            said, service = texts.get((unit.dialogue, unit.turn)), unit.service or ""
            items.append(
                Example(
                    service if len(systems) == 1 else f"{system.name}: {service}", f"{unit.dialogue}, turn {unit.turn}",
                    [Piece(said)] if said else [],
                    [f"{label} {words.percent(value, 0)}" for label, value in unit.values.items()],
                    unit.dialogue, str(unit.turn), group=service if len(systems) == 1 else system.name,
                )
            )  # fmt: skip
    total = sum(len(system.findings(VaryingUnit)) for system in systems)
    return [Examples("Units that waver most", items, "Score under each wording, in percent.", total)] if items else []
