"""`troth check`: gold against itself, and every kind of oddity that it looks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import GOLD, Corpus, Troth

REPORT = f"""\
22 dialogues, 177 user turns (8.05 per dialogue)
22 dialogues, 2 findings
2 × state shrinks
  {GOLD}/dialogues_001.json: dialogue demo_07, turn 1: Trains_1.has_wifi is gone
  {GOLD}/dialogues_001.json: dialogue demo_14, turn 3: Stays_1.hotel_name is gone
"""
CEILING = [
    "jga", "jga_cat", "jga_noncat", "aga", "aga_cat", "aga_noncat", "aga_union", "aga_slots", "sa",
    "slot_precision", "slot_recall", "slot_f1", "rsa", "fga@0.5", "turn_match", "intent_accuracy",
    "requested_f1", "requested_precision", "requested_recall", "tagging_f1", "tagging_precision", "tagging_recall",
]  # fmt: skip


def test_bundled_gold(fine: Troth) -> None:
    result = fine("check", GOLD)
    assert result.out.endswith(REPORT)
    table = result.out.removesuffix(REPORT).splitlines()
    assert [line.split() for line in table] == [["metric", "gold"], *([name, "100.00"] for name in CEILING)]
    assert result.err == ""


def test_json(fine: Troth) -> None:
    checked = fine("check", GOLD, "--json").json()
    assert list(checked) == ["dialogues", "unscored", "ceiling", "findings", "statistics"]
    assert checked["dialogues"] == 22
    assert [score["metric"] for score in checked["ceiling"]] == CEILING
    assert {score["value"] for score in checked["ceiling"]} == {1.0}
    assert checked["findings"][0]["places"][0] == {
        "file": f"{GOLD}/dialogues_001.json",
        "dialogue": "demo_07",
        "turn": 1,
        "what": "Trains_1.has_wifi is gone",
    }


def test_a_ceiling_below_one_has_a_reason(fine: Troth) -> None:
    ceiling = fine("check", GOLD, "--profile", "mwzeval", "--json").json()["ceiling"]
    low = [score for score in ceiling if score["value"] < 1.0]
    assert low[0]["metric"] == "jga"
    assert all(score["reason"].endswith("leaves dontcare out of gold and not out of predictions") for score in low)


@pytest.mark.parametrize("profile", ["sgd", "sgd-exact", "nemo", "trade", "checkdst"])
def test_ceiling_is_one(fine: Troth, profile: str) -> None:
    ceiling = fine("check", GOLD, "--profile", profile, "--json").json()["ceiling"]
    assert {score["value"] for score in ceiling} == {1.0}


def test_places(fine: Troth) -> None:
    assert fine("check", GOLD, "--examples", "0").out.splitlines()[-1] == "2 × state shrinks"


def frame(turn: Any) -> Any:
    return turn["frames"][0]


def slots(turn: Any) -> Any:
    return frame(turn)["state"]["slot_values"]


ODD: list[tuple[str, Callable[[Any, Any], object], int | None, str]] = [
    ("empty turn", lambda _, t: t.update(utterance="  "), 1, "USER says nothing"),
    ("speaker twice in a row", lambda _, t: t.update(speaker="SYSTEM"), 0, "SYSTEM after SYSTEM"),
    ("no user turn", lambda d, _: d.update(turns=[x for x in d["turns"] if x["speaker"] != "USER"]), None, "nothing"),
    ("empty value", lambda _, t: slots(t).update(travel_class=[]), 1, "Trains_1.travel_class"),
    ("empty value", lambda _, t: slots(t).update(travel_class=[" "]), 1, "Trains_1.travel_class"),
    ("slot not in the schema", lambda _, t: slots(t).update(colour=["red"]), 1, "Trains_1.colour"),
    ("value not in the schema", lambda _, t: slots(t).update(travel_class=["Royal"]), 1, "Trains_1.travel_class = "),
    ("service not in the schema", lambda _, t: frame(t).update(service="Boats_1"), 1, "Boats_1"),
    ("cannot be scored", lambda _, t: frame(t).update(service="Boats_1"), 1, "service 'Boats_1' is not in the schema"),
    ("cannot be scored", lambda _, t: slots(t).update(colour=["red"]), 1, "slot 'colour' is not in the schema of"),
    ("intent not in the schema", lambda _, t: frame(t)["state"].update(active_intent="Fly"), 1, "Trains_1: Fly"),
    (
        "span outside the text",
        lambda _, t: frame(t).update(slots=[{"slot": "from_station", "start": 3, "exclusive_end": 3000}]),
        1,
        "Trains_1.from_station at 3-3000",
    ),
    (
        "slot not in the schema",
        lambda _, t: frame(t).update(slots=[{"slot": "colour", "start": 3, "exclusive_end": 5}]),
        1,
        "Trains_1.colour",
    ),
    ("duplicate turn", lambda d, t: [x.update(number=6) for x in (t, d["turns"][4])], 6, "user turn 6 came before"),
    ("cannot be scored", lambda _, t: t.update(number=-1), None, "a user turn has the number -1 after 0"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "turn", "what"), ODD, ids=[f"{c[0]}-{i}" for i, c in enumerate(ODD)])
def test_oddities(
    fine: Troth, corpus: Corpus, kind: str, change: Callable[[Any, Any], object], turn: int | None, what: str
) -> None:
    items = corpus.read("gold")
    change(items[1], items[1]["turns"][2])
    corpus.write("gold", items)
    found = {finding["kind"]: finding for finding in fine("check", str(corpus.gold), "--json").json()["findings"]}
    places = [place for place in found[kind]["places"] if place["dialogue"] == "demo_07"]
    assert found[kind]["count"] == len(found[kind]["places"])
    assert places[0]["file"] == str(corpus.files["gold"])
    assert places[0]["turn"] == turn
    assert places[0]["what"].startswith(what)
    text = fine("check", str(corpus.gold)).out
    assert f"{found[kind]['count']} × {kind}\n" in text


def test_duplicate_id(fine: Troth, corpus: Corpus) -> None:
    corpus.write("gold", [*corpus.read("gold"), corpus.read("gold")[0]])
    result = fine("check", str(corpus.gold))
    assert "1 × duplicate id\n" in result.out
    assert "dialogue figure_1: this id came before" in result.out


def test_without_a_schema(fine: Troth, corpus: Corpus) -> None:
    corpus.schema.unlink()
    checked = fine("check", str(corpus.gold), "--json").json()
    values = {score["metric"]: score["value"] for score in checked["ceiling"]}
    assert values["jga"] == values["fga@0.5"] == 1.0
    assert values["jga_cat"] is None
    assert all(score["reason"] for score in checked["ceiling"] if score["value"] is None)


def test_stdin(fine: Troth, corpus: Corpus) -> None:
    result = fine("check", "-", "--schema", str(corpus.schema), stdin=corpus.files["gold"].read_bytes())
    assert "<stdin>: dialogue demo_07, turn 1: Trains_1.has_wifi is gone" in result.out
