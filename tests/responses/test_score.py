"""Responses from files to scores: who is scored, by what, and what is told besides."""

from __future__ import annotations

import doctest
import math
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import troth
from tests.responses.build import (
    AREA,
    BYE,
    CORPUS,
    GOLD,
    NAME,
    REQUEST,
    SCHEMA,
    STAYS,
    WIFI,
    dialogue,
    no,
    responses,
    write,
    yes,
)
from troth.core.errors import UserError
from troth.core.groups import fingerprint
from troth.core.metric import Metric
from troth.core.parts import row_schema
from troth.core.records import Act, Dialogue, Frame, Schema, Service, SlotSchema, Turn
from troth.core.result import Result
from troth.core.signature import recipe_text
from troth.models import Entailment, TextPair
from troth.models.fake import FakeNli
from troth.responses import bleu as overlap
from troth.responses import metrics, references, rerank
from troth.responses import ser as slot_error
from troth.responses.explorer import collect_responses, judged_acts
from troth.responses.metrics import BleuRecipe, Fraction, SerRecipe, SgsaccRecipe, TurnRecipe, TurnScoring
from troth.responses.rerank import RerankRecipe
from troth.responses.score import DIFFERENT, nlg

WRONG = {**GOLD, ("a", 1): "Fawlty Towers is a hotel in the north.", ("a", 3): "No."}


def literal(premise: str, hypothesis: str) -> Entailment:
    """Entailed iff the last word stands in the premise; whatever "Yes." means, "Yes" must be there."""
    return yes() if hypothesis.rsplit(maxsplit=1)[-1].strip(".?").lower() in premise.lower() else no()


def acts(result: Result) -> list[dict[str, Any]]:
    """Every judged act."""
    return [
        msgspec.structs.asdict(act)
        for act in judged_acts(collect_responses(result.explorer().dialogues), validated=True)
    ]


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
    slots = slot_error.fingerprint(slot_error.noncategorical_slots(SCHEMA))
    recipe = f"SER|unit:turn|match:substring|schema:{slots}|missing:part|n:5|v:{troth.__version__}"
    assert result["ser"].signature == recipe


PARTLY = {("a", 1): GOLD["a", 1], ("a", 3): GOLD["a", 3]}


@pytest.mark.parametrize(
    ("missing", "turns", "wrong", "counts"), [("part", 3, 1, (3, 1)), ("zero", 5, 3, (3, 3)), ("skip", 2, 0, (3, 0))]
)
def test_missing_responses(
    gold: str, tmp_path: Path, missing: str, turns: int, wrong: int, counts: tuple[int, int]
) -> None:
    result = nlg(gold, responses(tmp_path, PARTLY), metrics=["ser"], missing=missing, resamples=20)
    assert (result["ser"].n, round((result["ser"].value or 0) * turns)) == (turns, wrong)
    mine = result.counts["system"]
    assert (mine["turns_without_a_response"], mine["of_them_scored_as_wrong"]) == counts
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
    assert result.counts["system"]["empty_responses"] == 1


def test_sgsacc_and_its_kin(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, WRONG), metrics=["sgsacc"], nli=FakeNli(literal), resamples=20)
    wrong = {(row["dialogue"], row["turn"], row["slot"]) for row in acts(result) if not row["entailed"]}
    assert wrong == {(act.dialogue, act.turn, act.slot) for act in result.details}
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
        start = f"{metric.upper()}|unit:turn|refs:b+4|schema:{references.fingerprint(SCHEMA)}|"
        assert result[metric].signature.startswith(start)


def test_gold_scores_one_where_it_is_validated(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), resamples=20)
    assert result["sgsacc_validated"].value == 1.0
    assert result["bleu"].value == 1.0
    assert result["ser"].value == 0.0


