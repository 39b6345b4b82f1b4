"""SGD-X: does a tracker stay right when the schema is worded otherwise? The card and its part of the section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from troth.core.score import Score
from troth.report.page import words
from troth.report.page.differences import Differences, told
from troth.report.page.model import Block, Card, Cell, Chart, Entry, Example, Examples, Piece, Source
from troth.report.page.sources import Item, details, systems
from troth.report.page.tracking import metrics_table

QUESTION = "Does it stay right when the schema is worded otherwise?"
SHOWN = 60  # examples on the page


def items(sources: Sequence[Source]) -> list[Item]:
    return [(source, name) for source in sources if source.command == "robust sgdx" for name in systems(source)]


def headline(found: Sequence[Item]) -> list[str]:
    """The metrics that the summary speaks of."""
    return [_average(found[0][0])] if found else []


def card(found: Sequence[Item], beyond: Differences) -> Card | None:
    entries = []
    metric = ""
    for source, system in found:
        metric = metric or _average(source)
        score = source.score(_average(source), system)
        if score is None or score.value is None:
            continue
        name = source.called(system)
        mark, better = told(beyond.get((name, _average(source))))
        entries.append(
            Entry(
                name, score.value, score.low, score.high, score.n, score.signature,
                _sentence(source, system, score), _facts(source, system), mark, better,
            )
        )  # fmt: skip
    return (
        Card(QUESTION, "robustness", words.name(metric), entries, "the mean of what it is under each")
        if entries
        else None
    )


def _base(source: Source) -> str:
    """The metric that the run is about; JGA unless another was asked for."""
    return next((s.metric.removeprefix("ss_") for s in source.scores if s.metric.startswith("ss_")), "jga")


def _average(source: Source) -> str:
    base = _base(source)
    every = [s.metric for s in source.scores if s.metric.startswith(f"{base}_")]
    rest = [metric for metric in every if metric not in (f"{base}_orig", f"{base}_drop")]
    return next((metric for metric in rest if words.over_wordings(metric) == base), rest[0] if rest else base)


def wordings(source: Source) -> list[str]:
    base = _base(source)
    return list(dict.fromkeys(s.metric.partition(":")[2] for s in source.scores if s.metric.startswith(f"{base}:")))


def _sentence(source: Source, system: str, score: Score) -> str:
    base = _base(source)
    # Only joint accuracy counts units that are right; other metrics are averages.
    value = f"{words.percent(score.value, 0)}%"
    right = f"Right in {value} of {words.unit(score.signature)} on average"
    text = right if base == "jga" else f"{words.name(base)} is {value}"
    text += f" over {words.count(len(wordings(source)), 'wording')}"
    original = source.score(f"{base}_orig", system)
    if original is not None and original.value is not None:
        text += f", {words.percent(original.value, 0)}% under the original schema"
    return text + "."


def _facts(source: Source, system: str) -> list[str]:
    base = _base(source)
    facts = []
    ss, wrong = (source.score(f"{prefix}_{base}", system) for prefix in ("ss", "all_wrong"))
    if ss is not None and ss.value is not None:
        facts.append(f"Schema sensitivity {ss.value:.2f}; 0 would be perfectly steady.")
    if wrong is not None and wrong.value:
        facts.append(f"{words.percent(wrong.value)}% are wrong under every wording, which counts as steady.")
    services = {
        s.group.removeprefix("service:"): s.value
        for s in source.scores
        if s.metric == f"ss_{base}" and s.system == system and s.group.startswith("service:") and s.value is not None
    }
    if len(services) > 1:
        fragile = max(services, key=lambda name: services[name])
        facts.append(f"Most fragile service: {fragile} (sensitivity {services[fragile]:.2f}).")
    return facts


def blocks(found: Sequence[Item], beyond: Differences) -> list[Block]:
    made: list[Block] = []
    single = len(found) == 1
    rows: list[list[Cell]] = []
    points: list[list[Cell]] = []
    for source, system in found:
        name, base = source.called(system), _base(source)
        groups = [g for g in ("all", "seen", "unseen") if single or g == "all"]
        for group in groups:
            listed = [("original", source.score(f"{base}_orig", system, group))]
            listed += [(label, source.score(f"{base}:{label}", system, group)) for label in wordings(source)]
            rows += [
                [name, group, label, s.value, s.low, s.high, s.n]
                for label, s in listed
                if s is not None and s.value is not None
            ]
        points += _points(source, system)
    base = words.short(_base(found[0][0]))
    made.append(
        Chart(
            "wordings", "lines", f"{base} under each wording of the schema",
            ["system", "services", "wording", "value", "low", "high", "n"], rows, "wording", "value",
            "services" if single else "system", "low", "high", x_title="wording", y_title=base, percent=True,
            note="A steady system is a level line. SGD-X's variants move further from the original from v1 to v5.",
        )
    )  # fmt: skip
    if points:
        split = single and any(row[2] != "all" for row in points)
        made.append(
            Chart(
                "sensitivity", "scatter", "Sensitivity against accuracy, by service",
                ["system", "service", "services", "accuracy", "sensitivity"], points, "accuracy", "sensitivity",
                "services" if split else "system", label="service", x_title=f"{base} over the wordings",
                y_title="schema sensitivity", percent=True,
                note="Lower right is best: right, and steady. A service that is always wrong is steady, too.",
            )
        )  # fmt: skip
    made.append(metrics_table(found, beyond, id="sgdx"))
    for source, system in found:
        made += _wavering(source, "" if single else source.called(system))
    return made


def _points(source: Source, system: str) -> list[list[Cell]]:
    base, average = _base(source), _average(source)
    seen = source.archive.header.seen if source.archive is not None else None
    rows: list[list[Cell]] = []
    for score in source.scores:
        if score.metric != f"ss_{base}" or score.system != system or not score.group.startswith("service:"):
            continue
        service = score.group.removeprefix("service:")
        accuracy = source.score(average, system, score.group)
        if accuracy is not None and accuracy.value is not None and score.value is not None:
            kind = "all" if seen is None else "seen" if service in seen else "unseen"
            rows.append([source.called(system), service, kind, accuracy.value, score.value])
    return rows


def _wavering(source: Source, name: str) -> list[Block]:
    items = []
    texts = _said(source)
    for unit in details(source)[:SHOWN]:
        values = unit.get("values")
        if not isinstance(values, Mapping):
            continue
        facts = [f"{label} {words.percent(float(value), 0)}" for label, value in values.items()]
        where = f"{unit.get('dialogue')}, turn {unit.get('turn')}"
        service = str(unit.get("service") or "")
        said = texts.get((str(unit.get("dialogue")), unit.get("turn")), "")
        items.append(
            Example(
                service,
                where,
                [Piece(said)] if said else [],
                facts,
                str(unit.get("dialogue", "")),
                str(unit.get("turn", "")),
                group=service,
            )
        )
    title = "Units that waver most" + (f" under {name}" if name else "")
    return [Examples(title, items, "Score under each wording, in percent.", len(source.details))] if items else []


def _said(source: Source) -> dict[tuple[str, object], str]:
    """What the user said, by dialogue and turn."""
    kept = source.archive.dialogues if source.archive is not None else ()
    return {(one.id, said.number): said.text for one in kept for said in one.utterances if said.number is not None}
