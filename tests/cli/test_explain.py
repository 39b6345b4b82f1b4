"""`troth explain`: the rules between two recipes, one after the other."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GOLD, HASTY, STURDY, Corpus, Troth

TABLE = """\
rule     from         to        before  after  change   alone  up  down  units
case     ignore       keep       49.49  49.49   +0.00   +0.00   0     0    184
match    fuzzy-indel  exact      49.49  34.78  -14.71  -14.71   0    37    184
values   all          first      34.78  33.70   -1.09   -3.55   0     2    184
typed    yes          no         33.70  33.70   +0.00   +1.27   0     0    184
norm     none         multiwoz   33.70  33.70   +0.00   +0.00   0     0    184
scope    schema       state      33.70  33.70   +0.00   +0.00   0     0    184
average  frame        turn       33.70  33.70   +0.00   +0.00   0     0    184
unit     frame        turn       33.70  33.33   -0.36   -0.26   –     –    177
match: 7 wrong Sights_1.sight_name values equal gold if letter case is ignored
match: demo_02, turn 0, Trains_1: 95.00 → 0.00 (Trains_1.from_station: 'Port Linet' for 'Port Linnet')
values: 10 wrong Stays_1.nights values equal gold if any of gold's values counts
values: demo_12, turn 5, Stays_1: 100.00 → 0.00 (Stays_1.nights: 'a week' for '7' or 'a week')
"""
STEP = ["rule", "meaning", "old", "new", "before", "after", "alone", "units_before", "units_after", "raised", "lowered"]
PAIRS = [("sgd", "trade"), ("trade", "sgd"), ("sgd", "nemo"), ("sgd-exact", "mwzeval"), ("checkdst", "sgd")]


def test_table(fine: Troth) -> None:
    result = fine("explain", GOLD, HASTY, "--examples", "1")
    assert result.out == TABLE
    assert result.err == ""


def test_no_examples(fine: Troth) -> None:
    assert fine("explain", GOLD, HASTY, "--examples", "0").out == "".join(TABLE.splitlines(keepends=True)[:9])


def test_same_rules(fine: Troth) -> None:
    assert fine("explain", GOLD, HASTY, "--from", "sgd", "--to", "sgd").out == "the two profiles have the same rules\n"
    assert fine("explain", GOLD, HASTY, "--from", "sgd", "--to", "sgd", "--json").json() == []


@pytest.mark.parametrize("metric", ["jga", "aga", "fga@0.5", "sa", "intent_accuracy"])
@pytest.mark.parametrize(("start", "end"), PAIRS)
def test_steps_add_up(fine: Troth, start: str, end: str, metric: str) -> None:
    """From the one profile's score to the other's, without a gap."""
    steps = fine("explain", GOLD, STURDY, "--from", start, "--to", end, "--metric", metric, "--json").json()

    def score(profile: str) -> Any:
        return fine("dst", GOLD, STURDY, "--profile", profile, "--metrics", metric, "--json").json()[0]

    first, last = score(start), score(end)
    assert steps[0]["before"] == pytest.approx(first["value"], abs=1e-15)
    assert steps[-1]["after"] == pytest.approx(last["value"], abs=1e-15)
    assert (steps[0]["units_before"], steps[-1]["units_after"]) == (first["n"], last["n"])
    for a, b in itertools.pairwise(steps):
        assert a["after"] == b["before"], "exactly: it is the same sum"
        assert a["units_after"] == b["units_before"]
    assert steps[0]["alone"] == steps[0]["after"] - steps[0]["before"]


@pytest.mark.parametrize("metric", ["jga", "aga", "fga@0.5"])
@pytest.mark.parametrize(("start", "end"), PAIRS)
def test_flips_make_the_step(fine: Troth, start: str, end: str, metric: str) -> None:
    """The units that a rule moves, and they alone, account for its step."""
    steps = fine("explain", GOLD, HASTY, "--from", start, "--to", end, "--metric", metric, "--json").json()
    for step in steps:
        assert list(step) == [*STEP, "flips", "near_misses"]
        if step["raised"] is None:  # frames became turns, or the reverse
            assert step["flips"] == []
            assert step["rule"] in ("unit", "average")
            continue
        moves = [(flip["after"] or 0.0) - (flip["before"] or 0.0) for flip in step["flips"]]
        assert step["raised"] == sum(move > 0 for move in moves)
        assert step["lowered"] == sum(move < 0 for move in moves)
        change = step["after"] * step["units_after"] - step["before"] * step["units_before"]
        assert sum(moves) == pytest.approx(change, abs=1e-9)
        places = [(flip["dialogue"], flip["turn"], flip["service"]) for flip in step["flips"]]
        assert len(set(places)) == len(places)


def test_frames_outside_gold(fine: Troth, corpus: Corpus) -> None:
    """A frame that gold lacks is no unit for SGD and a wrong one for TRADE: seen in the step of `scope`."""
    items = corpus.read("pred")
    frame = {"service": "Sights_1", "state": {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}}
    frame["state"]["slot_values"] = {"area": ["north"]}  # type: ignore[index]
    items[1]["turns"][2]["frames"].append(frame)
    corpus.write("pred", items)
    steps = {s["rule"]: s for s in fine("explain", str(corpus.gold), str(corpus.pred), "--json").json()}
    scope = steps["scope"]
    assert scope["flips"] == [
        {
            "dialogue": "demo_07",
            "turn": 1,
            "service": "Sights_1",
            "before": None,
            "after": 0.0,
            "slots": [{"slot": "Sights_1.area", "gold": [], "pred": ["north"]}],
        }
    ]
    assert (scope["units_after"], scope["raised"], scope["lowered"]) == (scope["units_before"] + 1, 0, 0)


def test_values_are_shown_before_a_normaliser_made_them_equal(fine: Troth, tmp_path: Path) -> None:
    for name, value in (("gold", "guesthouse"), ("pred", "guest house")):
        line = {"dialogue": "MUL0001", "turn": 0, "state": {"hotel": {"type": value}}}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line), encoding="utf-8")
    files = (str(tmp_path / "gold.jsonl"), str(tmp_path / "pred.jsonl"))
    out = fine("explain", *files, "--from", "mwzeval+match:exact", "--to", "trade").out
    assert "norm: mul0001, turn 0: 100.00 → 0.00 (hotel.type: 'guest house' for 'guesthouse')" in out