def test_sentences_as_in_table_3_are_asked_and_signed(tmp_path: Path) -> None:
    kids = Act("INFORM", "kids_friendly", ("False",), ("False",))
    gold = write(tmp_path, [dialogue("a", ("x", "Not for kids.", [kids]))])
    path, asked = responses(tmp_path, {("a", 1): "No."}), {}
    for refs in ("b", "table3"):
        nli = FakeNli(lambda _, hypothesis: yes() if " no" in hypothesis else no())
        result = nlg(gold, path, metrics="sgsacc", nli=nli, refs=refs, resamples=20)
        asked[refs] = {row["reference"] for row in acts(result)}
        assert f"|refs:{refs}+4|" in result["sgsacc"].signature
        assert f"|refs:{refs}+4|" in result["coverage:sgsacc"].signature
    assert asked == {"b": {"has not kids friendly"}, "table3": {"Has no kids friendly"}}


BOTH = [NAME, Act("INFORM", "phone", ("555",), ("555",))]
AGREEMENTS: dict[str, tuple[list[Act], str | None, Fraction]] = {
    "both call it faithful": (BOTH, "Grand Budapest, 555", (1.0, 1.0)),
    "both call it unfaithful": (BOTH, "Grand Budapest", (1.0, 1.0)),
    "an empty response": (BOTH, "", (1.0, 1.0)),
    "SER alone calls it unfaithful": (BOTH, "Budapest, 555", (0.0, 1.0)),
    "SGSAcc alone calls it unfaithful": ([NAME], "Grand Budapest, or not", (0.0, 1.0)),
    "no response": (BOTH, None, (0.0, 0.0)),
    "a categorical slot as well": ([NAME, AREA], "Grand Budapest in the North", (0.0, 0.0)),
    "a categorical slot alone": ([AREA], "North", (0.0, 0.0)),
    "an act without a value as well": ([NAME, BYE], "Grand Budapest, bye", (1.0, 1.0)),
    "which SER does not look at": ([NAME, BYE], "Grand Budapest", (0.0, 1.0)),
    "a request for a categorical slot as well": ([NAME, REQUEST], "Grand Budapest. Which town?", (1.0, 1.0)),
    "no value at all": ([BYE, REQUEST], "Good day", (0.0, 0.0)),
}


@pytest.mark.parametrize("case", AGREEMENTS)
def test_agreement_of_sgsacc_with_ser(tmp_path: Path, case: str) -> None:
    acts, text, part = AGREEMENTS[case]
    gold = write(tmp_path, [dialogue("a", ("x", "Grand Budapest, North, 555. Bye!", acts), ("y", "Well.", []))])
    said = {("a", 3): "Well."} | ({} if text is None else {("a", 1): text})
    nli = FakeNli(lambda premise, hypothesis: no() if "not" in premise else literal(premise, hypothesis))
    result = nlg(gold, responses(tmp_path, said), metrics=["ser", "sgsacc"], nli=nli, resamples=20)
    score = result["agreement:ser"]
    assert (score.value, score.n) == ((part[0], 1) if part[1] else (None, 0))
    assert score.reason == (None if part[1] else "no response has non-categorical slots alone")
    assert "|match:substring|" in score.signature
    assert "|nli:fake-nli@1|" in score.signature


@pytest.mark.parametrize("metrics", ["ser", "sgsacc", "bleu", "ser,bleu"])
def test_agreement_needs_both(gold: str, tmp_path: Path, metrics: str) -> None:
    result = nlg(gold, responses(tmp_path, GOLD), metrics=metrics, nli=FakeNli(literal), resamples=20)
    assert "agreement:ser" not in {score.metric for score in result.scores}


def test_exclusions_are_counted_by_reason(tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "Grand Budapest", [NAME, AREA]), ("y", "z", [Act("AFFIRM"), NAME]))])
    path = responses(tmp_path, {("a", 1): "Grand Budapest", ("a", 3): "z"})
    result = nlg(gold, path, nli=FakeNli(literal), resamples=20)
    counts = result.counts["system"]
    assert counts["turns_excluded:_gold_entails_no_candidate"] == 1
    assert counts["turns_excluded:_no_rule_for_the_act"] == 1
    assert counts["acts_excluded:_gold_entails_no_candidate"] == 2
    assert counts["acts_excluded:_no_rule_for_the_act"] == 1
    assert result["sgsacc"].n == 2
    score = result["sgsacc_validated"]
    assert (score.value, score.n, score.reason) == (None, 0, "no turn passes validation")
    assert result["coverage:validated"].value == 0.0


