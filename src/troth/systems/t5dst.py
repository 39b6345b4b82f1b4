"""Slot by slot: dialogue, service, slot and description in, value out (T5DST, Lee et al. 2021).

One question for every slot of a service in every turn. Most slots have no value; `negatives` says which share of these
is learned from. Intents and requested slots are not predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from troth.core.randomness import generator
from troth.core.records import Service, SlotSchema, State
from troth.systems.data import TrackerTurn
from troth.systems.recipe import TrackerModel
from troth.systems.states import NOTHING, dialogue_text, restrict_state, value_of
from troth.systems.text import TextExample, TextModel, TextNetwork, TextRecipe
from troth.text.identifiers import split_identifier


class SlotModel(TextModel):
    def __init__(self, network: TextNetwork, negatives: float) -> None:
        super().__init__(network)
        self.negatives = negatives

    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[TextExample]:
        for turn in turns:
            rng = generator(0, "negatives", f"{turn.dialogue}/{turn.number}")
            dialogue = dialogue_text(turn)
            for service in turn.services:
                values = turn.gold[service.name].slot_values
                for slot in service.slots:
                    drawn = rng.random() < self.negatives
                    if slot.name in values or drawn:
                        value = value_of(values.get(slot.name, (NOTHING,)), dialogue.casefold())
                        yield self.network.example((dialogue, question(service, slot)), value)

    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        asked = [(index, service, slot) for index, turn in enumerate(turns) for service in turn.services
                 for slot in service.slots]  # fmt: skip
        texts = [dialogue_text(turn) for turn in turns]
        answers = self.network.answers(
            [self.network.source(texts[index], question(service, slot)) for index, service, slot in asked]
        )
        values: list[dict[str, dict[str, str]]] = [{service.name: {} for service in turn.services} for turn in turns]
        for (index, service, slot), answer in zip(asked, answers, strict=True):
            values[index][service.name][slot.name] = answer
        return [
            {
                service.name: restrict_state(service, by_service[service.name], intent=None, requested=None)
                for service in turn.services
            }
            for turn, by_service in zip(turns, values, strict=True)
        ]


def question(service: Service, slot: SlotSchema) -> str:
    """The question for one slot: service, slot, description and possible values."""
    values = f" values: {', '.join(slot.possible_values)}" if slot.is_categorical else ""
    names = f"{' '.join(split_identifier(service.name))} slot: {' '.join(split_identifier(slot.name))}"
    return f" service: {names} description: {slot.description}{values} value: "


class T5Dst(TextRecipe, frozen=True, kw_only=True):
    """A question for every slot, its value as the answer (T5DST)."""

    base: ClassVar[str] = "smollm2-135m-instruct"

    answer: int = 16
    negatives: float = 1.0  # share of the slots without a value that are learned from

    def open(self, model: str, *, trained: bool) -> TrackerModel:  # noqa: ARG002
        return SlotModel(self.network(model), self.negatives)
