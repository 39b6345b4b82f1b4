"""Two states of one service compared, slot by slot, by a profile's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from troth.core.errors import PredictionError, UserError, suggest_name
from troth.core.records import Frame, Schema, Turn
from troth.text import normalize
from troth.text.mwzeval import mwzeval_value
from troth.tracking.frames import NAN
from troth.tracking.matching import MATCHERS
from troth.tracking.profiles import Profile, matches_any

DONTCARE = ("dontcare", "dont care", "do n't care", "don't care")

Values = Mapping[str, tuple[str, ...]]
MOST_VALUES = 1 << 16  # remembered per service
MOST_TURNS = 1 << 15  # of gold, remembered for the next system
EMPTY: Values = {}
GoldStates = dict[int, tuple[Turn, dict[str, "Side"]]]  # by the turn's identity; the turn is held, so that it stays one
Side = tuple[Values, Frame | None]  # a service's state as the profile has it, and the frame that it comes from


class Compared(NamedTuple):
    """Comparison of two states; the first ten fields go into a `FrameRow` unchanged."""

    joint: float
    joint_cat: float
    joint_noncat: float
    right: float
    active: int
    right_cat: float
    active_cat: float
    predicted: int
    union: int
    wrong: float
    scores: Mapping[str, float]  # of every slot that one side has; empty if the states are the same


@dataclass(slots=True)
class _Spellings:
    """Names and values of a service, as files have them, to the profile's form."""

    domain: str
    counts: bool = True  # whether any slot of it counts
    names: dict[str, str] = field(default_factory=dict)
    values: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    last: Side = (EMPTY, None)  # the last frame, normalised: readers repeat the frame of an unchanged service


class Kinds:
    """Which slots of a service are categorical, and how many there are."""

    def __init__(self, categorical: Mapping[str, bool]) -> None:
        self.categorical = categorical
        self.size = len(categorical)
        cat = sum(categorical.values())
        # A service without slots of a kind takes no part in that kind's joint accuracy.
        self.cat_part = 1.0 if cat else NAN
        self.noncat_part = 1.0 if cat < self.size else NAN


