"""The recipe `span`: a schema-guided tracker that points at words, at possible values and at what is known.

After SGP-DST: for each slot of a service the network says where its value comes from (`examples.Status`), and which
words, which possible value, or which other slot. All slots, values and intents of a service are answered in one pass
over the turn, as queries that look at its words. The same network serves any schema, and any list of tools.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

from troth.core.errors import UserError
from troth.core.records import Service
from troth.systems.data import TrackerTurn
from troth.systems.recipe import Recipe, TrackerModel, TrainableTracker
from troth.systems.span.batches import Floats, Inputs, Ints, inputs, split_rows, targets
from troth.systems.span.decode import Answers
from troth.systems.span.examples import SPOKEN, Tokens, label_turn
from troth.systems.span.exported import MODEL, ExportedSpan
from troth.systems.span.tracking import TOKENIZER, Texts, Tracking, pad_texts

GROUPS = 3  # parts of a batch with services of similar size: less padding
WEIGHTS, ENCODER = "span.safetensors", "model.safetensors"


class SpanExample(NamedTuple):
    """A user turn, and the services of its dialogue so far."""

    turn: TrackerTurn
    services: tuple[Service, ...]


class SpanRecipe(Recipe, frozen=True):
    """Points at words, possible values and offers, for all slots of a service in one pass (any BERT-like encoder)."""

    base: ClassVar[str] = "minilm-l6"
    families: ClassVar[tuple[str, ...]] = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
    upper: int = 2  # layers of the encoder that are trained; those below stay as they are
    dropout: float = 0.1

    def open(self, model: str, *, trained: bool) -> TrackerModel:
        folder = self.files(model) if not trained or (Path(model) / ENCODER).is_file() else Path(model)
        if trained and (folder / MODEL).is_file():
            return ExportedSpan(folder)
        return SpanModel(folder, self, trained=trained)


class SpanModel(Tracking, TrainableTracker[SpanExample]):
    """An encoder with trained upper layers, and queries that attend to its output."""

    factors: ClassVar[Mapping[str, float]] = {"layers.": 0.2}  # pretrained layers need smaller steps than new ones

    def __init__(self, folder: Path, recipe: SpanRecipe, *, trained: bool) -> None:
        import torch

        from troth.systems.checkpoint import load_weights

        self.encoder, padding = load_encoder(folder)
        super().__init__(Tokens.read(folder / TOKENIZER, padding))
        self.folder, self.upper, self._torch = folder, recipe.upper, torch
        self.module = self.make_network(recipe)
        if trained:
            load_weights(self.module, folder / WEIGHTS)

    def make_network(self, recipe: SpanRecipe) -> Any:
        from troth.systems.span.network import SpanNetwork

        return SpanNetwork(self.encoder, recipe.upper, recipe.dropout)

    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[SpanExample]:
        services: dict[str, Service] = {}
        for turn in turns:
            if all(said.speaker == "SYSTEM" for said in turn.past):
                services = {}
            services = services | {service.name: service for service in turn.services}
            yield SpanExample(turn, tuple(services.values()))

    def size(self, example: SpanExample) -> int:
        queries = max(len(self.layout(service).kinds) for service in example.services)
        return min(2 * SPOKEN, (len(example.turn.system) + len(example.turn.user)) // 4) + 8 * queries

    def collate(self, examples: Sequence[SpanExample], _rng: Random) -> Any:
        layouts = [{service.name: self.layout(service) for service in one.services} for one in examples]
        made = [label_turn(one.turn, mine, self.tokens) for one, mine in zip(examples, layouts, strict=True)]
        arrays = inputs(made, layouts, self.table, self.tokens.padding)
        return arrays, targets(made, arrays)

    def loss(self, batch: Any) -> Any:
        from troth.systems.span.losses import losses
        from troth.systems.span.network import Outputs

        self.forget()  # it will read otherwise when it has learned from this
        arrays, wanted = batch
        ids, segments = self._torch.from_numpy(arrays.ids), self._torch.from_numpy(arrays.segments)
        words = self.module.read_words(self._lower(ids, segments), segments)
        total = self._torch.zeros(())
        for part, target in split_rows(arrays, wanted, GROUPS):
            _, _, *rows = (self._torch.from_numpy(array) for array in part)
            outputs = Outputs(*(one.float() for one in self.module.ask(words, segments, tuple(rows))))
            tensors = {name: self._torch.from_numpy(array) for name, array in target.items()}
            tensors["kinds"] = rows[2]
            total = total + sum(losses(outputs, tensors).values())
        return total / len(arrays.ids)

    def read(self, ids: Ints, segments: Ints) -> Floats:
        self.module.eval()
        whose = self._torch.from_numpy(segments)
        with self._torch.inference_mode():
            words: Floats = (
                self.module.read_words(self._lower(self._torch.from_numpy(ids), whose), whose).float().numpy()
            )
        return words

    def ask(self, words: Floats, arrays: Inputs) -> Answers:
        self.module.eval()
        _, segments, *rows = (self._torch.from_numpy(array) for array in arrays)
        with self._torch.inference_mode():
            answers = self.module.ask(self._torch.from_numpy(words), segments, tuple(rows))
            return Answers(*(tensor.float().numpy() for tensor in answers))

    def _lower(self, ids: Any, segments: Any) -> Any:
        from troth.systems.span.network import lower_states

        with self._torch.no_grad():
            return lower_states(self.encoder, ids, segments > 0, self.upper)

    def sentences(self, texts: Texts) -> Floats:
        from troth.systems.span.network import sentence

        ids = self._torch.from_numpy(pad_texts(texts, self.tokens))
        with self._torch.no_grad():
            vectors: Floats = sentence(self.encoder, ids, ids != self.tokens.padding).numpy()
        return vectors

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        from troth.systems.checkpoint import weights

        self.encoder.config.save_pretrained(folder)
        save_file(weights(self.encoder), folder / ENCODER, metadata={"format": "pt"})
        save_file(weights(self.module), folder / WEIGHTS)
        shutil.copyfile(self.folder / TOKENIZER, folder / TOKENIZER)


def load_encoder(folder: Path) -> tuple[Any, int]:
    """The encoder in a folder, frozen, and its token of padding."""
    import transformers

    from troth.models import hub

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with hub.loading(str(folder)):
        encoder, report = transformers.AutoModel.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler"))
    if missing:  # transformers would draw them
        raise UserError(f"the encoder has no weights for {', '.join(missing[:3])}", file=str(folder))
    return encoder.eval().requires_grad_(requires_grad=False), encoder.config.pad_token_id or 0
