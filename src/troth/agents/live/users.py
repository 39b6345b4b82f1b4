"""Users' turns in other words: perturbations of dialogues applied to the users of recorded conversations.

The values of expected and recorded calls are annotated in the turns that say them, so that a perturbation leaves them
as they are, or (a repair) says another value of the same argument and takes it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from troth.agents.live.replay import Recording
from troth.core.records import Dialogue, Frame, State, Turn
from troth.perturb.options import parse_members
from troth.perturb.users import FAMILIES, Family, Inventory, apply, inventory
from troth.perturb.users.values import find_words, to_lower

UserTurns = dict[str, tuple[str, ...]]  # task to what its user says


def reword_users(recordings: Sequence[Recording], users: Any, *, seed: int) -> dict[str, UserTurns]:
    """What users say, by the name of the perturbation. `users`: as `with_` of `troth.perturb`."""
    families: Mapping[str, Family] = parse_members(FAMILIES, Family, users or ())
    if not families:
        return {}
    dialogues = [_dialogue(one) for one in recordings]
    known = inventory(dialogues)
    return {name: {one.id: _texts(family, one, known, seed) for one in dialogues} for name, family in families.items()}


def _texts(family: Family, dialogue: Dialogue, known: Inventory, seed: int) -> tuple[str, ...]:
    return tuple(turn.text for turn in apply(family, dialogue, known, seed=seed).dialogue.turns)


def _dialogue(recording: Recording) -> Dialogue:
    called = [(call.tool, {name: call.arguments[name] for name in call.arguments}) for call in recording.recorded]
    expected = [(call.tool, dict(call.arguments)) for call in recording.expected or ()]
    values = sorted({item for tool, arguments in (*called, *expected) for item in _values(arguments, tool)})
    turns = []
    for text in recording.users:
        said = to_lower(text)
        spoken = [(slot, value) for slot, value in values if next(find_words(said, value.lower()), None)]
        slots = {slot: tuple(value for other, value in spoken if other == slot) for slot, _ in spoken}
        turns.append(Turn("USER", text, (Frame("tools", State(slot_values=slots)),) if slots else ()))
    return Dialogue(recording.task, tuple(turns), ("tools",))


def _values(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Texts and numbers inside arguments, with the dotted name of the argument."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _values(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(item, path)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
        yield path, str(value)
