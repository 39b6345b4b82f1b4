"""Tables of (gold, prediction, profile, expected) for every rule of the profiles."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from tests.tracking.build import SCHEMA, States, Values, dialogue, frames, mean, values
from troth.core.errors import PredictionError, UserError
from troth.core.records import Dialogue, Frame, Span, State, Turn
from troth.tracking.annotations import f1
from troth.tracking.metrics import recovery_rate
from troth.tracking.profiles import PROFILES
from troth.tracking.scorer import Scorer

SGD, EXACT, NEMO, TRADE, MWZEVAL, CHECKDST = (
    PROFILES[name] for name in ("sgd", "sgd-exact", "nemo", "trade", "mwzeval", "checkdst")
)


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        # gold, predicted state of Stays_1 -> JGA, categorical, non-categorical, AGA, SA (4 slots) under sgd
        ({}, {}, (1, 1, 1, None, 1)),
        ({"area": "North"}, {"area": "North"}, (1, 1, 1, 1, 1)),
        ({"area": "North"}, {}, (0, 0, 1, 0, 3 / 4)),
        ({}, {"area": "North"}, (0, 0, 1, None, 3 / 4)),
        ({"area": "North"}, {"area": "South"}, (0, 0, 1, 0, 3 / 4)),
        ({"area": "North"}, {"area": "north"}, (1, 1, 1, 1, 1)),
        ({"area": ("North", "South")}, {"area": "South"}, (0, 0, 1, 0, 3 / 4)),  # categorical: the first value only
        ({"name": ("Alder", "the Alder")}, {"name": "the Alder"}, (1, 1, 1, 1, 1)),  # else any of them
        ({"name": "Alder Court"}, {"name": "Alder Cort"}, (0.95, 1, 0.95, 0.95, 3.95 / 4)),
        ({"name": "Alder"}, {"name": ("Birch", "Alder")}, (0.2, 1, 0.2, 0.2, 3.2 / 4)),  # only the first prediction
        ({"name": "ab", "nights": "cd"}, {"name": "ac", "nights": "ce"}, (0.25, 1, 0.25, 0.5, 3 / 4)),
        ({"name": "Alder", "area": "North"}, {"name": "Alder", "stars": "1"}, (0, 0, 1, 0.5, 2 / 4)),
    ],
)
def test_sgd_frame(gold: Values, pred: Values, expected: tuple[float | None, ...]) -> None:
    units = frames([dialogue([{"Stays_1": gold}])], [dialogue([{"Stays_1": pred}])], SGD)
    found = [values(units, metric)[0] for metric in ("jga", "jga_cat", "jga_noncat", "aga", "sa")]
    assert found == [None if value is None else pytest.approx(value) for value in expected]


@pytest.mark.parametrize(
    ("gold", "pred", "by_profile"),
    [
        # gold, predicted state of Stays_1 -> JGA under sgd, sgd-exact, nemo, trade, mwzeval, checkdst
        ({"area": "North"}, {"area": "north"}, (1, 1, 0, 0, 0, 0)),
        ({"name": "Alder"}, {"name": "alder"}, (1, 0, 0.8, 0, 1, 0)),  # mwzeval lower-cases names
        ({"name": "Alder Court"}, {"name": "Alder"}, (0.62, 0, 0.625, 0, 1, 0)),
        ({"name": ("Alder", "Elder")}, {"name": "Elder"}, (1, 1, 1, 0, 0, 0)),
        ({"name": ("Alder", "Elder")}, {"name": ("Elder", "Alder")}, (1, 1, 1, 0, 0, 1)),
        ({"name": "none"}, {}, (0, 0, 0, 1, 1, 1)),
        ({"area": "centre"}, {"area": "center"}, (0, 0, 0, 0, 0, 1)),
        ({"stars": "3-star"}, {"stars": "3"}, (0, 0, 0, 0, 1, 1)),  # a substring matches in mwzeval
        ({"area": "dontcare"}, {}, (0, 0, 0, 0, 1, 1)),  # mwzeval leaves it out of gold, not of predictions
        ({}, {"area": "dontcare"}, (0, 0, 0, 0, 0, 1)),
    ],
)
def test_profiles_differ_as_their_scripts_do(gold: Values, pred: Values, by_profile: tuple[float, ...]) -> None:
    pair = [dialogue([{"Stays_1": gold}])], [dialogue([{"Stays_1": pred}])]
    found = [values(frames(*pair, profile), "jga")[0] for profile in (SGD, EXACT, NEMO, TRADE, MWZEVAL, CHECKDST)]
    assert found == [pytest.approx(value) for value in by_profile]


def test_difflib_and_indel_differ_and_are_both_to_be_had() -> None:
    pair = [dialogue([{"Stays_1": {"name": "tide"}}])], [dialogue([{"Stays_1": {"name": "diet"}}])]
    indel, other = (values(frames(*pair, SGD.with_rules(match=m)), "jga")[0] for m in ("fuzzy-indel", "fuzzy-difflib"))
    assert (indel, other) == (0.5, 0.25)  # difflib's docs have this pair: the order of the two decides


def test_turn_unit_multiplies_the_joint_accuracies_and_nothing_else() -> None:
    gold = [{"Stays_1": {"name": "Alder"}, "Sights_1": {"fee": "free"}}]
    pred = [{"Stays_1": {"name": "Alder"}, "Sights_1": {"fee": "9"}}]
    by_frame = frames([dialogue(gold)], [dialogue(pred)], SGD)
    by_turn = frames([dialogue(gold)], [dialogue(pred)], SGD.with_rules(unit="turn"))
    assert values(by_frame, "jga") == [1, 0]
    assert values(by_turn, "jga") == [0]
    assert values(by_turn, "aga") == values(by_frame, "aga") == [1, 0]
    assert values(by_frame, "jga_cat") == [1, None]  # a service without categorical slots takes no part
    assert values(by_turn, "jga_cat") == [1]


def test_frames_outside_gold_are_ignored_by_sgd_and_wrong_for_trade() -> None:
    gold, pred = [{"Stays_1": {"name": "Alder"}}], [{"Stays_1": {"name": "Alder"}, "Sights_1": {"fee": "free"}}]
    assert values(frames([dialogue(gold)], [dialogue(pred)], SGD), "jga") == [1]
    assert mean(frames([dialogue(gold)], [dialogue(pred)], TRADE), "jga") == 0


@pytest.mark.parametrize(
    ("gold", "pred", "union", "slots"),
    [
        # states of a turn by service -> FGA paper, section 2.3: shared triplets over all triplets; the same over slots
        ({}, {}, None, None),
        ({}, {"Sights_1": {"fee": "9"}}, None, None),  # gold has nothing: the turn is left out
        ({"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "North"}}, 1, 1),
        ({"Stays_1": {"area": "North"}}, {}, 0, 0),
        ({"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "South"}}, 0, 0),
        ({"Stays_1": {"area": "North"}}, {"Stays_1": {"area": "North"}, "Sights_1": {"fee": "9"}}, 1 / 2, 1 / 2),
        ({"Stays_1": {"area": "North", "name": "Al"}}, {"Stays_1": {"area": "North", "name": "Elder"}}, 1 / 3, 1 / 2),
        ({"Stays_1": {"area": "North", "name": "Alder"}}, {"Stays_1": {"area": "North", "stars": "2"}}, 1 / 3, 1 / 3),
    ],
)  # fmt: skip
def test_aga_over_the_union(gold: Mapping[str, Values], pred: Mapping[str, Values], union: float, slots: float) -> None:
    units = frames([dialogue([gold])], [dialogue([pred])], TRADE)
    assert [mean(units, name) for name in ("aga_union", "aga_slots")] == [
        None if value is None else pytest.approx(value) for value in (union, slots)
    ]


def test_aga_over_the_union_of_a_missing_prediction_is_zero() -> None:
    units = frames([dialogue([{"Stays_1": {"area": "North"}}])], [None], TRADE)
    assert (values(units, "aga_union"), values(units, "aga_slots")) == ([0], [0])


def test_an_empty_turn_counts_as_right_where_turns_are_units() -> None:
    units = frames([dialogue([{}, {"Stays_1": {"area": "North"}}])], [dialogue([{}, {}])], TRADE)
    assert values(units, "jga") == [1, 0]
    assert values(units, "sa") == [1, pytest.approx(29 / 30)]
    assert values(units, "aga") == [None, 0]


@pytest.mark.parametrize("profile", [SGD, TRADE], ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    ("pred", "missing"), [(None, 2), ([None, {"Stays_1": {"name": "Alder"}}], 1), ([{"Stays_1": {}}, None], 1)]
)
def test_missing_predictions_score_zero_or_are_skipped(profile: object, pred: States | None, missing: int) -> None:
    assert isinstance(profile, type(SGD))
    gold: States = [{"Stays_1": {}}, {"Stays_1": {"name": "Alder"}}]
    guess = None if pred is None else dialogue(pred)
    zero = frames([dialogue(gold)], [guess], profile)
    metrics = ("jga", "sa", "fga@1", "turn_match", "intent_accuracy", "requested_f1")
    for metric in metrics:
        assert len(values(zero, metric)) == 2
    assert sum(value == 0 for value in values(zero, "jga")) == missing
    assert sum(value == 0 for value in values(zero, "sa")) == missing
    assert sum(value == 0 for value in values(zero, "fga@1")) == missing
    skipped = frames([dialogue(gold)], [guess], profile.with_rules(missing="skip"))
    assert values(skipped, "jga") == [1.0] * (2 - missing)


def test_missing_predictions_are_counted() -> None:
    scorer = Scorer(SGD, SCHEMA)
    scorer.add(dialogue([{"Stays_1": {}}, {"Stays_1": {}, "Sights_1": {}}]), dialogue([None, {"Stays_1": {}}]))
    scorer.add(dialogue([{"Stays_1": {}}], "other"), None)
    counts = scorer.counts()
    assert (counts.dialogues, counts.missing_dialogues, counts.missing_turns, counts.missing_frames) == (2, 1, 1, 1)


# -- FGA ---------------------------------------------------------------------------------------------------------------

HOTEL = {"day": "wednesday", "people": "4", "stay": "2", "name": "cityroomz"}
FULL = {**HOTEL, "area": "centre", "stars": "0"}
FIGURE_1: list[tuple[States, States]] = [
    (
        [
            {},
            {"hotel": {"name": "cityroomz"}},
            {"hotel": FULL},
            {"hotel": FULL, "attraction": {"area": "centre"}},
            {"hotel": FULL, "attraction": {"area": "centre"}},
            {"hotel": FULL, "attraction": {"area": "centre"}},
        ],
        [
            {},
            {"hotel": {"name": "cityroomz"}},
            {"hotel": HOTEL},
            {"hotel": HOTEL, "attraction": {"area": "centre"}},
            {"hotel": HOTEL, "attraction": {"area": "centre", "name": "all saints church"}},
            {"hotel": HOTEL, "attraction": {"area": "centre", "name": "all saints church"}},
        ],
    )
]


def test_figure_1_of_the_fga_paper() -> None:
    gold, pred = FIGURE_1[0]
    units = frames([dialogue(gold)], [dialogue(pred)], TRADE, schema=None)
    expected = {"jga": 33.33, "sa": 94.44, "aga": 76.19, "fga@0.5": 46.45}
    assert {metric: round(100 * (mean(units, metric) or 0), 2) for metric in expected} == expected
    assert values(units, "fga@0.5") == pytest.approx([1, 1, 0, 1 - math.exp(-0.5), 0, 1 - math.exp(-0.5)])
    assert values(units, "turn_match") == [1, 1, 0, 1, 0, 1]


def test_recovery_rate_of_the_paper() -> None:
    assert recovery_rate(6, 0.95) == pytest.approx(0.499, abs=5e-4)
    for turns, share in ((0, 0.5), (6, 1.0), (6, -0.1)):
        with pytest.raises(UserError):
            recovery_rate(turns, share)


@pytest.mark.parametrize(
    ("gold", "pred", "code", "paper"),
    [
        # The prediction drops a slot that it had: nothing new is wrong, but the turn before was right.
        ([{"a": "1"}, {"a": "1"}], [{"a": "1"}, {}], [1, 0], [1, 1]),
        # A correction of an old mistake is credited.
        ([{"a": "1"}, {"a": "1"}], [{"a": "2"}, {"a": "1"}], [0, 1], [0, 1]),
        # One mistake mended, another kept: right as far as this turn goes.
        ([{"a": "1", "b": "1"}] * 2, [{"a": "2", "b": "2"}, {"a": "1", "b": "2"}], [0, 0.632], [0, 0.632]),
        # Two turns after the mistake; and a second mistake starts the count anew.
        ([{"a": "1"}] * 3, [{"a": "2"}] * 3, [0, 0.632, 0.865], [0, 0.632, 0.865]),
        ([{"a": "1"}] * 3, [{"a": "2"}, {"a": "3"}, {"a": "3"}], [0, 0, 0.632], [0, 0, 0.632]),
        # Wrong, right, wrong again without anything new: the paper still counts from the first mistake.
        ([{"a": "1"}] * 3, [{"a": "2"}, {"a": "1"}, {}], [0, 1, 0], [0, 1, 0.865]),
    ],
)
def test_fga_by_code_and_by_paper(
    gold: list[Values], pred: list[Values], code: list[float], paper: list[float]
) -> None:
    pair = [dialogue([{"hotel": v} for v in gold])], [dialogue([{"hotel": v} for v in pred])]
    for rule, expected in (("code", code), ("paper", paper)):
        units = frames(*pair, TRADE.with_rules(fga=rule), schema=None)
        assert values(units, "fga@1") == pytest.approx(expected, abs=5e-4), rule


def test_a_frame_looks_back_at_its_own_service() -> None:
    gold = [{"Stays_1": {"name": "Alder"}}, {"Sights_1": {"fee": "9"}}, {"Stays_1": {"name": "Alder", "nights": "2"}}]
    pred = [{"Stays_1": {"name": "Birch"}}, {"Sights_1": {"fee": "9"}}, {"Stays_1": {"name": "Birch", "nights": "2"}}]
    units = frames([dialogue(gold)], [dialogue(pred)], EXACT)
    assert values(units, "fga@1") == pytest.approx([0, 1, 1 - math.exp(-2)])  # two turns later, not one


def test_a_second_fresh_mistake_is_seen_in_frames_as_in_turns() -> None:
    gold = [{"Stays_1": {"name": "Alder"}}, {"Stays_1": {"name": "Alder", "nights": "2"}}]
    pred = [{"Stays_1": {"name": "Birch"}}, {"Stays_1": {"name": "Birch", "nights": "3"}}]
    for profile in (EXACT, EXACT.with_rules(unit="turn"), SGD, NEMO, TRADE):
        units = frames([dialogue(gold)], [dialogue(pred)], profile)
        assert [value == values(units, "jga")[i] for i, value in enumerate(values(units, "turn_match"))] == [True, True]


def test_frames_agree_with_turns_where_there_is_one_service() -> None:
    """The same dialogue by the SGD recipe and by TRADE's: with one service in every turn they are one."""
    gold = [{"name": "a"}, {"name": "a", "nights": "1"}, {"name": "a", "nights": "1"}, {"name": "b", "nights": "1"}]
    pred = [{"name": "x"}, {"name": "x", "nights": "2"}, {"name": "x", "nights": "2"}, {"name": "b", "nights": "2"}]
    pair = [dialogue([{"Stays_1": v} for v in gold])], [dialogue([{"Stays_1": v} for v in pred])]
    by_frame, by_turn = (frames(*pair, profile) for profile in (EXACT, TRADE))
    for metric in ("jga", "fga@0.5", "turn_match"):
        assert values(by_frame, metric) == values(by_turn, metric), metric
    assert values(by_frame, "turn_match") == [0, 0, 1, 1]


