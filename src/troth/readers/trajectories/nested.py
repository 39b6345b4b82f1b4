"""Values out of other values: JSON and times in texts, trees in flat keys (`llm.input_messages.0.message.role`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS

MOST_ENTRIES = 10_000  # of one list


def parse_json(value: Any) -> Any:
    """The value of a text that is a JSON object or list; any other value is returned unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return msgspec.json.decode(value)
    except DECODING_ERRORS:
        return value


def parse_time(value: Any) -> float | None:
    """Seconds of a time that is a number, or a text in ISO 8601; None for other values."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Objects inside objects under joined keys, `a.b`; lists stay as they are."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def look_up(values: Mapping[str, Any], name: str) -> Any:
    """The value under a joined key, parsed if it is JSON, or built from all keys that begin with it; None if none."""
    if values.get(name) is not None:
        return parse_json(values[name])
    start = name + "."
    inside = {key.removeprefix(start): value for key, value in values.items() if key.startswith(start)}
    return nest(inside) if inside else None


def nest(value: Any) -> Any:
    """A value with joined keys taken apart, at every level; objects whose keys are all numbers become lists."""
    if isinstance(value, list):
        return [nest(item) for item in value]
    if not isinstance(value, dict):
        return value
    tree: dict[str, Any] = {}
    for key, item in value.items():
        *path, last = key.split(".")
        node = tree
        for step in path:
            inner = node.setdefault(step, {})
            node = inner if isinstance(inner, dict) else {}
        node[last] = nest(item)
    return _lists(tree)


def _lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    values = {key: _lists(item) for key, item in tree.items()}
    if values and all(key.isdecimal() and len(key) < 6 and int(key) < MOST_ENTRIES for key in values):
        return [values[key] for key in sorted(values, key=int)]
    return values
