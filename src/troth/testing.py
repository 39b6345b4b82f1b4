"""A plug-in for pytest: the gate of `troth gate` and simple bounds, as tests.

    def test_tracker(troth):
        troth.gate("runs/old", "runs/new", metric="jga", margin=0.5)

pytest loads this module at every start, wherever troth is installed, so that it imports nothing of ours until a test
asks. A test fails exactly where the command would exit with 1 or 2. What the command calls undecided passes, as there,
and is told at the end of the session.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from troth.errors import UserError
    from troth.records import Score
    from troth.runner.compare import Side
    from troth.stats import Gate

PROPERTY = "troth"  # under which a test's undecided gates go into its report, and into JUnit's file

Place = str | os.PathLike[str]


class Checks:
    """What the fixture `troth` gives. Figures are in percent, as in the tables."""

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
        """Fails if `new` is worse than `base` by more than `margin` points, with confidence.

        Both are run folders, or predictions with `gold`. Returns what was found: `.verdict == "not worse"` is the
        stricter test, which wants as many dialogues as it takes to be sure.
        """
        __tracebackhide__ = True
        from troth.errors import UserError
        from troth.runner import compare

        paths = [os.fspath(base), os.fspath(new)]
        try:
            sides = compare.sides(paths, [metric], gold=_text(gold), profile=profile)
            if len(sides) != 2:
                raise UserError(f"a gate takes two systems, and these runs hold {len(sides)}", hint="one system a run")
            found = compare.gate(
                sides[0], sides[1], metric, margin=margin / 100, confidence=confidence, resamples=resamples, seed=seed
            )
        except UserError as error:
            raise _wrong(error) from None
        if found.verdict == "worse":
            told = _worse(sides, found, metric, margin, confidence)
            pytest.fail(f"{told}\n{_next(paths, metric, gold, profile)}", pytrace=False)
        if found.verdict == "undecided":
            why = f"about {found.needed} dialogues would decide" if found.needed else found.reason
            line = f"undecided: {_change(found, metric)}, margin {margin:g}: too few dialogues to tell: {why}"
            self._item.user_properties.append((PROPERTY, line))
        return found

    def at_least(
        self,
        run: Place,
        metric: str,
        *,
        percent: float,
        gold: Place | None = None,
        profile: str | None = None,
        group: str = "all",
        system: str | None = None,
    ) -> Score:
        """Fails if a score of a run folder, or of predictions with `gold`, lies below so many percent."""
        __tracebackhide__ = True
        score = _score(run, metric, gold, profile, group, system)
        if score.value is None or 100 * score.value < percent:
            pytest.fail(_bound(score, "below", percent), pytrace=False)
        return score

    def at_most(
        self,
        run: Place,
        metric: str,
        *,
        percent: float,
        gold: Place | None = None,
        profile: str | None = None,
        group: str = "all",
        system: str | None = None,
    ) -> Score:
        """The same from above, for what is the better, the lower it is: SER, sensitivity."""
        __tracebackhide__ = True
        score = _score(run, metric, gold, profile, group, system)
        if score.value is None or 100 * score.value > percent:
            pytest.fail(_bound(score, "above", percent), pytrace=False)
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
    from troth.errors import UserError, near
    from troth.runner import store
    from troth.runner.dst import dst

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


def _change(found: Gate, metric: str) -> str:
    bounds = f"{100 * found.low:+.2f} … {100 * found.high:+.2f}"
    return f"{metric} {100 * found.difference:+.2f} ({bounds}) over {found.dialogues} dialogues"


def _worse(sides: list[Side], found: Gate, metric: str, margin: float, confidence: float) -> str:
    width = max(len(side.name) for side in sides)
    lines = [f"worse: {_change(found, metric)}, margin {margin:g}"]
    for word, side in zip(("base", "new"), sides, strict=True):
        num, den = side.pick(metric)
        lines.append(f"  {word:<4}  {side.name:<{width}}  {100 * num.sum() / den.sum():6.2f}")
    lines.append(f"  at a confidence of {confidence:.0%}; points, new minus base; {sides[0].recipes.get(metric, '')}")
    return "\n".join(lines)


def _next(paths: list[str], metric: str, gold: Place | None, profile: str | None) -> str:
    words = ["troth", "compare", *paths, "--metrics", metric]
    words += [] if gold is None else ["--gold", os.fspath(gold)]
    words += [] if profile is None else ["--profile", profile]
    return f"look closer: {shlex.join(words)}"


def _bound(score: Score, where: str, percent: float) -> str:
    name = score.metric if score.group == "all" else f"{score.metric} ({score.group})"
    if score.value is None:
        return f"{score.system}: {name} has no value, and {percent:g} was asked for: {score.reason}"
    interval = ""
    if score.low is not None and score.high is not None:
        interval = f" ({100 * score.low:.2f} … {100 * score.high:.2f})"
    return f"{score.system}: {name} {100 * score.value:.2f}{interval} is {where} {percent:g}\n  {score.signature}"
