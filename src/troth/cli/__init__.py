"""The command line: parse, call, print. Exit codes: 0 fine, 1 a gate not passed, 2 wrong use or bad input."""

from __future__ import annotations

import gc
import io
import os
import sys

import click

from troth import __version__
from troth.cli import data, perturb, robust, runs, show, tracking
from troth.errors import UserError


@click.group(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="troth")
def app() -> None:
    """Tells whether a dialogue system is true."""


for _command in (
    tracking.dst, tracking.explain, tracking.check, perturb.perturb, robust.robust, runs.compare, runs.gate, runs.table,
    data.convert, data.ls, data.demo,
):  # fmt: skip
    app.add_command(_command)


def main() -> None:
    """Run a command; whatever is the user's to mend is one line on standard error."""
    # Records are trees without cycles, so counting references frees them; the collector would only walk them.
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
        _fail(
            str(
                UserError(error.format_message(), hint=f"see {error.ctx.command_path if error.ctx else 'troth'} --help")
            )
        )
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("troth: interrupted\n")
        sys.exit(130)
    except (show.GoneError, BrokenPipeError):
        # Not an error, but Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _fail(line: str) -> None:
    sys.stderr.write(f"troth: {line}\n")
    sys.exit(2)
