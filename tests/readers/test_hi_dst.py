"""Hi-DST's logs of predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from troth.core.errors import UserError

Read = Callable[..., list[Any]]


def test_small(read: Read, samples: dict[str, bytes]) -> None:
    """The predicted state is the sum of the predicted changes, and what was said is read."""
    (pair,) = read(samples["hi-dst"])
    assert pair.gold.id == pair.pred.id == "mul0001"
    assert [(turn.speaker, turn.text) for turn in pair.gold.turns] == [
        ("USER", "a room in the north"),
        ("SYSTEM", "how many nights ?"),
        ("USER", "three , and cheap"),
    ]
    gold, pred = (dict(side.user_turns()) for side in (pair.gold, pair.pred))
    assert gold[1].frames[0].state.slot_values == {"area": ("north",), "stay": ("3",), "price": ("cheap",)}
    assert pred[0].frames[0].state.slot_values == {"area": ("east",)}
    assert pred[1].frames[0].state.slot_values == {"area": ("east",), "stay": ("3",)}


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([], "the dialogue is a list, not an object"),
        ({"1": {"gt": {}, "pr_turn": {}}}, "turn 0 is missing"),
        ({"0": {"gt": {}}}, "turn 0: the turn has no 'pr_turn'"),
        ({"0": {"pr_turn": {}}}, "turn 0: the turn has no 'gt'"),
        ({"0": {"gt": {"area": "north"}, "pr_turn": {}}}, "turn 0: slot 'area' is not of the form domain-slot"),
        ({"0": {"gt": {}, "pr_turn": {"hotel-stay": 3}}}, "turn 0: slot 'hotel-stay': value 3 is a number"),
        ({"0": {"gt": {}, "pr_turn": {}, "a_usr": 3}}, "turn 0: 'a_usr' is a number, not text"),
    ],
)
def test_bad(read: Read, turns: object, says: str) -> None:
    with pytest.raises(UserError, match=f"dialogue mul0001.*{says}"):
        read({"MUL0001.json": turns}, "hi-dst")