def test_another_wording_of_the_same_gold_value_is_no_new_information() -> None:
    gold: States = [{"Stays_1": {"name": "Alder"}}, {"Stays_1": {"name": ("the Alder", "Alder")}}]
    pred = [{"Stays_1": {"name": "Birch"}}] * 2
    units = frames([dialogue(gold)], [dialogue(pred)], EXACT)
    assert values(units, "turn_match") == [0, 1]


# -- the rest of the DSTC8 set -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ((), (), (1, 1, 1)),
        (("a",), ("a",), (1, 1, 1)),
        (("a",), (), (0, 1, 0)),
        ((), ("a",), (0, 0, 1)),
        (("a",), ("b",), (0, 0, 0)),
        (("a", "b"), ("b", "c", "c"), (0.4, 1 / 3, 1 / 2)),
        (("a", "a"), ("a",), (2 / 3, 1, 1 / 2)),
    ],
)
def test_f1(gold: tuple[str, ...], pred: tuple[str, ...], expected: tuple[float, ...]) -> None:
    assert f1(gold, pred) == pytest.approx(expected)


def one_turn(text: str, frame: Frame) -> Dialogue:
    return Dialogue("d", (Turn("USER", text, (frame,)),))


def test_tagging_compares_the_words_of_non_categorical_slots() -> None:
    text = "Alder in the north, Alder"
    gold = one_turn(text, Frame("Stays_1", State("Find", ()), (Span("name", 0, 5), Span("area", 13, 18))))
    pred = one_turn(text, Frame("Stays_1", State("Find", ()), (Span("name", 20, 25),)))
    assert values(frames([gold], [pred], SGD), "tagging_f1") == [1]  # the same words elsewhere, area left out


