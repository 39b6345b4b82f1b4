"""Systems against the first one: what differs beyond noise, what cannot be compared, and both in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from troth.core.metric import PERCENT
from troth.core.score import Score
from troth.report.compare import Difference, corrected, paired
from troth.report.page import words
from troth.report.sources import ScoredSystem

PAIRED = 5000  # resamples of a paired test: with Holm over a table of metrics, the least p must stay well below 0.05
LEVEL = 0.05

Differences = dict[tuple[str, str], Difference]  # by a system's name on the page and a metric


def differences(found: Sequence[ScoredSystem], headline: Sequence[str]) -> Differences:
    """Each system against the first on every metric that the first has, by the system's name and the metric.

    Only scores of the same dialogues by the same recipe are compared; anything else is absent. The metrics of the
    summary (`headline`) are one family of tests, the rest of the table is another: Holm's correction is over each.
    """
    if len(found) < 2:
        return {}
    base, *others = found
    known = base.overall
    families = [m for m in headline if m in known], [m for m in known if m not in headline]
    made: Differences = {}
    for metrics in families:
        tested: list[Difference] = []
        for other in others:
            if other.dialogues == base.dialogues:
                shared = [metric for metric in metrics if _alike(base, other, metric)]
                tested += paired(base, other, shared, resamples=PAIRED, seed=0)
        defined = [one for one in tested if not math.isnan(one.p_randomization)]
        made |= {(one.system, one.metric): one for one in corrected(defined)}
    return made


def _alike(base: ScoredSystem, other: ScoredSystem, metric: str) -> bool:
    scores = base.score(metric), other.score(metric)
    same = scores[0] is not None and scores[1] is not None and scores[0].recipe == scores[1].recipe
    return same and base.has_rows(metric) and other.has_rows(metric)


def story(found: Sequence[ScoredSystem], beyond: Differences, metrics: Sequence[str]) -> list[str]:
    """What the summary says of several systems: differences beyond noise, or that there are none, or why not."""
    if len(found) < 2:
        return []
    base, *others = found
    lines = []
    for other in others:
        tested = [beyond[other.name, metric] for metric in metrics if (other.name, metric) in beyond]
        parts = [
            f"{_size(one)} {_side(one)} {base.name} in {_inline(base, one.metric)}" for one in tested if is_beyond(one)
        ]
        if parts:
            lines.append(f"{other.name} is {words.listed(parts)}, beyond noise.")
        elif tested:
            names = " or ".join(_inline(base, one.metric) for one in tested)
            lines.append(f"{other.name} does not differ from {base.name} in {names} beyond noise.")
    return lines + apart(found, metrics)


def apart(found: Sequence[ScoredSystem], metrics: Sequence[str] = ()) -> list[str]:
    """Why systems are not compared with the first: a line each. `metrics`: only these are spoken of."""
    base, *others = found
    lines = []
    for other in others:
        start = f"{other.name} is not compared with {base.name}"
        ours, theirs = len(base.dialogues), len(other.dialogues)
        shared = [metric for metric in base.overall if metric in other.overall]
        spoken = [metric for metric in shared if not metrics or metric in metrics]
        unlike = [m for m in spoken if base.scores[m, "all"].recipe != other.scores[m, "all"].recipe]
        if base.dialogues != other.dialogues:
            sizes = f" ({theirs:,} against {ours:,})" if theirs != ours else ""
            units = "documents" if other.source.result.task == "ground" else "dialogues"
            lines.append(f"{start}: it has other {units}{sizes}.")
        elif not shared:
            lines.append(f"{start}: they have no metric in common.")
        elif unlike:
            some = words.listed([_inline(base, m) for m in unlike]) if len(unlike) <= 3 else "some metrics"
            where = "" if len(unlike) == len(spoken) else f" in {some}"
            how = _recipes(base.scores[unlike[0], "all"], other.scores[unlike[0], "all"])
            lines.append(f"{start}{where}: it is scored by another recipe ({how}).")
    return lines


def _recipes(ours: Score, theirs: Score) -> str:
    """What tells two recipes apart: the profile, or the first rule that differs."""
    mine, other = words.rules(ours.recipe), words.rules(theirs.recipe)
    keys = [key for key in (other | mine) if mine.get(key) != other.get(key)]
    key = "profile" if "profile" in keys else keys[0] if keys else ""
    return f"{key} {other.get(key, 'none')} against {mine.get(key, 'none')}" if key else "another metric"


def footnote(found: Sequence[ScoredSystem]) -> str:
    """What a table says below itself of marks, and of systems that can have none."""
    if len(found) < 2:
        return ""
    marks = f"▲ better, ▼ worse than {found[0].name} beyond noise (paired test, Holm's correction, p < 0.05)."
    return " " + " ".join([marks, *apart(found)])


def is_beyond(difference: Difference) -> bool:
    return difference.p_holm < LEVEL


def mark(difference: Difference | None) -> tuple[str, bool | None]:
    """A difference beyond noise in words, and whether it is one for the better; nothing otherwise."""
    if difference is None or not is_beyond(difference):
        return "", None
    better = (difference.difference > 0) == (difference.better == "higher")
    return f"{_size(difference)} {_side(difference)} {difference.base}, beyond noise", better


def _side(one: Difference) -> str:
    return "above" if one.difference > 0 else "below"


def _size(one: Difference) -> str:
    """Points of a share; any other number as tables have it."""
    return words.number(abs(one.difference), one.scale) + (" points" if one.scale in PERCENT else "")


def _inline(system: ScoredSystem, metric: str) -> str:
    return words.inline(system.metric(metric).title)
