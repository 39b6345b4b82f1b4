"""Agreement between raters beyond chance: Fleiss' kappa (Fleiss, 1971)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError


def fleiss_kappa(counts: ArrayLike) -> float | None:
    """Agreement beyond chance. `counts[item, category]` is how many raters chose the category for the item.

    None where it is undefined: no items, or one category for everything, which leaves chance nothing to explain.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"counts must have shape (items, categories), not {table.shape}")
    if table.shape[0] == 0:
        return None
    raters = table.sum(axis=1)
    if raters[0] < 2 or (raters != raters[0]).any() or (table < 0).any():
        raise UserError(
            "Fleiss' kappa needs the same number of raters, two or more, for every item",
            hint="leave out the items that have fewer",
        )
    n = raters[0]
    seen = float(((table**2).sum(axis=1) - n).mean() / (n * (n - 1)))
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return None if chance == 1 else (seen - chance) / (1 - chance)
