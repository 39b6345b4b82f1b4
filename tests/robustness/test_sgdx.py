"""SGD-X over files: units are joined by key, whatever the order of lines and whatever is missing."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.robustness.build import GOLD, HASTY, STURDY, dialogues, folder
from troth import robustness
from troth.core.errors import UserError
from troth.core.result import Result
from troth.perturb.schemas.files import load, load_published
from troth.perturb.schemas.renaming import rewrite_document
from troth.robustness.sgdx import sgdx
from troth.storage.runs import open as opened
from troth.tracking.score import dst

FAST: Any = {"resamples": 20, "explorer": False}


def figures(result: Result) -> dict[tuple[str, str], tuple[float | None, float | None, float | None, int]]:
    return {(s.metric, str(s.group)): (s.value, s.low, s.high, s.n) for s in result.scores}


def test_sensitivity_of_two_trackers_taken_for_variants() -> None:
    variants = {"v1": HASTY, "v2": STURDY, "v3": GOLD, "orig": GOLD}
    result = sgdx(GOLD, variants, profile="sgd-exact", by=["service"], **FAST)
    parts = [result[f"jga:v{i}"].value or 0.0 for i in (1, 2, 3)]
    assert parts[2] == 1.0
    assert result["jga_v1-3"].value == pytest.approx(sum(parts) / 3)
    assert result["jga_orig"].value == 1.0
    assert result["jga_drop"].value == pytest.approx(sum(parts) / 3 - 1)
    by_hand = [unit.variation for unit in result.details]
    n, mean = result["ss_jga"].n, result["ss_jga"].value or 0.0
    assert mean == pytest.approx(sum(by_hand) / n)
    assert by_hand == sorted(by_hand, reverse=True)
    assert {round(value, 9) for value in by_hand} == {round(3**0.5, 9), round(3**0.5 / 2, 9)}  # one or two of three
    services = [score for score in result.scores if score.metric == "ss_jga" and score.group.startswith("service:")]
    assert sum((s.value or 0) * s.n for s in services) == pytest.approx(mean * n)


# -- joined by key -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole() -> Result:
    return sgdx(GOLD, {"v1": HASTY, "v2": STURDY, "orig": STURDY}, by="service", **FAST)


def test_the_order_of_one_variants_lines_changes_nothing(whole: Result, tmp_path: Path) -> None:
    reversed_lines = folder(tmp_path / "reversed", dialogues("sturdy")[::-1])
    again = sgdx(GOLD, {"v1": HASTY, "v2": reversed_lines, "orig": STURDY}, by="service", **FAST)
    assert figures(again) == figures(whole)
    assert again.details == whole.details
    assert again.rows().equals(whole.rows())


def test_the_order_of_variants_and_of_the_original_changes_nothing(whole: Result) -> None:
    again = sgdx(GOLD, {"orig": STURDY, "v2": STURDY, "v1": HASTY}, by="service", **FAST)
    renamed = {(name.replace("v2+v1", "v1-2"), group): value for (name, group), value in figures(again).items()}
    assert renamed == figures(whole)


def test_a_missing_dialogue_costs_exactly_its_units(whole: Result, tmp_path: Path) -> None:
    lacking = folder(tmp_path / "lacking", dialogues("sturdy")[1:])
    result = sgdx(GOLD, {"v1": HASTY, "v2": lacking, "orig": STURDY}, **FAST)
    gone = dialogues("sturdy")[0]["dialogue_id"]
    rows = whole.rows()
    lost = rows.filter((rows["metric"] == "jga:v2") & (rows["dialogue"] == gone))
    n = whole["jga:v2"].n
    assert result["jga:v2"].n == n
    assert result["jga:v2"].value == pytest.approx((whole["jga:v2"].value or 0) - float(lost["num"].sum()) / n)
    assert result["jga:v1"].value == whole["jga:v1"].value
    assert result["jga_v1-2"].value == pytest.approx(
        ((result["jga:v1"].value or 0) + (result["jga:v2"].value or 0)) / 2
    )
    assert result.counts["v2"]["missing_dialogues"] == 1
    assert result.counts["v2"]["unpaired"] == 0


def test_skipped_dialogues_leave_all_variants_and_are_counted(tmp_path: Path) -> None:
    lacking = folder(tmp_path / "lacking", dialogues("sturdy")[1:])
    variants = {"v1": HASTY, "v2": lacking, "orig": STURDY}
    result = sgdx(GOLD, variants, missing="skip", by="service", **FAST)
    kept = folder(tmp_path / "gold", dialogues("gold")[1:])
    others = {"v1": folder(tmp_path / "v1", dialogues("hasty")[1:]), "v2": lacking}
    orig = folder(tmp_path / "orig", dialogues("sturdy")[1:])
    alone = sgdx(kept, {**others, "orig": orig}, by="service", **FAST)
    assert {key: (value, n) for key, (value, _, _, n) in figures(result).items()} == {
        key: (value, n) for key, (value, _, _, n) in figures(alone).items()
    }
    units = dst(GOLD, HASTY, metrics="jga", resamples=1)["jga"].n - result["jga:v1"].n
    assert units > 0
    assert [result.counts[label]["unpaired"] for label in ("v1", "v2", "orig")] == [units, 0, units]
    assert f"v1: {units} units are left out: not all variants have them" in [*map(str, result.notes)]
    assert "missing:skip" in result["ss_jga"].signature


def test_a_group_that_one_variant_skips_altogether_is_left_out(tmp_path: Path) -> None:
    some = [one for one in dialogues("hasty") if "Trains_1" not in one["services"]]
    lacking = folder(tmp_path / "lacking", some)
    result = sgdx(GOLD, {"v1": HASTY, "v2": lacking}, missing="skip", by="service", **FAST)
    assert {score.group for score in result.scores} == {"all", "service:Sights_1", "service:Stays_1"}


# -- units, groups, conventions ----------------------------------------------------------------------------------------


def test_gold_and_prediction_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UserError, match="were the two swapped"):
        sgdx(HASTY, {"v1": GOLD, "v2": STURDY}, schema=f"{GOLD}/schema.json")


def test_by_frames_and_by_turns() -> None:
    """A turn of the paper's equations is right iff all of its frames are: their scores are multiplied."""
    frame = sgdx(GOLD, {"v1": HASTY, "v2": STURDY}, profile="sgd-exact", metrics="jga,aga", **FAST)
    turn = sgdx(GOLD, {"v1": HASTY, "v2": STURDY}, profile="sgd-exact", metrics="jga,aga", unit="turn", **FAST)
    rows = frame.rows()
    by_hand = {}
    for label in ("v1", "v2"):
        mine = rows.filter(rows["metric"] == f"jga:{label}").group_by("dialogue", "turn").agg(pl.col("num").product())
        by_hand[label] = mine.sort("dialogue", "turn")["num"]
        assert turn[f"jga:{label}"].value == pytest.approx(by_hand[label].mean())
    wavering = [2**0.5 if a != b else 0.0 for a, b in zip(by_hand["v1"], by_hand["v2"], strict=True)]
    assert turn["ss_jga"].value == pytest.approx(sum(wavering) / len(wavering))
    assert turn["ss_jga"].n == len(wavering) < frame["ss_jga"].n
    for name in ("ss_jga", "jga_v1-2", "all_wrong_jga", "ss_aga"):
        assert "|unit:frame|" in frame[name].signature
        assert "|unit:turn|" in turn[name].signature
    assert all(unit.service is None for unit in turn.details)
    assert turn.rows()["service"].null_count() == len(turn.rows())


