"""Arguments and options of commands: those that settings declare, and those that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from troth.core.errors import UserError
from troth.core.options import SAME, DeclaredOption, declared_options
from troth.core.registry import import_path
from troth.storage.runs import foreign_content, is_run

F = TypeVar("F", bound=Callable[..., Any])

_NEXT_PAIR = re.compile(r",\s*(?=[^\s,=]+=)")
ENGINE = "troth.engine"  # key of the context: the engine and its address


class Names(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated names that a shell completes. Registries are imported only for that."""

    name = "names"

    def __init__(self, *sources: str) -> None:
        """`sources`: words, and registries or functions as "module:attribute"."""
        self.sources = sources

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, start = incomplete.rpartition(",")
        used = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{name}", help=line)
            for name, line in self._members().items()
            if name.startswith(start) and name not in used
        ]

    def _members(self) -> dict[str, str]:
        members: dict[str, str] = {}
        for source in self.sources:
            members |= describe_members(source) if ":" in source else {source: ""}
        return members


class Real(click.FloatRange):
    """A number in a range. NaN, which click lets through, and infinity are in no range."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated numbers, as a list."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return [self.kind(part) for part in value.split(",")] if isinstance(value, str) else value
        except ValueError:
            numbers = "whole numbers" if self.kind is int else "numbers"
            self.fail(f"'{value}' is not a comma-separated list of {numbers}.", param, ctx)


class Pairs(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE, or several of them with commas, as a dictionary; values that are numbers become numbers."""

    name = "pairs"

    def __init__(self, *, single: bool) -> None:
        self.single = single

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        pairs: dict[str, Any] = {}
        for text in filter(None, split_pairs(value) if self.single else value.split(",")):
            name, equals, content = text.partition("=")
            if not equals:
                self.fail(f"'{text}' is not of the form NAME=VALUE.", param, ctx)
            pairs[name.strip()] = _parse_number(content)
        return pairs


def split_pairs(text: str) -> list[str]:
    """Pairs NAME=TEXT separated by commas; a text may have commas, unless a name and "=" follow.

    >>> split_pairs("jga=JGA, all,sturdy=Ours")
    ['jga=JGA, all', 'sturdy=Ours']
    """
    return _NEXT_PAIR.split(text)


def _parse_number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Location(click.ParamType):  # type: ignore[type-arg]
    """A path that the shell completes as a file or folder. It is not checked here."""

    name = "path"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self.kind)]


FILE, FOLDER = Location("file"), Location("dir")
PATHS = {"FILE": FILE, "FOLDER": FOLDER, "RUN": FOLDER}  # by metavar


def describe_members(source: str) -> dict[str, str]:
    """The members of a registry, or the names that a function returns, each with one line about it."""
    listing = import_path(source)
    if callable(listing):
        return dict(listing())
    names = listing.by_name() if hasattr(listing, "by_name") else listing
    return {name: describe_member(listing, name) for name in names}


def describe_member(registry: Any, name: str) -> str:
    """What a member of a registry says of itself: its `about` or `summary`, else the first line of its docstring."""
    member = registry.load(name) if hasattr(registry, "load") else registry[name]
    declared = getattr(member, "FORMAT", member)
    text = getattr(declared, "about", None) or getattr(declared, "summary", None) or member.__doc__ or ""
    return str(text).strip().partition("\n")[0]


class SettingsSource(NamedTuple):
    """A settings class whose options a command has."""

    path: str  # "module:class"
    only: tuple[str, ...] = ()  # fields that are options of this command; empty: all
    leave_out: tuple[str, ...] = ()
    defaults: str = ""  # "module:mapping": defaults that differ from those of the class
    argument: str = ""  # the command gets the options that were given as one dictionary of this name

    def options(self) -> list[DeclaredOption]:
        changed = import_path(self.defaults) if self.defaults else {}
        return [
            declared._replace(default=changed.get(declared.name, declared.default))
            for declared in declared_options(import_path(self.path))
            if declared.option.shape != "python"
            and declared.name not in self.leave_out
            and (not self.only or declared.name in self.only)
        ]


