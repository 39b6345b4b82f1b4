"""Indirect questions: "where is it" becomes "could you tell me where it is"."""

from __future__ import annotations

import re

from troth.perturb.users.phrases import Clause, clauses, compile_pattern, group


def ask(what: str) -> list[Clause]:
    """Ways to ask indirectly; `what` is a noun ("the address") or a clause ("where it is")."""
    is_clause = re.match(r"(?:what|where|how|when|who|which|if|whether)\b", what)
    lines = [*group("ask"), *group("wonder")] if is_clause else group("ask")[:-1]
    return [
        Clause(mood, template.format(c=re.sub(r"^if\b", "whether", what) if "curious" in template else what))
        for mood, template in clauses(*lines)
        if not ("may I ask" in template and re.match(r"(?:if|whether)\b", what))
    ]


def content(clause: str) -> str | None:
    """The content of a direct question as an indirect one: "where is it" → "where it is"; None if unsure."""
    for pattern, out in group("questions"):
        match = compile_pattern(pattern, re.IGNORECASE).fullmatch(clause)
        if match:
            parts = match.groupdict()
            parts |= {"q": (parts.get("q") or "").lower(), "whole": clause}
            return str(out).format(**parts, statement=_statement(**parts) if "{statement}" in out else "")
    return None


def _statement(a: str, n: str, r: str, **_: str) -> str:
    """Word order of a statement: "does it have wifi" → "it has wifi", "will it leave" → "it will leave"."""
    auxiliary = a.lower()
    if auxiliary == "do":
        return f"{n} {r}"
    if auxiliary == "did":
        return f"{n} did {r}"
    if auxiliary == "does":
        verb, *after = r.split(" ", 1)
        return f"{n} {_third_person(verb)} {''.join(after)}".strip()
    return f"{n} {auxiliary} {r}".strip()


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"
