"""Generators of schema variants: published ones, paraphrases in a file, back-translation, a model, or chance.

A generator is a frozen `Generator` struct: its fields are its options, its first docstring line describes it, and

    vary(source) -> list[Variant]

gives the variants, the closest to the original first; `variant` makes one from a schema. Other packages add generators
through the entry point group `troth.schema_generators`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from troth import models
from troth.core.errors import UserError
from troth.core.records import Schema
from troth.core.registry import Registry
from troth.perturb.options import flag
from troth.perturb.schemas import tools, variants
from troth.perturb.schemas.calls import NAMES
from troth.perturb.schemas.files import SchemaSource, Variant, load_published, variant_names
from troth.perturb.schemas.lm import paraphrase_schema
from troth.perturb.schemas.renaming import Renaming
from troth.perturb.schemas.variants import PUBLISHED, Paraphrases
from troth.perturb.translate import translator
from troth.readers import source as sources
from troth.readers.decode import decode, error_context
from troth.readers.plain import encode_indented

GENERATORS: Registry[type[Generator]] = Registry(
    "schema generator",
    "troth.schema_generators",
    {
        "published": "troth.perturb.schemas.generators:Published",
        "compose": "troth.perturb.schemas.generators:Compose",
        "backtranslate": "troth.perturb.schemas.generators:Backtranslate",
        "paraphrase": "troth.perturb.schemas.generators:LmParaphrase",
        "corrupt": "troth.perturb.schemas.generators:Corrupt",
    },
)

# None: as many as suits.
Count = Annotated[Annotated[int, msgspec.Meta(ge=1, le=100)] | None, flag("N", "Number of variants to make.")]
Stop = Annotated[
    Literal["paper", "published"],
    flag("", "Words left out of distances: function words, or determiners (SGD-X as released).", option="--stop-words"),
]


class Generator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="make"):
    """A way to make variants of a schema."""

    def vary(self, source: SchemaSource) -> list[Variant]:
        raise NotImplementedError

    def how(self) -> dict[str, Any]:
        """The record for perturbation.json: the name of the generator and its options."""
        how: dict[str, Any] = msgspec.to_builtins(self)
        return how


class Published(Generator, frozen=True, tag="published"):
    """Variants with published schemas in a folder, such as those of SGD-X."""

    folder: Annotated[
        str, flag("FOLDER", "Where their schemas are, as in SGD-X: FOLDER/v1/dev/schema.json.", option="--from")
    ] = ""
    variants: Annotated[str, flag("NAMES", "Which of them, for example v1..v5 or v1,v3.", option="--variants")] = (
        "v1..v5"
    )

    def vary(self, source: SchemaSource) -> list[Variant]:
        if not self.folder:
            raise UserError("no folder with published variants is named", hint="for example sgd/sgd_x")
        return load_published(source, self.folder, variant_names(self.variants))

    def how(self) -> dict[str, Any]:
        return {"from": self.folder}


class Compose(Generator, frozen=True, tag="compose"):
    """Paraphrases from a file, put in order by their distance from the original (SGD-X, §2.2)."""

    count: Count = None
    stop: Stop = "paper"
    paraphrases: Annotated[str, flag("FILE", "Other names and descriptions; see docs/schemas.md.")] = ""
    seed: int = 0

    def vary(self, source: SchemaSource) -> list[Variant]:
        if not self.paraphrases:
            raise UserError("nothing to compose variants from", hint="name a file of paraphrases")
        wordings = decode(sources.first(self.paraphrases), Paraphrases)
        with error_context(file=self.paraphrases):
            if source.kind == "tools":
                wordings = {name: tools.wordings_of_function(name, own) for name, own in wordings.items()}
            return _compose(source, wordings, self.count or PUBLISHED, self.stop, seed=self.seed, strict=True)


class Backtranslate(Generator, frozen=True, tag="backtranslate"):
    """Names and descriptions translated to another language and back."""

    count: Count = None
    stop: Stop = "paper"
    engines: Annotated[tuple[str, ...], flag("NAME", "apertium:eng-spa, or marian:THERE,BACK.", option="--engine")] = (
        "apertium:eng-spa",
        "apertium:eng-cat",
    )

    def vary(self, source: SchemaSource) -> list[Variant]:
        engine = variants.ThereAndBack([translator(name) for name in self.engines], self.count)
        with error_context(file=source.path):
            return _compose(source, variants.translate_schema(source.schema, engine), len(engine.routes), self.stop)


class LmParaphrase(Generator, frozen=True, tag="paraphrase"):
    """Names and descriptions reworded by a language model, kept only where numbers, values and names survive."""

    count: Count = None
    stop: Stop = "paper"
    seed: int = 0
    lm: Annotated[str, flag("NAME", "Language model, such as embedded or http://HOST/v1#MODEL.")] = "embedded"
    keep_meaning: Annotated[
        str | None,
        flag("NAME", "Entailment model that must find old and new equivalent (nli: the embedded one).",
             option="--keep-meaning"),
    ] = None  # fmt: skip
    temperature: Annotated[float, msgspec.Meta(gt=0, le=2), flag("T", "Temperature at which wordings are drawn.")] = 0.8

    def vary(self, source: SchemaSource) -> list[Variant]:
        count = self.count or PUBLISHED
        judge = {"nli": "embedded"}.get(self.keep_meaning or "", self.keep_meaning)
        paraphrases, refused = paraphrase_schema(
            source.schema, models.lm(self.lm), nli=None if judge is None else models.nli(judge),
            count=count, temperature=self.temperature, seed=self.seed,
        )  # fmt: skip
        with error_context(file=source.path):
            reworded = _compose(source, paraphrases, count, self.stop, seed=self.seed)
        return [msgspec.structs.replace(variant, refused=dict(sorted(refused.items()))) for variant in reworded]


class Corrupt(Generator, frozen=True, tag="corrupt"):
    """Words replaced by others of the schema, and neighbours swapped, by chance (SGD-X, §4.2)."""

    count: Count = None
    stop: Stop = "paper"
    seed: int = 0
    rate: Annotated[float, msgspec.Meta(ge=0, le=1), flag("RATE", "Chance that a word is replaced, or swapped.")] = 0.3

    def vary(self, source: SchemaSource) -> list[Variant]:
        count = self.count or PUBLISHED
        wordings = variants.corrupt_schema(source.schema, count=count, seed=self.seed, rate=self.rate)
        with error_context(file=source.path):
            return _compose(source, wordings, count, self.stop, seed=self.seed)


def variant(source: SchemaSource, name: str, schema: Schema) -> Variant:
    """Makes the variant of this name, with the wording of `schema`, from dialogues, a schema or tools.

    `schema` has the elements of the source's schema in the same order, with other names and descriptions.
    """
    if source.kind == "tools":
        definitions = tools.ToolDefinitions(source.document, source.schema)
        files = {
            "tools.json": encode_indented(definitions.rewrite(schema)),
            NAMES: encode_indented(definitions.names(schema)),
        }
    else:
        files = {sources.SCHEMA: encode_indented(variants.reword_document(source.document, schema))}
    return Variant(name, files, Renaming.between(source.schema, schema))


def _compose(
    source: SchemaSource, wordings: Paraphrases, count: int, stop: str, *, seed: int = 0, strict: bool = False
) -> list[Variant]:
    """Makes the variants v1, v2, …"""
    paired = strict and source.kind == "tools"
    schemas = variants.compose(source.schema, wordings, count=count, seed=seed, strict=strict, stop=stop, paired=paired)
    if source.kind == "tools":
        schemas = [tools.separate_names(source.schema, schema, strict=strict) for schema in schemas]
    return [variant(source, f"v{number}", schema) for number, schema in enumerate(schemas, 1)]
