"""Schema sensitivity (Lee et al. 2022, SGD-X): how much a unit's score wavers with the wording of the schema.

SS_M is the mean over units of the coefficient of variation of the metric M over K variants, with the sample standard
deviation (K - 1). A unit that is wrong under every variant is 0/0: counted as 0 by default, since its score does not
waver, or left out (`ss:skip`). A model that is always wrong has a perfect SS either way, so the number of such units is
always reported beside it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

SsRule = Literal["zero", "skip"]
Floats = NDArray[np.float64]


def variation(values: Floats, rule: SsRule = "zero") -> Floats:
    """Coefficient of variation of each unit: `values` has a row a variant, a column a unit. NaN: left out."""
    if values.shape[0] < 2:
        raise ValueError("the variation of one variant is not defined")
    mean = values.mean(axis=0)
    spread = np.where(np.ptp(values, axis=0) == 0.0, 0.0, values.std(axis=0, ddof=1))  # no noise where all are equal
    wrong = mean == 0.0
    covered: Floats = np.divide(spread, mean, out=np.zeros(values.shape[1]), where=~wrong)
    if rule == "skip":
        covered[wrong] = np.nan
    return covered
