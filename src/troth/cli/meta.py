"""`troth meta`: tests of metrics, with tampered acts, other wordings and labels by people."""

from __future__ import annotations

import click

from troth.cli import agreement, meta_eval, trials, wording


@click.group(no_args_is_help=True)
def meta() -> None:
    """Can a metric be trusted? Tests with tampered acts, other wordings and people's labels."""


for _command in (
    wording.wording,
    trials.rerank,
    trials.templates,
    agreement.annotate,
    agreement.agree,
    meta_eval.evaluate,
    meta_eval.fit,
):
    meta.add_command(_command)
