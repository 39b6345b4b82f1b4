"""Our own JSONL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, Pair, State, Turn

Read = Callable[..., list[Any]]


def test_small(read: Read, samples: dict[str, bytes]) -> None:
    assert read(samples["jsonl"]) == [
        Dialogue(
            id="d1",
            turns=(
                Turn(
                    speaker="USER",
                    text="A room in Leeds.",
                    number=0,
                    frames=(Frame("Hotels_1", State("Search", ("price",), {"city": ("Leeds", "leeds")})),),
                ),
                Turn(speaker="SYSTEM", text="When?"),
                Turn(
                    speaker="USER",
                    text="Today.",
                    number=1,
                    frames=(Frame("Hotels_1", State(slot_values={"city": ("Leeds",)})),),
                ),
            ),
            services=("Hotels_1",),
        )
    ]


def test_lines_in_any_order(read: Read) -> None:
    lines = [
        f'{{"dialogue": "{name}", "turn": {turn}, "state": {{}}}}' for name, turn in (("b", 1), ("a", 0), ("b", 0))
    ]
    assert [(d.id, [t.number for t in d.turns]) for d in read("\n\n".join(lines))] == [("b", [0, 1]), ("a", [0])]


def test_services_without_values_are_kept(read: Read) -> None:
    (found,) = read('{"dialogue": "a", "turn": 0, "state": {"x": {}}, "intent": {"y": "Find"}, "requested": {"z": []}}')
    assert [frame.state for frame in found.turns[0].frames] == [State(), State("Find"), State(None, ())]
    assert found.services == ("x", "y", "z")


def test_pairs(read: Read) -> None:
    lines = [
        '{"dialogue": "a", "turn": 0, "state": {}, "pred": {"x": {"s": "v"}}}',
        '{"dialogue": "a", "turn": 1, "state": {}}',
        '{"dialogue": "a", "turn": 2, "state": {}, "pred": {}}',
        '{"dialogue": "b", "turn": 0, "state": {}}',
    ]
    first, second = read("\n".join(lines))
    assert [number for number, _ in first.pred.user_turns()] == [0, 2], "what is not predicted is absent, not empty"
    assert first.pred.turns[0].frames[0].state.slot_values == {"s": ("v",)}
    assert second == Pair(Dialogue(id="b", turns=(Turn(speaker="USER", number=0),)), None)


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ('"turn": 2, "state": {}', "dialogue a: turn 1 is missing .turns count 0, 1, 2 … without gaps"),
        ('"turn": 0, "state": {}', "dialogue a, turn 0: line 2: duplicate turn, already on line 1"),
        ('"turn": -1, "state": {}', "dialogue a: line 2: 'turn' is -1, not 0, 1, 2"),
        ('"turn": 1.5, "state": {}', "line 2: 'turn' is 1.5"),
        ('"turn": true, "state": {}', "line 2: 'turn' is "),
        ('"state": {}', "dialogue a: line 2: the object has no 'turn'"),
        ('"turn": 1', "dialogue a, turn 1: line 2: the object has no 'state'"),
        ('"turn": 1, "sate": {}', "line 2: key 'sate' is not known .did you mean 'state'"),
        ('"turn": 1, "zzz": {}', "key 'zzz' is not known .known: dialogue"),
        ('"turn": 1, "state": []', "dialogue a, turn 1: line 2: a state is a list, not an object"),
        ('"turn": 1, "state": {"x": "y"}', "line 2: the state of 'x' is text, not an object"),
        ('"turn": 1, "state": {"x": {"y": []}}', "slot 'x-y': the list of values is empty; leave the slot out"),
        ('"turn": 1, "state": {"x": {"y": ["a", 6]}}', "slot 'x-y': value 6 is a number; write it as text"),
        ('"turn": 1, "state": {}, "pred": {"x": {"y": null}}', "slot 'x-y': value is null"),
        ('"turn": 1, "state": {}, "user": 3', "'user' is a number, not text"),
        ('"turn": 1, "state": {}, "system": null', "'system' is null, not text"),
        ('"turn": 1, "state": {}, "intent": {"x": 3}', "intent of 'x' is a number, not text"),
        ('"turn": 1, "state": {}, "requested": {"x": "y"}', "the list of requested slots of 'x' is text, not a list"),
        ('"turn": 1, "state": {}, "coref": "no"', "'coref' is not true or false"),
    ],
)
def test_bad(read: Read, rest: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read('{"dialogue": "a", "turn": 0, "state": {}}\n{"dialogue": "a", ' + rest + "}", "jsonl")


def test_meta_is_passed_over(read: Read) -> None:
    assert read('{"dialogue": "a", "turn": 0, "state": {}, "meta": {"anything": [1]}}')


@pytest.mark.parametrize("name", ["jsonl", "jsonl pairs", "checkdst", "trade"])
def test_round_trip(read: Read, samples: dict[str, bytes], tmp_path: Path, name: str) -> None:
    items = read(samples[name])
    out = str(tmp_path / "out.jsonl")
    readers.write(items, out, "jsonl")
    assert readers.detect(out) == "jsonl"
    assert list(readers.read(out)) == [_without_context(item) for item in items]


def _without_context(item: Dialogue | Pair) -> Dialogue | Pair:
    """CheckDST repeats what was said before with every turn; here the turns themselves say it."""
    if isinstance(item, Pair):
        gold = _without_context(item.gold)
        assert isinstance(gold, Dialogue)
        return Pair(gold, item.pred)
    turns = tuple(msgspec.structs.replace(turn, context=None) for turn in item.turns)
    return msgspec.structs.replace(item, turns=turns)


def test_real_round_trip(shared: Path, tmp_path: Path) -> None:
    """SGD to JSONL: states, intents, requested slots and the words come back; acts, spans and results have no place."""
    items: list[Any] = list(readers.read(str(shared / "data/sgd/dev/dialogues_001.json")))
    out = str(tmp_path / "out.jsonl")
    readers.write(items, out, "jsonl")
    found: list[Any] = list(readers.read(out))
    assert [d.id for d in found] == [d.id for d in items]
    for ours, theirs in zip(found, items, strict=True):
        for (number, turn), (same, original) in zip(ours.user_turns(), theirs.user_turns(), strict=True):
            assert (number, turn.text) == (same, original.text)
            assert [(f.service, f.state) for f in turn.frames] == [(f.service, f.state) for f in original.frames]


def test_write_refuses_gaps(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dialogue d: turn 0 is missing"):
        readers.write([Dialogue(id="d", turns=(Turn(speaker="USER", number=5),))], str(tmp_path / "out.jsonl"), "jsonl")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"dialog": "a", "turn": 0, "state": {}}', "line 1: key 'dialog' is not known .did you mean 'dialogue'"),
        ('{"dialogue": "a", "turns": 0, "state": {}}', "line 1: key 'turns' is not known .did you mean 'turn'"),
        ('{"dialogue": "a", "turn": 0, "staet": {}}', "line 1: key 'staet' is not known .did you mean 'state'"),
        ('{"dialogue": "a", "turn": 0, "pred": {}}', "turn 0: line 1: the object has no 'state'"),
    ],
)
def test_a_misspelt_key_that_is_needed(read: Read, line: str, says: str) -> None:
    """Line and key are named even where the misspelling hides the format."""
    with pytest.raises(UserError, match=says):
        read(line)
    good = '{"dialogue": "b", "turn": 0, "state": {}}'
    with pytest.raises(UserError, match=says.replace("line 1", "line 2")):
        read(f"{good}\n{line}")
