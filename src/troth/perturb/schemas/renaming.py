"""Dialogues under another schema: the same services with other names, as in SGD-X (Lee et al., 2022, §2).

A variant of a schema has the same elements in the same order, with other names and descriptions. `Renaming` has the new
name of each service, slot and intent; `rewrite_document` converts a file of dialogues to the new names, as JSON that
equals the output of SGD-X's public generator, and `original` converts predictions under a variant back. All names of a
dictionary change at once, so that exchanged names inside one service (a → b, b → a) do not collide.

Two things look like slots and are not: INFORM_INTENT and OFFER_INTENT have "intent" as slot and the name of an intent
as value (but `intent` of Homes_2 is an ordinary slot), and INFORM_COUNT has "count" as slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.names import format_count
from troth.core.records import Act, Dialogue, Frame, Intent, Schema, Service, ServiceCall, SlotSchema, Turn
from troth.readers.decode import error_context

INTENT_ACTS = frozenset({"INFORM_INTENT", "OFFER_INTENT"})
INTENT, COUNT = "intent", "count"  # what some acts have instead of a slot
ALIGN = "elements must be in the same order in both schemas"

V = TypeVar("V")


class ServiceNames(msgspec.Struct, frozen=True):
    """The new name of a service, and the new names of its slots and intents by old names."""

    service: str
    slots: dict[str, str]
    intents: dict[str, str]

    def slot(self, name: str) -> str:
        return self.slots.get(name, name)

    def intent(self, name: str) -> str:
        return self.intents.get(name, name)  # "NONE" is not an intent and does not change

    def rename_keys(self, values: Mapping[str, V]) -> dict[str, V]:
        """A dictionary by slot, with the new names. Two slots must not get the same name."""
        renamed = {self.slot(name): value for name, value in values.items()}
        if len(renamed) != len(values):
            both = next(name for name in values if name not in self.slots and name in self.slots.values())
            raise UserError(f"duplicate slot '{both}' of {self.service}", hint="it is not in the schema: remove it")
        return renamed

    def rename_predicted(self, values: Mapping[str, V]) -> dict[str, V]:
        """Like `rename_keys`, for predictions: if two slots get the same name, the one in the schema wins."""
        renamed = {self.slot(name): value for name, value in values.items()}
        if len(renamed) != len(values):
            renamed.update((self.slots[name], value) for name, value in values.items() if name in self.slots)
        return renamed

    def act(self, act: str, slot: str) -> str:
        """The slot of an act; "intent" and "count" of some acts do not change."""
        pseudo = (slot == INTENT and act in INTENT_ACTS) or (slot == COUNT and act == "INFORM_COUNT")
        return slot if pseudo else self.slot(slot)

    def values(self, act: str, slot: str, values: Sequence[str]) -> list[str]:
        return [self.intent(value) for value in values] if slot == INTENT and act in INTENT_ACTS else list(values)


class Renaming(msgspec.Struct, frozen=True):
    """The names of all services and their elements in another schema."""

    services: dict[str, ServiceNames]  # by the old name

    @classmethod
    def between(cls, old: Schema, new: Schema) -> Renaming:
        """The renaming between two schemas with the same elements in the same order."""
        if len(old) != len(new):
            raise UserError(f"the variant has {format_count(len(new), 'service')}, the original {len(old)}", hint=ALIGN)
        return cls({a.name: _names(a, b) for a, b in zip(old.values(), new.values(), strict=True)})

    def inverse(self) -> Renaming:
        """The inverse renaming: from new names to old ones."""
        services = {}
        for old, names in self.services.items():
            slots, intents = ({new: name for name, new in each.items()} for each in (names.slots, names.intents))
            services[names.service] = ServiceNames(old, slots, intents)
        return Renaming(services)

    def names(self, service: str) -> ServiceNames:
        names = self.services.get(service)
        if names is None:
            hint = suggest_name(service, self.services) or "is it the right schema?"
            raise UserError(f"service '{service}' is not in the schema", hint=hint)
        return names


def _names(old: Service, new: Service) -> ServiceNames:
    slots = _align("slot", (old.name, old.slots), (new.name, new.slots))
    intents = _align("intent", (old.name, old.intents), (new.name, new.intents))
    for a, b in zip(old.slots, new.slots, strict=True):
        if (a.is_categorical, a.possible_values) != (b.is_categorical, b.possible_values):
            what = f"slot '{a.name}' of {old.name} and '{b.name}' of {new.name} do not have the same possible values"
            raise UserError(what, hint=ALIGN)
    for x, y in zip(old.intents, new.intents, strict=True):
        if [slots.get(name, name) for name in x.required_slots] != list(y.required_slots):
            what = f"intent '{x.name}' of {old.name} and '{y.name}' of {new.name} do not require the same slots"
            raise UserError(what, hint=ALIGN)
    return ServiceNames(new.name, slots, intents)


_Elements = tuple[str, Sequence[SlotSchema | Intent]]  # a service's name, and its slots or intents


def _align(kind: str, old: _Elements, new: _Elements) -> dict[str, str]:
    """New names by old names."""
    ours, theirs = ([item.name for item in items] for _, items in (old, new))
    if len(ours) != len(theirs):
        raise UserError(f"{new[0]} has {format_count(len(theirs), kind)}, {old[0]} has {len(ours)}", hint=ALIGN)
    for service, names in ((old[0], ours), (new[0], theirs)):
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise UserError(f"{service} has two {kind}s called '{double}'", hint="names must differ")
    return dict(zip(ours, theirs, strict=True))


def elements(service: Service) -> list[SlotSchema | Intent]:
    """The slots and intents of a service, in order."""
    return [*service.slots, *service.intents]


def rewrite_document(document: Any, renaming: Renaming) -> Any:
    """A file of dialogues in SGD's layout (a list, or an object by id) under the new names: a copy, all keys kept."""
    if isinstance(document, dict):
        return {key: _dialogue(dialogue, renaming) for key, dialogue in document.items()}
    return [_dialogue(dialogue, renaming) for dialogue in document]