class Comparer:
    """Compares states by the rules of one profile, for the services of one schema."""

    def __init__(
        self, profile: Profile, schema: Schema | None, *, strict: bool, gold: GoldStates | None = None
    ) -> None:
        """`gold`: shared by comparers of the same profile, so that gold is normalised once for all systems."""
        self._gold: GoldStates = {} if gold is None else gold
        if profile.scope == "schema" and schema is None:
            raise UserError(f"profile {profile.name} needs the services' schema", hint="give the schema")
        self.profile, self.strict = profile, strict
        self.slots_seen: set[tuple[str, str]] = set()  # of either side, if only some slots count
        self.schema = self._restrict_schema(schema) if schema is not None and profile.is_restricted else schema
        self.ignored_slots = 0
        self._match = MATCHERS.get(profile.match)
        self._kinds: dict[str, Kinds] = {}
        self._known: dict[tuple[str, bool], _Spellings] = {}

    def service(self, name: str) -> str:
        """MultiWOZ domains in one spelling, under a normaliser; other services keep theirs."""
        lower = name.lower()
        return lower if self.profile.norm != "none" and lower in normalize.MULTIWOZ_DOMAINS else name

    def slot(self, service: str, name: str) -> str:
        """MultiWOZ slots in one spelling, under a normaliser."""
        if self.profile.norm == "none" or service not in normalize.MULTIWOZ_DOMAINS:
            return name
        return normalize.multiwoz_slot(service, name)

    def sides(self, turn: Turn, *, gold: bool = False) -> dict[str, Side]:
        """State and frame per service, names and values as the profile has them."""
        profile = self.profile
        if profile.norm == "none" and not profile.is_restricted and not (gold and profile.dontcare == "drop"):
            return {f.service: (EMPTY if f.state is None else f.state.slot_values, f) for f in turn.frames}
        if not gold:
            return self._normalized_sides(turn, gold=False)
        known = self._gold.get(id(turn))
        if known is not None and known[0] is turn:
            return known[1]
        if len(self._gold) > MOST_TURNS:
            self._gold.clear()
        sides = self._normalized_sides(turn, gold=True)
        self._gold[id(turn)] = (turn, sides)
        return sides

    def _normalized_sides(self, turn: Turn, *, gold: bool) -> dict[str, Side]:
        sides: dict[str, Side] = {}
        for frame in turn.frames:
            known = self._spellings(frame.service, gold=gold)
            if known.last[1] is not frame:
                known.last = (self._state(frame, known, gold=gold), frame)
            if not known.counts:
                continue
            earlier = sides.get(known.domain)
            sides[known.domain] = known.last if earlier is None else ({**earlier[0], **known.last[0]}, frame)
        return sides

    def _state(self, frame: Frame, known: _Spellings, *, gold: bool) -> Values:
        state: dict[str, tuple[str, ...]] = {}
        names, values_of = known.names, known.values
        for slot, values in (EMPTY if frame.state is None else frame.state.slot_values).items():
            name = names.get(slot) or names.setdefault(slot, self.slot(known.domain, slot))
            if self.profile.is_restricted:
                self.slots_seen.add((known.domain, name))
                if not self.profile.allows(known.domain, name):
                    continue
            kept = values_of.get((name, values))
            if kept is None:
                kept = values_of[name, values] = self._normalize_values(name, values, gold=gold)
            if kept:
                state[name] = kept
        return state

    def _spellings(self, service: str, *, gold: bool) -> _Spellings:
        """Cached spellings of a service's names and values: states repeat from turn to turn."""
        known = self._known.get((service, gold))
        if known is None:
            domain = self.service(service)
            known = self._known[service, gold] = _Spellings(domain, counts=self._counts_service(domain))
        elif len(known.values) > MOST_VALUES:
            known.values.clear()
        return known

    def _restrict_schema(self, schema: Schema) -> Schema:
        """The schema with the slots that count; a service without one is left out."""
        restricted: Schema = {}
        for name, service in schema.items():
            domain = self.service(name)
            self.slots_seen |= {(domain, self.slot(domain, slot.name)) for slot in service.slots}
            slots = [slot for slot in service.slots if self.profile.allows(domain, self.slot(domain, slot.name))]
            if slots:
                restricted[name] = msgspec.structs.replace(service, slots=tuple(slots))
        return restricted

    def _counts_service(self, domain: str) -> bool:
        """Whether a slot of the service may count; without a schema, its name alone tells."""
        only, without = self.profile.only, self.profile.without
        if self.schema is not None and only + without:
            return any(self.service(name) == domain for name in self.schema)
        whole = [pattern.rpartition(".")[0] or pattern for pattern in only]
        return not (only and not matches_any(domain, "", whole)) and not matches_any(domain, "*", without)

    def _normalize_values(self, slot: str, values: tuple[str, ...], *, gold: bool) -> tuple[str, ...]:
        """The values that count, in the normaliser's form."""
        norm = self.profile.norm
        if norm != "none":
            predicted_none = not gold and self.profile.none == "value"
            values = tuple(v for v in values if not normalize.is_empty(v) or (predicted_none and v == "none"))
        if norm == "checkdst":
            mapped = (normalize.checkdst_value(value) for value in values)
            values = tuple(value for value in mapped if value is not None)
        elif norm == "mwzeval":
            values = tuple(mwzeval_value(slot, value) for value in values)
        if gold and self.profile.dontcare == "drop":
            values = tuple(value for value in values if value not in DONTCARE)
        return values

    def compare(self, gold: Values, pred: Values, service: str) -> Compared:
        kinds = self.kinds(service)
        if gold == pred and all(gold.values()):  # most states are simply right
            count = len(gold)
            if kinds is None:
                return Compared(1.0, NAN, NAN, count, count, NAN, NAN, count, count, 0.0, {})
            cat = 0
            for slot in gold:
                if kinds.categorical.get(slot) or self._kind(slot, service, kinds.categorical, gold=True):
                    cat += 1
            slots = (count, count, cat, cat, count, count)
            return Compared(1.0, kinds.cat_part, kinds.noncat_part, *slots, 0.0, {})
        compared = self._slot_by_slot(gold, pred, service, kinds.categorical if kinds else None)
        if kinds is None:
            return compared._replace(joint_cat=NAN, joint_noncat=NAN, right_cat=NAN, active_cat=NAN)
        joints = compared.joint_cat * kinds.cat_part, compared.joint_noncat * kinds.noncat_part
        return compared._replace(joint_cat=joints[0], joint_noncat=joints[1])

    def _slot_by_slot(self, gold: Values, pred: Values, service: str, typed: Mapping[str, bool] | None) -> Compared:
        """Only slots that one side has can be wrong, so only they are looked at."""
        joint = joint_cat = joint_noncat = 1.0
        right = right_cat = wrong = 0.0
        active_cat = predicted = 0
        scores: dict[str, float] = {}
        for slot, values in gold.items():
            categorical = self._kind(slot, service, typed, gold=True)
            guess = pred.get(slot)
            # Equal is right under every matcher; comparing sets takes more than the first value.
            predicted += guess is not None
            if guess is None:
                score = 0.0
            elif guess == values and values:
                score = 1.0
            else:
                score = self._value(values, guess, categorical)
            scores[slot] = score
            right += score
            wrong += 1.0 - score
            joint *= score
            if categorical:
                active_cat += 1
                right_cat += score
                joint_cat *= score
            else:
                joint_noncat *= score
        for slot in pred:
            if slot in gold:
                continue
            categorical = self._kind(slot, service, typed, gold=False)
            if categorical is None:
                continue
            scores[slot] = joint = 0.0
            wrong += 1.0
            predicted += 1
            if categorical:
                joint_cat = 0.0
            else:
                joint_noncat = 0.0
        counts = (right, len(gold), right_cat, active_cat, predicted, len(scores))
        return Compared(joint, joint_cat, joint_noncat, *counts, wrong, scores)

    def _value(self, gold: tuple[str, ...], pred: tuple[str, ...], categorical: bool | None) -> float:
        if not gold or not pred:
            return float(not gold and not pred)
        profile = self.profile
        if profile.values == "set":
            return float(set(gold) == set(pred))
        first = pred[0]
        if categorical and profile.typed == "yes":
            return float(self.equal(gold[0], first))
        if self._match is None:
            raise UserError(f"profile {profile.name} has no way to compare values", hint="choose another profile")
        if profile.values == "first":
            return self._match(gold[0], first)
        return max(self._match(value, first) for value in gold)

    def equal(self, gold: str, pred: str) -> bool:
        """Whether two categorical values, or two intents, are the same under the profile's rule about letter case."""
        return gold == pred or (self.profile.case == "ignore" and gold.lower() == pred.lower())

    def is_local(self, was: tuple[Values, Values], now: tuple[Values, Values], scores: Mapping[str, float]) -> bool:
        """Line 10 of FGA's algorithm 1: gold's changes are in the prediction and the predicted changes in gold."""
        for slot, values in now[0].items():
            if scores[slot] != 1.0 and self._has_changed(was[0].get(slot), values):
                return False
        for slot, values in now[1].items():
            if scores.get(slot, 1.0) == 1.0:  # right, or outside the schema and ignored
                continue
            old = was[1].get(slot)
            if old is None or (set(old) != set(values) if self.profile.values == "set" else old[:1] != values[:1]):
                return False
        return True

    def _has_changed(self, old: tuple[str, ...] | None, new: tuple[str, ...]) -> bool:
        """Whether gold's value has changed. A further wording of the same value (SGD lists them) is not a change."""
        if old is None:
            return True
        if self.profile.values == "all":
            return not any(value in old for value in new)
        return set(old) != set(new) if self.profile.values == "set" else old[:1] != new[:1]

    def kinds(self, service: str) -> Kinds | None:
        """The slots of a service; None without a schema."""
        if self.schema is None:
            return None
        kinds = self._kinds.get(service)
        if kinds is None:
            if service not in self.schema and self.profile.scope == "schema":
                raise self._no_service(service)
            slots = self.schema[service].slots if service in self.schema else ()
            kinds = self._kinds[service] = Kinds({self.slot(service, s.name): s.is_categorical for s in slots})
        return kinds

    def _kind(self, slot: str, service: str, typed: Mapping[str, bool] | None, *, gold: bool) -> bool | None:
        """Whether a slot is categorical; None for a predicted slot that is to be ignored."""
        if typed is None:
            return False
        categorical = typed.get(slot)
        if categorical is None:
            if self.profile.scope == "state":
                return False
            if gold or self.strict:
                hint = suggest_name(slot, typed) or "known: " + ", ".join(sorted(typed))
                what = f"slot '{slot}' is not in the schema of {service}"
                if gold:
                    raise UserError(what, hint=hint)
                raise PredictionError(what, hint=f"{hint}; unknown=ignore leaves such slots out")
            self.ignored_slots += 1
        return categorical

    def check_service(self, service: str) -> None:
        """A service that gold's turn lacks is ignored; one that no schema knows is a mistake in the file."""
        if self.strict and self.schema is not None and service not in self.schema:
            raise self._no_service(service, PredictionError)

    def _no_service(self, service: str, kind: type[UserError] = UserError) -> UserError:
        known = self.schema or {}
        hint = suggest_name(service, known) or "known: " + ", ".join(sorted(known))
        return kind(f"service '{service}' is not in the schema", hint=hint)
