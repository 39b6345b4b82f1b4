"""The entailment model that comes with troth: a small cross-encoder, run by onnxruntime. No torch, no network.

Its weights lie in the package as int8 and are expanded to float32 when loaded, so that answers do not depend on the
batch, as they would with arithmetic in int8. `model.json` beside them names model and revision and holds the files'
SHA-256.

A pair longer than the model reads loses the beginning of its premise: the utterance in question is at the end, after
what was said before. The hypothesis is kept whole, unless it leaves the premise less than a quarter of what the model
reads; then it loses its end. Such pairs are counted in `cut`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth.core.errors import UserError
from troth.models import Pair, Verdict
from troth.models.batches import Cutting, Room, answered, encodable

FOLDER = Path(__file__).parent / "entailment"
ROOM = Room(items=16, units=8192)  # measured: larger batches pad more and win nothing on a CPU


class Card(msgspec.Struct, frozen=True):
    """model.json."""

    name: str
    revision: str
    labels: tuple[str, ...]
    max_tokens: int
    sha256: dict[str, str]


class Encoded(NamedTuple):
    premise: list[int]
    hypothesis: list[int]
    cut: bool

    @property
    def tokens(self) -> int:
        return len(self.premise) + len(self.hypothesis) + 3


class EmbeddedNli(Cutting[Pair]):
    """The model in `folder`. It is loaded, and its files checked, when the first pair is asked."""

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__()
        self.folder = folder
        self.card = card(folder)
        self._loaded: tuple[Any, Any, tuple[int, int, int]] | None = None

    @property
    def name(self) -> str:
        return f"{self.card.name}@{self.card.revision}-{self.card.sha256.get('model.onnx', '')[:8]}"

    room = ROOM

    def lengths(self, items: Sequence[Pair]) -> list[int]:
        encoded = self._encoded(items)
        return [encoded[pair].tokens for pair in items]

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        encoded = self._encoded(pairs)
        self.shortened.update(pair for pair, one in encoded.items() if one.cut)
        return answered(
            pairs,
            lambda asked: self._verdicts([encoded[pair] for pair in asked]),
            lengths=lambda asked: [encoded[pair].tokens for pair in asked],
            room=self.room,
        )

    def _encoded(self, pairs: Sequence[Pair]) -> dict[Pair, Encoded]:
        """Each distinct text is tokenised once: many pairs share a premise."""
        tokenizer, _, _ = self._model()
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        found = tokenizer.encode_batch([encodable(text) for text in texts], add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(texts, found, strict=True)}
        return {pair: fitted(ids[pair[0]], ids[pair[1]], self.card.max_tokens) for pair in dict.fromkeys(pairs)}

    def _verdicts(self, batch: Sequence[Encoded]) -> list[Verdict]:
        _, session, (first, between, padding) = self._model()
        shape = (len(batch), max(one.tokens for one in batch))
        ids = np.full(shape, padding, dtype=np.int64)
        mask, kinds = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, one in enumerate(batch):
            ids[row, : one.tokens] = [first, *one.premise, between, *one.hypothesis, between]
            mask[row, : one.tokens] = 1
            kinds[row, len(one.premise) + 2 : one.tokens] = 1
        (logits,) = session.run(["logits"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds})
        return verdicts(logits, [self.card.labels.index(label) for label in Verdict._fields])

    def _model(self) -> tuple[Any, Any, tuple[int, int, int]]:
        if self._loaded is None:
            try:
                import onnxruntime
                import tokenizers
            except ImportError as error:
                raise UserError(
                    f"the embedded entailment model needs {error.name}", hint="pip install 'troth[nli]'"
                ) from error
            verify(self.folder, self.card)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3  # errors; what else it has to say is not for users
            session = onnxruntime.InferenceSession(
                str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            tokenizer: Any = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.no_truncation()
            first, between, padding = (tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]"))
            self._loaded = tokenizer, session, (first, between, padding)
        return self._loaded


def fitted(premise: list[int], hypothesis: list[int], limit: int) -> Encoded:
    """Both within the limit, with three tokens to spare for what stands around them."""
    room = limit - 3
    if len(premise) + len(hypothesis) <= room:
        return Encoded(premise, hypothesis, False)
    hypothesis = hypothesis[: room - min(len(premise), limit // 4)]
    kept = room - len(hypothesis)
    return Encoded(premise[-kept:] if kept else [], hypothesis, True)


def verdicts(logits: Any, order: Sequence[int]) -> list[Verdict]:
    """Softmax in double precision; `order` says in which columns entailment, neutral and contradiction are."""
    values = np.asarray(logits, dtype=np.float64)[:, list(order)]
    exponents = np.exp(values - values.max(axis=1, keepdims=True))
    return [Verdict(*row) for row in (exponents / exponents.sum(axis=1, keepdims=True)).tolist()]


def card(folder: Path = FOLDER) -> Card:
    file = folder / "model.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Card)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"the embedded entailment model is not whole: {error}", file=str(file), hint=AGAIN) from error


def verify(folder: Path, card: Card) -> None:
    """The files are those that were released."""
    for name, expected in card.sha256.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", file=str(folder / name), hint=AGAIN) from error
        if found != expected:
            raise UserError(
                "is not the file that was released: its SHA-256 differs", file=str(folder / name), hint=AGAIN
            )


AGAIN = "install troth again"
