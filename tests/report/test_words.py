"""Numbers and names in plain words."""

from __future__ import annotations

import pytest

from troth.core.score import Score
from troth.report.page import words


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "none"), (0.01, "hardly any"), (0.025, "one in twenty"), (0.05, "one in twenty"),
        (0.19, "a fifth"), (0.26, "a quarter"),
        (0.34, "a third"), (0.5, "half"), (0.66, "two thirds"), (0.76, "three quarters"), (0.91, "nine tenths"),
        (0.95, "nine tenths"), (0.951, "nearly all"), (0.974, "nearly all"), (0.98, "nearly all"), (1.0, "all"),
    ],
)  # fmt: skip
def test_shares(value: float, expected: str) -> None:
    assert words.share(value) == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("jga", "Joint goal accuracy"), ("fga@0.5", "FGA, λ = 0.5"), ("cjga:NED", "cJGA under NED"),
        ("jga:v3", "Joint goal accuracy under v3"), ("jga_v1-5", "JGA over the wordings"),
        ("jga_a+b", "JGA over the wordings"), ("ss_jga", "Schema sensitivity of JGA"),
        ("jga_orig", "JGA, original schema"), ("faithful:u_f1", "Faithful by U-F1"),
        ("fga@0.5_v1-2", "FGA, λ = 0.5 over the wordings"), ("fga@0.5_orig", "FGA, λ = 0.5, original schema"),
        ("fga@0.5_drop", "FGA, λ = 0.5, relative change"), ("fga@0.5:v1", "FGA, λ = 0.5 under v1"),
        ("jga_cat_v1-5", "JGA, categorical over the wordings"), ("ss_fga@1", "Schema sensitivity of FGA, λ = 1"),
        ("coverage:ser", "Turns that SER covers"), ("jga_noncat", "JGA, free values"), ("new_metric", "new_metric"),
    ],
)  # fmt: skip
def test_names(metric: str, expected: str) -> None:
    assert words.name(metric) == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("jga", "joint goal accuracy"), ("cjga:PI", "cJGA under PI"), ("sgsacc", "SGSAcc"), ("turn_match", "turn match")],
)
def test_names_within_a_sentence(metric: str, expected: str) -> None:
    assert words.inline(metric) == expected


@pytest.mark.parametrize(
    ("items", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists(items: list[str], expected: str) -> None:
    assert words.listed(items) == expected


def test_counts() -> None:
    assert words.count(1, "turn") == "1 turn"
    assert words.count(2098, "dialogue") == "2,098 dialogues"


def test_figures() -> None:
    assert words.figure(None) == "–"
    assert words.figure(Score("s", "jga", "all", 0.5, 0.4, 0.6, 2, "")) == "50.0 ±10.0"
    assert words.figure(Score("s", "ss_jga", "all", 0.7, 0.6, 0.8, 2, "")) == "0.70 ±0.10"
    assert words.figure(Score("s", "jga", "all", None, None, None, 0, "", "no unit")) == "–"


def test_units_and_profiles() -> None:
    signature = "JGA|profile:sgd|unit:frame|match:fuzzy-indel|n:2|v:0.1.0"
    assert words.unit(signature) == "frames"
    assert words.profile(signature) == "sgd"
