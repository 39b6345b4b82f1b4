"""Names in texts: updates titles and descriptions if a function or an argument is renamed.

A name of several words (`start_date`, `bookFlight`) is replaced everywhere. A name that is a plain word or a number,
such as `date` or `1`, is replaced only between quotation marks or backticks: elsewhere it is an ordinary word.
"""

from __future__ import annotations

import re

import msgspec

from troth.core.records import Schema, Service
from troth.text.identifiers import split_identifier

Names = dict[str, str]  # new names by old names, without unchanged ones
TEXTS = ("title", "description")
QUOTES = "`'\"‘’“”"


def functions(old: Schema, new: Schema) -> Names:
    """Names of functions that change."""
    pairs = zip(old.values(), new.values(), strict=True)
    return {a.name: b.intents[0].name for a, b in pairs if a.name != b.intents[0].name}


def arguments(old: Service, new: Service) -> Names:
    """Changed names of arguments, nested ones with dots and by their last part, unless that is ambiguous."""
    pairs = [(a.name, b.name) for a, b in zip(old.slots, new.slots, strict=True)]
    leaves: dict[str, set[str]] = {}
    for before, after in pairs:
        leaves.setdefault(before.rpartition(".")[2], set()).add(after.rpartition(".")[2])
    alone = {before: after for before, (after, *others) in leaves.items() if not others}
    return {before: after for before, after in (alone | dict(pairs)).items() if before != after}


def rename_mentions(schema: Schema, variant: Schema) -> Schema:
    """The variant with new names in its descriptions."""
    known = functions(schema, variant)
    services: Schema = {}
    for old, (key, new) in zip(schema.values(), variant.items(), strict=True):
        names = known | arguments(old, new)
        texts = {
            "slots": tuple(_rename_element(slot, names) for slot in new.slots),
            "intents": tuple(_rename_element(intent, names) for intent in new.intents),
        }
        services[key] = msgspec.structs.replace(new, **texts)
    return services


def _rename_element(element: msgspec.Struct, names: Names) -> msgspec.Struct:
    return msgspec.structs.replace(element, description=replace_names(element.description, names))  # type: ignore[attr-defined]


def replace_names(text: str, names: Names) -> str:
    """A text with all mentioned names replaced at once."""
    if not names or not text:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])"

    def new(match: re.Match[str]) -> str:
        name, (start, end) = match.group(), match.span()
        around = text[start - 1 : start] + text[end : end + 1]
        quoted = len(around) == 2 and all(mark in QUOTES for mark in around)
        return names[name] if quoted or not _is_plain(name) else name

    return re.sub(pattern, new, text)


def _is_plain(name: str) -> bool:
    """Whether a name could also be an ordinary word, a number or a mark."""
    return len(split_identifier(name)) < 2 and (name.isalnum() or not any(map(str.isalpha, name)))


def rename_title(title: str, old: str, new: str) -> str:
    """A title for a new name, capitalised like the old title; unchanged if the name is."""
    if old == new:
        return title
    if title.startswith(old):  # "get_weatherArguments", as generators of schemas write
        return new + title[len(old) :]
    words = " ".join(split_identifier(new))
    if title == title.lower():
        return words
    capital = [word[:1].upper() + word[1:] for word in words.split()]
    is_title = all(word[:1] == word[:1].upper() for word in title.split())
    return " ".join(capital if is_title else [*capital[:1], *words.split()[1:]])
