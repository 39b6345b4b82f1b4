"""The word lists and phrases of corruptions, from `answers.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from troth.perturb.lexicon import load_table, word_set


def answer_words(name: str) -> frozenset[str]:
    """A set of words, by its name in `answers.toml`."""
    return word_set(name, "answers")


@cache
def phrases(name: str) -> tuple[str, ...]:
    """A list of phrases, separated by commas."""
    return tuple(" ".join(phrase.split()) for phrase in load_table("answers")[name].split(",") if phrase.strip())


@cache
def substitutes(name: str) -> dict[str, tuple[str, ...]]:
    """Replacements by phrase, from pairs with a slash."""
    pairs = [pair.partition("/") for pair in phrases(name)]
    return _group((first, [second]) for first, _, second in pairs)


@cache
def antonyms() -> dict[str, tuple[str, ...]]:
    """Opposites by word, in both directions, and other relations of the same family."""
    pairs = [pair.partition("/") for pair in phrases("antonyms")]
    opposites = [(word, [other]) for a, _, b in pairs for word, other in ((a, b), (b, a))]
    relations = [family.split() for family in load_table("answers")["relations"]]
    return _group((*opposites, *((first, others) for first, *others in relations)))


def _group(forms: Iterable[tuple[str, list[str]]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, dict[str, None]] = {}
    for word, others in forms:
        groups.setdefault(word, {}).update(dict.fromkeys(others))
    return {word: tuple(others) for word, others in groups.items()}


@cache
def verb_forms() -> dict[str, str]:
    """Negated forms by third person or past form: `does not contain` for `contains`."""
    forms: dict[str, str] = {}
    for triple in phrases("verbs"):
        base, third, past = triple.split("/")
        forms[third] = f"does not {base}"
        if past != base:
            forms[past] = f"did not {base}"
    return forms


def match_case(new: str, old: str) -> str:
    """The new words in the letter case of the old ones."""
    if old[:1].isupper() and not old.isupper():
        return new[:1].upper() + new[1:]
    return new.upper() if old.isupper() and len(old) > 1 else new
