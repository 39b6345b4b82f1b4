"""mwzeval's normaliser: every value that the public script changes on two systems, and a table of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troth.text.mwzeval import mwzeval_slot, mwzeval_value


def test_every_value_that_the_script_changes(shared: Path) -> None:
    """The keys of `changed_values` are mwzeval's own slot names; what is not listed there stayed as it was."""
    golden = json.loads((shared / "golden/mwzeval_dev.json").read_bytes())["changed_values"]
    changed = [(slot, value, form) for slot, values in golden.items() for value, form in values.items()]
    assert len(changed) > 60
    for slot, value, form in changed:
        assert mwzeval_value(slot, value) == form, (slot, value)
    for system in ("pptod", "soloist"):
        for turns in json.loads((shared / f"data/mwzeval/{system}.json").read_bytes()).values():
            for state in (turn.get("state", {}) for turn in turns):
                for slot, value in (pair for slots in state.values() for pair in slots.items()):
                    expected = golden.get(mwzeval_slot(slot), {}).get(value, value)
                    assert mwzeval_value(slot, value) == expected, (slot, value)


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        ("arriveBy", "arrive"),
        ("arrive by", "arrive"),
        ("Leave At", "leave"),
        ("leave", "leave"),
        ("Price Range", "pricerange"),
        ("book time", "booktime"),
        ("name", "name"),
    ],
)
def test_slots(slot: str, expected: str) -> None:
    assert mwzeval_slot(slot) == expected


@pytest.mark.parametrize(
    ("slot", "value", "expected"),
    [
        ("leave", "1800", "18:00"),
        ("leaveAt", "18 : 00", "18:00"),
        ("arrive by", "6pm", "18:00"),
        ("time", "6:15 p.m.", "18:15"),
        ("time", "after 18:00", "18:00"),
        ("time", "afer 9:05", "09:05"),
        ("time", "by 9:15", "09:15"),
        ("time", "9:15 a.m.", "09:15"),
        ("time", "7", "07:00"),
        ("time", "17:30?", "17:30"),
        ("time", " Morning ", "08:00"),
        ("time", "lunch", "12:00"),
        ("time", "one o'clock p.m. please", "13:00"),
        ("time", "", "00:00"),
        ("time", "whenever", "whenever"),
        # Faults of the script that its numbers rest on.
        ("time", "12:30pm", "24:30"),
        ("time", "929", "929:00"),
        ("time", "1:2:", "01:2"),
        # The script stops with an error here; the text is kept.
        ("time", "ab:cd pm", "ab:cd"),
        ("time", "² pm", "0²:00"),
        ("book time", "1800", "1800"),
        ("parking", "free", "yes"),
        ("internet", "free", "yes"),
        ("parking", "no", "no"),
        ("area", "free", "free"),
        ("food", " Portugese", "portuguese"),
        ("food", "english", "british"),
        ("type", "guest house", "guesthouse"),
        ("type", "Guest House", "Guest House"),
        ("name", "Rosa 's", "rosas bed and breakfast"),
        ("destination", "the junction", "junction theatre"),
        ("departure", "Bed&Breakfast", "bed and breakfast"),
        ("name", "a & b", "a and b"),
    ],
)
def test_values(slot: str, value: str, expected: str) -> None:
    assert mwzeval_value(slot, value) == expected
