"""Table 2: the same cases for every judge and every wording, and sums that can be checked by hand."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.responses.build import AREA, BYE, CORPUS, NAME, OTHER, REQUEST, SCHEMA, STAYS, WIFI, dialogue, no, write, yes
from troth.core.errors import UserError
from troth.core.parts import row_schema
from troth.core.progress import within
from troth.core.records import Act, Dialogue, Schema
from troth.core.result import Result
from troth.core.score import Score
from troth.meta.trials.trial import Trial
from troth.meta.trials.wording import JUDGES, ActCase, WordingSettings, build_cases, wording
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.responses.references import fingerprint

VARIANT: Schema = {
    "Stays_11": msgspec.structs.replace(
        STAYS,
        name="Stays_11",
        slots=tuple(
            msgspec.structs.replace(slot, name=f"the_{slot.name}", description=f"What is the {slot.name}")
            for slot in STAYS.slots
        ),
        intents=tuple(msgspec.structs.replace(one, name=f"{one.name}Now") for one in STAYS.intents),
    )
}


def everything(*_: str) -> Entailment:
    return yes()


def values(premise: str, hypothesis: str) -> Entailment:
    return yes() if hypothesis.rsplit(maxsplit=1)[-1].lower().strip(".?") in premise.lower() else no()


def judge(dialogues: Sequence[Dialogue], schema: Schema, nli: FakeNli, **options: Any) -> Result:
    return wording(dialogues, schema=schema, nli=nli, **options)


def drawn(dialogues: Sequence[Dialogue] = CORPUS, **options: Any) -> list[list[ActCase]]:
    return build_cases(Trial("", dialogues, WordingSettings(schema=SCHEMA, nli=FakeNli(), **options)))


def score(result: Result, metric: str, group: str = "all", system: str = "original/retry") -> Score:
    return result.score(metric, group, system)


def test_cases() -> None:
    made = drawn()
    told = [(*c.turn.key, c.place, c.due.act.act, c.due.act.values, c.kind, c.sort) for one in made for c in one]
    assert told[0] == ("a", 1, 0, "OFFER", ("Grand Budapest",), "name", "true")
    assert told[1] == ("a", 1, 0, "OFFER", ("Fawlty Towers",), "name", "tampered")
    assert [sort for *_, sort in told].count("true") == 7
    assert [sort for *_, sort in told].count("tampered") == 5
    assert [(act, kind) for *_, act, _, kind, sort in told if sort == "absent"] != []
    assert len(made) == 5


def test_absent_acts_are_not_in_the_turn() -> None:
    turn = dialogue("a", ("x", "y", [REQUEST, NAME, BYE, Act("REQ_MORE")]))
    for seed in range(40):
        (found,) = drawn([turn], seed=seed)
        absent = [case.due.act for case in found if case.sort == "absent"]
        assert next(act.act for act in absent) == "REQUEST"
        assert absent[0].slot not in ("area", "place_name")
        assert all(act.act in ("NOTIFY_SUCCESS", "NOTIFY_FAILURE") for act in absent[1:])
        assert len(absent) == 3


def test_the_sample_depends_on_ids_alone() -> None:
    def turns(dialogues: Sequence[Dialogue] = CORPUS, seed: int = 0) -> frozenset[tuple[str, int]]:
        return frozenset(one.turn.key for mine in drawn(dialogues, turns=3, seed=seed) for one in mine)

    assert turns() == turns(CORPUS[::-1])
    assert len(turns()) == 3
    assert len({turns(seed=seed) for seed in range(20)}) > 3


def test_accepting_everything() -> None:
    result = judge(CORPUS, SCHEMA, FakeNli(everything), resamples=20)
    assert result.systems == [f"original/{name}" for name in JUDGES]
    for group, positives, negatives in (("all", 7, 5), ("all+absent", 7, 7), ("kind:boolean", 1, 1)):
        assert score(result, "recall", group).value == 1.0
        assert score(result, "precision", group).value == positives / (positives + negatives)
        assert score(result, "f1", group).value == 2 * positives / (2 * positives + negatives)
        assert score(result, "f1", group).n == positives + negatives
        assert score(result, "false_accepts", group).value == 1.0
    assert score(result, "valid_acts").value == 2 / 7  # the request and the farewell, which have no twin
    assert score(result, "valid_turns").value == 2 / 5


def test_accepting_nothing() -> None:
    result = judge(CORPUS, SCHEMA, FakeNli(lambda *_: no()), resamples=20)
    assert score(result, "f1").value == 0.0
    precision = score(result, "precision")
    assert (precision.value, precision.reason, precision.n) == (None, "nothing was accepted", 0)


def test_what_the_user_said_before_is_not_said_by_the_system() -> None:
    corpus = [dialogue("a", ("I want the Fawlty Towers.", "What about Grand Budapest?", [NAME]))]
    result = judge([*corpus, CORPUS[1]], SCHEMA, FakeNli(values), turns=None, resamples=20)
    rows = result.rows().filter(pl.col("dialogue") == "a")
    accepted = {(row["source"].split()[0], row["system"]): bool(row["num"]) for row in rows.iter_rows(named=True)}
    assert [accepted["true", f"original/{name}"] for name in JUDGES] == [True, True, True, True, True]
    assert [accepted["tampered", f"original/{name}"] for name in JUDGES] == [False] * 5


def test_a_variant_judges_the_same_cases_in_its_words() -> None:
    nli = FakeNli(values)
    result = judge(CORPUS, SCHEMA, nli, variants={"v1": VARIANT}, resamples=20)
    first, second = (
        result.rows().filter(pl.col("system") == f"{name}/rule").drop("system") for name in ("original", "v1")
    )
    assert first.equals(second)
    asked = {hypothesis for _, hypothesis in nli.asked}
    assert {"Name of the hotel is Grand Budapest", "What is the place_name is Grand Budapest"} <= asked
    assert "the place name is Grand Budapest" in asked
    assert score(result, "f1", system="v1/rule").value == score(result, "f1", system="original/rule").value
    assert "|judge:rule|wording:v1|" in score(result, "f1", system="v1/rule").signature
    with pytest.raises(UserError, match="cannot be called 'original'"):
        judge(CORPUS, SCHEMA, nli, variants={"original": VARIANT})


def test_intents_go_by_the_variants_names() -> None:
    offer = Act("OFFER_INTENT", "intent", ("ReserveHotel",), ("ReserveHotel",))
    nli = FakeNli(values)
    judge([dialogue("a", ("x", "Shall I?", [offer]))], SCHEMA, nli, variants={"v1": VARIANT}, resamples=5)
    assert {"Offer to reserve hotel now", "Offer to search hotel now"} <= {hypothesis for _, hypothesis in nli.asked}


def test_seen_and_unseen() -> None:
    result = judge(CORPUS, SCHEMA, FakeNli(everything), train_schema={"Stays_1": STAYS}, resamples=20)
    groups = {score.group for score in result.scores}
    assert {"seen", "seen/all+absent", "seen/kind:name"} <= groups
    assert not any(group.startswith("unseen") for group in groups)
    assert score(result, "f1", "seen").value == score(result, "f1").value
    assert score(result, "valid_turns", "seen").n == 5


def test_rows() -> None:
    result = judge(CORPUS, SCHEMA, FakeNli(values), resamples=5)
    rows = result.rows()
    assert len(rows) == (7 + 5 + 2) * len(JUDGES)
    assert rows.columns == list(row_schema())
    assert set(rows["metric"]) == {"accepted"}
    mine = rows.filter((pl.col("system") == "original/rule") & (pl.col("dialogue") == "a") & (pl.col("turn") == 1))
    cells = mine.select("id", "source", "label", "service").rows()
    assert cells[0] == ("0 true", "true name", 1, "Stays_1")
    assert [sort == "true" for _, source, *_ in cells for sort in [source.split()[0]]] == [
        bool(label) for _, _, label, _ in cells
    ]
    assert all(id.split()[1] == source.split()[0] for id, source, *_ in cells)


def test_progress_runs_over_all_wordings() -> None:
    steps: list[tuple[str, int, int]] = []
    with within(lambda *step: steps.append(step)):
        judge(CORPUS, SCHEMA, FakeNli(values), variants={"v1": VARIANT}, resamples=5)
    assert steps == [("original", 5, 5), ("v1", 5, 5)]


def test_nothing_to_judge() -> None:
    with pytest.raises(UserError, match="no system turn has acts and a text"):
        judge([dialogue("a", ("x", "y", []), ("x", "", [AREA, WIFI]))], SCHEMA, FakeNli())


def test_over_files(tmp_path: Path) -> None:
    gold = write(tmp_path)
    folder = tmp_path / "sgdx" / "v1"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_bytes(msgspec.json.encode(list(VARIANT.values())))
    made = wording(gold, folder=tmp_path / "sgdx", variants="v1", nli=FakeNli(values), resamples=20)
    direct = judge(CORPUS, SCHEMA, FakeNli(values), variants={"v1": VARIANT}, resamples=20)
    assert made.scores == direct.scores
    with pytest.raises(UserError, match="no variant is called 'v9'"):
        wording(gold, folder=str(tmp_path / "sgdx"), variants="v9", nli=FakeNli(values))


# -- recipes and validation --------------------------------------------------------------------------------------------


def test_recipes() -> None:
    result = judge(
        CORPUS, SCHEMA, FakeNli(values), variants={"v1": VARIANT}, train_schema={"Stays_1": STAYS}, resamples=5
    )
    own, other = fingerprint(SCHEMA), fingerprint(VARIANT)
    parts = {str(score.group): score.signature.split("|") for score in result.scores if score.system == "v1/retry"}
    assert {"nli:fake-nli@1", "refs:b+4", f"schema:{other}", f"cases:{own}"} <= set(parts["all"])
    assert not any(part.startswith("train:") for part in parts["all"])
    for group in ("seen", "seen/all+absent", "seen/kind:name"):
        assert sum(part.startswith("train:") for part in parts[group]) == 1
    plain = score(result, "f1", system="original/plain").signature
    assert f"|schema:{own}|negatives:" in plain
    rule = score(result, "f1", system="v1/rule").signature
    assert f"|judge:rule|wording:v1|schema:{own}|negatives:" in rule
    assert "nli:" not in rule
    assert "refs:" not in rule
    trained = [
        judge(CORPUS, SCHEMA, FakeNli(values), train_schema={"Stays_1": STAYS, one: STAYS}, resamples=5) for one in "ab"
    ]
    assert len({score(one, "f1", "seen").identity for one in trained}) == 2
    assert len({score(one, "f1").identity for one in trained}) == 1


def test_a_schema_without_descriptions_is_told() -> None:
    bare = {
        "Stays_1": msgspec.structs.replace(
            STAYS, slots=tuple(msgspec.structs.replace(slot, description="") for slot in STAYS.slots), intents=()
        )
    }
    told = judge(CORPUS, bare, FakeNli(values), resamples=5).notes
    assert [*map(str, told)] == ["the schema has no descriptions: names stand in their place"]
    partly = judge(CORPUS, SCHEMA, FakeNli(values), variants={"v1": SCHEMA, "v2": VARIANT}, resamples=5).notes
    lacks = "the schema lacks some descriptions: names stand in their place"
    assert [*map(str, partly)] == [lacks, f"v1: {lacks}"]


SAYS = "Grand Budapest, in the north."
TRUE = ("Name of the hotel is Grand Budapest", "Part of the town is North")
FALSE = ("Name of the hotel is Fawlty Towers", "Part of the town is South", "Part of the town is East")


@pytest.mark.parametrize(
    ("accepted", "acts", "turns"),
    [
        (TRUE, 1.0, 1.0),
        (TRUE[:1], 1 / 2, 0.0),  # a true act is not accepted
        (TRUE[1:], 1 / 2, 0.0),
        ((*TRUE, *FALSE[1:]), 1 / 2, 0.0),  # a tampered one is
        ((*TRUE, *FALSE), 0.0, 0.0),
        ((), 0.0, 0.0),
    ],
)
def test_gold_passes_iff_what_is_true_is_accepted_and_nothing_else(
    accepted: tuple[str, ...], acts: float, turns: float
) -> None:
    nli = FakeNli(lambda _, hypothesis: yes() if hypothesis in accepted else no())
    corpus = [dialogue("a", ("x", SAYS, [NAME, AREA])), dialogue("b", ("x", "", [OTHER]))]
    result = judge(corpus, SCHEMA, nli, resamples=5)
    assert result.counts["original/rule"] == {"turns": 1}
    assert (score(result, "valid_acts").value, score(result, "valid_turns").value) == (acts, turns)
    assert (score(result, "valid_acts").n, score(result, "valid_turns").n) == (2, 1)


def test_a_dialogue_comes_once() -> None:
    with pytest.raises(UserError, match="dialogue a: duplicate dialogue id"):
        judge([*CORPUS, CORPUS[0]], SCHEMA, FakeNli())


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(sys.modules[wording.__module__]).failed == 0
