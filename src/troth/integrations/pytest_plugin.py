"""A plug-in for pytest: the gate of `troth gate` and simple bounds, as tests.

    def test_tracker(troth):
        troth.gate("runs/old", "runs/new", metric="jga", margin=0.005)
        troth.at_least("runs/new", "jga", 0.6)

Figures are as everywhere in Python: shares are fractions, and 0.005 is half a point. A test fails exactly where the
command would exit with 1 or 2. What the gate cannot decide passes, as there, and is reported at the end of the session.
pytest loads this module at every start, wherever troth is installed, so it imports nothing of ours until a test asks.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from troth.core.errors import UserError
    from troth.core.result import Result
    from troth.core.score import Score
    from troth.report.compare import GateOutcome

PROPERTY = "troth"  # under which a test's undecided gates go into its report, and into JUnit's file

Place = str | os.PathLike[str]


class Checks:
    """What the fixture `troth` gives. Runs are run folders, or prediction files together with `gold`."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def gate(
        self,
        base: Place,
        new: Place,
        *,
        metric: str,
        margin: float,
        gold: Place | None = None,
        profile: str | None = None,
        confidence: float = 0.95,
    ) -> GateOutcome:
        """Fails if `new` is worse than `base` by more than `margin`, with confidence.

        Returns the outcome: `.verdict == "not worse"` is the stricter test, which needs enough dialogues to be sure.
        """
        __tracebackhide__ = True
        from troth.core.errors import UserError
        from troth.report.compare import gate

        try:
            runs = [_result(place, gold, profile, metric) for place in (base, new)]
            outcome = gate(*runs, metric=metric, margin=margin, confidence=confidence)
        except UserError as error:
            raise _failure(error) from None
        over = runs[0].clusters
        if outcome.verdict == "worse":
            compare = ["troth", "compare", os.fspath(base), os.fspath(new), "--metrics", metric]
            compare += [] if gold is None else ["--gold", os.fspath(gold)]
            compare += [] if profile is None else ["--profile", profile]
            pytest.fail(f"{_worse(outcome, over, confidence)}\nlook closer: {shlex.join(compare)}", pytrace=False)
        if outcome.verdict == "undecided":
            why = f"about {outcome.needed} {over} would decide" if outcome.needed else outcome.reason
            line = f"undecided: {_change(outcome, over)}: too few {over} to tell: {why}"
            self._item.user_properties.append((PROPERTY, line))
        return outcome

    def at_least(self, run: Place, metric: str, value: float, **where: Any) -> Score:
        """Fails if a score is below `value`. `where`: gold, profile, group, system."""
        __tracebackhide__ = True
        return _bounded(_score(run, metric, value, **where), "below", value)

    def at_most(self, run: Place, metric: str, value: float, **where: Any) -> Score:
        """Fails if a score is above `value`: for metrics where lower is better, such as SER and sensitivity."""
        __tracebackhide__ = True
        return _bounded(_score(run, metric, value, **where), "above", value)


@pytest.fixture
def troth(request: pytest.FixtureRequest) -> Checks:
    """The checks of troth: `troth.gate(base, new, metric="jga", margin=0.005)`, `troth.at_least`, `troth.at_most`."""
    return Checks(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports gates that could not decide: they let the test pass, and must not go unseen."""
    lines = list(_undecided(terminalreporter))
    if lines:
        terminalreporter.section("troth")
        for line in lines:
            terminalreporter.write_line(line)


def _undecided(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                yield from (f"{report.nodeid}: {line}" for name, line in report.user_properties if name == PROPERTY)


def _result(place: Place, gold: Place | None, profile: str | None, metric: str) -> Result:
    """A run folder, or predictions scored now."""
    from troth.storage.runs import open as open_run
    from troth.tracking.score import dst

    if gold is None:
        return open_run(place)
    return dst(gold, place, profile=profile, metrics=[metric], explorer=False)


def _score(
    run: Place,
    metric: str,
    bound: float,
    *,
    gold: Place | None = None,
    profile: str | None = None,
    group: str = "all",
    system: str | None = None,
) -> Score:
    __tracebackhide__ = True
    from troth.core.errors import UserError

    if not math.isfinite(bound):  # nothing is below or above NaN: everything would pass
        raise _failure(UserError("a bound must be a finite number", hint="such as 0.6"))
    try:
        result = _result(run, gold, profile, metric)
        if system is None and len(result.systems) > 1:
            what = f"the run holds {len(result.systems)} systems"
            raise UserError(what, file=os.fspath(run), hint="system= names one of them")
        return result.score(metric, group, system)
    except UserError as error:
        raise _failure(error.at(file=os.fspath(run))) from None


def _bounded(score: Score, where: str, bound: float) -> Score:
    __tracebackhide__ = True
    if score.value is None or (score.value < bound if where == "below" else score.value > bound):
        pytest.fail(_outside(score, where, bound), pytrace=False)
    return score


def _failure(error: UserError) -> BaseException:
    """Bad input: the line that the command would print, and no trace of ours."""
    return pytest.fail.Exception(f"troth: {error}", pytrace=False)


def _change(outcome: GateOutcome, over: str) -> str:
    from troth.core.table import format_difference

    bounds = [format_difference(bound, outcome.scale) for bound in (outcome.low, outcome.high) if bound is not None]
    interval = f" ({' … '.join(bounds)})" if bounds else ""
    difference = format_difference(outcome.difference, outcome.scale)
    change = f"{outcome.metric} {difference}{interval} over {outcome.dialogues} {over}"
    return f"{change}, margin {format_difference(outcome.margin, outcome.scale).lstrip('+')}"


def _worse(outcome: GateOutcome, over: str, confidence: float) -> str:
    from troth.core.metric import PERCENT
    from troth.core.table import number

    width = max(len(outcome.base), len(outcome.new))
    values = ((outcome.base, outcome.base_value, "base"), (outcome.new, outcome.value, "new"))
    lines = [f"  {word:<4}  {name:<{width}}  {number(value, outcome.scale):>6}" for name, value, word in values]
    points = "points, " if outcome.scale in PERCENT else ""
    last = f"  at a confidence of {confidence:.0%}; {points}new minus base; {outcome.signature}"
    return "\n".join([f"worse: {_change(outcome, over)}", *lines, last])


def _outside(score: Score, where: str, bound: float) -> str:
    from troth.core.table import number

    name = score.metric if score.group == "all" else f"{score.metric} ({score.group})"
    wanted = number(bound, score.scale)
    if score.value is None:
        return f"{score.system}: {name} has no value, and {wanted} was asked for: {score.reason}"
    bounds = [number(edge, score.scale) for edge in (score.low, score.high) if edge is not None]
    interval = f" ({' … '.join(bounds)})" if bounds else ""
    value = f"{number(score.value, score.scale)}{interval}"
    return f"{score.system}: {name} {value} is {where} {wanted}\n  {score.signature}"
