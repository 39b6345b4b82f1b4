"""Trains generators that answer from a document: document and history in, response out, by all weights.

The input is exactly the plain prompt of `troth generate ground` (`systems.decoding.generator`), so that PMI-Decode can
be used with the trained model. The model also learns where an answer ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any

from troth.core.data_options import format_option
from troth.core.digest import ordered_digest
from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.names import Path, format_count, parse_names, path_of
from troth.core.options import keywords, option, record_arguments, resolve, seed_option
from troth.core.progress import note
from troth.core.randomness import generator
from troth.core.records import Grounded
from troth.models.hub import ModelFiles
from troth.readers import grounded as readers
from troth.readers.plain import encode_indented
from troth.storage.cache import Store
from troth.systems.generators.card import BEST, folder_of
from troth.systems.generators.train import PAPER, TrainedGenerator
from troth.systems.loggers import check_installed, report_to
from troth.systems.runs import fit_settings, training_claim, write_curve
from troth.systems.text import TextExample, TextLearner, TextNetwork
from troth.systems.training import Fitting, Key, Metrics, fit

if TYPE_CHECKING:
    from troth.systems.decoding.generator import Responder

CARD = "grounded.json"


@dataclass(frozen=True)
class GroundedTrainSettings:
    model: Path = option("embedded", "Base model: a folder, hf:ORG/MODEL, or embedded (SmolLM2-135M).", "NAME")
    limit: int | None = option(None, "Train on N responses, drawn by the seed.", "N", least=1)
    dev: Path | None = option(None, "Responses to measure the loss on.", "FILE")
    dev_limit: int | None = option(200, "Number of responses of the dev data, drawn by the seed.", least=0, zero="all")
    format: str | None = format_option("the data", "troth.readers.grounded:FORMATS")
    length: int = option(512, "Most tokens of document and history; the document loses its end.", least=1)
    answer: int = option(64, "Most tokens of a response.", least=1)
    fit: Mapping[str, Any] = option({}, "Fields of `FitSettings`, in place of the paper's.", shape="python")
    seed: int = seed_option("Random seed.")
    log_to: str | Sequence[str] = option((), "Also report to tensorboard, mlflow or wandb, comma-separated.", "NAMES")


@keywords(GroundedTrainSettings)
def train_grounded(data: Path, out: Path, **options: Any) -> TrainedGenerator:
    """Trains a generator on responses with their documents, and writes it to the folder `out`.

    A call with the same arguments resumes an interrupted run. Responses that people found unsupported
    (label 0) are not learned. The options are those of `GroundedTrainSettings`.

    >>> train_grounded("faithdial/train.json", "grounded", dev="faithdial/valid.json")  # doctest: +SKIP
    """
    require("torch", "transformers", extra="train")
    from troth.grounding.transformer import LoadedModel
    from troth.systems.decoding.generator import Responder

    settings = resolve(GroundedTrainSettings, options)
    check_installed(parse_names(settings.log_to))
    folder, how = Folder(path_of(out)), fit_settings({**PAPER, **settings.fit}, settings.seed)
    items = _items(path_of(data), settings, settings.limit)
    dev = [] if settings.dev is None else _items(path_of(settings.dev), settings, settings.dev_limit)
    base = folder_of(settings.model)
    network = TextNetwork(base, length=settings.length, answer=settings.answer)
    training_claim(record_arguments(settings, data=path_of(data)) | {"fit": dict(settings.fit)}).make(folder)
    responder = Responder(ModelFiles(str(base), lambda: base), Store.at(None))
    reach = network.length + (network.answer if network.decoder else 0)
    responder.loaded = LoadedModel(network.tokenizer, network.module, reach)  # loaded once, and read by both
    model = TextLearner(network)
    count = sum(weight.numel() for weight in network.module.parameters())
    card = {"kind": "grounded", "model": path_of(settings.model), "training": asdict(how)}

    def describe(kept: Folder, metrics: Metrics) -> None:
        (kept / CARD).write_bytes(encode_indented(card | {"metrics": metrics}))

    keys: dict[str, Key] = {BEST[0]: lambda metrics: -metrics["dev_loss"]} if dev else {}
    learned, measured = ([_example(network, responder, item) for item in part] for part in (items, dev))
    fitting = Fitting(
        model, learned, measured, None, keys, report_to(parse_names(settings.log_to), folder, asdict(how)), describe,
        {"training data": ordered_digest(items), "dev data": ordered_digest(dev)},
    )  # fmt: skip
    state = fit(fitting, folder, how)
    if dev:
        write_curve(folder)
    return TrainedGenerator(str(folder), state.step, count, count, state.best)


def _items(data: str, settings: GroundedTrainSettings, limit: int | None) -> list[Grounded]:
    """The responses to learn from: those with words and a document, drawn by seed and id."""
    items: list[Grounded] = []
    empty = unsupported = 0
    for item in readers.read(data, settings.format):
        unsupported += item.label == 0
        if item.label == 0 or not item.response.strip():
            continue
        if item.document.strip():
            items.append(item)
        else:
            empty += 1
    if not items:
        without = f"with an empty document: {format_count(empty, 'response')}"
        hint = without if empty else "see docs/formats.md for the layouts"
        raise UserError("no response with a document in it", file=data, hint=hint)
    if empty:
        note(f"{data}: left out for lack of a document: {format_count(empty, 'response')}")
    if unsupported:
        note(f"{data}: left out, since people found them unsupported: {format_count(unsupported, 'response')}")
    if limit is None or limit >= len(items):
        return items
    order = sorted(range(len(items)), key=lambda n: generator(settings.seed, "grounded", f"{items[n].id}/{n}").random())
    return [items[number] for number in sorted(order[:limit])]


def _example(network: TextNetwork, responder: Responder, item: Grounded) -> TextExample:
    source = array("i", responder.context(item, network.answer).prompt.given)
    response = f" {item.response.strip()}" if network.decoder else item.response.strip()
    return network.example(("", ""), response)._replace(source=source)
