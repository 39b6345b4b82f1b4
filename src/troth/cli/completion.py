"""`troth completion`: the script that lets a shell complete commands, options and their values."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from troth.cli import show
from troth.core.errors import UserError

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the script that lets a shell complete commands.

    \b
    bash:  echo 'eval "$(troth completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(troth completion zsh)"' >> ~/.zshrc
    fish:  troth completion fish > ~/.config/fish/completions/troth.fish

    The default is the shell in $SHELL.
    """
    from troth.cli import app

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    script = get_completion_class(name) if name in SHELLS else None
    if script is None:
        raise UserError(f"'{name}' is not a supported shell", hint="one of: " + ", ".join(SHELLS))
    show.text(script(app, {}, "troth", "_TROTH_COMPLETE").source())
