"""Reworded tools: valid JSON Schema in every layout, calls that come back, titles and mentions that follow."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from troth.core.errors import UserError
from troth.perturb import schemas
from troth.perturb.schemas import calls, mentions, tools
from troth.perturb.schemas.variants import compose, corrupt_schema
from troth.readers import tools as layouts

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "title": "book_tripArguments",
    "properties": {
        "from": {"$ref": "#/$defs/Place", "description": "Where it begins"},
        "to": {"$ref": "#/$defs/Place", "description": "Where it ends; must differ from 'from'"},
        "start_date": {"type": "string", "title": "Start Date", "description": "First day, before end_date"},
        "end_date": {"type": "string", "title": "End Date", "description": "Last day, after `start_date`"},
        "cabin": {"enum": ["economy", "business"], "type": "string", "default": "economy"},
        "extras": {
            "type": "array",
            "items": {
                "oneOf": [{"$ref": "#/$defs/Bag"}, {"$ref": "#/$defs/Seat"}],
                "discriminator": {"propertyName": "kind"},
            },
            "default": [{"kind": "bag", "weight": 20}],
        },
        "plan": {"$ref": "#/$defs/Step"},
        "default": {"type": "boolean", "description": "An argument that is called as a keyword is"},
    },
    "required": ["from", "to", "start_date"],
    "additionalProperties": False,
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "airport": {"type": "string", "minLength": 3}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "Bag": {
            "type": "object",
            "properties": {"kind": {"const": "bag"}, "weight": {"type": "integer"}},
            "required": ["kind", "weight"],
            "additionalProperties": False,
        },
        "Seat": {
            "type": "object",
            "properties": {"kind": {"const": "seat"}, "row": {"type": "integer"}},
            "required": ["kind", "row"],
            "additionalProperties": False,
        },
        "Step": {
            "type": "object",
            "properties": {"note": {"type": "string"}, "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}}},
            "required": ["note"],
            "additionalProperties": False,
        },
    },
}
ARGUMENTS = {
    "from": {"city": "Rome"},
    "to": {"city": "Oslo", "airport": "OSL"},
    "start_date": "2024-05-01",
    "extras": [{"kind": "seat", "row": 3}, {"kind": "bag", "weight": 7}],
    "plan": {"note": "a", "steps": [{"note": "b", "steps": [{"note": "c"}]}]},
    "default": True,
}
ABOUT = "Books a trip; look for one with search_trips first"
FIND: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
LAYOUTS: dict[str, Any] = {
    "openai": [
        {"type": "function", "function": {"name": "book_trip", "description": ABOUT, "parameters": PARAMETERS}},
        {"type": "function", "function": {"name": "search_trips", "parameters": FIND, "strict": True}},
    ],
    "anthropic": {
        "tools": [
            {"name": "book_trip", "description": ABOUT, "input_schema": PARAMETERS},
            {"name": "search_trips", "input_schema": FIND, "cache_control": {"type": "ephemeral"}},
            {"type": "web_search_20250305", "name": "web_search"},
        ]
    },
    "mcp": {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "tools": [
                {"name": "book_trip", "title": "Book Trip", "description": ABOUT, "inputSchema": PARAMETERS,
                 "outputSchema": {"type": "object", "properties": {"start_date": {"type": "string"}}},
                 "annotations": {"title": "Book a trip", "readOnlyHint": False}},
                {"name": "search_trips", "inputSchema": FIND, "annotations": {"readOnlyHint": True}},
            ],
            "nextCursor": "x",
        },
    },
}  # fmt: skip


def reworded(document: Any, seed: int, rate: float = 0.6) -> tuple[Any, dict[str, calls.FunctionNames]]:
    read = tools.read(document)
    wordings = corrupt_schema(read.schema, count=1, seed=seed, rate=rate)
    (variant,) = compose(read.schema, wordings, count=1, strict=False)
    variant = tools.separate_names(read.schema, variant, strict=False)
    return read.rewrite(variant), read.names(variant)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_changed_is_the_same_to_the_letter(layout: str) -> None:
    document = LAYOUTS[layout]
    before = copy.deepcopy(document)
    read = tools.read(document)
    assert json.dumps(read.rewrite(read.schema)) == json.dumps(before)
    assert document == before


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reworded_tools_are_valid_and_calls_come_back(layout: str, seed: int) -> None:
    document = LAYOUTS[layout]
    jsonschema.validate(ARGUMENTS, PARAMETERS)
    written, names = reworded(document, seed)
    for one in layouts.definitions(written):
        jsonschema.Draft202012Validator.check_schema(one.schema)
    schema = layouts.definitions(written)[0].schema
    new = calls.rename_call(names, "book_trip", ARGUMENTS)
    jsonschema.validate(new.arguments, schema)  # every key is known: additionalProperties is false everywhere
    assert calls.original(names, new.name, new.arguments) == ("book_trip", ARGUMENTS)
    extras = next(name for name, old in names[new.name].arguments.items() if old == "extras")
    jsonschema.validate(
        schema["properties"][extras]["default"], schema["properties"][extras] | {"$defs": schema["$defs"]}
    )
    kind = next(name for name, old in names[new.name].arguments.items() if old == "extras.kind")
    assert schema["properties"][extras]["items"]["discriminator"] == {"propertyName": kind.rpartition(".")[2]}
    assert tools.read(written).schema.keys() == names.keys()


@pytest.mark.parametrize("seed", range(30))
def test_a_corrupted_name_is_never_the_true_one_of_a_sibling(seed: int) -> None:
    _, names = reworded(LAYOUTS["openai"], seed, rate=1.0)
    for new, function in names.items():
        assert new == function.name or new not in {"book_trip", "search_trips"}
        for name, old in function.arguments.items():
            siblings = {one for one in function.arguments.values() if one.count(".") == old.count(".")}
            leaves = {one.rpartition(".")[2] for one in siblings if one.rpartition(".")[0] == old.rpartition(".")[0]}
            assert name.rpartition(".")[2] not in leaves - {old.rpartition(".")[2]}


def test_titles_and_mentions_follow_the_names() -> None:
    document = LAYOUTS["mcp"]
    wordings = {
        "book_trip": {
            "slots": {"start_date": {"names": ["first day"]}, "from": {"names": ["origin"]}},
            "intents": {"book_trip": {"names": ["reserve journey"]}},
        },
        "search_trips": {"intents": {"search_trips": {"names": ["find journeys"]}}},
    }
    tool = composed(document, wordings)["result"]["tools"][0]
    assert (tool["name"], tool["title"]) == ("reserve_journey", "Reserve Journey")
    assert tool["annotations"] == {"title": "Reserve journey", "readOnlyHint": False}
    assert tool["description"] == "Books a trip; look for one with find_journeys first"
    properties = tool["inputSchema"]["properties"]
    assert tool["inputSchema"]["title"] == "reserve_journeyArguments"
    assert properties["first_day"]["title"] == "First Day"
    assert properties["end_date"] == {
        "type": "string",
        "title": "End Date",
        "description": "Last day, after `first_day`",
    }
    assert properties["to"]["description"] == "Where it ends; must differ from 'origin'"
    assert tool["inputSchema"]["required"] == ["origin", "to", "first_day"]
    assert tool["outputSchema"] == document["result"]["tools"][0]["outputSchema"], "results are not reworded"


def composed(document: Any, wordings: Any) -> Any:
    import msgspec

    from troth.perturb.schemas.variants import Paraphrases

    read = tools.read(document)
    (variant,) = compose(read.schema, msgspec.convert(wordings, Paraphrases), count=1)
    return read.rewrite(tools.separate_names(read.schema, variant, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("the date of start_date", "the date of begin"),
        ("`date` and date, 'date' and \"date\"", "`day` and date, 'day' and \"day\""),
        ("start_date_time and my_start_date", "start_date_time and my_start_date"),
        ("see place.town.", "see spot.city."),
        ("(start_date)", "(begin)"),
    ],
)
def test_mentions(text: str, expected: str) -> None:
    assert mentions.replace_names(text, {"start_date": "begin", "date": "day", "place.town": "spot.city"}) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Start Date", "First Day"), ("Start date", "First day"), ("start date", "first day"), ("Beginning", "First Day"),
     ("start_dateModel", "first_dayModel")],
)  # fmt: skip
def test_titles(title: str, expected: str) -> None:
    assert mentions.rename_title(title, "start_date", "first_day") == expected
    assert mentions.rename_title(title, "start_date", "start_date") == title


def test_names_of_a_variant_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(LAYOUTS["openai"]))
    schemas.vary(tmp_path / "tools.json", tmp_path / "out", with_={"corrupt": {"count": 2, "rate": 0.5}}, seed=2)
    names = calls.load(tmp_path / "out/v2/names.json")
    new = calls.rename_call(names, "book_trip", ARGUMENTS)
    assert new.name in {
        one.function["name"] for one in layouts.definitions(json.loads((tmp_path / "out/v2/tools.json").read_bytes()))
    }
    assert calls.original(names, new.name, new.arguments).arguments == ARGUMENTS
    assert calls.original(names, "unknown", {"a": 1}) == ("unknown", {"a": 1})
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(UserError, match="not the names of a variant"):
        calls.load(tmp_path / "bad.json")


def test_real_tools(shared: Path) -> None:
    for file in ("retail_tools.json", "tau_airline/tools.json"):
        document = json.loads((shared / "data/agents" / file).read_bytes())
        read = tools.read(document)
        assert json.dumps(read.rewrite(read.schema)) == json.dumps(document)
        written, _ = reworded(document, 1)
        for one in layouts.definitions(written):
            jsonschema.Draft202012Validator.check_schema(one.schema)
