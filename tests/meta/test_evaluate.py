"""Metrics against labels: the protocol, its measures, comparisons, slices, bins, and real data."""

from __future__ import annotations

import doctest
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from troth import stats
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.result import Result
from troth.grounding import calibration
from troth.meta.labels import evaluate as module
from troth.meta.labels.evaluate import SLICES, EvaluateSettings, classify_slices, evaluate, fit
from troth.meta.labels.labelled import RANKING
from troth.meta.labels.measures import NEEDS_DEV
from troth.stats import intervals
from troth.storage.runs import open as open_run


def write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def made(count: int, seed: int) -> list[dict[str, Any]]:
    """Responses of five words, of which the document has one to five; the more, the likelier the label is 1."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        words = [f"word{rng.randrange(1000)}" for _ in range(5)]
        kept = rng.randint(1, 5)
        label = int(rng.random() < kept / 5)
        response = " ".join(words[:kept] + [f"other{n}" for n in range(5 - kept)])
        source = rng.choice(["one", "two"])
        document = " ".join(words) + f" topic{number // 2}"
        rows.append({"id": str(number), "document": document, "response": response, "label": label, "source": source})
    return rows


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path / "test.jsonl", made(200, 1)), write(tmp_path / "dev.jsonl", made(120, 2))


def u_f1(result: Result) -> pl.DataFrame:
    """The rows of U-F1: a value and a label for each response."""
    return result.rows().filter(pl.col("metric") == "u_f1")


def test_the_protocol(files: tuple[str, str]) -> None:
    test, dev = files
    result = evaluate(test, dev=[dev], metrics=["u_f1", "rouge_l"], resamples=200)
    values, labels = (u_f1(result)[column].to_list() for column in ("num", "label"))
    assert result["auroc:u_f1"].value == stats.auroc(values, labels)
    assert result["spearman:u_f1"].value == stats.spearman(values, labels)
    assert result["pearson:u_f1"].value == stats.pearson(values, labels)
    fitted = fit(dev, metrics=["u_f1"]).metrics[0]
    called = [(value - fitted.low) / (fitted.high - fitted.low) >= fitted.threshold for value in values]
    hit = sum(c and y for c, y in zip(called, labels, strict=True))
    assert result["precision:u_f1"].value == pytest.approx(hit / sum(called))
    assert result["recall:u_f1"].value == pytest.approx(hit / sum(labels))
    assert result["f1:u_f1"].value == pytest.approx(2 * hit / (sum(called) + sum(labels)))
    right = sum(c == bool(y) for c, y in zip(called, labels, strict=True))
    assert result["accuracy:u_f1"].value == pytest.approx(right / 200)
    assert [result.score(f"{name}:u_f1", "dev").value for name in ("min", "max", "threshold")] == [
        fitted.low,
        fitted.high,
        fitted.threshold,
    ]
    for score in result.scores:
        if score.low is not None and score.high is not None and score.value is not None:
            assert score.low - 1e-9 <= score.value <= score.high + 1e-9, score
    assert result["f1:u_f1"].signature.startswith("F1:U_F1|")
    assert "|threshold:" in result["f1:u_f1"].signature
    assert "|threshold:" not in result["auroc:u_f1"].signature


def test_thresholds_from_the_test_data_are_refused(files: tuple[str, str], tmp_path: Path) -> None:
    """As the same file, as a copy, as the same responses in another order, and as a part of them."""
    test, dev = files
    rows = made(200, 1)
    copied = write(tmp_path / "copy.jsonl", rows)
    for same in (test, copied):
        with pytest.raises(
            UserError, match=r"jsonl: dev has the same content as the test file test\.jsonl \(take other"
        ):
            evaluate(test, dev=[dev, same], metrics=["u_f1"])
    other = [row | {"id": f"x{row['id']}"} for row in rows[::-1]]
    with pytest.raises(UserError, match="every response of dev is in the test data"):
        evaluate(test, dev=write(tmp_path / "ids.jsonl", other), metrics=["u_f1"])
    with pytest.raises(UserError, match="every response of dev is in the test data"):
        evaluate(test, dev=write(tmp_path / "half.jsonl", other[:50]), metrics=["u_f1"])
    with pytest.raises(UserError, match="dev holds all the test data"):
        evaluate(test, dev=[dev, write(tmp_path / "both.jsonl", other)], metrics=["u_f1"])
    some = write(tmp_path / "some.jsonl", [*other[:7], *made(60, 9)])
    result = evaluate(test, dev=some, metrics=["u_f1"], resamples=10)
    warning = "dev: 7 responses are in the test data, too: the figures with a threshold flatter"
    assert warning in [*map(str, result.notes)]


def test_intervals_of_auroc_and_of_correlations(files: tuple[str, str]) -> None:
    """AUROC's is the jackknife's, which no seed moves; the others are the bootstrap's."""
    one, two = (evaluate(files[0], metrics=["u_f1"], resamples=200, seed=seed) for seed in (1, 2))
    rows = u_f1(one)
    bounds = intervals.auroc(rows["num"].to_list(), rows["label"].to_list(), rows["dialogue"].to_list())
    for result in (one, two):
        assert (result["auroc:u_f1"].low, result["auroc:u_f1"].high) == pytest.approx(bounds[:2])
    assert one["pearson:u_f1"].low != two["pearson:u_f1"].low


