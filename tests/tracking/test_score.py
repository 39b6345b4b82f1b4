"""`dst` over files: what it refuses, what it says besides the scores, and what decides a denominator."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.build import SCHEMA, dialogue
from troth import demo, slot_errors
from troth.core.errors import UserError
from troth.tracking.explain import explain
from troth.tracking.score import dst

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))


def read(side: str) -> Any:
    return json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text())


def write(folder: Path, items: Any, *, schema: bool = False) -> str:
    folder.mkdir()
    (folder / "dialogues_001.json").write_text(json.dumps(items))
    if schema:
        (folder / "schema.json").write_text((Path(GOLD) / "schema.json").read_text())
    return str(folder)


def test_gold_and_prediction_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UserError, match="were the two swapped"):
        dst(HASTY, GOLD)


def test_results_of_services_and_formats_tell_gold_from_predictions(tmp_path: Path) -> None:
    """Many predictions are copies of gold with other states: acts stand in both, results of services do not."""
    copied = read("gold")
    for frame in (frame for one in copied for turn in one["turns"] for frame in turn["frames"]):
        frame.pop("service_results", None)
    with pytest.raises(UserError, match="holds results of services, as gold does, and gold holds none"):
        dst(write(tmp_path / "copied", copied, schema=True), GOLD)
    state = {"hotel": {"semi": {"area": "east"}}}
    data = {"MUL0001.json": {"log": [{"text": "hi", "metadata": {}}, {"text": "yes", "metadata": state}]}}
    (tmp_path / "data.json").write_text(json.dumps(data))
    (tmp_path / "states.json").write_text(json.dumps({"mul0001": [{"state": {"hotel": {"area": "east"}}}]}))
    with pytest.raises(UserError, match="its format is one of gold"):
        dst(tmp_path / "states.json", tmp_path / "data.json")
    assert dst(tmp_path / "data.json", tmp_path / "states.json")["jga"].value == 1.0
    with pytest.raises(UserError, match="were the two swapped"):
        explain(HASTY, GOLD)


@pytest.mark.parametrize("side", ["gold", "prediction"])
def test_files_without_states_have_no_score(tmp_path: Path, side: str) -> None:
    items = read("gold")
    for turn in (turn for one in items for turn in one["turns"]):
        turn["frames"] = []
    bare = write(tmp_path / "bare", items, schema=True)
    result = dst(bare, HASTY) if side == "gold" else dst(GOLD, bare)
    expected = "gold holds no states" if side == "gold" else "the predictions hold no states"
    assert {(score.value, score.reason) for score in result.scores} == {(None, expected)}


def test_predictions_that_are_all_missing_score_zero(tmp_path: Path) -> None:
    """A missing dialogue is not a file without states."""
    one = write(tmp_path / "one", read("hasty")[:1])
    assert (dst(GOLD, one)["jga"].value or 0) < 0.1


def trade(folder: Path, gold: dict[str, str], pred: dict[str, str]) -> str:
    turn = {"turn_belief": [f"{k}-{v}" for k, v in gold.items()], "pred_bs_ptr": [f"{k}-{v}" for k, v in pred.items()]}
    folder.write_text(json.dumps({"MUL0001.json": {"0": turn, "1": turn}}))
    return str(folder)


def test_gold_that_comes_with_predictions_and_differs_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = trade(tmp_path / "ours.json", {"hotel-area": "east"}, {"hotel-area": "west"})
    theirs = trade(tmp_path / "theirs.json", {"hotel-area": "north"}, {"hotel-area": "north"})
    same = trade(tmp_path / "same.json", {"hotel-area": "east"}, {"hotel-area": "east"})
    result = dst(ours, f"a={theirs}", f"b={same}", metrics="jga")
    assert [*map(str, result.notes)] == ["a: the gold in its own file differs from the gold scored against in 2 turns"]
    assert (result["jga"].value, result.score("jga", system="b").value) == (0.0, 1.0)
    assert capsys.readouterr().err == f"troth: {ours} holds predictions of its own, which are not scored\n"


def test_systems_under_different_profiles_are_said_loudly(tmp_path: Path) -> None:
    ours = trade(tmp_path / "ours.json", {"hotel-area": "east"}, {"hotel-area": "west"})
    state = tmp_path / "mwz.json"
    state.write_text(json.dumps({"mul0001": [{"state": {"hotel": {"area": "east"}}}] * 2}))
    result = dst(ours, f"a={ours}", f"b={state}", metrics="jga")
    assert str(result.notes[0]).startswith(
        "WARNING: systems are scored by different profiles and do not compare: a by trade,"
    )
    assert not dst(ours, f"a={ours}", f"b={state}", metrics="jga", profile="trade").notes[1:]


def test_gold_decides_the_denominator_of_a_service(tmp_path: Path) -> None:
    gold = trade(tmp_path / "gold.json", {"hotel-area": "east"}, {"hotel-area": "east"})
    wild = trade(tmp_path / "wild.json", {"hotel-area": "east"}, {"hotel-area": "east", "train-day": "monday"})
    calm, extra = (dst(gold, path, by="service", metrics="jga") for path in (gold, wild))
    groups = {(score.group, score.n) for score in calm.scores}
    assert groups == {(score.group, score.n) for score in extra.scores} == {("all", 2), ("service:hotel", 2)}
    assert extra["jga"].value == 0.0


@pytest.mark.parametrize("metrics", ["jga,aga", ["jga", "aga"], ("jga", "aga")])
def test_lists_and_text_and_paths_are_alike(metrics: Any) -> None:
    result = dst(Path(GOLD), Path(HASTY), metrics=metrics, by="service", resamples=5)
    assert [one.name for one in result.metrics] == ["jga", "aga"]
    assert result["jga"].system == "hasty"


def test_unknown_options_and_rules_are_named() -> None:
    with pytest.raises(UserError, match=r"no option 'metric' \(did you mean 'metrics'"):
        dst(GOLD, HASTY, metric="jga")
    with pytest.raises(UserError, match=r"unit cannot be 'turns' \(did you mean 'turn'"):
        dst(GOLD, HASTY, unit="turns")


@pytest.mark.parametrize("profile", ["trade", "mwzeval", "sgd"])
def test_gold_alone_decides_the_denominators_by_slot(profile: str) -> None:
    """Whatever a system makes up: a service too early, or a slot that gold never has."""
    gold = dialogue([{}, {"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "North", "nights": "2"}}])
    early = dialogue([{"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "South"}}])
    silent = dialogue([{}, {}, {}])
    extra = dialogue([{"Stays_1": {"stars": "3"}}, {"Stays_1": {"stars": "3", "area": "North"}}, {}])
    systems = {"gold": [gold], "early": [early], "silent": [silent], "extra": [extra]}
    result = dst([gold], pred=systems, schema=SCHEMA, profile=profile, by="slot", metrics="jga,aga", resamples=10)
    found = {
        (score.metric, score.group, score.n) for score in result.scores if score.group in ("slot:Stays_1.area", "all")
    }
    assert len(found) == 4  # two metrics, two groups: every system has the same n
    jga = {system: result.score("jga", "slot:Stays_1.area", system) for system in systems}
    if profile != "sgd":
        assert {system: (one.value, one.n) for system, one in jga.items()} == {
            "gold": (1.0, 2), "early": (0.5, 2), "silent": (0.0, 2), "extra": (0.5, 2),
        }  # fmt: skip
        assert result.score("jga", "slot:Stays_1.stars", "extra").value == 0.5  # one of gold's two frames has it


FREE = {"Sights_1": {"fee": "3"}}
GOLD_TURNS = [{"Stays_1": {"name": "Alder", "area": "North"}}, {"Stays_1": {"name": "Alder", "area": "North"}, **FREE}]
PRED_TURNS = [{"Stays_1": {"name": "Birch", "area": "North"}}, {"Stays_1": {"name": "Alder", "area": "North"}}]


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
@pytest.mark.parametrize(
    ("options", "jga", "rule"),
    [
        ({}, 0.0, ""),
        ({"only": "Sights_1"}, 0.5, "only:Sights_1"),
        ({"only": "sights*"}, 0.5, "only:sights*"),
        ({"only": "Stays_1"}, 0.5, "only:Stays_1"),
        ({"only": "*.area"}, 1.0, "only:*.area"),
        ({"without": "*.name"}, 0.5, "without:*.name"),
        ({"without": ["*.name", "Sights_1"]}, 1.0, "without:*.name+Sights_1"),
        ({"only": "Stays_1", "without": "Stays_1.name"}, 1.0, "only:Stays_1|without:Stays_1.name"),
    ],
)
def test_some_slots_alone(schema: Any, options: dict[str, Any], jga: float, rule: str) -> None:
    gold, pred = [dialogue(GOLD_TURNS)], [dialogue(PRED_TURNS)]
    result = dst(gold, pred=pred, schema=schema, profile="trade", metrics="jga,slot_f1", resamples=10, **options)
    assert result["jga"].value == jga
    assert rule in result["jga"].signature
    assert ("only:" in result["jga"].signature) == ("only" in options)


@pytest.mark.parametrize("metrics", ["jga,aga,slot_f1,sa,jga_cat,jga_noncat,tagging_f1,fga@0.5,turn_match"])
def test_one_service_alone_is_its_group(metrics: str) -> None:
    """Under SGD's rules, where units are frames."""
    every = dst(demo.path("gold"), demo.path("hasty"), metrics=metrics, by="service", resamples=10)
    alone = dst(demo.path("gold"), demo.path("hasty"), metrics=metrics, only="Stays_1", resamples=10)
    for name in metrics.split(","):
        group = every.score(name, "service:Stays_1")
        assert (alone[name].value, alone[name].n) == (group.value, group.n), name