def test_turns_without_acts_are_not_scored_by_sgsacc(tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "Grand Budapest", [NAME]), ("y", "Well.", []))])
    path = responses(tmp_path, {("a", 1): "Grand Budapest", ("a", 3): "Well."})
    result = nlg(gold, path, nli=FakeNli(literal), resamples=20)
    assert (result["sgsacc"].n, result["ser"].n, result["coverage:sgsacc"].value) == (1, 2, 0.5)
    assert result.counts["system"]["turns_without_acts"] == 1


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
    found = {(s.metric, str(s.group)): s for s in result.scores}
    assert ("ser", "seen") not in found
    assert found["ser", "unseen"].n == 5
    assert found["ser", "unseen_domain"].n == 5
    assert f"|train:{fingerprint(['Trains_1'])}|" in found["ser", "unseen"].signature
    assert f"|train:{fingerprint(['Trains'])}|" in found["ser", "unseen_domain"].signature
    assert "|train:" not in found["ser", "domain:Stays"].signature
    assert found["sgsacc", "service:Stays_1"].n == found["sgsacc", "domain:Stays"].n == 5
    offers = found["sgsacc", "act:OFFER"]
    assert (offers.value, offers.n) == (0.5, 2)
    assert "|unit:act|" in offers.signature
    assert found["sgsacc", "slot:Stays_1.place_name"].value == 0.5
    assert found["sgsacc", "kind:name"].n == found["sgsacc", "slots:noncategorical"].n == 2
    assert found["sgsacc", "slots:categorical"].n == 2
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
        "all", "unseen", "unseen_domain", "service:Stays_1", "service:Sights_1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("trained", "expected"),
    [
        (["Stays_1", "Sights_1"], {"seen", "seen_domain"}),
        (["Stays_2", "Sights_1"], {"unseen", "seen_domain"}),  # another service of a seen domain
        (["Stays_1"], {"unseen", "unseen_domain"}),
        ([], {"unseen", "unseen_domain"}),
    ],
)
def test_seen_services_and_seen_domains_are_told_apart(tmp_path: Path, trained: list[str], expected: set[str]) -> None:
    other = Service("Sights_1", slots=(SlotSchema("fee"),))
    frames = (Frame("Stays_1", acts=(NAME,)), Frame("Sights_1", acts=(Act("INFORM", "fee", ("$5",)),)))
    both = Dialogue("a", (Turn("USER", "x"), Turn("SYSTEM", "Grand Budapest, $5", frames)))
    gold = write(tmp_path, [both], {**SCHEMA, "Sights_1": other})
    path, train = responses(tmp_path, {("a", 1): "Grand Budapest, $5"}), {name: Service(name) for name in trained}
    result = nlg(gold, path, metrics=["ser", "bleu"], train_schema=train, resamples=20)
    for metric in ("ser", "bleu", "coverage:ser"):
        assert {score.group for score in result.scores if score.metric == metric} == {"all", *expected}


def test_several_systems_share_gold(gold: str, tmp_path: Path) -> None:
    nli = FakeNli(literal)
    paths = [responses(tmp_path, GOLD, "good.jsonl"), f"bad={responses(tmp_path, WRONG, 'x.jsonl')}"]
    result = nlg(gold, *paths, metrics=["sgsacc"], nli=nli, resamples=20)
    assert result.systems == ["good", "bad"]
    assert (result.score("sgsacc", system="bad").value or 0) < (result["sgsacc"].value or 0)
    alone = FakeNli(literal)
    nlg(gold, paths[0], metrics=["sgsacc"], nli=alone, resamples=20)
    assert len(nli.asked) < 2 * len(alone.asked)
    with pytest.raises(UserError, match="the same file of responses is given twice"):
        nlg(gold, paths[0], paths[0], metrics=["ser"])