def test_ten_thousand_resamples_by_default(files: tuple[str, str]) -> None:
    """A difference that no resample contradicts has the smallest p-value that there is."""
    assert EvaluateSettings().resamples == 10_000
    rows = []
    rng = random.Random(0)
    for number in range(40):
        words = [f"word{rng.randrange(10000)}" for _ in range(6)]
        said = words if number % 2 else words[::-1]
        rows.append({"id": str(number), "document": " ".join(words), "response": " ".join(said), "label": number % 2})
    path = write(Path(files[0]).with_name("order.jsonl"), rows)
    (one,) = evaluate(path, metrics=["u_f1", "rouge_l"]).details
    assert one.p_bootstrap == pytest.approx(2 / 10_001, rel=0.02)


def test_expected_calibration_error(files: tuple[str, str]) -> None:
    """By hand: the distance between expected and true share in each bin, weighted by the bin's responses."""
    test, dev = files
    result = evaluate(test, dev=dev, metrics=["u_f1"], resamples=300)
    curve = {
        (score.metric, str(score.group)): score for score in result.scores if score.group.startswith("bin:")
    }  # fmt: skip
    apart = 0.0
    for (metric, group), score in curve.items():
        if metric == "positive:u_f1":
            apart += score.n * abs((score.value or 0.0) - (curve["expected:u_f1", group].value or 0.0))
    error = result["ece:u_f1"]
    assert error.value == pytest.approx(apart / 200)
    assert (error.n, error.better, error.scale) == (200, "lower", "number")
    assert error.low is not None
    assert error.high is not None
    assert 0 <= error.low < apart / 200 < error.high < 0.3
    assert "|threshold:" in error.signature


def test_calibration_error_of_a_fair_forecast(tmp_path: Path) -> None:
    """Dev and test are drawn alike, so the true error is near 0, and the interval comes near to it."""
    test, dev = (write(tmp_path / f"{seed}.jsonl", made(600, seed)) for seed in (11, 12))
    fair = evaluate(test, dev=dev, metrics=["u_f1"], resamples=300)["ece:u_f1"]
    turned = [row | {"label": 1 - row["label"]} for row in made(600, 13)]
    wrong = evaluate(test, dev=write(tmp_path / "turned.jsonl", turned), metrics=["u_f1"], resamples=300)["ece:u_f1"]
    assert fair.low is not None
    assert wrong.low is not None
    assert fair.low < 0.05
    assert wrong.low > 0.1


def test_without_dev_there_is_a_reason(files: tuple[str, str]) -> None:
    result = evaluate(files[0], metrics=["u_f1"], resamples=10)
    for name in ("precision", "recall", "f1", "accuracy", "ece"):
        assert result[f"{name}:u_f1"].value is None
        assert result[f"{name}:u_f1"].reason == "needs labelled dev data to take the threshold from"
    assert not any(score.group == "dev" or score.metric.startswith("expected") for score in result.scores)
    assert result["auroc:u_f1"].value is not None


def test_groups(files: tuple[str, str]) -> None:
    result = evaluate(*files, metrics=["u_f1"], resamples=10)
    sizes = {str(score.group): score.n for score in result.scores if score.metric == "auroc:u_f1"}
    assert sizes["source:one"] + sizes["source:two"] == sizes["all"] == 320
    assert {group for group in sizes if group.startswith("slice:")} <= {f"slice:{name}" for name in SLICES}
    for one, other in zip(SLICES[::2], SLICES[1::2], strict=True):
        assert sizes.get(f"slice:{one}", 0) + sizes.get(f"slice:{other}", 0) == 320


