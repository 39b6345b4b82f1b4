"""Questions with their answers turned into statements, by rules: what needs no parser is turned, the rest is left."""

from __future__ import annotations

import re

_BE = ("is", "are", "was", "were")
_AUX = r"is|are|was|were|can|could|will|would|should|did|does|do"
_PAST = "led|wrote|won|made|had|has|began|became|came|gave|took|held|ran|built|sent|left|found|said|met|fought|lost"
_VERB = rf"(?:{_PAST}|(?!is\b|was\b|has\b|does\b|[a-z]*(?:ss|us|as)\b)[a-z]{{2,}}(?:ed|s))"
_SUBJECT = re.compile(rf"^(?:who|what|which)\s+(?P<verb>{_VERB})\s+(?P<rest>.+)$", re.I)
_COPULA = re.compile(r"^(?:who|what)\s+(?P<verb>is|are|was|were)\s+(?P<rest>(?:the|an?|one of)\s+.+)$", re.I)
_NOUN = re.compile(
    rf"^(?:which|what)\s+(?P<noun>[a-z]+(?: [a-z]+)?)\s+(?P<verb>(?:is|are|was|were|can|could)\s(?!the\b|an?\b)[a-z]+|"
    rf"{_VERB})\s+(?P<rest>.+)$", re.I
)  # fmt: skip
_MANY = re.compile(
    r"^how many\s+(?P<noun>[a-z]+)\s+(?P<verb>(?!(?:did|do|was|is|are|has|have|had)\b)[a-z]+)\s+(?P<rest>.+)$", re.I
)
_MOVED = re.compile(
    r"^(?:(?P<prep>in|on|at|to|from|by|for|with|during)\s+)?"
    r"(?P<wh>when|where|who|whom|(?:what|which|how many)(?! \w+ (?:that|of)\b))"
    rf"(?P<noun>(?: (?!(?:{_AUX}|has|have|had|{_PAST})\b)[a-z]+)?)\s+(?P<aux>{_AUX})\s+(?P<rest>.+)$", re.I
)  # fmt: skip
_PREPOSITION = re.compile(r"^(?:in|on|at|to|from|by|for|with|during|since|until|after|before|between|around)\b", re.I)


def statement(question: str, answer: str, document: str) -> str | None:
    """The question with its answer as one statement; None where rules cannot make a fluent one.

    >>> statement("In what country is Normandy located?", "France", "Normandy, a region in France.")
    'Normandy is located in France.'
    >>> statement("Who led the Norse?", "Rollo", "")
    'Rollo led the Norse.'
    """
    asked = " ".join(question.split()).rstrip(" ?.")
    answer = answer.strip(" .,;")
    if match := _COPULA.match(asked):
        if len(match["rest"].split()) > 14:
            return None
        return _sentence(f"{match['rest']} {match['verb'].lower()} {answer}")
    if match := _MANY.match(asked):
        return _sentence(f"{answer} {match['noun']} {match['verb']} {match['rest']}")
    if match := _MOVED.match(asked):
        return _moved(match, answer, document)
    if match := _SUBJECT.match(asked) or _NOUN.match(asked):
        return _sentence(f"{answer} {match['verb']} {match['rest']}")
    return None


def _moved(match: re.Match[str], answer: str, document: str) -> str | None:
    """The answer at the end and the auxiliary after the subject: the longest beginning that the document has."""
    words, aux = match["rest"].split(), match["aux"].lower()
    if aux in _BE and words[0].endswith("ed") and not match["prep"]:  # what is named: it asks for the subject
        return _sentence(f"{answer} {aux} {match['rest']}")
    lengths = range(min(6, len(words) - 1), 0, -1)
    subject = next((n for n in lengths if _has(document, " ".join(words[:n]))), 0)
    if (
        not subject
        or (subject == 1 and words[0].islower())
        or not words[subject].isalpha()
        or words[subject][0].isupper()
    ):
        return None  # not the whole subject
    if match["noun"] and match["wh"].lower() in ("who", "when", "where"):
        return None
    said = " ".join((*words[:subject], aux, *words[subject:]))
    if match["wh"].lower().startswith("how"):
        return _sentence(f"{said} {answer}{match['noun']}")
    if _PREPOSITION.match(answer) or re.search(r"\s(?:in|on|at|to|from|by|for|with|of|as|into)$", said):
        return _sentence(f"{said} {answer}")
    prep = (match["prep"] or {"when": "in", "where": "in"}.get(match["wh"].lower(), "")).lower()
    return _sentence(f"{said} {prep} {answer}" if prep else f"{said} {answer}")


def _has(document: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", document, re.I) is not None


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + "."
