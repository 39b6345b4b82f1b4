"""Corrupts responses: gold with one act expressed wrongly, which a reranker must not choose.

- `value`: another value of the slot (`tamper.tamper_act`) stands wherever the true one stood;
- `missing`: the value's own words are gone, with the preposition before them; a sentence of which next to nothing is
  left goes as a whole, unless another act is expressed in it, or it is all there is;
- `boolean`: yes becomes no, or no yes, in the clause that names the slot, by rules over its words.

A text is left alone where nothing can be changed with certainty: the value is not in it word by word, or is still in it
afterwards in another form, or the value of another act is lost with it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from troth.responses import references, tamper
from troth.responses.sgsacc import DueAct

CorruptionKind = Literal["value", "missing", "boolean"]
KINDS: tuple[CorruptionKind, ...] = ("value", "missing", "boolean")

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[a-z][.!?])(?=[A-Z])")  # "4 option.What do you think …"
_CLAUSE = re.compile(r"[.!?;,]+|\b(?:and|but|though|although|while)\b")
_LEADING = re.compile(
    r"(?:\b(?:at|in|on|for|from|to|of|by|with|called|named|is|are|costs?|around|about)\s+)?(?:\b(?:the|a|an)\s+)?$",
    re.IGNORECASE,
)
_LITTLE = 2  # words that make no sentence: "How about?"


def corrupt(
    text: str, due: Sequence[DueAct], pool: tamper.Pool, rng: random.Random, kinds: Sequence[CorruptionKind] = KINDS
) -> dict[CorruptionKind, str]:
    """The text corrupted in each possible way, one act each."""
    rules: dict[CorruptionKind, Callable[[DueAct], str | None]] = {
        "value": lambda target: _replace_value(text, target, due, pool, rng),
        "missing": lambda target: _remove_value(text, target, due),
        "boolean": lambda target: flip_boolean(text, target),
    }
    texts: dict[CorruptionKind, str] = {}
    for kind in kinds:
        order = list(due)
        rng.shuffle(order)  # always as many draws, whatever comes of them
        for new in map(rules[kind], order):
            if new is not None and new.strip() and new.lower().split() != text.lower().split():
                texts[kind] = new
                break
    return texts


def _replace_value(text: str, goal: DueAct, due: Sequence[DueAct], pool: tamper.Pool, rng: random.Random) -> str | None:
    act, service = goal
    if tamper.classify_act(act, service) in tamper.UNSAID:
        return None
    turn_acts = [other.act for other in due if other.service.name == service.name]
    twin = tamper.tamper_act(act, service, pool, rng, acts=turn_acts)
    if twin is None or len(twin.values) != len(act.values):
        return None
    new = text
    for old, other in zip(act.values, twin.values, strict=True):
        for start, end in reversed(_find_value(old, new)):
            new = new[:start] + _match_form(new[start:end], other) + new[end:]
    return new if _loses_only(goal, due, text, new) else None


def _remove_value(text: str, target: DueAct, due: Sequence[DueAct]) -> str | None:
    act, service = target
    if tamper.classify_act(act, service) in tamper.UNSAID or not tamper.has_values(act, service, text):
        return None
    others = [other for other in due if other != target]
    cut = [(part, _cut_value(part, act.values[0])) for part in _SENTENCE.split(text)]
    left = [new for part, new in cut if new == part or not _is_droppable(part, new, others)]
    new = " ".join(left or [new for _, new in cut])
    return new if _loses_only(target, due, text, new) else None


def _cut_value(sentence: str, value: str) -> str:
    """The sentence without the value's own words and the preposition before them."""
    left = sentence
    for start, end in reversed(_find_value(value, sentence)):
        lead = _LEADING.search(sentence[:start])
        left = left[: lead.start() if lead else start] + left[end:]
    return sentence if left == sentence else re.sub(r"\s+([,.?!])", r"\1", " ".join(left.split()))


def _is_droppable(sentence: str, left: str, others: Sequence[DueAct]) -> bool:
    """Whether the rest of a sentence is nearly empty, and expresses no other act."""
    return len(re.findall(r"\w+", left)) <= _LITTLE and not any(_expresses(sentence, other) for other in others)


