"""Generates responses from documents: a file of contexts in, a file of responses out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core.data_options import format_option
from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.core.names import Path, format_count, path_of
from troth.core.options import cache_file, option, python_only
from troth.core.records import Grounded
from troth.core.signature import recipe_text, signature
from troth.models.hub import embedded_files, source
from troth.readers import grounded as readers
from troth.storage.cache import Store
from troth.storage.files import check_new, new_file
from troth.systems.decoding.settings import STYLES, Setting, Style

if TYPE_CHECKING:
    from troth.systems.decoding.generator import Responder

LM = "smollm2-135m-instruct"


@dataclass(frozen=True)
class GenerateSettings:
    """Which model responds to which contexts, and how."""

    model: str | Responder = option(
        "embedded", "Responding model: embedded, hf:ORG/MODEL or a folder.", "NAME", complete=("troth.models:BACKENDS",)
    )
    prompt: Style = option(
        "plain", "Prompt: PMI-Faith's own words, or the model's template for conversations.", choices=STYLES
    )
    setting: Setting = field(default_factory=Setting, metadata=python_only("How to decode."))
    format: str | None = format_option("the data", "troth.readers.grounded:FORMATS")
    limit: int | None = option(None, "Only the first N contexts.", "N", least=1)
    cache: Path | None = cache_file()

    def responder(self) -> Responder:
        if not isinstance(self.model, str):
            return self.model
        files = embedded_files(LM) if self.model == "embedded" else source(self.model)
        with requiring("neural"):
            from troth.systems.decoding.generator import Responder
        return Responder(files, Store.at(self.cache), style=self.prompt)


class Generation(msgspec.Struct, frozen=True):
    """Summary of generated responses."""

    responses: int
    tokens: int
    empty: int  # responses without a word
    shortened: int  # contexts longer than the model reads
    without: int  # contexts without a document, which get no response
    signature: str

    @property
    def notes(self) -> list[str]:
        empty = [f"without a word in them: {format_count(self.empty, 'response')}"] if self.empty else []
        return empty + context_notes(self.without, self.shortened)


def context_notes(without: int, shortened: int) -> list[str]:
    notes = [f"{without} contexts have no document, and were left out"] if without else []
    lost = "contexts were longer than the model reads, and lost the end of their document"
    return notes + ([f"{shortened} {lost}"] if shortened else [])


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file: our JSONL, as `troth ground` reads it."""

    id: str
    document: str
    history: tuple[str, ...]
    response: str
    source: str = ""
    meta: dict[str, Any] = {}


def contexts(data: Path, settings: GenerateSettings) -> tuple[list[Grounded], int]:
    """The contexts of a file, the first `limit` that have a document; and how many before them have none."""
    items: list[Grounded] = []
    without = 0
    for item in readers.read(path_of(data), settings.format):
        if len(items) == settings.limit:
            break
        if item.document.strip():
            items.append(item)
        else:
            without += 1
    if not items:
        hint = "see docs/formats.md for the layouts"
        raise UserError("no response with a document in it", file=path_of(data), hint=hint)
    return items, without


def respond(data: Path, out: Path, settings: GenerateSettings) -> Generation:
    """Generates a response to each document and history of `data`, and writes them to the new file `out`.

    Responses that `data` has are not read.
    """
    check_new(path_of(out))
    responder = settings.responder()
    items, without = contexts(data, settings)
    generated = responder.responses(items, settings.setting)
    recipe = responder.recipe(settings.setting)
    with new_file(path_of(out)) as file:
        for item, one in zip(items, generated, strict=True):
            row = _Row(item.id, item.document, item.history, one.text, item.source, {"recipe": recipe_text(recipe)})
            file.write(msgspec.json.encode(row) + b"\n")
    return Generation(
        responses=len(generated),
        tokens=sum(one.tokens for one in generated),
        empty=sum(not one.text for one in generated),
        shortened=sum(one.dropped > 0 for one in generated),
        without=without,
        signature=signature("generate", recipe, n=len(generated)),
    )
