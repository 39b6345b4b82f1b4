"""Arguments and options that several commands share, and the types that let shells complete their values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from troth.core.errors import UserError
from troth.core.registry import imported
from troth.storage.runs import foreign, is_run

F = TypeVar("F", bound=Callable[..., Any])


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names of a registry's members, one or several with commas. The registry is imported only to complete them."""

    name = "names"

    def __init__(
        self, *registries: str, also: Iterable[str] = (), takes: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """`registries`: import paths, "module:attribute". `takes`: whether a member can be named here."""
        self.registries, self.also, self.takes = registries, tuple(also), takes

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        taken = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{name}", help=about)
            for name, about in self._members().items()
            if name.startswith(begun) and name not in taken
        ]

    def _members(self) -> dict[str, str]:
        members: dict[str, str] = {}
        for registry in map(imported, self.registries):
            members |= {name: about(registry, name) for name in registry if self.takes(registry.load(name))}
        return members | dict.fromkeys(self.also, "")


class Real(click.FloatRange):
    """A number in a range. NaN, which click lets through, and infinity are in no range."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Place(click.ParamType):  # type: ignore[type-arg]
    """A path that the shell completes as a file or folder. It is not checked here."""

    name = "path"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self.kind)]


def about(registry: Any, name: str) -> str:
    """What a member of a registry says of itself: its `about` or `summary`, else the first line of its docstring."""
    member = registry.load(name) if hasattr(registry, "load") else registry[name]
    declared = getattr(member, "FORMAT", member)
    text = getattr(declared, "about", None) or getattr(declared, "summary", None) or member.__doc__ or ""
    return str(text).strip().partition("\n")[0]


def option(flag: str, metavar: str, help: str, *names: str, type: Any = None, default: Any = None) -> Callable[[F], F]:
    """An option with a value; a default is shown."""
    return click.option(
        flag, *names, metavar=metavar, type=type, default=default, show_default=default is not None, help=help
    )


def number(flag: str, default: int, help: str, *, least: int = 0) -> Callable[[F], F]:
    """An option that is a whole number."""
    return click.option(flag, type=click.IntRange(min=least), default=default, show_default=True, help=help)


FILE, FOLDER = Place("file"), Place("dir")
PROFILES = Names("troth.tracking.profiles:PROFILES")
ALL_PROFILES = Names("troth.tracking.profiles:PROFILES", also=["all"])
FORMATS = Names("troth.readers:FORMATS")
WRITTEN_FORMATS = Names("troth.readers:FORMATS", takes=lambda member: member.FORMAT.writes)
FORMS = Names(also=("plain", "markdown", "latex", "csv"))  # of tables
TRACKING_METRICS = Names("troth.tracking.metrics:METRICS")
RESPONSE_METRICS = Names("troth.responses.metrics:METRICS")
GROUNDING_METRICS = Names("troth.grounding.metrics:METRICS")
ALL_METRICS = Names(*TRACKING_METRICS.registries, *RESPONSE_METRICS.registries, *GROUNDING_METRICS.registries)
BACKENDS = Names("troth.models:BACKENDS")

GOLD = click.argument("gold", metavar="GOLD", type=FILE)
PROFILE = option("--profile", "NAME", "Scoring recipe; `troth ls profiles` lists them.", type=PROFILES)
SCHEMA = option("--schema", "FILE", "Schema of the services, if it is not beside gold.", type=FILE)
TRAIN_SCHEMA = option("--train-schema", "FILE", "Training schema; adds scores for seen and unseen services.", type=FILE)
FORMAT = option("--format", "NAME", "Format of gold. Default: detected.", type=FORMATS)
PRED_FORMAT = option("--pred-format", "NAME", "Format of the predictions. Default: detected.", type=FORMATS)
GOLD_OPTION = option("--gold", "GOLD", "Gold to score prediction files against.", type=FILE)
JSON = click.option("--json", is_flag=True, help="Print JSON instead of tables.")
REFS = click.option(
    "--refs", type=click.Choice(["b", "table3"]), default="b", show_default=True,
    help="Sentences of booleans that are False: as appendix B of the SGSAcc paper has them, or as its table 3 does.",
)  # fmt: skip
SEED = number("--seed", 0, "Random seed of the bootstrap.")
NLI = option("--nli", "NAME", "Entailment model; see `troth ls backends`.", type=BACKENDS, default="embedded")
LM = option("--lm", "NAME", "Language model; see `troth ls backends`.", type=BACKENDS, default="embedded")
CACHE_FILE = click.option(
    "--cache", metavar="FILE", type=FILE, default="", help="Cache of model answers; `troth cache` shows the default."
)


def OUT(command: F) -> F:  # noqa: N802
    """`--out RUN` and `--force`, as one argument `out`. A run that is there is replaced only with `--force`."""

    @option("--out", "RUN", "Save the run to this folder: scores, rows, dialogues.", type=FOLDER)
    @click.option("--force", is_flag=True, help="With --out: replace the run that is in the folder.")
    @functools.wraps(command)
    def called(*args: Any, out: str | None, force: bool, **kwargs: Any) -> Any:
        if out is not None and not force and is_run(out) and foreign(Path(out)) is None:
            raise UserError("holds a run already", file=out, hint="--force replaces it")
        return command(*args, out=out, **kwargs)

    return called  # type: ignore[return-value]


def workers(*flags: str, default: int = 0) -> Callable[[F], F]:
    """Adds `--workers`, `--address` and an option with these flags; the command runs on the chosen engine."""

    def decorated(command: F) -> F:
        @number(
            "--workers", default, "Worker processes, or Ray actors (0 = one per core). Results do not depend on it."
        )
        @click.option(
            *flags, "works_on", type=click.Choice(["processes", "ray"]), default="processes", show_default=True,
            help="Where to work: on this machine, or on Ray. Results do not depend on it.",
        )  # fmt: skip
        @option("--address", "HOST:PORT", "The cluster of Ray. Default: RAY_ADDRESS, else Ray on this machine.")
        @functools.wraps(command)
        def called(*args: Any, works_on: str, address: str | None, **kwargs: Any) -> Any:
            from troth.engine import using

            if address is not None and works_on != "ray":
                raise click.UsageError(f"--address goes with {flags[0]} ray")
            with using(works_on, address=address, ends=True):
                return command(*args, **kwargs)

        return called  # type: ignore[return-value]

    return decorated


WORKERS = workers("--engine", "--on")
MODEL_WORKERS = workers("--engine", "--on", default=1)  # each opens the model, which uses all cores by itself
WORKERS_ON = workers("--on")  # where `--engine` is one of paraphrases or translations


def CACHE(command: F) -> F:  # noqa: N802
    """`--cache FILE` and `--no-cache`, as one argument `cache`: a file, "" for the usual one, None for no file."""

    @CACHE_FILE
    @click.option("--no-cache", is_flag=True, help="Do not cache model answers on disk.")
    @functools.wraps(command)
    def called(*args: Any, cache: str, no_cache: bool, **kwargs: Any) -> Any:
        if no_cache and cache:
            raise click.UsageError("--cache and --no-cache exclude each other")
        return command(*args, cache=None if no_cache else cache, **kwargs)

    return called  # type: ignore[return-value]


def resamples(default: int, least: int) -> Callable[[F], F]:
    return number("--resamples", default, "Number of bootstrap resamples (over dialogues).", least=least)
