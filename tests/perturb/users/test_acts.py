"""Paraphrases from acts: what is said anew, what is left to the rules, and that the annotation still holds."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from troth import demo, readers
from troth.core.records import Act, Dialogue, Frame, Span, State, Turn
from troth.perturb.users import Family, Inventory, Twin, acts, apply, guard
from troth.perturb.users.engines import Rewrite
from troth.perturb.users.paraphrase import Paraphrase
from troth.perturb.users.rules import RuleParaphraser

NOTHING = Inventory({}, frozenset(), frozenset())
TEXT = "I'd like to see a movie in Fresno on Friday."
FIND = Act("INFORM_INTENT", "intent", ("FindMovies",), ("FindMovies",))
CITY = Act("INFORM", "city", ("Fresno",), ("Fresno",))
DATE = Act("INFORM", "show_date", ("Friday",), ("2019-03-01",))
FRAME = Frame(
    "Movies_1", State("FindMovies", (), {}), (Span("city", 27, 33), Span("show_date", 37, 43)), (FIND, CITY, DATE)
)
TURN = Turn("USER", TEXT, (FRAME,))


def said(turn: Turn, seed: int = 0) -> str | None:
    return acts.say(turn, Random(seed))


def turn_of(text: str, *made: Act) -> Turn:
    return Turn("USER", text, (Frame("S", None, (), made),))


def perturbed(family: Family, dialogue: Dialogue, seed: int = 0) -> Twin:
    return apply(family, dialogue, NOTHING, seed=seed)


def test_all_acts_are_said_and_spans_follow() -> None:
    after = perturbed(Paraphrase(engine="acts"), Dialogue("1", (TURN,))).dialogue.turns[0]
    assert not {"like", "movie", "see"} & set(guard.tokens(after.text))
    assert {"movies", "city", "fresno", "show", "date", "friday"} <= set(guard.tokens(after.text))
    spans = {span.slot: after.text[span.start : span.exclusive_end] for span in after.frames[0].spans or ()}
    assert spans == {"city": "Fresno", "show_date": "Friday"}
    assert after.frames[0].acts == TURN.frames[0].acts


def test_equal_seeds_give_equal_wordings_and_others_differ() -> None:
    engine = acts.ActParaphraser()
    wordings = [engine.rewrite([Rewrite(TEXT, tuple(guard.find_protected(TURN)), seed, TURN)])[0] for seed in (1, 1, 2)]
    assert wordings[0] == wordings[1] != wordings[2]


@pytest.mark.parametrize(
    "turn",
    [
        turn_of("Is it nice there?", Act("REQUEST", "rating", (), ())),  # "there" stands for a place
        turn_of("Find me a hotel in that area.", Act("INFORM_INTENT", "intent", ("SearchHotel",), ("SearchHotel",))),
        turn_of("No smoking.", Act("INFORM", "smoking", ("False",), ("False",))),
        turn_of("Hello!", Act("GREET", "", (), ())),
        turn_of("Can I check two bags?", Act("REQUEST", "bags", ("2",), ("2",))),
        turn_of("Hello!"),
    ],
)
def test_what_is_left_to_the_rules(turn: Turn) -> None:
    assert said(turn) is None
    request = Rewrite(turn.text, (), 3, turn)
    assert acts.ActParaphraser().rewrite([request]) == RuleParaphraser().rewrite([request])


@pytest.mark.parametrize(
    ("act", "text", "words"),
    [
        (Act("INFORM", "has_wifi", ("True",), ("True",)), "With wifi.", "wifi"),
        (Act("INFORM", "is_nonstop", ("True",), ("True",)), "Nonstop.", "nonstop"),
        (Act("INFORM", "price_range", ("dontcare",), ("dontcare",)), "I don't care.", "price range"),
        (Act("INFORM", "seats", ("2",), ("2",)), "For two.", "two"),
        (Act("INFORM", "price_range", ("cheap",), ("cheap",)), "Not dear.", "cheap"),
        (Act("REQUEST", "has_live_music", (), ()), "Is music played?", "live music"),
        (Act("SELECT", "movie_name", ("Big",), ("Big",)), "Big, please.", "big"),
    ],
)
def test_what_an_act_says(act: Act, text: str, words: str) -> None:
    for seed in range(20):
        assert words in (said(turn_of(text, act), seed) or "").lower()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FindRestaurants", "find restaurants"),
        ("ReserveHotel", "reserve a hotel"),
        ("add_alarm", "add an alarm"),
        ("TransferMoney", "transfer money"),
        ("FindHomeByArea", "find a home by area"),
        ("FindBus", "find a bus"),
        ("Play", "play"),
    ],
)
def test_intents_are_said(name: str, words: str) -> None:
    turn = turn_of("Well.", Act("INFORM_INTENT", "intent", (name,), (name,)))
    assert all(words in (said(turn, seed) or "").lower() for seed in range(20))


def test_braces_in_a_value_are_text() -> None:
    turn = turn_of("Take {slot} {0}", Act("INFORM", "title", ("{slot} {0}",), ("{slot} {0}",)))
    assert all("{slot} {0}" in (said(turn, seed) or "") for seed in range(20))


def test_more_words_are_replaced_than_by_rules_and_the_annotation_holds() -> None:
    dialogues = list(readers.gold(demo.path("gold"), "sgd"))
    shares = {}
    for name in ("acts", "rules"):
        figures: Counter[str] = Counter()
        for dialogue in dialogues:
            twin = perturbed(Paraphrase(engine=name), dialogue)
            figures.update(twin.figures)
            for old, new in zip(dialogue.turns, twin.dialogue.turns, strict=True):
                texts = [[turn.text[s.start : s.exclusive_end] for s in guard.spans(turn)] for turn in (old, new)]
                assert texts[0] == texts[1]
        shares[name] = figures["words replaced"] / figures["words"]
    assert shares["acts"] > shares["rules"] + 0.1
