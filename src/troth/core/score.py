"""A score: one number with its interval, and the recipe that it was made by."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from troth.core.groups import ALL, Group
from troth.core.metric import Better, Metric, Scale
from troth.core.signature import recipe_rules
from troth.core.version import __version__


class Estimate(NamedTuple):
    """A value with its interval and the number of units that it is over."""

    value: float | None  # None: nothing to divide by
    low: float | None
    high: float | None
    n: int
    note: str | None = None  # why there is no interval, or how it was made


ROUNDING = 1e-6  # by which a value in single precision may lie beyond its range
NO_ESTIMATE = Estimate(None, None, None, 0)


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number with its recipe. A share's `value` is a fraction; None comes with a reason, never as 0."""

    system: str
    metric: str
    group: Group
    value: float | None
    low: float | None
    high: float | None
    n: int  # number of units that the value is over
    recipe: dict[str, str] = {}  # the rules that it was made by, as its signature names them
    reason: str | None = None  # why there is no value
    scale: Scale = "share"
    better: Better = "higher"
    interval_note: str | None = None  # why there is no interval, or why it is as wide as it is
    version: str = ""  # of troth; filled in, so that a stored score keeps the version that made it
    signature: str = ""  # computed from the fields above; what is passed or stored is ignored

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "group", Group.parse(self.group))
        msgspec.structs.force_setattr(self, "version", self.version or __version__)
        line = f"{self.identity}|n:{self.n}|v:{self.version or __version__}"
        msgspec.structs.force_setattr(self, "signature", line)

    @property
    def identity(self) -> str:
        """The signature without the number of units and the version: equal identities can be compared."""
        rules = [f"{rule}:{text}" for rule, text in self.recipe.items()]
        group = [f"group:{self.group}"] if self.group != ALL else []
        return "|".join([self.metric.upper(), *rules, *group])

    @property
    def profile(self) -> str:
        """The scoring profile, of a score of state tracking."""
        return self.recipe.get("profile", "")


def make_score(
    system: str,
    metric: Metric,
    estimate: Estimate,
    recipe: Any,
    *,
    group: str = ALL,
    reason: str | None = None,
    n: int | None = None,
) -> Score:
    """The score of an estimate; `reason` is kept only where there is no value. `n` replaces the estimate's.

    Every interval is cut here to the metric's range, however it was computed. Where
    the value itself lies outside, the metric does not have the range that it declares, and nothing is cut.
    """
    value, low, high, count, note = estimate
    least, most = metric.range
    if value is not None and low is not None and high is not None and least - ROUNDING <= value <= most + ROUNDING:
        low, high = max(low, min(least, value)), min(high, max(most, value))
    return Score(
        system, metric.name, Group.parse(group), value, low, high, count if n is None else n,
        recipe_rules(recipe, metric.ignores), reason if value is None else None, metric.scale, metric.better, note,
    )  # fmt: skip
