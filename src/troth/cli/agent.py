"""`troth agent`: the group, `score`, `explain` and `states`. `run` is in its own file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from troth.cli import LazyGroup, options, show
from troth.core import table as tables
from troth.core.encoding import encode_json
from troth.core.names import format_count, format_counts

AGENT = {
    "score": "troth.cli.agent:score",
    "explain": "troth.cli.agent:explain",
    "states": "troth.cli.agent:states",
    "run": "troth.cli.agent_run:run",
}
RULES = options.Names("troth.agents.rules:RULES")
SETTINGS = "troth.agents.score:AgentSettings"
KINDS = {
    "claim": "claims without calls", "number": "numbers without support", "time": "times without support",
    "name": "names without support", "value": "values without a source", "wavers": "wavering tasks",
    "judged claim": "claims that the judge calls false", "judged breach": "breaches of the policy, by the judge",
    "judged failure": "trials that the judge calls failed",
}  # fmt: skip


@click.group(cls=LazyGroup, paths=AGENT, no_args_is_help=True)
def agent() -> None:
    """Measure assistants that call tools: calls, states, claims.

    Also measures how reliable they are over trials, and whether arguments of calls have a source.
    """


@options.command(SETTINGS)
@click.argument("transcripts", nargs=-1, required=True, metavar="TRANSCRIPTS...", type=options.FILE)
@options.number("--examples", 3, "Number of examples to show of each kind of finding.")
@options.option("--findings", "FILE", "Write every finding to a new JSONL file, one per line.", type=options.FILE)
@options.JSON
def score(transcripts: tuple[str, ...], examples: int, findings: str | None, json: bool, **settings: Any) -> None:
    """Score assistants that call tools by their transcripts.

    Each file of TRANSCRIPTS is one system: a path, NAME=PATH, or - for standard input. Formats: τ-bench and τ²-bench
    results, BFCL results, messages of all common chat APIs and agent frameworks, logs of gateways, OpenTelemetry spans.
    """
    from troth.agents.findings import findings_behind
    from troth.agents.score import agent as run
    from troth.storage.files import check_distinct, check_new

    check_distinct(findings, settings["out"])
    if findings is not None:
        check_new(findings)
    result = run(*transcripts, **settings)
    if json:
        behind = (findings_behind(result.findings, score.metric, score.system) for score in result.scores)
        show.json(
            [
                msgspec.json.decode(encode_json(score)) | {"findings": own}
                for score, own in zip(result.scores, behind, strict=True)
            ]
        )
    show.result(result, json_form=False, out=settings["out"], layout=() if json else None)
    if findings is not None:
        _write_findings(findings, result.findings)
    for kind, title in KINDS.items():
        lines = [_describe_finding(finding) for finding in result.findings if finding.kind == kind]
        for line in list(dict.fromkeys(lines))[:examples]:  # two claims of a sentence have one line
            show.note(line)
        if len(lines) > examples:
            show.note(f"… {len(lines)} {title} in all")
    for system, counts in result.counts.items():
        show.note(f"{system}: {', '.join(format_counts(counts))}")
    recipes = (score.identity.partition("|")[2] for score in result.scores if score.value is not None)
    for recipe in dict.fromkeys(recipes):
        if recipe:
            show.note(recipe)


def _write_findings(path: str, findings: Sequence[Any]) -> None:
    from troth.storage.files import new_file

    with new_file(path) as file:
        for finding in findings:
            file.write(msgspec.json.encode(finding) + b"\n")
    show.note(f"written: {path} ({format_count(len(findings), 'finding')})")


def _describe_finding(finding: Any) -> str:
    task = f"{finding.system}: task {finding.task}"
    if finding.kind == "wavers":
        solved, failed = (", ".join(map(str, trials)) for trials in (finding.solved, finding.failed))
        parts = "" if finding.parts_at is None else f"; they part at turn {finding.parts_at}"
        return f"{task}: solved in trial {solved}, not in {failed}{parts}"
    turn = f"{task}, trial {finding.trial}" + ("" if finding.turn is None else f", turn {finding.turn}")
    if finding.kind.startswith("judged"):
        return ": ".join(part for part in (turn, finding.tool, finding.reason, finding.text) if part)
    if finding.kind == "claim":
        return f"{turn}: {finding.reason}: {finding.text}"
    if finding.kind in ("number", "time", "name"):
        return f"{turn}: nothing supports {finding.text}"
    return f"{turn}: {finding.tool}: nobody said {finding.argument} = {finding.value}"


@options.command(options.SettingsSource(SETTINGS, only=("gold", "tools", "format")))
@click.argument("transcripts", metavar="TRANSCRIPTS", type=options.FILE)
@options.option("--from", "NAME", "First rule. Default: that of the format.", "start", type=RULES)
@options.option("--to", "NAME", "Second rule.", "end", type=RULES, default="exact")
@options.number("--examples", 3, "Number of trials to show for each choice.")
@options.JSON
def explain(transcripts: str, examples: int, json: bool, **settings: Any) -> None:
    """Explain why two rules that match calls disagree.

    Shows how much each choice of the rules changes the share of correct trials.
    """
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
            step.choice, step.old, step.new, tables.percent(step.before), tables.percent(step.after),
            f"{100 * (step.after - step.before):+.2f}", f"{100 * step.alone:+.2f}",
            str(len(step.flips)), str(step.trials),
        )
        for step in steps
    ]  # fmt: skip
    columns = ("choice", "from", "to", "before", "after", "change", "alone", "flips", "trials")
    show.table(tables.Table(columns, tuple(rows), labels=3))
    for step in steps:
        for flip in step.flips[:examples]:
            verdicts = f"{flip.before or 'right'} → {flip.after or 'right'}"
            show.text(f"{step.choice}: task {flip.task}, trial {flip.trial}: {verdicts}")


@options.command(options.SettingsSource(SETTINGS, only=("gold", "tools", "rule", "format")))
@click.argument("transcripts", metavar="TRANSCRIPTS", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FILE)
@options.JSON
def states(transcripts: str, out: str, json: bool, **settings: Any) -> None:
    """Write calls as states, for the commands of state tracking.

    OUT is a new JSONL file with one line per user turn of each trial, with gold and predicted states, for `troth dst`,
    `troth robust` and others.
    """
    from troth.agents.export import write_states

    count = write_states(transcripts, out, **settings)
    if json:
        show.json({"out": out, "trials": count})
    show.note(f"written: {out} ({format_count(count, 'trial')})")
