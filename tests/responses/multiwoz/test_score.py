"""`troth.multiwoz`: values of mwzeval, what is missing, order, files and memory."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import troth
from tests.responses.multiwoz.build import BAD, BOOKED, DATABASE, GOALS, GOOD, NORTH, write, write_world
from troth.core.errors import UserError
from troth.core.result import Result
from troth.responses.multiwoz import richness
from troth.responses.multiwoz.score import multiwoz

WORLD: dict[str, Any] = {"goals": GOALS, "booked": BOOKED, "database": DATABASE}
RATES = "inform,success"
needs_moses = pytest.mark.skipif(not richness.is_installed(), reason="sacremoses is not installed")


def run(*, metrics: str = RATES, **systems: Any) -> Result:
    return multiwoz(predictions=systems, metrics=metrics, resamples=50, **WORLD)


def values(result: Result, system: str | None = None) -> dict[str, float | None]:
    mine = [score for score in result.scores if score.system == (system or result.systems[0])]
    return {f"{score.metric} {score.group}": score.value for score in mine}


@pytest.mark.shared
@pytest.mark.parametrize("system", ["pptod", "soloist"])
def test_values_of_mwzeval(shared: Path, system: str) -> None:
    """As printed by mwzeval's own code: `golden/mwzeval_success.json`."""
    golden = json.loads((shared / "golden/mwzeval_success.json").read_text())[system]
    data = shared / "data/multiwoz"
    result = troth.multiwoz(
        shared / f"data/mwzeval/{system}.json",
        goals=data / "goals_test.json.gz",
        booked=data / "booked_domains_test.json.gz",
        database=data / "database.zip",
        metrics=RATES,
    )
    for metric, rates in golden.items():
        found = {
            "total" if score.group == "all" else score.group.name: round(100 * (score.value or 0), 1)
            for score in result.scores
            if score.metric == metric
        }
        assert found == rates


def test_a_small_world() -> None:
    result = run(good=GOOD, bad=BAD)
    assert values(result, "good") == {
        "inform all": 1.0, "inform domain:hotel": 1.0, "inform domain:restaurant": 1.0, "inform domain:taxi": 1.0,
        "inform domain:train": 1.0, "success all": 1.0, "success domain:hotel": 1.0, "success domain:restaurant": 1.0,
        "success domain:taxi": 1.0, "success domain:train": 1.0,
    }  # fmt: skip
    assert values(result, "bad")["inform all"] == 0.75
    assert values(result, "bad")["success all"] == 0.5
    assert values(result, "bad")["success domain:hotel"] == 0.5
    assert [(one.dialogue, one.domain, one.reason) for one in result.findings] == [
        ("mul0001", "hotel", "1 of 1 offered venue do not fit the goal"),
        ("mul0003", "taxi", "not given: PHONE"),
    ]
    assert result.counts["bad"]["unknown_placeholders"] == 1
    assert str(result["inform"].signature).startswith(
        "INFORM|unit:dialogue|states:predicted|domains:estimated|missing:part|n:4"
    )


def test_files_give_what_memory_gives(tmp_path: Path) -> None:
    files = multiwoz(
        write(tmp_path, "good.json", GOOD), write(tmp_path, "bad.json", BAD), metrics=RATES, resamples=50,
        **write_world(tmp_path),
    )  # fmt: skip
    memory = run(good=GOOD, bad=BAD)
    assert list(files.scores) == list(memory.scores)
    assert files.rows().equals(memory.rows())
    assert (files.counts, files.inputs, list(files.findings)) == (memory.counts, memory.inputs, list(memory.findings))


def test_order_changes_nothing() -> None:
    def backwards(data: dict[str, Any]) -> dict[str, Any]:
        return dict(reversed(data.items()))

    one = run(good=GOOD, bad=BAD)
    other = multiwoz(
        predictions={"bad": backwards(BAD), "good": backwards(GOOD)}, goals=backwards(GOALS), booked=backwards(BOOKED),
        database=backwards(DATABASE), metrics=RATES, resamples=50,
    )  # fmt: skip
    assert {(s.system, s.metric, s.group): s for s in one.scores} == {
        (s.system, s.metric, s.group): s for s in other.scores
    }
    assert one.inputs == other.inputs


