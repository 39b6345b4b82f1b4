"""BERTScore (Zhang et al., 2020) of a response against its document, with any encoder of transformers.

Each token of one text is matched to the token of the other whose vector is nearest; precision is the mean over the
response's tokens, recall over the document's, the value their F1, as PMI-Faith's authors take it. As in the public
script, the marks that an encoder puts around a text may be matched to, and do not count themselves. The document is
lower-cased and the response is not (theirs). No rescaling by a baseline: it moves no ranking.

A document that is longer than the encoder reads is read in overlapping windows, of which the best counts
(`window:best`); the script cuts it. A response that is too long loses its end, and is counted.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from troth.core.records import Grounded
from troth.grounding.metrics import Models, Progress, Value
from troth.models.batches import Room, encodable, planned
from troth.models.hf import ENTAILMENT, reach
from troth.models.hub import Source, embedded, load, source
from troth.models.remembered import remembered
from troth.storage.cache import Store, key

ROOM = Room(items=32, units=8192)
CHUNK = 128  # responses whose vectors are held at a time
# Which layer is best, as the authors of BERTScore found; the last one for models that are not here.
LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "distilbert-base-uncased": 5,
    "roberta-base": 10,
    "roberta-large": 17,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
}

_KEPT = struct.Struct("<3d?")  # precision, recall, F1, and whether the response was cut


class Vectors(NamedTuple):
    """Of the tokens of one window of a text: each of length 1, and whether it counts."""

    tokens: NDArray[np.float32]
    counts: NDArray[np.bool_]


class Encoder(Protocol):
    @property
    def name(self) -> str: ...

    def vectors(self, texts: Sequence[str]) -> list[list[Vectors]]:
        """For each text its windows, the first one first."""
        ...


class HfEncoder:
    """An encoder of transformers. `layer` counts from 1; None is the best known one, or the last."""

    def __init__(self, source: Source, *, layer: int | None = None) -> None:
        known = source.name.removeprefix("hf:").partition("@")[0]
        self.source, self.layer = source, layer if layer is not None else LAYERS.get(known)
        self._loaded: tuple[Any, Any, int] | None = None

    @property
    def name(self) -> str:
        return f"{self.source.name}#{self.layer or 'last'}"

    def vectors(self, texts: Sequence[str]) -> list[list[Vectors]]:
        tokenizer, model, limit = self._model()
        distinct = list(dict.fromkeys(texts))
        rows = tokenizer(
            [encodable(text) for text in distinct],
            truncation=True,
            max_length=limit,
            stride=limit // 4,
            return_overflowing_tokens=True,
            return_special_tokens_mask=True,
        )
        found: dict[int, Vectors] = {}
        for batch in planned([len(row) for row in rows["input_ids"]], ROOM):
            found.update(zip(batch, self._read(tokenizer, model, rows, batch), strict=True))
        windows: dict[str, list[Vectors]] = {text: [] for text in distinct}
        for row, text in enumerate(rows["overflow_to_sample_mapping"]):
            windows[distinct[text]].append(found[row])
        return [windows[text] for text in texts]

    def _read(self, tokenizer: Any, model: Any, rows: Any, batch: Sequence[int]) -> list[Vectors]:
        import torch

        width = max(len(rows["input_ids"][row]) for row in batch)
        given = {}
        for name in ("input_ids", "token_type_ids", "attention_mask"):
            if name in rows:
                fill = tokenizer.pad_token_id or 0 if name == "input_ids" else 0
                padded = [rows[name][row] + [fill] * (width - len(rows[name][row])) for row in batch]
                given[name] = torch.tensor(padded)
        with torch.inference_mode():
            made = model(**given, output_hidden_states=self.layer is not None)
            hidden = made.last_hidden_state if self.layer is None else made.hidden_states[self.layer]
            hidden = torch.nn.functional.normalize(hidden.float(), dim=-1).numpy()
        read = []
        for place, row in enumerate(batch):
            special = np.array(rows["special_tokens_mask"][row], dtype=np.bool_)
            read.append(Vectors(hidden[place, : len(special)], ~special))
        return read

    def _model(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModel")
            self._loaded = tokenizer, model, reach(tokenizer, model.config, ENTAILMENT)
        return self._loaded


class Match(NamedTuple):
    precision: float
    recall: float
    f1: float


def match(said: Vectors, grounds: Vectors) -> Match:
    """One response against one window. A text without a token that counts matches nothing."""
    if not said.counts.any() or not grounds.counts.any():
        return Match(0.0, 0.0, 0.0)
    near = (said.tokens @ grounds.tokens.T).astype(np.float64)
    precision = float(near.max(axis=1)[said.counts].mean())
    recall = float(near.max(axis=0)[grounds.counts].mean())
    total = precision + recall
    return Match(precision, recall, 2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True)
class BertScore:
    encoder: Encoder
    store: Store
    name: str = "bertscore"
    cut: set[str] = field(default_factory=set, compare=False)  # ids of items whose response lost its end

    @property
    def recipe(self) -> str:
        return f"encoder:{self.encoder.name}|of:f1|doc:lower|window:best|rescale:none"

    @property
    def remarks(self) -> Sequence[str]:
        return [f"{len(self.cut)} responses were longer than the encoder reads, and lost their end"] if self.cut else []

    def matches(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Match]:
        pairs = [(item.document.lower(), item.response) for item in items]
        kept = remembered(
            self.store,
            self.encoder.name,
            pairs,
            named=lambda pair: key("bertscore", self.encoder.name, *pair),
            size=lambda pair: len(pair[0]) + len(pair[1]),
            compute=self._compute,
            chunk=CHUNK,
            order=lambda pair: pair[0],
            progress=progress,
        )
        found = [_KEPT.unpack(value) for value in kept]
        self.cut.update(item.id for item, value in zip(items, found, strict=True) if value[3])
        return [Match(*value[:3]) for value in found]

    def _compute(self, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, self.encoder.vectors(texts), strict=True))
        made = []
        for document, response in pairs:
            said, *rest = vectors[response]
            best = max((match(said, grounds) for grounds in vectors[document]), key=lambda one: one.f1)
            made.append(_KEPT.pack(*best, bool(rest)))
        return made

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        return [one.f1 for one in self.matches(items, progress=progress)]


def encoder(name: str = "embedded") -> Encoder:
    """The encoder of that name: `embedded`, `hf:ORG/MODEL@REV` or a folder."""
    return HfEncoder(embedded("minilm-l6") if name == "embedded" else source(name))


def bertscore(models: Models) -> BertScore:
    """Nearness of the response's tokens to the document's, by an encoder."""
    return BertScore(encoder(models.encoder), models.store)
