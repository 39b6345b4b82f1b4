"""`troth meta annotate` and `agree`: from a run to a sheet, and back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, HASTY, Troth
from tests.report.make import reseal


@pytest.fixture
def run(fine: Troth, tmp_path: Path) -> str:
    """Gold's own utterances, some of them cut short, judged by a model that counts words."""
    out = tmp_path / "run"
    with (tmp_path / "mine.jsonl").open("w") as file:
        for dialogue in json.loads((Path(GOLD) / "dialogues_001.json").read_bytes()):
            for number, turn in enumerate(dialogue["turns"]):
                if turn["speaker"] == "SYSTEM" and number % 8 != 7:
                    said = turn["utterance"] if number % 3 else turn["utterance"][: len(turn["utterance"]) // 2]
                    file.write(
                        json.dumps({"dialogue": dialogue["dialogue_id"], "turn": number, "response": said}) + "\n"
                    )
    fine(
        "nlg", GOLD, str(tmp_path / "mine.jsonl"), "--metrics", "sgsacc", "--nli", "fake", "--resamples", "20",
        "--out", str(out),
    )  # fmt: skip
    return str(out)


def sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, rows: list[dict[str, str]], answers: dict[str, str]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "faithful": answers[row["id"]]} for row in rows)
    return str(path)


def test_from_a_run_to_a_sheet_and_back(fine: Troth, run: str, tmp_path: Path) -> None:
    out = tmp_path / "sheet.csv"
    told = fine("meta", "annotate", run, "--out", str(out), "--pairs", "20", "--of", "all")
    key = json.loads((tmp_path / "sheet.key.json").read_bytes())
    rows = sheet(out)
    assert [row["id"] for row in rows] == list(key["pairs"])
    assert len(rows) == 20
    assert f"10 of {key['faithful']} that sgsacc marks faithful, 10 of {key['unfaithful']} unfaithful" in told.err
    assert (key["system"], key["metric"]) == ("mine", "sgsacc")
    assert key["recipe"].startswith("SGSACC|")
    said = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    texts = {(row["dialogue"], row["turn"]): row["response"] for row in said}
    for row in rows:
        pair = key["pairs"][row["id"]]
        assert pair["utterance"] == texts[pair["dialogue"], pair["turn"]]
        assert row["utterance"].endswith(pair["utterance"])
        assert row["previous turn"].endswith(pair["previous"])
        assert row["act"] == pair["words"]
    right = {id: "yes" if pair["faithful"] else "no" for id, pair in key["pairs"].items()}
    first = rows[0]["id"]
    wrong = right | {first: "no" if right[first] == "yes" else "yes"}
    sheets = [fill(tmp_path / f"{n}.csv", rows, answers) for n, answers in enumerate((wrong, wrong, right))]
    result = fine(
        "meta", "agree", *sheets, "--key", str(tmp_path / "sheet.key.json"), "--disagreements", str(tmp_path / "d")
    )
    lines = result.out.splitlines()
    assert lines[0].split() == ["metric", "group", "value", "95%", "interval", "pairs"]
    assert lines[1].split()[:3] == ["accuracy:sgsacc", "all", "95.00"]
    assert any(line.startswith("fleiss_kappa ") for line in lines)
    assert f"{first} (" in result.out
    assert "3 annotators, 20 pairs; 1 disagreements with the metric" in result.err
    (row,) = map(json.loads, (tmp_path / "d").read_text().splitlines())
    assert (row["id"], len(row["votes"])) == (first, 3)
    scores = fine("meta", "agree", *sheets, "--key", str(tmp_path / "sheet.key.json"), "--json").json()
    assert {score["metric"] for score in scores} == {
        "accuracy:sgsacc", "precision:sgsacc", "recall:sgsacc", "f1:sgsacc", "fleiss_kappa",
    }  # fmt: skip


