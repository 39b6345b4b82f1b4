"""Systems held against the first: what differs beyond noise, what does not compare, and both in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from troth import stats
from troth.core.metric import Scale
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.model import Source
from troth.report.page.sources import Item, chosen, total

PAIRED = 5000  # resamples of a paired test: with Holm over a table of metrics, the least p must stay well below 0.05
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """A system against the first, on one metric, beyond noise or not."""

    base: str
    system: str
    metric: str
    difference: float
    low: float
    high: float
    p: float  # of the randomisation test, with Holm's correction over everything that is compared
    scale: Scale = "share"

    @property
    def beyond_noise(self) -> bool:
        return self.p < LEVEL


Differences = dict[tuple[str, str], Difference]  # by a system's name on the page and a metric


def differences(
    items: Sequence[Item], metrics: Sequence[str], *, headline: Sequence[str] = (), seed: int = 0
) -> Differences:
    """Each (run, system) against the first, by (name on the page, metric).

    Only like is compared with like: the same dialogues, the same recipe. What cannot be compared is absent. `headline`:
    the figures that the summary speaks of. They are a question of their own, corrected for among themselves; the rest
    of the table is another.
    """
    rest = [metric for metric in metrics if metric not in headline]
    return _family(items, headline, seed) | _family(items, rest, seed)


def every_metric(found: Sequence[Item], *, headline: Sequence[str]) -> Differences:
    """Each system against the first on every metric that the first has."""
    if not found:
        return {}
    source, system = found[0]
    known = [s.metric for s in source.scores if s.system == system and s.group == "all" and s.value is not None]
    return differences(found, known, headline=[metric for metric in headline if metric in known])


def _family(items: Sequence[Item], metrics: Sequence[str], seed: int) -> Differences:
    if len(items) < 2 or not metrics:
        return {}
    (first, base), *others = items
    made: list[tuple[str, str, stats.Comparison]] = []
    dialogues = _dialogues(first, base)
    tables = {metric: _by_dialogue(first, base, metric) for metric in metrics}
    for source, system in others:
        if _dialogues(source, system) != dialogues:
            continue
        shared = [metric for metric in metrics if tables[metric] and _alike(items[0], (source, system), metric)]
        mine = {metric: _by_dialogue(source, system, metric) for metric in shared}
        if not shared:
            continue
        parts = [
            np.array([[table[metric].get(dialogue, (0.0, 0.0))[side] for metric in shared] for dialogue in dialogues])
            for table in (tables, mine)
            for side in (0, 1)
        ]
        results = stats.compare(*parts, resamples=PAIRED, seed=seed)
        made += [(source.called(system), metric, result) for metric, result in zip(shared, results, strict=True)]
    tested = [one for one in made if not np.isnan(one[2].p_randomization)]
    corrected = stats.holm([result.p_randomization for *_, result in tested])
    return {
        (name, metric): Difference(
            first.called(base), name, metric, one.difference, one.low, one.high, p, _scale(first, base, metric)
        )
        for (name, metric, one), p in zip(tested, corrected, strict=True)
    }


def _scale(source: Source, system: str, metric: str) -> Scale:
    score = source.score(metric, system)
    return "share" if score is None else score.scale


def _alike(base: Item, other: Item, metric: str) -> bool:
    found = [source.score(metric, system) for source, system in (base, other)]
    return all(found) and len({score.recipe for score in found if score}) == 1


def _dialogues(source: Source, system: str) -> list[str]:
    import polars as pl

    return sorted(source.rows.filter(pl.col("system") == system)["dialogue"].unique().to_list())


def _by_dialogue(source: Source, system: str, metric: str) -> Mapping[str, tuple[float, float]]:
    rows = chosen(source, system, metric).group_by("dialogue").agg(total("num"), total("den"))
    return {dialogue: (num, den) for dialogue, num, den in rows.select("dialogue", "num", "den").iter_rows()}


# -- in words ----------------------------------------------------------------------------------------------------------


def story(found: Sequence[Item], beyond: Differences, metrics: Sequence[str]) -> list[str]:
    """What the summary says of several systems: differences beyond noise, or that there are none, or why not."""
    if len(found) < 2:
        return []
    base = found[0][0].called(found[0][1])
    lines = []
    for source, system in found[1:]:
        name = source.called(system)
        tested = [beyond[name, metric] for metric in metrics if (name, metric) in beyond]
        parts = [
            f"{_size(one)} {'above' if one.difference > 0 else 'below'} {base} in {words.inline(one.metric)}"
            for one in tested
            if one.beyond_noise
        ]
        if parts:
            lines.append(f"{name} is {words.listed(parts)}, beyond noise.")
        elif tested:
            listed = " or ".join(words.inline(one.metric) for one in tested)
            lines.append(f"{name} does not differ from {base} in {listed} beyond noise.")
    return lines + apart(found, metrics)


def apart(found: Sequence[Item], metrics: Sequence[str] = ()) -> list[str]:
    """Why systems are not compared with the first: a line each. `metrics`: only these are spoken of."""
    (first, base), *others = found
    ours = _dialogues(first, base)
    lines = []
    for source, system in others:
        start = f"{source.called(system)} is not compared with {first.called(base)}"
        theirs = _dialogues(source, system)
        scores = _scores(first, base), _scores(source, system)
        shared = [metric for metric in scores[0] if metric in scores[1]]
        spoken = [metric for metric in shared if not metrics or metric in metrics]
        unlike = [metric for metric in spoken if scores[0][metric].recipe != scores[1][metric].recipe]
        if theirs != ours:
            sizes = f" ({len(theirs):,} against {len(ours):,})" if len(theirs) != len(ours) else ""
            lines.append(f"{start}: it has other {'documents' if source.command == 'ground' else 'dialogues'}{sizes}.")
        elif not shared:
            lines.append(f"{start}: they have no metric in common.")
        elif unlike:
            some = words.listed([words.inline(metric) for metric in unlike]) if len(unlike) <= 3 else "some metrics"
            where = "" if len(unlike) == len(spoken) else f" in {some}"
            how = _recipes(scores[0][unlike[0]], scores[1][unlike[0]])
            lines.append(f"{start}{where}: it is scored by another recipe ({how}).")
    return lines


def _scores(source: Source, system: str) -> dict[str, Score]:
    every = [s for s in source.scores if s.system == system and s.group == "all" and s.value is not None]
    return {score.metric: score for score in every}


def _recipes(ours: Score, theirs: Score) -> str:
    """What tells two recipes apart: the profile, or the first part that differs."""
    parts = [dict(part.split(":", 1) for part in s.recipe.split("|") if ":" in part) for s in (theirs, ours)]
    keys = [key for key in dict.fromkeys((*parts[0], *parts[1])) if parts[0].get(key) != parts[1].get(key)]
    key = "profile" if "profile" in keys else keys[0] if keys else ""
    return f"{key} {parts[0].get(key, 'none')} against {parts[1].get(key, 'none')}" if key else "another metric"


def footnote(found: Sequence[Item]) -> str:
    """What a table says below itself of marks, and of systems that can have none."""
    if len(found) < 2:
        return ""
    base = found[0][0].called(found[0][1])
    marks = f"▲ better, ▼ worse than {base} beyond noise (paired test, Holm's correction, p < 0.05)."
    return " " + " ".join([marks, *apart(found)])


def told(difference: Difference | None) -> tuple[str, bool | None]:
    """A difference beyond noise in words, and whether it is one for the better; nothing otherwise."""
    if difference is None or not difference.beyond_noise:
        return "", None
    better = (difference.difference > 0) != words.lower_is_better(difference.metric)
    way = "above" if difference.difference > 0 else "below"
    return f"{_size(difference)} {way} {difference.base}, beyond noise", better


def _size(one: Difference) -> str:
    """In points of a share; as tables have it of any other number."""
    size = abs(one.difference)
    if words.is_rate(one.metric):
        return f"{size:.2f}"
    return f"{words.percent(size)} points" if one.scale == "share" else f"{size:.3f}"
