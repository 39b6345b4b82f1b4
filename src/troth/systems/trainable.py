"""What the training loop trains: a network that turns examples into a loss, and can be saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

E = TypeVar("E")


class Trainable(ABC, Generic[E]):
    """A network that learns from examples of the type `E`."""

    module: Any  # the torch.nn.Module that is trained
    factors: ClassVar[Mapping[str, float]] = {}  # of the rate, for parameters whose names begin so; 1 for all others

    @abstractmethod
    def size(self, example: E) -> int:
        """The tokens of an example: batches hold examples of similar size."""

    @abstractmethod
    def collate(self, examples: Sequence[E], rng: Random) -> Any:
        """A batch. Random choices (masks, prompts) use `rng`, which depends only on seed and step."""

    @abstractmethod
    def loss(self, batch: Any) -> Any:
        """The loss of a batch: a tensor with one number."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes weights (safetensors) and all that is needed to open the model again to a folder that exists."""
