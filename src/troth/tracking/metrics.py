"""Metrics of state tracking: what each is, and its parts for any group of frames.

A unit is a frame or a turn. In a turn's unit the joint scores of its frames are multiplied, within the group: "seen"
multiplies the turn's seen services only, as the public script does. Everything else is a mean over frames in the SGD
profiles (`average="frame"`) and over turns, all services together, in the MultiWOZ ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import parse_names
from troth.core.parts import Floats, Parts
from troth.core.registry import Registry
from troth.tracking.frames import Frames

DEFAULT_RATES = (0.25, 0.5, 0.75, 1.0)  # the λ of the FGA paper's table 1


def _joint(column: str) -> Callable[[Frames], Parts]:
    def parts(frames: Frames) -> Parts:
        values = frames.column(column)
        if frames.profile.unit == "frame":
            return frames.parts(values)
        applies = frames.fold(np.logical_or, ~np.isnan(values))
        product = frames.fold(np.multiply, np.where(np.isnan(values), 1.0, values))
        return frames.parts(np.where(applies, product, np.nan), by_turn=True)

    return parts


def _average(
    top: Callable[[Frames], Floats], bottom: Callable[[Frames], Floats], *, gold: bool = False
) -> Callable[[Frames], Parts]:
    """Mean over units of a share of slots, over units in which there are such slots; `gold`: in which gold has any.

    Gold's slots are those of the whole unit: in a turn with several services, one that gold lacks counts as well.
    """

    def parts(frames: Frames) -> Parts:
        by_turn = frames.profile.average == "turn"
        columns = [top(frames), bottom(frames), frames.column("active")]
        num, den, active = (frames.fold(np.add, one) for one in columns) if by_turn else columns
        return frames.parts(_ratio(num, np.where(active > 0, den, 0.0) if gold else den), by_turn=by_turn)

    return parts


def _ratio(top: Floats, bottom: Floats) -> Floats:
    ratio: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return ratio


def _slot_accuracy(frames: Frames) -> Parts:
    wrong, size = frames.column("wrong"), frames.column("size")
    if frames.profile.average == "frame":
        return frames.parts(_ratio(size - np.minimum(wrong, size), size))
    # A file of correctness says by its length how many slots there are; else the ontology does.
    ontology = np.full(len(frames.turns), frames.slots or np.nan)
    known = size[frames.turns] if frames.profile.match == "given" else ontology
    # A missing prediction has infinitely much wrong: as much as there is.
    return frames.parts(_ratio(known - np.minimum(frames.fold(np.add, wrong), known), known), by_turn=True)


def _flexible(weight: Callable[[Floats], Floats]) -> Callable[[Frames], Parts]:
    def parts(frames: Frames) -> Parts:
        joint, lag = frames.lags
        return frames.parts(joint + (1.0 - joint) * weight(lag), by_turn=frames.profile.unit == "turn")

    return parts


def _sums(top: Callable[[Frames], Floats], bottom: Callable[[Frames], Floats]) -> Callable[[Frames], Parts]:
    """A ratio of sums over all units (micro-average)."""

    def parts(frames: Frames) -> Parts:
        by_turn = frames.profile.unit == "turn"
        num, den = (np.nan_to_num(side(frames)) for side in (top, bottom))
        units = frames.units(by_turn=by_turn)
        return Parts(frames.fold(np.add, num), frames.fold(np.add, den), units) if by_turn else Parts(num, den, units)

    return parts


def _union_of_triplets(frames: Frames) -> Floats:
    """Triplets of service, slot and value that either side has: a wrong value is in both sides, and counts twice."""
    return frames.column("active") + frames.column("predicted") - frames.column("right")


def _mean(column: str) -> Callable[[Frames], Parts]:
    return lambda frames: frames.parts(frames.column(column))


def _active_noncat(frames: Frames) -> Floats:
    return frames.column("active") - frames.column("active_cat")


def _right_noncat(frames: Frames) -> Floats:
    # Cut to its range: the difference of two sums of fuzzy scores may leave it by the last bit.
    return np.clip(frames.column("right") - frames.column("right_cat"), 0.0, _active_noncat(frames))


def _column(name: str) -> Callable[[Frames], Floats]:
    return lambda frames: frames.column(name)


def _declare(name: str, title: str, about: str, compute: Callable[[Frames], Parts], **further: Any) -> Metric:
    """`unit`: "unit", the profile's; "average", what the profile averages over; or "frame"."""
    ignores = frozenset({"fga"} if further.get("unit") == "average" else {"fga", "average"})
    return Metric(name, title, about, against="states", compute=compute, **({"ignores": ignores} | further))


def fga(rate: str | float) -> Metric:
    """Flexible goal accuracy at a rate λ. At λ = 0 nothing is recovered, however old the error: FGA is JGA."""
    value = float(rate)
    text = f"{value:g}" if float(f"{value:g}") == value else repr(value)  # the shortest that reads back the same

    def weight(lag: Floats) -> Floats:
        return -np.expm1(-value * lag) if value > 0 else np.zeros(len(lag))

    return _declare(
        f"fga@{text}", f"FGA, λ = {text}",
        "JGA with credit for turns whose only errors are inherited; λ sets how fast the credit recovers",
        _flexible(weight), ignores=frozenset({"average"}), of="fga", variant=text, headline=value == 0.5,
    )  # fmt: skip


