"""Metrics of robustness: CheckDST's on the original and on perturbed sets, and SGD-X's, derived from tracking metrics.

Papers: CheckDST (Cho et al. 2022), SGD-X (Lee et al. 2022). A metric on a perturbed set is named after it: `cjga:NED`.
From a metric of units, SGD-X derives `jga_orig`, `jga_v1-5`, `ss_jga`, `all_wrong_jga`, `jga:v3`, `jga_drop`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from troth.core.metric import Metric
from troth.core.registry import Registry
from troth.robustness import sensitivity
from troth.tracking import consistency
from troth.tracking.metrics import METRICS as TRACKING

_ENTITIES = frozenset({"nohf", "slots"})  # rules of `CheckdstRecipe` that concern named entities
_SOFT: Metric = TRACKING.load("jga")

JGA = _SOFT.derive(
    "jga", of="", about="share of units whose whole state is right, each right or wrong",
    ignores=_SOFT.ignores | _ENTITIES | {"coref"}, compute=consistency.exact_parts,
)  # fmt: skip
CJGA = JGA.derive(
    "cjga", of="", title="cJGA", about="share of the units right in at least one of two sets that are right in both",
    needs=("twin",), compute=consistency.conditional_parts,
)  # fmt: skip
CJGA_ALL = CJGA.derive(
    "cjga_all", of="", title="cJGA over all pairs", about="share of all pairs of units that are right in both sets",
    compute=consistency.over_all_pairs, repeats="cjga",
)  # fmt: skip
COREF_JGA = JGA.derive(
    "coref_jga", of="", title="Coreference JGA", about="JGA of the turns whose state needs coreference",
    ignores=_SOFT.ignores | _ENTITIES, needs=("coreference",), compute=consistency.coreference_parts,
)  # fmt: skip
NOHF = Metric(
    "nohf", "No hallucination", "share of the predicted named entities that stand in what was said", unit="turn",
    ignores=frozenset({"right", "coref"}), compute=consistency.hallucination_parts,
)  # fmt: skip
SLACK = Metric("slack", "Average slack", "mean distance from the best one over the other columns", better="lower")

METRICS: Registry[Metric] = Registry(
    "metric", "troth.robustness_metrics", {one.name: one for one in (JGA, CJGA, CJGA_ALL, COREF_JGA, NOHF, SLACK)}
)


def pair_metrics() -> list[Metric]:
    """The metrics of two sets, the original and a perturbed one: the paper's, then those of other packages.

    Their `compute` takes the parts of JGA on both sets, over the units that both have, and returns parts.
    """
    return [metric for metric in map(METRICS.load, METRICS.by_name()) if "twin" in metric.needs]


def on_set(metric: Metric, set: str) -> Metric:
    """A metric of CheckDST on a perturbed set: `cjga:NED`, "cJGA under NED". An empty name is the original set."""
    if not set:
        return metric
    repeats = metric.repeats and f"{metric.repeats}:{set}"
    return metric.derive(f"{metric.name}:{set}", title=f"{metric.label} under {set}", variant=set, repeats=repeats)


def table_2(metrics: Iterable[Metric]) -> list[Metric]:
    """Those of some metrics that are columns of CheckDST's table 2, in its order; cJGA of other sets after the paper's.

    NoHF stands there for the original set and for the one with names swapped.
    """
    known = {metric.name: metric for metric in metrics}
    usual = [on_set(CJGA, name).name for name in ("PI", "SDI", "NED")]
    others = [metric.name for metric in known.values() if metric.of == CJGA.name and metric.name not in usual]
    order = [JGA.name, COREF_JGA.name, *usual, *others, NOHF.name, on_set(NOHF, "NED").name]
    return [known[name] for name in order if name in known]


class VariantMetrics(NamedTuple):
    """The metrics of SGD-X that are derived from one tracking metric."""

    original: Metric
    average: Metric
    sensitivity: Metric
    all_wrong: Metric
    drop: Metric
    variants: dict[str, Metric]  # by the variant's name


def derive_variants(metric: Metric, labels: Sequence[str], rule: str = "zero") -> VariantMetrics:
    """What SGD-X derives from a metric under the variants of these names; `jga_v1-5` for v1 to v5.

    `rule`: how schema sensitivity counts units that are wrong under every variant.
    """
    short, name = metric.label, metric.name
    in_order = list(labels) == [f"v{number}" for number in range(1, len(labels) + 1)]
    mean = f"v1-{len(labels)}" if in_order else "+".join(labels)
    derive = partial(metric.derive, of=name, ignores=metric.ignores | {"ss"})
    return VariantMetrics(
        derive(f"{name}_orig", title=f"{short}, original schema", variant="orig", repeats=name),
        derive(f"{name}_{mean}", title=f"{short} over the wordings", variant=mean, compute=sensitivity.average),
        metric.derive(
            f"ss_{name}", title=f"Schema sensitivity of {short}", variant="ss", better="lower", scale="percent",
            top=math.sqrt(len(labels)),  # right under one wording alone
            about="mean over units of the coefficient of variation over the wordings of the schema; 0 is steady",
            compute=partial(sensitivity.sensitivity, rule=rule),
        ),
        derive(
            f"all_wrong_{name}", title="Wrong under every wording", variant="all_wrong", better="lower",
            about="share of units that score 0 under every wording, and count as steady", compute=sensitivity.all_wrong,
        ),
        derive(
            f"{name}_drop", title=f"{short}, relative change", variant="drop", scale="percent", low=-1.0,
            repeats=f"{name}_{mean}",
            about="(mean over the wordings - original schema) / original schema; negative for a loss",
            compute=sensitivity.relative_change,
        ),
        {
            label: derive(f"{name}:{label}", title=metric.on(label).title, variant=label, repeats=f"{name}_{mean}")
            for label in labels
        },
    )  # fmt: skip
