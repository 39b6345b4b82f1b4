"""Responses by templates on disk, and references from templates against those from the schema."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.meta.templates import respond, trial
from troth.models import Verdict
from troth.models.fake import FakeNli
from troth.responses import templates

GOLD, DIR = demo.path("gold"), demo.path("templates")
DIALOGUES, SCHEMA = list(readers.gold(GOLD)), readers.schema(GOLD)
YES, NO = Verdict(0.9, 0.05, 0.05), Verdict(0.05, 0.9, 0.05)


def test_a_response_for_every_turn(tmp_path: Path) -> None:
    done = respond(GOLD, DIR, str(tmp_path / "r.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert (done.responses, done.partial, done.silent, done.lacking) == (len(rows), 0, 0, [])
    assert rows[0] == {
        "dialogue": "figure_1",
        "turn": 1,
        "response": "There are 11 places to see. Which part of town should I look in?",
    }
    assert done.acts == sum(len(f.acts) for d in DIALOGUES for t in d.turns if t.speaker == "SYSTEM" for f in t.frames)


def test_acts_without_a_template_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "Stays_1.tsv").write_text("OFFER!!hotel_name!!@\tHow about @?\nINFORM!!star!!@\t@ stars.\n")
    done = respond(GOLD, str(tmp_path / "t"), str(tmp_path / "r.jsonl"))
    assert done.responses == 21
    assert done.partial + done.silent == 177
    assert sum(one.acts for one in done.lacking) == done.acts - 21
    assert [one.acts for one in done.lacking] == sorted((one.acts for one in done.lacking), reverse=True)
    hints = {one.key: one.hint for one in done.lacking if one.service == "Stays_1"}
    assert hints["INFORM!!stars!!@"] == "did you mean 'INFORM!!star!!@'?"


def test_nothing_is_written_where_no_template_fits(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "Banks_1.tsv").write_text("GOODBYE\tBye.\n")
    with pytest.raises(UserError, match="no act of its system turns has a template"):
        respond(GOLD, str(tmp_path / "t"), str(tmp_path / "r.jsonl"))
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_gold_is_rejected_by_one_act_that_is_not_entailed() -> None:
    known = templates.read(DIR)
    sentences = {"The journey costs £27.", "It has 2 stars."}

    def rule(premise: str, hypothesis: str) -> Verdict:
        return NO if hypothesis in sentences else YES

    made = trial(DIALOGUES, SCHEMA, known, FakeNli(rule), turns=None, resamples=50)
    found = {(score.system, score.metric): score for score in made.scores}
    with_fare = {
        (dialogue.id, number)
        for dialogue in DIALOGUES
        for number, turn in enumerate(dialogue.turns)
        for frame in turn.frames
        if turn.speaker == "SYSTEM"
        for act in frame.acts
        if (act.slot, act.values, act.act) in {("fare", ("£27",), "INFORM"), ("stars", ("2",), "INFORM")}
    }
    assert found["schema", "gold_rejected"].value == 0.0
    assert found["template", "gold_rejected"].value == pytest.approx(len(with_fare) / made.turns)
    assert (made.turns, made.left_out) == (177, 0)
    assert all(sentence in sentences for _, sentence in made.examples)
    mark = templates.fingerprint(known)
    assert f"|refs:template@{mark}|augment:retry|" in found["template", "gold_rejected"].signature
    assert "|refs:b+4|augment:never|" in found["schema", "gold_rejected:plain"].signature


def test_a_schema_without_descriptions_is_told() -> None:
    bare = {
        name: msgspec.structs.replace(
            one, slots=tuple(msgspec.structs.replace(slot, description="") for slot in one.slots)
        )
        for name, one in SCHEMA.items()
    }
    made = trial(DIALOGUES, bare, templates.read(DIR), FakeNli(), turns=5, resamples=10)
    assert made.notes == ["the schema lacks some descriptions: names stand in their place"]
    assert all("|desc:part|augment:" in score.signature for score in made.scores)
    assert not trial(DIALOGUES, SCHEMA, templates.read(DIR), FakeNli(), turns=5, resamples=10).notes


def test_context_helps_both_sides() -> None:
    golds = {turn.text for dialogue in DIALOGUES for turn in dialogue.turns}
    nli = FakeNli(lambda premise, _: NO if premise in golds else YES)
    made = trial(DIALOGUES, SCHEMA, templates.read(DIR), nli, turns=30, resamples=50)
    values = {(score.system, score.metric): score.value for score in made.scores}
    # Fixed acts have no description, and the first turn of a dialogue may have nothing before it.
    assert values["template", "gold_rejected:plain"] == values["schema", "gold_rejected:plain"] == 1.0
    assert values["template", "gold_rejected"] == values["schema", "gold_rejected"] == 0.0


def test_turns_without_a_template_are_left_out_on_both_sides() -> None:
    known = templates.read(DIR)
    del known["Trains_1"]
    made = trial(DIALOGUES, SCHEMA, known, FakeNli(), turns=None, resamples=10)
    assert made.left_out > 50
    assert made.turns + made.left_out == 177
    assert {score.n for score in made.scores} == {made.turns}
    with pytest.raises(UserError, match="no system turn has a template"):
        trial(DIALOGUES, SCHEMA, {}, FakeNli())
