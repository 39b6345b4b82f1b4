"""CheckDST over files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.robustness.build import GOLD, HASTY, STURDY, dialogues, folder
from troth import demo
from troth.core.errors import UserError
from troth.report.compare import compare
from troth.robustness.checkdst import checkdst
from troth.storage.runs import open as opened
from troth.tracking.score import dst


def test_a_set_against_itself_is_consistent() -> None:
    result = checkdst(f"{GOLD},{HASTY}", {"same": (GOLD, HASTY)}, profile="trade", resamples=20)
    found = {score.metric: score.value for score in result.scores}
    assert found["cjga:same"] == 1.0
    assert found["cjga_all:same"] == found["jga"] == found["jga:same"]
    assert found["nohf"] == found["nohf:same"]
    assert not result.details
    assert (result.counts["same"]["unpaired"], result.counts["same"]["unpaired_original"]) == (0, 0)


def test_lemma_1_on_two_trackers_and_jga_as_dst_has_it() -> None:
    result = checkdst((GOLD, HASTY), {"X": (GOLD, STURDY)}, profile="sgd-exact", resamples=20)
    found = {score.metric: score.value or 0.0 for score in result.scores}
    assert found["jga"] == dst(GOLD, HASTY, profile="sgd-exact", resamples=1)["jga"].value
    assert found["cjga:X"] <= 1 - abs(found["jga"] - found["jga:X"]) / max(found["jga"], found["jga:X"]) + 1e-12
    ups = sum(flip.right == "after" for flip in result.details)
    downs = sum(flip.right == "before" for flip in result.details)
    assert (ups - downs) / result["jga"].n == pytest.approx(found["jga:X"] - found["jga"])


def test_flips_name_the_slots_at_fault_with_both_values(tmp_path: Path) -> None:
    pred = dialogues("gold")
    turn = next(turn for turn in pred[0]["turns"] if any(f.get("state", {}).get("slot_values") for f in turn["frames"]))
    frame = next(f for f in turn["frames"] if f.get("state", {}).get("slot_values"))
    slot, right = next(iter(frame["state"]["slot_values"].items()))
    frame["state"]["slot_values"][slot] = ["elsewhere"]
    wrong = folder(tmp_path / "wrong", pred)
    for sides, where in (((GOLD, wrong), "before"), ((wrong, GOLD), "after")):
        same, twin = (
            folder(tmp_path / f"{where}{n}", dialogues("gold")) if p == GOLD else p for n, p in enumerate(sides)
        )
        result = checkdst((GOLD, same), {"X": (GOLD, twin)}, profile="trade", resamples=5)
        flip = result.details[0]
        assert flip.right == where
        assert str(flip.slots[0]) == (
            f"{frame['service']}.{slot}: gold {' | '.join(map(repr, right))}, predicted 'elsewhere'"
        )


def test_gold_and_prediction_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UserError, match="were the two swapped"):
        checkdst((GOLD, HASTY), {"X": (HASTY, GOLD)}, profile="trade", resamples=5)


def test_the_order_of_files_and_turns_does_not_pair_units(tmp_path: Path) -> None:
    gold, pred = dialogues("gold"), dialogues("hasty")
    twin = folder(tmp_path / "twin", gold[::-1][:15])
    guess = folder(tmp_path / "guess", pred[::-1][:15])
    result = checkdst((GOLD, HASTY), [f"part={twin},{guess}"], profile="sgd-exact", resamples=20)
    assert result["cjga:part"].value == 1.0
    assert result.counts["part"]["unpaired_original"] == result["jga"].n - result["jga:part"].n
    assert result.counts["part"]["unpaired"] == 0


def test_what_is_saved_is_what_was_scored(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = checkdst((Path(GOLD), Path(HASTY)), {"X": (GOLD, STURDY)}, profile="trade", resamples=5, out=out)
    saved = opened(out)
    assert saved.scores == result.scores
    assert saved.metric("cjga:X").title == "cJGA under X"
    assert saved.metric("cjga:X").of == "cjga"
    assert saved.findings == result.findings
    assert saved.arguments["perturbed"] == [f"X={GOLD},{STURDY}"]
    rows = saved.rows()
    for name in ("jga", "jga:X", "cjga:X", "cjga_all:X", "nohf"):
        mine = rows.filter(rows["metric"] == name)
        assert float(mine["num"].sum()) / float(mine["den"].sum()) == pytest.approx(result[name].value)
    assert {one.set for one in saved.explorer().dialogues} == {"", "X"}


RULES: list[tuple[dict[str, Any], set[str]]] = [  # an option, and the metrics whose signature it stands in
    ({"nohf": "code"}, {"nohf", "nohf:X"}),
    ({"slots": "hotel_name"}, {"nohf", "nohf:X"}),
    ({"coref": "patterns"}, {"coref_jga"}),
    ({"unit": "frame"}, {"jga", "jga:X", "cjga:X", "cjga_all:X", "coref_jga"}),
    ({"missing": "skip"}, {"jga", "jga:X", "cjga:X", "cjga_all:X", "coref_jga"}),
]


@pytest.mark.parametrize(("option", "moved"), RULES)
def test_every_rule_stands_in_the_signatures_of_what_it_moves(option: dict[str, Any], moved: set[str]) -> None:
    usual, other = (
        {s.metric: s.identity for s in checkdst((GOLD, HASTY), {"X": (GOLD, STURDY)}, resamples=1, **options).scores}
        for options in ({"profile": "trade"}, {"profile": "trade", **option})
    )
    assert {name for name in usual if usual[name] != other[name]} == moved
    assert all("|right:exact" in usual[name] for name in ("jga", "cjga:X", "coref_jga"))


@pytest.mark.parametrize(
    ("perturbed", "options", "told"),
    [
        ({}, {}, "no perturbed set is named"),
        (["nameless"], {}, "'nameless' has no name"),
        (["A=x", "A=y"], {}, "'A' is named twice"),
        ({"X": (GOLD, HASTY)}, {"nohf": "cod"}, "nohf cannot be 'cod' .did you mean 'code'"),
        ({"X": (GOLD, HASTY)}, {"corref": "patterns"}, "there is no option 'corref' .did you mean 'coref'"),
    ],
)
def test_wrong_use(perturbed: Any, options: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        checkdst((GOLD, HASTY), perturbed, **options)


def test_a_prediction_that_lacks_a_dialogue(tmp_path: Path) -> None:
    """It scores 0 in the perturbed set, or, with `missing:skip`, stands there without a twin."""
    part = tmp_path / "part.json"
    part.write_text(json.dumps(dialogues("hasty")[1:]))
    zero, skip = (
        checkdst((GOLD, HASTY), {"X": (GOLD, part)}, profile="trade", missing=rule, resamples=5)
        for rule in ("zero", "skip")
    )
    turns = sum(turn["speaker"] == "USER" for turn in dialogues("gold")[0]["turns"])
    assert zero["cjga_all:X"].n == zero["jga"].n
    assert skip["cjga_all:X"].n == skip["jga"].n - turns
    assert skip.counts["X"]["unpaired_original"] == turns
    assert skip["cjga:X"].value == 1.0


def test_several_systems_at_once_score_as_each_alone() -> None:
    twins = {
        name: {label: (GOLD, demo.path(f"twins/{name}-{label}.jsonl")) for label in ("SDI", "PI")}
        for name in ("hasty", "sturdy")
    }
    originals = {"hasty": (GOLD, HASTY), "sturdy": (GOLD, STURDY)}
    both = checkdst(originals, twins, profile="trade", resamples=20)
    assert both.systems == ["hasty", "sturdy"]
    for name in both.systems:
        alone = checkdst(originals[name], twins[name], profile="trade", resamples=20, name=name)
        assert [score for score in both.scores if score.system == name] == alone.scores
        assert both.only(name).findings == alone.findings
        assert both.counts[f"{name}:SDI"] == alone.counts["SDI"]
    views = list(both.explorer().dialogues)
    assert {view.set for view in views} == {"", "SDI", "PI"}
    assert all([track.system for track in view.tracks] == ["hasty", "sturdy"] for view in views)
    (difference,) = compare(both, metrics="cjga:SDI", resamples=200)
    assert difference.system == "sturdy"
    assert difference.difference > 0


def test_several_systems_from_texts_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    texts = [f"a:orig={GOLD},{HASTY}", f"a:X={GOLD},{STURDY}", f"b:orig={GOLD},{STURDY}", f"b:X={GOLD},{STURDY}"]
    result = checkdst(None, texts, profile="trade", resamples=5)
    assert result.arguments["perturbed"] == texts
    assert result.score("cjga:X", system="b").value == 1.0
    with pytest.raises(UserError, match="'b' has no original set"):
        checkdst(None, [*texts[:2], texts[3]], profile="trade")
    with pytest.raises(UserError, match="'b' has no set 'X', which 'a' has"):
        checkdst(None, texts[:3], profile="trade")
    with pytest.raises(UserError, match="name names one system"):
        checkdst(None, texts, profile="trade", name="mine")
    fewer, pred = (folder(tmp_path / side, dialogues(side)[:5]) for side in ("gold", "sturdy"))
    with pytest.raises(UserError, match="'a' and 'b' have different gold for 'X'"):
        checkdst(None, [*texts[:3], f"b:X={fewer},{pred}"], profile="trade", resamples=5)
