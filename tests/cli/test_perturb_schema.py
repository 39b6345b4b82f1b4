"""`troth perturb schema` and `troth perturb stats` by what they print and write."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GOLD, SCHEMA, Troth

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a place", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"]}}}]  # fmt: skip


def variants(folder: Path, count: int = 2, change: Any = None) -> Path:
    """Variants in the layout of SGD-X, made from the bundled schema."""
    for number in range(1, count + 1):
        services = json.loads(Path(SCHEMA).read_bytes())
        for service in services:
            service["service_name"] += str(number)
            names = {slot["name"]: f"{slot['name']}_{number}" for slot in service["slots"]}
            for slot in service["slots"]:
                slot["name"] = names[slot["name"]]
            for intent in service["intents"]:
                for key in ("required_slots", "result_slots"):
                    intent[key] = [names[slot] for slot in intent.get(key, [])]
                intent["optional_slots"] = {names[k]: v for k, v in intent.get("optional_slots", {}).items()}
        if change is not None:
            change(services)
        place = folder / "data" / f"v{number}" / "dev"
        place.mkdir(parents=True)
        (place / "schema.json").write_text(json.dumps(services))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_dialogues_under_published_variants(fine: Troth, tmp_path: Path) -> None:
    sgdx = variants(tmp_path / "sgdx")
    result = fine("perturb", "schema", GOLD, str(tmp_path / "out"), "--variants", "v1..v2", "--from", str(sgdx))
    assert result.out.splitlines()[0].startswith(f"{tmp_path}/out/v1: ")
    out = tmp_path / "out"
    assert sorted(contents(out)) == [
        f"v{i}/{name}" for i in (1, 2) for name in ("dialogues_001.json", "perturbation.json", "schema.json")
    ]
    record = json.loads((out / "v1/perturbation.json").read_bytes())
    assert (record["variant"], record["counts"]["files"]) == ("v1", 1)
    assert record["slots_renamed"] > 0
    assert (out / "v2/schema.json").read_bytes() == (sgdx / "data/v2/dev/schema.json").read_bytes()
    assert fine("dst", str(out / "v1"), str(out / "v1"), "--metrics", "jga", "--json").json()[0]["value"] == 1.0
    again = fine("perturb", "schema", GOLD, str(tmp_path / "more"), "--variants", "v1,v2", "--from", str(sgdx),
                 "--workers", "1", "--json")  # fmt: skip
    assert [r["variant"] for r in again.json()] == ["v1", "v2"]
    assert contents(out) == contents(tmp_path / "more")


@pytest.mark.parametrize("make", ["corrupt", "compose"])
def test_made_variants_are_the_same_for_a_seed(fine: Troth, tmp_path: Path, make: str) -> None:
    file = tmp_path / "said.json"
    service = json.loads(Path(SCHEMA).read_bytes())[0]
    slot = service["slots"][0]["name"]
    words = {"names": [f"{slot} {w}" for w in "abcdefg"], "descriptions": [f"What {w}" for w in "abcdefg"]}
    file.write_text(json.dumps({service["service_name"]: {"slots": {slot: words}}}))
    options = ["--paraphrases", str(file)] if make == "compose" else ["--make", "corrupt"]

    def run(name: str, seed: str) -> dict[str, bytes]:
        fine("perturb", "schema", GOLD, str(tmp_path / name), *options, "--count", "3", "--seed", seed)
        made = contents(tmp_path / name)
        return {name: data for name, data in made.items() if not name.endswith("perturbation.json")}

    first = run("a", "1")
    assert first == run("b", "1")
    assert first != run("c", "2")
    assert {name.partition("/")[0] for name in first} == {"v1", "v2", "v3"}
    assert (
        fine("dst", str(tmp_path / "a/v3"), str(tmp_path / "a/v3"), "--metrics", "jga", "--json").json()[0]["value"]
        == 1
    )
    table = fine("perturb", "stats", SCHEMA, *(str(tmp_path / "a" / f"v{i}") for i in (1, 2, 3)), "--json").json()
    assert [row["variant"] for row in table["rows"]] == ["original", "v1", "v2", "v3"]
    distances = [row["distance"] for row in table["rows"][1:]]
    assert distances == sorted(distances)


def test_tools(fine: Troth, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    said = {"get_weather": {"intents": {"get_weather": {"names": ["fetch weather", "look up the forecast"]}},
                            "slots": {"city": {"names": ["town", "cities"]}}}}  # fmt: skip
    (tmp_path / "said.json").write_text(json.dumps(said))
    fine(
        "perturb",
        "schema",
        str(file),
        str(tmp_path / "out"),
        "--paraphrases",
        str(tmp_path / "said.json"),
        "--count",
        "2",
    )
    (one,) = json.loads((tmp_path / "out/v1/tools.json").read_bytes())
    assert one["function"]["name"] == "fetch_weather"
    assert one["function"]["parameters"]["required"] == ["cities"] or one["function"]["parameters"]["required"] == [
        "town"
    ]
    names = json.loads((tmp_path / "out/v2/names.json").read_bytes())
    assert names["look_up_the_forecast"]["name"] == "get_weather"
    shown = fine("perturb", "stats", str(file), str(tmp_path / "out/v1"), str(tmp_path / "out/v2"))
    assert [line.split()[0] for line in shown.out.splitlines()] == ["schema", "original", "v1", "v2"]


def swapped(services: Any) -> None:
    services[0]["slots"].pop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the source of the variants is unknown (give --from FOLDER for published variants, or --make NAME to "),
        (("--count", "2"), "the source of the variants is unknown"),
        (("--from", "SGDX", "--count", "2"), "the source of the variants is unknown"),
        (
            ("--from", "SGDX", "--make", "corrupt"),
            "--from is not an option of 'corrupt' (its options: --count, --stop-words",
        ),
        (("--make", "corrupt", "--variants", "v1"), "--variants is not an option of 'corrupt'"),
        (("--make", "corupt"), "no schema generator is called 'corupt' (did you mean 'corrupt'?)"),
        (("--make", "corrupt", "--rate", "2"), "corrupt.rate: Expected `float` <= 1.0"),
        (("--make", "corrupt", "--count", "0"), "corrupt.count: Expected `int` >= 1"),
        (("--make", "corrupt", "--count", "many"), "corrupt.count: Expected `int | null`, got `str`"),
        (("--make", "corrupt", "--stop-words", "none"), "corrupt.stop: Invalid enum value 'none'"),
        (("--variants", "v1"), "no folder with published variants is named"),
        (("--make", "compose"), "nothing to compose variants from"),
        (("--make", "compose", "--paraphrases", "no.json"), "no.json: no such file or folder"),
        (("--from", "nowhere"), "nowhere: no such file or folder"),
        (("--from", "SGDX", "--variants", "v3"), "no variant is called 'v3'"),
        (("--from", "SGDX", "--variants", "v5..v1"), "'v5..v1' is not a range of variants"),
        (("--from", "SGDX", "--variants", "v1,v1"), "variant 'v1' is named twice"),
        (("--from", "SGDX", "--variants", "../v1"), "'../v1' is not a valid name of a variant"),
        (("--make", "backtranslate", "--engine", "google"), "'google' is not a translation engine"),
    ],
)
def test_wrong_use(troth: Troth, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    sgdx = variants(tmp_path / "sgdx", 2)
    given = [str(sgdx) if word == "SGDX" else word for word in arguments]
    result = troth("perturb", "schema", GOLD, str(tmp_path / "out"), *given)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert [item for item in os.listdir(tmp_path) if item.startswith(".")] == []


def test_schemas_that_do_not_align(troth: Troth, tmp_path: Path) -> None:
    sgdx = variants(tmp_path / "sgdx", 1, swapped)
    result = troth("perturb", "schema", GOLD, str(tmp_path / "out"), "--variants", "v1", "--from", str(sgdx))
    assert result.code == 2
    assert "elements must be in the same order in both schemas" in result.err
    assert "v1/dev/schema.json" in result.err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"dialogue_id": "x", "turns": 3}]', "dialogues_001.json"),
        (
            b'[{"dialogue_id": "x", "turns": [{"frames": [{"service": "No_1"}]}]}]',
            "service 'No_1' is not in the schema",
        ),
        (b'[{"dialogue_id": "x", "turns": [', "broken JSON"),
        (b'[{"a": 1}]', "dialogues in SGD's layout are expected"),
    ],
)
def test_bad_dialogues(troth: Troth, tmp_path: Path, data: bytes, message: str) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "schema.json").write_bytes(Path(SCHEMA).read_bytes())
    (source / "dialogues_001.json").write_bytes(data)
    result = troth("perturb", "schema", str(source), str(tmp_path / "out"), "--make", "corrupt")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err
    assert os.listdir(tmp_path) == ["in"]


def test_out_is_not_overwritten_and_a_schema_is_needed(troth: Troth, tmp_path: Path) -> None:
    result = troth("perturb", "schema", GOLD, str(tmp_path), "--make", "corrupt")
    assert (result.code, result.err) == (2, f"troth: {tmp_path}: exists already (name a new folder)\n")
    lone = tmp_path / "dialogues_001.json"
    lone.write_bytes((Path(GOLD) / "dialogues_001.json").read_bytes())
    result = troth("perturb", "schema", str(lone), str(tmp_path / "out"), "--make", "corrupt")
    assert "no schema.json beside the dialogues (name it: --schema FILE)" in result.err
    (empty := tmp_path / "empty.json").write_text("[]")
    result = troth("perturb", "schema", str(empty), str(tmp_path / "out"), "--make", "corrupt")
    assert result.err == f"troth: {empty}: no service and no dialogue in it (is it the right one?)\n"
    result = troth("perturb", "schema", str(lone), str(tmp_path / "out"), "--make", "corrupt", "--schema", SCHEMA)
    assert result.code == 0, result.err


def test_stats_without_sacrebleu(fine: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    sgdx = variants(tmp_path / "sgdx")
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    result = fine("perturb", "stats", SCHEMA, *(str(sgdx / "data" / f"v{i}") for i in (1, 2)))
    assert 'not computed: sacrebleu is not installed: pip install "troth[text]"' in result.err


def test_by_a_language_model(fine: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Writer:
        name = "writer"

        def generate(self, prompts: list[str], **_: Any) -> list[str]:
            return [
                "the place to go" if "City" in prompt else "nothing like it at all, or so they say"
                for prompt in prompts
            ]

    monkeypatch.setattr("troth.models.lm", lambda _name: Writer())
    tools = [{"name": "f", "parameters": {"properties": {"city": {"type": "string", "description": "City"}}}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    options = ("--make", "paraphrase", "--lm", "any", "--count", "1")
    result = fine("perturb", "schema", str(tmp_path / "tools.json"), str(tmp_path / "out"), *options)
    assert result.err == "3 wordings were refused: 3 no name\n"
    (tool,) = json.loads((tmp_path / "out/v1/tools.json").read_bytes())
    assert tool["name"] == "f"
    assert tool["parameters"]["properties"] == {"the_place_to_go": {"type": "string", "description": "the place to go"}}
