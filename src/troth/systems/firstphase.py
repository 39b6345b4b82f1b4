"""Trackers with a first phase: Soloist on dialogues, Muppet and PrefineDST on tasks; then the state as text.

Soloist (Peng et al. 2021) learns states of other dialogues first. PrefineDST (Cho et al. 2022) learns tasks that hold
what a tracker needs, such as coreference and paraphrase, each example by one of the task's prompts, drawn. Muppet
(Aghajanyan et al. 2021) learns tasks, too, but each in one form; an example's loss is divided by log n, so that tasks
count alike: n is the number of classes or, where any text is an answer, the size of the vocabulary. Its heads for
classification are answers as text here. The first phase stops when the loss on its dev examples falls no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from troth.core.errors import UserError
from troth.core.randomness import generator
from troth.systems.data import TrackerCorpus
from troth.systems.recipe import TrainableTracker
from troth.systems.tasks import TASKS, sources
from troth.systems.text import DECODERS, ENCODER_DECODERS, TextExample, TextNetwork
from troth.systems.wholestate import SimpleTod, WholeStateModel

DEV, MOST_DEV = 0.1, 300  # share of a source's examples that the loss is measured on, and the most of them


class Soloist(SimpleTod, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on other dialogues, such as SGD's (Soloist)."""

    families: ClassVar[tuple[str, ...]] = (*DECODERS, *ENCODER_DECODERS)
    first: ClassVar[Literal["", "dialogues", "tasks"]] = "dialogues"

    per_source: int = 20000  # examples of each source at most

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        examples = {path: list(model.examples(TrackerCorpus.read(path).turns())) for path in items}
        return split([_sample(own, self.per_source, seed, path) for path, own in examples.items()])


class PrefineDst(Soloist, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on tasks by prompts that are drawn (PrefineDST)."""

    first: ClassVar[Literal["", "dialogues", "tasks"]] = "tasks"

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        if not isinstance(model, WholeStateModel):
            raise TypeError(f"a model that reads and writes text is expected, not {type(model).__name__}")
        every: list[list[Any]] = []
        for name, paths in sources(items).items():
            for path in paths:
                examples = list(self._examples(model.network, name, path, seed))
                if not examples:
                    raise UserError(f"no example of the task '{name}' in it", file=path, hint="is it the right file?")
                every.append(_sample(examples, self.per_source, seed, path))
        return split(every)

    def _examples(self, network: TextNetwork, name: str, path: str, seed: int) -> Iterator[TextExample]:
        task = TASKS.load(name)
        for number, fields in enumerate(task.read(path)):
            drawn = generator(seed, "prompt", f"{name}/{number}").randrange(len(task.prompts))
            text, answer = task.put(fields, drawn)
            yield network.example((text, " "), answer)


class Muppet(PrefineDst, frozen=True, kw_only=True):
    """The whole state as text, after a first phase on tasks in one form each, which count alike (Muppet)."""

    def _examples(self, network: TextNetwork, name: str, path: str, seed: int) -> Iterator[TextExample]:  # noqa: ARG002
        task = TASKS.load(name)
        for fields in task.read(path):
            text, answer = task.put(fields, 0)
            example = network.example((f"{name}: {text}", " "), answer)
            yield example._replace(weight=1 / math.log(task.classes or len(network.tokenizer)))


def split(every: Sequence[list[Any]]) -> tuple[list[Any], list[Any]]:
    """Examples to learn from, and of each source some to measure the loss on."""
    learned: list[Any] = []
    dev: list[Any] = []
    for examples in every:
        count = min(MOST_DEV, max(1, round(DEV * len(examples))))
        dev += examples[:count]
        learned += examples[count:]
    return learned, dev


def _sample(examples: list[Any], most: int, seed: int, purpose: str) -> list[Any]:
    generator(seed, "first phase", purpose).shuffle(examples)
    return examples[:most]
