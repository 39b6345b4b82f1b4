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


@click.command(no_args_is_help=True)
@click.argument("agent", metavar="AGENT")
@click.argument("tasks", metavar="TASKS", type=options.FILE)
@options.option("--tools", "FILE", "Definitions of the tools, where TASKS has none.", type=options.FILE)
@options.option("--variants", "NAMES", "Rewordings of the tools, for example v1..v3 or v1,v3.")
@options.option("--from", "FOLDER", "Where the rewordings are, as `troth perturb schema` wrote them. "
                "Default: the folder of the tools.", "from_", type=options.FOLDER)  # fmt: skip
@options.option("--users", "NAMES", "Rewordings of the users, for example disfluency,paraphrase.",
                type=options.Names("troth.perturb.users:FAMILIES"))  # fmt: skip
@options.number("--trials", 1, "How often each task is replayed in each set of words.", least=1)
@options.option("--limit", "N", "Replay the first N tasks only.", type=click.IntRange(min=1))
@click.option("--gold", metavar="FILE", multiple=True, type=options.FILE,
              help="File with the expected calls, where TASKS has none; may be repeated.")  # fmt: skip
@options.option("--format", "NAME", "Format of TASKS. Default: detected.",
                type=options.Names("troth.readers.trajectories:FORMATS"))  # fmt: skip
@options.option("--out", "FOLDER", "Folder of the run; where one was begun, it goes on.", type=options.FOLDER,
                default="agent-run")  # fmt: skip
@options.option("--budget", "N", "What this run may ask at most: 500, 500calls or 200ktokens.")
@options.number("--parallel", 4, "Conversations at a time.", least=1)
@options.number("--steps", 10, "Messages of the assistant in one turn, at most.", least=1)
@options.option("--temperature", "T", "Temperature that is asked for.", type=options.Real(0, 2), default=0.0)
@options.option("--timeout", "SECONDS", "Time for a whole answer.", type=options.Real(0.001), default=120.0)
@options.number("--retries", 2, "How often to ask again where the server fails, hangs or answers nonsense.")
@options.number("--seed", 0, "Random seed of the rewordings and of the tests.")
@options.JSON
@show.resumable()
def run(agent: str, tasks: str, out: str, gold: tuple[str, ...], json: bool, **other: Any) -> None:
    """Replay recorded conversations to a live assistant, under other words of its tools and users.

    AGENT is endpoint:URL#MODEL (an OpenAI-compatible server; its key is read from OPENAI_API_KEY) or module:function, a
    Python function of messages and tools. TASKS holds recorded conversations; their results answer the calls. The
    folder gets trajectories that `troth agent score` reads. The same command goes on where it was stopped.
    """
    from troth.agents.live.run import RESULT, run_agent

    result = run_agent(agent, tasks, out=out, gold=list(gold), **other)
    if json:
        show.json({"scores": result.scores, "findings": result.findings, "counts": result.counts, "notes": list(map(str, result.notes))})
        return
    whole = [score for score in result.scores if score.group == "all"]
    layout = [*tables.of_scores(whole), *_findings([_effect(row) for row in result.details])]
    show.result(result, json_form=False, out=f"{out}/{RESULT}", layout=layout)


def _effect(row: Any) -> RewordingEffect:
    import msgspec

    from troth.agents.live.summary import RewordingEffect

    return msgspec.convert(row, RewordingEffect)


def _findings(effects: Sequence[RewordingEffect]) -> list[Table]:
    """Tools and arguments that lose under other words, and names under which they do better; the worst first."""
    pooled = [one for one in effects if not one.set and one.difference is not None]
    worse = [one for one in pooled if (one.difference or 0.0) < 0]
    better = sorted(
        (one for one in effects if one.set and (one.difference or 0.0) > 0), key=lambda one: -(one.difference or 0.0)
    )
    tools, arguments = ([one for one in worse if bool(one.argument) == named] for named in (False, True))
    made = [
        Table((title, *labels, *NUMBERS, *more, "beyond noise"), tuple(map(row, rows[:SHOWN])), labels=1 + len(labels))
        for title, labels, more, row, rows in (
            ("fragile tool", ("metric", "other words of"), (), _tool, tools),
            ("lost argument", ("other words of",), ("absent", "wrong"), _argument, arguments),
            ("rename", ("to", "variant", "metric"), (), _better, better),
        )
    ]
    return [one for one in made if one.rows]


def _tool(one: RewordingEffect) -> tuple[str, ...]:
    return one.tool, one.metric, one.reworded, *_numbers(one), _certain(one)


def _argument(one: RewordingEffect) -> tuple[str, ...]:
    return one.element, one.reworded, *_numbers(one), str(one.lost), str(one.wrong), _certain(one)


def _better(one: RewordingEffect) -> tuple[str, ...]:
    return one.element, one.name, one.set, one.metric, *_numbers(one), _certain(one)


def _certain(one: RewordingEffect) -> str:
    return "yes" if one.certain else "no"


def _numbers(one: RewordingEffect) -> tuple[str, ...]:
    change = "–" if one.difference is None else f"{100 * one.difference:+.1f}"
    if one.low is not None and one.high is not None:
        change += f" ({100 * one.low:+.1f} … {100 * one.high:+.1f})"
    return str(one.n), tables.percent(one.original), tables.percent(one.share), change
