"""Named entities under names that no training set has: scrambled letters, or names of your own (CheckDST's NED).

A name is changed in the whole dialogue at once: in what both sides say, in states with all their alternatives, acts,
calls and results, in any casing. Huang et al. (2021) and CheckDST scramble the characters of a value across its words
(`scramble="name"`); by default we do it word by word and keep capitals where they were. No word or value is made that
the corpus has already.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import is_not
from random import Random
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from troth.core.records import Act, Dialogue, Frame, Span, Turn
from troth.perturb import lexicon
from troth.perturb.options import flag
from troth.perturb.users import Family, Inventory, Twin
from troth.perturb.users import values as found
from troth.perturb.users.edit import Edit, edited, spans
from troth.perturb.users.names import LETTERS, ListedNames, MixedNames, ScrambledNames
from troth.perturb.users.values import NO_VALUE, Claims, Key, Shields, lowered, places
from troth.text.normalize import is_named_entity

LOST = "a value could no longer be found in the text"
OVERLAP = "spans lie outside the text or across each other"
UNSAID = "a name in the state does not stand in the text"


class Entities(Family, frozen=True):
    """Named entities under names that no training set has: scrambled letters, or names of your own (CheckDST's NED)."""

    slots: Annotated[
        tuple[str, ...], flag("NAMES", "Slots that hold names, comma-separated: slot or service.slot.")
    ] = ()  # none: the usual ones
    names: Annotated[tuple[str, ...], flag("FILE", "Names to give in place of scrambled letters, one per line.")] = ()
    scramble: Annotated[
        Literal["words", "name"], flag("HOW", "Whether letters stay in their word, or move across the words of a name.")
    ] = "words"

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        """The dialogue with other names, or as it was if text and annotation would not fit any more."""
        named = _named(self.slots, inventory.categorical)
        annotated = found.annotated(dialogue)
        own: set[str] = set()
        others: set[str] = set()
        for held in annotated:
            for service, (slot, values) in held:
                (own if named[service, slot] else others).update(values)
        if not own:
            return Twin(dialogue, ())
        # Sorted, since words are scrambled in the order of first use, and sets have another order in each process.
        names = sorted(own - NO_VALUE)
        kept = [low for other in others if (low := other.lower()) != low.upper() and low not in NO_VALUE]  # has letters
        if self.names:
            rename: ScrambledNames = ListedNames(rng, inventory.known, kept, self.names)
        else:
            scrambled = MixedNames if self.scramble == "name" else ScrambledNames
            rename = scrambled(rng, inventory.known, kept)
        rename.assign(names)
        edits = _edits(dialogue, named, rename, names)
        if edits is None:
            return Twin(dialogue, (), refused={OVERLAP: len(dialogue.turns)})
        _assign_canonical(dialogue, named, rename)
        renamed = _Renamed(named, rename)
        turns = [renamed.turn(turn, made) for turn, made in zip(dialogue.turns, edits, strict=True)]
        after = replace(dialogue, turns=tuple(turns))
        changed = [i for i, (old, new) in enumerate(zip(dialogue.turns, turns, strict=True)) if old.text != new.text]
        reason = _inconsistent(dialogue, after, annotated, renamed)
        if reason is not None:
            return Twin(dialogue, (), refused={reason: len(changed) or 1})
        count = sum([rename[name] != name for name in names])
        return Twin(after, tuple(changed), figures={"names": len(names), "names_changed": count})


class _Named(dict[Key, bool]):
    """Whether a slot holds names; one with a closed list of values does not."""

    def __init__(self, slots: tuple[str, ...], categorical: frozenset[str]) -> None:
        super().__init__()
        self.listed, self.categorical = frozenset(slots) if slots else None, categorical

    def __missing__(self, key: Key) -> bool:
        self[key] = is_named_entity(*key, self.listed) and ".".join(key) not in self.categorical
        return self[key]


_named = lru_cache(maxsize=4)(_Named)  # the same for all dialogues of a corpus


def _assign_canonical(dialogue: Dialogue, named: _Named, rename: ScrambledNames) -> None:
    """New names for canonical values, before any call or result is looked at: a result may come before its act."""
    acts = [(frame.service, act) for turn in dialogue.turns for frame in turn.frames for act in frame.acts]
    canonical = [act.canonical_values for service, act in acts if act.values and named[service, act.slot]]
    for value in sorted(set[str]().union(*canonical) - NO_VALUE):
        rename[value]


def _inconsistent(before: Dialogue, after: Dialogue, annotated: found.AnnotatedValues, renamed: _Renamed) -> str | None:
    """Why text and states do not fit any more, if so."""
    was, now = ("\n".join([turn.text for turn in dialogue.turns]).lower() for dialogue in (before, after))
    doubt = False
    for service, (slot, values) in annotated.states:
        new = renamed[values] if renamed.named[service, slot] else values
        said = False
        for value, other in zip(values, new, strict=True):
            at = was.find(value.lower())
            if at >= 0:
                said = True
                doubt = doubt or not 0 <= now.find(other.lower()) <= at
        if not said and new != values:
            return UNSAID  # not said as it is annotated: it would be new in the state and old in the text
    return LOST if doubt and found.lost(before, after) else None


# -- text --------------------------------------------------------------------------------------------------------------


def _edits(dialogue: Dialogue, named: _Named, rename: ScrambledNames, names: Sequence[str]) -> list[list[Edit]] | None:
    """What to change in each turn's text; None where spans lie across each other, so that it cannot be done."""
    edits: list[list[Edit]] = []
    rest: list[str] = []  # what no span of a name covers
    for turn in dialogue.turns:
        text, at = turn.text, 0
        marked = [s for f in turn.frames for s in f.spans or () if s.start >= 0 and named[f.service, s.slot]]
        if not all(span.start <= span.exclusive_end <= len(text) for span in marked):
            return None
        if marked and any(b[0] < a[1] and a != b for a, b in pairwise(spans(turn))):
            return None
        made = {Edit(s.start, s.exclusive_end, rename[text[s.start : s.exclusive_end]]) for s in marked}
        edits.append(sorted(made) if made else [])  # a set: two services may mark the same words
        for start, end, _ in edits[-1]:
            rest.append(text[at:start])
            at = end
        rest.append(text[at:])
    said = lowered("\n".join(rest))
    left = {low for name in names if (low := lowered(name)) in said and rename[name] != name}
    if left:
        _add_unmarked(dialogue, named, rename, sorted(left, key=lambda low: (-len(low), low)), edits)
    return edits


def _add_unmarked(
    dialogue: Dialogue, named: _Named, rename: ScrambledNames, names: Sequence[str], edits: Sequence[list[Edit]]
) -> None:
    """Adds the names that no span marks; the longest come first."""
    before: set[str] = set()
    for turn, made in zip(dialogue.turns, edits, strict=True):
        text = lowered(turn.text)
        here = _named_here(turn, named, before)
        marked, claims = Shields(spans(turn)), Claims()
        # Another value inside of the name stays readable there; one that reaches out of it must be left whole.
        kept = Shields(place for value in rename.kept if value in text for place in places(text, value))
        for low in names:
            for start, end in places(text, low):
                if marked.touch(start, end) or kept.touch(start, start) or kept.touch(end, end):
                    continue
                if (low in here or _is_name(turn.text, start, low)) and claims.add(start, end):
                    made.append(Edit(start, end, rename[turn.text[start:end]]))


def _named_here(turn: Turn, named: _Named, before: set[str]) -> set[str]:
    """Names of the turn's acts, or new in its state, that no span marks in it: an ordinary word may well mean them."""
    names: set[str] = set()
    for frame in turn.frames:
        for act in frame.acts:
            if act.values and named[frame.service, act.slot]:
                names.update(map(lowered, act.values))
        if frame.state is not None and frame.spans is None:  # where there are spans, they are what is annotated
            for slot, values in frame.state.slot_values.items():
                if named[frame.service, slot]:
                    new = set(map(lowered, values)) - before
                    before |= new
                    names |= new
    return names - {lowered(turn.text[start:end]) for start, end in spans(turn)}


def _is_name(text: str, start: int, low: str) -> bool:
    """Whether words that could be a name are one: unusual words, or ordinary ones with a capital in a sentence."""
    if not lexicon.word_set("common").issuperset(LETTERS.findall(low)):
        return True
    return text[start].isupper() and not found.begins_sentence(text, start, "\"'(")


# -- annotation --------------------------------------------------------------------------------------------------------


class _Renamed(dict[tuple[str, ...], tuple[str, ...]]):
    """A value's alternatives under their new names; and frames, with all that hold such values."""

    def __init__(self, named: _Named, rename: ScrambledNames) -> None:
        super().__init__()
        self.named, self.rename = named, rename

    def __missing__(self, values: tuple[str, ...]) -> tuple[str, ...]:
        new = self[values] = tuple([self.rename[value] for value in values])
        return new

    def turn(self, turn: Turn, edits: list[Edit]) -> Turn:
        turn = edited(turn, edits) if edits else turn
        frames = tuple([self._frame(frame) for frame in turn.frames])
        return replace(turn, frames=frames) if any(map(is_not, frames, turn.frames)) else turn

    def _frame(self, frame: Frame) -> Frame:
        named, service = self.named, frame.service
        state, call, results, marked = frame.state, frame.service_call, frame.service_results, frame.spans
        changed: dict[str, Any] = {}
        if state is not None and state.slot_values:
            values = {slot: self[old] if named[service, slot] else old for slot, old in state.slot_values.items()}
            changed["state"] = replace(state, slot_values=values)
        acts = tuple([self._act(act) if named[service, act.slot] else act for act in frame.acts])
        if any(map(is_not, acts, frame.acts)):
            changed["acts"] = acts
        if call is not None:
            changed["service_call"] = replace(call, parameters=self._fields(call.parameters, service))
        if results:
            changed["service_results"] = tuple([self._fields(result, service) for result in results])
        if marked and marked[0].value is not msgspec.UNSET:
            changed["spans"] = tuple([self._span(span) if named[service, span.slot] else span for span in marked])
        return replace(frame, **changed) if changed else frame

    def _act(self, act: Act) -> Act:
        if not act.values:
            return act
        return replace(act, values=self[act.values], canonical_values=self[act.canonical_values])

    def _fields(self, fields: dict[str, Any], service: str) -> dict[str, Any]:
        """A call's or a result's fields; what nobody mentions in the dialogue keeps its name."""
        rename, named = self.rename, self.named
        return {
            slot: rename[value] if isinstance(value, str) and value in rename and named[service, slot] else value
            for slot, value in fields.items()
        }

    def _span(self, span: Span) -> Span:
        """MultiWOZ 2.2 repeats the value, or a list of them, in the span."""
        if isinstance(span.value, str):
            return replace(span, value=self.rename[span.value])
        if isinstance(span.value, list):
            return replace(span, value=[self.rename[v] if isinstance(v, str) else v for v in span.value])
        return span
