"""Word lists and phrases that perturbations draw from: data files beside the code, read on first use."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The content of a data file: `words` or `phrases`."""
    return tomllib.loads(files("troth.perturb").joinpath(f"data/{name}.toml").read_text(encoding="utf-8"))


@cache
def words(name: str) -> frozenset[str]:
    """A set of words, by its name in `words.toml`."""
    return frozenset(table("words")[name].split())


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list to draw from, by its name in `words.toml`; what stands in it twice is drawn twice as often."""
    return tuple(table("words")[name])
