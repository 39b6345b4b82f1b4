"""Options of the tasks: each is declared once, as a field of the task's settings, for Python and the command line.

    @dataclass(frozen=True)
    class MergeSettings:
        resamples: int = option(1000, "Number of bootstrap resamples.", least=1)

    @keywords(MergeSettings)
    def merge(*runs: Path, **options: Any) -> Result:
        settings = resolve(MergeSettings, options)

`keywords` gives the function the signature that `help` shows. `troth.cli.options` makes the options of the command line
from the same fields. Members of a registry that are structs declare theirs by annotations:
`Annotated[int, Option("Number of variants.")]`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from troth.core.errors import UserError, suggest_name

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SAME: Any = object()  # the command line has the default of Python


@dataclass(frozen=True)
class Option:
    """What an option means, and which values it takes."""

    help: str
    metavar: str = ""  # the name of the value in help texts; shells complete FILE and FOLDER as paths
    flag: str = ""  # on the command line; empty: the name of the field
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: bool = False  # the value must be above `least`, not equal to it
    complete: tuple[str, ...] = ()  # what shells offer: words, or registries as "module:attribute"
    repeat: bool = False  # the flag may be given several times
    zero: str = ""  # what 0 on the command line stands for where Python has None: "all"
    command: Any = SAME  # default of the command line, where it cannot be that of Python
    # Options that come with further flags, such as --no-cache; python: not an option of the command line.
    shape: Literal["", "run", "cache", "workers", "python"] = ""


def option(default: Any, help: str, metavar: str = "", **further: Any) -> Any:
    """A field of a settings dataclass that is an option; `further`: see `Option`."""
    metadata = {"option": Option(help, metavar, **further)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def python_only(help: str) -> dict[str, Any]:
    """Metadata of a field that the command line does not have, for fields whose default is made by a function."""
    return {"option": Option(help, shape="python")}


def resamples_option(default: int = 1000, *, over: str = "dialogues") -> Any:
    return option(default, f"Number of bootstrap resamples (over {over}).", least=1)


def seed_option(help: str = "Random seed of the bootstrap.") -> Any:
    return option(0, help, least=0)


def workers_option(*, command: int = 1) -> Any:
    """Option `workers`: in Python the default is one process, for a command all cores."""
    help = "Number of worker processes, or of Ray actors (0 = one per core). Results do not depend on it."
    return option(1, help, least=0, command=command, shape="workers")


def run_folder() -> Any:
    return option(None, "Save the run to this folder: scores, rows, dialogues.", "RUN", shape="run")


def cache_file() -> Any:
    """Option for a cache file: "" is the default file, None no file."""
    help = "File that caches model answers; `troth cache` shows the default one."
    return option("", help, "FILE", shape="cache")


class DeclaredOption(NamedTuple):
    """A field that is an option: its name, the kind of its value, and its default."""

    name: str
    kind: str  # text, texts, int, ints, float, floats, bool, pairs
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        return self.option.flag or "--" + self.name.rstrip("_").replace("_", "-")

    def check(self, value: Any) -> None:
        """Raises an error for a value outside the choices or the range; values of other types are not checked."""
        about = self.option
        if value == self.default:
            return
        if about.choices and isinstance(value, str):
            check_choice(self.name, value, about.choices)
        if self.kind in ("int", "float") and isinstance(value, int | float):
            least = about.least is None or value > about.least or (value == about.least and not about.above)
            if not (least and (about.most is None or value <= about.most)):
                raise UserError(f"cannot be '{value}'", option=self.name, hint=self.range)

    @property
    def range(self) -> str:
        """The range of a number in words; empty where there is none."""
        least, most = self.option.least, self.option.most
        low = "" if least is None else f"above {least:g}" if self.option.above else f"{least:g} or more"
        if most is None:
            return low
        return f"{least:g} to {most:g}" if low and not self.option.above else f"{low}, at most {most:g}".lstrip(", ")


def declared_options(record: type) -> list[DeclaredOption]:
    """The options that a settings dataclass or a struct declares; those of a class before those that it inherits."""
    if not is_dataclass(record):
        return list(_annotated_options(record))
    owners = {name: cls for cls in reversed(record.__mro__) for name in inspect.get_annotations(cls)}
    ordered = sorted(fields(record), key=lambda field: record.__mro__.index(owners[field.name]))
    return [
        DeclaredOption(field.name, _kind(str(field.type)), field_default(field), field.metadata["option"])
        for field in ordered
        if "option" in field.metadata
    ]


def _kind(annotation: str) -> str:
    """The kind of value for a type annotation. Models, paths and lists of names are text on the command line."""
    first = annotation.partition(" | ")[0]
    lists = {"Sequence[int]": "ints", "Iterable[float]": "floats", "Sequence[float]": "floats"}
    kinds = {"int": "int", "float": "float", "bool": "bool", "Mapping[str, Any]": "pairs", **lists}
    return kinds.get(first, "text")


def _annotated_options(struct: Any) -> Iterator[DeclaredOption]:
    """The fields of a msgspec struct that are annotated with an `Option`."""
    optional = struct.__struct_fields__[-len(struct.__struct_defaults__) :]
    defaults = dict(zip(optional, struct.__struct_defaults__, strict=True))
    for name, hint in get_type_hints(struct, include_extras=True).items():
        about = next((part for part in get_args(hint) if isinstance(part, Option)), None)
        if about is not None:
            value = get_args(hint)[0]
            choices = get_args(value) if get_origin(value) is Literal else ()
            kind = "texts" if get_origin(value) is tuple else "text"
            yield DeclaredOption(name, kind, defaults[name], replace(about, choices=choices))


def field_default(field: Field[Any]) -> Any:
    """The default of a field: its value, or the value that its factory makes."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def keywords(record: type) -> Callable[[F], F]:
    """Shows the fields of a settings dataclass as keyword-only parameters of a function that takes `**options`."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        positional = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        named = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=_shown_default(field), annotation=field.type
            )
            for field in fields(record)
        ]
        function.settings = record  # type: ignore[attr-defined]
        function.__signature__ = signature.replace(parameters=[*positional, *named])  # type: ignore[attr-defined]
        return function

    return decorate


class _Made:
    """Stands in a signature for a default that is made for each call."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown_default(field: Field[Any]) -> Any:
    made = field.default_factory
    return field.default if made is MISSING else _Made("{}" if made is dict else f"{made.__name__}()")  # type: ignore[attr-defined]


