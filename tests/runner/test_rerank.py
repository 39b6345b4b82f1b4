"""Files of n-best lists, and the trial that the reranker must pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth import demo, readers
from troth.backends import Verdict
from troth.backends.fake import FakeNli
from troth.errors import UserError
from troth.readers import responses
from troth.runner import rerank_trial
from troth.runner.rerank import rerank_file
from troth.runner.rerank_trial import METRIC, trial
from troth.scorers import tamper

GOLD = demo.path("gold")
YES, NO = Verdict(0.9, 0.05, 0.05), Verdict(0.05, 0.9, 0.05)


def words(premise: str, hypothesis: str) -> Verdict:
    """The last word of the hypothesis stands in the premise."""
    return YES if hypothesis.rstrip(".?").rpartition(" ")[2].lower() in premise.lower() else NO


def write(path: Path, *rows: object) -> str:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return str(path)


def listed(*candidates: Any, dialogue: str = "figure_1", turn: int = 3) -> dict[str, Any]:
    return {"dialogue": dialogue, "turn": turn, "candidates": list(candidates)}


def test_a_file_of_lists(tmp_path: Path) -> None:
    """Turn 3 of figure_1: OFFER(hotel_name=Lantern Rooms), INFORM(street_address=3 Ferry Lane), 0 stars, the centre."""
    good, half = "Lantern Rooms, 0 stars, in the centre, at 3 Ferry Lane.", "Lantern Rooms, 0 stars."
    nbest = write(
        tmp_path / "nbest.jsonl",
        listed({"text": half, "score": -1.5}, {"text": good, "score": -2}),
        listed("Bye.", "Goodbye!", dialogue="demo_07", turn=1),
        listed("Which part of town?", "11 places. What area?", turn=1),
    )
    out = tmp_path / "out.jsonl"
    steps: list[tuple[int, int]] = []
    done = rerank_file(GOLD, nbest, str(out), FakeNli(words), progress=lambda *step: steps.append(step))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["dialogue"], row["turn"], row["choice"]) for row in rows] == [
        ("figure_1", 3, 1), ("demo_07", 1, 0), ("figure_1", 1, 1),
    ]  # fmt: skip
    first = rows[0]
    assert (first["response"], first["fidelity"], first["acts"]) == (good, 4, 4)
    assert [reason["fidelity"] for reason in first["reasons"]] == [2, 4]
    assert first["reasons"][0]["score"] == -1.5
    assert first["reasons"][0]["acts"][0].keys() >= {"act", "slot", "values", "reference", "entailment", "faithful"}
    assert (done.turns, done.changed, done.without_acts) == (3, 2, 0)
    assert done.faithful == sum(row["fidelity"] == row["acts"] for row in rows)
    assert done.signature.startswith("RERANK|rule:any|refs:")
    assert steps == [(3, 3)]
    speakers = {d.id: [turn.speaker for turn in d.turns] for d in readers.gold(GOLD)}
    assert len(responses.read(str(out), speakers)) == 3  # what `troth nlg` reads


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([listed()], "nbest.jsonl: dialogue figure_1, turn 3: line 1: 'candidates' is empty (give one or more"),
        ([listed(3)], "dialogue figure_1, turn 3: line 1: a candidate is 3, not text or"),
        ([{"dialogue": "a", "turn": 1}], "dialogue a, turn 1: line 1: the object has no 'candidates'"),
        ([{"turn": 1}], "line 1: the object has no 'dialogue'"),
        ([listed({"text": "a", "score": "high"})], "line 1: a score is 'high', not a number"),
        ([listed({"text": "a", "score": 1}, "b")], "line 1: some candidates have a score and some have none"),
        ([listed({"text": "a", "socre": 1})], "line 1: a candidate has 'socre' (did you mean 'score'?)"),
        ([listed({"score": 1})], "line 1: a candidate has no 'text'"),
        ([listed("a"), listed("b")], "line 2: stands already on line 1 (remove one)"),
        ([listed("a"), listed("a", turn=2)], "turn 2: line 2: gold has no such system turn (turns count from 0"),
        ([listed("a", turn=99)], "turn 99: line 1: gold has no such system turn"),
        ([listed("a", dialogue="figure_2")], "line 1: gold has no such dialogue (did you mean 'figure_1'?)"),
        (["[]\n"], "line 1: is not an object {…}"),
        (["\n"], "the file is empty"),
    ],
)
def test_bad_lists(tmp_path: Path, rows: list[object], told: str) -> None:
    nli = FakeNli()
    with pytest.raises(UserError) as error:
        rerank_file(GOLD, write(tmp_path / "nbest.jsonl", *rows), str(tmp_path / "out.jsonl"), nli)
    assert told in str(error.value)
    assert not nli.asked  # everything is checked first
    assert [file.name for file in tmp_path.iterdir()] == ["nbest.jsonl"]


def test_nothing_is_left_of_a_run_that_fails(tmp_path: Path) -> None:
    def fails(premise: str, hypothesis: str) -> Verdict:
        raise RuntimeError("out of memory")

    nbest = write(tmp_path / "nbest.jsonl", listed("a", "b"))
    with pytest.raises(RuntimeError):
        rerank_file(GOLD, nbest, str(tmp_path / "out.jsonl"), FakeNli(fails))
    assert [file.name for file in tmp_path.iterdir()] == ["nbest.jsonl"]
    with pytest.raises(UserError, match="is there already"):
        rerank_file(GOLD, nbest, nbest, FakeNli())


# -- the trial ---------------------------------------------------------------------------------------------------------

DIALOGUES, SCHEMA = list(readers.gold(GOLD)), readers.schema(GOLD)


def omniscient() -> FakeNli:
    """Knows each gold utterance, which entails everything, from its copies, which entail nothing."""
    copies = {text for one in rerank_trial.lists(DIALOGUES, SCHEMA, turns=None) for _, text in one.copies}
    golds = {turn.text for dialogue in DIALOGUES for turn in dialogue.turns} - copies  # "Booked." is both
    return FakeNli(lambda premise, _: YES if premise in golds else NO)


def test_a_perfect_model_chooses_gold_always_and_a_blind_one_never() -> None:
    right = trial(DIALOGUES, SCHEMA, omniscient(), turns=None, resamples=50)
    assert {score.value for score in right.scores} == {1.0}
    assert not right.lost
    blind = trial(DIALOGUES, SCHEMA, FakeNli(lambda *_: YES), turns=40, resamples=50)
    plain = next(score for score in blind.scores if (score.system, score.group) == ("plain", "all"))
    assert (plain.value, plain.n, blind.lists) == (0.0, 40, 40)  # a tie is lost
    gated = next(score for score in blind.scores if (score.system, score.group) == ("gated", "all"))
    assert gated.value is not None
    assert gated.value > 0.9  # values are missed with no model at all
    assert {one.rule for one in blind.lost} >= {"plain"}


def test_scores_by_kind_and_rule() -> None:
    made = trial(DIALOGUES, SCHEMA, FakeNli(words), turns=60, seed=1, resamples=50)
    assert [(score.system, score.group) for score in made.scores] == [
        (rule, group) for rule in ("plain", "gated") for group in ("all", "kind:value", "kind:missing", "kind:boolean")
    ]
    whole = made.scores[0]
    assert whole.metric == METRIC
    assert whole.signature.startswith("FAITHFUL_CHOSEN|rule:any|refs:")
    assert "|ties:lose|" in whole.signature
    assert all(score.n <= whole.n == 60 for score in made.scores)
    assert len({one.dialogue + str(one.turn) for one in made.lost if one.rule == "plain"}) == 60 - round(
        60 * (whole.value or 0)
    )
    assert all(one.kinds for one in made.lost)


def test_lists_are_drawn_by_id_and_seed() -> None:
    forth = rerank_trial.lists(DIALOGUES, SCHEMA, turns=30, seed=4)
    back = rerank_trial.lists(DIALOGUES[::-1], SCHEMA, turns=30, seed=4)
    assert [one.unit.turn for one in forth] == [one.unit.turn for one in back]
    assert forth != rerank_trial.lists(DIALOGUES, SCHEMA, turns=30, seed=5)
    for one in forth:
        *copies, last = one.nbest().candidates
        assert last == one.unit.gold
        assert 1 <= len(copies) <= 3
        assert last not in copies
        wrong = dict(one.copies).get("value")
        assert wrong is None or not all(tamper.present(*each, wrong) for each in one.unit.due)


def test_nothing_to_spoil() -> None:
    with pytest.raises(UserError, match="no system turn has acts with values"):
        trial([], SCHEMA, FakeNli())
