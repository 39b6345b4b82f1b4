"""`troth meta annotate` and `agree`: sheets for annotators, and the agreement of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.names import format_count

if TYPE_CHECKING:
    from troth.core.result import Result

SIZES = {"sgsacc": 400, "fga": 100, "pmi-decode": 100}  # sizes of the papers' studies


@click.command(no_args_is_help=True)
@click.argument("sources", metavar="RUN|FILE...", nargs=-1, required=True, type=options.FILE)
@click.option("--out", metavar="SHEET", required=True, help="New .csv file; its key is written beside it.")
@click.option("--study", type=click.Choice(list(SIZES)), default="sgsacc", show_default=True, help="What people judge.")
@click.option("--pairs", type=click.IntRange(min=1), metavar="N",
              help="Number of pairs (sgsacc, 400), dialogues (fga, 100) or contexts (pmi-decode, 100).")  # fmt: skip
@options.number("--seed", 0, "Random seed of the drawn items and of their order.")
@click.option(
    "--of", type=click.Choice(["validated", "excluded", "all"]), default="validated", show_default=True,
    help="sgsacc: draw from turns that pass validation, that fail it, or both.",
)  # fmt: skip
@options.option("--system", "NAME", "System to judge, if the run has several; two, comma-separated, for pmi-decode.")
@options.JSON
def annotate(sources: tuple[str, ...], out: str, study: str, pairs: int | None, json: bool, **settings: Any) -> None:
    """Write a sheet for annotators, as in the studies of three papers.

    sgsacc: responses and acts of a run of `troth nlg`, half of them faithful by SGSAcc. fga: whole dialogues of a run
    of `troth dst`, with gold and predicted states. pmi-decode: responses of two systems in random order, from two
    files or a run of `troth ground`. The key, SHEET.key.json, contains what annotators must not see.
    """
    from troth.meta.people.sheets import STUDIES, key_file

    size, of = pairs or SIZES[study], settings.pop("of")
    if study != "pmi-decode" and len(sources) > 1:
        raise click.UsageError(f"--study {study} takes one run, not {len(sources)}")
    counts = {"sgsacc": _write_pairs, "fga": _write_dialogues, "pmi-decode": _write_responses}[study](
        sources, out, size, of, settings
    )
    if json:
        show.json({**counts, "sheet": out, "key": key_file(out)})
    item = f"{STUDIES[study].item}s"
    if study == "sgsacc":
        drawn = {side: f"{counts[side]} of {counts[f'all_{side}']}" for side in ("faithful", "unfaithful")}
        show.note(
            f"{counts[item]} pairs: {drawn['faithful']} that sgsacc marks faithful, {drawn['unfaithful']} unfaithful"
        )
    else:
        show.note(f"{counts[item]} {item} of " + " and ".join(counts["systems"]))
    if counts["items"] < size:
        show.note(f"fewer than {size}: there are not as many" + (", half and half" if study == "sgsacc" else ""))
    show.note(f"written: {out} (a copy for each annotator), {key_file(out)} (not for them)")


def _write_pairs(sources: tuple[str, ...], out: str, size: int, of: Any, settings: dict[str, Any]) -> Mapping[str, Any]:
    from troth.meta.people.annotate import annotate as write

    key = write(sources[0], out, pairs=size, of=of, **settings)
    faithful = sum(pair.faithful for pair in key.pairs.values())
    drawn = {"pairs": len(key.pairs), "faithful": faithful, "unfaithful": len(key.pairs) - faithful}
    return drawn | {"items": len(key.pairs), "all_faithful": key.faithful, "all_unfaithful": key.unfaithful}


def _write_dialogues(
    sources: tuple[str, ...], out: str, size: int, _: Any, settings: dict[str, Any]
) -> Mapping[str, Any]:
    from troth.meta.people.ratings import annotate_dialogues

    key = annotate_dialogues(sources[0], out, dialogues=size, **settings)
    return {"dialogues": len(key.items), "items": len(key.items), "systems": [key.system]}


def _write_responses(
    sources: tuple[str, ...], out: str, size: int, _: Any, settings: dict[str, Any]
) -> Mapping[str, Any]:
    from troth.core.names import parse_names
    from troth.meta.people.ratings import annotate_responses

    systems = parse_names(settings["system"] or "")
    key = annotate_responses(*sources, out=out, contexts=size, seed=settings["seed"], systems=systems)
    return {"responses": len(key.items), "items": len(key.items) // 2, "systems": list(key.systems)}


@options.command("troth.report.merge:MergeSettings")
@click.argument("sheets", nargs=-1, required=True, metavar="SHEET...", type=options.FILE)
@options.option(
    "--key", "FILE", "Key of the sheet; adds what the answers mean for metric or systems.", type=options.FILE
)
@options.number("--examples", 10, "Number of disagreements to show.")
@options.option("--disagreements", "FILE", "Write all disagreements to this new JSONL file.", type=options.FILE)
@options.JSON
def agree(
    sheets: tuple[str, ...], key: str | None, examples: int, disagreements: str | None, json: bool, **settings: Any
) -> None:
    """Measure the agreement of annotators, and of metrics with them.

    Each SHEET is one annotator's copy of a sheet of `annotate`, filled in. With its key: agreement with SGSAcc,
    correlation of ratings of whole dialogues with JGA, AGA and FGA, or the answers for each of two systems.
    """
    from troth.meta.people.agreement import agree as run
    from troth.storage import files

    files.check_distinct(disagreements, settings["out"])
    if disagreements is not None:
        files.check_new(disagreements)
    result = run(*sheets, key=key, **settings)
    study = result.arguments["study"]
    if disagreements is not None:
        with files.new_file(disagreements) as file:
            for row in result.findings:
                file.write(msgspec.json.encode(row) + b"\n")
    show.result(result, json_form=json, out=settings["out"], layout=_layout(result, study))
    if study == "sgsacc" and not json:
        _show_examples(result.findings[:examples])
    ((annotators, items), *_) = [tuple(counts.items())[:2] for counts in result.counts.values()]
    who = f"{format_count(annotators[1], 'annotator')}, {items[1]} {items[0]}"
    if key is None:
        about = "the metric" if study == "sgsacc" else "metrics" if study == "fga" else "the systems"
        show.note(f"{who}; --key adds what the answers mean for {about}")
        return
    show.note(f"{who}; {len(result.findings)} disagreements with the metric" if study == "sgsacc" else who)
    show.note(result.scores[0].signature)


def _layout(result: Result, study: str) -> list[tables.Table]:
    rows = []
    several = study == "pmi-decode"
    for score in result.scores:
        value, low, high = (tables.number(number, score.scale) for number in (score.value, score.low, score.high))
        names = (score.metric, score.system if several else score.group)
        rows.append((*names, value, "–" if score.low is None else f"{low} … {high}", str(score.n)))
    item = next(name for counts in result.counts.values() for name in list(counts)[1:])
    heads = ("metric", "system" if several else "group", "value", "95% interval", item)
    layout = [tables.Table(heads, tuple(rows), labels=2)]
    if study == "pmi-decode" and result.findings:
        lines = []
        for test in result.findings:
            low, high = (tables.format_difference(end, "share") for end in (test.low, test.high))
            span = "–" if test.low is None else f"{low} … {high}"
            difference = tables.format_difference(test.difference, "share")
            lines.append((test.metric, f"{test.system} − {test.base}", difference, span, f"{test.p_holm:.4f}"))
        layout.append(
            tables.Table(("metric", "systems", "difference", "95% interval", "p (Holm)"), tuple(lines), labels=2)
        )
    return layout


def _show_examples(details: Any) -> None:
    for pair in details:
        people, metric = (" ".join("yes" if vote else "no" for vote in votes) for votes in (pair.votes, [pair.metric]))
        show.text(f"\n{pair.id} ({pair.dialogue}, turn {pair.turn}): people {people}; metric {metric}")
        show.text(f"  before  {' '.join(pair.previous.split())}")
        show.text(f"  said    {' '.join(pair.utterance.split())}")
        show.text(f"  act     {pair.words}")
