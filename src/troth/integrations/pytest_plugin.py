"""A plug-in for pytest: the gate of `troth gate` and simple bounds, as tests.

    def test_tracker(troth):
        troth.gate("runs/old", "runs/new", metric="jga", margin=0.5)

pytest loads this module at every start, wherever troth is installed, so that it imports nothing of ours until a test
asks. A test fails exactly where the command would exit with 1 or 2. What the command calls undecided passes, as there,
and is told at the end of the session.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from troth.core.errors import UserError
    from troth.core.score import Score
    from troth.report.compare import Side
    from troth.stats import Gate

PROPERTY = "troth"  # under which a test's undecided gates go into its report, and into JUnit's file

Place = str | os.PathLike[str]


class Checks:
    """What the fixture `troth` gives. Figures are as in the tables: shares in percent, other numbers as they are."""

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
        resamples: int = 10_000,
        seed: int = 0,
    ) -> Gate:
        """Fails if `new` is worse than `base` by more than `margin`, with confidence.

        The margin is in points, or in the metric's own unit where it is no share (grounded metrics). Both are run
        folders, or predictions with `gold`. Returns what was found: `.verdict == "not worse"` is the stricter test,
        which wants as many dialogues as it takes to be sure.
        """
        __tracebackhide__ = True
        from troth.core.errors import UserError
        from troth.report import compare

        paths = [os.fspath(base), os.fspath(new)]
        try:
            sides = compare.sides(paths, [metric], gold=_text(gold), profile=profile)
            if len(sides) != 2:
                raise UserError(f"a gate takes two systems, and these runs hold {len(sides)}", hint="one system a run")
            found = compare.gate(
                sides[0], sides[1], metric, margin=sides[0].margin(metric, margin), confidence=confidence,
                resamples=resamples, seed=seed,
            )  # fmt: skip
        except UserError as error:
            raise _wrong(error) from None
        if found.verdict == "worse":
            told = _worse(sides, found, metric, margin, confidence)
            pytest.fail(f"{told}\n{_next(paths, metric, gold, profile)}", pytrace=False)
        if found.verdict == "undecided":
            why = f"about {found.needed} dialogues would decide" if found.needed else found.reason
            line = f"undecided: {_change(sides[0], found, metric)}, margin {margin:g}: too few dialogues to tell: {why}"
            self._item.user_properties.append((PROPERTY, line))
        return found

    def at_least(
        self,
        run: Place,
        metric: str,
        *,
        percent: float | None = None,
        value: float | None = None,
        gold: Place | None = None,
        profile: str | None = None,
        group: str = "all",
        system: str | None = None,
    ) -> Score:
        """Fails if a score of a run folder, or of predictions with `gold`, lies below so many percent.

        `value` in place of `percent` is for scores that are no shares: a log ratio, AUROC.
        """
        __tracebackhide__ = True
        score = _score(run, metric, gold, profile, group, system)
        bound = _asked(score, percent, value)
        if score.value is None or score.value < bound:
            pytest.fail(_bound(score, "below", bound), pytrace=False)
        return score

    def at_most(
        self,
        run: Place,
        metric: str,
        *,
        percent: float | None = None,
        value: float | None = None,
        gold: Place | None = None,
        profile: str | None = None,
        group: str = "all",
        system: str | None = None,
    ) -> Score:
        """The same from above, for what is the better, the lower it is: SER, sensitivity."""
        __tracebackhide__ = True
        score = _score(run, metric, gold, profile, group, system)
        bound = _asked(score, percent, value)
        if score.value is None or score.value > bound:
            pytest.fail(_bound(score, "above", bound), pytrace=False)
        return score


@pytest.fixture
def troth(request: pytest.FixtureRequest) -> Checks:
    """troth's gate and bounds: `troth.gate(base, new, metric="jga", margin=0.5)`, `troth.at_least`, `troth.at_most`."""
    return Checks(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A gate that cannot tell lets the test pass; it must not go unseen."""
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


# -- figures -----------------------------------------------------------------------------------------------------------


def _score(run: Place, metric: str, gold: Place | None, profile: str | None, group: str, system: str | None) -> Score:
    __tracebackhide__ = True
    from troth.core.errors import UserError, near
    from troth.storage import runs as store
    from troth.tracking.score import dst

    path = os.fspath(run)
    try:
        if gold is None:
            scores = store.load(path).scores
        else:
            scores = dst(os.fspath(gold), path, profile=profile, metrics=[metric]).scores
        systems = list(dict.fromkeys(score.system for score in scores))
        if system is None and len(systems) > 1:
            raise UserError(f"the run holds {len(systems)} systems", file=path, hint="system= names one of them")
        wanted = system or systems[0]
        for score in scores:
            if (score.system, score.metric, score.group) == (wanted, metric, group):
                return score
        mine = [score for score in scores if score.system == wanted]
        if not mine:
            raise UserError(f"no system '{wanted}'", file=path, hint="it has: " + ", ".join(systems))
        names = dict.fromkeys(s.metric for s in mine)
        groups = dict.fromkeys(s.group for s in mine if s.metric == metric)
        hint = "it has the groups: " + ", ".join(groups) if groups else near(metric, names)
        raise UserError(f"no score '{metric}' for group '{group}'", file=path, hint=hint)
    except UserError as error:
        raise _wrong(error) from None


def _text(place: Place | None) -> str | None:
    return None if place is None else os.fspath(place)


# -- words -------------------------------------------------------------------------------------------------------------


def _wrong(error: UserError) -> BaseException:
    """Bad input: the line that the command would print, and no trace of ours."""
    return pytest.fail.Exception(f"troth: {error}", pytrace=False)


def _change(side: Side, found: Gate, metric: str) -> str:
    from troth.core.table import signed

    scale = side.scales.get(metric, "share")
    low, difference, high = (signed(one, scale) for one in (found.low, found.difference, found.high))
    return f"{metric} {difference} ({low} … {high}) over {found.dialogues} dialogues"


def _worse(sides: list[Side], found: Gate, metric: str, margin: float, confidence: float) -> str:
    from troth.core.table import number

    scale = sides[0].scales.get(metric, "share")
    width = max(len(side.name) for side in sides)
    lines = [f"worse: {_change(sides[0], found, metric)}, margin {margin:g}"]
    for word, side in zip(("base", "new"), sides, strict=True):
        num, den = side.pick(metric)
        lines.append(f"  {word:<4}  {side.name:<{width}}  {number(num.sum() / den.sum(), scale):>6}")
    points = "points, " if scale == "share" else ""
    lines.append(f"  at a confidence of {confidence:.0%}; {points}new minus base; {sides[0].recipes.get(metric, '')}")
    return "\n".join(lines)


def _next(paths: list[str], metric: str, gold: Place | None, profile: str | None) -> str:
    words = ["troth", "compare", *paths, "--metrics", metric]
    words += [] if gold is None else ["--gold", os.fspath(gold)]
    words += [] if profile is None else ["--profile", profile]
    return f"look closer: {shlex.join(words)}"


def _asked(score: Score, percent: float | None, value: float | None) -> float:
    """The bound in the score's own terms."""
    __tracebackhide__ = True
    from troth.core.errors import UserError

    given = [one for one in (percent, value) if one is not None]
    if len(given) != 1:
        raise _wrong(UserError("a bound is percent= or value=", hint="give one of them"))
    if not math.isfinite(given[0]):  # nothing lies below or above NaN: everything would pass
        raise _wrong(UserError("a bound must be a finite number", hint="such as percent=60"))
    if value is not None:
        return value
    if score.scale != "share":
        raise _wrong(UserError(f"'{score.metric}' is no share and has no percent", hint="give value=, as in the table"))
    return (percent or 0.0) / 100


def _bound(score: Score, where: str, bound: float) -> str:
    from troth.core.table import number

    asked = f"{100 * bound:g}" if score.scale == "share" else f"{bound:g}"
    name = score.metric if score.group == "all" else f"{score.metric} ({score.group})"
    if score.value is None:
        return f"{score.system}: {name} has no value, and {asked} was asked for: {score.reason}"
    interval = ""
    if score.low is not None and score.high is not None:
        interval = f" ({number(score.low, score.scale)} … {number(score.high, score.scale)})"
    value = number(score.value, score.scale)
    return f"{score.system}: {name} {value}{interval} is {where} {asked}\n  {score.signature}"
