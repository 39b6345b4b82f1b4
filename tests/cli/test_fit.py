"""`troth meta fit` for the unfaithful, its curves, and what its thresholds do on other data; the absolute gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth

WORDS = ["red", "blue", "green", "small", "large", "round", "square", "heavy", "light", "old"]


def labelled(path: Path, shift: int = 0) -> str:
    """Twelve responses; the share of words in the document falls, and the last four are unsupported."""
    rows = []
    for number in range(12):
        kept = max(0, 10 - number - shift)
        said = [*WORDS[:kept], *(f"other{n}" for n in range(10 - kept))]
        document = f"{' '.join(WORDS)} document{number}"
        rows.append({"id": str(number), "document": document, "response": " ".join(said), "label": int(number < 8)})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_fit_for_the_unfaithful(fine: Troth, tmp_path: Path) -> None:
    data, other = labelled(tmp_path / "dev.jsonl"), labelled(tmp_path / "other.jsonl", 2)
    curves = tmp_path / "curves.csv"
    made = fine(
        "meta", "fit", data, "--metrics", "coverage", "--recall", "0.9", "--transfer", other, "--curves", str(curves),
        "--out", str(tmp_path / "c.json"),
    )  # fmt: skip
    fitted, _, moved = (block.splitlines() for block in made.out.split("\n\n"))
    assert fitted[0].split()[:6] == ["metric", "min", "max", "threshold", "normalised", "F1"]
    assert fitted[1].split() == [
        "coverage",
        "0.000",
        "1.000",
        "0.300",
        "0.300",
        "1.000",
        "1.000",
        "1.000",
        "0.000",
        "12",
    ]
    assert " ".join(moved[0].split()) == f"on {other} AUROC unfaithful recall unfaithful precision false alarms"
    assert [cell for cell in moved[1].split() if "(" not in cell and ")" not in cell and cell != "…"][1:] == [
        "1.000", "1.000", "0.667", "0.250",
    ]  # fmt: skip
    assert "the threshold rests on 4 unfaithful responses only" in made.err
    lines = curves.read_text().splitlines()
    assert lines[0] == "metric,threshold,recall,precision,false_alarms"
    assert lines[1].split(",")[2:] == ["0.0", "", "0.0"]
    assert lines[-1].split(",")[2:4] == ["1.0", repr(4 / 12)]


def test_the_threshold_is_printed_as_a_score_of_the_metric(fine: Troth, tmp_path: Path) -> None:
    """Coverage from 0.5 to 1.0: the threshold 0.75 is 0.5 of the way."""
    rows = [
        {"id": name, "document": f"red blue {name}", "response": response, "label": label}
        for name, response, label in [
            ("a", "red grey", 0), ("b", "red blue", 1), ("c", "red blue blue grey", 1), ("d", "blue pink", 0),
        ]
    ]  # fmt: skip
    data = tmp_path / "dev.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = fine("meta", "fit", str(data), "--metrics", "coverage", "--out", str(tmp_path / "c.json"))
    assert made.out.splitlines()[1].split()[:5] == ["coverage", "0.500", "1.000", "0.750", "0.500"]


def test_as_json_with_transfer(fine: Troth, tmp_path: Path) -> None:
    data, other = labelled(tmp_path / "dev.jsonl"), labelled(tmp_path / "other.jsonl", 2)
    made = fine("meta", "fit", data, "--metrics", "coverage", "--precision", "1", "--transfer", other, "--json",
                "--out", str(tmp_path / "c.json")).json()  # fmt: skip
    assert made["calibration"]["metrics"][0]["aim"] == "precision:1"
    assert {score["metric"] for score in made["transfer"]} == {
        "auroc:coverage", "unfaithful_recall:coverage", "unfaithful_precision:coverage", "false_alarms:coverage",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--recall", "0.9", "--precision", "0.9"], "recall and precision exclude each other"),
        (["--recall", "0"], "0.0 is not in the range 0<x<=1"),
        (["--recall", "nan"], "nan"),
        (["--curves", "curves.doc"], "curves cannot be written under this name"),
        (["--transfer", "{data}"], "dev has the same content as the test file"),
    ],
)
def test_refused(troth: Troth, tmp_path: Path, options: list[str], said: str) -> None:
    data = labelled(tmp_path / "dev.jsonl")
    out = tmp_path / "c.json"
    result = troth(
        "meta", "fit", data, "--metrics", "coverage", "--out", str(out), *(o.format(data=data) for o in options)
    )
    assert result.code == 2
    assert said in result.err
    assert not (tmp_path / "curves.doc").exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("nope.jsonl", "nope.jsonl: no such file or folder"),
        ("unlabelled.jsonl", "unlabelled.jsonl: no response has a label"),
        ("dev.jsonl", "dev has the same content as the test file"),
    ],
)
def test_an_error_in_transfer_data_writes_nothing(troth: Troth, tmp_path: Path, other: str, said: str) -> None:
    data, out, curves = labelled(tmp_path / "dev.jsonl"), tmp_path / "c.json", tmp_path / "c.csv"
    (tmp_path / "unlabelled.jsonl").write_text('{"id": "1", "document": "a tram", "response": "a tram"}\n')
    result = troth(
        "meta", "fit", data, "--metrics", "coverage", "--transfer", str(tmp_path / other), "--curves", str(curves),
        "--out", str(out),
    )  # fmt: skip
    assert (result.code, said in result.err) == (2, True), result.err
    assert not out.exists()
    assert not curves.exists()


def test_two_outputs_of_one_name(troth: Troth, tmp_path: Path) -> None:
    data, out = labelled(tmp_path / "dev.jsonl"), tmp_path / "c.csv"
    same = ["--curves", str(tmp_path / "." / "c.csv"), "--out", str(out)]
    result = troth("meta", "fit", data, "--metrics", "coverage", *same)
    assert (result.code, "c.csv: is named for two outputs (name a file for each)" in result.err) == (2, True)
    assert not out.exists()


def test_a_calibration_of_chats_is_for_their_context(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    chats, calibration = tmp_path / "chats.jsonl", str(tmp_path / "c.json")
    rows = [
        {"messages": [
            {"role": "user", "content": "Who makes crayons?"}, {"role": "tool", "content": f"Crayola does, shop {n}."},
            {"role": "assistant", "content": "Crayola does." if n % 2 else "Skis are long.", "label": n % 2},
        ]}
        for n in range(4)
    ]  # fmt: skip
    chats.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fine("meta", "fit", str(chats), "--context", "tools", "--metrics", "coverage", "--out", calibration)
    ground = ("ground", str(chats), "--metrics", "coverage", "--calibration", calibration)
    assert "faithful:coverage" in fine(*ground, "--context", "tools").out
    other = troth(*ground)
    assert other.code == 2
    assert (
        "c.json: the calibration was fitted with the context tools, and the chats are read with tools+user+system"
        in (other.err)
    )
    data = labelled(tmp_path / "rows.jsonl")
    fine("ground", data, "--metrics", "coverage", "--calibration", calibration)  # no chats, no context


def test_an_absolute_gate(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    """Eight of twelve are faithful: above 20% for sure, below 99% for sure, and around 70% nobody knows."""
    data, calibration, run = labelled(tmp_path / "dev.jsonl"), str(tmp_path / "c.json"), str(tmp_path / "run")
    fine("meta", "fit", data, "--metrics", "coverage", "--out", calibration)
    fine("ground", data, "--metrics", "coverage", "--calibration", calibration, "--out", run)
    gate = ("gate", run, "--metric", "faithful:coverage", "--at-least")
    assert fine(*gate, "20").out.startswith("reached: faithful:coverage 66.67 (")
    missed = troth(*gate, "99")
    assert (missed.code, missed.out.startswith("missed: faithful:coverage 66.67 (")) == (1, True)
    assert "over 12 documents, at least 99" in missed.out
    undecided = fine(*gate, "70")
    assert undecided.out.endswith("too few documents to tell\n")
    assert troth(*gate, "70", "--strict").code == 1
    assert fine(*gate, "20", "--json").json()["verdict"] == "reached"
    number = fine("gate", run, "--metric", "coverage", "--at-least", "0.1")
    assert number.out.startswith("reached: coverage 0.")


@pytest.mark.parametrize(
    "options", [["--margin", "1"], [], ["--at-least", "5", "--margin", "1"], ["{run}", "--at-least", "5"], ["{run}"]]
)
def test_a_gate_takes_one_run_or_two(fine: Troth, troth: Troth, tmp_path: Path, options: list[str]) -> None:
    data, run = labelled(tmp_path / "dev.jsonl"), str(tmp_path / "run")
    fine("ground", data, "--metrics", "coverage", "--out", run)
    result = troth("gate", run, *(one.format(run=run) for one in options), "--metric", "coverage")
    assert result.code == 2
    assert "a gate needs two runs and --margin, or one run and --at-least" in result.err


def test_a_share_is_given_in_percent(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    data, calibration, run = labelled(tmp_path / "dev.jsonl"), str(tmp_path / "c.json"), str(tmp_path / "run")
    fine("meta", "fit", data, "--metrics", "coverage", "--out", calibration)
    fine("ground", data, "--metrics", "coverage", "--calibration", calibration, "--out", run)
    for value in ("195", "0.95", "0", "-5"):
        result = troth("gate", run, "--metric", "faithful:coverage", "--at-least", value)
        assert (result.code, "in percent, above 1 and at most 100" in result.err) == (2, True), value


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--margin", "2"), "a margin of 2 accepts almost any result: coverage is between 0 and 1 (a margin is in the "
         "metric's own unit: for example 0.02)"),
        (("--at-least", "95"), "a limit of 95 decides nothing: coverage is between 0 and 1 (give a limit within this"),
        (("--at-least", "0"), "a limit of 0 decides nothing: coverage is between 0 and 1"),
    ],
)  # fmt: skip
def test_a_limit_that_decides_nothing(
    fine: Troth, troth: Troth, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    runs = [str(tmp_path / name) for name in (("old", "new") if "--margin" in options else ("new",))]
    for run in runs:
        fine("ground", labelled(Path(f"{run}.jsonl")), "--metrics", "coverage", "--out", run)
    result = troth("gate", *runs, "--metric", "coverage", *options)
    assert (result.code, said in result.err) == (2, True), result.err


def test_a_gate_says_what_was_not_scored(fine: Troth, tmp_path: Path) -> None:
    data = tmp_path / "answers.jsonl"
    rows = [{"id": str(n), "document": f"Tram {n}.", "response": "Tram." if n < 4 else " "} for n in range(6)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fine("ground", str(data), "--metrics", "coverage", "--out", str(tmp_path / "run"))
    said = fine("gate", str(tmp_path / "run"), "--metric", "coverage", "--at-least", "0.5")
    assert "coverage: 2 of 6 not scored" in said.err


def test_two_equal_documents_prove_nothing(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    """PMI-Faith has no highest value, so equal ones have no bound: the gate neither passes nor fails."""
    data = tmp_path / "answers.jsonl"
    rows = [{"id": str(n), "document": f"Trams run daily. {n}", "response": "Trams run daily."} for n in range(2)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fine("ground", str(data), "--metrics", "pmi_faith", "--lm", "fake", "--out", str(tmp_path / "run"))
    gate = ("gate", str(tmp_path / "run"), "--metric", "pmi_faith", "--at-least", "-1000")
    said = fine(*gate)
    assert said.out.startswith("undecided: pmi_faith ")
    assert "too few documents to tell: every dialogue gives the same value" in said.out
    assert troth(*gate, "--strict").code == 1
