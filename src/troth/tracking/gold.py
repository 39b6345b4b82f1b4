"""A digest of the states of gold. Two runs with equal digests were scored against the same gold."""

from __future__ import annotations

import msgspec

from troth.core.digest import Digest
from troth.core.records import Dialogue, State


class GoldDigest:
    """Gathers the digest: of every state of every user turn, whatever files and formats they come from."""

    def __init__(self) -> None:
        self.dialogues: list[str] = []
        self.digest = Digest()

    def add(self, gold: Dialogue, _pred: Dialogue | None) -> None:
        turns = [
            (number, turn.correct, sorted((f.service, _text(f.state)) for f in turn.frames if f.state is not None))
            for number, turn in gold.user_turns()
        ]
        self.digest.add((gold.id, turns))

    def merge(self, other: GoldDigest) -> None:
        self.digest.merge(other.digest)


_encode = msgspec.json.Encoder(order="deterministic").encode


def _text(state: State) -> bytes:
    """The content of a state, whichever record a reader has it in."""
    return _encode((state.active_intent, state.requested_slots, state.slot_values))
