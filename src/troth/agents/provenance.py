"""Where the arguments of writing calls come from: values that nobody said and no result held.

Checked are texts and numbers, also inside objects and lists. A text has a source if the user said all its words, or all
stood in one result or in the system's instructions before the call; a date if its day was named; a number if it was
named or spelt out. The assistant's own words are no source, and neither is its arithmetic: an amount that no tool has
calculated has no source. Not checked: choices from a closed list, truth values, numbers below 10, and texts of more
than six words, which are the assistant's to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from troth.agents.sources import Sources, find_mentions
from troth.core.trajectories import LocatedCall, Tool
from troth.text.facts import normalize_number

SOURCES = ("tools", "user", "system")
LONGEST = 6  # words
SMALLEST = 10.0


class Unsourced(NamedTuple):
    """A value of a call's argument that has no source."""

    argument: str  # dotted: `passengers.0.dob`
    value: str


class Leaf(NamedTuple):
    """A text or a number somewhere in the arguments, and its part of the tool's schema."""

    argument: str
    value: Any
    schema: Any


def leaves(value: Any, schema: Any, path: str = "") -> Iterator[Leaf]:
    """Every text and number in the arguments of a call."""
    if isinstance(value, dict):
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for key, inner in value.items():
            yield from leaves(inner, (properties or {}).get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        for index, inner in enumerate(value):
            yield from leaves(inner, items, f"{path}.{index}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield Leaf(path, value, schema)


def is_checked(leaf: Leaf) -> bool:
    """Whether a value is one that must come from somewhere."""
    schema = leaf.schema if isinstance(leaf.schema, dict) else {}
    if "enum" in schema or "const" in schema:
        return False
    if isinstance(leaf.value, str):
        return bool(leaf.value.strip()) and len(leaf.value.split()) <= LONGEST
    return bool(abs(leaf.value) >= SMALLEST)


def find_unsourced(numbered: LocatedCall, seen: Sources, tool: Tool | None) -> Iterator[Unsourced]:
    """The values of a call that nobody said and no result held before it."""
    for leaf in leaves(numbered.call.arguments, None if tool is None else tool.parameters):
        if is_checked(leaf) and not has_source(leaf.value, seen, numbered.message):
            yield Unsourced(leaf.argument, str(leaf.value))


def count_checked(numbered: LocatedCall, tool: Tool | None) -> int:
    """How many values of a call are checked."""
    return sum(is_checked(leaf) for leaf in leaves(numbered.call.arguments, None if tool is None else tool.parameters))


def has_source(value: Any, seen: Sources, before: int) -> bool:
    """Whether a value was said, or stood in a result, before a message."""
    if not isinstance(value, str):
        return seen.find("number", normalize_number(repr(value).lstrip("-")), before, SOURCES) is not None
    named = [token for token in find_mentions(value) if token.kind == "date"]
    if named and all(seen.find(token.kind, token.value, before, SOURCES) is not None for token in named):
        return True
    return seen.text(value, before, SOURCES) is not None
