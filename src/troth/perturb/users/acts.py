"""The engine `acts`: what the user does in a turn, by its annotation, said anew in phrases of `data/acts.toml`.

The paraphraser of CheckDST's set (LAUG) writes from acts, too, by a trained model. Several wordings are drawn; of those
that pass the guard, the one with most words replaced is taken. A turn whose acts cannot be said, or say less than the
text (a "there" or "that day" that stands for a value), is left to the engine `rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from troth.core.records import Act, Frame, Turn
from troth.perturb.lexicon import Half, HalfRandom, load_table
from troth.perturb.users import guard
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.lm import share_replaced
from troth.perturb.users.rules import paraphrase
from troth.text.facts import SMALL
from troth.text.identifiers import split_identifier

DRAWN = 40  # wordings of a turn
NEAR = 0.15  # of those that replace nearly as many words as the best one, by this share, one is drawn
ASKED = (
    "REQUEST_ALTS",
    "INFORM_INTENT",
    "INFORM",
    "SELECTED",
    "REQUEST",
    "THANK_YOU",
    "GOODBYE",
)  # their order in a turn
ANY_VALUE, TRUE, FALSE = "dontcare", "true", ("false", "none")
_POINTS = re.compile(  # at a value that an earlier turn gave
    r"\b(?:there|here|same|then|these|those|both|other one|nearby|earlier|the area|(?:that|this)"
    r" (?:day|date|time|area|place|location|address|city|vicinity|house|property|event|movie|visit))\b",
    re.IGNORECASE,
)


def engine(options: Any) -> ActParaphraser:
    """The engine `acts`; of the options of `Paraphrase`, it takes `half`."""
    return ActParaphraser(options.half)


class ActParaphraser:
    """Phrases for acts, offline."""

    varies = True

    def __init__(self, half: Half = "all") -> None:
        self.half = half

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        return [self._rewrite(request) for request in requests]

    def _rewrite(self, request: Rewrite) -> str | Failed:
        rng, turn = HalfRandom(request.seed, self.half), request.turn
        drawn = {text for _ in range(DRAWN) if turn is not None and (text := say(turn, rng)) is not None}
        passed = (guard.check_paraphrase(turn, request.stretches, text) for text in sorted(drawn)) if turn else ()
        replaced = {new.text: share_replaced(request.text, new.text) for new in passed if isinstance(new, Turn)}
        if not replaced:
            return paraphrase(request.text, request.stretches, HalfRandom(request.seed, self.half))
        least = max(replaced.values()) - NEAR
        chosen: str = rng.choice([text for text, share in replaced.items() if share >= least])
        return chosen


def say(turn: Turn, rng: Random) -> str | None:
    """The acts of a user turn in phrases that are drawn; None where they do not say all of it."""
    acts = [(act, frame) for frame in turn.frames for act in frame.acts]
    if not acts or _POINTS.search(turn.text):
        return None
    parts: dict[str, list[str]] = {}
    for act, frame in acts:
        phrase = _phrase(act, frame, turn.text, rng)
        if phrase is None:
            return None
        kind = "SELECTED" if act.act == "SELECT" and act.values else act.act
        if phrase not in parts.setdefault(kind, []) and (kind in ("INFORM", "REQUEST", "SELECTED") or not parts[kind]):
            parts[kind].append(phrase)
    openings = [phrase for kind, phrases in parts.items() if kind not in ASKED for phrase in phrases]
    sentences = list(_sentences([phrase for kind in ASKED for phrase in parts.get(kind, ())], rng))
    text = " ".join([*_sentences(openings, rng), *sentences])
    return text if turn.text[:1].isupper() else text[:1].lower() + text[1:]


def _sentences(phrases: Sequence[str], rng: Random) -> Iterator[str]:
    """Phrases as sentences; two in a row that state something may be one."""
    waiting = ""
    for phrase in phrases:
        if waiting and (waiting.endswith("?") or phrase.endswith("?") or rng.random() < 0.5):
            yield _close(waiting)
            waiting = phrase
        else:
            waiting = f"{waiting}, and {phrase}" if waiting else phrase
    if waiting:
        yield _close(waiting)


def _close(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] + ("" if sentence.endswith("?") else ".")


def _phrase(act: Act, frame: Frame, text: str, rng: Random) -> str | None:
    table = load()
    slot = " ".join(split_identifier(act.slot)) if act.slot else ""
    if act.act == "INFORM_INTENT" and act.values:
        return _draw(table["sentences"]["INFORM_INTENT"], rng, intent=_spoken_intent(act.values[0]))
    if act.act == "INFORM" and act.values:
        return _inform(act, frame, text, slot, rng)
    if act.act == "REQUEST" and slot and not act.values:
        kind, words = _truth(slot)
        return _draw(table["sentences"]["REQUEST" + (f"_{kind}" if kind else "")], rng, slot=words)
    if act.act == "SELECT" and act.values:
        said = _said(act, frame, text)
        return _draw(table["sentences"]["SELECTED"], rng, value=said) if said else None
    plain = table["openings"].get(act.act) or (table["sentences"].get(act.act) if not act.slot else None)
    return _draw(plain, rng) if plain and not act.values else None


def _inform(act: Act, frame: Frame, text: str, slot: str, rng: Random) -> str | None:
    informs = load()["informs"]
    value = act.values[0].lower()
    if value in FALSE:
        return None
    if value == ANY_VALUE:
        return _draw(informs["ANY"], rng, slot=slot)
    if value == TRUE:
        kind, words = _truth(slot)
        return _draw(informs[kind or "HAS"], rng, slot=words)
    said = _said(act, frame, text)
    return _draw(informs["VALUE"], rng, slot=slot, value=said) if said else None


def _said(act: Act, frame: Frame, text: str) -> str | None:
    """The value of an act as the text has it; where it has it in other words, as the schema has it."""
    spans = [span for span in frame.spans or () if span.slot == act.slot]
    if spans:
        return text[spans[0].start : spans[0].exclusive_end]
    for value in act.values:
        words = [value, *(word for word, number in SMALL.items() if str(number) == value)]
        for word in words:
            if match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
                return match.group()
    return act.values[0]


def _truth(slot: str) -> tuple[str, str]:
    """Of a slot that is true or false, "HAS" or "IS" and the rest of its name; else "" and its name."""
    first, _, rest = slot.partition(" ")
    for kind in ("HAS", "IS"):
        if rest and first in load()["words"][kind.lower()].split():
            return kind, rest
    return "", slot


@cache
def _spoken_intent(name: str) -> str:
    verb, *rest = split_identifier(name)
    head = rest[rest.index("by") - 1] if "by" in rest[1:] else rest[-1] if rest else ""
    plain = not rest or any(_is_plural(word) for word in rest) or head in load()["words"]["mass"].split()
    article = "" if plain else "an " if rest[0][0] in "aeiou" else "a "
    return f"{verb} {article}{' '.join(rest)}".strip()


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us"))


def _draw(phrases: Sequence[str], rng: Random, **words: str) -> str:
    """A phrase with its blanks filled in; the words are text and are not read as blanks."""
    parts = re.split(r"\{(\w+)\}", rng.choice(phrases))
    return "".join(words[part] if index % 2 else part for index, part in enumerate(parts))


@cache
def load() -> dict[str, Any]:
    return load_table("acts")
