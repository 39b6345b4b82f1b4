"""A score: one number with its interval, and the recipe that it was made by."""

from __future__ import annotations

import msgspec

from troth.core.metric import Better, Scale


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number with its recipe. A share's `value` is a fraction; None comes with a reason, never as 0."""

    system: str
    metric: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    n: int  # how many units the number is over
    signature: str
    reason: str | None = None  # why there is no value
    scale: Scale = "share"
    better: Better = "higher"
    interval_note: str | None = None  # why there is no interval, or why it is as wide as it is

    @property
    def recipe(self) -> str:
        """The signature without the number of units and the version: scores with equal recipes can be compared."""
        return "|".join(part for part in self.signature.split("|") if not part.startswith(("n:", "v:")))
