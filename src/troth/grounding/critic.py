"""FaithCritic (Dziri et al., 2022) and any other classifier of (document, response), by name.

As in the code of PMI-Faith's authors, the value is 1 if the classifier's most probable label is the faithful one, else
0. For FaithCritic that is its first label. For another model it is found by its name (entailment, faithful, supported,
consistent, attributable); two labels without such names are taken to be FaithCritic's. `faithcritic_soft` is the
label's probability instead of 1 and 0.

A document that is too long is read in overlapping windows, and the best one counts (`window:best`); the authors cut it.
A response that would leave no room for a document loses its end, and is counted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.records import Grounded
from troth.grounding.metrics import Value, cut_remarks, faithfulness
from troth.grounding.transformer import Transformer
from troth.models import TextPair
from troth.models.batches import Room, model_inputs, plan_batches, replace_surrogates, tensors
from troth.models.cached import compute_cached_pairs
from troth.models.hub import source, tokenizing
from troth.storage.cache import Store

FAITHCRITIC = faithfulness(
    "faithcritic", "FaithCritic", "1 where a classifier finds the response faithful to the document, else 0",
    needs=("critic",), compute=lambda models: Critic(HfClassifier(source(models.critic)), models.store), top=1.0,
)  # fmt: skip
FAITHCRITIC_SOFT = FAITHCRITIC.derive(
    "faithcritic_soft", title="FaithCritic, probability", about="probability of the faithful label, by a classifier",
    variant="soft", compute=lambda models: Critic(HfClassifier(source(models.critic)), models.store, soft=True),
)  # fmt: skip
ROOM = Room(items=32, units=8192)
CHUNK = 128
LEAST = 64  # least tokens of the document in a window
FAITHFUL = re.compile(r"(entail|faithful|support|consisten|attribut|ground)", re.IGNORECASE)
UNNAMED = re.compile(r"(label_)?\d+", re.IGNORECASE)

_VERDICT = struct.Struct("<d??")


class CriticVerdict(NamedTuple):
    probability: float  # of the faithful label, in the best window
    faithful: bool  # whether it is the most probable one there
    cut: bool  # whether the response lost its end


class HfClassifier(Transformer):
    """A sequence classifier of transformers."""

    head = "AutoModelForSequenceClassification"

    @cached_property
    def label(self) -> int:
        return faithful_label(self.loaded.model.config.id2label, self.name)

    def verdicts(self, pairs: Sequence[TextPair]) -> list[CriticVerdict]:
        with tokenizing(self.name):
            windows, cut = zip(*map(self._windows, pairs), strict=True)
        rows = [(owner, row) for owner, own_rows in enumerate(windows) for row in own_rows]
        best: list[tuple[float, bool]] = [(-1.0, False)] * len(pairs)
        for batch in plan_batches([len(row["input_ids"]) for _, row in rows], ROOM):
            for index, verdict in zip(batch, self._read([rows[index][1] for index in batch]), strict=True):
                owner = rows[index][0]
                best[owner] = max(best[owner], verdict)
        return [CriticVerdict(*verdict, lost) for verdict, lost in zip(best, cut, strict=True)]

    def _windows(self, pair: TextPair) -> tuple[list[dict[str, list[int]]], bool]:
        """The pair in tokens, once for each window of the document, and whether the response was cut."""
        tokenizer, _, limit = self.loaded
        document, response = (replace_surrogates(text) for text in pair)
        tokens = tokenizer(response, add_special_tokens=False)["input_ids"]
        room = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(LEAST, limit // 4)
        cut = len(tokens) > room
        if cut:
            response = tokenizer.decode(tokens[:room])
        free = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(len(tokens), room)
        encoded = tokenizer(
            document, response, truncation="only_first", max_length=limit, stride=free // 4,
            return_overflowing_tokens=True,
        )  # fmt: skip
        return model_inputs(encoded), cut

    def _read(self, rows: Sequence[Mapping[str, list[int]]]) -> list[tuple[float, bool]]:
        import torch

        tokenizer, model, _ = self.loaded
        if tokenizer.pad_token_id is None and len(rows) > 1:
            return [verdict for row in rows for verdict in self._read([row])]
        with torch.inference_mode():
            logits = model(**tensors(rows, tokenizer.pad_token_id)).logits.double()
        chances = torch.softmax(logits, dim=-1)[:, self.label].tolist()
        return list(zip(chances, (logits.argmax(dim=-1) == self.label).tolist(), strict=True))


def faithful_label(id2label: Mapping[int, str], name: str) -> int:
    """The number of the label that means that the response is supported."""
    labels = {int(number): str(label).strip() for number, label in id2label.items()}
    matches = [number for number, label in labels.items() if FAITHFUL.match(label)]
    if len(matches) == 1:
        return matches[0]
    if len(labels) == 2 and all(UNNAMED.fullmatch(label) for label in labels.values()):
        return min(labels)
    names = ", ".join(labels.values())
    hint = "its config.json must name one of them entailment, faithful or supported in id2label"
    raise UserError(f"which label of '{name}' means faithful? It has {names}", hint=hint)


@dataclass(frozen=True)
class Critic:
    """The verdict of a classifier, or with `soft` its probability."""

    classifier: HfClassifier
    store: Store
    soft: bool = False
    cut: set[str] = field(default_factory=set, compare=False)  # ids of items whose response lost its end

    @property
    def metric(self) -> Metric:
        return FAITHCRITIC_SOFT if self.soft else FAITHCRITIC

    @property
    def recipe(self) -> dict[str, Any]:
        return {"critic": self.classifier.name, "of": "probability" if self.soft else "label", "window": "best"}

    @property
    def remarks(self) -> Sequence[str]:
        return cut_remarks(self.cut, "response", "the model")

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        name = self.classifier.name
        stored = compute_cached_pairs(
            self.store, name, [(item.document, item.response) for item in items],
            lambda pairs: [_VERDICT.pack(*verdict) for verdict in self.classifier.verdicts(pairs)],
            key_parts=("critic", name), chunk=CHUNK,
            order=lambda pair: -(len(pair[0]) // 256),  # those of similar length together
        )  # fmt: skip
        verdicts = [CriticVerdict(*_VERDICT.unpack(value)) for value in stored]
        self.cut.update(item.id for item, verdict in zip(items, verdicts, strict=True) if verdict.cut)
        return [verdict.probability if self.soft else float(verdict.faithful) for verdict in verdicts]
