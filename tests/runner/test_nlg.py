"""Responses from files to scores: who is scored, by what, and what is told besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl
import pytest

import troth
from tests.scorers.build import AREA, CORPUS, GOLD, NAME, SCHEMA, dialogue, no, responses, write, yes
from troth.backends import Pair, Verdict
from troth.backends.fake import FakeNli
from troth.errors import UserError
from troth.metrics import overlap
from troth.records import Act, Dialogue, Frame, Service, SlotSchema, Turn
from troth.runner.nlg import nlg

WRONG = {**GOLD, ("a", 1): "Fawlty Towers is a hotel in the north.", ("a", 3): "No."}


def literal(premise: str, hypothesis: str) -> Verdict:
    """Entailed iff the last word stands in the premise; whatever "Yes." means, "Yes" must be there."""
    return yes() if hypothesis.rsplit(maxsplit=1)[-1].strip(".?").lower() in premise.lower() else no()


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return write(tmp_path)


def test_ser_of_both_denominators(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, WRONG), metrics=["ser"], resamples=20)
    assert [(s.metric, s.value, s.n) for s in result.scores] == [
        ("ser", 1 / 5, 5),
        ("ser_applicable", 1 / 2, 2),
        ("coverage:ser", 2 / 5, 5),
        ("act_coverage:ser", 2 / 7, 7),
    ]
    assert result["ser"].signature == f"SER|unit:turn|match:substring|missing:part|n:5|v:{troth.__version__}"


PARTLY = {("a", 1): GOLD["a", 1], ("a", 3): GOLD["a", 3]}


@pytest.mark.parametrize(
    ("missing", "turns", "wrong", "counts"),
    [("part", 3, 1, (3, 1)), ("zero", 5, 3, (3, 3)), ("skip", 2, 0, (3, 0))],
)
def test_missing_responses(
    gold: str, tmp_path: Path, missing: str, turns: int, wrong: int, counts: tuple[int, int]
) -> None:
    result = nlg(gold, responses(tmp_path, PARTLY), metrics=["ser"], missing=missing, resamples=20)  # type: ignore[arg-type]
    assert (result["ser"].n, round((result["ser"].value or 0) * turns)) == (turns, wrong)
    (system,) = result.systems
    told = (system.counts["turns_without_a_response"], system.counts["of_them_scored_as_wrong"])
    assert told == counts
    assert f"|missing:{missing}|" in result["ser"].signature


def test_a_missing_response_is_worst_in_every_metric(gold: str, tmp_path: Path) -> None:
    path = responses(tmp_path, {("a", 1): GOLD["a", 1]})
    result = nlg(gold, path, missing="zero", nli=FakeNli(lambda *_: yes()), resamples=20)
    assert result["ser"].value == 4 / 5
    assert result["sgsacc"].value == 1 / 5
    assert 0 < (result["bleu"].value or 0) < 0.5


def test_an_empty_response_is_unfaithful_and_counted(gold: str, tmp_path: Path) -> None:
    path = responses(tmp_path, {**GOLD, ("a", 5): "  "})
    result = nlg(gold, path, metrics=["ser", "sgsacc"], nli=FakeNli(lambda *_: yes()), resamples=20)
    assert result["sgsacc"].value == 4 / 5
    assert result["ser"].value == 0.0  # it was to give no value
    assert result.systems[0].counts["empty_responses"] == 1


def test_sgsacc_and_its_kin(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, WRONG), metrics=["sgsacc"], nli=FakeNli(literal), resamples=20)
    (system,) = result.systems
    wrong = {(v.dialogue, v.turn, v.slot) for v in system.verdicts() if not v.entailed}
    assert ("a", 1, "place_name") in wrong
    assert ("a", 1, "area") not in wrong
    assert [s.metric for s in result.scores if s.group == "all"] == [
        "sgsacc", "sgsacc_plain", "sgsacc_validated", "sgsacc_gated",
        "coverage:sgsacc", "coverage:validated", "act_coverage:sgsacc", "act_coverage:validated",
    ]  # fmt: skip
    assert (result["sgsacc_gated"].value or 0) <= (result["sgsacc"].value or 0)
    for metric, part in (
        ("sgsacc", "|nli:fake-nli@1|select:gold|augment:retry|missing:"),
        ("sgsacc_plain", "|augment:never|"),
        ("sgsacc_validated", "|negatives:1|seed:0|"),
        ("sgsacc_gated", "|gate:present|"),
    ):
        assert part in result[metric].signature
        assert result[metric].signature.startswith(f"{metric.upper()}|unit:turn|refs:b+4|")


def test_gold_scores_one_where_it_is_validated(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), resamples=20)
    assert result["sgsacc_validated"].value == 1.0
    assert result["bleu"].value == 1.0
    assert result["ser"].value == 0.0


def test_exclusions_are_counted_by_reason(tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "Grand Budapest", [NAME, AREA]), ("y", "z", [Act("AFFIRM"), NAME]))])
    path = responses(tmp_path, {("a", 1): "Grand Budapest", ("a", 3): "z"})
    result = nlg(gold, path, nli=FakeNli(literal), resamples=20)
    counts = result.systems[0].counts
    assert counts["turns_excluded:_gold_entails_no_candidate"] == 1
    assert counts["turns_excluded:_no_rule_for_the_act"] == 1
    assert counts["acts_excluded:_gold_entails_no_candidate"] == 2
    assert counts["acts_excluded:_no_rule_for_the_act"] == 1
    assert result["sgsacc"].n == 2
    score = result["sgsacc_validated"]
    assert (score.value, score.n, score.reason) == (None, 0, "no response to score")
    assert result["coverage:validated"].value == 0.0


def test_turns_without_acts_are_not_scored_by_sgsacc(tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "Grand Budapest", [NAME]), ("y", "Well.", []))])
    path = responses(tmp_path, {("a", 1): "Grand Budapest", ("a", 3): "Well."})
    result = nlg(gold, path, nli=FakeNli(literal), resamples=20)
    assert (result["sgsacc"].n, result["ser"].n, result["coverage:sgsacc"].value) == (1, 2, 0.5)
    assert result.systems[0].counts["turns_without_acts"] == 1


@pytest.mark.parametrize("how", ["option", "no texts"])
def test_without_gold_utterances_any_candidate_will_do(tmp_path: Path, how: str) -> None:
    silent = [
        msgspec.structs.replace(
            one,
            turns=tuple(
                msgspec.structs.replace(t, text="") if t.speaker == "SYSTEM" and how == "no texts" else t
                for t in one.turns
            ),
        )
        for one in CORPUS
    ]
    gold = write(tmp_path, silent)
    nli = FakeNli(literal)
    result = nlg(gold, responses(tmp_path, GOLD), nli=nli, gold_text=how != "option", resamples=20)
    assert "|select:any|" in result["sgsacc"].signature
    for metric in ("sgsacc_validated", "bleu"):
        assert (result[metric].value, result[metric].reason) == (None, "gold has no utterances")
    said = set(GOLD.values())
    assert all(premise.endswith(tuple(said)) for premise, _ in nli.asked)


def test_groups(gold: str, tmp_path: Path) -> None:
    train = tmp_path / "train.json"
    train.write_bytes(msgspec.json.encode([Service("Trains_1")]))
    by = ["service", "domain", "act", "slot", "kind"]
    result = nlg(
        gold, responses(tmp_path, WRONG), metrics=["ser", "sgsacc"], nli=FakeNli(literal), by=by,
        train_schema=str(train), resamples=20,
    )  # fmt: skip
    found = {(s.metric, s.group): s for s in result.scores}
    assert ("ser", "seen") not in found
    assert found["ser", "unseen"].n == 5
    assert "|group:unseen|train:" in found["ser", "unseen"].signature
    assert found["sgsacc", "service:Stays_1"].n == found["sgsacc", "domain:Stays"].n == 5
    offers = found["sgsacc", "act:OFFER"]
    assert (offers.value, offers.n) == (0.5, 2)
    assert "|unit:act|" in offers.signature
    assert found["sgsacc", "slot:Stays_1.place_name"].value == 0.5
    assert found["sgsacc", "kind:name"].n == found["sgsacc", "noncategorical"].n == 2
    assert found["sgsacc", "categorical"].n == 2
    assert found["ser_applicable", "kind:name"].value == 0.5
    assert ("ser_applicable", "kind:boolean") not in found


def test_a_turn_of_two_services_is_seen_only_if_both_are(tmp_path: Path) -> None:
    other = Service("Sights_1", slots=(SlotSchema("fee"),))
    frames = (Frame("Stays_1", acts=(NAME,)), Frame("Sights_1", acts=(Act("INFORM", "fee", ("$5",)),)))
    both = Dialogue("a", (Turn("USER", "x"), Turn("SYSTEM", "Grand Budapest, $5", frames)))
    gold = write(tmp_path, [both], {**SCHEMA, "Sights_1": other})
    train = tmp_path / "train.json"
    train.write_bytes(msgspec.json.encode([Service("Stays_1")]))
    path = responses(tmp_path, {("a", 1): "Grand Budapest, $5"})
    result = nlg(gold, path, metrics=["ser"], train_schema=str(train), by=["service"], resamples=20)
    assert {s.group for s in result.scores if s.metric == "ser"} == {
        "all", "unseen", "service:Stays_1", "service:Sights_1",
    }  # fmt: skip


def test_several_systems_share_gold(gold: str, tmp_path: Path) -> None:
    nli = FakeNli(literal)
    paths = [responses(tmp_path, GOLD, "good.jsonl"), f"bad={responses(tmp_path, WRONG, 'x.jsonl')}"]
    result = nlg(gold, *paths, metrics=["sgsacc"], nli=nli, resamples=20)
    assert [system.name for system in result.systems] == ["good", "bad"]
    assert (result.score("sgsacc", system="bad").value or 0) < (result["sgsacc"].value or 0)
    alone = FakeNli(literal)
    nlg(gold, paths[0], metrics=["sgsacc"], nli=alone, resamples=20)
    assert len(nli.asked) < 2 * len(alone.asked)
    with pytest.raises(UserError, match="the same file of responses is named twice"):
        nlg(gold, paths[0], paths[0], metrics=["ser"])


def test_a_schema_without_descriptions_goes_by_names(tmp_path: Path) -> None:
    bare = msgspec.structs.replace(
        SCHEMA["Stays_1"],
        slots=tuple(msgspec.structs.replace(slot, description="") for slot in SCHEMA["Stays_1"].slots),
        intents=(),
    )
    gold = write(tmp_path, CORPUS, {"Stays_1": bare})
    result = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), resamples=20)
    assert "|refs:b+4|desc:none|" in result["sgsacc"].signature
    assert result.notes == ["the schema has no descriptions: names stand in their place"]
    assert all(v.reference is None or "Name of" not in v.reference for v in result.systems[0].verdicts())
    partly = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), schema=SCHEMA, resamples=20)
    assert "|desc:part|" in partly["sgsacc"].signature


def test_no_model_is_opened_where_none_is_needed(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["ser", "bleu"], nli="/no/such/model", resamples=20)
    assert result["bleu"].value == 1.0


def test_without_sacrebleu_there_is_no_bleu(gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "available", lambda: False)
    monkeypatch.setattr(overlap, "counts", None)
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["bleu", "ser"], resamples=20)
    assert (result["bleu"].value, result["bleu"].reason) == (None, overlap.MISSING)
    assert result["ser"].value == 0.0


def test_texts_that_were_cut_are_counted(gold: str, tmp_path: Path) -> None:
    class Short(FakeNli):
        def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
            self.shortened.update(pair for pair in pairs if len(pair[0]) > 60)
            return super().probabilities(pairs)

    nli = Short()
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["sgsacc"], nli=nli, resamples=20)
    assert nli.cut > 0
    assert f"{nli.cut} pairs were longer than the model reads, and were cut" in result.notes


def test_exclusions_are_counted_only_where_validation_was_asked_for(gold: str, tmp_path: Path) -> None:
    nli = FakeNli(lambda *_: no())
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["sgsacc_gated"], nli=nli, resamples=20)
    assert [score.metric for score in result.scores] == ["sgsacc_gated"]
    assert not any("excluded" in name for name in result.systems[0].counts)


def test_bleu_needs_no_schema(tmp_path: Path) -> None:
    gold = write(tmp_path)
    (Path(gold) / "schema.json").unlink()
    assert nlg(gold, responses(tmp_path, GOLD), metrics=["bleu"], resamples=20)["bleu"].value == 1.0
    with pytest.raises(UserError, match=r"no schema.json beside the dialogues \(name it with --schema\)"):
        nlg(gold, responses(tmp_path, GOLD), metrics=["ser"])


def test_rows_are_the_parts_of_every_ratio(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, WRONG), nli=FakeNli(literal), resamples=20)
    rows = result.rows()
    assert rows.columns == ["system", "metric", "dialogue", "turn", "service", "num", "den"]
    for score in result.scores:
        mine = rows.filter(pl.col("metric") == score.metric)
        if score.metric == "bleu" or "coverage" in score.metric:
            assert mine.is_empty()
        elif score.value is not None:
            assert sum(mine["num"].to_list()) / sum(mine["den"].to_list()) == pytest.approx(score.value)
    assert result.frame()["metric"].to_list() == [score.metric for score in result.scores]
    assert nlg(gold, responses(tmp_path, WRONG), metrics=["bleu"], resamples=20).rows().is_empty()


def test_order_moves_nothing(tmp_path: Path) -> None:
    scores = []
    for number, order in enumerate((CORPUS, CORPUS[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts = dict(list(WRONG.items())[:: 1 if number else -1])
        result = nlg(write(folder, order), responses(folder, texts), nli=FakeNli(literal), by=["act"], resamples=50)
        scores.append({(s.metric, s.group): (s.value, s.low, s.high, s.signature) for s in result.scores})
    assert scores[0] == scores[1]
    assert all(low is None or math.isfinite(low) for _, low, _, _ in scores[0].values())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"metrics": ["serr"]}, "no metric of responses is called 'serr' (did you mean 'ser'?)"),
        ({"by": ["turn"]}, "cannot group by 'turn'"),
        ({"by": ["seen"]}, "seen and unseen need the training services (give --train-schema FILE)"),
        ({"missing": "none"}, "--missing is part, zero or skip, not 'none'"),
    ],
)
def test_wrong_use(gold: str, tmp_path: Path, options: dict[str, object], expected: str) -> None:
    with pytest.raises(UserError) as error:
        nlg(gold, responses(tmp_path, GOLD), **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(expected)


def test_gold_that_cannot_be_scored(tmp_path: Path) -> None:
    path = responses(tmp_path, GOLD)
    with pytest.raises(UserError, match="no responses are named"):
        nlg(write(tmp_path), metrics=["ser"])
    odd = tmp_path / "odd"
    odd.mkdir()
    gold = write(odd, [dialogue("a", ("x", "y", [Act("OFFER", "plaze_name", ("z",))]))])
    with pytest.raises(UserError, match=r"dialogues_001.json: dialogue a, turn 1: slot 'plaze_name'"):
        nlg(gold, path, metrics=["ser"])
    twice = tmp_path / "twice"
    twice.mkdir()
    with pytest.raises(UserError, match="dialogue a: comes twice"):
        nlg(write(twice, [CORPUS[0], CORPUS[0]]), path, metrics=["ser"])
    users = tmp_path / "users"
    users.mkdir()
    with pytest.raises(UserError, match="gold has no system turn"):
        nlg(write(users, [Dialogue("a", (Turn("USER", "x"),))]), path, metrics=["ser"])


def test_from_the_package(gold: str, tmp_path: Path) -> None:
    assert troth.nlg(gold, responses(tmp_path, GOLD), metrics=["ser"], resamples=20)["ser"].value == 0.0
