"""Names of systems, and arguments as people write them: lists or comma-separated text, `str` or `Path`."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from troth.core.errors import UserError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ENDINGS = (
    ".gz",
    ".bz2",
    ".xz",
    ".zip",
    ".parquet",
    ".json",
    ".jsonl",
    ".csv",
    ".tsv",
    ".txt",
)  # tell the format, not the system
DEEPEST = 10  # folders of a path that go into a name

Path = str | os.PathLike[str]


def parse_names(value: str | Iterable[str] | None) -> list[str]:
    """`"jga,aga"` and `["jga", "aga"]` alike, each name once; None is an empty list."""
    items = value.split(",") if isinstance(value, str) else list(value or ())
    return list(dict.fromkeys(item.strip() for item in items if item.strip()))


def is_path(value: object) -> TypeIs[Path]:
    """Whether a value names a file, rather than being data in memory."""
    return isinstance(value, str | os.PathLike)


def path_of(value: Path) -> str:
    """A path as text, whether it was given as `str` or as `pathlib.Path`."""
    return os.fspath(value)


def name_paths(items: Sequence[Path], what: str) -> list[tuple[str, str]]:
    """A name and a path for each of `NAME=PATH` or `PATH`: the given name, or the part of the path that is unique."""
    pairs = [split_name_path(path_of(item)) for item in items]
    for depth in range(1, DEEPEST):
        names = [name or stem(path, depth) for name, path in pairs]
        if len(set(names)) == len(names):
            return [(name, path) for name, (_, path) in zip(names, pairs, strict=True)]
    twice = [name for name, count in Counter(name for name, _ in pairs if name).items() if count > 1]
    if twice:
        raise UserError(f"the name '{twice[0]}' is given twice", hint=f"give each {what} a name of its own")
    raise UserError(f"the same {what} is given twice", hint="give each a name: first=PATH second=PATH")


def split_name_path(item: str) -> tuple[str, str]:
    """Splits `NAME=PATH`; the name is empty if there is none. An existing path is not split."""
    name, equals, path = item.partition("=")
    return ("", item) if not equals or "/" in name or os.path.lexists(item) else (name, path)


def split_profile(system: str, profile: str) -> str:
    """The name of a system without the profile that it is scored under: `dev` for `dev:sgd`."""
    return system.removesuffix(f":{profile}") if profile else system


def stem(path: str, depth: int = 1) -> str:
    """The last parts of a path, without endings that only tell the format."""
    parts = [part for part in path.rstrip("/").split("/") if part not in ("", ".", "..")] or [path]
    name = "/".join(parts[-depth:])
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def unique_names(systems: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each (folder, system): the system's own, or its folder where systems of two runs share a name."""
    folders = Counter(folder for folder, _ in set(systems))
    names = Counter(name for _, name in set(systems))
    return [
        name if names[name] == 1 else folder.rstrip("/") + ("" if folders[folder] == 1 else f":{name}")
        for folder, name in systems
    ]


def format_count(number: int, noun: str) -> str:
    """A number with its noun: "1 dialogue", "2 dialogues"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


_PLURAL = re.compile(r"(?<=\w[^\Ws])s\b")  # the s of "turns" in "missing turns"


def format_counts(counts: Mapping[str, int]) -> list[str]:
    """Counts by names in the plural, as a result has them: "1 dialogue", "2 missing turns"; those of 0 are left out."""
    plurals = [(name.replace("_", " "), count) for name, count in counts.items() if count]
    return [f"1 {_PLURAL.sub('', name, count=1)}" if count == 1 else f"{count} {name}" for name, count in plurals]
