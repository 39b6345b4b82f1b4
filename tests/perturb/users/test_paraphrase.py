"""The family paraphrase: spans and states right, the same in any order, refusals counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from troth import demo, readers
from troth.core.randomness import generator
from troth.core.records import Dialogue, Frame, Span, Turn
from troth.perturb.users import Inventory, Twin, apply, guard, paraphrase
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.paraphrase import Paraphrase
from troth.tracking.check import check

NOTHING = Inventory({}, frozenset(), frozenset())
DEMO = Path(demo.__file__).parent / "data" / "gold"


def changed(dialogue: Dialogue, seed: int = 0, options: Paraphrase | None = None) -> Twin:
    return apply(options or "paraphrase", dialogue, NOTHING, seed=seed)


def cut(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [
        (span.slot, turn.text[span.start : span.exclusive_end])
        for turn in dialogue.turns
        for frame in turn.frames
        for span in frame.spans or ()
    ]


def without_text(dialogue: Dialogue) -> bytes:
    turns = [msgspec.to_builtins(turn) for turn in dialogue.turns]
    for turn in turns:
        turn.pop("utterance", None)
        for frame in turn.get("frames", ()):
            frame.pop("slots", None)
    return msgspec.json.encode(turns)


@pytest.fixture(scope="module")
def bundled() -> list[Dialogue]:
    return list(readers.gold(str(DEMO)))


def test_same_seed_same_bytes_other_seed_others(bundled: list[Dialogue]) -> None:
    before = msgspec.json.encode(bundled)
    first = msgspec.json.encode([changed(d, 1).dialogue for d in bundled])
    again = msgspec.json.encode([changed(d, 1).dialogue for d in reversed(bundled)][::-1])
    other = msgspec.json.encode([changed(d, 2).dialogue for d in bundled])
    assert first == again != other
    assert msgspec.json.encode(bundled) == before, "the input stays as it is"


def test_only_text_and_spans_of_user_turns_change(bundled: list[Dialogue]) -> None:
    for dialogue in bundled:
        after = changed(dialogue)
        assert cut(after.dialogue) == cut(dialogue)
        assert without_text(after.dialogue) == without_text(dialogue)
        different = [i for i, (a, b) in enumerate(zip(dialogue.turns, after.dialogue.turns, strict=True)) if a != b]
        assert tuple(different) == after.turns
        assert all(dialogue.turns[i].speaker == "USER" for i in different)
        users = sum(turn.speaker == "USER" for turn in dialogue.turns)
        assert len(different) + sum(after.refused.values()) == users


def test_figures() -> None:
    dialogue = Dialogue("1", (Turn("USER", "Yes."), Turn("SYSTEM", "Fine."), Turn("USER", "Hyperbole")))
    after = changed(dialogue)
    assert after.refused == {guard.UNCHANGED: 1}
    assert after.figures == {"words": 1.0, "words replaced": 1.0, "word edits": 1.0}


def test_real_dialogues(shared: Path, tmp_path: Path) -> None:
    """Spans cut out what they did, and a check of the gold finds nothing that was not there."""
    source = shared / "data/sgd/dev"
    original = list(readers.gold(str(source / "dialogues_001.json")))
    after = [changed(dialogue) for dialogue in original]
    assert all(cut(a.dialogue) == cut(b) for a, b in zip(after, original, strict=True))
    share = sum(len(a.turns) for a in after) / sum(t.speaker == "USER" for d in original for t in d.turns)
    assert share > 0.9
    readers.write([a.dialogue for a in after], str(tmp_path / "new"), "sgd")
    readers.write(original, str(tmp_path / "old"), "sgd")
    found = [
        [(f.kind, f.count) for f in check(str(tmp_path / name), schema=str(source / "schema.json")).findings]
        for name in ("old", "new")
    ]
    assert found[0] == found[1]


def test_speakers_and_share(bundled: list[Dialogue]) -> None:
    system = changed(bundled[0], options=Paraphrase(speakers=("SYSTEM",)))
    assert system.turns
    assert all(bundled[0].turns[i].speaker == "SYSTEM" for i in system.turns)
    assert changed(bundled[0], options=Paraphrase(share=0.0)) == Twin(
        bundled[0], (), {}, system.figures | dict.fromkeys(system.figures, 0.0)
    )


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (Turn("USER", "Yes", context="Yes"), paraphrase.IN_CONTEXT),
        (Turn("USER", "Yes", (Frame("S", None, (Span("x", 2, 9),)),)), paraphrase.BAD_SPAN),
    ],
)
def test_turns_that_are_left_alone(turn: Turn, reason: str) -> None:
    dialogue = Dialogue("1", (turn,))
    after = changed(dialogue)
    assert (after.dialogue, after.refused) == (dialogue, {reason: 1})


class Fixed:
    """An engine that gives what it is told, one after the other."""

    varies = True

    def __init__(self, *answers: str | Failed) -> None:
        self.answers, self.asked = list(answers), 0

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        self.asked += len(requests)
        return [self.answers.pop(0) for _ in requests]


def with_engine(monkeypatch: pytest.MonkeyPatch, engine: Fixed) -> None:
    monkeypatch.setattr(paraphrase, "_engine", lambda _: engine)


def test_a_refused_wording_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Fixed("Two rooms.", Failed("engine: timeout"), "I need 1 room.")
    with_engine(monkeypatch, engine)
    after = changed(Dialogue("1", (Turn("USER", "I want 1 room."),)))
    assert after.dialogue.turns[0].text == "I need 1 room."
    assert engine.asked == 3


def test_the_last_reason_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with_engine(monkeypatch, Fixed("Two rooms.", "I want 1 room", Failed("engine: timeout")))
    after = changed(Dialogue("1", (Turn("USER", "I want 1 room."),)))
    assert after.refused == {"engine: timeout": 1}


def test_entailment_must_hold_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def entails(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        seen.extend(pairs)
        return [premise != "I need a cheap room." for premise, _ in pairs]

    with_engine(monkeypatch, Fixed("I need a cheap room.", "A room is what I want."))
    dialogue = Dialogue("1", (Turn("USER", "I want a room."),))
    rng = generator(0, "paraphrase", "1")
    after = Paraphrase(tries=2).perturb(dialogue, rng, NOTHING, entails=entails)
    assert after.dialogue.turns[0].text == "A room is what I want."
    assert ("I want a room.", "I need a cheap room.") in seen
    assert ("I need a cheap room.", "I want a room.") in seen


@pytest.mark.parametrize(
    "wrong",
    [{"engine": "magic"}, {"speakers": ()}, {"speakers": ("BOT",)}, {"share": 2.0}, {"tries": 0}, {"timeout": 0.0}],
)
def test_options_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, Paraphrase)


def test_a_turn_as_long_as_a_book_is_left_as_it_is() -> None:
    """What the rules take grows with the square of the length."""
    turn = Turn(speaker="USER", text="I want to go there, please. " * 10_000)
    dialogue = Dialogue(id="d", turns=(turn,))
    twin = changed(dialogue)
    assert (twin.dialogue, twin.turns, twin.refused) == (dialogue, (), {"longer than 1,000 characters": 1})
