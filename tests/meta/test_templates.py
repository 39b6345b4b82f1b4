"""References from templates against those from the schema."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.core.result import Result
from troth.meta.trials.templates import template_references
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.responses import templates

GOLD, DIR = demo.path("gold"), demo.path("templates")
DIALOGUES, SCHEMA = list(readers.gold(GOLD)), readers.schema(GOLD)
YES, NO = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05)


def run(known: str | templates.Templates, **options: Any) -> Result:
    return template_references(DIALOGUES, known, **({"schema": SCHEMA} | options))


def test_gold_is_rejected_by_one_act_that_is_not_entailed() -> None:
    known = templates.read(DIR)
    sentences = {"The journey costs £27.", "It has 2 stars."}

    def rule(premise: str, hypothesis: str) -> Entailment:
        return NO if hypothesis in sentences else YES

    made = run(known, nli=FakeNli(rule), turns=None, resamples=50)
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
    assert found["template", "gold_rejected"].value == pytest.approx(len(with_fare) / 177)
    assert made.counts["template"] == made.counts["schema"] == {"turns": 177, "turns_left_out": 0}
    assert made.details
    assert all(one.sentence in sentences for one in made.details)
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
    made = run(DIR, schema=bare, nli=FakeNli(), turns=5, resamples=10)
    assert [*map(str, made.notes)] == ["the schema lacks some descriptions: names stand in their place"]
    assert all("|desc:part|augment:" in score.signature for score in made.scores)
    assert not run(DIR, nli=FakeNli(), turns=5, resamples=10).notes


def test_context_helps_both_sides() -> None:
    golds = {turn.text for dialogue in DIALOGUES for turn in dialogue.turns}
    ends = tuple(golds)
    nli = FakeNli(lambda premise, _: YES if premise not in golds and premise.endswith(ends) else NO)
    made = run(DIR, nli=nli, turns=30, resamples=50)
    values = {(score.system, score.metric): score.value for score in made.scores}
    # Fixed acts have no description, and the first turn of a dialogue may have nothing before it.
    assert values["template", "gold_rejected:plain"] == values["schema", "gold_rejected:plain"] == 1.0
    assert values["template", "gold_rejected"] == values["schema", "gold_rejected"] == 0.0


def test_turns_without_a_template_are_left_out_on_both_sides() -> None:
    known = templates.read(DIR)
    del known["Trains_1"]
    made = run(known, nli=FakeNli(), turns=None, resamples=10)
    turns, left_out = made.counts["schema"].values()
    assert left_out > 50
    assert turns + left_out == 177
    assert {score.n for score in made.scores} == {turns}
    with pytest.raises(UserError, match="no system turn has a template"):
        run({}, nli=FakeNli())
