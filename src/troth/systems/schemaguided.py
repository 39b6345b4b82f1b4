"""The schema-guided trackers that SGD-X compares with: SGP-DST, and the baseline of SGD.

SGP-DST (Ruan et al. 2020) reads the last two utterances together with each intent, slot and possible value of the
schema, and has four sub-models: the active intent, requested slots, values of categorical slots, and spans of free
ones. Whether a slot takes over what the system offered, or what a slot of another service holds, is decided from the
same reading and a feature of the slot's part in the dialogue so far. There, each sub-model has an encoder of its own;
here, they share one.

The baseline of SGD (Rastogi et al. 2020) reads the two utterances once, without the schema, whose texts are vectors of
the frozen encoder. Each vector beside that of the utterances gives the scores; the vector of a slot beside each token
gives the span. It knows nothing of earlier turns but its own states.

Labels, memory and decoding are those of `span`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

from troth.models import hub
from troth.systems.recipe import Recipe, TrackerModel
from troth.systems.span import SpanExample, SpanModel, SpanRecipe, load_encoder
from troth.systems.span.batches import Floats, Ints
from troth.systems.span.examples import IGNORED, Status, Tokens
from troth.systems.span.tracking import TOKENIZER, Texts, Tracking

WEIGHTS = "model.safetensors"
TEXT = 32  # tokens of a text of the schema that are read with the turn


class SgpDst(Recipe, frozen=True, kw_only=True):
    """Reads the turn with each intent, slot and value: four sub-models on one encoder, and carry-over (SGP-DST)."""

    base: ClassVar[str] = SpanRecipe.base
    families: ClassVar[tuple[str, ...]] = SpanRecipe.families

    dropout: float = 0.1

    def open(self, model: str, *, trained: bool) -> TrackerModel:
        return SgpModel(self.files(model), self.dropout, trained=trained)


class SgpModel(SpanModel):
    """`span` with a network that reads tokens of the schema in place of vectors."""

    factors: ClassVar[dict[str, float]] = {}

    def __init__(self, folder: Path, dropout: float, *, trained: bool) -> None:
        import torch

        from troth.systems.checkpoint import load_weights
        from troth.systems.crossreading import CrossNetwork

        self.encoder, padding = _empty_encoder(folder) if trained else load_encoder(folder)
        Tracking.__init__(self, Tokens.read(folder / TOKENIZER, padding))
        self.folder, self._torch = folder, torch
        self.module = CrossNetwork(self.encoder.requires_grad_(requires_grad=True), dropout, padding)
        if trained:
            load_weights(self.module, folder / WEIGHTS)

    def _lower(self, ids: Any, segments: Any) -> Any:  # noqa: ARG002 (nothing is read without the schema)
        return ids

    def _read(self, ids: Ints, segments: Ints) -> Floats:  # noqa: ARG002
        return ids[..., None].astype(np.float32)

    def sentences(self, texts: Texts) -> Floats:
        """The tokens of each text, which the network reads; 0 behind its end."""
        table = np.zeros((len(texts), TEXT), np.float32)
        for at, (_, *ids) in enumerate(self.tokens.whole(texts)):
            short = ids if len(ids) <= TEXT else [*ids[: TEXT - 1], ids[-1]]  # the last one ends the text
            table[at, : len(short)] = short
        return table

    def save(self, folder: Path) -> None:
        import shutil

        from safetensors.torch import save_file

        from troth.systems.checkpoint import weights

        self.encoder.config.save_pretrained(folder)
        save_file(weights(self.module), folder / WEIGHTS)
        shutil.copyfile(self.folder / TOKENIZER, folder / TOKENIZER)


def _empty_encoder(folder: Path) -> tuple[Any, int]:
    """An encoder of the kind that a folder describes; its weights are loaded with the rest of the network."""
    import transformers

    with hub.loading(str(folder)):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return transformers.AutoModel.from_config(config), config.pad_token_id or 0


class SgdBaseline(SpanRecipe, frozen=True, kw_only=True):
    """Scores each vector of the schema beside that of the last two utterances (the baseline of SGD)."""

    upper: int = 64  # layers of the encoder that are trained: all of them

    def open(self, model: str, *, trained: bool) -> TrackerModel:
        return BaselineModel(self.files(model), self, trained=trained)


class BaselineModel(SpanModel):
    """`span` with the network of SGD's baseline, which sees no more than the last two utterances."""

    factors: ClassVar[dict[str, float]] = {}
    remembers_offers: ClassVar[bool] = False

    def make_network(self, recipe: SpanRecipe) -> Any:
        from troth.systems.crossreading import BaselineNetwork

        return BaselineNetwork(self.encoder, recipe.upper, recipe.dropout)

    def collate(self, examples: Sequence[SpanExample], rng: Random) -> Any:
        """Labels that depend on earlier turns are left out: values of other services, and earlier offers."""
        arrays, wanted = super().collate(examples, rng)
        earlier = (wanted["status"] == Status.OFFER) & (wanted["offers"] != 1)
        wanted["status"][(wanted["status"] == Status.CARRY) | earlier] = IGNORED
        wanted["carried"][...] = -1
        return arrays, wanted
