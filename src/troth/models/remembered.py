"""Computed values in the store of models' answers: nothing is computed twice, and an interrupted run continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from troth.core.progress import bar
from troth.models.batches import Batch, answered
from troth.models.protocols import Request, TextPair
from troth.storage.cache import Store, key

K = TypeVar("K", TextPair, Request, str)


def stored(
    store: Store,
    model: str,
    keys: Mapping[K, bytes],
    compute: Callable[[list[K]], Sequence[bytes]],
    plan: Callable[[Sequence[K]], list[Batch]],
    *,
    keep: Callable[[bytes], bool] = lambda _: True,
) -> dict[K, bytes]:
    """The value of each item. What the store lacks is computed in the batches of `plan`, and stored batch by batch.

    Values that are not to `keep` are computed again by the next process.
    """
    values = store.get(list(keys.values()))
    missing = [item for item, digest in keys.items() if digest not in values]

    def batch(items: list[K]) -> list[None]:
        values.update(store.get([keys[item] for item in items]))  # another process may have stored some since
        rest = [item for item in items if keys[item] not in values]
        if rest:
            rows = list(zip([keys[item] for item in rest], compute(rest), strict=True))
            store.put(model, [(digest, value) for digest, value in rows if keep(value)])
            values.update(rows)
        return [None] * len(items)

    if missing:
        with bar(model) as progress:
            answered(missing, batch, plan, progress)
    return {item: values[digest] for item, digest in keys.items()}


def remembered(
    store: Store,
    model: str,
    pairs: Sequence[TextPair],
    compute: Callable[[list[TextPair]], Sequence[bytes]],
    *,
    named: tuple[str, ...],
    chunk: int,
    order: Callable[[TextPair], Any] = lambda pair: pair[0],
) -> list[bytes]:
    """The value of each pair, from the store or computed `chunk` pairs at a time.

    `named` is everything but the pair that a value depends on. Pairs of equal `order` are computed one after the other:
    by default those of one document.
    """

    def plan(missing: Sequence[TextPair]) -> list[Batch]:
        first: dict[Any, int] = {}
        for place, pair in enumerate(missing):
            first.setdefault(order(pair), place)
        places = sorted(range(len(missing)), key=lambda place: first[order(missing[place])])
        chunks = [places[start : start + chunk] for start in range(0, len(places), chunk)]
        return [Batch(one, sum(len(text) for place in one for text in missing[place])) for one in chunks]

    values = stored(store, model, {pair: key(*named, *pair) for pair in pairs}, compute, plan)
    return [values[pair] for pair in pairs]
