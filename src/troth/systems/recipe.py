"""What a recipe for a tracker is, and the recipes that exist.

A recipe is a frozen struct whose fields are its options. `open` gives a `TrackerModel` from a folder with weights of
transformers: those of a pretrained model, or of a tracker that was trained by the recipe. The model turns user turns
into examples to learn from, and into states. Everything else (order of the data, optimiser, checkpoints, curves,
files of predictions) is the same for all recipes. Other packages add recipes through the entry point group
`troth.recipes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from troth.core.errors import UserError
from troth.core.records import State
from troth.core.registry import Registry
from troth.systems.data import TrackerTurn

if TYPE_CHECKING:
    from troth.models.hub import ModelFiles

E = TypeVar("E")

RECIPES = Registry(
    "recipe",
    "troth.recipes",
    {
        "span": "troth.systems.span:Span",
    },
)
TRACKERS = Registry("tracker", "troth.trackers", {})  # trained ones by name: functions that return their folder


class TrackerModel(ABC, Generic[E]):
    """A network with its tokenizer: learns from examples of the type `E`, and predicts states."""

    module: Any  # the torch.nn.Module that is trained

    @abstractmethod
    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[E]:
        """What is learned from user turns; kept in memory, so that it should be small."""

    @abstractmethod
    def size(self, example: E) -> int:
        """The tokens of an example: batches hold examples of similar size."""

    @abstractmethod
    def collate(self, examples: Sequence[E], rng: Random) -> Any:
        """A batch. Whatever is drawn (masks, prompts) is drawn with `rng`, which depends on seed and step alone."""

    @abstractmethod
    def loss(self, batch: Any) -> Any:
        """The loss of a batch: a tensor with one number."""

    @abstractmethod
    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        """The states after each of some turns, by service. The turns are of different dialogues, `before` is known."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes weights (safetensors), config.json and tokenizer to a folder that exists."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of tracker. Its fields are its options; the first line of its docstring is what `troth ls` shows."""

    base: ClassVar[str] = "embedded"  # the pretrained model, where none is named
    first_phase: ClassVar[Literal["", "dialogues", "tasks"]] = ""  # what is learned from before the tracker's own data
    trains: ClassVar[bool] = True

    def open(self, files: ModelFiles, *, trained: bool) -> TrackerModel[Any]:
        """The model in a folder: pretrained weights, or, if `trained`, what `TrackerModel.save` has written.

        Pretrained weights that do not fit the recipe are refused in one line.
        """
        raise NotImplementedError


def refuse_family(recipe: str, model_type: str, families: Iterable[str], file: str) -> None:
    """Raises an error for a model of a family that a recipe cannot use."""
    known = sorted(families)
    if model_type not in known:
        what = f"recipe '{recipe}' cannot use a model of the family '{model_type}'"
        raise UserError(what, file=file, hint="families that fit: " + ", ".join(known))
