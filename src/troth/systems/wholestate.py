"""The whole state as text: SimpleTOD (Hosseini-Asl et al. 2020) and BART-DST, as CheckDST compares them.

The network reads the dialogue and writes all states of the turn. Unlike in the papers, whose services are always the
same, it also reads the names of the requested services and of their slots; `schema="none"` leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal

from troth.core.records import Service, State
from troth.systems.data import TrackerTurn
from troth.systems.recipe import TrackerModel
from troth.systems.states import dialogue_text, format_states, parse_states
from troth.systems.text import DECODERS, ENCODER_DECODERS, TextExample, TextModel, TextNetwork, TextRecipe

SchemaText = Literal["none", "names", "descriptions"]


class WholeStateModel(TextModel):
    def __init__(self, network: TextNetwork, schema: SchemaText) -> None:
        super().__init__(network)
        self.schema: SchemaText = schema

    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[TextExample]:
        for turn in turns:
            yield self.network.example(self._source_parts(turn), format_states(turn))

    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        answers = self.network.answers([self.network.source(*self._source_parts(turn)) for turn in turns])
        return [parse_states(text, turn.services) for text, turn in zip(answers, turns, strict=True)]

    def _source_parts(self, turn: TrackerTurn) -> tuple[str, str]:
        schema = "" if self.schema == "none" else " ".join(describe_service(one, self.schema) for one in turn.services)
        return dialogue_text(turn), f" {schema} state: ".replace("  ", " ")


def describe_service(service: Service, how: SchemaText) -> str:
    """A service with the names of its slots, or also with descriptions and possible values."""
    if how == "names":
        return f"[{service.name}] {', '.join(slot.name for slot in service.slots)}"
    slots = []
    for slot in service.slots:
        values = f" ({', '.join(slot.possible_values)})" if slot.is_categorical else ""
        slots.append(f"{slot.name}: {slot.description}{values}")
    intents = [f"{intent.name}: {intent.description}" for intent in service.intents]
    return f"[{service.name}] {service.description}; {'; '.join([*intents, *slots])}"


class SimpleTod(TextRecipe, frozen=True, kw_only=True):
    """The whole state as text, by a decoder (SimpleTOD)."""

    base: ClassVar[str] = "smollm2-135m-instruct"
    families: ClassVar[tuple[str, ...]] = DECODERS

    schema: SchemaText = "names"

    def open(self, model: str, *, trained: bool) -> TrackerModel:  # noqa: ARG002
        return WholeStateModel(self.network(model), self.schema)


class BartDst(SimpleTod, frozen=True, kw_only=True):
    """The whole state as text, by an encoder with a decoder (BART-DST)."""

    base: ClassVar[str] = ""
    families: ClassVar[tuple[str, ...]] = ENCODER_DECODERS
