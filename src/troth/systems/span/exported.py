"""An exported tracker: int8 weights on disk, run by onnxruntime without torch.

Its folder holds the trained parts: the upper layers (`upper.onnx`), and the queries (`model.onnx`). The folder above it
holds what trackers of one encoder share: the word vectors in 4 bits, the lower layers, the upper layers as they were
pretrained (for texts of the schema), the tokenizer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.extras import require
from troth.systems.recipe import TrackerModel
from troth.systems.span.batches import PADDING, Floats, Inputs, Ints
from troth.systems.span.decode import Answers
from troth.systems.span.examples import Tokens
from troth.systems.span.tracking import TOKENIZER, Texts, Tracking, pad_texts

UPPER, MODEL, LOWER, SENTENCE = "upper.onnx", "model.onnx", "lower.onnx", "sentence.onnx"
WORDS, SCALES = "words.npy", "scales.npy"
DAMAGED, FETCH = "damaged model file", "fetch the model again, or train and export it anew"
BLOCK = 32  # weights of a word vector that share a scale


class ExportedSpan(Tracking, TrackerModel):
    """A tracker that can be run, and not trained further."""

    def __init__(self, folder: Path) -> None:
        shared = folder.parent
        require("onnxruntime", "tokenizers", extra="nli")
        super().__init__(Tokens.read(shared / TOKENIZER, 0))
        self._words = read_words(shared)
        files = (folder / UPPER, folder / MODEL, shared / LOWER, shared / SENTENCE)
        self._upper, self._model, self._lower, self._sentence = map(_session, files)

    def read(self, ids: Ints, segments: Ints) -> Floats:
        states = self._states(ids, segments != PADDING)
        words: Floats = self._upper.run(["words"], {"states": states, "segments": segments})[0]
        return words

    def ask(self, words: Floats, arrays: Inputs) -> Answers:
        inputs = dict(zip(("segments", "turn", "vectors", "kinds", "flags", "sources"), arrays[1:], strict=True))
        return Answers(*self._model.run(list(Answers._fields), {"words": words, **inputs}))

    def sentences(self, texts: Texts) -> Floats:
        ids = pad_texts(texts, self.tokens)
        mask = ids != self.tokens.padding
        vectors: Floats = self._sentence.run(["vectors"], {"states": self._states(ids, mask), "mask": mask})[0]
        return vectors

    def _states(self, ids: Ints, mask: Any) -> Floats:
        states: Floats = self._lower.run(["states"], {"words": self._words[ids], "mask": mask})[0]
        return states


def pack_words(words: Floats) -> tuple[Any, Any]:
    """Word vectors in 4 bits, two weights a byte, and the scale of each block of weights."""
    blocks = words.reshape(len(words), -1, BLOCK)
    scales = np.maximum(np.abs(blocks).max(-1) / 7, 1e-6).astype(np.float16)
    whole = np.clip(np.round(blocks / scales[..., None].astype(np.float32)), -7, 7).astype(np.int8) + 8
    flat = whole.reshape(len(words), -1).astype(np.uint8)
    return flat[:, ::2] | (flat[:, 1::2] << 4), scales


def read_words(shared: Path) -> Floats:
    """The word vectors of a folder."""
    with (
        reading(shared / WORDS, DAMAGED, hint=FETCH, also=(Exception,)),  # a damaged header can make anything fail
        (shared / WORDS).open("rb") as words,
        (shared / SCALES).open("rb") as scales,
    ):
        return unpack_words(np.load(words), np.load(scales))


def unpack_words(table: Any, scales: Any) -> Floats:
    """The word vectors that `pack_words` compressed."""
    whole = np.empty((len(table), 2 * table.shape[1]), np.float32)
    whole[:, ::2], whole[:, 1::2] = table & 15, table >> 4
    blocks = (whole - 8).reshape(len(table), -1, BLOCK) * scales[..., None].astype(np.float32)
    return np.ascontiguousarray(blocks.reshape(len(table), -1))


def _session(file: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # sessions take turns
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library has no common class of its errors
        raise UserError(DAMAGED, file=str(file), hint=FETCH) from error
