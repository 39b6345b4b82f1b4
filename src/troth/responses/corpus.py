"""Gold dialogues with the acts of the system's turns, checked against their schema."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import NamedTuple

import msgspec

from troth import models, readers
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.records import Dialogue, Frame, Gold, Pair, Schema, Turn
from troth.models import Nli
from troth.perturb.schemas.renaming import elements
from troth.responses.sgsacc import SystemTurn, system_turns


class ActCorpus(NamedTuple):
    """Dialogues with their acts and texts, the system turns among them, and the schema."""

    dialogues: list[Dialogue]
    turns: list[SystemTurn]
    schema: Schema


def read(gold: Gold, schema: Path | Schema | None = None, *, format: str | None = None, acts: bool = True) -> ActCorpus:
    """Reads gold and checks its acts: from a path, or from dialogues in memory.

    Without `acts` no schema is needed; where there is none, the dialogues are read for their texts alone.
    """
    known = find_schema(schema, gold)
    if known is None and acts:
        file = path_of(gold) if isinstance(gold, str | PathLike) else None
        raise UserError("no schema.json beside the dialogues", file=file, hint="name it: --schema FILE")
    dialogues: list[Dialogue] = []
    turns: list[SystemTurn] = []
    for file, dialogue in read_dialogues(gold, format):
        slim = _strip_dialogue(dialogue, acts=known is not None)
        try:
            turns += system_turns(slim, known or {})
        except UserError as error:
            raise error.at(file=file) from error
        dialogues.append(slim)
    return ActCorpus(dialogues, turns, known or {})


def find_schema(schema: Path | Schema | None, gold: Gold) -> Schema | None:
    if schema is not None:
        return schema if isinstance(schema, dict) else readers.schema(path_of(schema))
    return readers.schema_beside(path_of(gold)) if isinstance(gold, str | PathLike) else None


def read_dialogues(gold: Gold, format: str | None) -> Iterator[tuple[str | None, Dialogue]]:
    """Gold's dialogues, each with its file. A duplicate id is an error, because it identifies turns."""
    seen: set[str] = set()
    documents: Iterable[tuple[str | None, Iterable[Dialogue | Pair]]]
    documents = readers.batches(path_of(gold), format) if isinstance(gold, str | PathLike) else [(None, gold)]
    for file, items in documents:
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            if dialogue.id in seen:
                hint = "ids must be unique; remove one"
                raise UserError("duplicate dialogue id", file=file, dialogue=dialogue.id, hint=hint)
            seen.add(dialogue.id)
            yield file, dialogue


def _strip_dialogue(dialogue: Dialogue, *, acts: bool) -> Dialogue:
    """The dialogue without states, spans and results, which are half of a corpus and not needed here."""

    def frames(turn: Turn) -> tuple[Frame, ...]:
        if not acts or turn.speaker != "SYSTEM":
            return ()
        return tuple(Frame(frame.service, acts=frame.acts, service_call=frame.service_call) for frame in turn.frames)

    turns = tuple(msgspec.structs.replace(turn, frames=frames(turn)) for turn in dialogue.turns)
    return msgspec.structs.replace(dialogue, turns=turns)


def classify_descriptions(schema: Schema) -> str:
    """Whether slots and intents are described: `schema` if all are, else `part` or `none`."""
    texts = [item.description.strip() for service in schema.values() for item in elements(service)]
    return "schema" if all(texts) else "part" if any(texts) else "none"


def description_notes(descriptions: str) -> list[str]:
    """A note for the user where a schema lacks descriptions."""
    lacks = {"none": "has no descriptions", "part": "lacks some descriptions"}.get(descriptions)
    return [f"the schema {lacks}: names stand in their place"] if lacks else []


def open_model(nli: str | Nli, cache: Path | None) -> Nli:
    """The entailment model: itself, or the one of this name with a cache of its answers."""
    return models.nli(nli, cache=cache) if isinstance(nli, str) else nli


def truncation_notes(nli: Nli) -> list[str]:
    """A note for the user where texts were longer than the model reads."""
    return [f"{nli.cut} pairs were longer than the model reads, and were cut"] if nli.cut else []


def shuffle_turns(turns: Iterable[SystemTurn], seed: int) -> list[SystemTurn]:
    """Turns in an order that depends on the seed and their ids, and not on the order of the files."""
    return sorted(turns, key=lambda turn: hashlib.sha256(f"{seed}\n{turn.dialogue}\n{turn.turn}".encode()).digest())
