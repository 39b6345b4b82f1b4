"""The phrases and frames of the rules, as `phrases.toml` has them, with their patterns compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from troth.perturb import lexicon

MASK = "[\ue000-\uf8ff]"  # one character for each value that may not be touched


class Clause(NamedTuple):
    """A clause, and its mood: a letter that `phrases.toml` explains."""

    mood: str
    text: str


class Way(NamedTuple):
    """Ways to say something, for objects that match `when`."""

    when: re.Pattern[str]
    say: tuple[Clause, ...]


class Phrasing(NamedTuple):
    """A frame: what clauses match, which objects are excluded, and other ways to say the same."""

    match: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str] | None
    ways: tuple[Way, ...]
    asks: bool


def group(name: str) -> Any:
    """An entry of `phrases.toml` as it is."""
    return lexicon.load_table("phrases")[name]


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern with its pieces put in; line breaks in it do not count."""
    while (piece := re.search(r"\{([A-Z_]+)\}", pattern)) is not None:
        content = MASK if piece[1] == "MASK" else group("pieces")[piece[1]]
        pattern = pattern.replace(piece[0], content)
    return re.compile(pattern.replace("\n", ""), flags)


@cache
def clauses(*lines: str) -> tuple[Clause, ...]:
    """Templates with their moods, from lines such as "q: could you {v}"."""
    return tuple(Clause(*line.split(": ", 1)) for line in lines)


@cache
def frames() -> tuple[Phrasing, ...]:
    """All frames, in the order in which they are tried."""
    return tuple(
        Phrasing(
            tuple(compiled(pattern, re.IGNORECASE) for pattern in row.get("match", ())),
            compiled(row["unless"]) if "unless" in row else None,
            tuple(_ways(row)),
            row.get("asks", False),
        )
        for row in group("frame")
    )


def _ways(row: dict[str, Any]) -> Iterator[Way]:
    for way in ({"when": "", **row}, *row.get("more", ())):
        yield Way(compiled(way["when"]), clauses(*way.get("say", ())))


@cache
def exchanged(name: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Patterns and what may stand for them: `opened`, `closed` or `inline`."""
    before, after, flags = {
        "opened": ("", "", re.IGNORECASE),
        # No contraction before a pause or at the end ("yes, it is"), nor before a masked value alone.
        "closed": ("", r"(?=\s+[^\W\d_])", re.IGNORECASE),
        "inline": (r"\b(?:", r")(?!\w)", 0),
    }[name]
    return tuple((compiled(f"{before}{pattern}{after}", flags), tuple(out)) for pattern, *out in group(name))