def test_always_wrong_by_each_convention(tmp_path: Path) -> None:
    gold, wrong = dialogues("gold"), dialogues("gold")
    some_slot = {"Stays_1": "hotel_name", "Sights_1": "entry_fee", "Trains_1": "fare"}
    for item in wrong:
        for turn in item["turns"][::2]:
            for frame in turn["frames"]:
                frame["state"]["slot_values"] = {some_slot[frame["service"]]: ["x"]}
    pred, same = folder(tmp_path / "wrong", wrong), folder(tmp_path / "gold", gold)
    variants = {"v1": pred, "v2": pred, "orig": pred}
    zero, skip = (sgdx(same, variants, profile="sgd-exact", ss=rule, **FAST) for rule in ("zero", "skip"))
    assert zero["all_wrong_jga"].value == 1.0
    assert zero["ss_jga"].value == 0.0
    assert skip["ss_jga"].value is None
    assert skip["ss_jga"].reason
    assert "ss:skip" in skip["ss_jga"].signature
    assert "ss:" not in skip["jga_v1-2"].signature
    assert zero["jga_drop"].value is None
    assert zero["jga_drop"].reason == "the original's score is 0"


def test_a_loss_is_negative_and_better_is_higher() -> None:
    result = sgdx(GOLD, {"v1": HASTY, "v2": HASTY, "orig": GOLD}, **FAST)
    loss, original, mean = (result[name] for name in ("jga_drop", "jga_orig", "jga_v1-2"))
    assert loss.value == pytest.approx(((mean.value or 0) - (original.value or 0)) / (original.value or 0))
    assert (loss.value or 0) < 0
    assert (loss.better, result["ss_jga"].better, result["all_wrong_jga"].better) == ("higher", "lower", "lower")
    assert (loss.scale, result["ss_jga"].scale, mean.scale) == ("percent", "percent", "share")
    assert loss.n == original.n


def test_titles_and_families() -> None:
    result = sgdx(GOLD, {"v1": HASTY, "v2": STURDY, "orig": GOLD}, metrics=["jga", "fga@0.5"], **FAST)
    titles = {metric.name: metric.title for metric in result.metrics}
    assert titles["ss_jga"] == "Schema sensitivity of JGA"
    assert titles["ss_fga@0.5"] == "Schema sensitivity of FGA, λ = 0.5"
    assert titles["jga_drop"] == "JGA, relative change"
    assert {metric.of for metric in result.metrics} == {"jga", "fga@0.5"}
    assert [metric.variant for metric in result.metrics if metric.of == "jga"] == [
        "orig", "v1-2", "ss", "all_wrong", "v1", "v2", "drop",
    ]  # fmt: skip