@pytest.mark.parametrize(
    ("document", "response", "found"),
    [
        ("one two", "That was really good.", ("short_document", "short_response", "generic")),
        ("w " * 100, "x " * 8, ("short_document", "short_response", "generic")),
        ("w " * 101, "x " * 9, ("long_document", "long_response", "generic")),
        ("one", "Crayola makes crayons.", ("short_document", "short_response", "specific")),
        ("one", "really REALLY", ("short_document", "short_response", "generic")),
        ("one", "1234567 12345678", ("short_document", "short_response", "generic")),
    ],
)
def test_slices(document: str, response: str, found: tuple[str, str, str]) -> None:
    assert classify_slices(Grounded("x", document, response)) == found


def test_paired_comparison(files: tuple[str, str]) -> None:
    test, dev = files
    result = evaluate(test, dev=[dev], metrics=["u_f1", "rouge_l", "bleu"], resamples=300)
    assert [(d.measure, d.base, d.metric) for d in result.details] == [
        ("auroc", "u_f1", "rouge_l"), ("f1", "u_f1", "rouge_l"), ("auroc", "u_f1", "bleu"), ("f1", "u_f1", "bleu"),
    ]  # fmt: skip
    for one in result.details:
        values = [result[f"{one.measure}:{name}"].value or 0.0 for name in (one.metric, one.base)]
        assert one.difference == pytest.approx(values[0] - values[1])
        if one.low is not None and one.high is not None:
            assert one.low <= one.difference <= one.high
        else:  # both rank alike: no resample differs
            assert (one.measure, one.difference) == ("auroc", 0)
        assert one.p_holm >= (one.p_bootstrap if one.p_randomization is None else one.p_randomization)
        assert (one.p_randomization is None) == (one.measure == "auroc")
        assert result[f"{one.measure}:{one.metric}-{one.base}"].value == one.difference
        assert result[f"p:{one.measure}:{one.metric}-{one.base}"].value == one.p_holm
    same = evaluate(test, metrics=["u_f1"], resamples=10)
    assert list(same.details) == []


def test_a_difference_that_is_there_is_found(tmp_path: Path) -> None:
    """ROUGE-L loses order, which decides here; U-F1 does not see it."""
    rng = random.Random(0)
    rows = []
    for number in range(60):
        words = [f"word{rng.randrange(10000)}" for _ in range(6)]
        label = number % 2
        said = words if label != (number % 12 == 0) else words[::-1]
        rows.append({"id": str(number), "document": " ".join(words), "response": " ".join(said), "label": label})
    result = evaluate(write(tmp_path / "x.jsonl", rows), metrics=["u_f1", "rouge_l"], resamples=200)
    (one,) = result.details
    assert result["auroc:u_f1"].value == 0.5
    assert one.difference == pytest.approx((result["auroc:rouge_l"].value or 0) - 0.5)
    assert one.low is not None
    assert one.low > 0
    assert one.p_holm < 0.02
    assert result["pearson:u_f1"].value is None
    assert result["pearson:u_f1"].reason == "all responses have one score"


def test_what_one_metric_cannot_score_is_left_out_of_both(tmp_path: Path) -> None:
    rows = [
        *made(40, 3),
        {"id": "e", "document": "", "response": "x", "label": 1},
        {"id": "n", "document": "d", "response": "x"},
    ]
    result = evaluate(write(tmp_path / "x.jsonl", rows), metrics=["u_f1"], resamples=10)
    assert result["auroc:u_f1"].n == 40
    assert "left out for lack of a label: 1 response" in [*map(str, result.notes)]
    assert "u_f1: 1 of 41 not scored: the document is empty" in [*map(str, result.notes)]


def test_reliability(files: tuple[str, str]) -> None:
    test, dev = files
    result = evaluate(test, dev=[dev], metrics=["u_f1"], resamples=100)
    curve = {
        side: [s for s in result.scores if s.metric == f"{side}:u_f1"] for side in ("mean", "positive", "expected")
    }
    assert sum(score.n for score in curve["positive"]) == 200
    means = [score.value for score in curve["mean"]]
    assert means == sorted(means, key=lambda value: value or 0.0)
    expected = [score.value or 0.0 for score in curve["expected"]]
    assert expected == sorted(expected)
    positives = sum((score.value or 0) * score.n for score in curve["positive"])
    assert positives == pytest.approx(u_f1(result)["label"].sum())


