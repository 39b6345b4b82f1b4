"""Names of slots, intents and functions: what words they are made of, and the same style for other words.

Styles: snake_case, kebab-case, PascalCase, camelCase. A prefix up to the last dot or double underscore (`address.city`,
`mcp__calendar__create`) says where a name belongs; it is no part of its wording.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

PREFIX = re.compile(r"(.*(?:\.|__))?(.+)", re.DOTALL)
HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
LONGEST = 64  # characters: what OpenAI takes for a function's name; the longest of SGD-X has 43


def prefix(name: str) -> str:
    match = PREFIX.fullmatch(name)
    return (match[1] if match else None) or ""


def words(name: str) -> list[str]:
    """The words of a name without its prefix, in lower case but for acronyms."""
    parts = [part for part in re.split(r"[_\-\s]+", name[len(prefix(name)) :]) if part]
    humps = [hump for part in parts for hump in (HUMPS.findall(part) if _humped(part) else [part])]
    return [word if len(word) > 1 and word.isupper() else word.lower() for word in humps]


def _humped(part: str) -> bool:
    return not part.islower() and not part.isupper() and part.isascii()


def style(name: str) -> str:
    bare = name[len(prefix(name)) :]
    if "-" in bare.strip("-"):
        return "kebab"
    if bare[:1].isupper() and "_" not in bare.strip("_"):
        return "pascal"
    if "_" not in bare.strip("_") and bare != bare.lower():
        return "camel"
    return "snake"


def styled(text: str, like: str) -> str:
    """A name of the words of `text`, in the style of `like` and with its prefix; empty if no letter is left of it."""
    wanted = style(like)
    if IDENTIFIER.fullmatch(text) and "__" not in text and style(text) == wanted and len(text) <= LONGEST:
        return prefix(like) + text
    ascii = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    cleaned = re.sub(r"[^A-Za-z0-9]+", " ", ascii.replace("'", "")).split()
    parts = [word for part in cleaned for word in words(part)]
    while parts and not parts[0][:1].isalpha():
        parts = parts[1:]
    while parts and len(_joined(parts, wanted)) > LONGEST - len(prefix(like)):
        parts = parts[:-1]
    return prefix(like) + _joined(parts, wanted) if parts else ""


def _joined(parts: Sequence[str], wanted: str) -> str:
    if wanted in ("snake", "kebab"):
        return ("_" if wanted == "snake" else "-").join(parts).lower()
    humps = [word[:1].upper() + word[1:] for word in parts]
    return "".join([humps[0].lower(), *humps[1:]] if wanted == "camel" else humps)


def unique(name: str, taken: Collection[str]) -> str:
    """The name, with the first number from 2 on that makes it one of its own."""
    between = {"snake": "_", "kebab": "-"}.get(style(name), "")
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{between}{number}"
    return candidate