def test_what_is_saved_is_what_was_scored(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = sgdx(Path(GOLD), [f"v1={HASTY}", f"v2={STURDY}"], name="mine", resamples=5, out=out)
    saved = opened(out)
    assert saved.scores == result.scores
    assert saved.metric("ss_jga").better == "lower"
    rows = saved.rows()
    for name in ("jga_v1-2", "ss_jga", "all_wrong_jga", "jga:v1"):
        mine = rows.filter(rows["metric"] == name)
        assert float(mine["num"].sum()) / float(mine["den"].sum()) == pytest.approx(result[name].value)
    first = next(iter(saved.explorer().dialogues))
    assert [(track.system, track.wording) for track in first.tracks] == [("mine", "v1"), ("mine", "v2")]


def test_the_number_of_workers_changes_nothing(whole: Result) -> None:
    variants = {"v1": HASTY, "v2": STURDY, "orig": STURDY}
    assert figures(sgdx(GOLD, variants, by="service", workers=2, **FAST)) == figures(whole)


@pytest.mark.parametrize(
    ("variants", "options", "told"),
    [
        ({"v1": HASTY}, {}, "two variants"),
        ({"v1": HASTY, "orig": HASTY}, {}, "two variants"),
        ({"v1": HASTY, "v2": HASTY}, {"ss": "none"}, "ss cannot be 'none'"),
        ({"v1": HASTY, "v2": HASTY}, {"by": "slot"}, "cannot group by 'slot'"),
        ({"v1": HASTY, "v2": HASTY}, {"by": "seen"}, "seen and unseen need the training services"),
        ({"v1": HASTY, "v2": HASTY}, {"unit": "word"}, "unit cannot be 'word'"),
    ],
)
def test_wrong_use(variants: dict[str, str], options: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        sgdx(GOLD, variants, **options)


def test_predictions_under_variant_names_are_mapped_back(shared: Path, tmp_path: Path) -> None:
    """The same predictions under the names of two variants score the same, and vary nowhere."""
    gold = tmp_path / "gold"
    gold.mkdir()
    data = shared / "data"
    for name in ("dialogues_001.json", "schema.json"):
        (gold / name).write_bytes((data / "sgd/dev" / name).read_bytes())
    variants = {"orig": str(data / "sgd_predictions/dev/dialogues_001.json")}
    for variant in load_published(load(str(gold)), str(data / "sgd/sgd_x"), ["v1", "v5"]):
        pred = json.loads((data / "sgd_predictions/dev/dialogues_001.json").read_text())
        (tmp_path / variant.name).mkdir()
        (tmp_path / variant.name / "dialogues_001.json").write_text(
            json.dumps(rewrite_document(pred, variant.renaming))
        )
        variants[variant.name] = str(tmp_path / variant.name)
    train = str(data / "sgd/train/schema.json")
    result = sgdx(str(gold), variants, schemas=data / "sgd/sgd_x", train_schema=train, **FAST)
    found = {(score.metric, str(score.group)): score.value for score in result.scores}
    for group in ("all", "seen", "unseen"):
        assert found["jga:v1", group] == found["jga:v5", group] == found["jga_orig", group]
        assert found["ss_jga", group] == found["jga_drop", group] == 0.0
    assert "|train:" in result.score("ss_jga", "seen").signature
    with pytest.raises(UserError, match=r"service 'Restaurants_21' is not in the schema"):
        sgdx(str(gold), variants)  # without the variants' schemas the names are strange


@pytest.mark.parametrize("module", ["checkdst", "sgdx"])
def test_examples(module: str) -> None:
    __import__(f"troth.robustness.{module}")
    assert doctest.testmod(getattr(robustness, module)) == (0, {"checkdst": 4, "sgdx": 4}[module])


def test_several_systems_at_once_score_as_each_alone() -> None:
    systems = {"a": {"v1": HASTY, "v2": STURDY, "orig": GOLD}, "b": {"v1": STURDY, "v2": GOLD, "orig": GOLD}}
    texts = [f"{system}:{label}={path}" for system, mine in systems.items() for label, path in mine.items()]
    both, from_texts = (sgdx(GOLD, variants, by="service", **FAST) for variants in (systems, texts))
    assert both.scores == from_texts.scores
    assert both.arguments["variants"] == texts
    for name, variants in systems.items():
        alone = sgdx(GOLD, variants, by="service", name=name, **FAST)
        assert [score for score in both.scores if score.system == name] == alone.scores
        assert both.only(name).findings == alone.findings
        assert both.counts[f"{name}:v1"] == alone.counts["v1"]
    with pytest.raises(UserError, match="'b' has no set 'v2', which 'a' has"):
        sgdx(GOLD, [text for text in texts if not text.startswith("b:v2")], **FAST)
