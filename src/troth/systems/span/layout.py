"""A service as the questions that the network answers: one query for each slot, value and intent.

Each query is a short text of the schema. A frozen sentence encoder turns it into a vector once per schema, so that
the schema costs nothing while dialogues are tracked, and so that another wording of it gives a near vector.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.records import Service
from troth.text.identifiers import split_identifier

MOST_VALUES = 64  # a categorical slot with more values than this is read from the text, like an open one


class Kind(IntEnum):
    SERVICE = 0
    SLOT = 1
    VALUE = 2
    INTENT = 3


class Layout(NamedTuple):
    """The queries of one service: the service itself, then its slots, values and intents."""

    service: str
    texts: tuple[str, ...]
    kinds: NDArray[np.int64]
    slot_of: NDArray[np.int64]  # of a value: the query of its slot; else -1
    slots: tuple[str, ...]  # slot i is query 1 + i
    values: tuple[dict[str, int], ...]  # of each slot: the query of each possible value
    intents: dict[str, int]  # the query of each intent
    slots_of_intent: Mapping[str | None, frozenset[str]]
    required: frozenset[str]  # slots that some intent requires
    fillable: frozenset[str]  # slots that a user may fill: those that some intent takes; others are results of a call


def layout(service: Service) -> Layout:
    texts = [_describe(service.name.rstrip("_0123456789"), service.description)]
    kinds, slot_of = [Kind.SERVICE], [-1]
    for slot in service.slots:
        texts.append(_describe(slot.name, slot.description))
        kinds.append(Kind.SLOT)
        slot_of.append(-1)
    values: list[dict[str, int]] = []
    for number, slot in enumerate(service.slots):
        possible = slot.possible_values if slot.is_categorical and len(slot.possible_values) <= MOST_VALUES else ()
        values.append({value: len(texts) + i for i, value in enumerate(possible)})
        texts += [f"{_spoken_name(slot.name)}: {value}" for value in possible]
        kinds += [Kind.VALUE] * len(possible)
        slot_of += [1 + number] * len(possible)
    intents = {}
    for intent in service.intents:
        intents[intent.name] = len(texts)
        texts.append(_describe(intent.name, intent.description))
        kinds.append(Kind.INTENT)
        slot_of.append(-1)
    slots_of_intent: dict[str | None, frozenset[str]] = {
        intent.name: frozenset((*intent.required_slots, *intent.optional_slots)) for intent in service.intents
    }
    slots = tuple(slot.name for slot in service.slots)
    return Layout(
        service.name,
        tuple(texts),
        np.array(kinds, dtype=np.int64),
        np.array(slot_of, dtype=np.int64),
        slots,
        tuple(values),
        intents,
        slots_of_intent,
        frozenset(slot for intent in service.intents for slot in intent.required_slots),
        frozenset().union(*slots_of_intent.values()) or frozenset(slots),
    )


def _describe(name: str, description: str) -> str:
    return f"{_spoken_name(name)}: {description}" if description else _spoken_name(name)


@functools.lru_cache(maxsize=4096)
def _spoken_name(name: str) -> str:
    return " ".join(split_identifier(name)).lower()
