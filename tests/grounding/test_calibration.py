"""Thresholds, bounds and probabilities from labelled scores, on paper and on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.core.errors import UserError
from troth.core.signature import identity
from troth.grounding import calibration
from troth.grounding.calibration import (
    Aim,
    Best,
    Calibration,
    DataFile,
    Fitted,
    best_f1,
    detection_curve,
    fit,
    isotonic,
)
from troth.grounding.metrics import Models, make_graders
from troth.grounding.score import match_default

PAIRS = st.lists(st.tuples(st.integers(-4, 4).map(lambda n: n / 4), st.integers(0, 1)), min_size=1, max_size=20)


def f1(scores: list[float], labels: list[int], threshold: float) -> float:
    called = [score >= threshold for score in scores]
    hit = sum(c and bool(y) for c, y in zip(called, labels, strict=True))
    return 2 * hit / (sum(called) + sum(labels))


@pytest.mark.parametrize(
    ("scores", "labels", "best"),
    [
        ([0.1, 0.9], [0, 1], Best(0.9, 1.0)),
        ([0.9, 0.1], [0, 1], Best(0.1, 2 / 3)),
        ([0.5, 0.5, 0.5], [0, 1, 1], Best(0.5, 0.8)),
        ([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], Best(0.2, 0.8)),
    ],
)
def test_best_f1(scores: list[float], labels: list[int], best: Best) -> None:
    assert best_f1(np.array(scores), np.array(labels, dtype=float)) == pytest.approx(best)


@given(PAIRS.filter(lambda pairs: any(label for _, label in pairs)))
def test_no_threshold_is_better_and_no_lower_one_as_good(pairs: list[tuple[float, int]]) -> None:
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    found = best_f1(np.array(scores), np.array(labels, dtype=float))
    every = {score: f1(scores, labels, score) for score in scores}
    assert found.f1 == pytest.approx(max(every.values()))
    assert found.threshold == min(score for score, value in every.items() if value == max(every.values()))


@given(PAIRS)
def test_isotonic(pairs: list[tuple[float, int]]) -> None:
    scores, labels = np.array([s for s, _ in pairs]), np.array([float(y) for _, y in pairs])
    points = isotonic(scores, labels)
    values = [value for _, value in points]
    assert values == sorted(values)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert all(0 <= value <= 1 for value in values)
    made = np.interp(scores, [x for x, _ in points], values)
    assert made.sum() == pytest.approx(labels.sum()), "the mean is kept"
    # No other rising function that is constant or a step at one of the scores comes closer to the labels.
    error = ((made - labels) ** 2).sum()
    for at in set(scores.tolist()):
        for low, high in ((0.0, 1.0), (0.2, 0.7), (labels.mean(), labels.mean())):
            assert error <= ((np.where(scores >= at, high, low) - labels) ** 2).sum() + 1e-9


def test_isotonic_by_hand() -> None:
    scores, labels = np.array([1.0, 2, 3, 4, 5]), np.array([0.0, 1, 0, 1, 1])
    assert isotonic(scores, labels) == [(1.0, 0.0), (2.0, 0.5), (3.0, 0.5), (4.0, 1.0), (5.0, 1.0)]


def fitted() -> Fitted:
    made = fit("m", "M|x:1", [-2.0, 0.0, 1.0, 2.0], [0, 0, 1, 1])
    assert isinstance(made, Fitted)
    return made


def test_fit() -> None:
    made = fitted()
    assert (made.low, made.high, made.threshold, made.f1, made.n, made.positive) == (-2.0, 2.0, 0.75, 1.0, 4, 2)
    scores = np.array([-9.0, -2.0, 0.99, 1.0, 9.0])
    assert made.normalise(scores).tolist() == pytest.approx([-1.75, 0, 0.7475, 0.75, 2.75])
    assert made.faithful(scores).tolist() == [False, False, False, True, True]
    assert made.probability(scores).tolist() == pytest.approx([0, 0, 0.99, 1, 1])


def test_what_cannot_be_fitted() -> None:
    assert fit("m", "M", [1.0, 2.0], [1, 1]) == "the labelled data has only one label"
    assert fit("m", "M", [1.0, 1.0], [0, 1]) == "the metric gives all the labelled data one score"
    assert fit("m", "M", [], []) == "no labelled response could be scored"


def test_saved_and_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "c.json")
    made = Calibration((DataFile("dev.tsv", 4, "ab" * 32),), (fitted(),))
    calibration.save(made, path)
    assert calibration.load(path) == made
    assert json.loads(Path(path).read_text())["data"] == [{"file": "dev.tsv", "rows": 4, "sha256": "ab" * 32}]
    with pytest.raises(UserError, match="exists already"):
        calibration.save(made, path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layout": 99}, "newer troth"),
        ({"kind": "something"}, "not a calibration"),
        ({"data": 3}, "not a calibration"),
        ({"metrics": [{"metric": "m"}]}, "not a calibration"),
    ],
)
def test_not_a_calibration(tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = tmp_path / "c.json"
    calibration.save(Calibration((), (fitted(),)), str(path))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=said):
        calibration.load(str(path))


def test_bounds_that_would_divide_by_zero(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    calibration.save(Calibration((), (fitted(),)), str(path))
    path.write_text(path.read_text().replace('"high": 2.0', '"high": -2.0'))
    with pytest.raises(UserError, match="bounds are wrong"):
        calibration.load(str(path))
    with pytest.raises(UserError, match="cannot be read"):
        calibration.load(str(tmp_path / "none.json"))


def test_only_the_same_recipe_is_judged() -> None:
    made = Calibration((), (fitted(),))
    assert made.match_recipes({"m": "M|x:1", "other": "OTHER"}) == {"m": fitted()}
    with pytest.raises(UserError, match=r"calibrated as M\|x:1 and is scored as M\|x:2"):
        made.match_recipes({"m": "M|x:2"})
    with pytest.raises(UserError, match="none of these metrics"):
        made.match_recipes({"other": "OTHER"})


# -- fitted for the unfaithful -----------------------------------------------------------------------------------------

SCORES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0]
LABELS = [0, 0, 1, 0, 1, 1, 1, 1, 1, 1]  # three faults, one of them above a supported response


def test_detections_by_hand() -> None:
    points = detection_curve(np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert [(one.recall, one.precision, one.false_alarms) for one in points] == [
        (0.0, None, 0.0),
        (0.5, 1.0, 0.0),
        (1.0, 2 / 3, 0.5),
        (1.0, 0.5, 1.0),
    ]
    assert points[-1].threshold > 1, "the last one flags the highest score, too"


@pytest.mark.parametrize(
    ("aim", "threshold", "recall", "precision"),
    [
        (Aim(recall=0.6), 0.2, 2 / 3, 1.0),  # 0.3 and 0.4 reach it, too, less precisely
        (Aim(recall=1.0), 0.4, 1.0, 0.75),
        (Aim(precision=0.9), 0.2, 2 / 3, 1.0),
        (Aim(precision=0.7), 0.4, 1.0, 0.75),
    ],
)
def test_a_threshold_for_the_unfaithful(aim: Aim, threshold: float, recall: float, precision: float) -> None:
    found = fit("m", "M|x", SCORES, LABELS, aim)
    assert isinstance(found, Fitted)
    assert found.at is not None
    assert (found.threshold, found.at.recall, found.at.precision) == pytest.approx((threshold, recall, precision))
    assert found.aim == str(aim)
    flagged = ~found.faithful(np.array(SCORES))
    assert flagged.sum() == round(recall * 3 / precision)


def test_a_precision_out_of_reach() -> None:
    assert fit("m", "M|x", [0.0, 1.0, 2.0], [1, 0, 1], Aim(precision=0.9)) == (
        "flagging reaches a precision of 0.500 at most"
    )


@given(PAIRS.filter(lambda pairs: len({y for _, y in pairs}) == 2 and len({x for x, _ in pairs}) > 1))
def test_the_recall_asked_for_is_reached(pairs: list[tuple[float, int]]) -> None:
    found = fit("m", "M|x", [x for x, _ in pairs], [y for _, y in pairs], Aim(recall=0.9))
    assert isinstance(found, Fitted)
    assert found.at is not None
    assert found.at.recall >= 0.9
    wrong = np.array([x for x, y in pairs if not y])
    assert (~found.faithful(wrong)).mean() == pytest.approx(found.at.recall)


def test_aims_that_are_refused() -> None:
    for aim in (Aim(0.9, 0.9), Aim(recall=0.0), Aim(precision=1.5), Aim(recall=float("nan"))):
        with pytest.raises(UserError):
            aim.check()


def test_warns_where_always_yes_does_as_well() -> None:
    """97 supported responses, 3 faults that the score does not see: the best F1 lets all of them pass."""
    scores = [n / 100 for n in range(100)]
    labels = [0 if n in (40, 60, 80) else 1 for n in range(100)]
    found = fit("m", "M|x", scores, labels)
    assert isinstance(found, Fitted)
    (warning,) = found.warnings()
    assert "no better than calling every response faithful; 100% of the unfaithful pass" in warning
    aimed = fit("m", "M|x", scores, labels, Aim(recall=0.9))
    assert isinstance(aimed, Fitted)
    assert aimed.at is not None
    assert aimed.at.recall == 1.0, "what was asked for, whatever it costs"
    useless = fit("m", "M|x", scores, [1 if n % 2 else 0 for n in range(100)], Aim(recall=1.0))
    assert isinstance(useless, Fitted)
    assert "no better than chance" in useless.warnings()[0]


def test_few_faults_are_said() -> None:
    found = fit("m", "M|x", SCORES, LABELS, Aim(recall=0.6))
    assert isinstance(found, Fitted)
    assert found.warnings() == ["m: the threshold rests on 3 unfaithful responses only"]


def test_a_curve_is_thinned_and_keeps_its_ends() -> None:
    found = fit("m", "M|x", [float(n) for n in range(1000)], [n % 3 > 0 for n in range(1000)])
    assert isinstance(found, Fitted)
    assert calibration.POINTS <= len(found.curve) <= calibration.POINTS + len(calibration.RECALLS)
    assert (found.curve[0].recall, found.curve[-1].recall) == (0.0, 1.0)
    thresholds = [point.threshold for point in found.curve]
    assert thresholds == sorted(set(thresholds))


def test_a_thinned_curve_keeps_the_best_precision_at_each_recall() -> None:
    rng = np.random.default_rng(3)
    labels = (rng.random(3000) < 0.7).astype(float)
    scores = labels + rng.normal(0, 1, 3000)
    found = fit("m", "M|x", scores.tolist(), labels.astype(int).tolist())
    assert isinstance(found, Fitted)
    every = calibration.detection_curve(scores, labels)
    for recall in calibration.RECALLS:
        whole, kept = (
            max(point.precision for point in points if point.recall >= recall and point.precision is not None)
            for points in (every, found.curve)
        )
        assert kept == whole, recall


# -- the calibration of the package ------------------------------------------------------------------------------------


def test_the_calibration_of_the_package_is_used_where_its_recipe_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graders = make_graders("nli,coverage", Models(nli="fake", lm="fake", cache=None))
    names = [identity(grader.metric, grader.recipe) for grader in graders]
    scores, labels = [0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1]
    for recipe, judged in ((names[0], ["nli"]), ("NLI|nli:another", [])):
        fitted = calibration.fit("nli", recipe, scores, labels)
        assert not isinstance(fitted, str)
        bundled = calibration.Calibration((), (fitted,))
        monkeypatch.setattr("troth.grounding.score.load_default", lambda own=bundled: own)
        assert list(match_default(graders)) == judged


def test_a_version_without_a_calibration_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "load_default", lambda: None)
    with pytest.raises(UserError, match="has no calibration of its own"):
        calibration.load("default")
    monkeypatch.setattr("troth.grounding.score.load_default", lambda: None)
    assert match_default(make_graders("coverage", Models(cache=None))) == {}


def test_the_calibration_of_the_package_is_sound() -> None:
    """It says what its threshold does, and for which model."""
    bundled = calibration.load_default()
    assert bundled is not None
    for fitted in bundled.metrics:
        assert fitted.at is not None
        assert fitted.at.precision is not None
        assert "nli:" in fitted.signature
        assert not fitted.warnings()


def test_the_calibration_of_the_package_fits_the_default_metric() -> None:
    """A change of the model, its weights or its evidence needs another calibration: python -m experiments.verdict."""
    assert list(match_default(make_graders("faith", Models(cache=None)))) == ["faith"]
