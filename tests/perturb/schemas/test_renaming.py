"""Dialogues under another schema: the public generator's output by hash, and the traps by hand."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, Intent, Schema, Service, SlotSchema, State, Turn
from troth.perturb.schemas.renaming import Renaming, original, rename_dialogue, rewrite_document, unknown_names

VARIANTS = ("v1", "v2", "v3", "v4", "v5")


def schema(*services: Service) -> Schema:
    return {service.name: service for service in services}


def service(name: str, slots: list[str], intents: list[str]) -> Service:
    return Service(name, "", tuple(SlotSchema(slot) for slot in slots), tuple(Intent(intent) for intent in intents))


HOMES = schema(service("Homes_2", ["intent", "area"], ["FindHome", "Visit"]))
HOMES_1 = schema(service("Homes_21", ["purpose", "intent"], ["Visit", "FindHome"]))  # the intents swap, too


def homes() -> Any:
    return {
        "dialogue_id": "1_0",
        "services": ["Homes_2"],
        "extra": {"kept": [1]},
        "turns": [
            {
                "speaker": "USER",
                "utterance": "a flat to rent",
                "frames": [
                    {
                        "service": "Homes_2",
                        "slots": [{"slot": "intent", "start": 10, "exclusive_end": 14}],
                        "actions": [
                            {"act": "INFORM_INTENT", "slot": "intent", "values": ["FindHome"], "canonical_values": []},
                            {"act": "INFORM", "slot": "intent", "values": ["Visit"], "canonical_values": ["rent"]},
                            {"act": "INFORM_COUNT", "slot": "count", "values": ["2"]},
                            {"act": "SELECT", "slot": ""},
                        ],
                        "state": {
                            "active_intent": "FindHome",
                            "requested_slots": ["area", "intent"],
                            "slot_values": {"intent": ["rent"], "area": ["Leeds"]},
                        },
                        "service_call": {"method": "Visit", "parameters": {"area": "Leeds", "intent": "rent"}},
                        "service_results": [{"area": "Leeds", "intent": "rent", "odd": "x"}],
                    }
                ],
            }
        ],
    }


@pytest.mark.shared
@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_public_generator(shared: Path, variant: str) -> None:
    golden = json.loads((shared / "golden/sgdx_dev.json").read_bytes())["values"][variant]
    data = shared / "data/sgd"
    old = readers.schema(str(data / "dev/schema.json"))
    renaming = Renaming.between(old, readers.schema(str(data / f"sgd_x/data/{variant}/dev/schema.json")))
    assert len(golden) == 17
    for name, digest in golden.items():
        dialogues = msgspec.json.decode((data / "dev" / name).read_bytes())
        made = rewrite_document(dialogues, renaming)
        text = json.dumps(made, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest, name
        assert rewrite_document(made, renaming.inverse()) == dialogues


@pytest.mark.shared
@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_public_schemas_align(shared: Path, split: str, variant: str) -> None:
    data = shared / "data/sgd"
    old = readers.schema(str(data / split / "schema.json"))
    renaming = Renaming.between(old, readers.schema(str(data / f"sgd_x/data/{variant}/{split}/schema.json")))
    assert {name: names.service for name, names in renaming.services.items()} == {
        name: name + variant[1] for name in old
    }


def test_traps_of_homes_and_swaps() -> None:
    given, before = [homes()], copy.deepcopy([homes()])
    (made,) = rewrite_document(given, Renaming.between(HOMES, HOMES_1))
    assert given == before, "the input is left alone"
    assert (made["services"], made["extra"]) == (["Homes_21"], {"kept": [1]})
    frame = made["turns"][0]["frames"][0]
    assert frame["slots"] == [{"slot": "purpose", "start": 10, "exclusive_end": 14}]
    intent, inform, count, select = frame["actions"]
    assert intent == {"act": "INFORM_INTENT", "slot": "intent", "values": ["Visit"], "canonical_values": []}
    assert inform == {"act": "INFORM", "slot": "purpose", "values": ["Visit"], "canonical_values": ["rent"]}
    assert (count["slot"], select["slot"]) == ("count", "")
    assert frame["state"] == {
        "active_intent": "Visit",
        "requested_slots": ["intent", "purpose"],
        "slot_values": {"purpose": ["rent"], "intent": ["Leeds"]},
    }
    assert frame["service_call"] == {"method": "FindHome", "parameters": {"intent": "Leeds", "purpose": "rent"}}
    assert frame["service_results"] == [{"intent": "Leeds", "purpose": "rent", "odd": "x"}]


def test_names_that_swap_places_do_not_collide() -> None:
    swap = Renaming.between(schema(service("S", ["a", "b"], [])), schema(service("S1", ["b", "a"], [])))
    dialogue = {"turns": [{"frames": [{"service": "S", "state": {"slot_values": {"a": ["1"], "b": ["2"]}}}]}]}
    (made,) = rewrite_document([dialogue], swap)
    assert made["turns"][0]["frames"][0]["state"]["slot_values"] == {"b": ["1"], "a": ["2"]}


def test_none_stays_and_files_by_id_keep_their_keys() -> None:
    dialogue = homes()
    dialogue["turns"][0]["frames"][0]["state"]["active_intent"] = "NONE"
    made = rewrite_document({"1_0": dialogue}, Renaming.between(HOMES, HOMES_1))
    assert list(made) == ["1_0"]
    assert made["1_0"]["turns"][0]["frames"][0]["state"]["active_intent"] == "NONE"


def test_a_slot_outside_the_schema_is_kept_unless_it_collides() -> None:
    renaming = Renaming.between(schema(service("S", ["a"], [])), schema(service("S1", ["b"], [])))
    frame = {"service": "S", "state": {"slot_values": {"a": ["1"], "c": ["2"]}}}
    (made,) = rewrite_document([{"turns": [{"frames": [frame]}]}], renaming)
    assert made["turns"][0]["frames"][0]["state"]["slot_values"] == {"b": ["1"], "c": ["2"]}
    frame["state"] = {"slot_values": {"a": ["1"], "b": ["2"]}}
    with pytest.raises(UserError, match=r"dialogue d, turn 0: duplicate slot 'b' of S1"):
        rewrite_document([{"dialogue_id": "d", "turns": [{"frames": [frame]}]}], renaming)


def test_an_unknown_service_is_told_with_its_place() -> None:
    with pytest.raises(UserError, match=r"dialogue 1_0: service 'Homes_2' is not in the schema"):
        rewrite_document([homes()], Renaming({}))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ([], "the variant has 0 services, the original 1"),
        ([service("H", ["a"], ["F", "V"])], "H has 1 slot, Homes_2 has 2"),
        ([service("H", ["a", "b"], ["F"])], "H has 1 intent, Homes_2 has 2"),
        ([service("H", ["a", "a"], ["F", "V"])], "H has two slots called 'a'"),
        (
            [Service("H", "", (SlotSchema("a", "", True, ("x",)), SlotSchema("b")), (Intent("F"), Intent("V")))],
            "do not have the same possible values",
        ),
        (
            [Service("H", "", (SlotSchema("a"), SlotSchema("b")), (Intent("F", "", False, ("a",)), Intent("V")))],
            "do not require the same slots",
        ),
    ],
)
def test_schemas_that_do_not_align(new: list[Service], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Renaming.between(HOMES, schema(*new))


def predicted(slots: dict[str, tuple[str, ...]], intent: str = "Visit", service: str = "Homes_21") -> Dialogue:
    acts = (Act("INFORM_INTENT", "intent", ("Visit",)), Act("INFORM", "purpose", ("rent",)))
    frame = Frame(service, State(intent, ("purpose",), slots), acts=acts)
    return Dialogue("1_0", (Turn("USER", "", (frame,)), Turn("SYSTEM")), (service,))


def test_predictions_come_back() -> None:
    back = original(predicted({"purpose": ("rent",), "intent": ("Leeds",)}), Renaming.between(HOMES, HOMES_1))
    (frame,) = back.turns[0].frames
    assert (back.services, frame.service) == (("Homes_2",), "Homes_2")
    assert frame.state == State("FindHome", ("intent",), {"intent": ("rent",), "area": ("Leeds",)})
    assert frame.acts == (Act("INFORM_INTENT", "intent", ("FindHome",)), Act("INFORM", "intent", ("rent",)))


def test_unknown_names_stay_and_known_ones_win() -> None:
    renaming = Renaming.between(HOMES, HOMES_1)
    odd = predicted({"area": ("York",), "intent": ("Leeds",), "odd": ("x",)}, intent="NONE")
    state = original(odd, renaming).turns[0].frames[0].state
    assert state == State("NONE", ("intent",), {"area": ("Leeds",), "odd": ("x",)})
    assert unknown_names(odd, HOMES_1.values()) == ["Homes_21.area", "Homes_21.odd"]
    other = predicted({"a": ("b",)}, service="Elsewhere")
    assert original(other, renaming) == other
    assert unknown_names(other, HOMES_1.values()) == ["Elsewhere"]


def test_records_without_acts_can_be_renamed() -> None:
    old = readers.schema_beside(demo.path("gold"))
    assert old is not None
    new = schema(
        *(
            service(s.name + "1", ["new_" + slot.name for slot in s.slots], ["New" + i.name for i in s.intents])
            for s in old.values()
        )
    )
    plain = schema(*(service(s.name, [x.name for x in s.slots], [x.name for x in s.intents]) for s in old.values()))
    there = Renaming.between(plain, new)
    for _, dialogues in readers.batches(demo.path("gold"), states_only=True):
        for dialogue in dialogues:
            assert isinstance(dialogue, object)
            assert rename_dialogue(rename_dialogue(dialogue, there), there.inverse()) == dialogue  # type: ignore[arg-type]


names = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True)


@given(st.data(), names)
def test_there_and_back_is_where_it_was(data: st.DataObject, slots: list[str]) -> None:
    others = data.draw(st.lists(st.sampled_from("abcdefghij"), min_size=len(slots), max_size=len(slots), unique=True))
    renaming = Renaming.between(schema(service("S", slots, ["I", "J"])), schema(service("S1", others, ["J", "I"])))
    values = data.draw(st.dictionaries(st.sampled_from(slots), st.lists(st.text(max_size=3), max_size=2)))
    frame = {
        "service": "S",
        "slots": [{"slot": slot, "start": 0} for slot in values],
        "actions": [{"act": "OFFER_INTENT", "slot": "intent", "values": ["I"]}, {"act": "REQUEST", "slot": slots[0]}],
        "state": {"active_intent": "J", "requested_slots": list(values), "slot_values": values},
        "service_results": [dict.fromkeys(values, "x")],
    }
    document = [{"dialogue_id": "d", "services": ["S"], "turns": [{"speaker": "USER", "frames": [frame]}]}]
    before = copy.deepcopy(document)
    made = rewrite_document(document, renaming)
    assert document == before
    assert rewrite_document(made, renaming.inverse()) == before
    assert set(made[0]["turns"][0]["frames"][0]["state"]["slot_values"]) == {
        renaming.services["S"].slot(s) for s in values
    }
