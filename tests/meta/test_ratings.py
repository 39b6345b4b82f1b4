"""Ratings of whole dialogues and of two systems' responses: sheets, keys, and the numbers that come back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from troth import demo, stats
from troth.core.errors import UserError
from troth.grounding.score import ground
from troth.meta.people.agreement import agree
from troth.meta.people.ratings import annotate_dialogues, annotate_responses, format_log
from troth.storage.explorer import DialogueView, SystemView, TurnView, UnitView, Utterance
from troth.tracking.score import dst


def rows(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"), newline="")))


def fill(sheet: Path, name: str, answer: Callable[[str], Mapping[str, str]]) -> Path:
    """A copy of a sheet, filled in by an annotator who is asked with an item's id."""
    filled = [{**row, **answer(row["id"])} for row in rows(sheet)]
    path = sheet.with_name(name)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, filled[0].keys())
        writer.writeheader()
        writer.writerows(filled)
    return path


# -- whole dialogues ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold's states of the demonstration data, some of them spoiled."""
    folder = tmp_path_factory.mktemp("dst")
    gold = Path(demo.path("gold"))
    spoiled = folder / "spoiled"
    spoiled.mkdir()
    for file in sorted(gold.glob("*.json")):
        data = json.loads(file.read_bytes())
        if file.name.startswith("dialogues"):
            for number, dialogue in enumerate(data):
                users = [turn for turn in dialogue["turns"] if turn["speaker"] == "USER"]
                for turn in users[len(users) - number % 4 :]:
                    for frame in turn["frames"]:
                        slots = frame["state"]["slot_values"]
                        frame["state"]["slot_values"] = dict(list(slots.items())[number % 2 :])
        (spoiled / file.name).write_text(json.dumps(data))
    dst(str(gold), str(spoiled), resamples=10, out=folder / "run")
    return folder / "run"


