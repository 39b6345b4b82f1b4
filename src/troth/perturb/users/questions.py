"""Questions asked the long way round: "where is it" becomes "could you tell me where it is"."""

from __future__ import annotations

import re
from collections.abc import Callable

from troth.perturb.users.phrases import Clause, clauses, group

_ENDS = (
    "leave|arrive|depart|start|begin|end|cost|take|open|close|last|run|get|land|have|serve|offer|allow|play|go|return"
)
_STATES = (
    "furnished|available|open|free|expensive|good|nice|far|close|safe|nonstop|direct|included|allowed|located|unisex"
)


def asked(what: str) -> list[Clause]:
    """A question put the long way round; `what` is a noun ("the address") or a clause ("where it is")."""
    is_clause = re.match(r"(?:what|where|how|when|who|which|if|whether)\b", what)
    lines = [*group("ask"), *group("wonder")] if is_clause else group("ask")[:-1]
    return [
        Clause(mood, template.format(c=re.sub(r"^if\b", "whether", what) if "curious" in template else what))
        for mood, template in clauses(*lines)
        if not ("may I ask" in template and re.match(r"(?:if|whether)\b", what))
    ]


def content(clause: str) -> str | None:
    """What a direct question asks for, as an indirect one: "where is it" → "where it is"; None where not sure."""
    for pattern, build in _CONTENTS:
        match = pattern.fullmatch(clause)
        if match:
            return build(match)
    return None


# -- indirect questions ------------------------------------------------------------------------------------------------


def _does(match: re.Match[str]) -> str:
    """Word order of a statement: "does it have wifi" → "it has wifi", "will it leave" → "it will leave"."""
    aux, noun, rest = match["a"].lower(), match["n"], match["r"]
    if aux in ("do", "did"):
        return f"{noun} {rest}" if aux == "do" else f"{noun} {aux} {rest}"
    if aux == "does":
        verb, _, after = rest.partition(" ")
        return f"{noun} {_third(verb)} {after}".strip()
    return f"{noun} {aux} {rest}".strip()


def _third(verb: str) -> str:
    if verb == "have":
        return "has"
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


def _wh(match: re.Match[str]) -> str:
    return f"{match['q'].lower()} {_does(match)}"


def _whether(match: re.Match[str]) -> str:
    return f"if {_does(match)}"


def _weather(match: re.Match[str]) -> str:
    rest = match["r"]
    like = "" if re.match(r" (?:going|supposed)", rest) else " like"
    return f"what the weather is{like}{rest}"


_PRONOUN = rf"(?P<n>it|they|he|she|I|we|there|(?:this|that)(?=$| (?:{_ENDS}|be|located|going)\b))"
_NOUN = r"(?P<n>(?:the|this|that|my|their) (?:(?!an?\b)\w+ ){0,2}?(?!an?\b)\w+)"
_Q = r"(?P<q>where|when|how \w+(?: and \w+)?|how many \w+(?: \w+)?|how|what|(?:which|what) \w+(?: \w+)?|who)"
_CONTENTS: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern, re.IGNORECASE), build)
    for pattern, build in (
        (r"what (?:is|are) (?P<x>(?:the|their|its|your|my|his|her|this \w+'s) (?!.*\b(?:like|called|going"
         r"|expected|supposed)\b)[^?,]+)", lambda m: m["x"]),
        (rf"{_Q} (?P<a>is|are|was) {_PRONOUN}(?P<r>)", _wh),
        (rf"{_Q} (?P<a>is|are|was|am) {_PRONOUN} (?P<r>(?:located|situated|\w+ing|available|released|from|at|for"
         rf"|in|on)\b[^?]*|from|at|for|in|on)", _wh),
        (rf"where (?P<a>is|are) (?!.*ing$){_NOUN}(?P<r> located| situated|)",
         lambda m: f"where {m['n']} {m['a']}{m['r']}"),
        (rf"(?P<q>how much|how long|how far|how big) (?P<a>is|are) {_NOUN}(?P<r>)", _wh),
        (rf"{_Q} (?P<a>does|do|will|can|would|should) {_PRONOUN} (?P<r>[a-z][^?]*)", _wh),
        (rf"{_Q} (?P<a>does|do|will|would) {_NOUN} (?P<r>(?:{_ENDS}|be)\b[^?]*)", _wh),
        (r"(?:what|how) is the weather(?: like)?(?P<r> (?:in|on|for|at|there|going|supposed)\b[^?]*|)", _weather),
        (r"who is (?P<x>(?:the|their|its) [^?]+)", lambda m: f"who {m['x']} is"),
        (r"who (?:directed|stars in|sings|plays|acted in|wrote|made) [^?]+", lambda m: m.group()),
        (rf"(?P<a>is|are) {_PRONOUN} (?P<r>[^?]+)", _whether),
        (r"(?P<a>is|are) (?P<n>[a-z-]+) (?P<r>(?:allowed|available|included|permitted)\b[^?]*)", _whether),
        (rf"(?P<a>is|are) {_NOUN} (?P<r>(?:{_STATES})\b[^?]*)", _whether),
        (r"(?P<a>do) (?P<n>they|I|we) (?P<r>[a-z][^?]*)", _whether),  # "do it" is no question
        (rf"(?P<a>does|will) {_PRONOUN} (?P<r>[a-z][^?]*)", _whether),
        (r"(?P<a>can) (?P<n>it|they|he|she) (?P<r>[a-z][^?]*)", _whether),
        (rf"(?P<a>does|do|will) {_NOUN} (?P<r>(?:{_ENDS})\b[^?]*)", _whether),
    )
]  # fmt: skip
