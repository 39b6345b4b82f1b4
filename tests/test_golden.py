"""Our numbers beside those that the authors' scripts printed; the command that was run stands in each golden file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth.responses.score import nlg
from troth.tracking.profiles import PROFILES
from troth.tracking.score import dst

PUBLIC = {
    "active_intent_accuracy": "intent_accuracy",
    "requested_slots_f1": "requested_f1",
    "requested_slots_precision": "requested_precision",
    "requested_slots_recall": "requested_recall",
    "slot_tagging_f1": "tagging_f1",
    "slot_tagging_precision": "tagging_precision",
    "slot_tagging_recall": "tagging_recall",
    "average_goal_accuracy": "aga",
    "average_cat_accuracy": "aga_cat",
    "average_noncat_accuracy": "aga_noncat",
    "joint_goal_accuracy": "jga",
    "joint_cat_accuracy": "jga_cat",
    "joint_noncat_accuracy": "jga_noncat",
}
MODES = (
    "frame/fuzzy-indel",
    "frame/fuzzy-difflib",
    "frame/exact",
    "turn/fuzzy-indel",
    "turn/fuzzy-difflib",
    "turn/exact",
)


def golden(shared: Path, name: str) -> Any:
    return json.loads((shared / "golden" / name).read_text())


@pytest.mark.parametrize("mode", MODES)
def test_the_public_sgd_script(shared: Path, mode: str) -> None:
    values = golden(shared, "sgd_dev.json")["values"]
    assert set(values) == set(MODES)
    unit, _, match = mode.partition("/")
    result = dst(
        str(shared / "data/sgd/dev"),
        str(shared / "data/sgd_predictions/dev"),
        profile=PROFILES["sgd"].with_rules(unit=unit, match=match),
        train_schema=str(shared / "data/sgd/train/schema.json"),
        by=("service", "domain"),
        metrics=list(PUBLIC.values()),
        resamples=1,
    )
    names = {"#ALL_SERVICES": "all", "#SEEN_SERVICES": "seen", "#UNSEEN_SERVICES": "unseen"}
    checked = 0
    for group, metrics in values[mode].items():
        ours = names.get(group) or (f"service:{group}" if "_" in group else f"domain:{group}")
        for metric, value in metrics.items():
            assert result.score(PUBLIC[metric], ours).value == pytest.approx(value, abs=1e-9), (group, metric)
            checked += 1
    assert checked == 5 * 13


def test_the_fga_authors_script_on_trippy(shared: Path) -> None:
    expected = golden(shared, "fga_trippy.json")
    result = dst(str(shared / "data/fga/trippy_result.json"), resamples=1)
    assert result["jga"].n == expected["turns"]
    assert round((result["jga"].value or 0) * expected["turns"]) == expected["exact_match"]
    assert round((result["turn_match"].value or 0) * expected["turns"]) == expected["turn_match"]
    for metric, value in (("jga", expected["JGA"]), ("sa", expected["SA"])):
        assert round(100 * (result[metric].value or 0), 2) == value
    for rate, value in expected["FGA"].items():
        assert round(100 * (result[f"fga@{float(rate):g}"].value or 0), 2) == value
    assert result["aga"].value is None
    assert result["aga"].reason


@pytest.mark.parametrize("name", ["orig", "NED", "PI", "SDI"])
def test_the_checkdst_authors_class(shared: Path, name: str) -> None:
    expected = golden(shared, "checkdst_examples.json")
    file = f"ckpt_step928_multiwoz_checkdst-{name}_example.checkdst_prediction.jsonl"
    result = dst(str(shared / "data/checkdst" / file), resamples=1)
    assert result["jga"].n == expected["rows"][name]
    assert round(result["jga"].value or 0, 4) == expected["JGA"][name]
    assert "profile:checkdst" in result["jga"].signature


def test_the_public_ser_script(shared: Path) -> None:
    expected = golden(shared, "ser_dev.json")
    result = nlg(
        str(shared / "data/sgd/dev"), str(shared / "data/sgd_responses/dev.jsonl"), metrics=["ser"], resamples=1
    )
    ser, applicable = result["ser"], result["ser_applicable"]
    assert (ser.value, ser.n) == (expected["ser"], expected["turns"])
    assert (applicable.value, applicable.n) == (expected["ser_applicable"], expected["applicable"])
    assert round((ser.value or 0) * ser.n) == expected["wrong"]
    counts = result.counts["dev"]
    assert counts["turns_without_a_response"] == 19_384 - expected["turns"]
    assert counts["of_them_scored_as_wrong"] == 0


@pytest.mark.shared
@pytest.mark.parametrize("system", ["pptod", "soloist"])
def test_mwzeval(shared: Path, system: str) -> None:
    """All rules of mwzeval together: its normaliser, dontcare, a predicted none, what is not predicted."""
    expected = golden(shared, "mwzeval_dev.json")["scores"][system]
    gold, pred = shared / "data/multiwoz/test.json.zip", shared / f"data/mwzeval/{system}.json"
    result = dst(gold, pred, metrics="jga,slot_precision,slot_recall,slot_f1", explorer=False, resamples=5)
    assert result["jga"].signature.startswith(
        "JGA|profile:mwzeval|unit:turn|match:partial-95|norm:mwzeval|missing:skip|n:"
    )
    assert result["jga"].n == expected["turns"]
    assert result["jga"].value == pytest.approx(expected["joint_accuracy"] / 100, abs=1e-9)
    assert result["slot_precision"].value == pytest.approx(expected["slot_precision"], abs=1e-9)
    assert result["slot_recall"].value == pytest.approx(expected["slot_recall"], abs=1e-9)
    assert result["slot_f1"].value == pytest.approx(expected["slot_f1"] / 100, abs=1e-9)
