"""`troth agent run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.table import Table

if TYPE_CHECKING:
    from troth.agents.live.summary import RewordingEffect

SHOWN = 10  # rows of a table of findings
NUMBERS = ("n", "original", "reworded", "difference")


@options.command("troth.agents.live.plan:RunAgentSettings")
@click.argument("agent", metavar="AGENT")
@click.argument("tasks", metavar="TASKS", type=options.FILE)
@options.JSON
@show.resumable()
def run(agent: str, tasks: str, json: bool, **settings: Any) -> None:
    """Replay recorded conversations to a live assistant.

    The tools and the users can have other wordings. AGENT is endpoint:URL#MODEL (an OpenAI-compatible server; its key
    is read from OPENAI_API_KEY), gguf:FILE (a model on this disk) or module:function (a Python function of messages and
    tools). TASKS contains recorded conversations; their results answer the calls. The folder gets trajectories that
    `troth agent score` reads. The same command resumes an interrupted run.
    """
    from troth.agents.live.run import RESULT, run_agent

    result = run_agent(agent, tasks, **settings)
    if json:
        notes = [str(note) for note in result.notes]
        show.json({"scores": result.scores, "findings": result.findings, "counts": result.counts, "notes": notes})
        return
    whole = [score for score in result.scores if score.group == "all"]
    layout = [*tables.score_tables(whole), *_finding_tables(result.findings)]
    show.result(result, json_form=False, out=f"{settings['out']}/{RESULT}", layout=layout)


def _finding_tables(effects: Sequence[RewordingEffect]) -> list[Table]:
    """Tools and arguments that lose under other wordings, and names under which they do better; the worst first."""
    pooled = [effect for effect in effects if not effect.set and effect.difference is not None]
    worse = [effect for effect in pooled if (effect.difference or 0.0) < 0]
    better = sorted(
        (effect for effect in effects if effect.set and (effect.difference or 0.0) > 0),
        key=lambda effect: -(effect.difference or 0.0),
    )
    tools, arguments = ([effect for effect in worse if bool(effect.argument) == named] for named in (False, True))
    lost = {"absent": "lost", "wrong": "wrong"}
    layouts: list[tuple[dict[str, str], dict[str, str], list[RewordingEffect]]] = [  # fields by heading
        ({"fragile tool": "tool", "metric": "metric", "other words of": "reworded"}, {}, tools),
        ({"lost argument": "element", "other words of": "reworded"}, lost, arguments),
        ({"rename": "element", "to": "name", "variant": "set", "metric": "metric"}, {}, better),
    ]
    return [
        Table((*labels, *NUMBERS, *counts, "beyond noise"), tuple(
            (
                *(getattr(effect, field) for field in labels.values()), *_numbers(effect),
                *(str(getattr(effect, field)) for field in counts.values()), _certainty(effect),
            )
            for effect in effects[:SHOWN]
        ), labels=len(labels))
        for labels, counts, effects in layouts
        if effects
    ]  # fmt: skip


def _certainty(effect: RewordingEffect) -> str:
    """Whether a difference is beyond noise; an interval without 0 says less than a test that is corrected for many."""
    clear = effect.low is not None and effect.high is not None and not effect.low <= 0 <= effect.high
    return "yes" if effect.certain else "no (many tests)" if clear else "no"


def _numbers(effect: RewordingEffect) -> tuple[str, ...]:
    change = "–" if effect.difference is None else f"{100 * effect.difference:+.1f}"
    if effect.low is not None and effect.high is not None:
        change += f" ({100 * effect.low:+.1f} … {100 * effect.high:+.1f})"
    return str(effect.n), tables.percent(effect.original), tables.percent(effect.share), change
