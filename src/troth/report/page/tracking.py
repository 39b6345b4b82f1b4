"""State tracking: the card and the section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from troth.core.score import Score
from troth.report.page import verdicts, words
from troth.report.page.differences import Differences, footnote, told
from troth.report.page.model import (
    Block,
    Card,
    Cell,
    Chart,
    Entry,
    Grid,
    Heading,
    Rule,
    Section,
    Source,
    Text,
    unrounded,
)
from troth.report.page.sources import Item, Ratio, chosen, profiles, ratios, sums
from troth.storage.explorer import KINDS

QUESTION = "Does it track what the user wants?"
HEADLINE = ("jga", "turn_match")
KIND_COLOURS = {"missed": 1, "invented": 3, "wrong": 0, "stale": 4}
HOW = {"missed": "missed", "invented": "invented", "wrong": "given a wrong value", "stale": "left stale"}
WORST = 15
LEAST = 5  # dialogues that a turn position must have to be drawn


def items(sources: Sequence[Source]) -> list[Item]:
    """Systems of tracking runs, each under the first of its profiles."""
    return [(source, names[0]) for source in sources if source.command == "dst" for names in profiles(source)]


# -- card --------------------------------------------------------------------------------------------------------------


def card(found: Sequence[Item], beyond: Differences) -> Card | None:
    entries = []
    for source, system in found:
        score = source.score("jga", system)
        if score is not None and score.value is not None:
            entries.append(_entry(source, system, score, beyond))
    return Card(QUESTION, "tracking", words.name("jga"), entries, words.about("jga")) if entries else None


def _entry(source: Source, system: str, score: Score, beyond: Differences) -> Entry:
    name = source.called(system)
    mark, better = told(beyond.get((name, "jga")))
    return Entry(
        name, score.value, score.low, score.high, score.n, score.signature, _sentence(source, system, score),
        _facts(source, system), mark, better,
    )  # fmt: skip


def _sentence(source: Source, system: str, score: Score) -> str:
    units = words.unit(score.signature)
    start = f"Right in {words.percent(score.value, 0)}% of {units}"
    wrong = wrong_units(source, system)
    if not wrong.all:
        return f"{start}: nothing is wrong."
    if wrong.inherited is None:
        return f"{start}."
    if not wrong.predicted:
        return f"{start}; the others have no prediction."
    whole = wrong.predicted == wrong.all
    if not wrong.inherited:
        every = "every mistake is made where it stands" if whole else "no wrong prediction inherits an earlier mistake"
        return f"{start}; {every}."
    which = "wrong ones" if whole else "wrong predictions"
    return f"{start}; {words.share(wrong.inherited / wrong.predicted)} of the {which} inherit an earlier mistake."


@dataclass(frozen=True)
class Wrong:
    """Units that are wrong, those of them with a prediction, and of these, those wrong only through an earlier turn."""

    all: int
    predicted: int
    inherited: int | None  # None: the run has no turn match, or does not say which turns lack a prediction

    @property
    def piles_up(self) -> bool:
        return self.inherited is not None and self.inherited > self.all / 2


def wrong_units(source: Source, system: str) -> Wrong:
    import polars as pl

    keys = ["dialogue", "turn", *(["service"] if "service" in source.rows.columns else [])]
    jga, match = (chosen(source, system, metric).select(*keys, "num") for metric in HEADLINE)
    wrong = jga.filter(pl.col("num") < 1.0)
    lacking = verdicts.unpredicted(source, system)
    there = [key not in lacking for key in wrong.select("dialogue", "turn").iter_rows()]
    predicted = wrong.filter(pl.Series(there, dtype=pl.Boolean))
    missing = source.counts.get(system, {})
    untold = not source.is_kept and bool(missing.get("missing_dialogues") or missing.get("missing_turns"))
    if not match.height or untold:
        return Wrong(wrong.height, predicted.height, None)
    both = predicted.join(match, on=keys, suffix="_match", nulls_equal=True)
    return Wrong(wrong.height, predicted.height, both.filter(pl.col("num_match") == 1.0).height)


def _missing(source: Source, system: str) -> Iterator[str]:
    """Predictions that are not there."""
    counts = source.counts.get(system, {})
    for what, noun in (("missing_dialogues", "dialogue"), ("missing_turns", "turn")):
        number = counts.get(what, 0)
        if number:
            verb = "has no prediction and counts" if number == 1 else "have no prediction and count"
            yield f"{words.count(number, noun)} {verb} as wrong."


def _facts(source: Source, system: str) -> list[str]:
    facts = list(_missing(source, system))
    positions = by_turn(source, system, "jga")
    common = [(turn, one) for turn, one in positions.items() if one.n >= next(iter(positions.values())).n / 10]
    if len(common) > 2:
        first, last = common[0], common[-1]
        if first[1].value is not None and last[1].value is not None and last[1].value < first[1].value:
            ends = [f"{words.percent(one.value, 0)}% in turn {turn}" for turn, one in (first, last)]
            start = "Mistakes pile up: right" if wrong_units(source, system).piles_up else "Right"
            facts.append(f"{start} in {ends[0]}, {ends[1]}.")
    services = {name: one for name, one in by_service(source, system).items() if one.value is not None}
    worst = min(services, key=lambda name: services[name].value or 0.0, default="")
    best = max(services, key=lambda name: services[name].value or 0.0, default="")
    low, high = (words.percent(services[name].value, 0) if name else "" for name in (worst, best))
    if low != high:
        facts.append(f"Hardest service: {worst} ({low}%); easiest: {best} ({high}%).")
    slots = verdicts.slots(source, system)
    if slots.total:
        slot = slots.worst(1)[0]
        kind, number = slots.made[slot].most_common(1)[0]
        # A file of right and wrong does not say how.
        mostly = number > slots.made[slot].total() / 2 and set(slots.kinds()) != {"wrong"}
        how = f", mostly {HOW[kind]}" if mostly else ""
        facts.append(f"Most mistakes: {slot}{how}.")
        lasting = slots.lasting()
        if lasting and lasting >= 1.05:
            facts.append(f"A mistake once made stands for {lasting:.1f} turns on average.")
    return facts


# -- section -----------------------------------------------------------------------------------------------------------


def section(found: Sequence[Item], beyond: Differences) -> Section | None:
    if not found:
        return None
    blocks: list[Block] = [metrics_table(found, beyond)]
    blocks += [Heading("How mistakes are carried on"), *_curve(found), *_positions(found)]
    blocks += [Heading("Where they are made"), *_services(found), *_slots(found)]
    runs = {source.name: source for source, _ in found}
    profiles = [chart for source in runs.values() for chart in _profile_charts(source)]
    if profiles:
        blocks += [Heading("The same predictions by other scripts"), *profiles]
    lead = (
        "A state is everything that the user has asked for so far. Joint goal accuracy asks whether all of it is "
        "right; since a state is cumulative, one mistake counts in every turn that carries it on."
    )
    return Section("tracking", "State tracking", lead, blocks)


def metrics_table(
    found: Sequence[Item], beyond: Differences, *, title: str = "All metrics", id: str = "metrics"
) -> Grid:
    """A row a metric, a column a system; cells that differ from the first column beyond noise are marked."""
    groups = [g for g in ("all", "seen", "unseen") if any(s.group == g for source, _ in found for s in source.scores)]
    split = groups if len(found) == 1 else ["all"]
    heads = [(source, system, group) for source, system in found for group in split]
    every = dict.fromkeys(s.metric for source, system in found for s in source.scores if s.system == system)
    rows: list[list[str]] = []
    figures: list[list[float | None]] = []
    marks: list[tuple[int, int, bool]] = []
    notes = []
    for metric in every:
        scores = [source.score(metric, system, group) for source, system, group in heads]
        if all(score is None or score.value is None for score in scores):
            continue
        for column, (source, system, group) in enumerate(heads, 1):
            one = beyond.get((source.called(system), metric)) if group == "all" else None
            better = told(one)[1]
            if better is not None:
                marks.append((len(rows), column, better))
        rows.append([words.name(metric), *(words.figure(score) for score in scores)])
        figures.append(unrounded(scores))
        notes.append(words.about(metric))
    columns = [
        group if len(found) == 1 and len(split) > 1 else source.called(system) for source, system, group in heads
    ]
    note = "Percent, with the half-width of the 95% interval over dialogues." + footnote(found)
    return Grid(id, title, ["metric", *columns], rows, 1, notes, marks, note, figures)


def _curve(found: Sequence[Item]) -> list[Block]:
    fields = ["system", "lambda", "value", "low", "high", "point"]
    rows: list[list[Cell]] = []
    rules = []
    for source, system in found:
        name = source.called(system)
        points = [(0.0, source.score("jga", system))]
        points += [
            (float(s.metric.removeprefix("fga@")), s)
            for s in source.scores
            if s.metric.startswith("fga@") and s.system == system and s.group == "all"
        ]
        known = sorted(((rate, s) for rate, s in points if s is not None and s.value is not None), key=lambda p: p[0])
        given = {rate for rate, _ in known}
        top = max(given, default=0.0) * 1.25
        grid = [rate for rate in (top * i / 40 for i in range(41)) if rate not in given] if top else []
        fine = verdicts.flexible(source, system, grid) if grid else None
        made: list[list[Cell]] = [[name, rate, s.value, s.low, s.high, True] for rate, s in known]
        made += [[name, rate, value, None, None, False] for rate, value in zip(grid, fine or (), strict=False)]
        if len(made) < 2:
            continue  # one point is no curve
        rows += sorted(made, key=lambda row: float(row[1] or 0.0))
        limit = source.score("turn_match", system)
        if limit is not None and limit.value is not None:
            rules.append(Rule(limit.value, "turn match" if len(found) == 1 else f"turn match, {name}", name))
    note = "λ = 0 is joint goal accuracy: nothing is forgiven. For large λ the curve nears turn match (dashed)."
    chart = Chart(
        "fga", "lines", "Flexible goal accuracy over λ", fields, rows, "lambda", "value", "system", "low", "high",
        note=note, x_title="λ, how fast a mistake is forgotten", y_title="FGA", percent=True, rules=rules,
    )  # fmt: skip
    return [chart] if rows else []


def by_turn(source: Source, system: str, metric: str) -> dict[str, Ratio]:
    """A metric by the number of the user turn, where enough dialogues get that far."""
    found = sums(chosen(source, system, metric), "turn")
    if not found.groups:
        return {}
    reached = (found.den > 0).sum(axis=0)
    most = int(reached.max())
    least = min(max(LEAST, most // 100), most)
    return {turn: one for (turn, one), n in zip(ratios(found).items(), reached.tolist(), strict=True) if n >= least}


def _positions(found: Sequence[Item]) -> list[Block]:
    fields = ["system", "metric", "turn", "value", "low", "high", "n"]
    charts: list[Block] = []
    several = len(found) > 1
    made: dict[str, list[list[Cell]]] = {}
    for metric in HEADLINE:
        for source, system in found:
            made.setdefault(metric, []).extend(
                [source.called(system), words.name(metric), int(turn), one.value, one.low, one.high, one.n]
                for turn, one in by_turn(source, system, metric).items()
            )
    note = "The band is the 95% interval over dialogues."
    if made["turn_match"]:
        note += " JGA counts a mistake in every turn that carries it on, turn match only where it is made."
    plots = made.items() if several else [("jga", [row for rows in made.values() for row in rows])]
    for metric, rows in plots:
        title = f"{words.name(metric)} by user turn" if several else "Accuracy by user turn"
        charts.append(
            Chart(
                f"turns-{metric}" if several else "turns", "lines", title, fields, rows, "turn", "value",
                "system" if several else "metric", "low", "high", note=note if metric == "jga" else "",
                x_title="user turn, from 0", y_title=words.name(metric) if several else "accuracy", percent=True,
            )
        )  # fmt: skip
    return charts


def by_service(source: Source, system: str) -> dict[str, Ratio]:
    """JGA by service: as the run has it, else from its rows, else from the dialogues."""
    given = {
        s.group.removeprefix("service:"): Ratio(s.value, s.low, s.high, s.n)
        for s in source.scores
        if s.metric == "jga" and s.system == system and s.group.startswith("service:")
    }
    if given:
        return given
    rows = chosen(source, system, "jga")
    if "service" in rows.columns and rows["service"].null_count() < rows.height:
        return ratios(sums(rows, "service"))
    kept = verdicts.by_service(source, system)
    return {} if kept is None else ratios(sums(kept, "service"))


def _services(found: Sequence[Item]) -> list[Block]:
    rows: list[list[Cell]] = []
    split = False
    for source, system in found:
        seen = source.archive.header.seen if source.archive is not None else None
        for service, one in by_service(source, system).items():
            kind = "" if seen is None else "seen" if service in seen else "unseen"
            split = split or bool(kind)
            rows.append([source.called(system), service, kind or "all", one.value, one.low, one.high, one.n])
    if not rows:
        return []
    order = {service: _mean([row for row in rows if row[1] == service]) for service in {str(row[1]) for row in rows}}
    rows.sort(key=lambda row: (order[str(row[1])], str(row[1])))
    by = "services" if split and len(found) == 1 else "system"
    if split and len(found) > 1:
        rows = [[system, f"{service} ({kind})", kind, *rest] for system, service, kind, *rest in rows]
    fields = ["system", "service", "services", "value", "low", "high", "n"]
    note = "Joint goal accuracy over the frames of one service, hardest first."
    if split:
        note += " Unseen services do not stand in the training schema."
    return [
        Chart(
            "services", "dots", "Joint goal accuracy by service", fields, rows, "value", "service", by, "low", "high",
            note=note, x_title="JGA", percent=True,
        )
    ]  # fmt: skip


def _mean(rows: Sequence[Sequence[Cell]]) -> float:
    values = [float(row[3]) for row in rows if row[3] is not None]
    return sum(values) / len(values) if values else 0.0


def _slots(found: Sequence[Item]) -> list[Block]:
    blocks: list[Block] = []
    for source, system in found:
        name = source.called(system)
        if not source.is_kept:
            lacking = Text(f"{source.name} holds no dialogues, so slots cannot be told apart. Make the run again.")
            blocks += [] if lacking in blocks else [lacking]
            continue
        slots = verdicts.slots(source, system)
        if not slots.total:
            where = " where it predicts" if verdicts.unpredicted(source, system) else ""
            blocks.append(Text(f"{name} makes no mistake{where}."))
            continue
        rows: list[list[Cell]] = [
            [name, slot, kind, slots.made[slot][kind], slots.turns[slot]]
            for slot in slots.worst(WORST)
            for kind in KINDS
            if slots.made[slot][kind]
        ]
        note = f"{words.count(slots.total, 'mistake')}, counted in the turn that makes them"
        lasting = slots.lasting()
        note += f"; one stands for {lasting:.1f} turns on average." if lasting else "."
        note += " Turns without a prediction are left out." if verdicts.unpredicted(source, system) else ""
        if set(slots.kinds()) != {"wrong"}:
            note += (
                " Missed: only gold has the slot. Invented: only the prediction has it. Stale: it keeps an old value."
            )
        left = len(slots.made) - len(slots.worst(WORST))
        note += f" {words.count(left, 'further slot')} not shown." if left else ""
        title = "Mistakes made, by slot and kind" if len(found) == 1 else f"Mistakes made by {name}"
        blocks.append(
            Chart(
                f"slots-{len(blocks)}", "bars", title, ["system", "slot", "kind", "mistakes", "turns wrong"], rows,
                "mistakes", "slot", "kind", note=note, x_title="mistakes", zero=True, colours=KIND_COLOURS,
            )
        )  # fmt: skip
    return blocks


def _profile_charts(source: Source) -> list[Block]:
    """JGA, AGA and FGA of one system under every profile that the run has."""
    charts: list[Block] = []
    for names in profiles(source):
        if len(names) < 2:
            continue
        rows: list[list[Cell]] = []
        for system in names:
            for metric in ("jga", "fga@0.5", "aga"):
                score = source.score(metric, system)
                if score is not None and score.value is not None:
                    profile = words.profile(score.signature)
                    rows.append([profile, words.name(metric), score.value, score.low, score.high, score.signature])
        name = source.called(names[0])
        charts.append(
            Chart(
                f"profiles-{name}", "dots", f"{name}, one dot a recipe",
                ["profile", "metric", "value", "low", "high", "signature"], rows, "value", "profile", "metric",
                "low", "high", x_title="value", percent=True,
                note="The same files by the rules of each public script. troth explain says which rule moves what.",
            )
        )  # fmt: skip
    return charts