def test_what_no_prediction_carries_is_not_scored() -> None:
    gold = one_turn("Alder", Frame("Stays_1", State("Find", ("fee",)), (Span("name", 0, 5),)))
    pred = one_turn("Alder", Frame("Stays_1", State()))
    units = frames([gold], [pred], SGD)
    for metric in ("intent_accuracy", "requested_f1", "tagging_f1"):
        assert values(units, metric) == [None]


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_unknown_names_are_refused_with_the_near_one() -> None:
    bad = dialogue([{"Stays_1": {"nmae": "Alder"}}])
    good = dialogue([{"Stays_1": {"name": "Alder"}}])
    with pytest.raises(PredictionError, match=r"dialogue d, turn 0: slot 'nmae' is not in .*did you mean 'name'"):
        Scorer(SGD, SCHEMA).add(good, bad)
    with pytest.raises(UserError, match=r"slot 'nmae' is not in the schema of Stays_1"):
        Scorer(SGD, SCHEMA, strict=False).add(bad, bad)
    with pytest.raises(UserError, match=r"service 'Stay_1' is not in the schema \(did you mean 'Stays_1'"):
        Scorer(SGD, SCHEMA).add(dialogue([{"Stay_1": {}}]), None)
    with pytest.raises(PredictionError, match=r"service 'Stay_1'"):
        Scorer(SGD, SCHEMA).add(good, dialogue([{"Stays_1": {"name": "Alder"}, "Stay_1": {}}]))
    lenient = Scorer(SGD, SCHEMA, strict=False)
    lenient.add(good, dialogue([{"Stays_1": {"name": "Alder", "nmae": "x"}, "Stay_1": {}}]))
    assert lenient.frames().column("joint")[0] == 1.0
    assert (lenient.counts().ignored_slots, lenient.counts().ignored_frames) == (1, 1)


def test_turns_that_gold_lacks_are_refused() -> None:
    with pytest.raises(PredictionError, match=r"dialogue d, turn 1: gold has no such turn"):
        Scorer(SGD, SCHEMA).add(dialogue([{"Stays_1": {}}]), dialogue([{"Stays_1": {}}] * 2))


def test_sgd_needs_a_schema() -> None:
    with pytest.raises(UserError, match="give the schema"):
        Scorer(SGD, None)