def _dialogue(dialogue: dict[str, Any], renaming: Renaming) -> dict[str, Any]:
    with error_context(dialogue=dialogue.get("dialogue_id")):
        changed = {}
        if "services" in dialogue:
            changed["services"] = [renaming.names(service).service for service in dialogue["services"]]
        turns = []
        for number, turn in enumerate(dialogue["turns"]):
            with error_context(turn=number):
                frames = [_frame(frame, renaming.names(frame["service"])) for frame in turn.get("frames", ())]
                turns.append({**turn, "frames": frames} if "frames" in turn else dict(turn))
    return {**dialogue, **changed, "turns": turns}


def _frame(frame: dict[str, Any], names: ServiceNames) -> dict[str, Any]:
    changed: dict[str, Any] = {"service": names.service}
    if "slots" in frame:
        changed["slots"] = [{**span, "slot": names.slot(span["slot"])} for span in frame["slots"]]
    if "actions" in frame:
        changed["actions"] = [_act(act, names) for act in frame["actions"]]
    if "state" in frame:
        changed["state"] = _state(frame["state"], names)
    if "service_call" in frame:
        call = frame["service_call"]
        parameters = names.rename_keys(call["parameters"])
        changed["service_call"] = {**call, "method": names.intent(call["method"]), "parameters": parameters}
    if "service_results" in frame:
        changed["service_results"] = [names.rename_keys(result) for result in frame["service_results"]]
    return {**frame, **changed}


def _act(act: dict[str, Any], names: ServiceNames) -> dict[str, Any]:
    kind, slot = act["act"], act.get("slot", "")
    changed: dict[str, Any] = {"slot": names.act(kind, slot)} if slot else {}
    for key in ("values", "canonical_values"):
        if key in act:
            changed[key] = names.values(kind, slot, act[key])
    return {**act, **changed}


def _state(state: dict[str, Any], names: ServiceNames) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if state.get("active_intent") is not None:
        changed["active_intent"] = names.intent(state["active_intent"])
    if state.get("requested_slots") is not None:
        changed["requested_slots"] = [names.slot(slot) for slot in state["requested_slots"]]
    if "slot_values" in state:
        changed["slot_values"] = names.rename_keys(state["slot_values"])
    return {**state, **changed}


def original(dialogue: Dialogue, renaming: Renaming) -> Dialogue:
    """A dialogue under a variant's names, for example a prediction, converted back to the original names.

    `renaming` is the one from original to variant. Names that the variant does not have stay unchanged; `unknown_names`
    lists them.
    """
    return rename_dialogue(dialogue, renaming.inverse())


def rename_dialogue(dialogue: Dialogue, renaming: Renaming) -> Dialogue:
    """Like `original`, but in the direction of the renaming: for many dialogues, call `renaming.inverse()` once."""
    services = renaming.services

    def turn(old: Turn) -> Turn:
        if not any(frame.service in services for frame in old.frames):
            return old
        frames = tuple(_rename_frame(f, services[f.service]) if f.service in services else f for f in old.frames)
        return msgspec.structs.replace(old, frames=frames)

    return msgspec.structs.replace(
        dialogue,
        services=tuple(services[name].service if name in services else name for name in dialogue.services),
        turns=tuple(map(turn, dialogue.turns)),
    )


def unknown_names(dialogue: Dialogue, schema: Iterable[Service]) -> list[str]:
    """Services, and slots and intents of states ("Hotels_11.city"), that are in a dialogue, but not in a schema."""
    known = {service.name: {item.name for item in elements(service)} for service in schema}
    unknown: dict[str, None] = {}
    for frame in (frame for turn in dialogue.turns for frame in turn.frames):
        names = known.get(frame.service)
        if names is None:
            unknown[frame.service] = None
        elif frame.state is not None:
            used = [*frame.state.slot_values, *(frame.state.requested_slots or ())]
            used += [frame.state.active_intent] if frame.state.active_intent not in (None, "", "NONE") else []
            unknown.update((f"{frame.service}.{name}", None) for name in used if name not in names)
    return list(unknown)


def _rename_frame(frame: Frame, names: ServiceNames) -> Frame:
    """Renames only fields that are present: a reader may leave out acts and calls (`read_states`)."""
    changed: dict[str, Any] = {"service": names.service}
    if frame.state is not None:
        intent, requested = frame.state.active_intent, frame.state.requested_slots
        changed["state"] = msgspec.structs.replace(
            frame.state,
            active_intent=None if intent is None else names.intent(intent),
            requested_slots=None if requested is None else tuple(names.slot(slot) for slot in requested),
            slot_values=names.rename_predicted(frame.state.slot_values),
        )
    if frame.spans:
        changed["spans"] = tuple(msgspec.structs.replace(span, slot=names.slot(span.slot)) for span in frame.spans)
    if frame.acts:
        acts = []
        for act in frame.acts:
            lists = (act.values, act.canonical_values)
            values, canonical = (tuple(names.values(act.act, act.slot, texts)) for texts in lists)
            acts.append(Act(act.act, names.act(act.act, act.slot), values, canonical))
        changed["acts"] = tuple(acts)
    if frame.service_call is not None:
        call = frame.service_call
        changed["service_call"] = ServiceCall(names.intent(call.method), names.rename_predicted(call.parameters))
    if frame.service_results is not None:
        changed["service_results"] = tuple(names.rename_predicted(result) for result in frame.service_results)
    return msgspec.structs.replace(frame, **changed)
