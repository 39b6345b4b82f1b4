"""Values computed for pairs of texts, kept in the store of models' answers: an interrupted run continues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from troth.core.progress import bar
from troth.models import TextPair
from troth.storage.cache import Store, key


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
    """The value of each pair; what the store lacks is computed `chunk` pairs at a time, and kept.

    `named` is everything but the pair that a value depends on. Pairs of equal `order` are computed one after the other:
    those of one document, if nothing else is given. Progress is in characters.
    """
    keys = {pair: key(*named, *pair) for pair in pairs}
    values = store.get(list(keys.values()))
    missing = [pair for pair, digest in keys.items() if digest not in values]
    first: dict[Any, int] = {}
    for place, pair in enumerate(missing):
        first.setdefault(order(pair), place)
    missing.sort(key=lambda pair: first[order(pair)])
    total, done = _characters(keys), _characters(keys) - _characters(missing)
    with bar(model) as progress:
        for start in range(0, len(missing), chunk):
            asked = missing[start : start + chunk]
            rows = list(zip([keys[pair] for pair in asked], compute(asked), strict=True))
            store.put(model, rows)
            values.update(rows)
            done += _characters(asked)
            progress(done, total)
    return [values[keys[pair]] for pair in pairs]


def _characters(pairs: Iterable[TextPair]) -> int:
    return sum(len(first) + len(second) for first, second in pairs)