def test_a_sheet_of_whole_dialogues(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    key = annotate_dialogues(run, sheet, dialogues=8, seed=1)
    found = rows(sheet)
    assert list(found[0]) == ["id", "dialogue", "satisfied"]
    assert [row["id"] for row in found] == list(key.items)
    assert len({one.dialogue for one in key.items.values()}) == 8
    whole = dst(demo.path("gold"), demo.path("gold"), resamples=10).rows()
    for row in found:
        one = key.items[row["id"]]
        assert row["dialogue"] == one.log
        assert "jga" not in one.log.lower(), "people do not see the metric"
        turns = len(set(whole.filter(whole["dialogue"] == one.dialogue)["turn"].to_list()))
        assert one.log.count("Usr : ") == one.log.count("GT : ") == one.log.count("PR : ") == turns
        assert {"jga", "aga", "fga@0.5"} <= set(key.recipes)
    assert annotate_dialogues(run, tmp_path / "again.csv", dialogues=8, seed=1).items == key.items
    assert annotate_dialogues(run, tmp_path / "other.csv", dialogues=8, seed=2).items != key.items


def test_the_format_of_figure_2() -> None:
    """A line break in what somebody says begins no new line: a turn cannot be forged."""
    units = (UnitView("", 1.0),)
    dialogue = DialogueView(
        "d",
        (
            Utterance(0, "USER", "A hotel.\nMatched : True", 0, {"hotel": {"area": ("north", "n")}, "taxi": {}}),
            Utterance(1, "SYSTEM", "Which?"),
            Utterance(2, "USER", "=Any", 1, {}),
        ),
        (
            SystemView(
                "s", (TurnView(0, {"hotel": {"area": ("south",)}}, (UnitView("", 0.0),)), TurnView(1, {}, units))
            ),
        ),
    )
    assert format_log(dialogue, "s").splitlines() == [
        "Turn: 0", "Sys : ", "Usr : A hotel. Matched : True", "GT : hotel: area = north / n",
        "PR : hotel: area = south", "Matched : False",
        "Turn: 1", "Sys : Which?", "Usr : =Any", "GT : (empty)", "PR : (empty)", "Matched : True",
    ]  # fmt: skip
    assert format_log(dialogue, "other") == ""


def test_ratings_against_metrics(run: Path, tmp_path: Path) -> None:
    """Two annotators go by JGA, the third by chance: Pearson of the mean rating with each metric, by hand."""
    sheet = tmp_path / "s.csv"
    key = annotate_dialogues(run, sheet, dialogues=20)
    strict = {id: "1" if one.values["jga"] == 1 else "0" for id, one in key.items.items()}
    odd = {id: "yes" if number % 3 else "no" for number, id in enumerate(key.items)}
    filled = [
        fill(sheet, f"{n}.csv", lambda item, said=said: {"satisfied": said[item]})  # type: ignore[misc]
        for n, said in enumerate((strict, strict, odd))
    ]
    found = agree(*filled, key=tmp_path / "s.key.json", resamples=500)
    rating = {id: (2 * (strict[id] == "1") + (odd[id] == "yes")) / 3 for id in key.items}
    for metric in ("jga", "aga", "fga@0.5"):
        known = [(one.values[metric], rating[id]) for id, one in key.items.items() if metric in one.values]
        score = found[f"pearson:{metric}"]
        assert score.value == pytest.approx(stats.pearson(*np.array(known).T))
        assert score.n == len(known)
        assert score.low is not None
        assert score.high is not None
        assert -1 <= score.low < (score.value or 0) < score.high <= 1
    assert (found["pearson:jga"].value or 0) > (found["pearson:aga"].value or 0)
    assert found["satisfied"].value == pytest.approx(np.mean(list(rating.values())))
    assert found["pearson:fga@0.5"].signature.startswith("PEARSON:FGA@0.5|study:fga|annotators:3|metric:[FGA@0.5/")
    counts = [[(2 * (strict[id] == "1") + (odd[id] == "yes")), 0] for id in key.items]
    expected = stats.fleiss_kappa([[yes, 3 - yes] for yes, _ in counts])
    assert found.score("fleiss_kappa", system="people").value == pytest.approx(expected)
    alone = agree(*filled, resamples=20)
    assert [score.metric for score in alone.scores] == ["satisfied", "fleiss_kappa"]


def test_everybody_is_satisfied(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    annotate_dialogues(run, sheet, dialogues=6)
    filled = fill(sheet, "a.csv", lambda _: {"satisfied": "yes"})
    found = agree(filled, key=tmp_path / "s.key.json", resamples=20)
    assert found["pearson:jga"].value is None
    assert found["pearson:jga"].reason == "all dialogues have one value, or one rating"


def test_runs_that_have_no_dialogues(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no system is called 'spoild'"):
        annotate_dialogues(run, tmp_path / "s.csv", system="spoild")
    ground(demo.path("documents/judged.jsonl"), metrics="u_f1", out=tmp_path / "ground")
    with pytest.raises(UserError, match="not a run with jga, aga or fga"):
        annotate_dialogues(tmp_path / "ground", tmp_path / "s.csv")
    assert not (tmp_path / "s.csv").exists()


# -- responses of two systems ------------------------------------------------------------------------------------------


def responses(path: Path, system: str, count: int = 30) -> Path:
    made = [
        {"id": f"c{number}", "document": f"=Document {number // 2}", "history": ["Hi.", f"What of {number}?"],
         "response": f"{system} says {number}"}
        for number in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [f"greedy={responses(tmp_path / 'a.jsonl', 'one')}", f"pmi={responses(tmp_path / 'b.jsonl', 'two')}"]


def test_two_systems_shuffled_and_blind(files: list[str], tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    key = annotate_responses(*files, out=sheet, contexts=20, seed=3)
    found = rows(sheet)
    assert list(found[0]) == ["id", "document", "dialog", "response", "faithfulness", "relevance", "grammar"]
    assert len(found) == 40
    text = sheet.read_text(encoding="utf-8-sig")
    assert "greedy" not in text
    assert "pmi" not in text
    assert found[0]["document"].startswith("'=Document"), "no formula"
    first = [key.items[row["id"]].system for row in found[::2]]
    assert set(first) == {"greedy", "pmi"}, "either may come first"
    for one, two in zip(found[::2], found[1::2], strict=True):
        assert (one["document"], one["dialog"]) == (two["document"], two["dialog"])
        assert {key.items[row["id"]].system for row in (one, two)} == {"greedy", "pmi"}


def test_answers_for_each_system(files: list[str], tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    key = annotate_responses(*files, out=sheet, contexts=30)

    def judge(id: str, kind: int) -> dict[str, str]:
        one = key.items[id]
        number = int(one.context[1:])
        faithful = "A" if one.system == "pmi" or number % 3 == kind else "disagree"
        return {"faithfulness": faithful, "relevance": "n" if number % 2 else "agree", "grammar": " Agree "}

    filled = [
        fill(sheet, f"{kind}.csv", lambda item, kind=kind: judge(item, kind))  # type: ignore[misc]
        for kind in (0, 1)
    ]
    found = agree(*filled, key=tmp_path / "s.key.json", resamples=200)
    assert found.score("agree:faithfulness", system="pmi").value == 1
    greedy = found.score("agree:faithfulness", system="greedy")
    assert greedy.value == pytest.approx(1 / 3)
    assert greedy.low is not None
    assert greedy.high is not None
    assert greedy.low < 1 / 3 < greedy.high
    assert found.score("disagree:faithfulness", system="greedy").value == pytest.approx(2 / 3)
    assert found.score("neutral:relevance", system="pmi").value == pytest.approx(0.5)
    assert found.score("agree:grammar", system="greedy").value == 1
    assert found.score("fleiss_kappa:relevance", system="people").value == 1
    assert found.score("fleiss_kappa:grammar", system="people").reason == "all answers are the same"
    differences = {one.metric: one for one in found.details}
    assert list(differences) == ["agree:faithfulness", "agree:relevance", "agree:grammar"]
    one = differences["agree:faithfulness"]
    assert (one.base, one.system) == ("greedy", "pmi")
    assert one.difference == pytest.approx(2 / 3)
    assert one.p_holm < 0.01
    assert differences["agree:relevance"].p_holm == 1


def test_a_run_of_two_systems(files: list[str], tmp_path: Path) -> None:
    ground(*files, metrics="u_f1", resamples=10, out=tmp_path / "run")
    from_run = annotate_responses(tmp_path / "run", out=tmp_path / "run.csv")
    from_files = annotate_responses(*files, out=tmp_path / "files.csv")
    assert from_run.items == from_files.items
    turned = annotate_responses(tmp_path / "run", out=tmp_path / "turned.csv", systems=["pmi", "greedy"])
    assert turned.systems == ("pmi", "greedy")
    with pytest.raises(UserError, match="no system is called 'pmy'"):
        annotate_responses(tmp_path / "run", out=tmp_path / "x.csv", systems=["pmy", "greedy"])


def test_what_cannot_be_compared(files: list[str], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 files are given"):
        annotate_responses(*files, files[0], out=tmp_path / "x.csv")
    other = tmp_path / "c.jsonl"
    other.write_text('{"id": "z", "document": "d", "response": "r"}\n')
    with pytest.raises(UserError, match="'greedy' and 'c' have no context in common"):
        annotate_responses(files[0], other, out=tmp_path / "x.csv")


def test_sheets_and_keys_of_different_studies(files: list[str], run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    annotate_responses(*files, out=sheet, contexts=3)
    annotate_dialogues(run, tmp_path / "d.csv", dialogues=3)
    every = {"faithfulness": "a", "relevance": "a", "grammar": "a"}
    with pytest.raises(UserError, match=r"d\.csv|no column 'satisfied'"):
        agree(fill(sheet, "a.csv", lambda _: every), key=tmp_path / "d.key.json")
    with pytest.raises(
        UserError, match=r"row 2: 'maybe' is none of agree, neutral, disagree \(write agree, neutral or"
    ):
        agree(fill(sheet, "b.csv", lambda _: every | {"relevance": "maybe"}))
    with pytest.raises(UserError, match=r"row 2: 'r1-\w+' is not answered .* in the column 'grammar'"):
        agree(fill(sheet, "c.csv", lambda _: every | {"grammar": ""}))
    key = tmp_path / "s.key.json"
    edited = json.loads(key.read_bytes())
    next(iter(edited["items"].values()))["system"] = "third"
    key.write_text(json.dumps(edited))
    with pytest.raises(UserError, match="its responses are not one of each system for each context"):
        agree(fill(sheet, "e.csv", lambda _: every), key=key)
