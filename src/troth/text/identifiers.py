"""Identifiers (names of slots, intents, services, functions): their words, and the same style for other words.

Styles: snake_case, kebab-case, PascalCase, camelCase. A prefix up to the last dot or double underscore (`address.city`,
`mcp__calendar__create`) says where a name belongs, and is not a part of its wording.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

PREFIX = re.compile(r"(.*(?:\.|__))?(.+)", re.DOTALL)
HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|(?:[A-Z](?![a-z])|[0-9])+")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MAX_LENGTH = 64  # characters: OpenAI's limit for the name of a function; the longest of SGD-X has 43


def prefix(name: str) -> str:
    """The prefix of a name, with its dot or double underscore; empty if there is none."""
    match = PREFIX.fullmatch(name)
    return (match[1] if match else None) or ""


def split_identifier(name: str) -> list[str]:
    """The words of a name without its prefix, in lower case except acronyms.

    >>> split_identifier("api.getUserDetails"), split_identifier("parse_HTTP_header2")
    (['get', 'user', 'details'], ['parse', 'HTTP', 'header2'])
    """
    parts = [part for part in re.split(r"[_\-\s]+", name[len(prefix(name)) :]) if part]
    humps = [hump for part in parts for hump in (HUMPS.findall(part) if _has_humps(part) else [part])]
    return [word if len(word) > 1 and word.isupper() else word.lower() for word in humps]


def humanize(name: str) -> str:
    """A name as words, in its own case: `kids friendly` for `kids_friendly`, `Reserve Hotel` for `ReserveHotel`."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").split())


def naming_style(name: str) -> str:
    """The style of a name: "snake", "kebab", "pascal" or "camel"."""
    bare = name[len(prefix(name)) :]
    if "-" in bare.strip("-"):
        return "kebab"
    if bare[:1].isupper() and "_" not in bare.strip("_"):
        return "pascal"
    if "_" not in bare.strip("_") and bare != bare.lower():
        return "camel"
    return "snake"


def make_identifier(text: str, like: str) -> str:
    """A name made of the words of `text`, with the style and the prefix of `like`; empty if `text` has no letters.

    >>> make_identifier("number of guests", like="roomCount")
    'numberOfGuests'
    """
    style = naming_style(like)
    if IDENTIFIER.fullmatch(text) and "__" not in text and naming_style(text) == style and len(text) <= MAX_LENGTH:
        return prefix(like) + text
    ascii = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    cleaned = re.sub(r"[^A-Za-z0-9]+", " ", ascii.replace("'", "")).split()
    words = [word for part in cleaned for word in split_identifier(part)]
    while words and not words[0][:1].isalpha():
        words = words[1:]
    while words and len(_join(words, style)) > MAX_LENGTH - len(prefix(like)):
        words = words[:-1]
    return prefix(like) + _join(words, style) if words else ""


def make_unique(name: str, taken: Collection[str]) -> str:
    """The name, with the first number from 2 on that distinguishes it from the names in `taken`."""
    separator = {"snake": "_", "kebab": "-"}.get(naming_style(name), "")
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{separator}{number}"
    return candidate


def _has_humps(part: str) -> bool:
    return not part.islower() and not part.isupper() and part.isascii()


def _join(words: Sequence[str], style: str) -> str:
    if style in ("snake", "kebab"):
        return ("_" if style == "snake" else "-").join(words).lower()
    humps = [word[:1].upper() + word[1:] for word in words]
    return "".join([humps[0].lower(), *humps[1:]] if style == "camel" else humps)
