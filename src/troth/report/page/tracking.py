"""State tracking: the card and the section of runs of `troth dst`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from troth.core.names import split_profile
from troth.core.score import Estimate, Score
from troth.report.page import words
from troth.report.page.cards import CardQuestion, Contribution, card, contribution, metrics_grid
from troth.report.page.contests import Contest, mark_contests, summary_lines
from troth.report.page.model import MANY, Block, Cell, Chart, Heading, Rule, Section, Text
from troth.report.sources import ScoredSystem, Source, estimate_groups, estimate_parts
from troth.report.tallies import SlotErrors
from troth.storage.explorer import KINDS
from troth.tracking.score import TASK as TRACKING

QUESTION = CardQuestion("Does it track what the user wants?", "tracking")
HEADLINE = ("jga", "turn_match")
COMPARED = ("jga", "fga@0.5", "aga")  # under several profiles
KIND_COLOURS = {"missed": 1, "invented": 3, "wrong": 0, "stale": 4}
HOW = {"missed": "missed", "invented": "invented", "wrong": "given a wrong value", "stale": "left stale"}
WORST, FEWER = 15, 8  # slots in a chart, and in each of many
NOTED = 2  # notes of the run that a card repeats
LEAST = 5  # dialogues that a turn position must have to be drawn
LEAD = (
    "A state is everything that the user has asked for so far. Joint goal accuracy asks whether all of it is right; "
    "since a state is cumulative, one mistake counts in every turn that carries it on."
)


def contribute(sources: Sequence[Source]) -> Contribution:
    runs = [source for source in sources if source.result.task == TRACKING.name]
    contest = Contest.between([group[0] for source in runs for group in profiles(source)], HEADLINE)
    if not contest.systems:
        return Contribution()
    marked = mark_contests(contest)
    answer = card(QUESTION, contest, lambda _: "jga", _sentence, _facts)
    section = Section("tracking", "State tracking", LEAD, _blocks(runs, contest), marked)
    return contribution(contest.systems, [answer], section, summary_lines(contest, marked[0].marks, HEADLINE))


def profiles(source: Source) -> list[list[ScoredSystem]]:
    """Systems in groups: `dev:sgd` and `dev:trade` are one system under two profiles."""
    groups: dict[str, list[ScoredSystem]] = {}
    for system in source.systems:
        profile = next(iter(system.scores.values())).profile
        groups.setdefault(split_profile(system.system, profile), []).append(system)
    return list(groups.values())


def _sentence(system: ScoredSystem, score: Score) -> str:
    start = f"Right in {words.percent(score.value, 0)}% of {words.unit_noun(score)}"
    wrong = wrong_units(system)
    if not wrong.all:
        return f"{start}: nothing is wrong."
    if wrong.inherited is None:
        return f"{start}."
    if not wrong.predicted:
        return f"{start}; the rest have no prediction."
    whole = wrong.predicted == wrong.all
    if not wrong.inherited:
        every = "every mistake is made where it stands" if whole else "no wrong prediction inherits an earlier mistake"
        return f"{start}; {every}."
    which, share = "wrong ones" if whole else "wrong predictions", wrong.inherited / wrong.predicted
    return f"{start}; {words.share_in_words(share)} of the {which} inherit an earlier mistake."


class WrongUnits(NamedTuple):
    """Numbers of wrong units: all, those with a prediction, and of these those with inherited errors only."""

    all: int
    predicted: int
    inherited: int | None  # None: the run has no turn match, or does not say which turns lack a prediction


def wrong_units(system: ScoredSystem) -> WrongUnits:
    """Counts the units that are wrong by JGA."""
    return system.cached("wrong units", lambda: _wrong_units(system))


def _wrong_units(system: ScoredSystem) -> WrongUnits:
    import polars as pl

    keys = ["dialogue", "turn", *(["service"] if "service" in system.source.rows.columns else [])]
    jga, match = (system.rows(metric).select(*keys, "num") for metric in HEADLINE)
    wrong = jga.filter(pl.col("num") < 1.0)
    lacking = system.tally.unpredicted
    there = [key not in lacking for key in wrong.select("dialogue", "turn").iter_rows()]
    predicted = wrong.filter(pl.Series(there, dtype=pl.Boolean))
    missing = system.counts.get("missing_dialogues") or system.counts.get("missing_turns")
    if not match.height or (missing and system.source.tallies.is_empty):
        return WrongUnits(wrong.height, predicted.height, None)
    both = predicted.join(match, on=keys, suffix="_match", nulls_equal=True)
    return WrongUnits(wrong.height, predicted.height, both.filter(pl.col("num_match") == 1.0).height)


def _facts(system: ScoredSystem, score: Score) -> list[str]:
    # The run's first notes: another gold, wrong values that equal gold but for their writing.
    notes = [note.text for note in system.source.result.notes if note.system == system.system][:NOTED]
    facts = (*_missing(system, score), *_over_turns(system), *_services_fact(system), *_slots_fact(system))
    return [*facts, *(f"{text[:1].upper()}{text[1:]}." for text in notes)]


def _missing(system: ScoredSystem, score: Score) -> Iterator[str]:
    skipped = score.recipe.get("missing") == "skip"
    for what, noun in (("missing_dialogues", "dialogue"), ("missing_turns", "turn")):
        if number := system.counts.get(what, 0):
            is_one = number == 1
            counted = ("is" if is_one else "are") + " left out" if skipped else f"count{'s' * is_one} as wrong"
            yield f"{words.count(number, noun)} {'has' if is_one else 'have'} no prediction and {counted}."


def _over_turns(system: ScoredSystem) -> Iterator[str]:
    """JGA in the first turn and in the last that a tenth of the dialogues reach."""
    positions = by_turn(system, "jga")
    common = [(turn, n) for turn, n in positions.items() if n.n >= next(iter(positions.values())).n / 10]
    if len(common) > 2:
        before, after = common[0][1].value, common[-1][1].value
        if before is not None and after is not None and after < before:
            wrong = wrong_units(system)
            piles_up = wrong.inherited is not None and wrong.inherited > wrong.all / 2
            start = "Mistakes pile up: right" if piles_up else "Right"
            ends = [f"{words.percent(n.value, 0)}% in turn {turn}" for turn, n in (common[0], common[-1])]
            yield f"{start} in {ends[0]}, {ends[1]}."


def _services_fact(system: ScoredSystem) -> Iterator[str]:
    if services := {name: n.value for name, n in by_service(system).items() if n.value is not None}:
        worst, best = min(services, key=services.__getitem__), max(services, key=services.__getitem__)
        low, high = words.percent(services[worst], 0), words.percent(services[best], 0)
        if low != high:
            yield f"Hardest service: {worst} ({low}%); easiest: {best} ({high}%)."


def _slots_fact(system: ScoredSystem) -> Iterator[str]:
    slots = system.tally.slots
    if (lasting := slots.mean_duration()) is None:
        return
    slot = slots.worst_slots(1)[0]
    kind, number = slots.made[slot].most_common(1)[0]
    # A file of right and wrong does not say how.
    mostly = number > slots.made[slot].total() / 2 and set(slots.kinds()) != {"wrong"}
    yield f"Most mistakes: {slot}{f', mostly {HOW[kind]}' if mostly else ''}."
    if lasting >= 1.05:
        yield f"A mistake once made stands for {lasting:.1f} turns on average."


def _blocks(runs: Sequence[Source], contest: Contest) -> list[Block]:
    systems = contest.systems
    return [
        metrics_grid("metrics", contest),
        Heading("How mistakes are carried on"), _fga_chart(systems), *_turn_charts(systems),
        Heading("Where they are made"), _service_chart(systems), *_slots(systems),
        Heading("The same predictions by other scripts"), *(chart for run in runs for chart in _profile_charts(run)),
    ]  # fmt: skip


def _fga_chart(systems: Sequence[ScoredSystem]) -> Chart:
    rows: list[list[Cell]] = []
    limits: dict[str, float] = {}
    for system in systems:
        rates = {0.0: "jga"}
        for metric in system.derived_metrics("fga"):
            with suppress(ValueError):  # a damaged run, or a λ of another kind
                rates[float(metric.variant)] = metric.name
        known = {rate: score for rate, name in rates.items() if (score := system.known_score(name))}
        if len(known) < 2:
            continue  # one point is no curve
        rows += ([system.name, rate, score.value, score.low, score.high, True] for rate, score in sorted(known.items()))
        if (limit := system.value("turn_match")) is not None and len(systems) <= MANY:
            limits[system.name] = limit
    highest = max(limits.values(), default=0.0)  # has the label; more of them would cover each other
    rules = [Rule(limit, "turn match" if limit == highest else "", name) for name, limit in limits.items()]
    return Chart(
        "fga", "lines", "Flexible goal accuracy over λ", ["system", "lambda", "value", "low", "high", "point"], rows,
        "lambda", "value", "system", "low", "high", x_title="λ, how fast a mistake is forgotten", y_title="FGA",
        note="λ = 0 is joint goal accuracy: nothing is forgiven. For large λ the curve nears turn match"
        f"{' (dashed)' if rules else ''}.",
        percent=True, rules=rules,
    )  # fmt: skip


def by_turn(system: ScoredSystem, metric: str) -> dict[str, Estimate]:
    """A metric by the number of the user turn, where enough dialogues get that far."""
    return system.cached(f"{metric} by turn", lambda: _by_turn(system, metric))


def _by_turn(system: ScoredSystem, metric: str) -> dict[str, Estimate]:
    import polars as pl

    rows = system.rows(metric)
    counted = rows.filter(pl.col("den") > 0).group_by("turn").agg(pl.col("dialogue").n_unique())
    reached = {str(turn): number for turn, number in counted.iter_rows()}
    most = max(reached.values(), default=0)
    least = min(max(LEAST, most // 100), most)
    return {turn: n for turn, n in estimate_groups(rows, "turn").items() if reached.get(turn, 0) >= least}


def _turn_charts(systems: Sequence[ScoredSystem]) -> list[Block]:
    several = len(systems) > 1
    rows_by_metric: dict[str, list[list[Cell]]] = {
        metric: [
            [system.name, system.metric(metric).title, int(turn), n.value, n.low, n.high, n.n]
            for system in systems
            for turn, n in by_turn(system, metric).items()
        ]
        for metric in HEADLINE
    }
    note = "The band is the 95% interval over dialogues." if len(systems) <= MANY else ""
    if rows_by_metric["turn_match"]:
        note += " JGA counts a mistake in every turn that carries it on, turn match only where it is made."
    units = words.unit_noun(*(score for system in systems if (score := system.known_score("jga"))))
    plots = rows_by_metric if several else {"jga": [row for rows in rows_by_metric.values() for row in rows]}
    return [
        Chart(
            f"turns-{metric}" if several else "turns", "lines",
            f"{systems[0].metric(metric).title} by user turn" if several else "Accuracy by user turn",
            ["system", "metric", "turn", "value", "low", "high", "n"], rows, "turn", "value",
            "system" if several else "metric", "low", "high", note=note if metric == "jga" else "",
            x_title="user turn, from 0",
            y_title=f"{systems[0].metric(metric).title if several else 'accuracy'} over {units}", percent=True,
        )
        for metric, rows in plots.items()
    ]  # fmt: skip


def by_service(system: ScoredSystem) -> dict[str, Estimate]:
    """JGA by service: from the run's scores, else from its rows, else from its dialogues."""
    return system.cached("by service", lambda: _by_service(system))


