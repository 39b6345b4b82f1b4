"""Files of n-best lists: what they may hold, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.readers import responses
from troth.responses import corpus
from troth.responses.nbest import rerank_file
from troth.responses.templates import respond

GOLD = demo.path("gold")
YES, NO = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05)


def words(premise: str, hypothesis: str) -> Entailment:
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
    done = rerank_file(GOLD, nbest, out, FakeNli(words))
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
        ([listed({"text": "a", "score": 10**400})], "line 1: a score is not a finite number (leave out"),
        ([listed({"text": "a", "score": 1}, "b")], "line 1: some candidates have a score and some have none"),
        ([listed({"text": "a", "socre": 1})], "line 1: key 'socre' is not known (did you mean 'score'?)"),
        ([listed({"score": 1})], "line 1: a candidate has no 'text'"),
        ([listed("a"), listed("b")], "line 2: has a list already on line 1 (remove one)"),
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


def test_context_is_asked_on_request(tmp_path: Path) -> None:
    """The user says 0 stars before turn 3's OFFER; by itself, the response does not."""
    nbest = write(tmp_path / "nbest.jsonl", listed("yes", "no"))
    premises = {}
    for augment in ("never", "retry"):
        nli = FakeNli(words)
        done = rerank_file(GOLD, nbest, str(tmp_path / augment), nli, augment=augment)
        premises[augment] = {premise for premise, _ in nli.asked}
        assert f"|augment:{augment}|" in done.signature
    assert premises["never"] == {"yes", "no"}
    assert premises["retry"] > premises["never"]


def bare(tmp_path: Path) -> str:
    """The bundled schema without descriptions."""
    services = json.loads((Path(GOLD) / "schema.json").read_bytes())
    for one in services:
        for item in (*one["slots"], *one["intents"]):
            item["description"] = ""
    return write(tmp_path / "schema.json", json.dumps(services))


def test_a_schema_without_descriptions_is_told(tmp_path: Path) -> None:
    nbest = write(tmp_path / "nbest.jsonl", listed("a", "b"))
    done = rerank_file(GOLD, nbest, str(tmp_path / "out"), FakeNli(), schema=bare(tmp_path))
    assert "|refs:b+4|desc:none|augment:" in done.signature
    assert done.notes == ("the schema has no descriptions: names stand in their place",)


def test_a_dialogue_that_comes_twice(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    gold.mkdir()
    for name in ("dialogues_001.json", "dialogues_002.json"):
        (gold / name).write_bytes((Path(GOLD) / "dialogues_001.json").read_bytes())
    (gold / "schema.json").write_bytes((Path(GOLD) / "schema.json").read_bytes())
    nbest = write(tmp_path / "nbest.jsonl", listed("a", "b"))
    told = r"dialogues_002\.json: dialogue .*: duplicate dialogue id \(ids must be unique; remove one\)"
    with pytest.raises(UserError, match=told):
        rerank_file(str(gold), nbest, str(tmp_path / "out"), FakeNli())
    with pytest.raises(UserError, match=told):
        corpus.read(str(gold))
    with pytest.raises(UserError, match=told):
        respond(str(gold), demo.path("templates"), str(tmp_path / "out"))


def test_nothing_is_left_of_a_run_that_fails(tmp_path: Path) -> None:
    def fails(premise: str, hypothesis: str) -> Entailment:
        raise RuntimeError("out of memory")

    nbest = write(tmp_path / "nbest.jsonl", listed("yes", "no"))
    with pytest.raises(RuntimeError):
        rerank_file(GOLD, nbest, str(tmp_path / "out.jsonl"), FakeNli(fails))
    assert [file.name for file in tmp_path.iterdir()] == ["nbest.jsonl"]
    with pytest.raises(UserError, match="exists already"):
        rerank_file(GOLD, nbest, nbest, FakeNli())
