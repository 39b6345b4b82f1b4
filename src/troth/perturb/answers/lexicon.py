"""The word lists that corruptions draw from, as `answers.toml` has them."""

from __future__ import annotations

from functools import cache

from troth.perturb.lexicon import load_table, word_set


def answer_words(name: str) -> frozenset[str]:
    """A set of words, by its name in `answers.toml`."""
    return word_set(name, "answers")


@cache
def phrases(name: str) -> tuple[str, ...]:
    """A list of phrases that commas separate."""
    return tuple(" ".join(phrase.split()) for phrase in load_table("answers")[name].split(",") if phrase.strip())


@cache
def substitutes(name: str) -> dict[str, tuple[str, ...]]:
    """Phrase to the phrases that may take its place, from pairs with a slash."""
    found: dict[str, list[str]] = {}
    for pair in phrases(name):
        first, _, second = pair.partition("/")
        found.setdefault(first, []).append(second)
    return {phrase: tuple(dict.fromkeys(others)) for phrase, others in found.items()}


@cache
def antonyms() -> dict[str, tuple[str, ...]]:
    """Word to its opposites, both ways, and word to the other relations of its family."""
    found: dict[str, list[str]] = {}
    for pair in phrases("antonyms"):
        first, _, second = pair.partition("/")
        found.setdefault(first, []).append(second)
        found.setdefault(second, []).append(first)
    for family in load_table("answers")["relations"]:
        first, *others = family.split()
        found.setdefault(first, []).extend(others)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


@cache
def verb_forms() -> dict[str, str]:
    """Third person or past form to "does" or "did" with the base form: `contains` to `does not contain`."""
    found: dict[str, str] = {}
    for triple in phrases("verbs"):
        base, third, past = triple.split("/")
        found[third] = f"does not {base}"
        if past != base:
            found[past] = f"did not {base}"
    return found


def in_case_of(new: str, old: str) -> str:
    """The new words with a capital where the old ones have it."""
    if old[:1].isupper() and not old.isupper():
        return new[:1].upper() + new[1:]
    return new.upper() if old.isupper() and len(old) > 1 else new