def _by_service(system: ScoredSystem) -> dict[str, Estimate]:
    if scored := system.groups("jga", "service"):
        return scored
    rows = system.rows("jga")
    if "service" not in rows.columns or rows["service"].null_count() == rows.height:
        return estimate_parts(system.tally.by_service())
    return estimate_groups(rows, "service")


def _service_chart(systems: Sequence[ScoredSystem]) -> Chart:
    """A row per service with a dot per system; of many systems, a small chart per service with a row per system."""
    rows: list[list[Cell]] = []
    split = any(system.source.header.seen is not None for system in systems)
    for system in systems:
        seen = system.source.header.seen
        for service, n in by_service(system).items():
            kind = "all" if seen is None else "seen" if service in seen else "unseen"
            name = f"{service} ({kind})" if split and len(systems) > 1 else service
            rows.append([system.name, name, kind, n.value, n.low, n.high, n.n])
    values: dict[Cell, list[float]] = {}
    for row in rows:
        values.setdefault(row[1], []).extend([] if row[3] is None else [float(row[3])])
    rows.sort(key=lambda row: (sum(values[row[1]]) / max(len(values[row[1]]), 1), str(row[1])))
    many = len(systems) > MANY
    note = "Joint goal accuracy over the frames of one service, hardest first."
    note += " Unseen services are not in the training schema." if split else ""
    return Chart(
        "services", "dots", "Joint goal accuracy by service",
        ["system", "service", "services", "value", "low", "high", "n"], rows, "value", "system" if many else "service",
        "services" if split and len(systems) == 1 else "system", "low", "high", note=note, x_title="JGA", percent=True,
        panel="service" if many else "", wide=many,
    )  # fmt: skip


