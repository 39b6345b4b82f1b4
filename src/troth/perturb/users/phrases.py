"""The phrases and frames of the rules, from `phrases.toml`, with compiled patterns."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from troth.perturb import lexicon

MASK = "[\ue000-\uf8ff]"  # one character per value that must not change


class Clause(NamedTuple):
    """A clause, and its mood: a letter that `phrases.toml` explains."""

    mood: str
    text: str

    def __str__(self) -> str:
        return self.text


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
    """An entry of `phrases.toml`."""
    return lexicon.load_table("phrases")[name]


@cache
def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiles a pattern after replacing its `{PIECES}`; line breaks in it are ignored."""
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
            tuple(compile_pattern(pattern, re.IGNORECASE) for pattern in row.get("match", ())),
            compile_pattern(row["unless"]) if "unless" in row else None,
            tuple(
                Way(compile_pattern(way["when"]), clauses(*way.get("say", ())))
                for way in ({"when": "", **row}, *row.get("more", ()))
            ),
            row.get("asks", False),
        )
        for row in group("frame")
    )


@cache
def substitutions(name: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Patterns and their replacements: `opened`, `closed` or `inline`."""
    before, after, flags = {
        "opened": ("", "", re.IGNORECASE),
        # No contraction before a pause or at the end ("yes, it is"), nor before a masked value alone.
        "closed": ("", r"(?=\s+[^\W\d_])", re.IGNORECASE),
        "inline": (r"\b(?:", r")(?!\w)", 0),
    }[name]
    return tuple((compile_pattern(f"{before}{pattern}{after}", flags), tuple(out)) for pattern, *out in group(name))
