"""What a metric is: one frozen value, declared once, beside the function that computes it.

Help texts, tables, the page, `troth ls`, the direction of "better", `compute()` and the reference pages read this
value. The project has no other list of metrics, and no code tells metrics apart by parsing their names.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Literal

import msgspec

Better = Literal["higher", "lower"]
# A part of a whole, printed in percent; another ratio that is printed in percent (a relative change, a coefficient of
# variation); any other number; a p-value.
Scale = Literal["share", "percent", "number", "p"]
PERCENT: tuple[Scale, ...] = ("share", "percent")


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric's name, its description, and how to read its numbers.

    `compute` is the function behind it; its arguments and its result are defined by the folder that declares the metric
    (state tracking: frames to parts of a ratio). It is not stored in runs.
    """

    name: str  # as users write it: `jga`, `fga@0.5`, `cjga:NED`
    title: str  # for tables and charts: "Joint goal accuracy"
    about: str = ""  # one clause: "share of units whose whole state is right"
    better: Better = "higher"
    scale: Scale = "share"
    unit: str = "unit"  # what it is averaged over: "frame", "turn", "response"
    needs: tuple[str, ...] = ()  # what must be there besides gold and predictions: "schema", "nli", "lm", "text"
    ignores: frozenset[str] = frozenset()  # rules of the recipe that do not move it, and are left out of its signature
    against: str = ""  # what `compute()` takes as references: states, texts, values, documents; "": nothing it can take
    of: str = ""  # the metric that this one is derived from: `jga` for `jga:v3`
    variant: str = ""  # name of the variant that it is derived by: "v3", "NED", "0.5"
    repeats: str = ""  # a metric that says the same of the same units, and is tested in place of this one
    top: float | None = None  # highest possible value of a unit; a share's is 1, a count's inf
    low: float | None = None  # lowest possible value of a metric that can be below 0
    headline: bool = False  # shown in tables by group, where all metrics would be too many
    compute: Any = None

    def derive(self, name: str, **changes: Any) -> Metric:
        """The same metric on another test set, under another wording, with another parameter."""
        return msgspec.structs.replace(self, name=name, of=changes.pop("of", self.name), **changes)

    def on(self, variant: str, compute: Callable[..., Any] | None = None) -> Metric:
        """The same metric on a named set: `jga` on NED is `jga:NED`. An empty name is the original set."""
        if not variant:
            return self
        title = f"{self.title}, {variant}"
        return self.derive(f"{self.name}:{variant}", title=title, variant=variant, compute=compute or self.compute)

    @property
    def label(self) -> str:
        """The name for papers: the initials if they are usual (JGA), else the title."""
        initials = "".join(word[0] for word in self.title.split()).lower()
        return self.name.upper() if initials == self.name else self.title

    @property
    def bound(self) -> float | None:
        """The highest possible value of a mean that is never below 0; None for any other number."""
        if self.low is not None:
            return None
        return 1.0 if self.top is None and self.scale == "share" else self.top

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest possible value, infinite where there is no limit."""
        if self.low is not None:
            return self.low, inf if self.top is None else self.top
        return (-inf, inf) if self.bound is None else (0.0, self.bound)

    @property
    def stored(self) -> Metric:
        """What a run keeps of it: everything but the function; JSON has no number for an infinite bound."""
        if self.top == inf:
            return msgspec.structs.replace(self, compute=None, top=None, low=0.0 if self.low is None else self.low)
        return msgspec.structs.replace(self, compute=None)

    def __repr__(self) -> str:
        return f"Metric({self.name!r}: {self.about or self.title})"