def _slots(systems: Sequence[ScoredSystem]) -> list[Block]:
    """Mistakes by slot and kind: a small chart for each of several systems, with the same slots."""
    blocks: list[Block] = []
    errors = {system.name: system.tally.slots for system in systems if not system.source.tallies.is_empty}
    for system in systems:
        if system.source.tallies.is_empty:
            lacking = Text(f"{system.source.name} holds no dialogues, so slots cannot be told apart. Run it again.")
            blocks += [] if lacking in blocks else [lacking]
        elif not errors[system.name].total:
            where = " where it predicts" if system.tally.unpredicted else ""
            blocks.append(Text(f"{system.name} makes no mistake{where}."))
    chart = _slots_chart({name: mine for name, mine in errors.items() if mine.total}, single=len(systems) == 1)
    if any(system.tally.unpredicted for system in systems):
        chart = msgspec.structs.replace(chart, note=f"{chart.note} Turns without a prediction are left out.")
    return [chart, *blocks]


def _slots_chart(errors: Mapping[str, SlotErrors], *, single: bool) -> Chart:
    counts: Counter[str] = Counter()
    for mine in errors.values():
        counts.update({slot: kinds.total() for slot, kinds in mine.made.items()})
    shown = sorted(counts, key=lambda slot: (-counts[slot], slot))[: WORST if len(errors) <= MANY else FEWER]
    rows: list[list[Cell]] = [
        [name, slot, kind, mine.made[slot][kind], mine.turns[slot]]
        for name, mine in errors.items()
        for slot in shown
        for kind in KINDS
        if slot in mine.made and mine.made[slot][kind]
    ]
    total, turns = counts.total(), sum(mine.turns.total() for mine in errors.values())
    note = f"{words.count(total, 'mistake')}, counted in the turn that makes them"
    note += f"; one stands for {turns / max(total, 1):.1f} turns on average."
    if any(set(mine.kinds()) != {"wrong"} for mine in errors.values()):
        note += " Missed: only gold has the slot. Invented: only the prediction has it. Stale: it keeps an old value."
    left = len(counts) - len(shown)
    note += f" {words.count(left, 'further slot')} not shown." if left else ""
    return Chart(
        "slots", "bars", "Mistakes made, by slot and kind", ["system", "slot", "kind", "mistakes", "turns wrong"], rows,
        "mistakes", "slot", "kind", note=note, x_title="mistakes", zero=True, colours=KIND_COLOURS,
        panel="" if single else "system", wide=not single,
    )  # fmt: skip


def _profile_charts(source: Source) -> Iterator[Chart]:
    for systems in profiles(source):
        if len(systems) < 2:
            continue
        name = systems[0].name
        scores = [(system, score) for system in systems for metric in COMPARED if (score := system.known_score(metric))]
        rows: list[list[Cell]] = [
            [s.profile, system.metric(s.metric).title, s.value, s.low, s.high, s.signature] for system, s in scores
        ]
        yield Chart(
            f"profiles-{name}", "dots", f"{name}, one dot per recipe",
            ["profile", "metric", "value", "low", "high", "signature"], rows, "value", "profile", "metric",
            "low", "high", x_title="value", percent=True,
            note="The same files by the rules of each public script. troth explain says which rule moves what.",
        )  # fmt: skip
