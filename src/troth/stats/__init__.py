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

from troth.stats.absolute import Level, LevelGate, level_gate
from troth.stats.agreement import fleiss_kappa
from troth.stats.correlation import auroc, pearson, spearman
from troth.stats.intervals import Bounds, MedianError, median_and_error
from troth.stats.noninferiority import Gate, Verdict, gate
from troth.stats.paired import Comparison, compare, holm
from troth.stats.resampling import TIE, Array, bootstrap, draws, ratio

__all__ = [
    "TIE", "Array", "Bounds", "Comparison", "Gate", "Level", "LevelGate", "MedianError", "Verdict", "auroc",
    "bootstrap", "compare", "draws", "fleiss_kappa", "gate", "holm", "level_gate", "median_and_error", "pearson",
    "ratio", "spearman",
]  # fmt: skip