def _expresses(sentence: str, due: DueAct) -> bool:
    """Whether a sentence seems to express the act: it has its value or, for a boolean slot, the slot's name."""
    act, service = due
    slot = references.find_slot(act, service)
    if slot is not None and references.is_boolean(slot):
        names = "|".join(_slot_patterns(slot.name))
        return bool(names and re.search(rf"\b(?:{names})\b", sentence, re.IGNORECASE))
    return any(_find_value(value, sentence) for value in act.values)


def _loses_only(target: DueAct, due: Sequence[DueAct], text: str, new: str) -> bool:
    """Whether the act's value is lost in the new text, and no other's."""
    return not tamper.has_values(*target, new) and all(
        tamper.has_values(*other, new) or not tamper.has_values(*other, text) for other in due if other != target
    )


def _find_value(value: str, text: str) -> list[tuple[int, int]]:
    """Position of the value, as written or as a number word, but not inside another word or number."""
    forms = sorted(tamper.value_forms((value,)), key=len, reverse=True)
    pattern = "|".join(map(tamper.word_pattern, forms))
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def _match_form(old: str, new: str) -> str:
    """The new value in words if the old one is a number in words."""
    in_words = (form for form in tamper.value_forms((new,)) if form in tamper.NUMBERS)
    return next(in_words, new) if old.lower() in tamper.NUMBERS else new


# Words that refer to a slot, besides those of its name.
_SAID = {
    "nonstop": "direct|non-?stop|connecting|layovers?",
    "luggage": "luggage|baggage|bags",
    "protection": "insurance|protection",
    "smoking": "(?:non-?)?smok(?:e|ing)",
    "pets": "pets?",
    "kids": "kids?|child(?:ren)?",
    "wifi": "wi-?fi|internet",
    "vegetarian": "vegetarians?|veg",
    "outdoors": "outdoors?|outside",
    "private": "private|privately|public|publicly",
    "visibility": "private|privately|public|publicly",
    "breakfast": "breakfast",
}
_EMPTY = {"has", "have", "is", "are", "in", "unit", "allowed", "good", "for", "add", "additional", "trip", "options",
          "service", "services"}  # fmt: skip
_NOT = re.compile(
    r"\b(?:not?|non|none|never|neither|nor|without|cannot|nope|unable|dont|doesnt|isnt|wont)\b|n['’]t\b", re.IGNORECASE
)

_VERBS = {"have": "has", "offer": "offers", "serve": "serves", "allow": "allows", "permit": "permits",
          "provide": "provides", "include": "includes", "welcome": "welcomes", "accept": "accepts",
          "come": "comes", "want": "wants", "need": "needs"}  # fmt: skip
_PLAIN, _THIRD = "|".join(_VERBS), "|".join(_VERBS.values())
_BASE = {third: plain for plain, third in _VERBS.items()}
_BE = "is|are|was|were|will|would|can|should"

Rule = tuple[str, str | Callable[[re.Match[str]], str]]

# What is true becomes false: the first rule that fits the clause, outside of negations.
_TO_NO: tuple[Rule, ...] = (
    (r"\b(?:direct|non-?stop)\b", "connecting"),
    (r"\bprivate(ly)?\b", r"public\1"),
    (r"\bshared\b", "private"),
    (r"\bnext day\b", "same day"),
    (r"\bwith (?=(?:[\w-]+ ){0,2}NAMED)", "without "),
    (r"\bincluding\b", "excluding"),
    (rf"\b(will|would|can|should) (?=(?:{_PLAIN})\b)", r"\1 not "),
    (r"\b(does|do|did) (?:indeed |also |actually )?(?=(?:" + _PLAIN + r")\b)", r"\1 not "),
    (rf"\b({_THIRD})\b(?! been\b)", lambda match: f"does not {_BASE[match[1].lower()]}"),
    (rf"\b({_PLAIN})\b(?! been\b)", r"do not \1"),
    (rf"\b({_BE})\b", r"\1 not"),
    (r"\b(it|that|there|here)['’]s\b", r"\1 is not"),
    (r"\b(they|you|we)['’]re\b", r"\1 are not"),
    (r"\bwith\b", "without"),
)  # fmt: skip
# What is false becomes true.
_TO_YES: tuple[Rule, ...] = (
    (r"\bconnecting\b", "direct"),
    (r"\b(?:has|have) (?:a|one) layover\b", "is direct"),
    (r"\bwith (?:a|one) layover\b", "nonstop"),
    (r"\bto (?:the )?public\b", "to nobody"),
    (r"\bpublic(ly)?\b", r"private\1"),
    (r"\bsame day\b", "next day"),
    (r"\bnon-?smoking\b", "smoking"),
    (r"\b(?:prohibited|forbidden|banned)\b", "allowed"),
    (rf"\bdoes(?: not|n['’]t|nt) (?:exactly |really )?({_PLAIN})\b(?: any\b)?", lambda match: _VERBS[match[1].lower()]),
    (rf"\bdo(?: not|n['’]t|nt) ({_PLAIN})\b(?: any\b)?", r"\1"),
    (rf"\b({_BE})(?: not|n['’]t) (?:exactly |really )?", r"\1 "),
    (r"['’]s not (?:exactly |really )?", " is "),
    (r"\bwo(?:n['’]t|nt) ", "will "),
    (r"\bca(?:n['’]t|nnot) ", "can "),
    (r"\bwithout (?:any )?", "with "),
    (r"\b(?:no|not)\b (?!longer)", ""),
)


