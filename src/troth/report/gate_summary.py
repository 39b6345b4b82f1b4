"""The outcomes of gates as Markdown, for a comment on a pull request. Text from runs is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from troth.core import table as tables
from troth.report.compare import GateOutcome, LevelOutcome
from troth.report.gates import GatedRun, describe_doubt, describe_limit, describe_step, is_failed
from troth.storage import files

MARK = "<!-- troth gate -->"  # how every summary begins: a job finds its own comment by it
LISTED = 20  # units of each kind
COLUMNS = ("metric", "verdict", "limit", "base", "new", "difference", "bounds")


def write_summary(gated: GatedRun, path: str) -> None:
    """Writes a summary to a Markdown file; an older summary in its place is replaced, any other file is not."""
    with files.replaced_file(path, _foreign_content) as file:
        file.write(format_summary(gated).encode())


def format_summary(gated: GatedRun) -> str:
    """The verdict, a table of all gates, and the tasks, dialogues or documents that became worse or better."""
    failed = [outcome for outcome in gated.outcomes if is_failed(outcome, strict=gated.strict)]
    names = ", ".join(dict.fromkeys(_escape(outcome.metric) for outcome in failed))
    head = f"**failed**: {names}" if failed else "**passed**"
    table = tables.Table(COLUMNS, tuple(map(_row, gated.outcomes)), labels=3)
    lines = [MARK, f"### troth gate: {head}", "", _defuse(table.markdown()), *_doubts(gated)]
    for outcome in gated.outcomes:
        if isinstance(outcome, GateOutcome):
            lines += _changes(outcome, gated.clusters)
    return "\n".join(lines) + "\n"


def _row(outcome: GateOutcome | LevelOutcome) -> tuple[str, ...]:
    scale = outcome.scale
    value = tables.number(outcome.value, scale)
    if isinstance(outcome, GateOutcome):
        base, difference = tables.number(outcome.base_value, scale), tables.format_difference(outcome.difference, scale)
        bounds = tables.bounds(outcome.low, outcome.high, scale)
    else:
        base = difference = ""
        known = [tables.number(bound, scale) for bound in (outcome.low, outcome.high) if bound is not None]
        bounds = " … ".join(known)
    return outcome.metric, outcome.verdict, describe_limit(outcome), base, value, difference, bounds


def _doubts(gated: GatedRun) -> Iterator[str]:
    for outcome in gated.outcomes:
        if outcome.verdict == "undecided":
            yield ""
            yield _escape(f"{outcome.metric}: {describe_doubt(outcome, gated.clusters)}.")


def _changes(outcome: GateOutcome, clusters: str) -> Sequence[str]:
    lines: list[str] = []
    for verb, changes in (("Broke", outcome.broken), ("Mended", outcome.mended)):
        if not changes:
            continue
        title = f"{verb}: {len(changes)} of {outcome.dialogues} {clusters}, by {outcome.metric}"
        rows = tuple(
            (
                change.unit,
                "" if change.step is None else describe_step(change.step),
                *(tables.number(value, outcome.scale) for value in (change.before, change.after)),
            )
            for change in changes[:LISTED]
        )
        columns = (clusters.removesuffix("s"), "first difference", "before", "now")
        is_open = " open" if verb == "Broke" else ""
        head = f"<details{is_open}><summary>{html.escape(tables.one_line(title))}</summary>"  # no Markdown on this line
        lines += ["", head, "", _defuse(tables.Table(columns, rows, labels=2).markdown()), ""]
        if len(changes) > LISTED:
            lines += [f"… and {len(changes) - LISTED} more", ""]
        lines.append("</details>")
    return lines


def _escape(text: str) -> str:
    return _defuse(tables.escape_markdown(text))


def _defuse(markdown: str) -> str:
    """Escaped Markdown in which no text of a run mentions a person, names an issue, or is set as a formula.

    Sites look for mentions after they have removed backslashes, so that those get an invisible character.
    """
    marked = re.sub(r"\\?([@#])", "\\1\u2060", markdown)
    return re.sub(r"([$_~])", r"\\\1", marked)


def _foreign_content(path: Path) -> str | None:
    if not path.is_file():
        return "is a folder" if path.is_dir() else "is not a file"
    with path.open("rb") as file:
        own = file.read(len(MARK)) in (b"", MARK.encode())
    return None if own else "exists and is not a summary of troth gate"