def test_one_label_only(tmp_path: Path) -> None:
    rows = [row | {"label": 0} for row in made(20, 4)]
    path = write(tmp_path / "x.jsonl", rows)
    dev = write(tmp_path / "dev.jsonl", [row | {"label": 0} for row in made(20, 5)])
    result = evaluate(path, dev=[dev], metrics=["u_f1"], resamples=10)
    assert result["auroc:u_f1"].reason == "all responses have one label"
    assert result["f1:u_f1"].reason == "the labelled data has only one label"
    with pytest.raises(UserError, match="'u_f1' cannot be fitted: the labelled data has only one label"):
        fit(path, metrics=["u_f1"])


def test_no_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"id": "a", "document": "d", "response": "r"}])
    for call in (evaluate, fit):
        with pytest.raises(UserError, match=r"x\.jsonl: no response has a label"):
            call(path)
        with pytest.raises(UserError, match="no data is named"):
            call()


def test_order_and_files_change_nothing(tmp_path: Path) -> None:
    rows = made(80, 5)
    whole = evaluate(f"{write(tmp_path / 'a.jsonl', rows)}", metrics=["u_f1"], resamples=50)
    mixed = [write(tmp_path / "b.jsonl", rows[:30][::-1]), write(tmp_path / "c.jsonl", rows[30:])]
    parts = evaluate(*mixed, metrics=["u_f1"], resamples=50)
    one, two = ({(s.metric, str(s.group)): (s.value, s.low, s.high, s.n) for s in r.scores} for r in (whole, parts))
    assert one.keys() == two.keys()
    for key, values in one.items():
        assert values == pytest.approx(two[key], abs=1e-9), key
    assert parts.systems == ["b+c"]


def test_calibration_names_its_data(files: tuple[str, str]) -> None:
    found = fit(*files, metrics=["u_f1"])
    assert [(data.file, data.rows) for data in found.data] == [("test.jsonl", 200), ("dev.jsonl", 120)]
    assert all(len(data.sha256) == 64 for data in found.data)
    assert found.metrics[0].n == 320


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("wow/begin_dev_wow.tsv",
         ("u_f1 0.8093 0.5287 0.5296", "bleu 0.7661 0.4548 0.4679", "rouge_l 0.8365 0.5751 0.5773",
          "coverage 0.9504 0.7709 0.7405")),
        ("cmu-dog/begin_dev_cmu.tsv",
         ("u_f1 0.8746 0.5044 0.4078", "bleu 0.5055 0.0067 0.1287", "rouge_l 0.7682 0.3246 0.3418",
          "coverage 0.9666 0.5651 0.6195")),
        ("topicalchat/begin_dev_tc.tsv",
         ("u_f1 0.7497 0.3418 0.3027", "bleu 0.4137 -0.118 -0.042", "rouge_l 0.7035 0.2783 0.2702",
          "coverage 0.9237 0.5796 0.5829")),
    ],
)  # fmt: skip
def test_real_data(shared: Path, file: str, expected: tuple[str, ...]) -> None:
    """AUROC, Spearman, Pearson of each metric, as first seen and, for U-F1 and BLEU, as the authors' functions give."""
    result = evaluate(str(shared / "data/begin" / file), metrics=["u_f1", "bleu", "rouge_l", "coverage"], resamples=20)
    for line in expected:
        name, *values = line.split()
        found = [result[f"{measure}:{name}"].value for measure in ("auroc", "spearman", "pearson")]
        assert found == pytest.approx([float(value) for value in values], abs=1e-3)


@pytest.mark.shared
def test_weak_slices_of_real_data(shared: Path) -> None:
    """Words in order mean little where a short response is held against a long document."""
    files = [str(shared / "data/begin" / name) for name in ("wow/begin_dev_wow.tsv", "cmu-dog/begin_dev_cmu.tsv")]
    result = evaluate(*files, metrics=["bleu"], resamples=100)
    assert any(str(note).startswith("auroc:bleu: weak on long document: ") for note in result.notes)


