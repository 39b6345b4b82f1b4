"""The plug-in for pytest: what passes, what fails and how that reads, and what it costs everybody else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from troth import demo
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.result import Result
from troth.core.score import Score
from troth.report import compare
from troth.tracking.score import dst

# pytest run inside a test forgets what it imported, and numpy cannot be imported twice: here all of it is there before.
INSIDE = (compare, dst)

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    for name, pred in (("hasty", HASTY), ("sturdy", STURDY)):
        result = dst(GOLD, pred, by=["service"])
        scores = [*result.scores, Score(name, "unheard", ALL, None, None, None, 0, {}, "nobody said it")]
        replace(result, scores=scores).save(folder / name)
    return str(folder / "hasty"), str(folder / "sturdy")


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(f"import pathlib\n\ndef test_it(troth):\n    {body}\n")
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)


def test_a_gate_that_holds(pytester: pytest.Pytester, runs: tuple[str, str]) -> None:
    """Also where every warning is an error, and for paths that are not text."""
    body = (
        f"assert troth.gate({runs[0]!r}, pathlib.Path({runs[1]!r}), metric='jga', margin=0.005).verdict == 'not worse'"
    )
    result = run(pytester, body, "-W", "error")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= troth =*")


def test_a_gate_that_does_not(pytester: pytest.Pytester, runs: tuple[str, str]) -> None:
    result = run(pytester, f"troth.gate({runs[1]!r}, {runs[0]!r}, metric='jga', margin=0.005)")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "worse: jga -16.66 (-28.95 … -4.37) over 22 dialogues, margin 0.50\n" in text
    assert "  base  sturdy   66.15\n  new   hasty    49.49\n" in text
    assert "at a confidence of 95%; points, new minus base; JGA|profile:sgd|" in text
    assert f"look closer: troth compare {runs[1]} {runs[0]} --metrics jga\n" in text
    assert "pytest_plugin.py" not in text
    assert "Error" not in text


def test_a_gate_on_predictions(pytester: pytest.Pytester) -> None:
    call = f"troth.gate({STURDY!r}, {HASTY!r}, metric='jga', margin=0.005, gold={GOLD!r}, profile='sgd-exact')"
    result = run(pytester, call)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["look closer: * --metrics jga --gold */gold --profile sgd-exact"])


def test_undecided_passes_and_is_told(pytester: pytest.Pytester, runs: tuple[str, str]) -> None:
    """As the command has it: exit code 0, and how many dialogues it would take."""
    result = run(pytester, f"troth.gate({runs[0]!r}, {runs[1]!r}, metric='fga@0.5', margin=0.05)", "--junitxml=out.xml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "=* troth =*",
            "*::test_it: undecided: fga@0.5 -6.80 (*) over 22 dialogues, margin 5.00: * dialogues would decide",
        ]
    )
    assert "undecided: fga@0.5" in Path(pytester.path, "out.xml").read_text()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("gate('nowhere', 'neither', metric='jga', margin=0.005)", "troth: nowhere: *"),
        ("gate({0!r}, {1!r}, metric='jgo', margin=0.005)", "troth: 'hasty' has no metric 'jgo' (did you mean 'jga'?)"),
        ("gate({0!r}, {1!r}, metric='jga', margin=-0.01)", "troth: the gate's margin must be 0 or more, not -0.01 *"),
        ("at_least({0!r}, 'jgo', 0.01)", "troth: *: no score 'jgo' for group 'all' of 'hasty' (did you mean 'jga'?)"),
        ("at_least({0!r}, 'jga', 0.01, group='x')", "troth: *: no score 'jga' for group 'x' of 'hasty' (groups: *"),
        ("at_least({0!r}, 'jga', 0.01, system='x')", "troth: *: there is no system 'x' (systems: hasty)"),
        ("at_least('nowhere', 'jga', 0.01)", "troth: nowhere: not a run: *"),
        ("at_least({0!r}, 'jga', float('nan'))", "troth: a bound must be a finite number *"),
        ("at_most({0!r}, 'jga', float('nan'))", "troth: a bound must be a finite number *"),
        ("at_most({0!r}, 'jga', float('inf'))", "troth: a bound must be a finite number *"),
    ],
)
def test_bad_input_is_one_line(pytester: pytest.Pytester, runs: tuple[str, str], call: str, told: str) -> None:
    result = run(pytester, "troth." + call.format(*runs))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([told.replace("[", "[[]")])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*another exception*")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("at_least({0!r}, 'jga', 0.494)", None),
        ("at_least({0!r}, 'jga', 0.495)", "hasty: jga 49.49 (* … *) is below 49.50"),
        ("at_most({0!r}, 'jga', 0.495)", None),
        ("at_most({0!r}, 'jga', 0.494)", "hasty: jga 49.49 (* … *) is above 49.40"),
        ("at_least({0!r}, 'jga', 1.01, group='service:Stays_1')", "hasty: jga (service:Stays_1) *"),
        ("at_least({2!r}, 'jga', 0.495, gold={3!r})", "hasty: jga 49.49 (* … *) is below 49.50"),
        ("at_least({0!r}, 'unheard', 0.01)", "hasty: unheard has no value, and 1.00 was asked for: nobody said it"),
    ],
)
def test_bounds(pytester: pytest.Pytester, runs: tuple[str, str], call: str, told: str | None) -> None:
    result = run(pytester, "troth." + call.format(*runs, HASTY, GOLD))
    result.assert_outcomes(passed=int(told is None), failed=int(told is not None))
    if told is not None:
        result.stdout.fnmatch_lines([told])


@pytest.fixture(scope="module")
def grounded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two runs of `troth ground` with a metric of someone else: log ratios, around -1 and around -3."""
    folder = tmp_path_factory.mktemp("grounded")
    for name, mean in (("good", -1.0), ("bad", -3.0)):
        values = [mean + place % 3 / 10 for place in range(30)]
        rows = pl.DataFrame(
            [(name, "logs", f"d{place}", value, 1.0) for place, value in enumerate(values)],
            schema=["system", "metric", "dialogue", "num", "den"],
            orient="row",
        )
        scores = [Score(name, "logs", ALL, sum(values) / 30, -3.1, -0.8, 30, {}, scale="number")]
        logs = Metric("logs", "Logs", scale="number")
        Result("ground", scores, [logs], make_rows=rows.clone).save(folder / name)
    return str(folder / "good"), str(folder / "bad")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("at_least({0!r}, 'logs', -0.91)", None),
        ("at_least({1!r}, 'logs', -0.9)", "bad: logs -2.900 (-3.100 … -0.800) is below -0.900"),
        ("at_most({0!r}, 'logs', -1)", "good: logs -0.900 (-3.100 … -0.800) is above -1.000"),
        ("gate({0!r}, {1!r}, metric='logs', margin=2.5)", None),
        ("gate({0!r}, {1!r}, metric='logs', margin=1)", "worse: logs -2.000 (-2.006 … -2.000) over 30*margin 1.000"),
        ("gate({0!r}, {1!r}, metric='logs', margin=1)", "  new   bad   -2.900"),
        ("gate({0!r}, {1!r}, metric='logs', margin=1)", "  at a confidence of 95%; new minus base; LOGS"),
    ],
)
def test_numbers_that_are_no_shares(
    pytester: pytest.Pytester, grounded: tuple[str, str], call: str, told: str | None
) -> None:
    result = run(pytester, "troth." + call.format(*grounded))
    result.assert_outcomes(passed=int(told is None), failed=int(told is not None))
    if told is not None:
        result.stdout.fnmatch_lines([told])


def test_it_costs_nothing_until_used(pytester: pytest.Pytester) -> None:
    """Known by its entry point, and nothing of ours but the module itself is imported for a test that does not ask."""
    pytester.makepyfile(
        """
        import sys

        def test_it(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("troth")
            assert {name for name in sys.modules if name.split(".")[0] in ("troth", "numpy", "polars", "msgspec")} <= {
                "troth", "troth.core", "troth.core.version", "troth.integrations", "troth.integrations.pytest_plugin"
            }
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"],
        cwd=pytester.path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_example_of_the_docs(pytester: pytest.Pytester, runs: tuple[str, str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    folder = pytester.mkdir("runs")
    for name, run in zip(("old", "new"), runs, strict=True):
        (folder / name).symlink_to(run)
    scores = [Score("ours", "ser", ALL, 0.02, None, None, 9, {})]
    rows = pl.DataFrame({"system": ["ours"]})
    Result("nlg", scores, [], make_rows=lambda: rows).save("runs/responses")
    pytester.makepyfile(example)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
