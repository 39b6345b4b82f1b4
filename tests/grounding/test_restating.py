"""A claim is asked about in the passage's spelling of equal numbers, amounts, dates and times."""

from __future__ import annotations

import pytest

from troth.core.records import Grounded
from troth.grounding.entailment import SentenceEntailment
from troth.grounding.restating import restate_facts
from troth.models.fake import FakeNli
from troth.models.protocols import Entailment, WordedEntailment


@pytest.mark.parametrize(
    ("claim", "passage", "restated"),
    [
        ("It costs 1000 euros.", "The fee is 1,000 euros.", "It costs 1,000 euros."),
        ("It leaves at 15:40, daily.", "The train leaves at 3:40 pm.", "It leaves at 3:40 pm, daily."),
        ("Pay within two weeks.", "It is due within 14 days.", "Pay within 14 days."),
        ("On March 5, 2024, it opened.", "It opened on 2024-03-05.", "On 2024-03-05, it opened."),
        ("It made $1,200,000.", "It made $1.2 million.", "It made $1.2 million."),
        ("It seats 1800 people.", "The hall seats 1,800.", "It seats 1,800 people."),
        ("It takes 90 minutes or 2 hours.", "It takes 1.5 hours.", "It takes 1.5 hours or 2 hours."),
        ("In 2019 it closed.", "It closed in March 2019.", None),
        ("It costs 30 euros.", "It costs 20 euros.", None),
        ("It costs 20 euros.", "It costs 20 euros.", None),
        ("It leaves at 3:40.", "It leaves at 3:40 pm.", None),
        ("", "", None),
    ],
)
def test_equal_facts(claim: str, passage: str, restated: str | None) -> None:
    known = restate_facts(claim, passage)
    assert (known and known.text) == restated


def test_doubts_are_those_of_the_words_as_they_were_written() -> None:
    known = restate_facts("Pay within two weeks at 15:40.", "Due within 14 days, until 3:40 pm.")
    assert known is not None
    assert known.text == "Pay within 14 days at 3:40 pm."
    told = WordedEntailment.of((0.5, 0.3, 0.2), bytes([1, 2, 3, 4, 5, 6, 7]))
    answer = known.answer(told)
    assert isinstance(answer, WordedEntailment)
    assert list(answer.doubts) == [1, 2, 4, 4, 5, 7]  # "two weeks" has that of "14 days", "15:40." that of "3:40 pm."
    assert tuple(answer) == tuple(told)


def test_the_model_is_asked_in_the_words_of_the_passage() -> None:
    model = FakeNli(lambda _, claim: Entailment(0.9, 0.1, 0.0) if "1,500 euros" in claim else Entailment(0.1, 0.9, 0.0))
    (value,) = SentenceEntailment(model).score([Grounded("x", "The fee is 1,500 euros.", "You pay 1500 euros.")])
    assert value == pytest.approx(0.9)
    assert [claim for _, claim in model.asked] == ["You pay 1,500 euros."]
