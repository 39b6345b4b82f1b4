"""How sure a number is: intervals, paired tests, the gate; correlation and agreement. Numbers in, numbers out.

- `resampling`: ratios of sums, and their bootstrap over dialogues
- `intervals`: intervals of one number
- `paired`: two systems on the same dialogues; Holm's correction for many tests
- `noninferiority`: the gate; `absolute`: the gate without a base
- `contests`: many systems, and those that the best one does not beat
- `correlation`, `agreement`: scores against labels; raters against each other
- `quantiles`: of the normal, t and beta distributions
- `estimates`: from parts of ratios to scores with intervals
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from troth.stats.absolute import Level, LevelGate, level_gate
    from troth.stats.agreement import fleiss_kappa
    from troth.stats.correlation import auroc, pearson, spearman
    from troth.stats.intervals import Bounds, MedianError, median_and_error, median_and_standard_error
    from troth.stats.noninferiority import Gate, Verdict, gate
    from troth.stats.paired import Comparison, compare, holm
    from troth.stats.resampling import TIE, Array, bootstrap, draws, ratio

_MODULES = {
    "absolute": ("Level", "LevelGate", "level_gate"),
    "agreement": ("fleiss_kappa",),
    "correlation": ("auroc", "pearson", "spearman"),
    "intervals": ("Bounds", "MedianError", "median_and_error", "median_and_standard_error"),
    "noninferiority": ("Gate", "Verdict", "gate"),
    "paired": ("Comparison", "compare", "holm"),
    "resampling": ("TIE", "Array", "bootstrap", "draws", "ratio"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [
    "TIE", "Array", "Bounds", "Comparison", "Gate", "Level", "LevelGate", "MedianError", "Verdict", "auroc",
    "bootstrap", "compare", "draws", "fleiss_kappa", "gate", "holm", "level_gate", "median_and_error",
    "median_and_standard_error", "pearson", "ratio", "spearman",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names are imported on first use: a command that needs intervals alone does not pay for all tests."""
    if name not in _HOME:
        raise AttributeError(f"module 'troth.stats' has no attribute '{name}'")
    return getattr(import_module(f"troth.stats.{_HOME[name]}"), name)
