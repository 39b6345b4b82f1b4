"""Generators in memory: weights or prefixes, and the templates that they read.

A generator of the method `ft` is a whole model. One of the method `pt` is prefixes, of less than a megabyte, for the
model that they were trained on; that model is looked for where it was, and is known by a fingerprint of its weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.records import Schema
from troth.models import hub
from troth.responses.templates import Templates
from troth.systems.generators import prefix
from troth.systems.generators.card import TEMPLATES, GeneratorCard, Method, folder_of, read_card
from troth.systems.generators.decode import Prefixed, ScoredText, nbest
from troth.systems.generators.difference import WeightDifference
from troth.systems.generators.encodings import ResponseTurn, encode_acts, source_of
from troth.systems.text import TextLearner, TextNetwork

SAMPLED = 16  # values of each tensor that a fingerprint is made of


def fingerprint(module: Any) -> str:
    """A short hash of a model's weights: names, shapes, and some values of each."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(module.state_dict().items()):
        flat = value.detach().flatten()
        sampled = flat[:: max(1, len(flat) // SAMPLED)][:SAMPLED].float().numpy()
        digest.update(f"{name}{tuple(value.shape)}".encode() + sampled.tobytes())
    return digest.hexdigest()


class GeneratorModel(TextLearner):
    """A network that learns responses: all of its weights, or only the networks of prefixes."""

    def __init__(self, network: TextNetwork, method: Method) -> None:
        super().__init__(network)
        self.networks: prefix.PrefixNetworks | None = None
        if method == "pt":
            self.layers = prefix.attention_layers(network.module)
            network.module.requires_grad_(False)
            self.networks = self.module = prefix.PrefixNetworks(self.layers)

    @property
    def count(self) -> int:
        return sum(weight.numel() for weight in self.module.parameters())

    @property
    def prefixes(self) -> Prefixed | None:
        return None if self.networks is None else Prefixed(self.layers, self.networks())

    def loss(self, batch: Any) -> Any:
        if self.networks is None:
            return self.network.loss(batch)
        with prefix.add_prefixes(self.layers, self.networks()):
            return self.network.loss(batch)

    def save(self, folder: Folder) -> None:
        if self.networks is None:
            self.network.save(folder)
        else:
            prefix.save(self.networks(), folder)


@dataclass(frozen=True)
class ResponseGenerator:
    """A generator that can be run. Two with the same `network` can be run in one go."""

    name: str
    card: GeneratorCard
    network: TextNetwork
    weights: str  # fingerprint of the network's weights
    prefixes: Prefixed | None = None
    templates: Templates = field(default_factory=dict)
    difference: WeightDifference | None = None  # the change by training, where the network is the base

    def sources(self, turns: Iterable[ResponseTurn], schema: Schema) -> list[Sequence[int]]:
        return [
            source_of(self.network, encode_acts(turn, schema, self.card.encoding, self.templates)) for turn in turns
        ]

    def nbest(self, turns: Sequence[ResponseTurn], schema: Schema, *, beams: int = 4) -> list[list[ScoredText]]:
        return nbest(self.network, self.sources(turns, schema), beams=beams, prefix=self.prefixes,
                     changed=self.difference is not None)  # fmt: skip


def open_generator(
    model: Path, *, base: Path | None = None, beside: Sequence[ResponseGenerator] = ()
) -> ResponseGenerator:
    """A generator that `train_response` wrote: the folder of a run or of one of its models.

    `base`: the weights that its prefixes belong to, if they were moved. `beside`: generators that
    are open; the weights of one that the prefixes belong to are used, and not loaded again. A decoder that was trained
    from the weights of one of these is held as the difference to them.
    """
    text = path_of(model)
    folder, card = read_card(model)
    known = folder / TEMPLATES
    with hub.loading(str(folder), "not a generator"):
        templates = msgspec.json.decode(known.read_bytes(), type=Templates) if known.is_file() else {}
    if card.method == "ft":
        base_of = next(
            (one for one in beside if one.weights == card.base and WeightDifference.fits(one.network.module)), None
        )
        if base_of is not None and not any(one.network is base_of.network and one.difference for one in beside):
            with hub.loading(str(folder)):
                difference = WeightDifference(base_of.network.module, folder)
            return ResponseGenerator(
                text, card, base_of.network, base_of.weights, templates=templates, difference=difference
            )
        network = TextNetwork(folder, length=card.length, answer=card.answer)
        return ResponseGenerator(text, card, network, fingerprint(network.module), templates=templates)
    known_weights = next((one for one in beside if one.weights == card.base), None)
    if known_weights is not None:
        network, weights = known_weights.network, known_weights.weights
    else:
        network = TextNetwork(folder_of(base or card.model), length=card.length, answer=card.answer)
        weights = fingerprint(network.module)
    if weights != card.base:
        hint = f"they were trained on {card.model}; name the right base"
        raise UserError("its prefixes belong to other weights than these", file=text, hint=hint)
    layers = prefix.attention_layers(network.module)
    return ResponseGenerator(
        text, card, network, weights, Prefixed(layers, prefix.load(folder, layers)), templates=templates
    )