@pytest.mark.parametrize(("missing", "inform", "n"), [("part", 0.75, 4), ("zero", 0.75, 4), ("skip", 1.0, 3)])
def test_missing_dialogues(missing: str, inform: float, n: int) -> None:
    """Also a domain that would be right at once: no taxi has to be offered."""
    less = {name: turns for name, turns in GOOD.items() if name != "mul0003"}
    result = multiwoz(predictions={"less": less, "good": GOOD}, missing=missing, metrics=RATES, resamples=20, **WORLD)
    assert (result["inform"].value, result["inform"].n) == (inform, n)
    assert result.counts["less"].get("dialogues_without_a_prediction", 0) == (missing != "skip")
    rules = {score.identity for score in result.scores if (score.metric, score.group) == ("inform", "all")}
    assert len(rules) == (2 if missing == "skip" else 1)


def test_alone_a_part_of_the_goals_is_enough() -> None:
    assert run(some={"MUL0001.json": GOOD["mul0001"]})["inform"].n == 1


def test_dialogues_without_a_goal_are_counted() -> None:
    result = run(more={**GOOD, "mul9999": GOOD["mul0001"]})
    assert result.counts["more"]["dialogues_without_a_goal"] == 1
    assert "more: 1 dialogue without a goal: not scored" in map(str, result.notes)


def test_gold_states_for_files_without_states(tmp_path: Path) -> None:
    bare = {name: [{"response": turn["response"]} for turn in turns] for name, turns in GOOD.items()}
    gold = write(tmp_path, "gold.json", GOOD)
    result = multiwoz(predictions={"bare": bare}, states=gold, metrics=RATES, resamples=20, **WORLD)
    assert result["success"].value == 1.0
    assert "states:gold" in result["success"].signature
    with pytest.raises(UserError, match="states is needed: some predictions have no states"):
        multiwoz(predictions={"bare": bare}, metrics=RATES, **WORLD)
    other = write(tmp_path, "other.json", {"mul9999": GOOD["mul0001"]})
    with pytest.raises(UserError, match="no states are predicted, and gold has none"):
        multiwoz(predictions={"bare": bare}, states=other, metrics=RATES, **WORLD)


def test_active_domains_of_the_file() -> None:
    silent = {"mul0001": [{**turn, "active_domains": []} for turn in GOOD["mul0001"]]}
    told = {"mul0001": [{**turn, "active_domains": ["taxi", "hotel"]} for turn in GOOD["mul0001"]]}
    assert run(system=silent)["inform"].value == 0.0
    assert run(system=told)["inform"].value == 1.0
    assert "domains:predicted" in run(system=told)["inform"].signature


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"goals": None}, "goals is needed"),
        ({"booked": {}}, "dialogue mul0001: has a goal, but no booked domains"),
        ({"database": {"hotel": []}}, "the database has no table of attraction, restaurant, train"),
        ({"goals": {"mul0001": {"hotel": 3}}}, "dialogue mul0001: is not a goal"),
        ({"predictions": {}}, "no predictions are given"),
        ({"predictions": {"s": {"mul0001": [{"state": {}}]}}}, "dialogue mul0001, turn 0: the turn has no 'response'"),
        ({"predictions": {"s": {"mul0001": [{"response": "", "state": {"hotel": {"area": 3}}}]}}},
         "dialogue mul0001, turn 0: slot 'hotel-area': value 3 is a number"),
        ({"predictions": {"s": {"x": GOOD["mul0001"]}}}, "no dialogue of the predictions has a goal"),
        ({"references": {"mul0001": ["a"]}}, "dialogue mul0002: has a goal, but no references"),
        ({"metrics": "informs"}, "no metric of MultiWOZ dialogues is called 'informs'"),
    ],
)  # fmt: skip
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        multiwoz(**{"predictions": {"good": GOOD}, "resamples": 20, "metrics": RATES, **WORLD, **changes})
    assert message in str(caught.value)


