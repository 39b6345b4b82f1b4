"""What a metric computed for a text, kept in the store of models' answers: a killed run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from troth.grounding.metrics import Progress
from troth.storage.cache import Store

K = TypeVar("K", bound=Hashable)


def remembered(
    store: Store,
    model: str,
    items: Sequence[K],
    *,
    named: Callable[[K], bytes],
    size: Callable[[K], int],
    compute: Callable[[list[K]], Sequence[bytes]],
    chunk: int,
    order: Callable[[K], object] | None = None,
    progress: Progress | None = None,
) -> list[bytes]:
    """The answer for each item; those that the store lacks are computed some at a time, in `order`, and kept.

    Progress is in what `size` says of an item: how much there is to read.
    """
    keys = {item: named(item) for item in items}
    found = store.get(list(keys.values()))
    missing = [item for item, key in keys.items() if key not in found]
    if order is not None:
        first: dict[object, int] = {}
        for place, item in enumerate(missing):
            first.setdefault(order(item), place)
        missing.sort(key=lambda item: first[order(item)])
    total = sum(map(size, keys))
    done = total - sum(map(size, missing))
    for start in range(0, len(missing), chunk):
        asked = missing[start : start + chunk]
        rows = list(zip([keys[item] for item in asked], compute(asked), strict=True))
        store.put(model, rows)
        found.update(rows)
        done += sum(map(size, asked))
        if progress is not None:
            progress(done, total)
    return [found[keys[item]] for item in items]