@pytest.mark.shared
def test_table_9_of_the_paper_comes_out(shared: Path) -> None:
    """Bounds and thresholds that the authors print for BEGIN's dev data of all three sources (BLEU as a fraction)."""
    names = ("wow/begin_dev_wow.tsv", "cmu-dog/begin_dev_cmu.tsv", "topicalchat/begin_dev_tc.tsv")
    found = fit(*(str(shared / "data/begin" / name) for name in names), metrics=["u_f1", "bleu", "rouge_l"])
    printed = {one.metric: (round(one.low, 3), round(one.high, 3), round(one.threshold, 3)) for one in found.metrics}
    assert printed == {"u_f1": (0, 1, 0.070), "bleu": (0, 1, 0.039), "rouge_l": (0, 1, 0.202)}


# -- what cannot be scored ---------------------------------------------------------------------------------------------


def figures(found: Result, metric: str, group: str) -> dict[str, tuple[float | None, ...]]:
    """Every measure of a metric on a group, with its interval."""
    mine = [score for score in found.scores if score.group == group and score.metric.endswith(f":{metric}")]
    return {score.metric: (score.value, score.low, score.high, score.n) for score in mine}


def test_a_group_that_cannot_be_scored_moves_no_other(tmp_path: Path) -> None:
    """It stands first, so that whatever follows would have its figures."""
    lost = [row | {"id": f"lost{row['id']}", "document": "", "source": "empty"} for row in made(6, 8)]
    rows, metrics = made(80, 9), ["u_f1", "bleu", "rouge_l"]
    dev = write(tmp_path / "dev.jsonl", made(60, 10))
    whole = evaluate(write(tmp_path / "x.jsonl", [*lost, *rows]), dev=[dev], metrics=metrics, resamples=50)
    groups = {score.group for score in whole.scores if score.metric == "f1:u_f1"}
    assert {"all", "source:one", "source:two", "slice:short_document", "slice:short_response"} <= groups
    assert "source:empty" not in groups
    some = write(tmp_path / "some.jsonl", rows)
    for metric in metrics:
        alone = evaluate(some, dev=[dev], metrics=[metric], resamples=50)
        for group in groups:
            assert figures(whole, metric, group) == figures(alone, metric, group)
        for source in ("one", "two"):
            mine = write(tmp_path / f"{metric}-{source}.jsonl", [row for row in rows if row["source"] == source])
            subset = evaluate(mine, dev=[dev], metrics=[metric], resamples=5)
            for measure in ("precision", "recall", "f1", "accuracy", "auroc"):
                value = whole.score(f"{measure}:{metric}", f"source:{source}").value
                assert value == pytest.approx(subset[f"{measure}:{metric}"].value)


def test_an_interval_that_does_not_exist_is_none(tmp_path: Path) -> None:
    """With one resampling of two documents, both may be the same one: nothing is defined on it."""
    path = write(tmp_path / "two.jsonl", [
        {"id": "a", "document": "cheap old wine", "response": "old wine", "label": 1},
        {"id": "b", "document": "red green blue", "response": "yellow fox", "label": 0},
    ])  # fmt: skip
    seen = set()
    dev = write(tmp_path / "dev.jsonl", made(20, 5))
    for seed in range(8):
        result = evaluate(path, dev=[dev], metrics=["u_f1", "rouge_l"], resamples=1, seed=seed)
        for one in result.details:
            assert (one.low is None) == (one.high is None)
            assert one.low is None or not math.isnan(one.low)
            seen.add((one.measure, one.low is None))
        for score in result.scores:
            assert not any(number is not None and math.isnan(number) for number in (score.value, score.low, score.high))
    assert ("auroc", True) in seen


def test_what_dev_loses_is_told(tmp_path: Path) -> None:
    rows = [*made(40, 3), {"id": "e", "document": "", "response": "x", "label": 1}]
    rows += [{"id": f"n{number}", "document": "d", "response": "x"} for number in range(2)]
    path = write(tmp_path / "x.jsonl", rows)
    lost = ["left out for lack of a label: 2 responses", "u_f1: 1 of 41 not scored: the document is empty"]
    result = evaluate(write(tmp_path / "y.jsonl", made(40, 4)), dev=[path], metrics=["u_f1"], resamples=5)
    notes = [str(note) for note in result.notes]
    assert [note for note in notes if note.startswith("dev: ")] == [f"dev: {note}" for note in lost]
    found = fit(path, metrics=["u_f1"])
    assert found.notes() == [*lost, *found.metrics[0].warnings()]
    assert [(data.rows, data.labelled) for data in found.data] == [(43, 41)]
    assert (found.metrics[0].n, found.metrics[0].unscored) == (40, {"the document is empty": 1})


