"""MultiWOZ's dialogues as complete SGD: an intent and spans for every turn, and a schema of the services.

`data.json` has neither. Intents follow from changes of the state: a domain whose state changes in a turn is active,
with the intent to book if a `book` slot changes, else to find. Spans are the positions of new values of non-categorical
slots in the user's text. The schema lists the slots of MultiWOZ 2.1, with the values of its ontology for categorical
slots. A file that is written also lists the further values that occur, so that its schema fits its states; a tracker is
asked without them, since its questions must not depend on the gold states.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec

from troth.core.records import Dialogue, Frame, Intent, Schema, Service, SlotSchema, Span, State, Turn
from troth.readers import sgd_views
from troth.readers.multiwoz import BOOK, SEMI
from troth.readers.plain import encode_indented

CATEGORICAL = frozenset(
    ("area", "day", "internet", "parking", "pricerange", "stars", "type", "book day", "book people", "book stay")
)
ABOUT = {
    "area": "part of the town", "arriveby": "latest time of arrival", "day": "day of travel",
    "department": "department to visit", "departure": "place of departure", "destination": "place to go to",
    "food": "kind of food", "internet": "whether internet is included", "leaveat": "earliest time of departure",
    "name": "name of the place", "parking": "whether parking is included", "pricerange": "price range",
    "stars": "number of stars", "type": "kind of place", "book day": "day of the booking",
    "book people": "number of people of the booking", "book stay": "number of nights of the booking",
    "book time": "time of the booking",
}  # fmt: skip

_TIME = re.compile(r"(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))?(?: ?(?P<half>[ap])\.?m\.?)?")
_AREAS, _PRICES = ("centre", "east", "north", "south", "west"), ("cheap", "expensive", "moderate")
_DAYS = tuple(day.lower() for day in calendar.day_name)
_NUMBERS = tuple("12345678")
VALUES = {
    "restaurant": {"area": _AREAS, "pricerange": _PRICES, "book day": _DAYS, "book people": _NUMBERS},
    "hotel": {
        "area": _AREAS, "pricerange": _PRICES, "parking": ("no", "yes"), "internet": ("no", "yes"),
        "stars": tuple("012345"), "type": ("guesthouse", "hotel"),
        "book day": _DAYS, "book people": _NUMBERS, "book stay": _NUMBERS,
    },
    "attraction": {
        "area": _AREAS,
        "type": (
            "architecture", "boat", "church", "cinema", "college", "concerthall", "entertainment", "gallery",
            "multiple sports", "museum", "nightclub", "park", "special", "swimmingpool", "theatre",
        ),
    },
    "train": {"day": _DAYS, "book people": (*_NUMBERS, "9", "10")},
}  # fmt: skip


class Completed:
    """Dialogues in the layout of SGD's release; after iterating over all of them, `schema()` describes them."""

    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        self.dialogues = dialogues
        self._values: dict[str, dict[str, set[str]]] = {}  # domain to slot to the values that occur
        for domain, slots in SEMI.items():
            names = (*map(str.lower, slots), *(f"book {slot}" for slot in BOOK.get(domain, ())))
            self._values[domain] = {name: set() for name in names}

    def __iter__(self) -> Iterator[Dialogue]:
        for dialogue in self.dialogues:
            before: dict[str, dict[str, tuple[str, ...]]] = {}
            turns: list[Turn] = []
            for turn in dialogue.turns:
                turns.append(msgspec.structs.replace(turn, frames=tuple(_frame(f, turn, before) for f in turn.frames)))
                for frame in turn.frames:
                    before[frame.service] = frame.state.slot_values if frame.state else {}
                    slots = self._values.setdefault(frame.service, {})
                    for slot, values in before[frame.service].items():
                        slots.setdefault(slot, set()).update(values)
            yield sgd_views.to_release(msgspec.structs.replace(dialogue, turns=tuple(turns)))

    @property
    def spell(self) -> Callable[[str], str]:
        """Function that spells a value as the annotation does."""
        return spell_value

    def schema(self) -> bytes:
        """The schema of the services, as `schema.json` has it, with all values that occur."""
        return encode_indented([_service(domain, slots) for domain, slots in self._values.items()])

    def tracker_schema(self) -> Schema:
        """The schema of MultiWOZ's own services, with the values of its ontology; of other services all that occurs."""
        own = {
            domain: slots if domain not in SEMI else dict.fromkeys(slots, frozenset[str]())
            for domain, slots in self._values.items()
        }
        return {domain: _service(domain, slots) for domain, slots in own.items()}


def spell_value(value: str) -> str:
    """A value as MultiWOZ's annotation spells it: in lower case, times as HH:MM.

    >>> spell_value("Curry King"), spell_value("8:15"), spell_value("3:30 PM"), spell_value("5 pm")
    ('curry king', '08:15', '15:30', '17:00')
    """
    low = value.lower()
    time = _TIME.fullmatch(low)
    if time is None or not (time["minute"] or time["half"]):
        return low
    hour = int(time["hour"])
    if time["half"]:
        hour = hour % 12 + (12 if time["half"] == "p" else 0)
    return f"{hour:02d}:{time['minute'] or '00'}"


def _frame(frame: Frame, turn: Turn, before: dict[str, dict[str, tuple[str, ...]]]) -> Frame:
    slots = frame.state.slot_values if frame.state else {}
    last = before.get(frame.service, {})
    new = [slot for slot, values in slots.items() if last.get(slot) != values]
    goal = "book" if any(slot.startswith("book ") for slot in new) else "find"
    intent = f"{goal}_{frame.service}" if new or last.keys() - slots.keys() else "NONE"
    spans = (span for slot in new if slot not in CATEGORICAL for span in _spans(slot, slots[slot], turn.text))
    state = State(active_intent=intent, requested_slots=(), slot_values=slots)
    return Frame(service=frame.service, state=state, spans=tuple(spans))


def _spans(slot: str, values: Iterable[str], text: str) -> Iterator[Span]:
    for value in values:
        match = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE)
        if match is not None:
            yield Span(slot=slot, start=match.start(), exclusive_end=match.end())
            return


def _service(domain: str, slots: Mapping[str, Collection[str]]) -> Service:
    book = tuple(slot for slot in slots if slot.startswith("book "))
    search = {slot: "dontcare" for slot in slots if slot not in book}
    intents = [Intent(name=f"find_{domain}", description=f"search for a {domain}", optional_slots=search)]
    if book:
        about = f"book a {domain}"
        intents.append(Intent(f"book_{domain}", about, True, required_slots=book, optional_slots=search))
    described = []
    for slot, values in slots.items():
        known = VALUES.get(domain, {}).get(slot, ())
        possible = (*known, *sorted({*values} - {*known, "dontcare"})) if slot in CATEGORICAL else ()
        described.append(SlotSchema(slot, f"{ABOUT.get(slot, slot)} ({domain})", slot in CATEGORICAL, possible))
    return Service(domain, f"{domain} in Cambridge", tuple(described), tuple(intents))
