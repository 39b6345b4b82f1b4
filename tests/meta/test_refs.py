"""Trials take the sentences of False booleans from appendix B or from table 3, as `nlg` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, Schema, Service, SlotSchema, Turn
from troth.core.result import Result
from troth.meta.trials.rerank import rerank
from troth.meta.trials.wording import wording
from troth.models import Entailment
from troth.models.fake import FakeNli

SCHEMA: Schema = {
    "Flights_1": Service(
        name="Flights_1",
        slots=(SlotSchema("is_nonstop", "Whether it is direct", True, ("True", "False")), SlotSchema("price", "Fare")),
    )
}
ACTS = (Act("INFORM", "is_nonstop", ("False",), ("False",)), Act("INFORM", "price", ("$90",), ("$90",)))
SAID = Turn(speaker="SYSTEM", text="It costs $90 and is not nonstop.", frames=(Frame("Flights_1", acts=ACTS),))
GOLD = [Dialogue(id=f"d{n}", turns=(Turn(speaker="USER", text="a flight"), SAID)) for n in range(3)]


@pytest.mark.parametrize("trial", [wording, rerank])
def test_the_sentences_asked_and_the_signature(trial: Callable[..., Result]) -> None:
    asked: dict[str, set[str]] = {"b": set(), "table3": set()}
    for refs, sentences in asked.items():

        def judge(premise: str, hypothesis: str, seen: set[str] = sentences) -> Entailment:
            seen.add(hypothesis)
            return Entailment(0.9, 0.05, 0.05)

        options: dict[str, Any] = {"schema": SCHEMA, "nli": FakeNli(judge), "resamples": 5, "refs": refs}
        result = trial(GOLD, **options)
        assert f"|refs:{refs}+4|" in result.scores[0].signature
    assert any("Flights" in sentence for sentence in asked["table3"] - asked["b"])


def test_wrong_use() -> None:
    with pytest.raises(UserError, match="refs"):
        wording(demo.path("gold"), nli="fake", refs="table4")