def test_a_schema_without_descriptions_goes_by_names(tmp_path: Path) -> None:
    bare = msgspec.structs.replace(
        SCHEMA["Stays_1"],
        slots=tuple(msgspec.structs.replace(slot, description="") for slot in SCHEMA["Stays_1"].slots),
        intents=(),
    )
    gold = write(tmp_path, CORPUS, {"Stays_1": bare})
    result = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), resamples=20)
    assert "|desc:none|" in result["sgsacc"].signature
    assert [*map(str, result.notes)] == ["the schema has no descriptions: names stand in their place"]
    assert all("Name of" not in row["reference"] for row in acts(result))
    partly = nlg(gold, responses(tmp_path, GOLD), nli=FakeNli(literal), schema=SCHEMA, resamples=20)
    assert "|desc:part|" in partly["sgsacc"].signature


def test_no_model_is_opened_where_none_is_needed(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["ser", "bleu"], nli="/no/such/model", resamples=20)
    assert result["bleu"].value == 1.0


def test_without_sacrebleu_there_is_no_bleu(gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "is_installed", lambda: False)
    monkeypatch.setattr(overlap, "count_ngrams", None)
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["bleu", "ser"], resamples=20)
    assert (result["bleu"].value, result["bleu"].reason) == (None, overlap.MISSING)
    assert result["ser"].value == 0.0


def test_texts_that_were_cut_are_counted(gold: str, tmp_path: Path) -> None:
    class Short(FakeNli):
        def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
            self.shortened.update(pair for pair in pairs if len(pair[0]) > 60)
            return super().probabilities(pairs)

    nli = Short()
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["sgsacc"], nli=nli, resamples=20)
    assert nli.cut > 0
    assert f"{nli.cut} pairs were longer than the model reads, and were cut" in [*map(str, result.notes)]


def test_exclusions_are_counted_only_where_validation_was_asked_for(gold: str, tmp_path: Path) -> None:
    nli = FakeNli(lambda *_: no())
    result = nlg(gold, responses(tmp_path, GOLD), metrics=["sgsacc_gated"], nli=nli, resamples=20)
    assert [score.metric for score in result.scores] == ["sgsacc_gated"]
    assert not any("excluded" in name for name in result.counts["system"])


def test_bleu_needs_no_schema(tmp_path: Path) -> None:
    gold = write(tmp_path)
    (Path(gold) / "schema.json").unlink()
    assert nlg(gold, responses(tmp_path, GOLD), metrics=["bleu"], resamples=20)["bleu"].value == 1.0
    with pytest.raises(UserError, match=r"no schema.json beside the dialogues \(name it: --schema FILE\)"):
        nlg(gold, responses(tmp_path, GOLD), metrics=["ser"])


