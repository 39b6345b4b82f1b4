"""Sheets for blind paraphrases: what they show and hide, and what is read back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Troth, fine, troth  # noqa: F401 (fixtures)
from troth.core.errors import UserError
from troth.core.records import Intent, Service, SlotSchema
from troth.perturb.schemas.sheet import read_sheets, write_paraphrases, write_sheets

SERVICE = Service(
    "Homes_1",
    "Find a home",
    (
        SlotSchema("area_name", "Where it is"),
        SlotSchema("intent", "Whether to buy or to rent", True, ("buy", "rent")),
        SlotSchema("bare"),
    ),
    (Intent("FindHome", "Search for a home"),),
)


@pytest.fixture
def schema(tmp_path: Path) -> str:
    (tmp_path / "schema.json").write_bytes(msgspec.json.encode([SERVICE]))
    return str(tmp_path / "schema.json")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, out: Path, answers: dict[str, str], delimiter: str = ",") -> str:
    """A copy of a sheet with these answers, by what is given."""
    every = rows(path)
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(every[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(row | {"answer": answers.get(row["given"], "")} for row in every)
    return str(out)


def test_who_writes_names_sees_no_names_and_the_other_way_round(schema: str, tmp_path: Path) -> None:
    files = write_sheets(schema, tmp_path / "sheets", ambiguous="Homes_1.intent")
    assert [Path(file).name for file in files] == ["01-Homes_1-names.csv", "01-Homes_1-descriptions.csv"]
    names, descriptions = (rows(Path(file)) for file in files)
    assert [(row["kind"], row["given"]) for row in names] == [
        ("Field", "Where it is"), ("Field", "Whether to buy or to rent"), ("Action", "Search for a home"),
    ]  # fmt: skip
    shown = json.dumps(names)
    assert not any(name in shown for name in ("area", "FindHome", "intent", "Homes"))
    assert [(row["kind"], row["given"], row["values"]) for row in descriptions] == [
        ("App", "homes", ""), ("Field", "area name", ""),
        ("Field", "intent (Whether to buy or to rent)", "buy, rent"), ("Field", "bare", ""),
        ("Action", "find home", ""),
    ]  # fmt: skip
    assert "Where it is" not in json.dumps(descriptions)
    assert "begins with a verb" in (tmp_path / "sheets/names.txt").read_text()
    assert len({row["id"] for row in (*names, *descriptions)}) == 8


def test_filled_sheets_become_paraphrases(schema: str, tmp_path: Path) -> None:
    names, descriptions = map(Path, write_sheets(schema, tmp_path / "sheets"))
    said = [
        fill(names, tmp_path / "a.csv", {"Where it is": "town part", "Search for a home": "find_home"}),
        fill(names, tmp_path / "b.csv", {"Where it is": "Town  Part", "Whether to buy or to rent": "deal"}, ";"),
        fill(descriptions, tmp_path / "c.csv", {"bare": "Something  plain", "homes": "All about homes"}),
    ]
    collected = read_sheets(schema, said, count=1)
    assert collected.sheets == 3
    assert collected.answers == 4
    assert collected.left_out == {"empty": 5, "the original": 1, "given before": 1}
    home = collected.paraphrases["Homes_1"]
    assert home.slots["area_name"].names == ("town part",)
    assert home.slots["intent"].names == ("deal",)
    assert home.slots["bare"].descriptions == ("Something plain",)
    assert home.intents["FindHome"].names == ()
    assert home.descriptions == ("All about homes",)
    assert collected.few["Homes_1: intents/FindHome/name"] == 0
    assert "Homes_1: slots/area_name/name" not in collected.few
    write_paraphrases(collected, tmp_path / "said.json")
    assert json.loads((tmp_path / "said.json").read_text())["Homes_1"]["slots"]["intent"]["names"] == ["deal"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,reply\n", "no column 'answer'"),
        ("id,answer\n", "no row in it"),
        ("id,answer\n0001-abcdef,x\n", "row 2: '0001-abcdef' is not of this schema"),
        ('id,answer\n"0001', "is a quote not closed"),
    ],
)
def test_a_sheet_that_cannot_be_read(schema: str, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read_sheets(schema, [tmp_path / "x.csv"])


def test_a_name_that_the_schema_does_not_have(schema: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'Homes_1\.intend' is not in the schema \(did you mean 'Homes_1\.intent'"):
        write_sheets(schema, tmp_path / "sheets", ambiguous="Homes_1.intend")
    assert not (tmp_path / "sheets").exists()


def test_from_schema_to_variants_by_commands(fine: Troth, schema: str, tmp_path: Path) -> None:  # noqa: F811
    assert "2 sheets" in fine("perturb", "sheets", schema, str(tmp_path / "sheets")).out
    names = tmp_path / "sheets/01-Homes_1-names.csv"
    filled = fill(names, tmp_path / "a.csv", {"Where it is": "town part", "Whether to buy or to rent": "deal kind"})
    done = fine("perturb", "collect", schema, filled, "--out", str(tmp_path / "said.json"), "--count", "1")
    assert "2 paraphrases from 1 sheet; left out: 1 empty" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith("fewer than 1: Homes_1: description has 0, ")
    assert line.endswith("Homes_1: intents/FindHome/name has 0, and 1 more (--json names all)")
    said = str(tmp_path / "said.json")
    fine("perturb", "schema", schema, str(tmp_path / "out"), "--paraphrases", said, "--count", "1")
    (service,) = json.loads((tmp_path / "out/v1/schema.json").read_text())
    assert [slot["name"] for slot in service["slots"]] == ["town_part", "deal_kind", "bare"]


def test_sheets_without_an_answer_are_no_paraphrases(schema: str, tmp_path: Path) -> None:
    names, _ = map(Path, write_sheets(schema, tmp_path / "sheets"))
    with pytest.raises(UserError, match=r"no new wording in the sheets: 3 empty \(fill in the column 'answer'\)"):
        read_sheets(schema, [names])
