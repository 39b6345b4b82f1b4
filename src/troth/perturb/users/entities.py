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
from troth.perturb.users.edit import Edit, edited, spans
from troth.perturb.users.names import LETTERS, ListedNames, MixedNames, ScrambledNames, SpokenNames
from troth.perturb.users.values import (
    NO_VALUE,
    AnnotatedValues,
    Claims,
    Key,
    Shields,
    annotated_values,
    begins_sentence,
    find_words,
    lost_values,
    to_lower,
)
from troth.text.normalize import is_named_entity

SCRAMBLED: dict[str, type[ScrambledNames]] = {"words": ScrambledNames, "name": MixedNames, "spoken": SpokenNames}
LOST = "a value could no longer be found in the text"
OVERLAP = "spans are outside the text or overlap partly"
UNSAID = "a name in the state does not stand in the text"


class Entities(Family, frozen=True):
    """Named entities under names that no training set has: scrambled letters, or names of your own (CheckDST's NED)."""

    slots: Annotated[
        tuple[str, ...], flag("NAMES", "Slots with names, comma-separated: slot or service.slot.")
    ] = ()  # none: the usual ones
    names: Annotated[tuple[str, ...], flag("FILE", "Names to give in place of scrambled letters, one per line.")] = ()
    scramble: Annotated[
        Literal["words", "name", "spoken"],
        flag("HOW", "Scramble letters within words (words) or across a name (name), or make up words (spoken)."),
    ] = "words"

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        """The dialogue with other names, or unchanged if text and annotation would no longer fit."""
        named = _named(self.slots, inventory.categorical)
        annotated = annotated_values(dialogue)
        own_names: set[str] = set()
        others: set[str] = set()
        for value_set in annotated:
            for service, (slot, values) in value_set:
                (own_names if named[service, slot] else others).update(values)
        if not own_names:
            return Twin(dialogue, ())
        # Sorted: words are scrambled in the order of first use, and the order of a set differs between processes.
        names = sorted(own_names - NO_VALUE)
        fixed = [low for low in map(str.lower, others) if low != low.upper() and low not in NO_VALUE]  # has letters
        if self.names:
            rename: ScrambledNames = ListedNames(rng, inventory.known, fixed, self.names)
        else:
            rename = SCRAMBLED[self.scramble](rng, inventory.known, fixed)
        rename.assign(names)
        edits = _edits(dialogue, named, rename, names)
        if edits is None:
            return Twin(dialogue, (), refused={OVERLAP: len(dialogue.turns)})
        _assign_canonical(dialogue, named, rename)
        renamed = _Renamed(named, rename)
        turns = [renamed.turn(turn, turn_edits) for turn, turn_edits in zip(dialogue.turns, edits, strict=True)]
        after = replace(dialogue, turns=tuple(turns))
        changed = [i for i, (old, new) in enumerate(zip(dialogue.turns, turns, strict=True)) if old.text != new.text]
        reason = _find_inconsistency(dialogue, after, annotated, renamed)
        if reason is not None:
            return Twin(dialogue, (), refused={reason: len(changed) or 1})
        count = sum([rename[name] != name for name in names])
        return Twin(after, tuple(changed), figures={"names": len(names), "names_changed": count})


class _Named(dict[Key, bool]):
    """Whether a slot has names as values; a slot with a closed list of values does not."""

    def __init__(self, slots: tuple[str, ...], categorical: frozenset[str]) -> None:
        super().__init__()
        self.listed, self.categorical = frozenset(slots) if slots else None, categorical

    def __missing__(self, key: Key) -> bool:
        self[key] = is_named_entity(*key, self.listed) and ".".join(key) not in self.categorical
        return self[key]


_named = lru_cache(maxsize=4)(_Named)  # the same for all dialogues of a corpus


def _assign_canonical(dialogue: Dialogue, named: _Named, rename: ScrambledNames) -> None:
    """Assigns new names to canonical values, before calls and results: a result may come before its act."""
    acts = [(frame.service, act) for turn in dialogue.turns for frame in turn.frames for act in frame.acts]
    canonical = [act.canonical_values for service, act in acts if act.values and named[service, act.slot]]
    for value in sorted(set[str]().union(*canonical) - NO_VALUE):
        rename[value]


