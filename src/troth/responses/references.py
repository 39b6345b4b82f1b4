"""Entailment references: the sentences that a faithful utterance must entail (SGSAcc, appendix B).

A dialogue act becomes one or more candidate sentences, by the appendix's rules over its intent, its slot's name and its
slot's description in the schema. Where the appendix leaves something open:

- A slot's name is written with spaces for underscores. "Contains" is by word: `purchase_date` does not contain "has".
- A name with "has" or "have" and the value False gives "Does not {slot}". A name with both "has" (or "have") and "is"
  goes by the first rule alone.
- A description's final punctuation is dropped before anything is put behind it. Without a description the slot's name
  stands in its place, and there is one candidate fewer.

The appendix has no rule for four things that SGD's systems say. These are ours, and the signature says so (`refs:b+4`):
`INFORM_COUNT(count)` and `OFFER_INTENT(intent)`, whose slots are in no schema, `NOTIFY_SUCCESS`, `NOTIFY_FAILURE`.

The paper's table 3 shows other sentences for booleans that are False than appendix B gives: "Has no {slot}", "Is not
{slot}" and "Does not {slot}", and for a name that begins with "is" also "Flights is not non-stop", which has the domain
as its subject. The appendix is the rule here; `refs="table3"` asks for the table's sentences instead (`refs:table3+4`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from troth.core import groups
from troth.core.records import Act, Schema, Service, SlotSchema
from troth.text.identifiers import humanize

Refs = Literal["b", "table3"]  # what booleans that are False become: the sentences of appendix B, or of table 3
RULES = "b+4"  # in the signature: appendix B and four rules of our own

FIXED = {
    "GOODBYE": ("Have a good day.", "Bye bye.", "See you."),
    "REQ_MORE": ("What else do you need?", "What else can I help you with?", "Is there anything else?"),
    "NOTIFY_SUCCESS": ("The request succeeded.", "It has been done."),  # ours
    "NOTIFY_FAILURE": ("The request failed.", "It could not be done."),  # ours
}
COUNT = SlotSchema("count", "The number of results found")  # ours: INFORM_COUNT's slot is in no schema
INTENT = "intent"  # OFFER_INTENT's slot, likewise; its value is the name of an intent
SPELLING = {"nonstop": "non-stop"}  # of words in table 3's sentences about a domain


def rules_name(refs: Refs) -> str:
    """The rules' name in signatures."""
    return RULES.replace("b", refs)


def find_slot(act: Act, service: Service) -> SlotSchema | None:
    """The schema of the act's slot; None for acts without one, for offered intents, and for slots nobody declared."""
    if act.act == "INFORM_COUNT" and act.slot == COUNT.name:
        return COUNT
    return next((slot for slot in service.slots if slot.name == act.slot), None)


def is_boolean(slot: SlotSchema) -> bool:
    """Whether the only possible values are True and False."""
    return bool(slot.possible_values) and {value.lower() for value in slot.possible_values} == {"true", "false"}


def fingerprint(schema: Schema) -> str:
    """A short hash of what references and tampered values use of a schema: names, descriptions, values."""
    parts = [
        (name, [(s.name, s.description, s.is_categorical, s.possible_values) for s in service.slots],
         [(intent.name, intent.description) for intent in service.intents])
        for name, service in sorted(schema.items())
    ]  # fmt: skip
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


def slot_description(act: Act, service: Service) -> str:
    """The description of the act's slot: the middle part of an augmented premise. Empty where there is none.

    An offered intent has none: its description is the value itself, and a premise must not give that away.
    """
    slot = find_slot(act, service)
    return _trim(slot.description) if slot else ""


def candidates(act: Act, service: Service, refs: Refs = "b") -> tuple[str, ...]:
    """The act as candidate sentences; none where no rule applies. A slot that no schema declares goes by its name."""
    if act.act in FIXED:
        return FIXED[act.act]
    if not act.slot:
        return ()
    slot = find_slot(act, service) or SlotSchema(act.slot)
    name, desc = humanize(slot.name), _trim(slot.description)
    heads = tuple(dict.fromkeys(filter(None, (desc, name))))  # the description first, then the name
    if act.act == "REQUEST":
        return tuple(f"Request {head}" for head in heads)
    if not act.values:
        return ()
    if act.act == "OFFER_INTENT" and act.slot == INTENT:
        return _offer_sentences(act.values, service)
    if is_boolean(slot) and len(act.values) == 1 and act.values[0].lower() in ("true", "false"):
        yes = act.values[0].lower() == "true"
        answered = tuple(f"{head}? {'Yes' if yes else 'No'}." for head in heads)
        sentences = (
            _table_3_sentences(name, groups.domain(service.name))
            if refs == "table3" and not yes
            else _boolean_sentences(name, yes=yes)
        )
        return tuple(dict.fromkeys(answered + sentences))
    verb = "is" if len(act.values) == 1 else "are"
    return tuple(f"{head} {verb} {_join_values(act.values)}" for head in heads)


def _boolean_sentences(name: str, *, yes: bool) -> tuple[str, ...]:
    split = name.lower().split()
    if "has" in split or "have" in split:
        return (f"Does {name}" if yes else f"Does not {name}",)
    if "is" in split:
        return (name if yes else re.sub(r"\bis\b", "is not", name, count=1, flags=re.IGNORECASE),)
    return tuple(f"{verb} {name}" if yes else f"{verb} not {name}" for verb in ("has", "have", "is"))


def _table_3_sentences(name: str, domain: str) -> tuple[str, ...]:
    """What table 3 shows of booleans that are False; a name with "has" or "have" is not among its examples."""
    split = name.lower().split()
    if {"has", "have", "is"}.isdisjoint(split):
        return f"Has no {name}", f"Is not {name}", f"Does not {name}"
    (sentence,) = _boolean_sentences(name, yes=False)
    about = " ".join(SPELLING.get(word, word) for word in sentence.split())
    return (sentence, f"{domain} {about}") if sentence.lower().startswith("is not ") else (sentence,)


def _offer_sentences(values: Sequence[str], service: Service) -> tuple[str, ...]:
    descriptions = [_intent_description(value, service) for value in values]
    described = [f"Offer to {text[:1].lower()}{text[1:]}" for text in descriptions if text]
    return tuple(dict.fromkeys([*described, f"Offer to {_join_values([humanize(value).lower() for value in values])}"]))


def _intent_description(name: str, service: Service) -> str:
    return next((_trim(intent.description) for intent in service.intents if intent.name == name), "")


def _join_values(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"


def _trim(text: str) -> str:
    """Text without the punctuation at its end, since more words follow."""
    return text.strip().rstrip(".?! ")
