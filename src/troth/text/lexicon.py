"""Word lists and tables: TOML files in the `data` folder of a package, read on first use."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_table(name: str, package: str = "troth.text") -> dict[str, Any]:
    """The content of `data/NAME.toml` in a package."""
    return tomllib.loads(files(package).joinpath(f"data/{name}.toml").read_text(encoding="utf-8"))


@cache
def word_set(name: str, table: str = "words", package: str = "troth.text") -> frozenset[str]:
    """A set of words, by its name in a table."""
    return frozenset(load_table(table, package)[name].split())
