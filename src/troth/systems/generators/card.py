"""A generator's `generator.json`, and the folder of its model; needs no library of models."""

from __future__ import annotations

from pathlib import Path as Folder
from typing import Any, Literal

import msgspec

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.version import __version__
from troth.models import hub
from troth.readers.plain import encode_indented
from troth.responses.templates import Templates
from troth.systems.generators.encodings import Encoding

Method = Literal["ft", "pt"]
LM = "smollm2-135m-instruct"
CARD, TEMPLATES = "generator.json", "templates.json"
BEST = ("best-loss", "last")  # the models of a training run, in the order in which they are looked for


class GeneratorCard(msgspec.Struct, frozen=True):
    method: Method = "ft"
    encoding: Encoding = "template"
    model: str = "embedded"  # what it was trained from
    base: str = ""  # fingerprint of those weights
    length: int = 256  # tokens that are read
    answer: int = 64  # tokens that are written
    training: dict[str, Any] = {}
    metrics: dict[str, float] = {}  # at the checkpoint that this is
    troth: str = __version__


def folder_of(model: Path) -> Folder:
    """The folder of a pretrained or trained model: by name, hf:ORG/MODEL, or path; of a run, its best model."""
    text = path_of(model)
    if text == "embedded":
        return hub.embedded_files(LM).folder()
    run = next((Folder(text) / name for name in BEST if (Folder(text) / name / CARD).is_file()), None)
    return run or hub.source(text).folder()


def describe(folder: Folder, card: GeneratorCard, templates: Templates) -> None:
    """Writes `generator.json` and the templates beside a model."""
    (folder / CARD).write_bytes(encode_indented(card))
    if templates:
        (folder / TEMPLATES).write_bytes(msgspec.json.encode(templates))


def read_card(model: Path) -> tuple[Folder, GeneratorCard]:
    """The folder of a generator, which may be that of a run, and what its card says."""
    text = path_of(model)
    folder = next((Folder(text) / name for name in ("", *BEST) if (Folder(text) / name / CARD).is_file()), None)
    if folder is None:
        raise UserError("not a generator: no generator.json in it", file=text, hint="train one: troth train response")
    with hub.loading(str(folder), "not a generator"):
        return folder, msgspec.json.decode((folder / CARD).read_bytes(), type=GeneratorCard)
