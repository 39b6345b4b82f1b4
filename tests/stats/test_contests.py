"""Every pair at once gives what pairs give one by one; bold print is a test."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from troth.core.groups import ALL
from troth.core.score import Score
from troth.core.sums import DialogueSums, Sums
from troth.stats import compare
from troth.stats.contests import LEVEL, Marked, p_values, pairwise, unbeaten
from troth.stats.paired import EXACT


def random_sums(systems: int, dialogues: int, *, shared: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    den = rng.integers(1, 9, size=(systems, dialogues, 3)).astype(float)
    if shared:
        den[:] = den[0]
    return np.floor(den * rng.random((systems, dialogues, 3))), den


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dialogues", [3, EXACT, 40, 131])
def test_every_pair_at_once(shared: bool, dialogues: int) -> None:
    num, den = random_sums(4, dialogues, shared=shared)
    num[3, :, 0], den[3, :, 0] = num[1, :, 0], den[1, :, 0]  # two systems that are one on the first metric
    found = p_values(num, den, resamples=500, seed=3)
    for i in range(4):
        for j in range(i + 1, 4):
            expected = compare(num[i], den[i], num[j], den[j], resamples=500, seed=3)
            assert found[i, j].tolist() == found[j, i].tolist() == [one.p_randomization for one in expected]
    assert (found[range(4), range(4)] == 1).all()


def test_a_metric_that_a_system_lacks() -> None:
    num, den = random_sums(3, 30, shared=True)
    num[1, :, 2] = den[1, :, 2] = 0
    found = p_values(num, den, resamples=100)
    assert np.isnan(found[1, :, 2]).all()
    assert np.isnan(found[:, 1, 2]).all()
    assert not np.isnan(found[:, :, :2]).any()
    assert not np.isnan(found[0, 2]).any()


# -- bold --------------------------------------------------------------------------------------------------------------


def score(system: str, value: float | None, *, metric: str = "jga", group: str = "all", **more: object) -> Score:
    return Score(system, metric, group, value, None, None, 10, {}, **more)  # type: ignore[arg-type]


def names(marked: frozenset[Marked]) -> list[str]:
    return sorted(one.system for one in marked)


def p_of(**pairs: float) -> object:
    return lambda one, other, _: pairs.get(f"{one}{other}", math.nan)


@pytest.mark.parametrize(
    ("values", "p", "expected"),
    [
        ({"a": 0.5, "b": 0.6, "c": 0.7}, {"ca": 0.001, "cb": 0.2}, "bc"),
        ({"a": 0.5, "b": 0.6, "c": 0.7}, {"ca": 0.03, "cb": 0.04}, "abc"),  # Holm: 0.06 for both
        ({"a": 0.5, "b": 0.6, "c": 0.7}, {"ca": 0.001, "cb": 0.04}, "c"),
        ({"a": 0.5, "b": 0.6, "c": 0.7}, {"ca": 0.2}, "ac"),  # b cannot be compared
        ({"a": 0.7, "b": 0.7, "c": 0.1}, {}, "ab"),  # the same value is the best
        ({"a": 0.5, "b": None, "c": 0.7}, {"ca": 0.001}, "c"),
        ({"a": 0.5}, {}, ""),
        ({"a": 0.5, "b": None}, {}, ""),
    ],
)
def test_bold(values: dict[str, float | None], p: dict[str, float], expected: str) -> None:
    assert "".join(names(unbeaten([score(*pair) for pair in values.items()], p_of(**p)))) == expected  # type: ignore[arg-type]


def test_bold_without_rows() -> None:
    assert names(unbeaten([score("a", 0.5), score("b", 0.6)])) == ["b"]
    lower = [score("a", 0.5, better="lower"), score("b", 0.6, better="lower")]
    assert names(unbeaten(lower)) == ["a"]
    assert unbeaten([score("a", 0.5, scale="p"), score("b", 0.6, scale="p")]) == frozenset()


def test_nothing_is_bold_where_recipes_differ() -> None:
    other = Score("b", "jga", ALL, 0.6, None, None, 10, {"profile": "trade"})
    assert unbeaten([score("a", 0.5), other], p_of(ba=1.0)) == frozenset()  # type: ignore[arg-type]


def test_groups_have_the_best_value_alone() -> None:
    """Rows do not say what a group's units are."""
    pair = [score("a", 0.5, group="seen"), score("b", 0.6, group="seen")]
    assert names(unbeaten(pair, p_of(ba=1.0))) == ["b"]  # type: ignore[arg-type]


def rows(**systems: list[float]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {"system": name, "metric": "jga", "dialogue": [f"d{i}" for i in range(len(num))], "num": num, "den": 1.0}
        )
        for name, num in systems.items()
    )


def test_sums_of_rows() -> None:
    frame = rows(a=[1.0, 0.0], b=[1.0]).sample(fraction=1, shuffle=True, seed=1)
    found = DialogueSums.from_rows(pl.concat([frame, frame]))
    assert found.dialogues == ("d0", "d1")
    assert [side.tolist() for side in found.by["a", "jga"]] == [[2.0, 0.0], [2.0, 2.0]]
    assert found.has_dialogues("a").tolist() == [True, True]
    assert found.has_dialogues("b").tolist() == [True, False]
    assert found.has_dialogues("c").tolist() == [False, False]
    assert DialogueSums.from_rows(frame.clear()) == DialogueSums((), {})


def test_only_the_same_dialogues_are_tested() -> None:
    sums = DialogueSums.from_rows(rows(a=[1.0] * 40, b=[0.0] * 40, c=[1.0] * 39))
    test = pairwise([score("a", 1.0), score("b", 0.0), score("c", 1.0)], sums)
    assert test("a", "b", "jga") < 0.001
    assert math.isnan(test("a", "c", "jga"))


def test_a_value_that_is_no_ratio_of_sums_is_not_tested() -> None:
    sums = DialogueSums(("x", "y"), {(name, "jga"): Sums(np.ones(2), np.ones(2)) for name in "ab"})
    assert pairwise([score("a", 1.0), score("b", 1.0)], sums)("a", "b", "jga") == 1.0
    assert math.isnan(pairwise([score("a", 1.0), score("b", 0.4)], sums)("a", "b", "jga"))


def test_equal_systems_are_rarely_shown_as_beaten() -> None:
    """Of tables of five equal systems, about one in twenty shows one of them as beaten."""
    rng, tables, beaten = np.random.default_rng(5), 200, 0
    for _ in range(tables):
        hard = rng.beta(2, 1, size=60)  # dialogues are hard for all systems alike
        right = (rng.random((5, 60, 6)) < hard[None, :, None]).sum(axis=2).astype(float)
        frame = pl.concat(
            pl.DataFrame(
                {"system": str(s), "metric": "jga", "dialogue": [f"{i:02}" for i in range(60)], "num": mine, "den": 6.0}
            )
            for s, mine in enumerate(right)
        )
        scores = [score(str(s), float(mine.sum() / 360)) for s, mine in enumerate(right)]
        found = unbeaten(scores, pairwise(scores, DialogueSums.from_rows(frame), resamples=200))
        beaten += len(found) < 5
    assert beaten / tables <= 2 * LEVEL
