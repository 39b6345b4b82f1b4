"""The entailment model that comes with troth: a small cross-encoder, run by onnxruntime. No torch, no network.

Its weights lie in the package as int8 and are expanded to float32 when loaded, so that answers do not depend on the
batch, as they would with int8 arithmetic. `model.json` beside them names model and revision, and holds the SHA-256 of
the files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.models.backends import INT8, Backend
from troth.models.batches import Room, columns, encodable
from troth.models.cross_encoder import CrossEncoder, EncodedPair, entailments
from troth.models.protocols import Entailment, Lm, TextPair

FOLDER = Path(__file__).parent / "entailment"
LM = "smollm2-135m-instruct"
AGAIN = "install troth again"


class ModelCard(msgspec.Struct, frozen=True):
    """What model.json holds."""

    name: str
    revision: str
    labels: tuple[str, ...]
    max_tokens: int
    sha256: dict[str, str]


class _Loaded(NamedTuple):
    tokenizer: Any
    session: Any
    first: int  # [CLS]
    between: int  # [SEP]
    padding: int


class EmbeddedNli(CrossEncoder):
    """The model in `folder`. It is loaded, and its files are checked, when the first pair is asked."""

    room = Room(items=16, units=8192)  # measured: larger batches pad more and gain nothing on a CPU

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__()
        self.folder, self.card = folder, card(folder)

    @property
    def name(self) -> str:
        return f"{self.card.name}@{self.card.revision}-{self.card.sha256.get('model.onnx', '')[:8]}"

    def encoded(self, pairs: Sequence[TextPair]) -> dict[TextPair, EncodedPair]:
        """Each distinct text is tokenised once: many pairs share a premise."""
        model = self._model
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        encodings = model.tokenizer.encode_batch([encodable(text) for text in texts], add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(texts, encodings, strict=True)}
        return {pair: self._row(ids[pair[0]], ids[pair[1]]) for pair in dict.fromkeys(pairs)}

    def _row(self, premise: list[int], hypothesis: list[int]) -> EncodedPair:
        model = self._model
        one, two = fitted(premise, hypothesis, self.card.max_tokens)
        ids = [model.first, *one, model.between, *two, model.between]
        kinds = [0] * (len(one) + 2) + [1] * (len(two) + 1)
        row = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": kinds}
        return EncodedPair(row, len(one) + len(two) < len(premise) + len(hypothesis))

    def classified(self, batch: Sequence[EncodedPair]) -> list[Entailment]:
        model = self._model
        (logits,) = model.session.run(["logits"], columns([one.columns for one in batch], model.padding))
        return entailments(logits, [self.card.labels.index(label) for label in Entailment._fields])

    @cached_property
    def _model(self) -> _Loaded:
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            what = f"the embedded entailment model needs {error.name}"
            raise UserError(what, hint="pip install 'troth[nli]'") from error
        verify(self.folder, self.card)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only
        session = onnxruntime.InferenceSession(
            str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return _Loaded(tokenizer, session, *(tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]")))


def fitted(premise: list[int], hypothesis: list[int], limit: int) -> tuple[list[int], list[int]]:
    """Premise and hypothesis cut to the limit, less the three special tokens around them."""
    room = limit - 3
    if len(premise) + len(hypothesis) <= room:
        return premise, hypothesis
    hypothesis = hypothesis[: room - min(len(premise), limit // 4)]
    kept = room - len(hypothesis)
    return premise[-kept:] if kept else [], hypothesis


def card(folder: Path = FOLDER) -> ModelCard:
    """The card of the model in a folder."""
    file = folder / "model.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=ModelCard)
    except (OSError, msgspec.DecodeError) as error:
        what = f"the embedded entailment model is not complete: {error}"
        raise UserError(what, file=str(file), hint=AGAIN) from error


def verify(folder: Path, card: ModelCard) -> None:
    """Checks that the files are those that were released."""
    for name, expected in card.sha256.items():
        file = folder / name
        try:
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", file=str(file), hint=AGAIN) from error
        if digest != expected:
            raise UserError("is not the file that was released: its SHA-256 differs", file=str(file), hint=AGAIN)


def _lm(_: str, *, int8: bool = False) -> Lm:
    from troth.models import hub
    from troth.models.hf import HfLm

    return HfLm(hub.embedded(LM), int8=int8)


BACKEND = Backend(
    "embedded",
    "the default: troth-nli for entailment, smollm2-135m-instruct as language model; works offline",
    nli=lambda _: EmbeddedNli(),
    lm=_lm,
    modifiers=INT8,
)
