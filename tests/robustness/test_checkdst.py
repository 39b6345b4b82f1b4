"""`troth robust checkdst` and `sgdx` over files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.robustness.checkdst import checkdst
from troth.robustness.sgdx import sgdx
from troth.tracking.score import dst


def dialogues(side: str) -> list[dict[str, Any]]:
    return json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text())  # type: ignore[no-any-return]


def folder(path: Path, items: list[dict[str, Any]]) -> str:
    path.mkdir()
    (path / "dialogues_001.json").write_text(json.dumps(items))
    (path / "schema.json").write_text((Path(demo.path("gold")) / "schema.json").read_text())
    return str(path)


GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))


def test_a_set_against_itself_is_consistent() -> None:
    result = checkdst(f"{GOLD},{HASTY}", {"same": f"{GOLD},{HASTY}"}, profile="trade", resamples=20)
    found = {score.metric: score.value for score in result.scores}
    assert found["cjga:same"] == 1.0
    assert found["cjga_all:same"] == found["jga"] == found["jga:same"]
    assert found["nohf"] == found["nohf:same"]
    assert not result.flips
    assert result.unpaired == {"same": (0, 0)}


def test_lemma_1_on_two_trackers_and_jga_as_dst_has_it() -> None:
    result = checkdst(f"{GOLD},{HASTY}", {"X": f"{GOLD},{STURDY}"}, profile="sgd-exact", resamples=20)
    found = {score.metric: score.value or 0.0 for score in result.scores}
    assert found["jga"] == dst(GOLD, HASTY, profile="sgd-exact", resamples=1)["jga"].value
    assert found["cjga:X"] <= 1 - abs(found["jga"] - found["jga:X"]) / max(found["jga"], found["jga:X"]) + 1e-12
    ups = sum(flip.right == "after" for flip in result.flips)
    downs = sum(flip.right == "before" for flip in result.flips)
    n = next(score.n for score in result.scores if score.metric == "jga")
    assert (ups - downs) / n == pytest.approx(found["jga:X"] - found["jga"])


def test_the_order_of_files_and_turns_does_not_pair_units(tmp_path: Path) -> None:
    gold, pred = dialogues("gold"), dialogues("hasty")
    twin = folder(tmp_path / "twin", gold[::-1][:15])
    guess = folder(tmp_path / "guess", pred[::-1][:15])
    result = checkdst(f"{GOLD},{HASTY}", {"part": f"{twin},{guess}"}, profile="sgd-exact", resamples=20)
    found = {score.metric: score for score in result.scores}
    assert found["cjga:part"].value == 1.0
    assert result.unpaired["part"][0] == found["jga"].n - found["jga:part"].n
    assert result.unpaired["part"][1] == 0


def test_nothing_to_compare_with() -> None:
    with pytest.raises(UserError, match="no perturbed set"):
        checkdst(f"{GOLD},{HASTY}", {})


# -- SGD-X -------------------------------------------------------------------------------------------------------------


def test_sensitivity_of_two_trackers_taken_for_variants() -> None:
    variants = {"v1": HASTY, "v2": STURDY, "v3": GOLD}
    result = sgdx(GOLD, variants, original_pred=GOLD, profile="sgd-exact", by=("service",), resamples=20)
    found = {(score.metric, score.group): score for score in result.scores}
    parts = [found[f"jga:v{i}", "all"].value or 0.0 for i in (1, 2, 3)]
    assert parts[2] == 1.0
    assert found["jga_v1-3", "all"].value == pytest.approx(sum(parts) / 3)
    assert found["jga_orig", "all"].value == 1.0
    assert found["jga_drop", "all"].value == pytest.approx(sum(parts) / 3 - 1)
    by_hand = [unit.variation for unit in result.wavering]
    n = found["ss_jga", "all"].n
    assert found["ss_jga", "all"].value == pytest.approx(sum(by_hand) / n)
    assert by_hand == sorted(by_hand, reverse=True)
    assert {round(value, 9) for value in by_hand} == {round(3**0.5, 9), round(3**0.5 / 2, 9)}  # one or two of three
    services = [score for score in result.scores if score.metric == "ss_jga" and score.group.startswith("service:")]
    assert sum((s.value or 0) * s.n for s in services) == pytest.approx((found["ss_jga", "all"].value or 0) * n)


def test_always_wrong_by_each_convention(tmp_path: Path) -> None:
    gold, wrong = dialogues("gold"), dialogues("gold")
    some_slot = {"Stays_1": "hotel_name", "Sights_1": "entry_fee", "Trains_1": "fare"}
    for item in wrong:
        for turn in item["turns"][::2]:
            for frame in turn["frames"]:
                frame["state"]["slot_values"] = {some_slot[frame["service"]]: ["x"]}
    pred, same = folder(tmp_path / "wrong", wrong), folder(tmp_path / "gold", gold)
    zero, skip = (
        {s.metric: s for s in sgdx(same, {"v1": pred, "v2": pred}, profile="sgd-exact", rule=rule, resamples=5).scores}
        for rule in ("zero", "skip")
    )
    assert zero["all_wrong_jga"].value == 1.0
    assert zero["ss_jga"].value == 0.0
    assert skip["ss_jga"].value is None
    assert skip["ss_jga"].reason
    assert "ss:skip" in skip["ss_jga"].signature


def test_one_variant_is_not_enough() -> None:
    with pytest.raises(UserError, match="two variants"):
        sgdx(GOLD, {"v1": HASTY})


def test_predictions_under_variant_names_are_mapped_back(shared: Path, tmp_path: Path) -> None:
    """The same predictions under the names of two variants score the same, and waver nowhere."""
    from troth import readers
    from troth.perturb.schemas.renaming import Renaming, rewritten
    from troth.robustness.sgdx import find_schema

    gold = tmp_path / "gold"
    gold.mkdir()
    data = shared / "data"
    for name in ("dialogues_001.json", "schema.json"):
        (gold / name).write_bytes((data / "sgd/dev" / name).read_bytes())
    schema = readers.schema(str(gold / "schema.json"))
    variants = {}
    for variant in ("v1", "v5"):
        renaming = Renaming.between(schema, find_schema(str(data / "sgd/sgd_x"), variant, schema))
        pred = json.loads((data / "sgd_predictions/dev/dialogues_001.json").read_text())
        (tmp_path / variant).mkdir()
        (tmp_path / variant / "dialogues_001.json").write_text(json.dumps(rewritten(pred, renaming)))
        variants[variant] = str(tmp_path / variant)
    result = sgdx(
        str(gold), variants, original_pred=str(data / "sgd_predictions/dev/dialogues_001.json"),
        schemas=str(data / "sgd/sgd_x"), train_schema=str(data / "sgd/train/schema.json"), resamples=5,
    )  # fmt: skip
    found = {(score.metric, score.group): score.value for score in result.scores}
    for group in ("all", "seen", "unseen"):
        assert found["jga:v1", group] == found["jga:v5", group] == found["jga_orig", group]
        assert found["ss_jga", group] == found["jga_drop", group] == 0.0
    with pytest.raises(UserError, match=r"service 'Restaurants_21' is not in the schema"):
        sgdx(str(gold), variants)  # without the variants' schemas the names are strange
