"""Models of transformers that graders load themselves, when they are first asked."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from troth.models.hf import ENTAILMENT, reach
from troth.models.hub import ModelFiles, load


class LoadedModel(NamedTuple):
    tokenizer: Any
    model: Any
    limit: int  # tokens that it reads


class Transformer:
    """A model by its files; `head` is transformers' class for the task."""

    head: ClassVar[str]

    def __init__(self, files: ModelFiles) -> None:
        self.files = files

    @property
    def name(self) -> str:
        return self.files.name

    @cached_property
    def loaded(self) -> LoadedModel:
        tokenizer, model = load(self.files, self.head)
        return LoadedModel(tokenizer, model, reach(tokenizer, model.config, ENTAILMENT))
