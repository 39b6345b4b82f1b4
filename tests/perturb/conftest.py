"""Dialogues to perturb, and the laws that every perturbed dialogue obeys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from troth import demo, readers
from troth.core.records import Act, Dialogue, Frame, Schema, Span, State, Turn
from troth.perturb.users import FAMILIES, Inventory, Twin, apply, inventory


class Corpus(NamedTuple):
    dialogues: list[Dialogue]
    known: Inventory

    def perturbed(self, family: str, *, seed: int = 0, **options: Any) -> list[Twin]:
        """Every dialogue perturbed by one family; the input must stay as it was."""
        chosen = FAMILIES.load(family)(**options)
        before = msgspec.json.encode(self.dialogues)
        made = [apply(chosen, dialogue, self.known, seed=seed) for dialogue in self.dialogues]
        assert msgspec.json.encode(self.dialogues) == before
        return made


def corpus_of(dialogues: Iterable[Dialogue], schema: Schema | None = None) -> Corpus:
    listed = list(dialogues)
    return Corpus(listed, inventory(listed, schema))


@pytest.fixture(scope="session")
def bundled() -> Corpus:
    path = demo.path("gold")
    return corpus_of(readers.gold(path), readers.schema_beside(path))


@pytest.fixture(scope="session")
def sgd(shared: Path) -> Corpus:
    """The first thousand dialogues of SGD's dev set."""
    path = str(shared / "data/sgd/dev")
    return corpus_of(islice(readers.gold(path), 1000), readers.schema_beside(path))


@pytest.fixture(scope="session")
def multiwoz(shared: Path) -> Corpus:
    return corpus_of(readers.gold(str(shared / "data/multiwoz/test.json.zip")))


Make = Callable[..., Dialogue]


@pytest.fixture
def make() -> Make:
    """A dialogue of one service from (text, {slot: value in the text}) pairs, user and system in turns."""
    return dialogue


def dialogue(
    *said: tuple[str, dict[str, str]], service: str = "Music_1", name: str = "d", spans: bool = True
) -> Dialogue:
    state: dict[str, tuple[str, ...]] = {}
    turns = []
    for index, (text, values) in enumerate(said):
        user = index % 2 == 0
        marked = []
        for slot, value in values.items():
            if spans and value in text:
                marked.append(Span(slot, text.index(value), text.index(value) + len(value)))
            if user:
                state = {**state, slot: (value,)}
        acts = tuple(Act("INFORM", slot, (value,), (value,)) for slot, value in values.items()) if spans else ()
        frame = Frame(service, State("Find", (), state) if user else None, tuple(marked) if spans else None, acts)
        turns.append(Turn("USER" if user else "SYSTEM", text, (frame,)))
    return Dialogue(name, tuple(turns), (service,))


# -- laws --------------------------------------------------------------------------------------------------------------


def check(before: Dialogue, after: Dialogue) -> None:
    """What holds for every perturbed dialogue."""
    assert after.id == before.id
    assert [turn.speaker for turn in after.turns] == [turn.speaker for turn in before.turns]
    assert spans_fit(before) <= spans_fit(after)
    assert not lost(before, after)


def spans_fit(dialogue: Dialogue) -> set[tuple[Any, ...]]:
    """Spans whose text is a value of the same slot in the state and in the acts of the frame, by place."""
    found = set()
    for index, turn in enumerate(dialogue.turns):
        for number, frame in enumerate(turn.frames):
            for at, span in enumerate(frame.spans or ()):
                text = turn.text[span.start : span.exclusive_end]
                if frame.state is not None and text in frame.state.slot_values.get(span.slot, ()):
                    found.add(("state", index, number, at))
                if any(act.slot == span.slot and text in act.values for act in frame.acts):
                    found.add(("act", index, number, at))
    return found


def lost(before: Dialogue, after: Dialogue) -> list[str]:
    """State values that could be found in the text so far, ignoring case, and cannot any more."""
    return [
        value
        for (value, found), (_, still) in zip(_recoverable(before), _recoverable(after, like=before), strict=True)
        if found and not still
    ]


def _recoverable(dialogue: Dialogue, like: Dialogue | None = None) -> Iterator[tuple[str, bool]]:
    said = ""
    for turn, model in zip(dialogue.turns, (like or dialogue).turns, strict=True):
        said += "\n" + turn.text.lower()
        for frame, shape in zip(turn.frames, model.frames, strict=True):
            if frame.state is None or shape.state is None:
                continue
            assert frame.state.slot_values.keys() == shape.state.slot_values.keys()
            for slot, values in frame.state.slot_values.items():  # a family may add alternatives behind the others
                for value in values[: len(shape.state.slot_values[slot])]:
                    yield value, value.lower() in said
