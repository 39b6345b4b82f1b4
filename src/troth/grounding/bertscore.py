"""BERTScore (Zhang et al., 2020) of a response against its document, with any encoder of transformers.

Each token of one text is matched to the token of the other text whose vector is nearest; precision is the mean over the
response's tokens, recall over the document's, and the value is their F1, as PMI-Faith's authors take it. As in the
public script, the special tokens around a text can be matched to but do not count themselves. As in the authors' code,
the document is lower-cased and the response is not. No rescaling by a baseline: it does not change any ranking.

A document longer than the encoder reads is read in overlapping windows, and the best one counts (`window:best`); the
script cuts it. A response that is too long loses its end, and is counted.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.metric import Metric
from troth.core.records import Grounded
from troth.grounding.metrics import Value, cut_remarks, faithfulness
from troth.grounding.transformer import Transformer
from troth.models import TextPair
from troth.models.batches import Room, model_inputs, plan_batches, replace_surrogates, tensors
from troth.models.cached import compute_cached_pairs
from troth.models.hub import ModelFiles, embedded_files, source, tokenizing
from troth.storage.cache import Store

BERTSCORE = faithfulness(
    "bertscore", "BERTScore", "nearness of the response's tokens to the document's, by an encoder",
    needs=("encoder",), compute=lambda models: BertScore(load_encoder(models.encoder), models.store),
    low=-1.0, top=1.0,
)  # fmt: skip
ROOM = Room(items=32, units=8192)
CHUNK = 128  # responses whose vectors are held at a time
# The best layer, as the authors of BERTScore found; the last one for models that are not listed.
LAYERS = {
    "bert-base-uncased": 9, "bert-large-uncased": 18, "distilbert-base-uncased": 5, "roberta-base": 10,
    "roberta-large": 17, "microsoft/deberta-base-mnli": 9, "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
}  # fmt: skip

_MATCH = struct.Struct("<3d?")  # precision, recall, F1, and whether the response was cut


class Vectors(NamedTuple):
    """Of the tokens of one window of a text: each of length 1, and whether it counts."""

    tokens: NDArray[np.float32]
    counts: NDArray[np.bool_]


class HfEncoder(Transformer):
    """An encoder of transformers. `layer` counts from 1; None is the best known one, or the last."""

    head = "AutoModel"

    def __init__(self, files: ModelFiles, *, layer: int | None = None) -> None:
        super().__init__(files)
        known = files.name.removeprefix("hf:").partition("@")[0]
        self.layer = layer if layer is not None else LAYERS.get(known)

    @property
    def name(self) -> str:
        return f"{self.files.name}#{self.layer or 'last'}"

    def vectors(self, texts: Sequence[str]) -> list[list[Vectors]]:
        """The windows of each text, the first one first."""
        tokenizer, _, limit = self.loaded
        distinct = list(dict.fromkeys(texts))
        with tokenizing(self.name):
            rows = tokenizer(
                [replace_surrogates(text) for text in distinct], truncation=True, max_length=limit, stride=limit // 4,
                return_overflowing_tokens=True, return_special_tokens_mask=True,
            )  # fmt: skip
        inputs, by_row = model_inputs(rows), dict[int, Vectors]()
        for batch in plan_batches([len(row) for row in rows["input_ids"]], ROOM):
            special = [rows["special_tokens_mask"][row] for row in batch]
            by_row.update(zip(batch, self._read([inputs[row] for row in batch], special), strict=True))
        windows: dict[str, list[Vectors]] = {text: [] for text in distinct}
        for row, text in enumerate(rows["overflow_to_sample_mapping"]):
            windows[distinct[text]].append(by_row[row])
        return [windows[text] for text in texts]

    def _read(self, rows: Sequence[Mapping[str, list[int]]], special: Sequence[list[int]]) -> list[Vectors]:
        import torch

        tokenizer, model, _ = self.loaded
        inputs = tensors(rows, tokenizer.pad_token_id)
        with torch.inference_mode():
            output = model(**inputs, output_hidden_states=self.layer is not None)
            hidden = output.last_hidden_state if self.layer is None else output.hidden_states[self.layer]
            hidden = torch.nn.functional.normalize(hidden.float(), dim=-1).numpy()
        vectors = []
        for states, mask in zip(hidden, special, strict=True):
            vectors.append(Vectors(states[: len(mask)], ~np.array(mask, dtype=np.bool_)))
        return vectors


class Match(NamedTuple):
    precision: float
    recall: float
    f1: float


def match_tokens(response: Vectors, document: Vectors) -> Match:
    """One response against one window. A text without a token that counts matches nothing."""
    if not response.counts.any() or not document.counts.any():
        return Match(0.0, 0.0, 0.0)
    near = (response.tokens @ document.tokens.T).astype(np.float64)
    precision = float(near.max(axis=1)[response.counts].mean())
    recall = float(near.max(axis=0)[document.counts].mean())
    total = precision + recall
    return Match(precision, recall, 2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True)
class BertScore:
    """F1 of the nearest tokens of response and document."""

    encoder: HfEncoder
    store: Store
    metric: Metric = BERTSCORE
    cut: set[str] = field(default_factory=set, compare=False)  # ids of items whose response lost its end

    @property
    def recipe(self) -> dict[str, Any]:
        return {"encoder": self.encoder.name, "of": "f1", "doc": "lower", "window": "best", "rescale": "none"}

    @property
    def remarks(self) -> Sequence[str]:
        return cut_remarks(self.cut, "response", "the encoder")

    def matches(self, items: Sequence[Grounded]) -> list[Match]:
        parts = ("bertscore", self.encoder.name, self.encoder.files.identity)
        pairs = [(item.document.lower(), item.response) for item in items]
        stored = compute_cached_pairs(self.store, self.encoder.name, pairs, self._compute, key_parts=parts, chunk=CHUNK)
        values = [_MATCH.unpack(value) for value in stored]
        self.cut.update(item.id for item, value in zip(items, values, strict=True) if value[3])
        return [Match(*value[:3]) for value in values]

    def _compute(self, pairs: Sequence[TextPair]) -> list[bytes]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, self.encoder.vectors(texts), strict=True))
        values = []
        for document, response in pairs:
            first, *rest = vectors[response]
            best = max((match_tokens(first, grounds) for grounds in vectors[document]), key=lambda match: match.f1)
            values.append(_MATCH.pack(*best, bool(rest)))
        return values

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        return [match.f1 for match in self.matches(items)]


def load_encoder(name: str = "embedded") -> HfEncoder:
    """The encoder of this name: `embedded`, `hf:ORG/MODEL@REV` or a folder."""
    return HfEncoder(embedded_files("minilm-l6") if name == "embedded" else source(name))