def resolve(record: type[T], keywords: Mapping[str, Any]) -> T:
    """The keywords of a function as settings; an unknown keyword and a value out of range are errors."""
    known = [field.name for field in fields(record)]  # type: ignore[arg-type]
    for name in keywords:
        if name not in known:
            raise UserError(
                f"there is no option '{name}'", hint=suggest_name(name, known) or "one of: " + ", ".join(known)
            )
    for declared in declared_options(record):
        if declared.name in keywords:
            declared.check(keywords[declared.name])
    return record(**keywords)


def check_choice(option: str, value: str, known: Iterable[str]) -> str:
    """The value, if it is a known one."""
    choices = list(known)
    if value not in choices:
        hint = suggest_name(value, choices) or "one of: " + ", ".join(choices)
        raise UserError(f"cannot be '{value}'", option=option, hint=hint)
    return value


def size(text: str) -> int:
    """Bytes from "500MB", "2 GB", "1000000"."""
    number = text.strip().upper().removesuffix("B").rstrip()
    unit = number[-1:] if number[-1:] in UNITS else ""
    try:
        count = float(number.removesuffix(unit)) * UNITS[unit]
        if not 0 <= count < 2**60:
            raise ValueError
    except ValueError as error:
        raise UserError(f"'{text}' is not a size", hint="such as 500MB or 2GB") from error
    return int(count)


def record_arguments(settings: Any, **more: Any) -> dict[str, Any]:
    """Options as `run.json` keeps them: text, numbers, lists; models by name; without cache, workers and `out`."""
    names = [field.name for field in fields(settings) if field.name not in ("cache", "out", "workers")]
    return {name: _plain(value) for name, value in (more | {name: getattr(settings, name) for name in names}).items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return [_plain(item) for item in value]
    return getattr(value, "name", None)