def test_rows_are_the_parts_of_every_ratio(gold: str, tmp_path: Path) -> None:
    result = nlg(gold, responses(tmp_path, WRONG), nli=FakeNli(literal), resamples=20)
    rows = result.rows()
    assert rows.columns == list(row_schema())
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
        scores.append({(s.metric, str(s.group)): (s.value, s.low, s.high, s.signature) for s in result.scores})
    assert scores[0] == scores[1]
    assert all(low is None or math.isfinite(low) for _, low, _, _ in scores[0].values())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"metrics": ["serr"]}, "no metric of responses is called 'serr' (did you mean 'ser'?)"),
        ({"by": ["turn"]}, "cannot group by 'turn'"),
        ({"by": ["seen"]}, "seen and unseen need the training services (give the training schema)"),
        ({"missing": "none"}, "missing cannot be 'none' (one of: part, zero, skip)"),
        ({"augment": "rety"}, "augment cannot be 'rety' (did you mean 'retry'?)"),
        ({"negatives": 0}, "negatives cannot be '0' (1 to 100)"),
        ({"negatives": 101}, "negatives cannot be '101' (1 to 100)"),
        ({"metric": ["ser"]}, "there is no option 'metric' (did you mean 'metrics'?)"),
    ],
)
def test_wrong_use(gold: str, tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as error:
        nlg(gold, responses(tmp_path, GOLD), **options)
    assert str(error.value).startswith(expected)


def test_gold_that_cannot_be_scored(tmp_path: Path) -> None:
    path = responses(tmp_path, GOLD)
    with pytest.raises(UserError, match="no responses are given"):
        nlg(write(tmp_path), metrics=["ser"])
    odd = tmp_path / "odd"
    odd.mkdir()
    gold = write(odd, [dialogue("a", ("x", "y", [Act("OFFER", "plaze_name", ("z",))]))])
    with pytest.raises(UserError, match=r"dialogues_001.json: dialogue a, turn 1: slot 'plaze_name'"):
        nlg(gold, path, metrics=["ser"])
    twice = tmp_path / "twice"
    twice.mkdir()
    with pytest.raises(UserError, match="dialogue a: duplicate dialogue id"):
        nlg(write(twice, [CORPUS[0], CORPUS[0]]), path, metrics=["ser"])
    users = tmp_path / "users"
    users.mkdir()
    with pytest.raises(UserError, match="gold has no system turn"):
        nlg(write(users, [Dialogue("a", (Turn("USER", "x"),))]), path, metrics=["ser"])


def test_from_the_package(gold: str, tmp_path: Path) -> None:
    assert troth.nlg(gold, responses(tmp_path, GOLD), metrics=["ser"], resamples=20)["ser"].value == 0.0


# -- exact values, end to end ------------------------------------------------------------------------------------------


def listed(*entailed: tuple[str, str]) -> FakeNli:
    """Only these pairs are entailed."""
    return FakeNli(lambda *pair: yes() if pair in entailed else no())


def test_the_gate_end_to_end(gold: str, tmp_path: Path) -> None:
    """A model that believes anything: the hotel is another one, wifi is nothing to look for."""
    nli = FakeNli(lambda *_: yes())
    result = nlg(gold, responses(tmp_path, WRONG), metrics=["sgsacc"], nli=nli, by=["kind"], resamples=20)
    assert (result["sgsacc"].value, result["sgsacc_gated"].value, result["sgsacc_gated"].n) == (1.0, 4 / 5, 5)
    assert result.score("sgsacc_gated", "kind:name").value == 1 / 2
    assert result.score("sgsacc_gated", "kind:boolean").value == 1.0
    assert result.score("sgsacc", "kind:name").value == 1.0
    # The request and the farewell have no twin; every other twin is believed.
    assert (result["sgsacc_validated"].value, result["sgsacc_validated"].n) == (1.0, 2)
    none = nlg(gold, responses(tmp_path, GOLD), metrics=["sgsacc_gated"], nli=FakeNli(lambda *_: no()), resamples=20)
    assert none["sgsacc_gated"].value == 0.0


SAYS = "Grand Budapest, in the north."
NAMED = (SAYS, "Name of the hotel is Grand Budapest")
PLACED = (SAYS, "Part of the town is North")
TRICKED = [(SAYS, f"Part of the town is {area}") for area in ("South", "East")]


@pytest.mark.parametrize(
    ("entailed", "turns", "acts", "reason"),
    [
        ([NAMED, PLACED], 1.0, 1.0, None),
        ([NAMED, PLACED, *TRICKED], 0.0, 1 / 2, "gold_entails_a_negative"),  # one bad act is enough
        ([NAMED], 0.0, 1 / 2, "gold_entails_no_candidate"),
        ([], 0.0, 0.0, "gold_entails_no_candidate"),
    ],
)
def test_a_turn_is_valid_iff_all_its_acts_are(
    tmp_path: Path, entailed: list[tuple[str, str]], turns: float, acts: float, reason: str | None
) -> None:
    gold = write(tmp_path, [dialogue("a", ("", SAYS, [NAME, AREA]))])
    path = responses(tmp_path, {("a", 1): SAYS})
    result = nlg(gold, path, metrics=["sgsacc"], nli=listed(*entailed), augment="never", by=["kind"], resamples=5)
    assert (result["coverage:validated"].value, result["act_coverage:validated"].value) == (turns, acts)
    assert (result["sgsacc_validated"].value, result["sgsacc_validated"].n) == (1.0 if turns else None, int(turns))
    counts = {name: count for name, count in result.counts["system"].items() if "excluded" in name}
    expected = {f"turns_excluded:_{reason}": 1, f"acts_excluded:_{reason}": round(2 * (1 - acts))}
    assert counts == (expected if reason else {})


def test_negatives_are_values_of_the_whole_corpus(gold: str, tmp_path: Path) -> None:
    nli = FakeNli(literal)
    nlg(gold, responses(tmp_path, {("a", 1): "x"}), metrics=["sgsacc_validated"], nli=nli, resamples=5)
    assert (GOLD["a", 1], "Name of the hotel is Fawlty Towers") in nli.asked  # said in a dialogue that is not scored
    nli = FakeNli(literal)
    nlg(gold, responses(tmp_path, {("a", 1): "x"}), metrics=["sgsacc"], nli=nli, negatives=2, resamples=5)
    assert {(GOLD["a", 1], f"area is {area}") for area in ("South", "East")} <= set(nli.asked)


def test_responses_that_are_faithful_only_in_context(tmp_path: Path) -> None:
    gold = write(
        tmp_path,
        [dialogue("a", ("Hm?", SAYS, [NAME, AREA]), ("So?", SAYS, [NAME, AREA]), ("And?", SAYS, [NAME, AREA]))],
    )
    alone = ("Said.", NAMED[1])
    context = [(f"{before} Part of the town. Said.", PLACED[1]) for before in ("Hm?", "So?")]
    # The first response needs its context for the place; the second one, too, but leaves out the name.
    entailed = {NAMED, PLACED, alone, *context, ("So? Part of the town. Other.", PLACED[1])}
    path = responses(tmp_path, {("a", 1): "Said.", ("a", 3): "Other.", ("a", 5): SAYS})
    result = nlg(gold, path, metrics=["sgsacc"], nli=listed(*entailed), resamples=5)
    counts = result.counts["system"]
    assert (counts["acts_true_only_in_context"], counts["responses_faithful_only_in_context"]) == (2, 1)
    assert (result["sgsacc"].value, result["sgsacc_plain"].value) == (2 / 3, 1 / 3)


# -- several systems ---------------------------------------------------------------------------------------------------


def halves(gold: str, tmp_path: Path, missing: str) -> Result:
    """Each system answers one of the two dialogues."""
    paths = [
        responses(tmp_path, {key: text for key, text in GOLD.items() if key[0] == name}, f"{name}.jsonl")
        for name in ("a", "b")
    ]
    return nlg(gold, *paths, metrics=["ser"], missing=missing, resamples=20)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [("part", [(5, 2 / 5), (5, 3 / 5)]), ("zero", [(5, 2 / 5), (5, 3 / 5)]), ("skip", [(3, 0.0), (2, 0.0)])],
)
def test_part_is_what_any_of_the_systems_answers(
    gold: str, tmp_path: Path, missing: str, expected: list[tuple[int, float]]
) -> None:
    result = halves(gold, tmp_path, missing)
    found = [result.score("ser", system=name) for name in ("a", "b")]
    assert [(score.n, score.value) for score in found] == expected
    same = found[0].recipe == found[1].recipe
    assert same == (missing != "skip")
    assert [*map(str, result.notes)] == ([] if same else [DIFFERENT])


