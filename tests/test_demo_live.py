"""The dialogues that the embedded trackers follow in the demo: made by `tests.demo_live`, and rightly annotated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.demo_live.__main__ import files
from tests.demo_live.simulator import FEWEST, MOST, NUMBERS
from troth import demo
from troth.core.records import Dialogue, Frame, Service, Turn
from troth.demo import run as runner
from troth.demo.lines import VARIANTS
from troth.tracking.check import check

FILES = ("live/dialogues_001.json", "live/schema.json", "wordings/live.json")
DIALOGUES, SCHEMA, WORDINGS = (Path(demo.path(name)).read_bytes() for name in FILES)
LIVE = msgspec.json.decode(DIALOGUES, type=list[Dialogue])
SERVICES = {service.name: service for service in msgspec.json.decode(SCHEMA, type=list[Service])}
CLOSED = {(name, slot.name): slot.possible_values for name, one in SERVICES.items() for slot in one.slots}
HELD = {
    (name, slot)
    for name, service in SERVICES.items()
    for intent in service.intents
    for slot in (*intent.required_slots, *intent.optional_slots)
}
TOLD = ("INFORM", "OFFER", "CONFIRM")  # acts that give values of slots
ANY = "dontcare"


def frames() -> Iterator[tuple[Dialogue, Turn, Frame]]:
    for dialogue in LIVE:
        for turn in dialogue.turns:
            (frame,) = turn.frames
            yield dialogue, turn, frame


def test_the_simulator_makes_the_bundled_files() -> None:
    made = files()
    assert set(made) == set(FILES)
    for name, data in made.items():
        assert Path(demo.path(name)).read_bytes() == data, f"{name}: run python -m tests.demo_live"


def test_size_and_variety() -> None:
    assert len(LIVE) >= 60
    assert len(DIALOGUES) < 600_000
    assert len(SERVICES) >= 5
    assert {name for dialogue in LIVE for name in dialogue.services} == SERVICES.keys()
    assert sum(len(dialogue.services) > 1 for dialogue in LIVE) >= 8
    assert len({dialogue.id for dialogue in LIVE}) == len(LIVE)
    texts = [tuple(turn.text for turn in dialogue.turns) for dialogue in LIVE]
    assert len(set(texts)) == len(texts)
    said = [turn.text for dialogue in LIVE for _, turn in dialogue.user_turns()]
    assert len(set(said)) > len(said) / 2
    acts = {act.act for _, turn, frame in frames() if turn.speaker == "USER" for act in frame.acts}
    assert acts == {
        "INFORM", "INFORM_INTENT", "REQUEST", "REQUEST_ALTS", "SELECT", "AFFIRM", "NEGATE", "THANK_YOU",
    }  # fmt: skip
    assert any(act.values == (ANY,) for _, _, frame in frames() for act in frame.acts)


def test_turns() -> None:
    for dialogue in LIVE:
        assert [turn.speaker for turn in dialogue.turns] == ["USER", "SYSTEM"] * (len(dialogue.turns) // 2)
        assert FEWEST <= len(dialogue.turns) // 2 <= MOST
        for turn in dialogue.turns:
            assert re.fullmatch(r"[A-Z0-9].*[.?!]", turn.text), turn.text
            assert not re.search(r"[{}\[\]|~=]|  | [.,?!]|\b(\w+) \1\b", turn.text), turn.text


def test_spans_stand_on_the_values_of_the_acts() -> None:
    for dialogue, turn, frame in frames():
        spans = sorted((span.slot, turn.text[span.start : span.exclusive_end]) for span in frame.spans or ())
        told = [(act.slot, value) for act in frame.acts if act.act in TOLD for value in act.values]
        open_values = sorted((s, v) for s, v in told if not CLOSED[frame.service, s] and v != ANY)
        assert spans == open_values, (dialogue.id, turn.text)
        for slot, value in told:
            possible = CLOSED[frame.service, slot]
            assert not possible or value in (*possible, ANY), (dialogue.id, slot, value)


def test_the_system_says_the_values_that_it_gives() -> None:
    for dialogue, turn, frame in frames():
        for act in frame.acts if turn.speaker == "SYSTEM" else ():
            assert act.act != "REQUEST" or act.slot in {s for name, s in HELD if name == frame.service}
            for value in act.values:
                assert value in turn.text or NUMBERS[value] in turn.text.lower(), (dialogue.id, turn.text, value)


def test_states_follow_from_what_was_said() -> None:
    """What is new in a state is told in the turn, accepted, or the value of another service that the user refers to."""
    carried = 0
    for dialogue in LIVE:
        states: dict[str, dict[str, str]] = {}
        offered: dict[str, str] = {}
        for turn in dialogue.turns:
            (frame,) = turn.frames
            values = {act.slot: act.values[0] for act in frame.acts if act.act in TOLD}
            if turn.speaker == "SYSTEM":
                offered = {a.slot: a.values[0] for a in frame.acts if a.act == "OFFER"} or offered
                continue
            assert frame.state is not None
            before = states.get(frame.service, {})
            state = {slot: value for slot, (value,) in frame.state.slot_values.items()}
            known = before | values
            if any(act.act == "SELECT" for act in frame.acts):
                known = before | {s: v for s, v in offered.items() if (frame.service, s) in HELD} | values
            rest = state.items() - known.items()
            assert known.items() <= state.items(), (dialogue.id, turn.text)
            other = {value for name, one in states.items() if name != frame.service for value in one.values()}
            assert {value for _, value in rest} <= other, (dialogue.id, turn.text, rest)
            carried += bool(rest)
            assert {(frame.service, slot) for slot in state} <= HELD
            asked = sorted(act.slot for act in frame.acts if act.act == "REQUEST")
            assert list(frame.state.requested_slots or ()) == asked
            states[frame.service] = state
    assert carried >= 5


def test_intents_follow_from_the_acts() -> None:
    for dialogue in LIVE:
        active = ""
        for turn in dialogue.turns:
            (frame,) = turn.frames
            if frame.state is None:
                continue
            named = [act.values[0] for act in frame.acts if act.act == "INFORM_INTENT"]
            acts = {act.act for act in frame.acts}
            is_over = "THANK_YOU" in acts and "AFFIRM" not in acts
            active = named[0] if named else "NONE" if is_over else active
            assert frame.state.active_intent == active
            assert active in {"NONE", *(intent.name for intent in SERVICES[frame.service].intents)}


def test_confirmations_repeat_the_state() -> None:
    for dialogue in LIVE:
        for user, system in zip(dialogue.turns[::2], dialogue.turns[1::2], strict=True):
            confirmed = {act.slot: act.values for act in system.frames[0].acts if act.act == "CONFIRM"}
            state = user.frames[0].state
            assert state is not None
            assert confirmed.items() <= state.slot_values.items(), (dialogue.id, system.text)


def test_gold_passes_the_check() -> None:
    checked = check(demo.path("live"))
    assert (checked.dialogues, checked.unscored, checked.findings) == (len(LIVE), 0, [])


def test_wordings_cover_the_schema() -> None:
    wordings = msgspec.json.decode(WORDINGS)
    assert list(wordings) == list(SERVICES)
    for name, service in SERVICES.items():
        mine = wordings[name]
        slots, intents = mine["slots"], mine["intents"]
        assert list(slots) == [slot.name for slot in service.slots]
        assert list(intents) == [intent.name for intent in service.intents]
        lists = [mine["descriptions"], *(s[kind] for s in slots.values() for kind in ("names", "descriptions"))]
        lists += [intent["names"] for intent in intents.values()]
        assert {len(set(texts)) for texts in lists} == {VARIANTS}
        for number in range(VARIANTS):  # names that stay apart
            assert len({slot["names"][number] for slot in slots.values()}) == len(slots)


def test_every_perturbation_finds_much_to_change(tmp_path: Path) -> None:
    for label, folder in runner.write_twins(runner.LIVE, tmp_path / "twins").items():
        twins = msgspec.json.decode((folder / "dialogues_001.json").read_bytes(), type=list[Dialogue])
        turns = [
            (before.text, after.text)
            for dialogue, twin in zip(LIVE, twins, strict=True)
            for (_, before), (_, after) in zip(dialogue.user_turns(), twin.user_turns(), strict=True)
        ]
        changed = sum(before != after for before, after in turns)
        assert changed > len(turns) / 5, label