def test_verdicts_are_those_of_the_run(fine: Troth, run: str, tmp_path: Path) -> None:
    """Every act that the run's own file of verdicts has is in the key with the same verdict."""
    fine("nlg", GOLD, str(tmp_path / "mine.jsonl"), "--metrics", "sgsacc", "--nli", "fake", "--resamples", "20",
         "--acts", str(tmp_path / "acts.jsonl"))  # fmt: skip
    acts = [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    invalid = {(act["dialogue"], act["turn"]) for act in acts if act["excluded"]}
    said = {
        (row["dialogue"], row["turn"]) for row in map(json.loads, (tmp_path / "mine.jsonl").read_text().splitlines())
    }
    for of in ("validated", "excluded"):
        fine("meta", "annotate", run, "--out", str(tmp_path / f"{of}.csv"), "--pairs", "2000", "--of", of)
        key = json.loads((tmp_path / f"{of}.key.json").read_bytes())
        drawn = {
            (pair["dialogue"], pair["turn"], pair["service"], pair["act"], pair["slot"], *pair["values"]): pair[
                "faithful"
            ]
            for pair in key["pairs"].values()
        }
        expected = {
            (act["dialogue"], act["turn"], act["service"], act["act"], act["slot"], *act["values"]): act["entailed"]
            for act in acts
            if (act["dialogue"], act["turn"]) in said
            and act["reference"] is not None
            and ((act["dialogue"], act["turn"]) in invalid) == (of == "excluded")
        }
        assert drawn == expected
        assert drawn


def test_without_a_key_and_with_ties(fine: Troth, run: str, tmp_path: Path) -> None:
    told = fine("meta", "annotate", run, "--out", str(tmp_path / "s.csv"), "--pairs", "6", "--of", "all", "--json")
    assert told.json()["pairs"] == 6
    rows = sheet(tmp_path / "s.csv")
    first = fill(tmp_path / "a.csv", rows, {row["id"]: "yes" for row in rows})
    second = fill(tmp_path / "b.csv", rows, {row["id"]: "no" if row is rows[1] else "yes" for row in rows})
    alone = fine("meta", "agree", first, second)
    assert [line.split()[0] for line in alone.out.splitlines()] == ["metric", "fleiss_kappa"]
    assert "2 annotators, 6 pairs; --key adds what the answers mean for the metric" in alone.err
    keyed = fine("meta", "agree", first, second, "--key", str(tmp_path / "s.key.json"), "--examples", "0")
    assert f"1 undecided (ties, left out: {rows[1]['id']})" in keyed.err
    one = fine("meta", "agree", first, "--key", str(tmp_path / "s.key.json"))
    assert "not scored: fleiss_kappa: one annotator has nobody to agree with" in one.err


def test_bad_runs(troth: Troth, run: str, tmp_path: Path) -> None:
    def fails(told: str, *arguments: str) -> None:
        result = troth("meta", "annotate", *arguments)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert told in result.err

    out = str(tmp_path / "s.csv")
    fails("not a run: no run.json in it", GOLD, "--out", out)
    fails("a sheet's name ends in .csv", run, "--out", str(tmp_path / "s.txt"))
    fails("no system is called 'mne' (did you mean 'mine'?)", run, "--out", out, "--system", "mne")
    fails("its folder does not exist", run, "--out", str(tmp_path / "no" / "s.csv"))
    (tmp_path / "s.key.json").write_text("old")
    fails("s.key.json: exists already", run, "--out", out)
    (tmp_path / "s.key.json").unlink()
    troth("dst", GOLD, GOLD, "--out", str(tmp_path / "dst"))
    fails("not a run with sgsacc (make one with troth nlg", str(tmp_path / "dst"), "--out", out)
    record = json.loads((Path(run) / "run.json").read_bytes())
    record["scores"] = [score for score in record["scores"] if score["metric"] != "sgsacc_validated"]
    (Path(run) / "run.json").write_text(json.dumps(record))
    reseal(run)
    fails("the run has no sgsacc_validated (score that, too, or draw from all turns)", run, "--out", out)
    (Path(run) / "dialogues.jsonl.gz").write_bytes(b"x")
    reseal(run)
    fails("dialogues.jsonl.gz: cannot be read: ", run, "--out", out, "--of", "all")
    (Path(run) / "dialogues.jsonl.gz").unlink()
    fails("no dialogues.jsonl.gz in it, which has the texts (make the run again)", run, "--out", out, "--of", "all")
    assert not list(tmp_path.glob("s*"))


def test_files_that_changed_since_do_not_matter(fine: Troth, run: str, tmp_path: Path) -> None:
    """What people see is what was scored: the run keeps it."""
    arguments = ("meta", "annotate", run, "--pairs", "20", "--of", "all", "--out")
    fine(*arguments, str(tmp_path / "before.csv"))
    (tmp_path / "mine.jsonl").write_text('{"dialogue": "figure_1", "turn": 1, "response": "Hm."}\n')
    fine(*arguments, str(tmp_path / "after.csv"))
    (tmp_path / "mine.jsonl").unlink()
    fine(*arguments, str(tmp_path / "gone.csv"))
    texts = [(tmp_path / f"{name}.csv").read_bytes() for name in ("before", "after", "gone")]
    assert texts[0] == texts[1] == texts[2]


def test_the_key_names_the_recipe_by_which_pairs_were_chosen(fine: Troth, run: str, tmp_path: Path) -> None:
    for of, name in (("validated", "SGSACC_VALIDATED|"), ("excluded", "SGSACC_VALIDATED|"), ("all", "SGSACC|")):
        fine("meta", "annotate", f"{run}/run.json", "--out", str(tmp_path / f"{of}.csv"), "--pairs", "4", "--of", of)
        assert json.loads((tmp_path / f"{of}.key.json").read_bytes())["recipe"].startswith(name)


def test_the_study_of_whole_dialogues(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    fine("dst", GOLD, HASTY, "--resamples", "10", "--out", str(tmp_path / "dst"))
    out = tmp_path / "s.csv"
    arguments = ("meta", "annotate", str(tmp_path / "dst"), "--study", "fga", "--out", str(out))
    made = fine(*arguments, "--pairs", "12")
    assert "12 dialogues of hasty" in made.err
    rows = sheet(out)
    filled = []
    for number in range(2):
        filled.append(str(tmp_path / f"{number}.csv"))
        with Path(filled[-1]).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(
                {**row, "satisfied": "0" if "Matched : False" in row["dialogue"] and place % 4 > number else "1"}
                for place, row in enumerate(rows)
            )
    result = fine("meta", "agree", *filled, "--key", str(tmp_path / "s.key.json"), "--resamples", "50")
    names = [line.split()[0] for line in result.out.splitlines()]
    assert {"satisfied", "pearson:jga", "pearson:aga", "pearson:fga@0.5", "fleiss_kappa"} <= set(names)
    assert "2 annotators, 12 dialogues" in result.err
    refused = troth("meta", "annotate", "a", "b", "--study", "fga", "--out", str(tmp_path / "x.csv"))
    assert refused.code == 2
    assert "--study fga takes one run, not 2" in refused.err


def test_the_study_of_two_systems(fine: Troth, tmp_path: Path) -> None:
    for name in ("greedy", "pmi"):
        lines = [{"id": str(n), "document": f"d {n}", "response": f"{name[0]} {n}"} for n in range(12)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = [str(tmp_path / f"{name}.jsonl") for name in ("greedy", "pmi")]
    out = tmp_path / "s.csv"
    made = fine("meta", "annotate", *files, "--study", "pmi-decode", "--out", str(out), "--json")
    assert made.json()["responses"] == 24
    assert "24 responses of greedy and pmi" in made.err
    assert "fewer than 100" in made.err
    rows = sheet(out)
    filled = tmp_path / "a.csv"
    with filled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            answer = "agree" if row["response"].startswith("p") else "neutral"
            writer.writerow({**row, "faithfulness": answer, "relevance": "agree", "grammar": "disagree"})
    result = fine("meta", "agree", str(filled), "--key", str(tmp_path / "s.key.json"), "--resamples", "50")
    cells = [line.split() for line in result.out.splitlines() if line]
    assert ["agree:faithfulness", "pmi", "100.00"] in [line[:3] for line in cells]
    assert ["agree:faithfulness", "greedy", "0.00"] in [line[:3] for line in cells]
    assert ["agree:faithfulness", "pmi", "−", "greedy", "+100.00"] in [line[:5] for line in cells]