def _find_inconsistency(before: Dialogue, after: Dialogue, annotated: AnnotatedValues, renamed: _Renamed) -> str | None:
    """The reason why text and states no longer fit; None if they do."""
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
            return UNSAID  # annotated differently than written: it would change in the state, but not in the text
    return LOST if doubt and lost_values(before, after) else None


def _edits(dialogue: Dialogue, named: _Named, rename: ScrambledNames, names: Sequence[str]) -> list[list[Edit]] | None:
    """The edits of each turn's text; None if spans overlap, so that no edit is possible."""
    edits: list[list[Edit]] = []
    rest: list[str] = []  # text outside of spans of names
    for turn in dialogue.turns:
        text, at = turn.text, 0
        marked = [s for f in turn.frames for s in f.spans or () if s.start >= 0 and named[f.service, s.slot]]
        if not all(span.start <= span.exclusive_end <= len(text) for span in marked):
            return None
        if marked and any(b[0] < a[1] and a != b for a, b in pairwise(spans(turn))):
            return None
        marked_edits = {Edit(s.start, s.exclusive_end, rename[text[s.start : s.exclusive_end]]) for s in marked}
        edits.append(sorted(marked_edits))  # a set: two services may mark the same words
        for start, end, _ in edits[-1]:
            rest.append(text[at:start])
            at = end
        rest.append(text[at:])
    said = to_lower("\n".join(rest))
    left = {low for name in names if (low := to_lower(name)) in said and rename[name] != name}
    if left:
        _add_unmarked(dialogue, named, rename, sorted(left, key=lambda low: (-len(low), low)), edits)
    return edits


def _add_unmarked(
    dialogue: Dialogue, named: _Named, rename: ScrambledNames, names: Sequence[str], edits: Sequence[list[Edit]]
) -> None:
    """Adds edits for names without a span, the longest first."""
    before: set[str] = set()
    for turn, turn_edits in zip(dialogue.turns, edits, strict=True):
        text = to_lower(turn.text)
        here = _unmarked_names(turn, named, before)
        marked, claims = Shields(spans(turn)), Claims()
        # Another value inside the name stays readable; a name that only overlaps another value is skipped.
        fixed = Shields(span for value in rename.fixed if value in text for span in find_words(text, value))
        for low in names:
            for start, end in find_words(text, low):
                if marked.touch(start, end) or fixed.touch(start, start) or fixed.touch(end, end):
                    continue
                if (low in here or _is_name(turn.text, start, low)) and claims.add(start, end):
                    turn_edits.append(Edit(start, end, rename[turn.text[start:end]]))


def _unmarked_names(turn: Turn, named: _Named, before: set[str]) -> set[str]:
    """Names of the turn's acts, or new in its state, without a span: an ordinary word may refer to them."""
    names: set[str] = set()
    for frame in turn.frames:
        for act in frame.acts:
            if act.values and named[frame.service, act.slot]:
                names.update(map(to_lower, act.values))
        if frame.state is not None and frame.spans is None:  # if there are spans, they are the annotation
            for slot, values in frame.state.slot_values.items():
                if named[frame.service, slot]:
                    new = set(map(to_lower, values)) - before
                    before |= new
                    names |= new
    return names - {to_lower(turn.text[start:end]) for start, end in spans(turn)}


def _is_name(text: str, start: int, low: str) -> bool:
    """Whether words are a name: unusual words, or ordinary ones with a capital inside a sentence."""
    if not lexicon.word_set("common").issuperset(LETTERS.findall(low)):
        return True
    return text[start].isupper() and not begins_sentence(text, start, "\"'(")


class _Renamed(dict[tuple[str, ...], tuple[str, ...]]):
    """New names of values by their alternatives; it also renames frames with such values."""

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
        acts = tuple([self._act(act) if act.values and named[service, act.slot] else act for act in frame.acts])
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
        return replace(act, values=self[act.values], canonical_values=self[act.canonical_values])

    def _fields(self, fields: dict[str, Any], service: str) -> dict[str, Any]:
        """The fields of a call or a result; names that the dialogue does not mention stay unchanged."""
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
