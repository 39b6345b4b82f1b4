"""A sweep over PMI-Decode's α and p (PMI-Faith, table 5), and the setting that it speaks for.

The paper takes the setting with the highest sum of ROUGE-L, against the gold response, and PMI-Faith, normalised, on
dev data. Its bounds are those of a dev set (table 9); here they are the lowest and the highest value of plain decoding
(α = 0) on the same data, which is always generated. So what else is in the grid moves no number of a setting, and none
of two settings against each other. Values beyond the bounds are not clipped: plain decoding lies between 0 and 1, and a
setting that is more faithful than the best of it may lie above. The metric that faithfulness is optimised by should not
alone be its judge, so others stand beside it in the table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from troth.core.errors import UserError

ALPHAS = (0.0, 0.25, 0.5, 1.0)
PS = (0.6, 0.75, 0.9, 1.0)
FAITH = "pmi_faith"


class Cell(msgspec.Struct, frozen=True):
    """One setting: the mean of each metric over all responses, and how many responses each is over."""

    alpha: float
    top_p: float
    means: dict[str, float | None]
    counts: dict[str, int]


class Bounds(msgspec.Struct, frozen=True):
    """What is 0 and what is 1 after normalisation."""

    low: float
    high: float


def grid(alphas: Sequence[float], ps: Sequence[float]) -> list[tuple[float, float]]:
    """All settings, by p and then by α, as table 5 has them."""
    for alpha in alphas:
        if not 0 <= alpha <= 1:
            raise UserError(f"α is {alpha:g}", hint="it is from 0 to 1")
    for p in ps:
        if not 0 < p <= 1:
            raise UserError(f"p is {p:g}", hint="it is above 0 and at most 1")
    if not alphas or not ps:
        raise UserError("there is no setting to try", hint="name one α and one p at least")
    return [(alpha, p) for p, alpha in itertools.product(dict.fromkeys(ps), dict.fromkeys(alphas))]


def cell(alpha: float, top_p: float, values: Mapping[str, Sequence[float | None]]) -> Cell:
    """What cannot be scored has no part in a mean; a metric without any value has none."""
    known = {name: [value for value in given if value is not None] for name, given in values.items()}
    means = {name: math.fsum(some) / len(some) if some else None for name, some in known.items()}
    return Cell(alpha, top_p, means, {name: len(some) for name, some in known.items()})


def judge(metrics: Sequence[str]) -> str | None:
    """The metric of faithfulness to pick by: PMI-Faith, as in the paper, wherever it stands; without it the first."""
    return FAITH if FAITH in metrics else next(iter(metrics), None)


def bounds(plain: Sequence[float | None]) -> Bounds | None:
    """The lowest and the highest value of plain decoding. None: it has no two."""
    known = [value for value in plain if value is not None]
    return Bounds(min(known), max(known)) if len(set(known)) > 1 else None


def normalised(values: Sequence[float | None], by: Bounds | None) -> list[float | None]:
    """Values with 0 at the lower bound and 1 at the upper one; without bounds there are none."""
    return [None if value is None or by is None else (value - by.low) / (by.high - by.low) for value in values]


def pick(cells: Sequence[Cell], by: Sequence[str]) -> Cell | None:
    """The setting with the highest sum of these metrics; of equal ones the first. None: no setting has them all."""
    able = []
    for one in cells:
        found = [one.means.get(name) for name in by]
        known = [value for value in found if value is not None]
        if len(known) == len(by):
            able.append((math.fsum(known), one))
    return max(able, key=lambda pair: pair[0])[1] if able else None
