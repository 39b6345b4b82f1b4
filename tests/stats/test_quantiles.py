"""Quantiles against SciPy, which users need not have."""

from __future__ import annotations

import subprocess
import sys

import pytest
import scipy.stats

from troth.stats import quantiles

LEVELS = (0.9, 0.95, 0.975, 0.995, 0.99995)


def test_normal() -> None:
    assert quantiles.normal(0.5) == 0
    for level in LEVELS:
        assert quantiles.normal(level) == pytest.approx(scipy.stats.norm.ppf(level), rel=1e-10)
        assert quantiles.normal_tail(quantiles.normal(level)) == pytest.approx(1 - level, rel=1e-9)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 19, 49, 199, 999, 1000, 1001, 5000, 33_567, 10**6])
def test_t(degrees: int) -> None:
    for level in LEVELS:
        expected = scipy.stats.t.ppf(level, degrees)
        assert quantiles.t(level, degrees) == pytest.approx(expected, rel=1e-10)
        # 1 - level is a rounded number, which at 0.00005 moves the quantile in the eleventh digit.
        assert quantiles.t(1 - level, degrees) == pytest.approx(-expected, rel=1e-10)
    assert quantiles.t(0.5, degrees) == 0


@pytest.mark.parametrize(("level", "degrees"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_t_misuse(level: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="degree of freedom"):
        quantiles.t(level, degrees)


@pytest.mark.parametrize("trials", [1, 2, 5, 20, 600, 33_568])
def test_clopper_and_pearson(trials: int) -> None:
    for successes in {0, 1, 2, trials // 3, trials - 1} & set(range(trials)):
        for level in LEVELS:
            expected = scipy.stats.beta.ppf(level, successes + 1, trials - successes)
            assert quantiles.share_at_most(successes, trials, level) == pytest.approx(expected, rel=1e-10)
    assert quantiles.share_at_most(trials, trials, 0.95) == 1
    # No success in n trials: 1 - 0.05^(1/n), the rule of three.
    assert quantiles.share_at_most(0, trials, 0.95) == pytest.approx(1 - 0.05 ** (1 / trials))


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (3, 40), (500, 2)])
def test_beta(a: float, b: float) -> None:
    for x in (0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0):
        assert quantiles.beta_share(x, a, b) == pytest.approx(scipy.stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-300)


def test_scipy_is_not_imported() -> None:
    code = "import sys; from troth.stats import quantiles; quantiles.t(0.9, 7); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
