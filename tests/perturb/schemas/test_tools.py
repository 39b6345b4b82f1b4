"""Tools as schemas: exact round trips, what is refused and why, variants."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from troth.core.errors import UserError
from troth.perturb.schemas import tools
from troth.perturb.schemas.variants import compose, corrupt_schema

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Current weather of a place",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"enum": [1, 2, None]},
            "hourly": {"type": ["boolean", "null"], "description": "Whether by the hour"},
            "place": {
                "type": "object",
                "description": "Where exactly",
                "properties": {"street": {"type": "string"}, "number": {"type": "integer", "minimum": 1}},
                "required": ["street"],
                "additionalProperties": False,
            },
            "people": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            },
            "tags": {"type": "array", "items": {"type": "string", "description": "kept"}, "maxItems": 3},
            "colour": {"$ref": "#/$defs/Colour"},
            "owner": {"anyOf": [{"$ref": "#/$defs/Owner"}, {"type": "null"}], "default": None},
            "free": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": 1}},
        },
        "required": ["city", "place", "owner"],
        "additionalProperties": False,
        "$defs": {
            "Colour": {"enum": ["red", "blue"], "type": "string", "title": "Colour"},
            "Owner": {
                "type": "object",
                "properties": {"id": {"type": "string", "description": "Who"}},
                "required": ["id"],
            },
        },
    },
}
FORMS: list[Any] = [
    [{"type": "function", "function": WEATHER}],
    [WEATHER],
    [{"type": "function", **WEATHER}],
    {"model": "m", "tools": [{"type": "web_search"}, {"type": "function", "function": WEATHER}]},
    {"functions": [WEATHER]},
    WEATHER,
    [{"name": "ping", "description": "Nothing to say", "input_schema": {"type": "object", "properties": {}}}],
    [{"type": "function", "function": {"name": "now"}}],
]


@pytest.mark.parametrize("document", FORMS)
def test_round_trip(document: Any) -> None:
    before = copy.deepcopy(document)
    read = tools.read(document)
    written = read.rewrite(read.schema)
    assert json.dumps(written) == json.dumps(before), "in the same order, too"
    assert document == before


def test_what_is_read() -> None:
    (service,) = tools.read(FORMS[0]).schema.values()
    slots = {slot.name: slot for slot in service.slots}
    assert list(slots) == [
        "city", "unit", "days", "hourly", "place", "place.street", "place.number", "people", "people.name", "tags",
        "colour", "owner", "owner.id", "free",
    ]  # fmt: skip
    values = {name: slot.possible_values for name, slot in slots.items() if slot.is_categorical}
    assert values == {
        "unit": ("celsius", "fahrenheit"), "days": ("1", "2"), "hourly": ("True", "False"), "colour": ("red", "blue"),
    }  # fmt: skip
    (intent,) = service.intents
    assert (intent.name, intent.description) == ("get_weather", "Current weather of a place")
    assert intent.required_slots == ("city", "place", "place.street", "owner", "owner.id")
    assert intent.optional_slots["unit"] == "celsius"
    assert slots["owner.id"].description == "Who"


def test_a_variant_changes_names_everywhere_and_nothing_else() -> None:
    read = tools.read([{"type": "function", "function": WEATHER}])
    (variant,) = compose(read.schema, corrupt_schema(read.schema, count=1, seed=4, rate=1.0), count=1, strict=False)
    written = read.rewrite(variant)
    again = tools.read(written).schema
    (old,), (new,), (reread,) = read.schema.values(), variant.values(), again.values()
    assert [slot.name for slot in reread.slots] == [slot.name for slot in new.slots]
    assert reread.intents[0].required_slots == new.intents[0].required_slots
    assert [slot.possible_values for slot in reread.slots] == [slot.possible_values for slot in old.slots]
    assert tools.ToolDefinitions(written, again).rewrite(read.schema) == [{"type": "function", "function": WEATHER}]
    mapping = read.names(variant)[new.intents[0].name]
    assert mapping.name == "get_weather"
    assert list(mapping.arguments.values()) == [slot.name for slot in old.slots]
    street = next(slot.name for slot, before in zip(new.slots, old.slots, strict=True) if before.name == "place.street")
    place = next(slot.name for slot, before in zip(new.slots, old.slots, strict=True) if before.name == "place")
    assert street.startswith(place + ".")


def argument(**schema: Any) -> Any:
    return [{"name": "f", "parameters": {"type": "object", "properties": {"a": schema}, **schema.pop("root", {})}}]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "no function is defined in it"),
        (["x"], "no function is defined in it"),
        ("x", "neither a list nor an object"),
        ([{"function": {"description": "x"}}], "tool 0.function: a function without a name"),
        ([{"name": "f", "description": ""}, {"name": "f"}], "function 'f' is defined twice"),
        ([{"name": "f", "parameters": []}], "function 'f': its parameters are not an object"),
        (argument(patternProperties={"^x": {}}), "function 'f', argument 'a': 'patternProperties' may refer to names"),
        (argument(anyOf=[{"not": {"required": ["b"]}}]), "argument 'a': 'not' may refer to names"),
        (argument(**{"if": {}, "then": {}}), "argument 'a': 'if' may refer to names"),
        (argument(additionalProperties={"properties": {"b": {}}}), "inside 'additionalProperties'"),
        (argument(**{"$ref": "#/$defs/No"}), "the reference '#/$defs/No' is not in its parameters"),
        (argument(**{"$ref": "https://x.example/y"}), "is not in its parameters"),
        (
            argument(
                allOf=[{"$ref": "#/$defs/N"}],
                root={
                    "properties": {
                        "a": {"$ref": "#/$defs/N"},
                        "b": {"allOf": [{"$ref": "#/$defs/N"}], "properties": {"c": {}}},
                    },
                    "$defs": {"N": {"properties": {"n": {}}}},
                },
            ),
            "argument 'b': it has arguments besides those of a definition that is used elsewhere",
        ),
        ([{"name": "f", "parameters": {"properties": {"a.b": {}}}}], "an argument called 'a.b'"),
        ([{"name": "f", "parameters": {"properties": {"a": 3}}}], "argument 'a': its schema is not an object"),
        ([{"name": "f", "parameters": {"properties": [1]}}], "its properties are not an object"),
        ([{"name": "f", "parameters": {"properties": {"a": {}}, "required": "a"}}], "'required' is not a list"),
        ([{"name": "f", "parameters": {"properties": {"a": {}}, "required": ["b"]}}], "argument 'b': it is required"),
        (argument(root={"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), "argument 'b': it is required"),
    ],
)
def test_refused_with_a_reason(document: Any, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as error:
        tools.read(document)
    assert "\n" not in str(error.value)


def test_functions_keep_names_of_their_own() -> None:
    schema = tools.read([{"name": "a", "description": ""}, {"name": "b"}]).schema
    same = compose(schema, {}, count=1)[0]
    intents = {key: service.intents[0] for key, service in same.items()}
    for service in same.values():
        assert service.intents[0] in intents.values()
    clash = {key: type(s)(s.name, "", (), (type(s.intents[0])("go"),)) for key, s in same.items()}
    assert [s.intents[0].name for s in tools.separate_names(schema, clash, strict=False).values()] == ["go", "go_2"]
    with pytest.raises(UserError, match="two functions would be called 'go'"):
        tools.separate_names(schema, clash, strict=True)


@pytest.mark.parametrize(
    ("document", "expected"),
    [(FORMS[0], True), (FORMS[3], True), ([{"service_name": "S", "slots": []}], False), ([{"dialogue_id": "1"}], False),
     ([], False), (3, False), ({"1": {"turns": []}}, False)],
)  # fmt: skip
def test_detect(document: Any, expected: bool) -> None:
    assert tools.detect(document) == expected


leaves = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean"])}, optional={"description": st.text()}
    ),
    st.fixed_dictionaries(
        {"enum": st.lists(st.one_of(st.text(), st.integers(), st.booleans(), st.none()), min_size=1)}
    ),
    st.just({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    st.just({"type": "object", "additionalProperties": {"type": "string"}}),
)
labels = st.text("abcXYZ_19", min_size=1, max_size=6)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    whole = st.dictionaries(labels, inner, max_size=4).flatmap(
        lambda properties: st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.just(properties)},
            optional={
                "required": st.lists(st.sampled_from(list(properties)), unique=True) if properties else st.just([]),
                "description": st.text(),
                "additionalProperties": st.booleans(),
            },
        )
    )
    return st.one_of(whole, whole.map(lambda schema: {"type": "array", "items": schema}))


parameters = objects(st.recursive(leaves, objects, max_leaves=8))
functions = st.lists(
    st.fixed_dictionaries({"name": labels, "parameters": parameters}, optional={"description": st.text()}),
    min_size=1, max_size=3, unique_by=lambda function: function["name"],
)  # fmt: skip


def marked(name: str) -> list[Any]:
    """A description that is a name in a text, and no mention of the argument."""
    inner = {"type": "array", "items": {"type": "object", "properties": {}, "description": name}}
    return [{"name": "Z", "parameters": {"type": "object", "properties": {name: inner}}}]


@given(functions, st.integers(0, 5))
@example(marked("1"), 0)
@example(marked("_"), 0)
def test_random_tools_come_back(listed: list[Any], seed: int) -> None:
    before = copy.deepcopy(listed)
    read = tools.read(listed)
    assert json.dumps(read.rewrite(read.schema)) == json.dumps(before)
    (variant,) = compose(read.schema, corrupt_schema(read.schema, count=1, seed=seed, rate=0.5), count=1, strict=False)
    variant = tools.separate_names(read.schema, variant, strict=False)
    written = read.rewrite(variant)
    assert json.dumps(tools.ToolDefinitions(written, variant).rewrite(read.schema)) == json.dumps(before)
    assert listed == before


def test_definitions_that_lead_to_each_other_in_many_ways_take_no_time() -> None:
    depth = 60
    defs: dict[str, Any] = {f"D{i}": {"anyOf": [{"$ref": f"#/$defs/D{i + 1}"}] * 2} for i in range(depth)}
    defs[f"D{depth}"] = {"type": "string"}
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": defs}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    assert [slot.name for slot in tools.read([tool]).schema["f"].slots] == ["a"]


def test_arguments_of_an_alternative_without_a_type_are_found() -> None:
    parameters = {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}]}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    assert [slot.name for slot in tools.read([tool]).schema["f"].slots] == ["a"]
