"""The command line: parse, call, print. Exit codes: 0 fine, 1 a gate not passed, 2 wrong use or bad input."""

from __future__ import annotations

import gc
import io
import os
import sys

import typer

from troth.cli import data, runs, tracking
from troth.errors import UserError

app = typer.Typer(
    name="troth",
    help="Tells whether a dialogue system is true.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tracking.register(app)
runs.register(app)
data.register(app)


def main() -> None:
    """Run a command; whatever is the user's to mend is one line on standard error."""
    # Records are trees without cycles, so counting references frees them; the collector would only walk them.
    gc.disable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every console has a λ
    try:
        app()
    except UserError as error:
        sys.stderr.write(f"troth: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("troth: interrupted; the same command goes on from here\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): not an error, but Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
