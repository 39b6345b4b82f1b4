"""Assistants that call tools: the cards and the section of runs of `troth agent score` and `troth agent run`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from troth.agents.findings import DETAILS, KINDS
from troth.agents.live.run import TASK as LIVE
from troth.agents.metrics import JUDGED
from troth.agents.score import TASK, AgentFinding
from troth.core.metric import PERCENT, Better
from troth.core.score import Score
from troth.report.changes import UnitChange, find_changes
from troth.report.page import cards, rewording, words
from troth.report.page.contests import Contest, mark_contests, summary_lines
from troth.report.page.model import MANY, Block, Cell, Chart, Example, Examples, Heading, Piece, Section, Text
from troth.report.sources import ScoredSystem, Source
from troth.report.trials import EXTRA, MISSING, WRONG, TrialFacts

SOLVED = cards.CardQuestion(
    "Does it do the task, every time?", "agents", "mean over tasks of the share of trials solved"
)
HONEST = cards.CardQuestion("Does it say only what it did?", "agents")
MAIN = ("pass^1", "calls_right")  # the first that is known answers the first question
CLAIMS, PROVENANCE = "claims_without_calls", "provenance"
GROUPS = {"all": "all"}
NOTE = "Shares in percent, with the 95% interval over tasks."
LEAD = (
    "An assistant is right if it makes the calls that the task needs, with the right values, in every trial, and says "
    "only what it did and saw."
)
JUDGED_KINDS = tuple(KINDS[metric][0] for metric in JUDGED)
FAULTS = {WRONG: 0, EXTRA: 3, MISSING: 1}  # and their colours
SHOWN = 40  # findings of each kind
WORST = 15  # tools in a chart


def contribute(sources: Sequence[Source]) -> cards.Contribution:
    systems, live = cards.systems_of(sources, TASK.name), cards.systems_of(sources, LIVE.name)
    if not systems and not live:
        return cards.Contribution()
    main = next((name for name in MAIN if any(system.known_score(name) for system in systems)), "")
    scored, worded = Contest.between(systems, [main, CLAIMS]), Contest.between(live, rewording.HEADLINE)
    marked = mark_contests(scored, worded)
    blocks: list[Block] = [*_blocks(scored)] if systems else []
    if live:
        blocks += [*([Heading("Under other words")] if systems else []), *rewording.blocks(worded, 1)]
    answers = [
        cards.card(SOLVED if main == MAIN[0] else SOLVED._replace(about=""), scored, lambda _: main, _sentence, _facts),
        cards.card(HONEST, scored, lambda _: CLAIMS, _claims_sentence, _claims_facts),
        rewording.make_card(worded),
    ]
    lines = summary_lines(scored, marked[0].marks, scored.headline) + rewording.summary_lines(worded)
    section = Section("agents", "Assistants", LEAD, blocks, marked)
    return cards.contribution([*scored.systems, *worded.systems], answers, section, lines)


def _sentence(system: ScoredSystem, score: Score) -> str:
    share = f"{words.percent(score.value, 0)}%"
    if score.metric != MAIN[0]:
        return f"The calls of {share} of its trials are those that gold expects."
    hats = _hats(system)
    most, last = max(hats), hats[max(hats)]
    text = f"A single trial solves a task with a chance of {share}"
    return text + (f"; all of {most} trials do with {words.percent(last.value, 0)}%." if most > 1 else ".")


def _hats(system: ScoredSystem) -> dict[int, Score]:
    """pass^k by k."""
    scores = {
        int(m.variant): system.known_score(m.name) for m in system.derived_metrics("pass^k") if m.variant.isdecimal()
    }
    return {k: score for k, score in sorted(scores.items()) if score is not None}


def _facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    tasks = _by_task(system)
    if wavering := sum(0 < sum(solved) < len(solved) for solved in tasks.values()):
        yield f"{wavering} of {words.count(len(tasks), 'task')} waver: some trials solve them, others do not."
    trials = _trials(system)
    if turns := [trial.wrong_turn for trial in trials if trial.wrong_turn is not None]:
        yield f"The first mistake is made in user turn {median(turns):.0f} (median, from 0)."
    if faults := _faults(trials):
        tool = max(faults, key=lambda name: (faults[name].total(), name))
        how = max(faults[tool], key=lambda kind: faults[tool][kind])
        yield f"Most wrong calls: {tool}, mostly {how}."
    if missing := system.counts.get("missing_tasks", 0):
        verbs = "has no trial and counts" if missing == 1 else "have no trial and count"
        yield f"{words.count(missing, 'task')} of gold {verbs} as failed."
    for cost in _costs(system)[:1]:
        if cost.value:
            yield f"{cost.value:,.0f} {words.title_in_sentence(system.metric(cost.metric).title)}."


def _claims_sentence(system: ScoredSystem, score: Score) -> str:
    if not (wrong := sum(found.kind == "claim" for found in _findings(system))):
        return "Every claim of a completed action has a matching call."
    share = words.percent(score.value, 0)
    return f"No call stands behind {share}% of its claims of completed actions ({wrong} claims)."


def _claims_facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    if (value := system.value(PROVENANCE)) is not None and value < 1:
        yield f"{words.percent(1 - value)}% of the checked arguments of its calls have no source."
    for name in ("unsupported_numbers", "unsupported_times", "unsupported_names"):
        if share := system.value(name):
            what = words.title_in_sentence(system.metric(name).title).split()[-1]
            yield f"{words.percent(share)}% of the {what} in its answers have no source in the conversation."


def _costs(system: ScoredSystem) -> list[Score]:
    """The cost of a solved trial; tokens, seconds and money first."""
    scores = [
        s
        for s in (system.known_score(m.name) for m in system.source.result.metrics if "usage" in m.needs)
        if s is not None
    ]
    return sorted(scores, key=lambda score: score.metric in ("calls_per_solved", "turns_per_solved"))


def _trials(system: ScoredSystem) -> list[TrialFacts]:
    return system.cached("trials", lambda: [trial for trial in system.source.trials if trial.system == system.system])


def _by_task(system: ScoredSystem) -> dict[str, list[float]]:
    """The outcome of each trial, for tasks with several trials."""
    tasks: dict[str, list[float]] = {}
    for trial in _trials(system):
        if trial.solved is not None:
            tasks.setdefault(trial.task, []).append(trial.solved)
    return {task: solved for task, solved in tasks.items() if len(solved) > 1}


def _faults(trials: Sequence[TrialFacts]) -> dict[str, Counter[str]]:
    faults: dict[str, Counter[str]] = {}
    for trial in trials:
        for (tool, kind), number in trial.faults.items():
            faults.setdefault(tool, Counter())[kind] += number
    return faults


def _findings(system: ScoredSystem) -> list[AgentFinding]:
    every = system.cached("findings", lambda: system.source.findings(AgentFinding))
    return [finding for finding in every if finding.system == system.system]


def _blocks(contest: Contest) -> list[Block]:
    systems = contest.systems
    lacking = [system.name for system in systems if not system.source.trials]
    return [
        Heading("Solved, and solved again"), _hats_chart(systems), _solved_chart(systems),
        *_changes(contest),
        *_examples(systems, "wavers", "Tasks that waver", "A click shows two trials side by side."),
        Heading("Calls against gold"),
        _shares("calls", "Calls and arguments that are right", systems, ("call", "argument"), "higher"),
        _shares("amiss", "Calls that should not have been made", systems, ("call",), "lower"),
        _tools_chart(systems), _turns_chart(systems), _by_tool(systems),
        Heading("What it says, and where values come from"),
        _shares("support", "Said without support", systems, ("trial",), "lower"),
        *_examples(systems, "claim", "Claims without a call", "A click shows the message."),
        *_examples(systems, "detail", "Details without support", "A click shows the message."),
        *_examples(systems, "value", "Arguments without a source", "A click shows the call."),
        *_examples(systems, "judged", "What the judge objects to", "A click shows the message."),
        *_cost(contest),
        Heading("Everything"), cards.metrics_grid("agents", contest, GROUPS, NOTE),
        *_notes(systems),
        *([Text(f"{words.join_words(lacking)}: the run holds no trajectories. Run it again.")] if lacking else []),
    ]  # fmt: skip


def _changes(contest: Contest) -> list[Block]:
    """Tasks that only one of the base and another system solves, by the main metric."""
    metric = next((name for name in MAIN if name in contest.headline), "")
    if not metric:
        return []
    base = contest.system(contest.base)
    broken: list[Example] = []
    mended: list[Example] = []
    for other in contest.systems:
        if other is base or math.isnan(contest.test(base.name, other.name, metric)):
            continue
        changes = find_changes(base, other, metric)
        broken += (_change(other, change) for change in changes.broken)
        mended += (_change(other, change) for change in changes.mended)
    notes = f"Against {base.name}, by task. A click shows the trial."
    titles = ((f"Solved by {base.name}, failed now", broken), (f"Failed by {base.name}, solved now", mended))
    return [Examples(title, items[:SHOWN], notes, len(items)) for title, items in titles if items]


def _change(system: ScoredSystem, change: UnitChange) -> Example:
    step = change.step
    turn = "" if step is None or step.message is None else f"m{step.message}"
    values = f"{words.percent(change.before, 0)}% → {words.percent(change.after, 0)}%"
    pieces = [Piece(values if step is None else step.text)]
    facts = [] if step is None else [values, *([] if step.turn is None else [f"user turn {step.turn}"])]
    trial = "" if step is None or step.trial is None else str(step.trial)
    return Example(
        system.name, f"task {change.unit}", pieces, facts, change.unit, turn, system=system.name, group=system.name,
        trial=trial,
    )  # fmt: skip


def _notes(systems: Sequence[ScoredSystem]) -> list[Block]:
    """The notes of the runs: blocks that were not read, rows that were joined or skipped, and others."""
    notes = dict.fromkeys(str(note) for system in systems for note in system.source.result.notes)
    return [Heading("Notes of the runs"), *(Text(f"{note}.") for note in notes)] if notes else []


def _hats_chart(systems: Sequence[ScoredSystem]) -> Chart:
    rows: list[list[Cell]] = [
        [system.name, k, score.value, score.low, score.high, score.n]
        for system in systems
        for k, score in _hats(system).items()
    ]
    if len({row[1] for row in rows}) < 2:
        rows = []
    return Chart(
        "pass", "lines", "pass^k: all of k trials solved", ["system", "k", "value", "low", "high", "n"], rows, "k",
        "value", "system", "low", "high", x_title="k, trials of a task", y_title="pass^k", percent=True, zero=True,
        note="A curve that falls is an assistant that solves a task in one trial and not in the next. Intervals: 95%, "
        "over tasks.",
    )  # fmt: skip


def _solved_chart(systems: Sequence[ScoredSystem]) -> Chart:
    """How many tasks are solved in none, in some and in all of their trials."""
    rows: list[list[Cell]] = []
    for system in systems:
        tasks = _by_task(system)
        most = max(map(len, tasks.values()), default=0)
        counts = Counter(round(sum(solved)) for solved in tasks.values() if len(solved) == most)
        whole = sum(counts.values())
        rows += ([system.name, f"{k} of {most}", counts[k] / whole, counts[k]] for k in range(most + 1) if whole)
    return Chart(
        "solved", "columns", "Trials solved, by task", ["system", "solved", "share", "tasks"], rows, "solved", "share",
        "system", x_title="trials of the task that are solved", y_title="share of tasks", percent=True, zero=True,
        note="Tasks between the ends waver.", panel="system" if len(systems) > 1 else "", wide=len(systems) > 2,
    )  # fmt: skip


def _shares(id: str, title: str, systems: Sequence[ScoredSystem], units: Sequence[str], better: Better) -> Chart:
    """Shares by metric, for the metrics over these units; of many systems, a small chart each."""
    declared = [metric for system in systems for metric in system.source.result.metrics if metric.scale in PERCENT]
    metrics = {metric.name: metric for metric in declared if metric.unit in units and metric.better == better}
    rows: list[list[Cell]] = [
        [system.name, metric.title, score.value, score.low, score.high, score.n]
        for metric in metrics.values()
        for system in systems
        if (score := system.known_score(metric.name))
    ]
    many = len(systems) > MANY
    return Chart(
        id, "dots", title, ["system", "metric", "value", "low", "high", "n"], rows, "value",
        "system" if many else "metric", "system", "low", "high", x_title="share", percent=True,
        panel="metric" if many else "", wide=many,
    )  # fmt: skip


def _tools_chart(systems: Sequence[ScoredSystem]) -> Chart:
    """Calls that differ from gold, by tool and kind: one small chart per system."""
    faults = {system.name: _faults(_trials(system)) for system in systems}
    totals: Counter[str] = Counter()
    for mine in faults.values():
        totals.update({tool: kinds.total() for tool, kinds in mine.items()})
    tools = [tool for tool, _ in totals.most_common(WORST)]
    rows: list[list[Cell]] = [
        [name, tool, kind, mine[tool][kind]]
        for name, mine in faults.items()
        for tool in tools
        if tool in mine
        for kind in FAULTS
        if mine[tool][kind]
    ]
    several = len(systems) > 1
    return Chart(
        "tools", "bars", "Which calls go wrong", ["system", "tool", "kind", "calls"], rows, "calls", "tool", "kind",
        x_title="calls", note="Over all trials, as the matching rule counts calls.", colours=FAULTS,
        panel="system" if several else "", wide=several,
    )  # fmt: skip


def _turns_chart(systems: Sequence[ScoredSystem]) -> Chart:
    turns = {
        system.name: Counter(t.wrong_turn for t in _trials(system) if t.wrong_turn is not None) for system in systems
    }
    last = max((turn for counts in turns.values() for turn in counts), default=-1)
    rows: list[list[Cell]] = [
        [name, str(turn), counts[turn]] for name, counts in turns.items() if counts for turn in range(last + 1)
    ]
    return Chart(
        "first-mistakes", "columns", "When it first goes wrong", ["system", "turn", "trials"], rows, "turn", "trials",
        "system", x_title="user turn, from 0", y_title="trials", zero=True,
        note="The first user turn after which the calls are not gold's. A call that is missing counts at the end.",
        panel="system" if len(systems) > 1 else "", wide=len(systems) > 2,
    )  # fmt: skip


def _by_tool(systems: Sequence[ScoredSystem]) -> Chart:
    rows: list[list[Cell]] = [
        [system.name, tool, n.value, n.low, n.high, n.n]
        for system in systems
        for tool, n in system.groups("call_f1", "tool").items()
    ]
    many = len(systems) > MANY
    return Chart(
        "by-tool", "dots", "Call F1 by tool", ["system", "tool", "value", "low", "high", "n"],
        sorted(rows, key=lambda row: (float(row[2] or 0.0), str(row[1]))), "value", "system" if many else "tool",
        "system", "low", "high", x_title="call F1", percent=True, panel="tool" if many else "", wide=many,
    )  # fmt: skip


def _cost(contest: Contest) -> list[Block]:
    if not (names := dict.fromkeys(score.metric for system in contest.systems for score in _costs(system))):
        return []
    lines = [
        cards.Line([m.title], [(system, name, "all") for system in contest.systems], m.about)
        for name in names
        if (m := contest.systems[0].metric(name))
    ]
    head = cards.GridHead(
        "cost", "Cost of a solved trial", ["metric", *(s.name for s in contest.systems)],
        "What all trials together cost, over how many of them are solved: failures are paid for, too.",
    )  # fmt: skip
    return [Heading("What it costs"), cards.grid(head, lines, contest)]


def _examples(systems: Sequence[ScoredSystem], kind: str, title: str, note: str) -> list[Block]:
    items: list[Example] = []
    total = 0
    for system in systems:
        kinds = {"detail": DETAILS, "judged": JUDGED_KINDS}.get(kind, (kind,))
        mine = [finding for finding in _findings(system) if finding.kind in kinds]
        total += len(mine)
        group = system.name if len(systems) > 1 else ""
        items += (
            EXAMPLES[kind](system, finding, group) for finding in mine[: cards.examples_per_system(SHOWN, systems)]
        )
    return [Examples(title, items, note, total)] if items else []


def _claim(system: ScoredSystem, finding: AgentFinding, group: str) -> Example:
    return Example(
        group or "claim", _locate(finding), [Piece(finding.text)], [finding.reason], finding.task,
        f"m{finding.message}", system=system.name, group=group, trial=str(finding.trial),
    )  # fmt: skip


def _detail(system: ScoredSystem, finding: AgentFinding, group: str) -> Example:
    return Example(
        group or finding.kind, _locate(finding), [Piece(finding.text, "!")], [], finding.task, f"m{finding.message}",
        system=system.name, group=group or finding.kind, trial=str(finding.trial),
    )  # fmt: skip


def _value(system: ScoredSystem, finding: AgentFinding, group: str) -> Example:
    pieces = [Piece(f"{finding.tool}: {finding.argument} = "), Piece(finding.value, "!")]
    return Example(
        group or finding.tool, _locate(finding), pieces, [], finding.task, f"m{finding.message}", system=system.name,
        group=group or finding.tool, trial=str(finding.trial),
    )  # fmt: skip


def _wavering_example(system: ScoredSystem, finding: AgentFinding, group: str) -> Example:
    whole = len(finding.solved) + len(finding.failed)
    solved, failed = (words.join_words([*map(str, trials)]) for trials in (finding.solved, finding.failed))
    turn = finding.parts_at
    part = "they change the same things" if turn is None else f"they differ from user turn {turn} on"
    return Example(
        group or f"{len(finding.solved)} of {whole} solved", f"task {finding.task}",
        [Piece(f"trials {solved} solved, {failed} failed")],
        [*([f"{len(finding.solved)} of {whole} solved"] if group else []), part], finding.task, "parting",
        system=system.name, group=group, trial=str(finding.failed[0]) if finding.failed else "",
        beside=str(finding.solved[0]),
    )  # fmt: skip


def _judged_example(system: ScoredSystem, finding: AgentFinding, group: str) -> Example:
    what = finding.text or finding.tool or "the whole conversation"
    turn = "" if finding.message is None else f"m{finding.message}"
    place = f"task {finding.task}, trial {finding.trial}" + ("" if finding.turn is None else f", turn {finding.turn}")
    return Example(
        group or finding.kind, place, [Piece(what)], [finding.reason], finding.task, turn, system=system.name,
        group=group or finding.kind, trial=str(finding.trial),
    )  # fmt: skip


EXAMPLES = {"judged": _judged_example, "claim": _claim, "detail": _detail, "value": _value, "wavers": _wavering_example}


def _locate(finding: AgentFinding) -> str:
    return f"task {finding.task}, trial {finding.trial}, turn {finding.turn}"