def test_equal_turns_compare_under_skip(gold: str, tmp_path: Path) -> None:
    paths = [responses(tmp_path, PARTLY, name) for name in ("a.jsonl", "b.jsonl")]
    result = nlg(gold, *paths, metrics=["ser"], missing="skip", resamples=20)
    assert result.score("ser", system="a").recipe == result.score("ser", system="b").recipe
    assert "|missing:skip|set:" in result["ser"].signature
    assert [*map(str, result.notes)] == []


# -- recipes, groups, reasons ------------------------------------------------------------------------------------------


def test_another_schema_is_another_recipe(gold: str, tmp_path: Path) -> None:
    worded = tuple(msgspec.structs.replace(slot, description=f"The {slot.name}") for slot in STAYS.slots)
    sorts = (msgspec.structs.replace(STAYS.slots[0], is_categorical=True), *STAYS.slots[1:])
    schemas: list[Schema] = [SCHEMA, *({"Stays_1": msgspec.structs.replace(STAYS, slots=s)} for s in (worded, sorts))]
    made = [
        nlg(gold, responses(tmp_path, GOLD), metrics=["ser", "sgsacc"], nli=FakeNli(literal), schema=one, resamples=5)
        for one in schemas
    ]
    assert len({result["sgsacc"].identity.replace("|desc:part", "") for result in made}) == 3
    assert len({result["sgsacc_validated"].identity.replace("|desc:part", "") for result in made}) == 3
    assert [result["ser"].identity == made[0]["ser"].identity for result in made] == [True, True, False]


