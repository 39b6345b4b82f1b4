"""Parses clauses as frames (wanting, requesting, asking, confirming, thanking) and rephrases them in other frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from troth.perturb.users.phrases import Clause, Phrasing, compile_pattern, frames, group
from troth.perturb.users.questions import ask, content

_POLITE = re.compile(r"(?i)^please,? |,? please$|(?<=you) please(?= )|(?<=me) please(?= )|(?<=I) please(?= )")
_IF_POSSIBLE = re.compile(r"^(?:if possible|if you can),? |,? (?:if possible|if you can)$")
_ALSO = re.compile(r"^((?:I|we)(?: will| would)?) also (?!.*\b(?:too|as well)\b)", re.IGNORECASE)
_ASKED = re.compile(r"could you|can you")
_QUESTION = re.compile(r"(?:what|how|where|which|who|is|are|do|at what)\b")
_ASKING = re.compile(
    r"(?:(?:can|could|would|will) you (?:tell me|let me know)|tell me|let me know|do you know|i (?:want|need"
    r"|would like) to know|(?:may|can|could) i know|would you mind telling me|i was wondering) (?P<c>.+)",
    re.IGNORECASE,
)
_WE = {"s": "we", "am": "are", "was": "were", "me": "us"}
_I = {"s": "I", "am": "am", "was": "was", "me": "me"}


def rephrase(clause: str) -> list[Clause]:
    """All other ways to say a clause without contractions; [] if no frame matches."""
    polite = _POLITE.sub("", clause)
    plain = _IF_POSSIBLE.sub("", polite)
    lone = _ALSO.sub(r"\1 ", plain)
    tail = (" as well" if lone != plain else "") + (", if possible" if plain != polite else "")
    readings = [_members(lone), *(_ask(lone) if frame.asks else _apply_frame(frame, lone) for frame in frames())]
    for reading in readings:
        wordings = [out for out in reading if _fold(out.text) != _fold(clause)]
        if wordings:
            return [Clause(out.mood, out.text + tail) for out in wordings]
    return []


def mood(clause: str, end: str) -> str:
    """The mood of a clause with its final mark."""
    if re.match(r"(?:please )?(?:can|could|would|will) you\b", clause, re.IGNORECASE):
        return "q"
    asks = r"(?:what|where|how|when|who|which|why|do (?:you|they|we|i)|(?:is|are|does|did|will|am) \w+)\b"
    if re.match(asks, clause, re.IGNORECASE):
        return "w"
    if compile_pattern(r"(?:please )?(?:{VERBS})\b", re.IGNORECASE).match(clause):
        return "i"
    return "q" if end.startswith("?") else "s"


def tidy(text: str) -> str:
    """The text with single spaces, and with the right article before words of the templates."""
    text = re.sub(r" +", " ", text).strip()
    text = re.sub(r"\ba (?=(?:alternative|excellent|awesome)\b)", "an ", text)
    return re.sub(r"\ban (?=(?:film|booking|telephone|great|wonderful|fantastic)\b)", "a ", text)


def _members(clause: str) -> Iterator[Clause]:
    """Other members of the groups that a whole clause belongs to."""
    for others in _groups().get(_fold(clause), ()):
        for text in others:
            yield Clause("q" if _ASKED.match(text) else "w" if _QUESTION.match(text) else "s", text)


@cache
def _groups() -> dict[str, list[list[str]]]:
    groups: dict[str, list[list[str]]] = {}
    for row in group("same"):
        for phrase in (*row["say"], *row.get("also", ())):
            groups.setdefault(_fold(phrase), []).append([text for text in row["say"] if _fold(text) != _fold(phrase)])
    return groups


def _apply_frame(frame: Phrasing, clause: str) -> Iterator[Clause]:
    match = next((match for pattern in frame.match if (match := pattern.fullmatch(clause))), None)
    if match is None:
        return
    parts = {name: text or "" for name, text in match.groupdict().items()}
    about = parts.get("x") or parts.get("v") or clause
    if frame.unless is not None and frame.unless.search(about):
        return
    who = _WE if parts.get("s", "").lower() == "we" else _I
    parts |= {"x": about, "v": about, "p": parts.get("p", "").lower() or "with", **who}
    for way in frame.ways:
        if way.when.match(about):
            yield from (Clause(mood, re.sub(r" +", " ", text.format(**parts))) for mood, text in way.say)


def _ask(clause: str) -> Iterator[Clause]:
    match = _ASKING.fullmatch(clause)
    about = match["c"] if match else content(clause)
    if about is None or re.match(r"(?:about|more|of|a|some|any|how to)\b", about):
        return
    direct = content(about) if match else None  # "can you tell me what is the address": common, and corrected here
    yield from ask(direct or about)


def _fold(text: str) -> str:
    return re.sub(r"[^\w\s\ue000-\uf8ff]", "", text).lower().strip()
