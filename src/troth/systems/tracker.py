"""Trackers on disk: a folder with weights and `tracker.json`, which says by what recipe they were trained and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.records import Dialogue, Frame, Schema, State
from troth.core.version import __version__
from troth.models import catalog
from troth.readers.plain import encode_indented
from troth.storage.files import digest_tree
from troth.systems.data import Spelling, turns_of
from troth.systems.recipe import RECIPES, TRACKERS, TrackerModel, recipe_of

CARD = "tracker.json"
BEST = ("best-jga", "last")  # the models of a training run, in the order in which they are looked for
AT_ONCE = 16  # dialogues that are tracked together


class TrackerCard(msgspec.Struct, frozen=True):
    recipe: str
    options: dict[str, Any] = {}
    model: str = ""  # the pretrained model
    troth: str = __version__
    training: dict[str, Any] = {}
    metrics: dict[str, float] = {}  # at the checkpoint that this is


@dataclass(frozen=True)
class Tracker:
    name: str
    card: TrackerCard
    model: TrackerModel
    digest: str = ""  # of the files of its model; "": it has none

    def states(
        self, dialogues: Sequence[Dialogue], schema: Schema, *, complete: bool, spell: Spelling | None = None
    ) -> list[Dialogue]:
        """The dialogues with predicted states in place of all annotation; texts stay.

        `complete`: every turn is asked for the states of all services, not only of those that it is annotated with.
        `spell`: how the data spells a value that was said.
        """
        predicted: list[Dialogue] = []
        for start in range(0, len(dialogues), AT_ONCE):
            batch = dialogues[start : start + AT_ONCE]
            answers = self.model.track([list(turns_of(dialogue, schema, complete=complete)) for dialogue in batch])
            for dialogue, states in zip(batch, answers, strict=True):
                predicted.append(_with_states(dialogue, states if spell is None else _respell(states, spell)))
        return predicted


def find_plain() -> Folder:
    """Tracks dialogues under any schema; trained on SGD, runs without torch."""
    return catalog.ready(catalog.TRACKERS) / "troth-track"


def find_robust() -> Folder:
    """The same, trained on other wordings of SGD's schemas as well (SGD-X)."""
    return catalog.ready(catalog.TRACKERS) / "troth-track-robust"


def open_tracker(model: Path) -> Tracker:
    """A tracker by its folder, by its name (`troth ls trackers`), or RECIPE:MODEL for a recipe that needs no training.

    The folder is that of a model, or that of a training run: then it is the model with the best JGA.
    """
    text = path_of(model)
    recipe, colon, base = text.partition(":")
    if colon and recipe in RECIPES and not Folder(text).exists():
        return _open_untrained(recipe, base)
    folder = TRACKERS.load(text)() if text in TRACKERS else _folder(text)
    with reading(folder / CARD, "not a tracker", hint="train one: troth train"):
        card = msgspec.json.decode((folder / CARD).read_bytes(), type=TrackerCard)
    opened = recipe_of(card.recipe, card.options).open(str(folder), trained=True)
    return Tracker(text, card, opened, digest_tree(folder))


def describe(folder: Folder, card: TrackerCard) -> None:
    (folder / CARD).write_bytes(encode_indented(card))


def _folder(text: str) -> Folder:
    folder = Folder(text)
    for candidate in (folder, *(folder / name for name in BEST)):
        if (candidate / CARD).is_file():
            return candidate
    known = ", ".join([*TRACKERS, "a folder that troth train wrote", "RECIPE:MODEL"])
    raise UserError(f"there is no tracker '{text}'", hint=f"known: {known}")


def _open_untrained(recipe: str, base: str) -> Tracker:
    if (untrained := recipe_of(recipe)).trains:
        raise UserError(f"recipe '{recipe}' must be trained first", hint="troth train tracker")
    base = base or "embedded"
    model = untrained.open(base, trained=False)
    return Tracker(f"{recipe}:{base}", TrackerCard(recipe, model=base), model, untrained.digest(base))


def _respell(states: Sequence[dict[str, State]], spell: Spelling) -> list[dict[str, State]]:
    return [{service: _respell_state(state, spell) for service, state in turn.items()} for turn in states]


def _respell_state(state: State, spell: Spelling) -> State:
    values = {slot: tuple(map(spell, values)) for slot, values in state.slot_values.items()}
    return msgspec.structs.replace(state, slot_values=values)


def _with_states(dialogue: Dialogue, states: Sequence[dict[str, State]]) -> Dialogue:
    answers: Iterator[dict[str, State]] = iter(states)
    turns = []
    for turn in dialogue.turns:
        frames: tuple[Frame, ...] = ()
        if turn.speaker == "USER":
            frames = tuple(Frame(service=service, state=state) for service, state in next(answers).items())
        turns.append(msgspec.structs.replace(turn, frames=frames))
    return msgspec.structs.replace(dialogue, turns=tuple(turns))
