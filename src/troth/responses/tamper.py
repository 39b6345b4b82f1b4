"""Tampered acts: the same act with another value of its slot, which a faithful utterance must not entail.

They are SGSAcc's negative references (SGSAcc, section 2) and the negatives of its table 2. A value counts as
another one only if it cannot mean the same: equal canonical values ("today" and a date), equal numbers ("2", "two") and
values that contain one another ("Santa Rosa", "Santa Rosa, CA") are left out.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import msgspec

from troth.core.records import Act, Dialogue, Service
from troth.core.text_cache import text_cache
from troth.responses.references import COUNT, INTENT, find_slot, is_boolean

ActKind = Literal["name", "time", "date", "count", "number", "price", "category", "boolean", "intent", "request", "act"]
KINDS: tuple[ActKind, ...] = get_args(ActKind)

NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
MAX_DIGITS = 100  # of a value that is read as a number
DRAWS = 16  # how many values are drawn and tested before all are looked at
Values = tuple[tuple[str, ...], tuple[str, ...]]  # as said, and canonical
Pool = Mapping[tuple[str, str], Sequence[Values]]  # by service and slot, in order

UNSAID = ("boolean", "intent", "request", "act")  # kinds without a value that is said as it is

_PRICE = re.compile(r"price|fare|cost|rent|balance|amount|fee|fees|budget|total", re.IGNORECASE)


def classify_act(act: Act, service: Service) -> ActKind:
    """The kind of value that the act carries: entailment is easy for some kinds and hard for others."""
    if act.act == "REQUEST":
        return "request"
    if act.act == "INFORM_COUNT" and act.slot == COUNT.name:
        return "count"
    if act.act == "OFFER_INTENT" and act.slot == INTENT:
        return "intent"
    if not act.slot or not act.values:
        return "act"
    slot = find_slot(act, service)
    if slot and is_boolean(slot):
        return "boolean"
    value = act.values[0]
    canonical = act.canonical_values[0] if act.canonical_values else value
    if re.fullmatch(r"\d{1,2}:\d\d(:\d\d)?", canonical):
        return "time"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", canonical):
        return "date"
    if re.search(r"\d", value) and ("$" in value or _PRICE.search(act.slot)):
        return "price"
    if re.fullmatch(r"[\d\s.,+()-]+", value) and re.search(r"\d", value):
        return "number"
    return "category" if slot and slot.is_categorical else "name"


def collect_values(dialogues: Iterable[Dialogue]) -> dict[tuple[str, str], list[Values]]:
    """All values that the system's acts give each slot, sorted: the order of the dialogues changes no draw."""
    values: dict[tuple[str, str], dict[Values, None]] = defaultdict(dict)
    turns = (turn for dialogue in dialogues for turn in dialogue.turns if turn.speaker == "SYSTEM")
    for frame in (frame for turn in turns for frame in turn.frames):
        for act in frame.acts:
            if act.slot and act.values and act.act != "REQUEST":
                values[frame.service, act.slot][act.values, act.canonical_values] = None
    return {key: sorted(slot_values) for key, slot_values in values.items()}


def tamper_act(act: Act, service: Service, others: Pool, rng: random.Random, *, acts: Iterable[Act] = ()) -> Act | None:
    """The act with another value; None where it has no value, or no other is known.

    `acts`: the turn's acts. A value that the turn gives this slot in another act is true as well, and not taken.
    """
    what = classify_act(act, service)
    if what in ("request", "act"):
        return None
    if what == "boolean":
        flipped = {"true": "False", "false": "True"}.get(act.values[0].lower())
        return _replace_values(act, (flipped,), ()) if flipped else None
    true = [act, *(other for other in acts if other.slot == act.slot and other.values)]
    choices, width = _candidate_values(act, service, others)

    def fits(values: Values) -> bool:
        return len(values[0]) == width and not any(means_same(values, other) for other in true)

    # A corpus has thousands of names, and nearly every one will do: drawing and testing is faster than testing all.
    drawn = (rng.choice(choices) for _ in range(DRAWS if choices else 0))
    other = next(filter(fits, drawn), None)
    if other is None:  # few will do, or none: test all
        left = [values for values in choices if fits(values)]
        other = rng.choice(left) if left else None
    return _replace_values(act, *other) if other is not None else None


def means_same(values: Values, act: Act) -> bool:
    """Whether these values may mean what the act's values mean."""
    ours, theirs = value_forms(*values), value_forms(act.values, act.canonical_values)
    return any(a == b or (len(min(a, b, key=len)) > 2 and (a in b or b in a)) for a in ours for b in theirs)


def contains_value(value: str, canonical: Sequence[str], text: str) -> bool:
    """Whether a value is in the text: as said, as a number word or digit, or in a canonical form.

    A part of a number does not count: neither 1 nor 30 in "1:30", nor 200 in "1,200".
    """
    text = " ".join(text.lower().split())
    return any(re.search(word_pattern(form), text) for form in value_forms((value,), tuple(canonical)))


def word_pattern(form: str) -> str:
    """A regular expression for a form of a value that is not part of another word or number."""
    if form[:1].isdigit() or form[-1:].isdigit():
        return rf"(?<!\w)(?<!\d[.,:]){re.escape(form)}(?!\w)(?![.,:]\d)"
    return rf"(?<!\w){re.escape(form)}(?!\w)"


def has_values(act: Act, service: Service, text: str) -> bool:
    """Whether every value that is said as it is stands in the text: the rule that needs no model.

    Booleans, offered intents, acts without values and the value "None" (subtitles: None is said as "no subtitles") are
    accepted: there is nothing to look for.
    """
    if classify_act(act, service) in UNSAID:
        return True
    canonical = act.canonical_values if len(act.canonical_values) == len(act.values) else act.values
    pairs = [(value, form) for value, form in zip(act.values, canonical, strict=True) if value.lower() != "none"]
    return all(contains_value(value, (form,), text) for value, form in pairs)


def _candidate_values(act: Act, service: Service, others: Pool) -> tuple[Sequence[Values], int]:
    """The values to choose from, and how many the act must have."""
    if act.act == "INFORM_COUNT":
        return [((str(n),), ()) for n in range(1, 13)], 1
    if act.act == "OFFER_INTENT":
        return [((intent.name,), ()) for intent in service.intents], 1
    slot = find_slot(act, service)
    if slot and slot.is_categorical:
        return [((value,), ()) for value in slot.possible_values], 1
    return others.get((service.name, act.slot), ()), len(act.values)


@text_cache
def value_forms(values: tuple[str, ...], canonical: tuple[str, ...] = ()) -> frozenset[str]:
    """How values may be written: in lower case, canonically, as digits or as a number word."""
    written = {" ".join(value.lower().split()) for value in (*values, *canonical)}
    digits = [form for form in written if form.isdecimal() and len(form) <= MAX_DIGITS]
    written |= {NUMBERS[int(form)] for form in digits if int(form) < len(NUMBERS)}
    return frozenset(written | {str(NUMBERS.index(form)) for form in written if form in NUMBERS})


def _replace_values(act: Act, values: tuple[str, ...], canonical: tuple[str, ...]) -> Act:
    return msgspec.structs.replace(act, values=values, canonical_values=canonical)
