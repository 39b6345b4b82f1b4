"""Paraphrases held against an entailment model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.perturb.users import guard
from troth.perturb.users.run import perturb

GOLD = demo.path("gold")
YES, NO = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05)


def record(folder: Path) -> dict[str, object]:
    (effect,) = json.loads((folder / "perturbation.json").read_bytes())["families"]
    found: dict[str, object] = effect
    return found


def test_a_model_that_agrees_changes_nothing_but_the_record(tmp_path: Path) -> None:
    nli = FakeNli(lambda *_: YES)
    perturb(GOLD, tmp_path / "with", with_="paraphrase", nli=nli, workers=4)
    perturb(GOLD, tmp_path / "without", with_="paraphrase")
    texts = [(tmp_path / name / "dialogues_001.json").read_bytes() for name in ("with", "without")]
    assert texts[0] == texts[1]
    ours, plain = record(tmp_path / "with"), record(tmp_path / "without")
    assert ours["options"] == {**plain["options"], "nli": "fake-nli@1"}  # type: ignore[dict-item]
    assert nli.asked
    assert {(b, a) for a, b in nli.asked} == set(nli.asked)  # both directions


def test_what_is_not_entailed_both_ways_is_refused_under_its_own_reason(tmp_path: Path) -> None:
    shorter = FakeNli(lambda a, b: YES if len(a) >= len(b) else NO)
    perturb(GOLD, tmp_path / "some", with_="paraphrase", nli=shorter)
    perturb(GOLD, tmp_path / "none", with_="paraphrase", nli=FakeNli(lambda *_: NO))
    some, none = record(tmp_path / "some"), record(tmp_path / "none")
    assert none["turns_changed"] == 0
    assert none["turns_refused"][guard.ENTAILED] > some["turns_refused"][guard.ENTAILED] > 0  # type: ignore[index]
    gold = json.loads((Path(GOLD) / "dialogues_001.json").read_bytes())
    assert json.loads((tmp_path / "none" / "dialogues_001.json").read_bytes()) == gold


def test_other_families_have_nothing_to_judge(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no family takes one \(families that do: paraphrase\)"):
        perturb(GOLD, tmp_path / "out", with_="disfluency", nli=FakeNli())
    perturb(GOLD, tmp_path / "both", with_=["paraphrase", "disfluency"], nli=FakeNli())
    listed = json.loads((tmp_path / "both" / "perturbation.json").read_bytes())["families"]
    assert ["nli" in effect["options"] for effect in listed] == [True, False]