_METRICS = (
    _declare("jga", "Joint goal accuracy", "share of units whose whole state is right", _joint("joint"),
             headline=True),
    _declare("jga_cat", "JGA, categorical slots", "JGA over slots with a closed list of values", _joint("joint_cat"),
             needs=("schema",)),
    _declare("jga_noncat", "JGA, free slots", "JGA over slots with free values", _joint("joint_noncat"),
             needs=("schema",)),
    _declare("aga", "Average goal accuracy", "share of gold's slots that are right; extra slots cost nothing",
             _average(_column("right"), _column("active")), unit="average", headline=True),
    _declare("aga_cat", "AGA, categorical slots", "AGA over slots with a closed list of values",
             _average(_column("right_cat"), _column("active_cat")), unit="average", needs=("schema",)),
    _declare("aga_noncat", "AGA, free slots", "AGA over slots with free values",
             _average(_right_noncat, _active_noncat), unit="average", needs=("schema",)),
    _declare("aga_union", "AGA, union",
             "AGA over the triplets that gold or prediction has: extra slots cost, and a wrong value counts twice",
             _average(_column("right"), _union_of_triplets, gold=True), unit="average"),
    _declare("aga_slots", "AGA, slots of both",
             "AGA over the slots that gold or prediction has: extra slots cost, and a wrong value counts once",
             _average(_column("right"), _column("union"), gold=True), unit="average"),
    _declare("sa", "Slot accuracy", "share of all slots of the ontology that are right; always high", _slot_accuracy,
             unit="average", needs=("ontology",)),
    _declare("slot_precision", "Slot precision", "share of all predicted slots that are right",
             _sums(_column("right"), _column("predicted"))),
    _declare("slot_recall", "Slot recall", "share of all of gold's slots that are right",
             _sums(_column("right"), _column("active"))),
    _declare("slot_f1", "Slot F1", "harmonic mean of slot precision and slot recall, over all units together",
             _sums(lambda f: 2 * f.column("right"), lambda f: f.column("predicted") + f.column("active"))),
    _declare("rsa", "Relative slot accuracy", "share of right slots among those that gold or prediction has",
             _sums(_column("right"), _column("union"))),
    _declare("turn_match", "Turn match", "share of units that are right, or wrong only through an earlier error",
             _flexible(lambda lag: (lag > 0).astype(float)), ignores=frozenset({"average"}), headline=True),
    _declare("intent_accuracy", "Active intent accuracy", "share of frames whose active intent is right",
             _mean("intent"), unit="frame", needs=("intents",)),
    _declare("requested_f1", "Requested slots, F1", "F1 of the slots that the user asks about, mean over frames",
             _mean("requested_f1"), unit="frame", needs=("requested slots",)),
    _declare("requested_precision", "Requested slots, precision", "precision of the slots that the user asks about",
             _mean("requested_precision"), unit="frame", needs=("requested slots",)),
    _declare("requested_recall", "Requested slots, recall", "recall of the slots that the user asks about",
             _mean("requested_recall"), unit="frame", needs=("requested slots",)),
    _declare("tagging_f1", "Slot tagging, F1", "F1 of free values marked in the text, mean over frames",
             _mean("tagging_f1"), unit="frame", needs=("schema", "spans")),
    _declare("tagging_precision", "Slot tagging, precision", "precision of free values marked in the text",
             _mean("tagging_precision"), unit="frame", needs=("schema", "spans")),
    _declare("tagging_recall", "Slot tagging, recall", "recall of free values marked in the text",
             _mean("tagging_recall"), unit="frame", needs=("schema", "spans")),
)  # fmt: skip

METRICS: Registry[Metric] = Registry(
    "metric",
    "troth.tracking_metrics",
    {one.name: one for one in _METRICS} | {f"fga@{r:g}": fga(r) for r in DEFAULT_RATES},
)


def metric(name: str) -> Metric:
    """A metric by name; `fga@0.5` for any λ."""
    rate = re.fullmatch(r"fga@([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)", name)
    if rate and math.isfinite(float(rate[1])):
        return fga(rate[1])
    return METRICS.load(name)


def select_metrics(names: str | Iterable[str] | None = None, rates: Iterable[float] | None = None) -> list[Metric]:
    """The metrics of these names, then FGA for each λ; without names all of them, FGA for each λ after RSA.

    Without `rates`, FGA of all metrics is at the paper's λ, and named metrics are all there is.
    """
    rates = None if rates is None else list(rates)
    for rate in rates or ():
        if not 0 <= rate < math.inf:
            raise UserError(f"cannot be '{rate:g}'", option="rates", hint="0 or more; the paper uses 0.25 to 1")
    if names is not None:
        wanted = [metric(name) for name in parse_names(names)]
        if not wanted:
            raise UserError("no metric is named", hint="for example jga")
        return list({one.name: one for one in (*wanted, *map(fga, rates or ()))}.values())
    own = [one for one in (METRICS.load(name) for name in METRICS.by_name()) if one.of != "fga"]
    at = next(place for place, one in enumerate(own) if one.name == "turn_match")
    return [*own[:at], *map(fga, DEFAULT_RATES if rates is None else rates), *own[at:]]


def recovery_rate(turns: float, share: float) -> float:
    """The λ at which an error's weight has recovered to `share` after `turns` turns (FGA paper, section 3)."""
    if not (0 < turns < math.inf and 0 <= share < 1):
        raise UserError("the number of turns must be above 0, and the share in [0, 1)", hint="for example 6,0.95")
    return -math.log1p(-share) / turns