def settings(*sources: str | SettingsSource, **grouped: str | SettingsSource) -> dict[str, Any]:
    """Keywords for `click.command`: the command has the options that settings classes declare.

    The command's function gets each option as a keyword, with the default of the class. Options of a class in `grouped`
    come as one dictionary of those that were given. The classes are imported when the options are first needed, so that
    listing commands imports nothing heavy.
    """
    named = {"": sources, **{argument: (source,) for argument, source in grouped.items()}}
    every = [
        (source if isinstance(source, SettingsSource) else SettingsSource(source))._replace(argument=argument)
        for argument, own in named.items()
        for source in own
    ]
    return {"cls": SettingsCommand, "sources": every}


def command(
    *sources: str | SettingsSource, name: str | None = None, **grouped: str | SettingsSource
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the options that settings classes declare, see `settings`."""
    decorate: Callable[[Callable[..., Any]], click.Command] = click.command(name, **settings(*sources, **grouped))
    return decorate


class SettingsCommand(click.Command):
    """A command with the options that settings classes declare."""

    def __init__(self, *args: Any, sources: Iterable[SettingsSource], **kwargs: Any) -> None:
        self.sources = tuple(sources)
        self.declared: list[tuple[SettingsSource, DeclaredOption]] | None = None
        self._params: list[click.Parameter] = []
        super().__init__(*args, **kwargs)
        self.no_args_is_help = any(isinstance(parameter, click.Argument) for parameter in self._params)

    @property
    def params(self) -> list[click.Parameter]:
        if self.declared is None:
            self.declared = [(source, declared) for source in self.sources for declared in source.options()]
            generated = [option for _, declared in self.declared for option in make_options(declared)]
            own = sorted(self._params, key=lambda parameter: isinstance(parameter, click.Option))  # arguments first
            count = sum(isinstance(parameter, click.Argument) for parameter in own)
            self._params = [*own[:count], *generated, *own[count:]]
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params

    def invoke(self, ctx: click.Context) -> Any:
        for source in self.sources:
            if source.argument:
                ctx.params[source.argument] = {}
        for source, declared in self.declared or ():
            value = _read(ctx, declared)
            if not source.argument:
                ctx.params[declared.name] = value
                continue
            del ctx.params[declared.name]
            named = ctx.get_parameter_source(declared.name) is not ParameterSource.DEFAULT
            if named or value != _default(declared):  # --no-cache changes a value that is not named
                ctx.params[source.argument][declared.name] = value
        engine = ctx.meta.pop(ENGINE, None)
        try:
            with nullcontext() if engine is None else _use_engine(*engine):
                return super().invoke(ctx)
        except UserError as error:
            flag = next((declared.flag for _, declared in self.declared or () if declared.name == error.option), None)
            if flag is None:
                raise
            raise error.rename_option(flag) from error


def _use_engine(name: str, address: str | None) -> Any:
    from troth.engine import using

    return using(name, address=address, ends=True)


def _read(ctx: click.Context, declared: DeclaredOption) -> Any:
    """The value of an option as Python takes it; of one that was not given, the default."""
    value, about = ctx.params[declared.name], declared.option
    if about.shape == "cache" and ctx.params.pop("no_cache"):
        if value:
            raise click.UsageError("--cache and --no-cache exclude each other", ctx)
        return None
    if about.shape == "run":
        force = ctx.params.pop("force")
        if value is not None and not force and is_run(value) and foreign_content(Path(value)) is None:
            raise UserError("already contains a run", file=value, hint="--force replaces it")
    if about.shape == "workers":
        ctx.meta[ENGINE] = _read_engine(ctx)
    if ctx.get_parameter_source(declared.name) is ParameterSource.DEFAULT:
        return _default(declared)
    if declared.kind == "bool":
        return not declared.default
    if declared.kind == "pairs" and about.repeat:
        return {name: content for pairs in value for name, content in pairs.items()}
    if about.zero and value == 0:
        return None
    return list(value) if about.repeat else value


def _read_engine(ctx: click.Context) -> tuple[str, str | None]:
    engine, address = ctx.params.pop("works_on"), ctx.params.pop("address")
    if address is not None and engine != "ray":
        raise click.UsageError("--address needs --on ray", ctx)
    return engine, address


def _default(declared: DeclaredOption) -> Any:
    return declared.default if declared.option.command is SAME else declared.option.command


def make_options(declared: DeclaredOption) -> Iterator[click.Option]:
    """The click option of a declared one, and the flags that come with it."""
    about, default = declared.option, _default(declared)
    if declared.kind == "bool":
        yield click.Option([declared.flag, declared.name], is_flag=True, help=about.help)
        return
    shown = format_default(0 if about.zero and default is None else default)
    yield click.Option(
        [declared.flag, declared.name], type=_type(declared), metavar=about.metavar or None, multiple=about.repeat,
        default=None if about.repeat else shown or None, show_default=True,
        help=f"{about.help.removesuffix('.')} (0 = {about.zero})." if about.zero else about.help,
    )  # fmt: skip
    if about.shape == "cache":
        yield click.Option(["--no-cache"], is_flag=True, help="Do not cache model answers on disk.")
    elif about.shape == "run":
        yield click.Option(["--force"], is_flag=True, help="With --out: replace the run in the folder.")
    elif about.shape == "workers":
        yield from _engine_options()


def _engine_options() -> Iterator[click.Option]:
    help = "Where to work: on this machine, or on Ray. Results do not depend on it."
    engines = click.Choice(["processes", "ray"])
    yield click.Option(["--on", "works_on"], type=engines, default="processes", show_default=True, help=help)
    help = "Address of the Ray cluster. Default: RAY_ADDRESS, else Ray on this machine."
    yield click.Option(["--address"], metavar="HOST:PORT", help=help)


def format_default(default: Any) -> str:
    """A default as it would be written on the command line; empty where there is none."""
    if default is None or isinstance(default, Mapping):
        return ""
    items = default if isinstance(default, tuple) else (default,)
    return ",".join(f"{item:g}" if isinstance(item, float) else str(item) for item in items)


def _type(declared: DeclaredOption) -> Any:
    about = declared.option
    if about.choices:
        return click.Choice(about.choices)
    match declared.kind:
        case "int":
            ranged = about.least is not None or about.most is not None
            return click.IntRange(_whole(about.least), _whole(about.most)) if ranged else click.INT
        case "float":
            return Real(about.least, about.most, min_open=about.above)
        case "ints" | "floats":
            return Numbers(int if declared.kind == "ints" else float)
        case "pairs":
            return Pairs(single=about.repeat)
    return Names(*about.complete) if about.complete else PATHS.get(about.metavar)


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def option(flag: str, metavar: str, help: str, *names: str, type: Any = None, default: Any = None) -> Callable[[F], F]:
    """An option with a value; a default is shown."""
    return click.option(
        flag, *names, metavar=metavar, type=type, default=default, show_default=default is not None, help=help
    )


def number(flag: str, default: int, help: str, *, least: int = 0) -> Callable[[F], F]:
    """An option that is a whole number."""
    return click.option(flag, type=click.IntRange(min=least), default=default, show_default=True, help=help)


PROFILES = Names("troth.tracking.profiles:PROFILES")
ALL_PROFILES = Names("troth.tracking.profiles:PROFILES", "all")
FORMATS = Names("troth.readers:FORMATS")
FORMS = Names("plain", "markdown", "latex", "csv")  # of tables
TRACKING_METRICS = Names("troth.tracking.metrics:METRICS")
ALL_METRICS = Names(
    "troth.tracking.metrics:METRICS", "troth.responses.metrics:METRICS", "troth.grounding.metrics:METRICS"
)

GOLD = click.argument("gold", metavar="GOLD", type=FILE)
PROFILE = option("--profile", "NAME", "Scoring recipe; `troth ls profiles` lists them.", type=PROFILES)
SCHEMA = option("--schema", "FILE", "Schema of the services, if it is not beside gold.", type=FILE)
FORMAT = option("--format", "NAME", "Format of gold. Default: detected.", type=FORMATS)
GOLD_OPTION = option("--gold", "GOLD", "Gold to score prediction files against.", type=FILE)
JSON = click.option("--json", is_flag=True, help="Print JSON instead of tables.")
SEED = number("--seed", 0, "Random seed of the bootstrap.")
CACHE_FILE = click.option(
    "--cache", metavar="FILE", type=FILE, default="", help="Cache of model answers; `troth cache` shows the default."
)


def resamples(default: int, least: int) -> Callable[[F], F]:
    return number("--resamples", default, "Number of bootstrap resamples (over dialogues).", least=least)
