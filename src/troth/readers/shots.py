"""Samples of a corpus for few-shot training: dialogues by id, a share of them, or a number per domain.

T2G2 publishes lists of dialogue ids (5 to 80 dialogues per domain of SGD), CheckDST uses 50 single-domain dialogues per
domain. A sample depends only on the seed and the ids, and a larger sample contains the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from troth.core.errors import UserError
from troth.core.names import parse_names
from troth.core.progress import note
from troth.core.randomness import generator
from troth.core.records import Dialogue, Pair
from troth.text.normalize import dialogue_id

Shots = str | float | Iterable[str] | None
Item = TypeVar("Item", bound=Dialogue | Pair)


def sample(items: Sequence[Item], shots: Shots, seed: int = 0) -> list[Item]:
    """A sample of the dialogues, in their order; all of them for None.

    `shots` is a share of the dialogues (0.05, or "5%"), a number of single-service dialogues per domain (50, as in
    CheckDST), a file of dialogue ids, one per line (as T2G2 publishes them), or a list of ids.

    >>> from troth import demo, readers
    >>> dialogues = list(readers.gold(demo.path("gold")))
    >>> len(dialogues), len(sample(dialogues, 0.5)), [item.id for item in sample(dialogues, [dialogues[3].id])]
    (22, 11, ['demo_03'])
    """
    if shots is None:
        return list(items)
    if isinstance(shots, str) and Path(shots).is_file():
        return _select_ids(items, Path(shots).read_text(encoding="utf-8").split(), shots)
    if isinstance(shots, str | float | int):
        return _draw_share(items, shots, seed)
    return _select_ids(items, parse_names(shots))


def draw(items: Sequence[Item], count: int, seed: int = 0) -> list[Item]:
    """`count` random dialogues, in their order; the draw depends only on seed and ids."""
    order = sorted(items, key=lambda item: generator(seed, "shots", _gold(item).id).random())
    ids = {_gold(item).id for item in order[:count]}
    return [item for item in items if _gold(item).id in ids]


def _select_ids(items: Sequence[Item], ids: Sequence[str], file: str | None = None) -> list[Item]:
    wanted = {dialogue_id(name) for name in ids}
    selection = [item for item in items if dialogue_id(_gold(item).id) in wanted]
    if not selection:
        raise UserError("none of these dialogues is in the data", file=file, hint="is it the right list?")
    if len(selection) < len(wanted):
        note(f"{len(wanted) - len(selection)} of {len(wanted)} listed dialogues are not in the data")
    return selection


def _draw_share(items: Sequence[Item], shots: str | float, seed: int) -> list[Item]:
    text = str(shots).strip()
    try:
        size = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        size = -1.0
    if 0 < size <= 1:
        return draw(items, max(1, round(size * len(items))), seed)
    if size < 2 or size != int(size) or text.endswith("%"):
        hint = "a share such as 0.05 or 5%, a number of dialogues per domain, or a file of dialogue ids"
        raise UserError(f"cannot be '{shots}'", option="shots", hint=hint)
    domains: dict[str, list[Item]] = {_domain(name): [] for item in items for name in _gold(item).services}
    for item in items:
        if len(_gold(item).services) == 1:
            domains[_domain(_gold(item).services[0])].append(item)
    few = [f"{domain} has {len(own)}" for domain, own in sorted(domains.items()) if len(own) < size]
    if few:
        note(f"fewer than {int(size)} dialogues with a single service: {', '.join(few)}")
    ids = {_gold(item).id for dialogues in domains.values() for item in draw(dialogues, int(size), seed)}
    return [item for item in items if _gold(item).id in ids]


def _domain(service: str) -> str:
    return service.partition("_")[0]


def _gold(item: Dialogue | Pair) -> Dialogue:
    return item.gold if isinstance(item, Pair) else item
