"""Trackers with a first phase: Soloist on dialogues, Muppet and PrefineDST on tasks; then the state as text.

Soloist (Peng et al. 2021) learns states of other dialogues first. PrefineDST (Cho et al. 2022) learns tasks that hold
what a tracker needs, such as coreference and paraphrase, each example by one of the task's prompts, drawn anew in each
epoch and always the same one when the loss is measured (appendix C.1). Muppet
(Aghajanyan et al. 2021) learns tasks, too, but each in one form; an example's loss is divided by log n, so that tasks
count alike: n is the number of classes or, where any text is an answer, the size of the vocabulary. Its heads for
classification are answers as text here. The first phase stops when the loss on its dev examples falls no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple

from troth.core.errors import UserError
from troth.systems.data import TrackerCorpus
from troth.systems.heldout import split_drawn
from troth.systems.recipe import TrackerModel, TrainableTracker
from troth.systems.tasks import TASKS, Fields, PrefineTask, sources
from troth.systems.text import DECODERS, ENCODER_DECODERS, TextExample, TextNetwork
from troth.systems.wholestate import SimpleTod, WholeStateModel

CHARACTERS = 4  # of a token, about: examples of similar length are learned together


class Soloist(SimpleTod, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on other dialogues, such as SGD's (Soloist)."""

    families: ClassVar[tuple[str, ...]] = (*DECODERS, *ENCODER_DECODERS)
    first: ClassVar[Literal["", "dialogues", "tasks"]] = "dialogues"

    per_source: int = 0  # examples of each source at most, drawn; 0: all

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        examples = {path: list(model.examples(TrackerCorpus.read(path).turns())) for path in items}
        return split_drawn(examples.items(), seed, self.per_source)


class TaskPromptExample(NamedTuple):
    """An example of a task, which is put into words when it is learned."""

    task: PrefineTask
    fields: Fields

    def draw(self, network: TextNetwork, rng: Random) -> TextExample:
        text, answer = self.task.fill_prompt(self.fields, rng.randrange(len(self.task.prompts)))
        return network.example((text, " "), answer)


class TaskPromptModel(WholeStateModel):
    """A tracker that also learns tasks, by a prompt that is drawn for each step."""

    def size(self, example: TextExample | TaskPromptExample) -> int:
        if isinstance(example, TaskPromptExample):
            return sum(map(len, example.fields.values())) // CHARACTERS
        return super().size(example)

    def collate(self, examples: Sequence[TextExample | TaskPromptExample], rng: Random) -> dict[str, Any]:
        drawn = [
            example.draw(self.network, rng) if isinstance(example, TaskPromptExample) else example
            for example in examples
        ]
        return super().collate(drawn, rng)


class PrefineDst(Soloist, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on tasks by prompts that are drawn (PrefineDST)."""

    first: ClassVar[Literal["", "dialogues", "tasks"]] = "tasks"

    def open(self, model: str, *, trained: bool) -> TrackerModel:  # noqa: ARG002
        return TaskPromptModel(self.network(model), self.schema)

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        if not isinstance(model, WholeStateModel):
            raise TypeError(f"a model that reads and writes text is expected, not {type(model).__name__}")
        every: list[tuple[str, list[Any]]] = []
        for name, paths in sources(items).items():
            for path in paths:
                examples = list(self._examples(model.network, name, path))
                if not examples:
                    raise UserError(f"no example of the task '{name}' in it", file=path, hint="is it the right file?")
                every.append((path, examples))
        return split_drawn(every, seed, self.per_source)

    def _examples(self, _network: TextNetwork, name: str, path: str) -> Iterator[TaskPromptExample | TextExample]:
        task: PrefineTask = TASKS.load(name)
        for fields in task.read(path):
            yield TaskPromptExample(task, fields)


class Muppet(PrefineDst, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on tasks in one form each, which count alike (Muppet)."""

    def _examples(self, network: TextNetwork, name: str, path: str) -> Iterator[TaskPromptExample | TextExample]:
        task = TASKS.load(name)
        for fields in task.read(path):
            text, answer = task.fill_prompt(fields, 0)
            example = network.example((f"{name}: {text}", " "), answer)
            yield example._replace(weight=1 / math.log(task.classes or len(network.tokenizer)))