def test_the_values_of_a_request_are_no_slot_to_fill(tmp_path: Path) -> None:
    asked = Act("REQUEST", "area", ("North", "South"))
    gold = write(tmp_path, [dialogue("a", ("x", "North or south?", [asked]), ("y", "North.", [AREA]))])
    path = responses(tmp_path, {("a", 1): "Where?", ("a", 3): "North."})
    result = nlg(gold, path, metrics=["sgsacc"], nli=FakeNli(literal), by=["kind"], resamples=5)
    assert result.score("sgsacc", "slots:categorical").n == 1
    assert result.score("sgsacc", "kind:request").n == 1


@pytest.mark.parametrize(
    ("acts", "metric", "reason"),
    [
        ([], "sgsacc", "no turn has acts"),
        ([], "ser_applicable", "no turn has acts"),
        ([Act("AFFIRM")], "sgsacc", "no rule fits any act"),
        ([WIFI], "ser_applicable", "no turn has a value to give"),
    ],
)
def test_reasons(tmp_path: Path, acts: list[Act], metric: str, reason: str) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "y", acts))])
    result = nlg(gold, responses(tmp_path, {("a", 1): "y"}), metrics=[metric], nli=FakeNli(literal), resamples=5)
    assert (result[metric].value, result[metric].reason) == (None, reason)


def test_the_interval_of_a_small_group_is_of_that_group(tmp_path: Path) -> None:
    """One dialogue of six has the service, and says nothing of how much dialogues differ."""
    other = Service("Sights_1", slots=(SlotSchema("fee"),))
    said = Turn("SYSTEM", "The fee is five dollars.", (Frame("Sights_1", acts=(Act("INFORM", "fee", ("$5",)),)),))
    rest = [dialogue(name, ("x", "Grand Budapest it is, then.", [NAME])) for name in "bcdef"]
    gold = write(tmp_path, [Dialogue("a", (Turn("USER", "x"), said)), *rest], {**SCHEMA, "Sights_1": other})
    texts = {("a", 1): said.text, **{(name, 1): "Grand Budapest it is, then." for name in "bcdef"}}
    result = nlg(gold, responses(tmp_path, texts), metrics=["bleu"], by=["service"], resamples=100)
    score = result.score("bleu", "service:Sights_1")
    assert (score.value, score.low, score.high) == (1.0, None, None)
    assert score.interval_note == "an interval needs two dialogues or more"


def test_kept_turns_know_who_spoke_before(tmp_path: Path) -> None:
    turns = (Turn("USER", "Hi"), Turn("SYSTEM", "Hello."), Turn("SYSTEM", "What now?"))
    gold = write(tmp_path, [Dialogue("a", turns, ("Stays_1",))])
    path = responses(tmp_path, {("a", 1): "Hello.", ("a", 2): "Now?"})
    result = nlg(gold, path, metrics=["ser"], resamples=5)
    (told,) = result.explorer().dialogues
    assert [(one.speaker, one.text) for one in told.utterances] == [(turn.speaker, turn.text) for turn in turns]


def test_lines_without_ids_are_told(gold: str, tmp_path: Path) -> None:
    path = tmp_path / "said.txt"
    path.write_text("\n".join(GOLD.values()) + "\n")
    result = nlg(gold, str(path), metrics=["ser"], resamples=5)
    assert result.systems == ["said"]
    (note,) = map(str, result.notes)
    assert note.startswith(f"{path}: names no turns: matched to gold's system turns in order")
    ids = tmp_path / "ids"
    ids.write_text("".join(f"{dialogue} {turn}\n" for dialogue, turn in GOLD))
    assert nlg(gold, str(path), metrics=["ser"], ids=str(ids), resamples=5).notes == []


# -- one way in, one way out -------------------------------------------------------------------------------------------