def flip_boolean(text: str, due: DueAct) -> str | None:
    """Negates the clause about a boolean slot; None if no rule applies safely."""
    act, service = due
    slot = references.find_slot(act, service)
    if slot is None or not references.is_boolean(slot) or len(act.values) != 1:
        return None
    yes = act.values[0].lower() == "true"
    named = "|".join(_slot_patterns(slot.name))
    about = re.compile(rf"\b(?:{named})\b", re.IGNORECASE)
    clauses = [(start, end) for start, end in _clauses(text) if named and about.search(text, start, end)]
    if len(clauses) != 1:
        return None
    start, end = clauses[0]
    clause = text[start:end]
    if yes and _NOT.search(clause):
        return None  # the utterance says no already: noise of the corpus, or about something else
    new = _flip(_flip_lead(clause, yes), _TO_NO if yes else _TO_YES, named)
    if new is None or (not yes and _NOT.search(new)):
        return None
    return " ".join((_flip_answer(text[:start], yes) + new + text[end:]).split())


def _slot_patterns(slot: str) -> Iterator[str]:
    for word in slot.lower().split("_"):
        if word in _SAID:
            yield _SAID[word]
        elif word not in _EMPTY:
            yield re.escape(word)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _CLAUSE.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _flip(clause: str, rules: Sequence[Rule], named: str) -> str | None:
    """Applies the first rule that fits, at the position nearest to the slot's name."""
    about = re.search(rf"\b(?:{named})\b", clause, re.IGNORECASE)
    at = about.start() if about else 0
    for pattern, new in rules:
        matches = list(re.finditer(pattern.replace("NAMED", rf"(?:{named})\b"), clause, re.IGNORECASE))
        if matches:
            match = min(matches, key=lambda match: abs(match.start() - at))
            said = new(match) if callable(new) else match.expand(new)
            return clause[: match.start()] + said + clause[match.end() :]
    return None


def _flip_lead(clause: str, yes: bool) -> str:
    """Reverses the answer that the clause begins with: "Yes it is"."""
    if yes:
        return re.sub(r"^(\s*)(?:yes|yeah|yep|yup)\b", r"\1No", clause, flags=re.IGNORECASE)
    leads = r"^(\s*)(?:no|nope) (?=(?:they|it|there|this|the|you|its|that)\b)"
    return re.sub(leads, r"\1Yes ", clause, flags=re.IGNORECASE)


def _flip_answer(before: str, yes: bool) -> str:
    """Reverses the answer before the clause: "Yes, it is"."""
    if yes:
        return re.sub(r"\b(?:yes|yeah|yep|yup|sure)([,.!]?\s*(?:and\s*)?)$", r"No\1", before, flags=re.IGNORECASE)
    before = re.sub(r"\b(?:unfortunately|sadly|sorry)[,.]?\s*$", "", before, flags=re.IGNORECASE)
    return re.sub(r"\b(?:no|nope)([,.!]?\s*)$", r"Yes\1", before, flags=re.IGNORECASE)
