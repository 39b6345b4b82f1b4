"""Signatures: everything that moves a number, in one line, in the manner of sacreBLEU.

A recipe is a frozen dataclass (a profile of state tracking, the settings of SGSAcc) or a mapping of rules to values.
The signature is made from all of its fields, so that no rule can be forgotten: a field is left out only where it has
the value that the recipe's named base has, or where the metric declares that it does not depend on it. Equal
signatures, apart from `n` and `v`, mean equal rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from troth.core.metric import Metric
from troth.core.version import __version__


def signature(metric: Metric | str, recipe: Any, *, n: int) -> str:
    """`JGA|profile:sgd|unit:frame|match:fuzzy-indel|norm:none|missing:zero|n:26139|v:0.2.0`."""
    return "|".join([identity(metric, recipe), f"n:{n}", f"v:{__version__}"])


def identity(metric: Metric | str, recipe: Any) -> str:
    """The signature without the number of units and the version: what numbers must share to be compared."""
    name, ignored = (metric, frozenset[str]()) if isinstance(metric, str) else (metric.name, metric.ignores)
    return "|".join(filter(None, [name.upper(), recipe_text(recipe, ignored)]))


def recipe_text(recipe: Any, ignored: frozenset[str] = frozenset()) -> str:
    """The rules of a recipe as a signature writes them: `unit:frame|match:exact`."""
    return "|".join(f"{rule}:{text}" for rule, text in recipe_rules(recipe, ignored).items())


def recipe_rules(recipe: Any, ignored: frozenset[str] = frozenset()) -> dict[str, str]:
    """The rules of a recipe that a signature names, with their values as text."""
    return {rule: _text(value) for rule, value in rules(recipe) if rule not in ignored}


def rules(recipe: Any) -> Iterator[tuple[str, Any]]:
    """The rules of a recipe that a signature names.

    Of a dataclass: fields with `always` in their metadata, and fields that differ from the base (`recipe.base()`)
    or, without a base, not the field's default; never those marked `silent`. Of a mapping: all of them. Of a tuple of
    recipes: what each names. None and "" are never named.
    """
    if isinstance(recipe, tuple):
        for one in recipe:
            yield from rules(one)
        return
    if isinstance(recipe, Mapping):
        yield from ((name, value) for name, value in recipe.items() if value not in (None, ""))
        return
    base = recipe.base() if hasattr(recipe, "base") else None
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        default = None if field.default is MISSING else field.default
        usual = default if base is None else getattr(base, field.name)
        if value in (None, "") or field.metadata.get("silent"):
            continue
        if field.metadata.get("always") or value != usual:
            yield field.metadata.get("rule", field.name), value


def _text(value: object) -> str:
    """A rule's value, without the marks that a signature is made of."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list | frozenset):
        value = "+".join(sorted(map(str, value)) if isinstance(value, frozenset) else map(str, value))
    return str(value).replace("|", "/")
