"""Numbers, lists and titles as sentences have them."""

from __future__ import annotations

import pytest

from troth.core.groups import ALL
from troth.core.score import Score
from troth.core.version import __version__
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
    assert words.share_in_words(value) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Joint goal accuracy", "joint goal accuracy"), ("cJGA, PI", "cJGA, PI"), ("SGSAcc", "SGSAcc"),
        ("Turn match", "turn match"), ("AGA, free slots", "AGA, free slots"), ("U-F1", "U-F1"), ("jga", "jga"),
    ],
)  # fmt: skip
def test_titles_within_a_sentence(title: str, expected: str) -> None:
    assert words.title_in_sentence(title) == expected


@pytest.mark.parametrize(
    ("title", "variant", "expected"),
    [
        ("Joint goal accuracy, v3", "v3", "Joint goal accuracy"), ("cjga:NED", "NED", "cjga"), ("FGA", "", "FGA"),
        ("cJGA under NED", "NED", "cJGA"),
        ("AGA, free slots", "v1", "AGA, free slots"),
    ],
)  # fmt: skip
def test_families(title: str, variant: str, expected: str) -> None:
    assert words.base_title(title, variant) == expected


@pytest.mark.parametrize(
    ("items", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists(items: list[str], expected: str) -> None:
    assert words.join_words(items) == expected


def test_counts() -> None:
    assert words.count(1, "turn") == "1 turn"
    assert words.count(2098, "dialogue") == "2,098 dialogues"


def test_figures() -> None:
    assert words.figure(None) == "–"
    assert words.figure(Score("s", "jga", ALL, 0.5, 0.4, 0.6, 2, {})) == "50.0 (40.0 … 60.0)"
    assert words.figure(Score("s", "ss_jga", ALL, 0.519, 0.419, 0.619, 2, {})) == "51.9 (41.9 … 61.9)"
    assert words.figure(Score("s", "pmi", ALL, -3.2, -4.0, -3.0, 2, {}, scale="number")) == "-3.200 (-4.000 … -3.000)"
    assert words.figure(Score("s", "jga", ALL, 0.5, None, None, 2, {})) == "50.0"
    assert words.figure(Score("s", "jga", ALL, None, None, None, 0, {}, "no unit")) == "–"


def test_units_of_a_recipe() -> None:
    recipe = {"profile": "sgd", "unit": "frame", "match": "fuzzy-indel"}
    score = Score("s", "jga", ALL, 0.5, None, None, 2, recipe)
    assert words.unit_noun(score) == "frames"
    assert score.profile == "sgd"
    assert score.signature == f"JGA|profile:sgd|unit:frame|match:fuzzy-indel|n:2|v:{__version__}"
    assert words.unit_noun(Score("s", "bleu", ALL, 0.5, None, None, 2, {})) == "units"
