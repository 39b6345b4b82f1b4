"""The command line: parse, call, print. Exit codes: 0 fine, 1 a gate not passed, 2 wrong use or bad input."""

from __future__ import annotations

import gc
import io
import os
import sys
from importlib import import_module

import click

from troth.core.errors import GoneError, UserError, near
from troth.core.version import __version__

COMMANDS = {  # name to where it is: a module is loaded when one of its commands is called, or all are listed
    "dst": "troth.cli.tracking:dst",
    "explain": "troth.cli.tracking:explain",
    "check": "troth.cli.tracking:check",
    "perturb": "troth.cli.perturb:perturb",
    "robust": "troth.cli.robust:robust",
    "generate": "troth.cli.generate:generate",
    "nlg": "troth.cli.nlg:nlg",
    "ground": "troth.cli.ground:ground",
    "meta": "troth.cli.meta:meta",
    "compare": "troth.cli.runs:compare",
    "gate": "troth.cli.runs:gate",
    "table": "troth.cli.runs:table",
    "report": "troth.cli.report:report",
    "convert": "troth.cli.data:convert",
    "models": "troth.cli.models:models",
    "cache": "troth.cli.models:cache",
    "ls": "troth.cli.data:ls",
    "completion": "troth.cli.completion:completion",
    "demo": "troth.cli.demo:demo",
}


class Lazy(click.Group):
    """Commands whose modules are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(module), name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command is called '{args[0]}'. {near(args[0], COMMANDS) or ''}".strip(), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Lazy, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="troth")
def app() -> None:
    """Measures whether a dialogue system can be trusted: state tracking, robustness, faithfulness."""


def main() -> None:
    """Runs a command. What the user can mend is reported in one line on standard error, with exit code 2."""
    # Records hold no cycles, so counting references frees them; the collector would only walk them.
    gc.disable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every console has a λ
    try:
        code = app.main(prog_name="troth", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code or 0)
    except UserError as error:
        _fail(str(error))
    except click.exceptions.NoArgsIsHelpError as help:
        sys.stderr.write(help.format_message() + "\n")
        sys.exit(2)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "troth"
        _fail(str(UserError(error.format_message(), hint=f"see {command} --help")))
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("troth: interrupted\n")
        sys.exit(130)
    except (GoneError, BrokenPipeError):
        # Not an error, but Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _fail(line: str) -> None:
    sys.stderr.write(f"troth: {line}\n")
    sys.exit(2)
