"""From trained folders to what the package ships: int8 weights that are expanded when they are loaded.

    python -m training.tracker.export --out src/troth/models/trackers troth-track=DIR troth-track-robust=DIR

All trackers share an encoder: its word vectors, its lower layers, and its upper layers as they were pretrained. Each
has its own upper layers and queries.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import torch

from training.nli.export import shrink
from troth.models.catalog import RELEASED
from troth.readers.plain import encode_indented
from troth.systems.recipe import recipe_of
from troth.systems.span import SpanModel
from troth.systems.span.decode import Answers
from troth.systems.span.exported import LOWER, MODEL, SCALES, SENTENCE, UPPER, WORDS, pack_words
from troth.systems.span.network import bert_layer, mean_pool
from troth.systems.span.tracking import TOKENIZER
from troth.systems.tracker import CARD, TrackerCard, describe

OPSET = 18
REVISION = "3"
ENCODER = "minilm-l6"  # what they were trained from, with its word vectors in 4 bits


class Lower(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, encoder: Any, upper: int) -> None:
        super().__init__()
        self.embeddings, self.layers = encoder.embeddings, encoder.encoder.layer[:-upper]

    def forward(self, words: Any, mask: Any) -> Any:
        states = self.embeddings(inputs_embeds=words)
        for layer in self.layers:
            states = bert_layer(layer, states, mask)
        return states


class Sentence(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, encoder: Any, upper: int) -> None:
        super().__init__()
        self.layers = encoder.encoder.layer[-upper:]

    def forward(self, states: Any, mask: Any) -> Any:
        for layer in self.layers:
            states = bert_layer(layer, states, mask)
        return mean_pool(states, mask)


class Upper(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, states: Any, segments: Any) -> Any:
        return self.network.read_words(states, segments)


class Queries(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Any, segments: Any, *rows: Any) -> Any:
        return tuple(self.network.ask(words, segments, rows))


def export(folders: dict[str, Path], out: Path) -> None:
    """Writes the shared files and a folder for each tracker."""
    out.mkdir(parents=True, exist_ok=True)
    first = open_tracker(next(iter(folders.values())))
    _shared(first, out)
    for name, folder in folders.items():
        model = open_tracker(folder)
        for mine, theirs in zip(model.encoder.parameters(), first.encoder.parameters(), strict=True):
            assert torch.equal(mine, theirs), "trackers that are shipped together share their encoder"
        (out / name).mkdir(exist_ok=True)
        write_network(model, out / name)
        card = msgspec.json.decode((folder / CARD).read_bytes(), type=TrackerCard)
        describe(out / name, msgspec.structs.replace(card, model=ENCODER))
    _release(out)


def _release(out: Path) -> None:
    """Writes the SHA-256 of all files, by which they are verified when a tracker is loaded."""
    files = sorted(file for file in out.rglob("*") if file.is_file() and file.name not in (RELEASED, "CARD.md"))
    digests = {str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    (out / RELEASED).write_bytes(encode_indented({"name": "troth-track", "revision": REVISION, "sha256": digests}))


def open_tracker(folder: Path, *, trained: bool = True) -> SpanModel:
    """The tracker in a folder, or, if it is not `trained`, a new one on the encoder there."""
    model = recipe_of("span").open(str(folder), trained=trained)
    assert isinstance(model, SpanModel)
    model.module.eval()
    return model


def _shared(model: SpanModel, out: Path) -> None:
    words = model.encoder.embeddings.word_embeddings.weight.numpy()
    table, scales = pack_words(words)
    np.save(out / WORDS, table)
    np.save(out / SCALES, scales)
    shutil.copyfile(model.folder / TOKENIZER, out / TOKENIZER)
    states, mask = torch.zeros(2, 8, words.shape[1]), torch.ones(2, 8, dtype=torch.bool)
    axes = {0: "texts", 1: "tokens"}
    lower, sentence = Lower(model.encoder, model.upper), Sentence(model.encoder, model.upper)
    _write(lower, (states, mask), out / LOWER, {"words": axes, "mask": axes}, {"states": axes})
    _write(sentence, (states, mask), out / SENTENCE, {"states": axes, "mask": axes}, {"vectors": {0: "texts"}})


def write_network(model: SpanModel, folder: Path, *, int8: bool = True) -> None:
    """Writes what was trained to a folder: the upper layers, and the queries."""
    width = model.encoder.config.hidden_size
    turns, tokens, rows, queries, sources = 2, 8, 3, 5, 2
    flags = model.module.flag.in_features
    arrays = (
        torch.zeros(turns, tokens, width),
        torch.tensor([[1, 2, 2, 1, 3, 3, 1, 0]] * turns),
        torch.tensor([0, 1, 1]),
        torch.zeros(rows, queries, width),
        torch.tensor([[0, 1, 1, 3, -1]] * rows),
        torch.zeros(rows, queries, flags),
        torch.ones(rows, sources, width),
    )
    words, asked = {0: "turns", 1: "tokens"}, {0: "rows", 1: "queries"}
    inputs = {"words": words, "segments": words, "turn": {0: "rows"}, "vectors": asked, "kinds": asked,
              "flags": asked, "sources": {0: "rows", 1: "sources"}}  # fmt: skip
    outputs = {"scores": asked, "places": {1: "rows", 2: "queries", 3: "tokens"}, "carried": {**asked, 2: "sources"}}
    assert tuple(outputs) == Answers._fields
    _write(Queries(model.module), arrays, folder / MODEL, inputs, outputs, int8=int8)
    states = {"states": words, "segments": words}
    _write(Upper(model.module), arrays[:2], folder / UPPER, states, {"words": words}, int8=int8)


def _write(
    module: Any, arrays: Any, file: Path, inputs: dict[str, Any], outputs: dict[str, Any], *, int8: bool = True
) -> None:
    whole = file.with_suffix(".whole")
    with torch.no_grad():
        torch.onnx.export(
            module.eval(),
            arrays,
            str(whole),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={**inputs, **outputs},
            opset_version=OPSET,
            dynamo=False,
        )
    small = onnx.load(whole)
    whole.unlink()
    if int8:
        shrink(small)
    onnx.save(small, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trackers", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    export({name: Path(folder) for name, _, folder in (one.partition("=") for one in options.trackers)}, options.out)


if __name__ == "__main__":
    main()
