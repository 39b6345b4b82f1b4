"""Summary of the demo in five lines: one for each question, and one on the effect of recipes.

Every figure and every comparison comes from the results; the wording follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from troth import stats
from troth.core.groups import ALL
from troth.core.names import split_profile
from troth.core.result import Result
from troth.core.score import Score
from troth.report.compare import Difference, compare_pair
from troth.report.page.stress import pair_trackers, stress_lines
from troth.report.sources import open_run

PROFILE = "trade"  # the recipe that the trackers are compared by
RESAMPLES = 2000  # of the intervals of differences
VARIANTS = 3  # wordings of the schema
TITLES = {"nli": "entailment", "u_f1": "shared words", "pmi_faith": "PMI-Faith"}


@dataclass(frozen=True)
class Results:
    """Results of each part; grounding is None where no metric for it is installed."""

    tracking: Result
    robust: list[Result]
    wording: list[Result]
    responses: Result
    grounding: Result | None = None


def summary_lines(results: Results) -> list[str]:
    return [
        f"State tracking: {tracking(results.tracking)}",
        f"Robustness: {robustness(results.robust, results.wording)}",
        f"Responses: {responses(results.responses)}",
        f"Grounding: {grounding(results.grounding)}",
        f"And beware: {recipes(results.tracking)}",
    ]


def tracking(result: Result) -> str:
    """JGA and FGA of both trackers, with the intervals of the differences."""
    systems = {split_profile(system.system, PROFILE): system for system in open_run(result, 1).systems}
    names = list(dict.fromkeys(split_profile(score.system, score.profile) for score in result.scores))
    first, second = sorted(names, key=lambda name: -(systems[name].value("jga") or 0.0))[:2]
    jga, fga = compare_pair(systems[second], systems[first], ("jga", "fga@0.5"), resamples=RESAMPLES, seed=0)
    return (
        f"{first} has the whole state right in {_percent(jga.value)} of turns, {second} in {_percent(jga.base_value)} "
        f"({_describe_interval(jga)}); counting a mistake only where it is made (FGA), {first} has "
        f"{_points(fga.value)}, {second} {_points(fga.base_value)} ({_describe_interval(fga)})."
    )


def _describe_interval(difference: Difference) -> str:
    """The interval of a difference, and whether it shows one."""
    if difference.low is None or difference.high is None:
        return "too few dialogues for an interval"
    bounds = f"{100 * difference.low:+.1f} … {100 * difference.high:+.1f} points"
    return f"no difference shown: {bounds}" if difference.low <= 0 <= difference.high else f"a difference of {bounds}"


def robustness(perturbed: Sequence[Result], worded: Sequence[Result]) -> str:
    """What each stress costs the first tracker, and where the second is better and where it is not."""
    systems = [[system for run in runs for system in open_run(run, 1).systems] for runs in (perturbed, worded)]
    return " ".join(stress_lines(pair_trackers(*systems)))


def responses(result: Result) -> str:
    """Errors that SER finds in each system's responses, and SGSAcc in yes-or-no facts, which SER cannot check."""
    names = result.systems
    ser = [f"{_percent(_value(result.score('ser', system=name)))} of {name}'s responses" for name in names]
    text = f"by exact search, a value is missing in {' and in '.join(ser)}"
    if not any(metric.name == "sgsacc" for metric in result.metrics):
        return f"{text}; checking yes-or-no facts needs an entailment model."
    wrong = [f"{_percent(1 - _value(result.score('sgsacc', 'kind:boolean', name)))} of {name}'s" for name in names]
    facts = f"SGSAcc finds {' and '.join(wrong)} untrue"
    return f"{text}; of the yes-or-no facts, which exact search cannot check, {facts}."


def grounding(result: Result | None) -> str:
    """Shares of supported answers by the first metric and by people, and the AUROC of each metric."""
    if result is None:
        return "no metric for it is installed."
    names = [metric.name for metric in result.metrics if not metric.of]
    verdict = next((metric for metric in result.metrics if metric.of == "faithful"), None)
    shares = [(system, _labelled_values(result, [system], names[0])) for system in result.systems]
    people = " and ".join(_percent(sum(label for _, label in pairs) / len(pairs)) for _, pairs in shares)
    if verdict is not None:
        by_metric = [(one, _value(result.score(verdict.name, system=one))) for one in result.systems]
        said = " and ".join(f"{_percent(share)} of {one}'s" for one, share in by_metric)
        text = f"{TITLES[names[0]]} finds {said} answers supported by their document, people {people}"
    else:
        text = f"people find {people} of {' and '.join(name for name, _ in shares)}'s answers supported"
    areas = {name: stats.auroc(*zip(*_labelled_values(result, result.systems, name), strict=True)) for name in names}
    apart = ", ".join(f"{TITLES[name]} {area:.2f}" for name, area in areas.items() if area is not None)
    return f"{text}. Telling supported from not (AUROC): {apart}."


def _labelled_values(result: Result, systems: Sequence[str], metric: str) -> list[tuple[float, int]]:
    """A metric's value and people's label for each response that has both."""
    return [
        (response.values[metric], response.label)
        for response in result.explorer().responses
        if response.system in systems and metric in response.values and response.label is not None
    ]


def recipes(result: Result) -> str:
    """How much JGA of the same file differs between public recipes."""
    name, low, high, jga = _spread(result)
    return (
        f"{name}'s one file has JGA {_points(jga[low])} by the recipe '{low}' and {_points(jga[high])} by '{high}'; "
        f"troth explain shows which rule makes the difference."
    )


def explain_command(result: Result) -> str:
    """Returns the command that explains the difference."""
    name, low, high, _ = _spread(result)
    preds = dict(item.split("=", 1) for item in result.arguments["pred"])
    return f"troth explain {result.arguments['gold']} {preds[name]} --from {low} --to {high}"


def _spread(result: Result) -> tuple[str, str, str, dict[str, float]]:
    """The tracker whose JGA recipes differ most, the least and the most generous recipe, and JGA by all of them."""
    by_tracker: dict[str, dict[str, float]] = {}
    for score in result.scores:
        if (score.metric, score.group) == ("jga", ALL):
            tracker = split_profile(score.system, score.profile)
            by_tracker.setdefault(tracker, {})[score.profile] = _value(score)
    name = max(by_tracker, key=lambda tracker: max(by_tracker[tracker].values()) - min(by_tracker[tracker].values()))
    jga = by_tracker[name]
    return name, min(jga, key=lambda recipe: jga[recipe]), max(jga, key=lambda recipe: jga[recipe]), jga


def _value(score: Score) -> float:
    return 0.0 if score.value is None else score.value


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _points(value: float) -> str:
    return f"{100 * value:.1f}"
