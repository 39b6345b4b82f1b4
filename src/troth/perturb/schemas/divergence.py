"""Distances of variants from their schema and from each other: the figures of table 1 of SGD-X.

Names: how many of those of services that training has not seen were seen in it after all, under other services; and the
average normalised distance from the original. The paper's "normalised Levenshtein distance" is 1 − Levenshtein.ratio of
the package of that name, in which a replacement counts as two edits: of many readings the closest. Descriptions: corpus
BLEU of the variant against the original (lower case, sacreBLEU's international tokens), services' own descriptions
included; self-BLEU is the mean over all ordered pairs of variants. docs/schemas.md has the figures beside the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

import msgspec
from rapidfuzz.distance import Indel

from troth.core.errors import UserError
from troth.core.extras import install_command
from troth.core.records import Schema, Service
from troth.perturb.schemas.renaming import Renaming, elements

NO_BLEU = f"sacrebleu is not installed: {install_command('text')}"
NO_TRAIN = "without a training schema, seen names are unknown"


class DivergenceRow(msgspec.Struct, frozen=True):
    """One schema of the table. Shares are fractions, BLEU is in points; None if it cannot be computed."""

    variant: str
    slots_seen: float | None
    intents_seen: float | None
    distance: float | None
    bleu: float | None


class DivergenceTable(msgspec.Struct, frozen=True):
    """Table 1 of SGD-X."""

    rows: list[DivergenceRow]  # the original first
    self_bleu: float | None
    services: int
    names: int  # slots and intents
    unseen_slots: int | None
    unseen_intents: int | None
    reason: str | None = None  # why a column is empty


def divergence(
    original: Schema, variants: Mapping[str, Schema], *, train: Schema | None = None, tested: Schema | None = None
) -> DivergenceTable:
    """Distances of variants from the original. They have the same services in the same order.

    `train`: the schema that counts as seen. `tested`: names of the services to look up in it; default: all.
    """
    for name, variant in variants.items():
        try:
            Renaming.between(original, variant)
        except UserError as error:
            raise UserError(f"{name}: {error.what}", hint=error.hint) from error
    wanted = [name not in (train or ()) and (tested is None or name in tested) for name in original]

    def unseen_services(schema: Schema) -> list[Service]:
        return list(compress(schema.values(), wanted))

    schemas = {"original": original, **variants}
    described = {name: [(item, *elements(item)) for item in schema.values()] for name, schema in schemas.items()}
    bleu = _bleu({name: [item.description for group in groups for item in group] for name, groups in described.items()})
    rows = [
        DivergenceRow(
            name,
            None if train is None else _share_seen(_slots(unseen_services(schema)), _slots(train.values())),
            None if train is None else _share_seen(_intents(unseen_services(schema)), _intents(train.values())),
            None if name == "original" else distance(original, schema),
            bleu.get((name, "original")),
        )
        for name, schema in schemas.items()
    ]
    among = [score for (a, b), score in bleu.items() if "original" not in (a, b)]
    reasons = [*([] if bleu else [NO_BLEU]), *([NO_TRAIN] if train is None else [])]
    return DivergenceTable(
        rows,
        sum(among) / len(among) if among else None,
        len(original),
        sum(len(elements(service)) for service in original.values()),
        None if train is None else len(_slots(unseen_services(original))),
        None if train is None else len(_intents(unseen_services(original))),
        "; ".join(reasons) or None,
    )


def _slots(services: Iterable[Service]) -> list[str]:
    return [slot.name for service in services for slot in service.slots]


def _intents(services: Iterable[Service]) -> list[str]:
    return [intent.name for service in services for intent in service.intents]


def _share_seen(names: Sequence[str], train: Sequence[str]) -> float | None:
    known = set(train)
    return sum(name in known for name in names) / len(names) if names else None


def distance(original: Schema, variant: Schema) -> float | None:
    """Mean normalised distance of names, over all slots and intents."""
    pairs = [
        Indel.normalized_distance(a.name, b.name)
        for ours, theirs in zip(original.values(), variant.values(), strict=True)
        for a, b in zip(elements(ours), elements(theirs), strict=True)
    ]
    return sum(pairs) / len(pairs) if pairs else None


def _bleu(texts: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], float]:
    """BLEU of each variant against the original and against each other variant; empty without sacreBLEU."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        return {}
    metric = BLEU(lowercase=True, tokenize="intl")
    variants = [name for name in texts if name != "original"]
    pairs = [(a, b) for a in variants for b in ("original", *variants) if a != b]
    return {(a, b): float(metric.corpus_score(list(texts[a]), [list(texts[b])]).score) for a, b in pairs}
