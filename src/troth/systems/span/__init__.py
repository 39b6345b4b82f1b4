"""The recipe `span`: a schema-guided tracker that points at words, at possible values and at what is known.

After SGP-DST: for each slot of a service the network says where its value comes from (`examples.Status`), and which
words, which possible value, or which other slot. All slots, values and intents of a service are answered in one pass
over the turn, as queries that look at its words. The same network serves any schema, and any list of tools.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np

from troth.core.records import Service, State
from troth.systems.data import TrackerTurn
from troth.systems.recipe import Recipe, TrackerModel
from troth.systems.span.batches import Floats, Inputs, inputs, targets
from troth.systems.span.decode import Answers, update
from troth.systems.span.examples import SPOKEN, Tokens, annotated, asked
from troth.systems.span.layout import Layout, layout
from troth.systems.span.memory import Memory, ServiceMemory

WEIGHTS, TOKENIZER = "span.safetensors", "tokenizer.json"
AT_ONCE = 64  # texts of a schema that are encoded together


class SpanExample(NamedTuple):
    """A user turn, and the services of its dialogue so far."""

    turn: TrackerTurn
    services: tuple[Service, ...]


class Span(Recipe, frozen=True):
    """Points at words, possible values and offers, for all slots of a service in one pass (any BERT-like encoder)."""

    base: ClassVar[str] = "minilm-l6"
    families: ClassVar[tuple[str, ...]] = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
    upper: int = 2  # layers of the encoder that are trained; those below stay as they are
    dropout: float = 0.1

    def open(self, model: str, *, trained: bool) -> SpanModel:
        return SpanModel(self.files(model), self, trained=trained)


class SpanModel(TrackerModel[SpanExample]):
    """An encoder, of which the upper layers are trained, and queries that look at what it read."""

    def __init__(self, folder: Path, recipe: Span, *, trained: bool) -> None:
        import torch
        from tokenizers import Tokenizer
        from transformers import AutoConfig, AutoModel

        from troth.models import hub
        from troth.systems.span.network import SpanNetwork
        from troth.systems.training import load_weights

        with hub.loading(str(folder)):
            config = AutoConfig.from_pretrained(folder)
            self.encoder = AutoModel.from_pretrained(folder, config=config, use_safetensors=True).eval()
            tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.encoder.requires_grad_(requires_grad=False)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.folder, self.upper, self.padding = folder, recipe.upper, config.pad_token_id or 0
        begin, *_, end = tokenizer.encode("a").ids
        self.tokenizer, self.tokens = tokenizer, Tokens(tokenizer, (begin, end))
        self.module = SpanNetwork(self.encoder, recipe.upper, recipe.dropout)
        if trained:
            load_weights(self.module, folder / WEIGHTS)
        self._torch = torch
        self._layouts: dict[int, tuple[Service, Layout]] = {}
        self._vectors: dict[str, Floats] = {}
        self._tables: dict[int, tuple[Layout, Floats]] = {}

    # -- learning --

    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[SpanExample]:
        services: dict[str, Service] = {}
        for turn in turns:
            if all(said.speaker == "SYSTEM" for said in turn.past):
                services = {}
            services = services | {service.name: service for service in turn.services}
            yield SpanExample(turn, tuple(services.values()))

    def size(self, example: SpanExample) -> int:
        queries = max(len(self._layout(service).kinds) for service in example.services)
        return min(2 * SPOKEN, (len(example.turn.system) + len(example.turn.user)) // 4) + 8 * queries

    def collate(self, examples: Sequence[SpanExample], _rng: Random) -> Any:
        layouts = [{service.name: self._layout(service) for service in one.services} for one in examples]
        made = [annotated(one.turn, mine, self.tokens) for one, mine in zip(examples, layouts, strict=True)]
        arrays = inputs(made, layouts, self._table, self.padding)
        return arrays, targets(made, arrays)

    def loss(self, batch: Any) -> Any:
        from troth.systems.span.losses import losses

        arrays, wanted = batch
        tensors = {name: self._torch.from_numpy(array) for name, array in wanted._asdict().items()}
        tensors["kinds"] = self._torch.from_numpy(arrays.kinds)
        return sum(losses(self._outputs(arrays), tensors).values()) / len(arrays.ids)

    # -- tracking --

    def track(self, dialogues: Sequence[Sequence[TrackerTurn]]) -> list[list[dict[str, State]]]:
        memories: list[Memory] = [{} for _ in dialogues]
        layouts: list[dict[str, Layout]] = [{} for _ in dialogues]
        states: list[list[dict[str, State]]] = [[] for _ in dialogues]
        for number in range(max(map(len, dialogues), default=0)):
            going = [place for place, turns in enumerate(dialogues) if number < len(turns)]
            for place in going:
                for service in dialogues[place][number].services:
                    layouts[place].setdefault(service.name, self._layout(service))
                    memories[place].setdefault(service.name, ServiceMemory())
            turns = [dialogues[place][number] for place in going]
            made = [asked(turn, layouts[at], memories[at], self.tokens) for at, turn in zip(going, turns, strict=True)]
            answers = self.answers(inputs(made, [layouts[place] for place in going], self._table, self.padding))
            row = 0
            for place, turn, example in zip(going, turns, made, strict=True):
                mine = Answers(answers.scores[row:], answers.places[:, row:], answers.carried[row:])
                states[place].append(update(memories[place], turn, example, mine))
                row += len(example.rows)
        return states

    def answers(self, arrays: Inputs) -> Answers:
        """What the network says, as arrays."""
        self.module.eval()
        with self._torch.inference_mode():
            return Answers(*(tensor.numpy() for tensor in self._outputs(arrays)))

    def _outputs(self, arrays: Inputs) -> Any:
        from troth.systems.span.network import lower

        ids, segments, *rows = (self._torch.from_numpy(array) for array in arrays)
        with self._torch.no_grad():
            states = lower(self.encoder, ids, segments > 0, self.upper)
        return self.module(states, segments, tuple(rows))

    # -- the schema --

    def _layout(self, service: Service) -> Layout:
        known = self._layouts.get(id(service))
        if known is None:
            known = self._layouts[id(service)] = service, layout(service)  # the service is kept, so that its id is, too
        return known[1]

    def _table(self, mine: Layout) -> Floats:
        known = self._tables.get(id(mine))
        if known is None:
            new = [text for text in dict.fromkeys(mine.texts) if text not in self._vectors]
            for start in range(0, len(new), AT_ONCE):
                some = new[start : start + AT_ONCE]
                self._vectors |= dict(zip(some, self.sentences(some), strict=True))
            known = self._tables[id(mine)] = mine, np.stack([self._vectors[text] for text in mine.texts])
        return known[1]

    def sentences(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts of a schema, by the encoder as it was pretrained."""
        from troth.systems.span.network import sentence

        encoded = [encoding.ids[: 2 * SPOKEN] for encoding in self.tokenizer.encode_batch(list(texts))]
        ids = np.full((len(texts), max(map(len, encoded))), self.padding, np.int64)
        for at, mine in enumerate(encoded):
            ids[at, : len(mine)] = mine
        tensor = self._torch.from_numpy(ids)
        with self._torch.no_grad():
            vectors: Floats = sentence(self.encoder, tensor, tensor != self.padding).numpy()
        return vectors

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        from troth.systems.training import weights

        self.encoder.save_pretrained(folder)
        save_file(weights(self.module), folder / WEIGHTS)
        shutil.copyfile(self.folder / TOKENIZER, folder / TOKENIZER)
