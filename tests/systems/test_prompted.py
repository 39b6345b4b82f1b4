"""Language models asked for the state: the prefix is read once, answers are mended, servers are asked for JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.core.records import Intent, Service, SlotSchema
from troth.models.endpoint import EndpointLm
from troth.systems.data import TrackerCorpus
from troth.systems.prompted import PromptedModel, SharedPrefixLm, answer_schema, prefix, repair_json, states_of, tools
from troth.systems.track import track
from troth.systems.train import train_tracker

HOTEL = Service(
    "Hotels_1", "places to stay",
    (SlotSchema("city"), SlotSchema("stars", is_categorical=True, possible_values=("3", "4")), SlotSchema("phone")),
    (Intent("Find"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("I do not know.", {}),
        ('{"a": "b"}', {"a": "b"}),
        ('Here it is: {"a": {"b": 1}} I hope it helps {', {"a": {"b": 1}}),
        ('{"a": "b", "c": {"d": "e", "f": "g', {"a": "b", "c": {"d": "e"}}),
        ('{"a": [1, 2', {"a": [1]}),
        ('{"a": "b",}', {"a": "b"}),
        ("{'a': 'it is', 'b': True}", {"a": "it is", "b": True}),
        ("{“a”: “b”}", {"a": "b"}),
        ('{"a": "x \\" } y"}', {"a": 'x " } y'}),
        ("{" * 5000, {}),
    ],
)
def test_mended(text: str, value: Any) -> None:
    assert repair_json(text) == value


@pytest.mark.parametrize(
    ("answer", "values", "intent", "requested"),
    [
        ({}, {}, "NONE", ()),
        ([1], {}, "NONE", ()),
        ({"Hotels_1": {"intent": "Find", "slots": {"city": "Leeds", "stars": "four"}}}, {"city": ("Leeds",)}, "Find",
         ()),
        ({"Hotels_1": {"intent": "Fly", "slots": {"stars": 4, "unheard": "x"}, "requested": ["phone", "x"]}},
         {"stars": ("4",)}, "NONE", ("phone",)),
        ({"city": ["York"], "stars": "dontcare"}, {"city": ("York",), "stars": ("dontcare",)}, "NONE", ()),
        ({"Hotels_1": "York"}, {}, "NONE", ()),
    ],
)  # fmt: skip
def test_states_are_those_that_the_schema_allows(
    answer: Any, values: dict[str, tuple[str, ...]], intent: str, requested: tuple[str, ...]
) -> None:
    state = states_of(answer, [HOTEL])["Hotels_1"]
    assert (state.slot_values, state.active_intent, state.requested_slots) == (values, intent, requested)


def test_the_prefix_is_read_once_and_changes_no_answer(tiny: Callable[[str], Path]) -> None:
    asked = [
        ("a room for two people " * 10, f"Dialogue: {said}\nJSON: ") for said in ("hello", "a table at six", "two")
    ]
    asked.append(("another schema ", "Dialogue: hi\nJSON: "))
    shared, unshared = SharedPrefixLm(tiny("llama")), SharedPrefixLm(tiny("llama"), share=False)
    together = shared.answers(asked, 6)
    assert together == unshared.answers(asked, 6)
    assert together == [shared.answers([one], 6)[0] for one in asked]
    assert len(shared._cached) == 2


def test_without_training(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    (done,) = track("prompted:fake", demo.path("gold"), tmp_path / "out", limit=1)
    assert done.turns > 0
    with pytest.raises(UserError, match="recipe 'prompted' is not trained"):
        train_tracker(demo.path("gold"), tmp_path / "model", recipe="prompted", model=tiny("llama"))
    with pytest.raises(UserError, match="recipe 'trippy' must be trained first"):
        track("trippy:embedded", demo.path("gold"), tmp_path / "other")


class Server:
    """Answers as a server would, and remembers what it was asked."""

    url = "http://localhost/v1"

    def __init__(self, message: dict[str, Any]) -> None:
        self.message, self.asked = message, list[dict[str, Any]]()

    def post(self, path: str, body: bytes, *, parse: Callable[[bytes], Any], max_bytes: int) -> Any:
        assert path == "/chat/completions"
        assert max_bytes > 0
        self.asked.append(json.loads(body))
        return parse(json.dumps({"choices": [{"message": self.message}] if self.message else []}).encode())


@pytest.mark.parametrize("form", ["prompt", "tools"])
def test_a_server_is_asked_for_json_or_for_calls(form: Any) -> None:
    turn = next(TrackerCorpus.read(demo.path("gold")).turns())
    service = turn.services[0]
    slot = next(slot for slot in service.slots if not slot.is_categorical)
    state = {"intent": service.intents[0].name, "slots": {slot.name: "Leeds"}, "requested": []}
    called = {"function": {"name": service.name, "arguments": json.dumps(state)}}
    message = {"tool_calls": [called]} if form == "tools" else {"content": json.dumps({service.name: state})}
    lm, server = EndpointLm.from_name("http://localhost/v1#m"), Server(message)
    lm.client = server  # type: ignore[assignment]
    (states,) = PromptedModel(lm, form, 50).predict([turn])
    assert states[service.name].slot_values == {slot.name: ("Leeds",)}
    assert states[service.name].active_intent == service.intents[0].name
    (body,) = server.asked
    if form == "tools":
        assert body["tools"] == tools(turn.services)
    else:
        assert body["response_format"]["json_schema"]["schema"] == answer_schema(turn.services)
        assert body["messages"][0]["content"] == prefix(turn.services, "prompt")


def test_a_server_that_answers_something_else_is_one_line() -> None:
    turn = next(TrackerCorpus.read(demo.path("gold")).turns())
    lm = EndpointLm.from_name("http://localhost/v1#m")
    lm.client = Server({})  # type: ignore[assignment]
    with pytest.raises(UserError, match="does not answer as OpenAI's API does"):
        PromptedModel(lm, "prompt", 50).predict([turn])
