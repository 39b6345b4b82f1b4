"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

GOLD = click.argument("gold", metavar="GOLD")
PROFILE = click.option("--profile", metavar="NAME", help="Scoring recipe; see `troth ls profiles`.")
SCHEMA = click.option("--schema", metavar="FILE", help="Services' schema, if it is not beside gold.")
FORMAT = click.option("--format", metavar="NAME", help="Gold's format, if it should not be detected.")
PRED_FORMAT = click.option("--pred-format", metavar="NAME", help="The predictions' format, likewise.")
GOLD_OPTION = click.option("--gold", metavar="GOLD", help="Score prediction files against this gold first.")
JSON = click.option("--json", is_flag=True, help="Print JSON.")
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resampling.")

WORKERS = click.option(
    "--workers", type=click.IntRange(min=0), default=0, help="Processes; 0: one a core. Moves no figure."
)
OUT = click.option("--out", metavar="RUN", help="Write the run to this folder: figures, rows, dialogues.")

NLI = click.option(
    "--nli", metavar="NAME", default="embedded", show_default=True, help="Entailment model; see `troth ls backends`."
)
LM = click.option(
    "--lm", metavar="NAME", default="embedded", show_default=True, help="Language model; see `troth ls backends`."
)
CACHE_FILE = click.option("--cache", metavar="FILE", default="", help="Models' answers; default: see `troth cache`.")


def CACHE(command: F) -> F:  # noqa: N802
    """`--cache FILE` and `--no-cache`, as one argument `cache`: a file, "" for the usual one, None for no file."""

    @CACHE_FILE
    @click.option("--no-cache", is_flag=True, help="Neither read nor keep models' answers.")
    @functools.wraps(command)
    def called(*args: Any, cache: str, no_cache: bool, **kwargs: Any) -> Any:
        if no_cache and cache:
            raise click.UsageError("--cache and --no-cache are both given")
        return command(*args, cache=None if no_cache else cache, **kwargs)

    return called  # type: ignore[return-value]


def resamples(default: int, least: int) -> Callable[[F], F]:
    kind = click.IntRange(min=least)
    return click.option("--resamples", type=kind, default=default, show_default=True, help="Of the dialogues.")
