"""Schema sensitivity (Lee et al. 2022, SGD-X): how much a unit's score varies with the wording of the schema.

SS_M is the mean over units of the coefficient of variation of the metric M over K variants, with the sample standard
deviation (K - 1). A unit that is wrong under every variant is 0/0: counted as 0 by default, since its score does not
vary, or left out (`ss:skip`). A model that is always wrong has a perfect SS either way, so the number of such units is
always reported beside it.

The functions take a metric's parts under each variant, over the same units in the same order (`core.parts.join`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from troth.core.parts import Floats, Mask, Parts


def average(variants: Sequence[Parts]) -> Parts:
    """Parts of the mean over units and variants (equation 4): each unit counts once per variant."""
    table, scored = values(variants)
    return variants[0].with_values(np.where(scored, table.sum(axis=0), 0.0), np.where(scored, len(table), 0.0))


def sensitivity(variants: Sequence[Parts], rule: str = "zero") -> Parts:
    """Parts of the mean coefficient of variation (equation 1)."""
    table, scored = values(variants)
    spread = np.where(scored, variation(table, rule), np.nan)
    return variants[0].with_values(np.nan_to_num(spread), (~np.isnan(spread)).astype(np.float64))


def all_wrong(variants: Sequence[Parts]) -> Parts:
    """Parts of the share of units that score 0 under every variant."""
    table, scored = values(variants)
    return variants[0].with_values((scored & ~table.any(axis=0)).astype(np.float64), scored.astype(np.float64))


def relative_change(original: Parts, variants: Sequence[Parts]) -> Parts:
    """Parts of Diff_rel (table 2): (mean over the variants - original) / original, over the units that both have."""
    table, scored = values(variants)
    scored &= original.den > 0
    before = len(table) * np.where(scored, original.num, 0.0)
    return original.with_values(np.where(scored, table.sum(axis=0), 0.0) - before, before)


def values(variants: Sequence[Parts]) -> tuple[Floats, Mask]:
    """Scores, a row per variant and a column per unit, and the units that the metric applies to under all variants."""
    applies: Mask = np.all([parts.den > 0 for parts in variants], axis=0)
    return np.stack([parts.num for parts in variants]), applies


def variation(values: Floats, rule: str = "zero") -> Floats:
    """Coefficient of variation of each unit: `values` has a row per variant, a column per unit. NaN: left out."""
    if values.shape[0] < 2:
        raise ValueError("the variation of one variant is not defined")
    mean = values.mean(axis=0)
    spread = np.where(np.ptp(values, axis=0) == 0.0, 0.0, values.std(axis=0, ddof=1))  # no noise where all are equal
    wrong = mean == 0.0
    covered: Floats = np.divide(spread, mean, out=np.zeros(values.shape[1]), where=~wrong)
    if rule == "skip":
        covered[wrong] = np.nan
    return covered
