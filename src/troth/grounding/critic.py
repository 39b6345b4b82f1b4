"""FaithCritic (Dziri et al., 2022) and any other classifier of (document, response), by name.

As in the code of PMI-Faith's authors: the value is 1 if the classifier's most probable label is the faithful one, else
0. For FaithCritic that is its first label. Another model's is found by its name (entailment, faithful, supported,
consistent, attributable); two labels without telling names are taken to be FaithCritic's. `faithcritic_soft` is the
label's probability in place of 1 and 0.

A document that is too long is read in overlapping windows, of which the best counts (`window:best`); the authors cut
it. A response that would leave no room for a document loses its end, and is counted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding.metrics import Models, Progress, Value
from troth.models import Pair
from troth.models.batches import Room, encodable, planned
from troth.models.hf import ENTAILMENT, reach
from troth.models.hub import Source, load, source
from troth.models.remembered import remembered
from troth.storage.cache import Store, key

ROOM = Room(items=32, units=8192)
CHUNK = 128
LEAST = 64  # tokens of the document that a window has at least
FAITHFUL = re.compile(r"(entail|faithful|support|consisten|attribut|ground)", re.IGNORECASE)
UNNAMED = re.compile(r"(label_)?\d+", re.IGNORECASE)

_KEPT = struct.Struct("<d??")


class Judged(NamedTuple):
    probability: float  # of the faithful label, in the best window
    faithful: bool  # it is the most probable one there
    cut: bool  # the response lost its end


class Classifier(Protocol):
    @property
    def name(self) -> str: ...

    def judged(self, pairs: Sequence[Pair]) -> list[Judged]: ...


class HfClassifier:
    """A sequence classifier of transformers."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._loaded: tuple[Any, Any, int, int] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def judged(self, pairs: Sequence[Pair]) -> list[Judged]:
        rows: list[dict[str, list[int]]] = []
        owners: list[int] = []
        cut: list[bool] = []
        for number, pair in enumerate(pairs):
            windows, lost = self._windows(pair)
            rows += windows
            owners += [number] * len(windows)
            cut.append(lost)
        best: list[tuple[float, bool]] = [(-1.0, False)] * len(pairs)
        for batch in planned([len(row["input_ids"]) for row in rows], ROOM):
            for row, found in zip(batch, self._read([rows[row] for row in batch]), strict=True):
                best[owners[row]] = max(best[owners[row]], found)
        return [Judged(*found, lost) for found, lost in zip(best, cut, strict=True)]

    def _windows(self, pair: Pair) -> tuple[list[dict[str, list[int]]], bool]:
        tokenizer, _, limit, _ = self._model()
        document, response = (encodable(text) for text in pair)
        said = tokenizer(response, add_special_tokens=False)["input_ids"]
        room = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(LEAST, limit // 4)
        cut = len(said) > room
        if cut:
            response = tokenizer.decode(said[:room])
        free = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(len(said), room)
        found = tokenizer(
            document,
            response,
            truncation="only_first",
            max_length=limit,
            stride=free // 4,
            return_overflowing_tokens=True,
        )
        names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in found]
        return [{name: found[name][row] for name in names} for row in range(len(found["input_ids"]))], cut

    def _read(self, rows: Sequence[Mapping[str, list[int]]]) -> list[tuple[float, bool]]:
        import torch

        tokenizer, model, _, label = self._model()
        if tokenizer.pad_token_id is None and len(rows) > 1:
            return [found for row in rows for found in self._read([row])]
        width = max(len(row["input_ids"]) for row in rows)
        fill = {"input_ids": tokenizer.pad_token_id or 0}
        given = {
            name: torch.tensor([row[name] + [fill.get(name, 0)] * (width - len(row[name])) for row in rows])
            for name in rows[0]
        }
        with torch.inference_mode():
            logits = model(**given).logits.double()
        chances = torch.softmax(logits, dim=-1)[:, label].tolist()
        return list(zip(chances, (logits.argmax(dim=-1) == label).tolist(), strict=True))

    def _model(self) -> tuple[Any, Any, int, int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModelForSequenceClassification")
            label = faithful(model.config.id2label, self.name)
            self._loaded = tokenizer, model, reach(tokenizer, model.config, ENTAILMENT), label
        return self._loaded


def faithful(id2label: Mapping[int, str], name: str) -> int:
    """Which label means that the response is supported."""
    labels = {int(place): str(label).strip() for place, label in id2label.items()}
    telling = [place for place, label in labels.items() if FAITHFUL.match(label)]
    if len(telling) == 1:
        return telling[0]
    if len(labels) == 2 and all(UNNAMED.fullmatch(label) for label in labels.values()):
        return min(labels)
    given = ", ".join(labels.values())
    hint = "its config.json must name one of them entailment, faithful, supported or the like in id2label"
    raise UserError(f"which label of '{name}' means faithful? It has {given}", hint=hint)


@dataclass(frozen=True)
class Critic:
    classifier: Classifier
    store: Store
    soft: bool = False
    name: str = "faithcritic"
    cut: set[str] = field(default_factory=set, compare=False)

    @property
    def recipe(self) -> str:
        return f"critic:{self.classifier.name}|of:{'probability' if self.soft else 'label'}|window:best"

    @property
    def remarks(self) -> Sequence[str]:
        return [f"{len(self.cut)} responses were longer than the model reads, and lost their end"] if self.cut else []

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        kept = remembered(
            self.store,
            self.classifier.name,
            [(item.document, item.response) for item in items],
            named=lambda pair: key("critic", self.classifier.name, *pair),
            size=lambda pair: len(pair[0]) + len(pair[1]),
            compute=lambda pairs: [_KEPT.pack(*one) for one in self.classifier.judged(pairs)],
            chunk=CHUNK,
            order=lambda pair: -(len(pair[0]) // 256),  # those of like length together
            progress=progress,
        )
        found = [Judged(*_KEPT.unpack(value)) for value in kept]
        self.cut.update(item.id for item, one in zip(items, found, strict=True) if one.cut)
        return [one.probability if self.soft else float(one.faithful) for one in found]


def faithcritic(models: Models) -> Critic:
    """1 where a classifier finds the response faithful to the document, else 0."""
    return Critic(HfClassifier(source(models.critic)), models.store)


def faithcritic_soft(models: Models) -> Critic:
    """The probability that a classifier gives to the response being faithful."""
    return Critic(HfClassifier(source(models.critic)), models.store, soft=True, name="faithcritic_soft")
