"""Selection, retry, validation and verdicts, with a model whose every answer is given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.responses.build import AREA, CORPUS, COUNT, NAME, OTHER, SCHEMA, STAYS, WIFI, dialogue, no, yes
from troth.core.errors import UserError
from troth.core.progress import within
from troth.core.records import Act, Dialogue, Frame, Service, Turn
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.responses import sgsacc, tamper
from troth.responses.sgsacc import Answer, DueAct, Question, SystemTurn

POOL = tamper.collect_values(CORPUS)
DESC, SLOT = "Name of the hotel is Grand Budapest", "place name is Grand Budapest"


def told(answers: Mapping[tuple[str, str], Entailment]) -> FakeNli:
    """What is not listed is not entailed."""
    return FakeNli(lambda premise, hypothesis: answers.get((premise, hypothesis), no()))


def chance(seed: int) -> FakeNli:
    """Any verdict whatever, the same for the same pair."""

    def rule(premise: str, hypothesis: str) -> Entailment:
        parts = hashlib.sha256(f"{seed}\n{premise}\n{hypothesis}".encode()).digest()[:3]
        return Entailment(*(part / (sum(parts) or 1) for part in parts))

    return FakeNli(rule)


def unit(*acts: Act, gold: str = "gold", previous: str = "before") -> SystemTurn:
    return SystemTurn("d", 1, tuple(DueAct(act, STAYS) for act in acts), gold, previous)


def judged(one: SystemTurn, response: str | None, nli: FakeNli, **options: str) -> tuple[sgsacc.ActVerdict, ...]:
    augment = options.get("augment", "retry")
    prepared = sgsacc.prepare([one], nli, pool=POOL, augment=augment)  # type: ignore[arg-type]
    (made,) = sgsacc.verdicts([one], prepared, [response], nli, augment=augment)  # type: ignore[arg-type]
    return made


# -- units -------------------------------------------------------------------------------------------------------------


def test_units_are_the_systems_turns_with_what_was_said_before() -> None:
    found = [one for each in CORPUS for one in sgsacc.system_turns(each, SCHEMA)]
    assert [(one.dialogue, one.turn, len(one.acts)) for one in found] == [
        ("a", 1, 2), ("a", 3, 1), ("a", 5, 1), ("b", 1, 2), ("b", 3, 1),
    ]  # fmt: skip
    assert (found[1].previous, found[1].before) == ("Is there wifi?", "USER")
    assert found[1].gold == "Yes, there is."


def test_a_system_that_speaks_first_has_nothing_before_it() -> None:
    (found,) = sgsacc.system_turns(Dialogue("d", (Turn("SYSTEM", "Hello"),)), SCHEMA)
    assert (found.previous, found.acts) == ("", ())


def test_a_system_may_go_on_speaking() -> None:
    turns = (Turn("USER", "Hi"), Turn("SYSTEM", "Hello."), Turn("SYSTEM", "What now?"))
    found = list(sgsacc.system_turns(Dialogue("d", turns), SCHEMA))
    assert [(one.previous, one.before) for one in found] == [("Hi", "USER"), ("Hello.", "SYSTEM")]


@pytest.mark.parametrize(
    ("act", "service", "expected"),
    [
        (Act("OFFER", "plaze_name", ("x",)), "Stays_1",
         "slot 'plaze_name' of act OFFER is not in the schema of Stays_1 (did you mean 'place_name'?)"),
        (Act("REQUEST", "zzz"), "Stays_1", "slot 'zzz' of act REQUEST is not in the schema of Stays_1"),
        (Act("GOODBYE"), "Stays_2", "service 'Stays_2' is not in the schema (did you mean 'Stays_1'?)"),
        (Act("OFFER", "count", ("2",)), "Stays_1", "slot 'count' of act OFFER is not in the schema"),
    ],
)  # fmt: skip
def test_what_the_schema_lacks_is_an_error(act: Act, service: str, expected: str) -> None:
    spoilt = Dialogue("d7", (Turn("SYSTEM", "x", (Frame(service, acts=(act,)),)),))
    with pytest.raises(UserError) as error:
        list(sgsacc.system_turns(spoilt, SCHEMA))
    assert str(error.value).startswith(f"dialogue d7, turn 0: {expected}")


def test_pseudo_slots_are_none_of_the_schema() -> None:
    acts = (COUNT, Act("OFFER_INTENT", "intent", ("ReserveHotel",)), Act("INFORM_INTENT", "intent", ("ReserveHotel",)))
    (found,) = sgsacc.system_turns(Dialogue("d", (Turn("SYSTEM", "x", (Frame("Stays_1", acts=acts),)),)), SCHEMA)
    assert len(found.acts) == 3


# -- asking ------------------------------------------------------------------------------------------------------------


def test_the_augmented_premise_of_figure_1() -> None:
    made = sgsacc.add_context(DueAct(NAME, STAYS), "What about Queens?", "I want to book a room.")
    assert made == "I want to book a room. Name of the hotel. What about Queens?"


@pytest.mark.parametrize(
    ("act", "previous", "expected"),
    [
        (NAME, "", "Name of the hotel. Hi."),
        (Act("GOODBYE"), " Bye. ", "Bye. Hi."),
        (Act("INFORM", "phone", ("1",)), "", "Hi."),
    ],
)
def test_what_is_lacking_is_left_out_of_the_premise(act: Act, previous: str, expected: str) -> None:
    assert sgsacc.add_context(DueAct(act, STAYS), "Hi.", previous) == expected


def test_everything_is_asked_in_two_calls_and_equal_pairs_once() -> None:
    calls: list[int] = []

    class Counting(FakeNli):
        def probabilities(self, pairs):  # type: ignore[no-untyped-def]
            calls.append(len(pairs))
            return super().probabilities(pairs)

    nli = Counting(lambda _, hypothesis: yes() if hypothesis == "h1" else no())
    questions = [
        Question(("h1", "h2"), "text", "context text"),
        Question(("h1", "h2"), "text", "context text"),
        Question(("h2", "h3"), "text", "context text"),
        Question(("h3",), "alone", "alone"),
    ]
    answers = sgsacc.ask(nli, questions)
    assert calls == [4, 2]
    assert nli.asked == [
        ("text", "h1"), ("text", "h2"), ("text", "h3"), ("alone", "h3"), ("context text", "h2"), ("context text", "h3"),
    ]  # fmt: skip
    assert [answer.entailed for answer in answers] == [True, True, False, False]
    assert answers[0].augmented == ()
    assert len(answers[2].augmented) == 2
    assert answers[3] == Answer((no(),))


def test_no_retry_when_told_so() -> None:
    nli = told({})
    (answer,) = sgsacc.ask(nli, [Question(("h",), "text", "context text")], augment="never")
    assert (answer.augmented, nli.asked) == ((), [("text", "h")])


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_text_says_nothing_and_nobody_is_asked(text: str) -> None:
    nli = FakeNli(lambda *_: yes())
    (answer,) = sgsacc.ask(nli, [Question(("h",), text, "context")])
    assert not answer.entailed
    assert nli.asked == []


@pytest.mark.parametrize(
    ("text", "about", "empty"),
    [
        ("Okay.", "", True),
        ("asdf qwer zxcv", "the hotel is Queens", True),
        ("... !", "", True),
        ("Oh, great, thanks!", "", True),
        ("Yes.", "", False),
        ("Zuzu", "the restaurant is Zuzu", False),
        ("At 5.", "", False),
        ("Der Tisch ist reserviert.", "", False),
        ("好的", "", False),
        ("Okay, it is booked.", "", False),
    ],
)
def test_talk_that_says_nothing(text: str, about: str, empty: bool) -> None:
    assert sgsacc.is_empty_talk(text, about) == empty
    nli = FakeNli(lambda *_: yes())
    (answer,) = sgsacc.ask(nli, [Question((about or "h",), text, f"context {text}", "context")])
    assert answer.entailed == (not empty)
    assert bool(nli.asked) == (not empty)


def test_what_the_context_says_by_itself_is_not_what_the_response_says() -> None:
    entailed = {("I want a room. That is fine.", "a room"), ("I want a room.", "a room"), ("Cheap? It is.", "cheap")}
    nli = FakeNli(lambda premise, hypothesis: yes() if (premise, hypothesis) in entailed else no())
    said, added = sgsacc.ask(nli, [
        Question(("a room",), "That is fine.", "I want a room. That is fine.", "I want a room."),
        Question(("cheap",), "It is.", "Cheap? It is.", "Cheap?"),
    ])  # fmt: skip
    assert not said.entailed
    assert said.augmented == (sgsacc.NOTHING,)
    assert added.entailed


# -- negatives ---------------------------------------------------------------------------------------------------------


def test_negatives_are_drawn_by_place_and_seed() -> None:
    one = unit(COUNT, AREA, WIFI, Act("REQUEST", "area"))
    made = sgsacc.make_negatives(one, POOL, seed=3)
    assert [len(twins) for twins in made] == [1, 1, 1, 0]
    assert made == sgsacc.make_negatives(one, POOL, seed=3)
    drawn = {sgsacc.make_negatives(one, POOL, seed=seed)[0][0].act.values for seed in range(20)}
    assert len(drawn) > 3
    places = {sgsacc.make_negatives(unit(*[COUNT] * 12), POOL)[place][0].act.values for place in range(12)}
    assert len(places) > 3


def test_what_the_turn_says_in_another_act_is_no_negative() -> None:
    assert sgsacc.make_negatives(unit(NAME), POOL)[0][0].act.values == OTHER.values
    assert sgsacc.make_negatives(unit(NAME, OTHER), POOL) == [(), ()]
    elsewhere = SystemTurn("d", 1, (DueAct(NAME, STAYS), DueAct(OTHER, Service("Stays_2"))), "gold", "")
    assert (
        sgsacc.make_negatives(elsewhere, POOL)[0][0].act.values == OTHER.values
    )  # another service's slot is another slot


def test_several_negatives_differ() -> None:
    count, area, wifi = sgsacc.make_negatives(unit(COUNT, AREA, WIFI), POOL, count=5)
    assert len({twin.act.values for twin in count}) == 5
    assert {twin.act.values for twin in area} == {("South",), ("East",)}
    assert [twin.act.values for twin in wifi] == [("False",)]


# -- selection and verdicts --------------------------------------------------------------------------------------------

IN_CONTEXT = "before Name of the hotel. {}"
SELECTION = {
    "the highest by gold": ({("gold", DESC): yes(), ("gold", SLOT): Entailment(0.95, 0.05, 0.0)}, SLOT, None),
    "the earlier of equals": ({("gold", DESC): yes(), ("gold", SLOT): yes()}, DESC, None),
    "an entailed one before a likelier one": (
        {("gold", DESC): Entailment(0.4, 0.35, 0.25), ("gold", SLOT): Entailment(0.45, 0.5, 0.05)}, DESC, None,
    ),
    "by context where gold alone entails none": (
        {("gold", DESC): no(0.3), (IN_CONTEXT.format("gold"), SLOT): yes()}, SLOT, None,
    ),
    "by gold alone where neither entails": ({("gold", SLOT): no(0.3)}, SLOT, sgsacc.NOT_ENTAILED),
    "excluded by a negative": (
        {("gold", DESC): yes(), ("gold", "Name of the hotel is Fawlty Towers"): yes()}, DESC, sgsacc.NEGATIVE,
    ),
    "excluded by a negative in context": (
        {("gold", DESC): yes(), (IN_CONTEXT.format("gold"), "place name is Fawlty Towers"): yes()}, DESC,
        sgsacc.NEGATIVE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SELECTION)
def test_selection_and_validation(case: str) -> None:
    answers, reference, excluded = SELECTION[case]
    ((made,),) = sgsacc.prepare([unit(NAME)], told(answers), pool=POOL)
    assert made.hypotheses == (reference,)
    assert made.excluded == excluded


def test_the_selection_without_context_is_kept_apart() -> None:
    answers = {("gold", DESC): no(0.3), (IN_CONTEXT.format("gold"), SLOT): yes(), ("said", DESC): yes()}
    (made,) = judged(unit(NAME), "said", told(answers))
    assert made.reference == SLOT
    assert (made.entailed, made.entailed_plain) == (False, True)
    (never,) = judged(unit(NAME), "said", told(answers), augment="never")
    assert (never.reference, never.entailed, never.entailed_plain) == (DESC, True, True)


def test_a_negative_is_asked_only_for_validation() -> None:
    nli = told({("gold", DESC): yes()})
    sgsacc.prepare([unit(NAME)], nli, pool=POOL, validate=False)
    assert nli.asked == [("gold", DESC), ("gold", SLOT)]


def test_without_validation_nothing_is_excluded() -> None:
    """Half of the reasons would be worse than none: gold was not asked for the twins."""
    acts = unit(NAME, Act("AFFIRM"))
    ((name, affirm),) = sgsacc.prepare([acts], told({}), pool=POOL, validate=False)
    assert (name.excluded, affirm.excluded) == (None, None)
    ((name, affirm),) = sgsacc.prepare([acts], told({}), pool=POOL)
    assert (name.excluded, affirm.excluded) == (sgsacc.NOT_ENTAILED, sgsacc.NO_RULE)


def test_no_twins_are_drawn_where_gold_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def counting(one: SystemTurn, *_: object, **__: object) -> list[tuple[DueAct, ...]]:
        drawn.append(one.gold)
        return [() for _ in one.acts]

    monkeypatch.setattr(sgsacc, "make_negatives", counting)
    sgsacc.prepare([unit(NAME), unit(NAME, gold=" ")], told({}), pool=POOL)
    assert drawn == ["gold"]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((yes(), yes()), "one"),  # of equals the earlier
        ((no(), no()), "one"),
        ((no(), yes()), "two"),
        ((Entailment(0.45, 0.5, 0.05), Entailment(0.4, 0.35, 0.25)), "two"),  # an entailed one before a likelier one
        ((no(0.2), no(0.3)), "two"),
    ],
)
def test_best(verdicts: tuple[Entailment, Entailment], expected: str) -> None:
    assert sgsacc.best_hypothesis(("one", "two"), verdicts) == expected


def test_a_verdict_with_its_reasons() -> None:
    answers = {("gold", DESC): yes(), (IN_CONTEXT.format("said Grand Budapest"), DESC): yes()}
    (made,) = judged(unit(NAME), "said Grand Budapest", told(answers))
    assert made.entailed
    assert made.augmented is not None
    assert not made.entailed_plain
    assert made.present
    assert (made.plain, made.augmented) == (no(), yes())


def test_the_gate_looks_for_the_values() -> None:
    (made,) = judged(unit(NAME), "said", told({("gold", DESC): yes(), ("said", DESC): yes()}))
    assert (made.entailed, made.present) == (True, False)


@pytest.mark.parametrize("response", ["", " ", None])
def test_no_response_is_true_to_nothing(response: str | None) -> None:
    made = judged(unit(NAME, WIFI), response, FakeNli(lambda *_: yes()))
    assert [(one.entailed, one.present) for one in made] == [(False, False)] * 2


def test_an_act_without_a_rule_has_no_verdict() -> None:
    made = judged(unit(Act("AFFIRM"), NAME), "said", FakeNli(lambda *_: yes()))
    assert [(one.reference is None, one.excluded) for one in made] == [(True, sgsacc.NO_RULE), (False, sgsacc.NEGATIVE)]
    assert (made[0].plain, made[0].augmented) == (None, None)


def test_without_gold_any_candidate_will_do() -> None:
    nli = told({("said", SLOT): yes()})
    (made,) = judged(unit(NAME, gold=" "), "said", nli)
    assert (made.entailed, made.reference, made.excluded) == (True, SLOT, sgsacc.NO_GOLD)
    assert {premise for premise, _ in nli.asked} == {"said"}
    ((prepared,),) = sgsacc.prepare([unit(NAME, gold="")], nli, pool=POOL)
    assert prepared.hypotheses == (DESC, SLOT)


# -- laws --------------------------------------------------------------------------------------------------------------

ACTS = st.lists(st.sampled_from([NAME, OTHER, AREA, COUNT, WIFI, Act("GOODBYE"), Act("REQUEST", "area")]), max_size=4)


@given(ACTS, st.integers(0, 10_000), st.sampled_from(["retry", "never"]))
def test_gold_is_faithful_wherever_validation_passes(acts: list[Act], seed: int, augment: str) -> None:
    one = unit(*acts, gold="what gold says")
    for verdict in judged(one, one.gold, chance(seed), augment=augment):
        assert verdict.excluded is not None or verdict.entailed


@given(ACTS, st.integers(0, 10_000))
def test_the_retry_only_adds(acts: list[Act], seed: int) -> None:
    one = unit(*acts)
    for verdict in judged(one, "a response", chance(seed)):
        if verdict.entailed:
            assert (verdict.augmented is not None) == (verdict.plain is not None and not verdict.plain.entailed)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    units = [one for each in CORPUS for one in sgsacc.system_turns(each, SCHEMA)]
    texts = [one.gold if one.turn != 3 else None for one in units]

    def run() -> list[tuple[sgsacc.ActVerdict, ...]]:
        nli = chance(1)
        return sgsacc.verdicts(units, sgsacc.prepare(units, nli, pool=POOL), texts, nli)

    whole = run()
    monkeypatch.setattr(sgsacc, "CHUNK", 2)
    assert run() == whole


def test_progress_comes_to_its_end() -> None:
    units = [one for each in [*CORPUS, dialogue("c", ("x", "y", [NAME]))] for one in sgsacc.system_turns(each, SCHEMA)]
    steps: list[tuple[str, int, int]] = []
    with within(lambda *step: steps.append(step)):
        prepared = sgsacc.prepare(units, FakeNli(), pool=POOL)
        sgsacc.verdicts(units, prepared, [one.gold for one in units], FakeNli())
    assert steps == [("references", 6, 6), ("responses", 6, 6)]
