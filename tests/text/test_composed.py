"""Texts in Unicode's composed and decomposed form are the same text for metrics of troth's own."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import troth
from troth.agents.live.replay import call_key
from troth.core.records import Grounded
from troth.core.trajectories import Call
from troth.grounding.doubts import doubted_words
from troth.text.normalize import compose

DOCUMENT = "The Café Müller in Zürich has 5 rooms. It belongs to Renée Ångström, who opened it in May 2019."
RESPONSE = "Renée Ångström opened the Café Müller in Zürich in May 2019."


def decompose(value: Any) -> Any:
    return json.loads(unicodedata.normalize("NFD", json.dumps(value, ensure_ascii=False)))


def test_compose() -> None:
    text = decompose("Zürich")
    assert (len(text), compose(text)) == (7, "Zürich")
    assert compose({"a": [text, (text,), 1, None]}) == {"a": ["Zürich", ("Zürich",), 1, None]}


@pytest.mark.parametrize("metric", ["facts", "faith", "nli"])
@pytest.mark.parametrize(("document", "response"), [(DOCUMENT, decompose(RESPONSE)), (decompose(DOCUMENT), RESPONSE)])
def test_grounding(metric: str, document: str, response: str) -> None:
    whole = troth.ground(responses=[Grounded("1", DOCUMENT, RESPONSE)], metrics=metric, resamples=10)[metric].value
    other = troth.ground(responses=[Grounded("1", document, response)], metrics=metric, resamples=10)[metric].value
    assert whole == other
    assert [word.text for word in doubted_words(document, response) if word.unsupported] == []


def test_scripts_that_are_reproduced_compare_texts_as_they_are() -> None:
    pytest.importorskip("rouge_score")
    items = [Grounded("1", DOCUMENT, decompose(RESPONSE))]
    other = [Grounded("1", DOCUMENT, RESPONSE)]
    values = [troth.ground(responses=some, metrics="rouge_l", resamples=10)["rouge_l"].value for some in (items, other)]
    assert values[0] != values[1]


def transcript(city: str, said: str) -> dict[str, Any]:
    call = {"id": "c", "function": {"name": "book_room", "arguments": json.dumps({"city": city, "list": ["é", city]})}}
    return {
        "id": "t",
        "messages": [
            {"role": "user", "content": f"Book a room in {said}."},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            {"role": "assistant", "content": f"I booked a room in {said}."},
        ],
    }


@pytest.mark.parametrize("rule", ["exact", "exact+lists:any", "tau"])
def test_calls_and_their_sources(tmp_path: Path, rule: str) -> None:
    gold = {"expected": [{"name": "book_room", "arguments": {"city": "Zürich", "list": ["é", "Zürich"]}}]}
    other = transcript(decompose("Zürich"), "Zürich") | gold
    other["messages"][1] = decompose(other["messages"][1])
    results = []
    for row in (transcript("Zürich", "Zürich") | gold, other):
        (tmp_path / "t.jsonl").write_text(json.dumps(row))
        results.append(troth.agent(tmp_path / "t.jsonl", rule=rule, resamples=10))
    values = [{score.metric: score.value for score in result.scores} for result in results]
    differing = {name for name, value in values[0].items() if values[1][name] != value}
    if rule == "tau":
        assert "calls_right" in differing, "τ-bench compares texts as they are"
        assert not {"unsourced_arguments", "false_claims"} & differing
    else:
        assert not differing
        assert values[1]["calls_right"] == 1.0


def test_recorded_results() -> None:
    assert call_key(Call("f", {"a": decompose("Zürich")})) == call_key(Call("f", {"a": "Zürich"}))