def test_combined_needs_references() -> None:
    score = run(good=GOOD, metrics="inform,combined")["combined"]
    assert (score.value, score.reason) == (None, "no references are given")


@needs_moses
def test_combined() -> None:
    """Inform 1, Success 1, BLEU 1 of responses that equal the references; BLEU as sacreBLEU has it of others."""
    import sacrebleu

    metrics = "inform,success,combined,bleu"
    result = multiwoz(predictions={"good": GOOD, "bad": BAD}, references=GOOD, metrics=metrics, resamples=50, **WORLD)
    assert result["combined"].value == pytest.approx(2.0)
    texts = [[richness.detokenize(troth_text(turn)) for d in sorted(s) for turn in s[d]] for s in (BAD, GOOD)]
    bleu = sacrebleu.corpus_bleu(texts[0], [texts[1]]).score / 100
    assert result.score("bleu", system="bad").value == pytest.approx(bleu)
    combined = result.score("combined", system="bad")
    assert combined.value == pytest.approx((0.75 + 0.5) / 2 + bleu)
    assert combined.low is not None
    assert combined.low < (combined.value or 0) < (combined.high or 0)
    assert "tok:13a" in combined.signature


def troth_text(turn: dict[str, Any]) -> str:
    from troth.text.mwzeval import mwzeval_response

    return mwzeval_response(turn["response"])


@needs_moses
def test_references_in_mwzevals_own_form_are_not_normalised_again() -> None:
    texts = {name: [richness.detokenize(troth_text(turn)) for turn in turns] for name, turns in GOOD.items()}
    result = multiwoz(predictions={"good": GOOD}, references=texts, metrics="bleu", resamples=20, **WORLD)
    assert result["bleu"].value == pytest.approx(1.0)


def test_richness() -> None:
    rich = richness.measure_richness([["a", "b", "a"], ["a"]])
    assert (rich.unigrams, rich.bigrams, rich.trigrams, rich.msttr) == (2, 2, 1, 0.5)
    assert rich.entropy == pytest.approx(-(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)))
    assert rich.conditional_entropy == pytest.approx(-(0.25 * math.log2(1 / 3) + 0.25 * math.log2(1)))
    assert richness.measure_richness([["a"] * 50, ["b"] * 50, ["c"]]).msttr == 0.02  # the last window is not whole


@pytest.mark.shared
@needs_moses
def test_richness_of_pptod(shared: Path) -> None:
    """Computed apart from this code, with the packages that mwzeval uses: sacremoses 0.2.0, lexical-diversity 0.1.1."""
    expected = {
        "length": 12.733550400217068, "msttr": 0.6503995737879595, "unigrams": 301, "bigrams": 1340, "trigrams": 2538,
        "entropy": 6.153693479875452, "conditional_entropy": 1.875720942326608,
    }  # fmt: skip
    result = multiwoz(
        shared / "data/mwzeval/pptod.json", goals=shared / "data/multiwoz/goals_test.json.gz",
        booked=shared / "data/multiwoz/booked_domains_test.json.gz", database=shared / "data/multiwoz/database.zip",
        metrics=expected,
    )  # fmt: skip
    assert {name: result[name].value for name in expected} == pytest.approx(expected, rel=1e-12)


def test_the_page_and_the_table_take_a_run(tmp_path: Path) -> None:
    run(good=GOOD, bad=BAD, worse={"mul0001": [{"response": "no", "state": NORTH}]}).save(tmp_path / "run")
    troth.report(str(tmp_path / "run"), out=str(tmp_path / "page.html"))
    assert "Does it find what the user wants" in (tmp_path / "page.html").read_text()
    assert troth.open(tmp_path / "run").findings[0].reason.endswith("fit the goal")
