"""The command line as a page: every command with its arguments and options, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from docs_build import markdown
from troth.cli import app


def page() -> str:
    intro = (
        "Results go to standard output, everything else to standard error; `--json` prints JSON. Exit codes: 0 fine, "
        "1 a gate not passed, 2 wrong use or bad input. Every command also takes `-h`."
    )
    return markdown.page("Command line", intro, *_told(app, _context(app, "troth", None)))


def _told(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command, then those below it, each under a heading of its depth."""
    path = context.command_path
    depth = len(path.split())
    if depth > 1:
        yield f"{'#' * min(depth, 4)} {path}"
        yield markdown.block(" ".join([path, *command.collect_usage_pieces(context)]))
        yield from _help(command.help or "")
        yield _options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _told(below, _context(below, name, context))


def _help(text: str) -> Iterator[str]:
    """What the command says of itself; paragraphs that click is told not to wrap are kept line by line."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.strip().removeprefix("\b\n")
        yield markdown.prose(paragraph) if kept == paragraph.strip() else markdown.block(kept)


def _options(command: click.Command, context: click.Context) -> str:
    records = [
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts
    ]
    rows = [(markdown.code(record[0]), markdown.prose(record[1])) for record in records if record]
    return markdown.table(["option", ""], rows) if rows else ""


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    # With the command's own settings: click remembers the option for help on the command itself.
    return click.Context(command, info_name=name, parent=parent, **command.context_settings)
