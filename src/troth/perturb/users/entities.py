"""Named entities under names that no training set has: scrambled letters, or names of your own (CheckDST's NED).

A name is changed in the whole dialogue at once: in what both sides say, in states with all their alternatives, acts,
calls and results, in any casing. Huang et al. (2021) and CheckDST scramble the characters of a value; we do it word by
word, keep capitals where they were, and never make a word or value that the corpus has already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Annotated, Any

import msgspec

from troth.core.normalize import is_named_entity
from troth.core.records import Act, Dialogue, Frame, Span, Turn
from troth.perturb import lexicon
from troth.perturb.options import flag
from troth.perturb.users.edit import Edit, edited, spans
from troth.perturb.users.family import Family, Inventory, Twin
from troth.perturb.users.names import LETTERS, ListedNames, ScrambledNames
from troth.perturb.users.values import (
    NO_VALUE,
    AnnotatedValues,
    Claims,
    DialogueText,
    Shields,
    annotated,
    begins_sentence,
    lost,
    lowered,
    places,
)

LOST = "a value could no longer be found in the text"
OVERLAP = "spans lie outside the text or across each other"
UNSAID = "a name in the state does not stand in the text"


class Entities(Family, frozen=True):
    """Named entities under names that no training set has: scrambled letters, or names of your own (CheckDST's NED)."""

    slots: Annotated[
        tuple[str, ...], flag("NAMES", "Slots that hold names, comma-separated: slot or service.slot.")
    ] = ()  # none: the usual ones
    names: Annotated[tuple[str, ...], flag("FILE", "Names to give in place of scrambled letters, one per line.")] = ()

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        """The dialogue with other names, or as it was if text and annotation would not fit any more."""
        slots = _Slots(inventory, self)
        values = annotated(dialogue)
        found: set[str] = set()
        others: set[str] = set()
        for held in values:
            for service, (slot, alternatives) in held:
                (found if slots[service][slot] else others).update(alternatives)
        if not found:
            return Twin(dialogue, ())
        # Sorted, since words are scrambled in the order of first use, and sets have another order in each process.
        names = sorted(found - NO_VALUE)
        kept = [low for other in others if (low := other.lower()) != low.upper() and low not in NO_VALUE]  # has letters
        rename = (
            ListedNames(rng, inventory.known, kept, self.names)
            if self.names
            else ScrambledNames(rng, inventory.known, kept)
        )
        rename.assign(names)
        edits = _edits(dialogue, slots, rename, names)
        if edits is None:
            return Twin(dialogue, (), refused={OVERLAP: len(dialogue.turns)})
        _assign_canonical(dialogue, slots, rename)
        renamed = _Renamed(slots, rename)
        turns = [renamed.turn(turn, made) for turn, made in zip(dialogue.turns, edits, strict=True)]
        after = msgspec.structs.replace(dialogue, turns=tuple(turns))
        changed = tuple(
            [index for index, (old, new) in enumerate(zip(dialogue.turns, turns, strict=True)) if old.text != new.text]
        )
        reason = _inconsistent(dialogue, after, values, renamed)
        if reason is not None:
            return Twin(dialogue, (), refused={reason: len(changed) or 1})
        count = sum([rename[name] != name for name in names])
        return Twin(after, changed, figures={"names": len(names), "names_changed": count})


def _assign_canonical(dialogue: Dialogue, slots: _Slots, rename: ScrambledNames) -> None:
    """New names for canonical values, before any call or result is looked at: a result may come before its act."""
    canonical = {
        value
        for turn in dialogue.turns
        for frame in turn.frames
        for act in frame.acts
        if act.values and slots[frame.service][act.slot]
        for value in act.canonical_values
    }
    for value in sorted(canonical - NO_VALUE):
        rename[value]


class _Service(dict[str, bool]):
    """Whether a slot of one service holds names; a slot with a closed list of values does not."""

    def __init__(self, service: str, slots: _Slots) -> None:
        super().__init__()
        self.service, self.slots = service, slots
        self.rows: dict[tuple[str, ...], list[str]] = {}

    def __missing__(self, slot: str) -> bool:
        named = is_named_entity(self.service, slot, self.slots.listed)
        self[slot] = named and f"{self.service}.{slot}" not in self.slots.categorical
        return self[slot]

    def among(self, fields: Iterable[str]) -> list[str]:
        """Those of some slots that hold names; kept, as the results of a search all have the same slots."""
        key = tuple(fields)
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = [slot for slot in key if self[slot]]
        return found


class _Slots(dict[str, _Service]):
    """Service to its slots."""

    def __init__(self, inventory: Inventory, options: Entities) -> None:
        super().__init__()
        self.categorical = inventory.categorical
        self.listed = frozenset(options.slots) if options.slots else None

    def __missing__(self, service: str) -> _Service:
        self[service] = _Service(service, self)
        return self[service]


def _inconsistent(before: Dialogue, after: Dialogue, known: AnnotatedValues, renamed: _Renamed) -> str | None:
    """Why text and states do not fit any more, if so."""
    was, now = DialogueText(before).text, DialogueText(after).text
    doubt = False
    for service, (slot, values) in known.states:
        new = renamed[values] if renamed.slots[service][slot] else values
        said = False
        for value, other in zip(values, new, strict=True):
            at = was.find(value.lower())
            if at >= 0:
                said = True
                doubt = doubt or not 0 <= now.find(other.lower()) <= at
        if not said and new != values:
            return UNSAID  # said otherwise than it is annotated: it would be new in the state and old in the text
    return LOST if doubt and lost(before, after) else None


# -- text --------------------------------------------------------------------------------------------------------------


def _edits(dialogue: Dialogue, slots: _Slots, rename: ScrambledNames, names: Sequence[str]) -> list[list[Edit]] | None:
    """What to change in each turn's text; None where spans lie across each other, so that it cannot be done."""
    edits: list[list[Edit]] = []
    rest: list[str] = []  # what no span of a name covers
    for turn in dialogue.turns:
        made: list[Edit] = []
        text = turn.text
        for frame in turn.frames:
            if frame.spans:
                named = slots[frame.service]
                for span in frame.spans:
                    if named[span.slot] and span.start >= 0:
                        start, end = span.start, span.exclusive_end
                        if not start <= end <= len(text):
                            return None
                        made.append(Edit(start, end, rename[text[start:end]]))
        edits.append(made)
        at = 0
        if made:
            made.sort()
            marked = spans(turn)
            if len(marked) > 1 and any(b[0] < a[1] and a != b for a, b in pairwise(marked)):
                return None
            if len(turn.frames) > 1:  # two services may mark the same words
                made[:] = dict.fromkeys(made)
            for start, end, _ in made:
                rest.append(text[at:start])
                at = end
        rest.append(text[at:])
    said = lowered("\n".join(rest))
    left = {low for name in names if (low := lowered(name)) in said and rename[name] != name}
    if left:
        _add_unmarked(dialogue, slots, rename, sorted(left, key=lambda low: (-len(low), low)), edits)
    return edits


def _add_unmarked(
    dialogue: Dialogue, slots: _Slots, rename: ScrambledNames, names: Sequence[str], edits: Sequence[list[Edit]]
) -> None:
    """Adds the names that no span marks; the longest come first."""
    before: set[str] = set()
    for turn, made in zip(dialogue.turns, edits, strict=True):
        text = lowered(turn.text)
        here = _named_here(turn, slots, before)
        marked, claims = Shields(spans(turn)), Claims()
        # Another value inside of the name stays readable there; one that reaches out of it must be left whole.
        kept = Shields(place for value in rename.kept if value in text for place in places(text, value))
        for low in names:
            for start, end in places(text, low):
                if marked.touch(start, end) or kept.touch(start, start) or kept.touch(end, end):
                    continue
                if (low in here or _is_name(turn.text, start, low)) and claims.add(start, end):
                    made.append(Edit(start, end, rename[turn.text[start:end]]))


def _named_here(turn: Turn, slots: _Slots, before: set[str]) -> set[str]:
    """Names of the turn's acts, or new in its state, that no span marks in it: an ordinary word may well mean them."""
    found: set[str] = set()
    for frame in turn.frames:
        named = slots[frame.service]
        for act in frame.acts:
            if act.values and named[act.slot]:
                found.update(map(lowered, act.values))
        if frame.state is not None and frame.spans is None:  # where there are spans, they are what is annotated
            for slot, values in frame.state.slot_values.items():
                if named[slot]:
                    new = set(map(lowered, values)) - before
                    before |= new
                    found |= new
    return found - {lowered(turn.text[start:end]) for start, end in spans(turn)}


def _is_name(text: str, start: int, low: str) -> bool:
    """Whether words that could be a name are one: unusual words, or ordinary ones with a capital in a sentence."""
    if not lexicon.words("common").issuperset(LETTERS.findall(low)):
        return True
    return text[start].isupper() and not begins_sentence(text, start, "\"'(")


# -- annotation --------------------------------------------------------------------------------------------------------


class _Renamed(dict[tuple[str, ...], tuple[str, ...]]):
    """A value's alternatives under their new names; and frames, with all that hold such values."""

    def __init__(self, slots: _Slots, rename: ScrambledNames) -> None:
        super().__init__()
        self.slots, self.rename = slots, rename

    def __missing__(self, values: tuple[str, ...]) -> tuple[str, ...]:
        new = self[values] = tuple([self.rename[value] for value in values])
        return new

    def turn(self, turn: Turn, edits: list[Edit]) -> Turn:
        if edits:
            turn = edited(turn, edits)
        frames = [self._frame(frame) for frame in turn.frames]
        for new, old in zip(frames, turn.frames, strict=True):
            if new is not old:
                return msgspec.structs.replace(turn, frames=tuple(frames))
        return turn

    def _frame(self, frame: Frame) -> Frame:
        named = self.slots[frame.service]
        replace = msgspec.structs.replace
        new = frame
        state, acts, call, results, marked = (
            frame.state, frame.acts, frame.service_call, frame.service_results, frame.spans,
        )  # fmt: skip
        if state is not None and state.slot_values:
            values = {slot: self[found] if named[slot] else found for slot, found in state.slot_values.items()}
            new = replace(new, state=replace(state, slot_values=values))
        for act in acts:
            if named[act.slot]:
                new = replace(new, acts=tuple([self._act(act) if named[act.slot] else act for act in acts]))
                break
        if call is not None:
            new = replace(new, service_call=replace(call, parameters=self._fields(call.parameters, named)))
        if results:
            new = replace(new, service_results=tuple([self._fields(result, named) for result in results]))
        if marked and marked[0].value is not msgspec.UNSET:
            new = replace(new, spans=tuple([self._span(span) if named[span.slot] else span for span in marked]))
        return new

    def _act(self, act: Act) -> Act:
        if not act.values:
            return act
        return msgspec.structs.replace(act, values=self[act.values], canonical_values=self[act.canonical_values])

    def _fields(self, fields: dict[str, Any], named: _Service) -> dict[str, Any]:
        """A call's or a result's fields; what nobody mentions in the dialogue keeps its name."""
        made = fields
        for slot in named.among(fields):
            value = fields[slot]
            if isinstance(value, str) and value in self.rename:
                if made is fields:
                    made = fields.copy()
                made[slot] = self.rename[value]
        return made

    def _span(self, span: Span) -> Span:
        """MultiWOZ 2.2 repeats the value, or a list of them, in the span."""
        if isinstance(span.value, str):
            return msgspec.structs.replace(span, value=self.rename[span.value])
        if isinstance(span.value, list):
            new = [self.rename[value] if isinstance(value, str) else value for value in span.value]
            return msgspec.structs.replace(span, value=new)
        return span
