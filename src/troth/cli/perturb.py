"""`troth perturb`: the same data said otherwise."""

from __future__ import annotations

import click

from troth.cli import perturb_dialogue, perturb_schema


@click.group(no_args_is_help=True)
def perturb() -> None:
    """The same data said otherwise: to see whether a system is still right."""


for _command in (perturb_dialogue.dialogue, perturb_schema.schema, perturb_schema.stats):
    perturb.add_command(_command)