def test_each_file_counts_its_own_labels(tmp_path: Path) -> None:
    bare = {"id": "n", "document": "d", "response": "x"}
    paths = [write(tmp_path / "a.jsonl", [bare, *made(20, 3)]), write(tmp_path / "b.jsonl", made(30, 4))]
    found = fit(*paths, metrics=["u_f1"])
    assert [(data.file, data.rows, data.labelled) for data in found.data] == [("a.jsonl", 21, 20), ("b.jsonl", 30, 30)]


def test_nothing_scored_is_not_one_label(tmp_path: Path) -> None:
    nothing = "no labelled response could be scored: the document is empty"
    empty = write(tmp_path / "x.jsonl", [row | {"document": ""} for row in made(20, 4)])
    with pytest.raises(UserError, match=f"'u_f1' cannot be fitted: {nothing}"):
        fit(empty, metrics=["u_f1"])
    result = evaluate(write(tmp_path / "y.jsonl", made(20, 5)), dev=[empty], metrics=["u_f1"], resamples=5)
    assert result["f1:u_f1"].reason == nothing
    assert "dev: u_f1: 20 of 20 not scored: the document is empty" in [*map(str, result.notes)]
    half = write(tmp_path / "z.jsonl", [row | ({"document": ""} if row["label"] else {}) for row in made(20, 4)])
    with pytest.raises(UserError, match="cannot be fitted: the labelled responses that could be scored have only one"):
        fit(half, metrics=["u_f1"])


# -- what metrics say of themselves, and options -----------------------------------------------------------------------


def test_every_score_has_its_metric(files: tuple[str, str]) -> None:
    test, dev = files
    result = evaluate(test, dev=dev, metrics="u_f1,bleu", resamples=5)
    metrics = {metric.name: metric for metric in result.metrics}
    for score in result.scores:
        assert (score.scale, score.better) == (metrics[score.metric].scale, metrics[score.metric].better)
        assert score.signature.split("|")[0] == score.metric.upper()
    for measure in (*RANKING, *NEEDS_DEV):
        assert {one.variant for one in result.metrics if one.of == measure.name} == {"u_f1", "bleu"}
    assert (metrics["auroc:bleu-u_f1"].of, metrics["auroc:bleu-u_f1"].variant) == ("auroc:bleu", "u_f1")
    assert metrics["p:auroc:bleu-u_f1"].scale == "p"
    assert metrics["u_f1"].scale == "number", "the rows' own metrics are known, too"
    assert metrics["faithful:u_f1"].scale == "share"


def test_the_recipe_of_a_difference_has_both_sides(files: tuple[str, str]) -> None:
    test, dev = files
    more = write(Path(dev).with_name("more.jsonl"), made(15, 6))
    first, other = (evaluate(test, dev=some, metrics="u_f1,bleu", resamples=5) for some in (dev, more))
    for name in ("f1:bleu-u_f1", "p:f1:bleu-u_f1"):
        assert "|against:U_F1/tok:spacy-en/" in first[name].signature
        assert first[name].recipe != other[name].recipe, "the thresholds are others"
    assert first["auroc:bleu-u_f1"].recipe == other["auroc:bleu-u_f1"].recipe


def test_saved_and_opened(files: tuple[str, str], tmp_path: Path) -> None:
    result = evaluate(files[0], dev=files[1], metrics=["u_f1", "bleu"], resamples=5, out=tmp_path / "run")
    again = open_run(tmp_path / "run")
    assert again.scores == result.scores
    assert again.rows().equals(result.rows())
    assert again.findings[0] == result.findings[0]
    assert again.findings[0].measure == "auroc"
    assert again.counts["test"]["positive"] == u_f1(result)["label"].sum()
    with pytest.raises(UserError, match="there is no option 'devs'"):
        evaluate(files[0], devs=[])


def test_a_calibration_is_written(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    assert fit(files[1], metrics="u_f1", out=out) == calibration.load(str(out))
    with pytest.raises(UserError, match="exists already"):
        fit(files[1], metrics="u_f1", out=out)


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 3
