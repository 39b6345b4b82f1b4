"""`troth agent`: the group, `score` and `explain`. `run` has a file of its own."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import Lazy, options, show
from troth.core import table as tables
from troth.core.names import counted, tallied

AGENT = {
    "score": "troth.cli.agent:score",
    "explain": "troth.cli.agent:explain",
    "states": "troth.cli.agent:states",
    "run": "troth.cli.agent_run:run",
}
RULES = options.Names("troth.agents.rules:RULES")
GOLD = click.option(
    "--gold", metavar="FILE", multiple=True, type=options.FILE,
    help="File with gold calls, where the transcripts have none; may be given several times.",
)  # fmt: skip
TOOLS = options.option("--tools", "FILE", "Definitions of the tools, in any usual layout.", type=options.FILE)
FORMAT = options.option(
    "--format", "NAME", "Format of the transcripts. Default: detected.",
    type=options.Names("troth.readers.trajectories:FORMATS"),
)  # fmt: skip
KINDS = {"claim": "claims without calls", "value": "values without a source", "wavers": "wavering tasks"}


@click.group(cls=Lazy, paths=AGENT, no_args_is_help=True)
def agent() -> None:
    """Measure assistants that call tools: calls, states, trials, claims and sources of values."""


@click.command(no_args_is_help=True)
@click.argument("transcripts", nargs=-1, required=True, metavar="TRANSCRIPTS...", type=options.FILE)
@GOLD
@TOOLS
@options.option("--rule", "NAME", "How calls are matched: exact, bfcl or tau. Default: by the format.", type=RULES)
@click.option(
    "--solved", type=click.Choice(["reward", "match"]),
    help="What says that a trial is solved. Default: the reward, where all trials have one.",
)  # fmt: skip
@options.option(
    "--metrics", "NAMES", "Metrics, comma-separated. Default: all.", type=options.Names("troth.agents.metrics:METRICS")
)
@options.option("--by", "NAMES", "Add scores by tool: calls and arguments of each.", type=options.Names(also=("tool",)))
@options.option(
    "--writing", "NAMES", "Tools that change something, comma-separated. Default: by their definitions and names."
)
@options.option("--context", "KINDS", "What answers may rest on.", default="tools+user+system")
@FORMAT
@options.number("--resamples", 1000, "Number of bootstrap resamples (over tasks).", least=1)
@options.SEED
@options.number("--examples", 3, "Number of examples to show of each kind of finding.")
@options.OUT
@options.JSON
def score(
    transcripts: tuple[str, ...], gold: tuple[str, ...], by: str | None, examples: int, json: bool, **settings: Any
) -> None:
    """Score assistants that call tools by their transcripts: calls, states, trials, claims.

    Each file of TRANSCRIPTS is one system: a path, NAME=PATH, or - for standard input. Formats: τ-bench and τ²-bench
    results, BFCL results, chat messages of OpenAI and Anthropic, OpenTelemetry GenAI spans.
    """
    from troth.agents.score import agent as run

    result = run(*transcripts, gold=list(gold) or None, by=by or (), **settings)
    show.result(result, json_form=json, out=settings["out"])
    for kind, title in KINDS.items():
        mine = [_finding(one) for one in result.details if one.kind == kind]
        for line in list(dict.fromkeys(mine))[:examples]:  # two claims of a sentence have one line
            show.note(line)
        if len(mine) > examples:
            show.note(f"… {len(mine)} {title} in all")
    for system, counts in result.counts.items():
        named = ", ".join(tallied(counts))
        show.note(f"{system}: {named}")
    for recipe in dict.fromkeys(one.identity.partition("|")[2] for one in result.scores if one.value is not None):
        if recipe:
            show.note(recipe)


def _finding(one: Any) -> str:
    place = f"{one.system}: task {one.task}"
    if one.kind == "wavers":
        sides = [", ".join(map(str, trials)) for trials in (one.solved, one.failed)]
        parts = "" if one.parts_at is None else f"; they part at turn {one.parts_at}"
        return f"{place}: solved in trial {sides[0]}, not in {sides[1]}{parts}"
    place += f", trial {one.trial}, turn {one.turn}"
    if one.kind == "claim":
        return f"{place}: no call stands behind: {one.text}"
    return f"{place}: {one.tool}: nobody said {one.argument} = {one.value}"


@click.command(no_args_is_help=True)
@click.argument("transcripts", metavar="TRANSCRIPTS", type=options.FILE)
@options.option("--from", "NAME", "First rule. Default: that of the format.", "start", type=RULES)
@options.option("--to", "NAME", "Second rule.", "end", type=RULES, default="exact")
@GOLD
@TOOLS
@FORMAT
@options.number("--examples", 3, "Number of trials to show for each choice.")
@options.JSON
def explain(transcripts: str, examples: int, json: bool, **settings: Any) -> None:
    """Explain why two matching rules disagree: how much each choice changes the share of trials that are right."""
    from troth.agents.explain import explain_rules

    steps = explain_rules(transcripts, **settings)
    if json:
        show.json(steps)
        return
    if not steps:
        show.text("the two rules make the same choices")
        return
    rows = [
        (
            one.choice, one.old, one.new, tables.percent(one.before), tables.percent(one.after),
            f"{100 * (one.after - one.before):+.2f}", f"{100 * one.alone:+.2f}", str(len(one.flips)), str(one.trials),
        )
        for one in steps
    ]  # fmt: skip
    columns = ("choice", "from", "to", "before", "after", "change", "alone", "flips", "trials")
    show.table(tables.Table(columns, tuple(rows), labels=3))
    for one in steps:
        for flip in one.flips[:examples]:
            sides = f"{flip.before or 'right'} → {flip.after or 'right'}"
            show.text(f"{one.choice}: task {flip.task}, trial {flip.trial}: {sides}")


@click.command(no_args_is_help=True)
@click.argument("transcripts", metavar="TRANSCRIPTS", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FILE)
@GOLD
@TOOLS
@options.option("--rule", "NAME", "How calls are matched: exact, bfcl or tau. Default: by the format.", type=RULES)
@FORMAT
@options.JSON
def states(transcripts: str, out: str, gold: tuple[str, ...], json: bool, **settings: Any) -> None:
    """Write calls as states, gold and predicted, for troth dst, robust and every other command of state tracking.

    OUT is a new JSONL file with a line for each user turn of each trial.
    """
    from troth.agents.export import write_states

    count = write_states(transcripts, out, gold=gold, **settings)
    if json:
        show.json({"out": out, "trials": count})
    show.note(f"written: {out} ({counted(count, 'trial')})")