def test_lists_text_and_paths_are_all_taken(gold: str, tmp_path: Path) -> None:
    path = Path(responses(tmp_path, WRONG))
    train = tmp_path / "train.json"
    train.write_bytes(msgspec.json.encode([Service("Trains_1")]))
    by_text = nlg(Path(gold), path, metrics="ser,bleu", by="act, kind", train_schema=train, resamples=20)
    schema = str(Path(gold) / "schema.json")
    by_list = nlg(gold, str(path), metrics=["ser", "bleu"], by=["act", "kind"], schema=schema, train_schema=str(train),
                  resamples=20)  # fmt: skip
    assert by_text.scores == by_list.scores


def test_a_saved_run_is_the_same_result(gold: str, tmp_path: Path) -> None:
    path = responses(tmp_path, WRONG)
    made = nlg(gold, path, nli=FakeNli(literal), by="kind", resamples=20, out=tmp_path / "run")
    kept = troth.open(tmp_path / "run")
    assert (kept.task, list(kept.scores), kept.counts) == ("nlg", list(made.scores), made.counts)
    assert kept.rows().equals(made.rows())
    assert acts(kept) == acts(made)
    again = collect_responses(kept.explorer().dialogues)[
        "system"
    ]  # what a run keeps is enough to compute its metrics anew
    for metric in metrics.select_metrics("ser,sgsacc"):
        fractions = [metric.compute.part(one) for one in again]
        value = made[metric.name].value
        assert value is None or sum(num for num, _ in fractions) / sum(den for _, den in fractions) == value
    assert kept.arguments["nli"] == "fake-nli@1"
    assert (kept.arguments["gold"], kept.arguments["responses"], kept.arguments["by"]) == (gold, [path], "kind")
    assert kept.metric("ser").better == "lower"
    assert kept.metric("coverage:ser").of == "ser_applicable"


RECIPES = [
    SerRecipe(schema="a"),
    SgsaccRecipe(
        schema="a", descriptions="part", nli="m", select="gold", augment="retry", negatives=1, seed=0, gate="present"
    ),
    BleuRecipe("1", "mixed", "no", "13a", "exp", "2"),
    TurnRecipe("part", "a", "b"),
    RerankRecipe(rule="any", augment="never", nli="m"),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
def test_every_rule_of_a_recipe_changes_the_signature(recipe: Any) -> None:
    plain = recipe_text(recipe)
    for one in fields(recipe):
        other = 7 if isinstance(getattr(recipe, one.name), int) else "other"
        assert recipe_text(replace(recipe, **{one.name: other})) != plain, one.name


def test_metrics_say_what_they_need() -> None:
    needs = {name: set(metrics.METRICS.load(name).needs) for name in metrics.METRICS.own}
    assert needs["ser"] == needs["ser_applicable"] == {"schema"}
    assert needs["sgsacc"] == needs["sgsacc_plain"] == needs["sgsacc_gated"] == {"schema", "nli"}
    assert needs["sgsacc_validated"] - needs["sgsacc"] == {"text", "negatives"}
    assert needs["bleu"] == {"text", "sacrebleu"}
    named = ("ser", "sgsacc", "sgsacc_gated", "bleu")
    families = [[one.name for one in metrics.select_metrics(name)] for name in named]
    assert families == [["ser", "ser_applicable"], ["sgsacc", "sgsacc_plain", "sgsacc_validated", "sgsacc_gated"],
                        ["sgsacc_gated"], ["bleu"]]  # fmt: skip


def test_a_metric_from_outside(gold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Length in words: no name in the package knows it."""
    words = Metric(
        "words", "Words", "words per response", scale="number", unit="turn", needs=("schema",),
        compute=TurnScoring(lambda one: (float(len((one.answer.text or "").split())), 1.0), lambda run: run.ser),
    )  # fmt: skip
    monkeypatch.setitem(metrics.METRICS.own, "words", words)
    result = nlg(gold, responses(tmp_path, GOLD), metrics="words", by="service", resamples=20)
    assert result["words"].value == sum(len(text.split()) for text in GOLD.values()) / 5
    assert result.score("words", "service:Stays_1").n == 5
    assert (result["words"].scale, result.metric("words").about) == ("number", "words per response")


def test_the_examples_of_the_docstrings() -> None:
    for module in (rerank, sys.modules[nlg.__module__]):
        assert doctest.testmod(module).failed == 0