@pytest.mark.parametrize("option", ["only", "without"])
def test_a_pattern_that_nothing_matches_is_misspelt(option: str) -> None:
    patterns: dict[str, Any] = {option: "Stay_1"}
    with pytest.raises(UserError, match=rf"{option} has 'Stay_1', which no slot matches \(did you mean 'Stays_1'"):
        dst(demo.path("gold"), demo.path("hasty"), metrics="jga", **patterns)


def test_slots_that_cause_errors() -> None:
    """Turns wrong in one slot alone; their cost is what JGA rises by when the slot is left out."""
    errors = {one.slot: one for one in slot_errors(demo.path("gold"), demo.path("hasty"), profile="trade")}
    gold, hasty = demo.path("gold"), demo.path("hasty")
    whole = dst(gold, hasty, profile="trade", metrics="jga", resamples=10)["jga"].value or 0
    for slot in ("*.area", "Stays_1.hotel_name"):
        without = dst(gold, hasty, profile="trade", metrics="jga", without=slot, resamples=10)["jga"].value or 0
        assert errors[slot].cost == pytest.approx(without - whole)
        assert errors[slot].alone <= errors[slot].wrong
    assert sum(one.share for one in errors.values() if not one.slot.startswith("*")) <= 1


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_a_rate_that_cannot_be(rate: float) -> None:
    with pytest.raises(UserError, match=f"rates cannot be '{rate:g}'"):
        dst(GOLD, HASTY, rates=[rate], metrics="jga")
