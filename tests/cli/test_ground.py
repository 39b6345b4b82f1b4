"""`troth ground`, `troth meta eval`, `troth meta fit` by their whole output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth
from tests.readers.grounded_samples import BEGIN

ROWS = [
    {"id": "a", "document": "red wine", "response": "red wine", "label": 1, "source": "x"},
    {"id": "b", "document": "old beer", "response": "old cheese", "label": 0, "source": "x"},
    {"id": "c", "document": "long skis", "response": "short crayons", "label": 0, "source": "y"},
    {"id": "d", "document": "", "response": "red wine", "label": 1, "source": "y"},
    {"id": "e", "document": "green tea", "response": "green tea", "label": 1, "source": "y"},
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


@pytest.fixture
def dev(tmp_path: Path) -> str:
    """Other responses with the same scores and labels."""
    path = tmp_path / "dev.jsonl"
    words = {"red": "white", "old": "cold", "skis": "boots", "green": "black"}
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    for word, other in words.items():
        text = text.replace(word, other)
    path.write_text(text)
    return str(path)


def test_the_table(fine: Troth, data: str) -> None:
    result = fine("ground", data, "--metrics", "u_f1,rouge_l", "--resamples", "1000")
    assert result.out == (
        "metric                    data\n"
        "u_f1     0.625 (0.117 … 0.954)\n"
        "rouge_l  0.625 (0.117 … 0.954)\n"
        "\n"
        "source  n                   u_f1                rouge_l\n"
        "x       2  0.750 (0.009 … 0.999)  0.750 (0.009 … 0.999)\n"
        "y       2  0.500 (0.002 … 0.998)  0.500 (0.002 … 0.998)\n"
        "\n"
        "label  n                   u_f1                rouge_l\n"
        "0      2  0.250 (0.001 … 0.991)  0.250 (0.001 … 0.991)\n"
        "1      2  1.000 (0.012 … 1.000)  1.000 (0.012 … 1.000)\n"
    )
    assert "data: u_f1: 1 of 5 not scored: the document is empty\n" in result.err
    assert "data: 5 responses; intervals over 4 documents\n" in result.err
    assert "U_F1|tok:spacy-en|" in result.err


def test_json(fine: Troth, data: str) -> None:
    (first, *_) = fine("ground", data, "--metrics", "u_f1", "--json").json()
    keys = {"system", "metric", "group", "value", "low", "high", "n", "signature", "scale", "interval_note"}
    assert set(first) == keys | {"recipe", "version"}
    assert first["interval_note"] == "only 2 of 4 documents are below 100%"
    assert (first["system"], first["metric"], first["group"], first["value"], first["n"]) == (
        "data",
        "u_f1",
        "all",
        0.625,
        4,
    )


def test_a_model_by_name(fine: Troth, data: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    found = fine("ground", data, "--metrics", "nli", "--nli", "fake", "--no-cache", "--out", str(run), "--json").json()
    assert "|nli:fake-nli@1|" in found[0]["signature"]
    assert json.loads((run / "run.json").read_text())["arguments"]["models"] == {"nli": "fake", "lm": "embedded"}


def test_standard_input(fine: Troth) -> None:
    found = fine("ground", "-", "--metrics", "u_f1", "--json", stdin=BEGIN.encode()).json()
    assert {score["group"] for score in found} == {"all", "source:tc", "source:wow", "label:0", "label:1"}


def test_several_systems_and_files(fine: Troth, data: str, tmp_path: Path) -> None:
    rows, run = tmp_path / "rows.jsonl", tmp_path / "run"
    result = fine("ground", f"one={data}", f"two={data}", "--metrics", "u_f1", "--rows", str(rows), "--out", str(run))
    assert result.out.splitlines()[0].split() == ["metric", "one", "two"]
    assert len(rows.read_text().splitlines()) == 10
    assert json.loads((run / "run.json").read_text())["counts"]["two"]["responses"] == 5
    table = fine("table", str(run), "--to", "json").json()
    assert {score["system"] for score in table} == {"one", "two"}


def test_fit_and_judge(fine: Troth, troth: Troth, data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "c.json")
    result = fine("meta", "fit", data, "--metrics", "u_f1", "--out", out)
    table, trade_off = result.out.split("\n\n")
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["u_f1", "0.000", "1.000", "1.000", "1.000", "1.000", "1.000", "1.000", "0.000", "4"]
    ]
    assert trade_off.splitlines()[1].split() == ["u_f1", *["1.000"] * 5]
    assert "data.jsonl (5 rows)" in result.err
    judged = fine("ground", data, "--metrics", "u_f1", "--calibration", out).out
    assert "faithful:u_f1   50.00 (6.53 … 93.47)" in judged
    again = troth("meta", "fit", data, "--metrics", "u_f1", "--out", out)
    assert (again.code, "exists already" in again.err) == (2, True)
    Path(out).write_text(Path(out).read_text().replace("spacy-en", "spacy-de"))
    refused = troth("ground", data, "--metrics", "u_f1", "--calibration", out)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "was calibrated as" in refused.err


def test_meta_eval(fine: Troth, data: str, dev: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    result = fine("meta", "eval", data, "--dev", dev, "--metrics", "u_f1,rouge_l", "--resamples", "50", "--out", run)
    headings = [line for line in result.out.splitlines() if line and not line[0].isdigit() and "  " not in line]
    assert headings == [
        "With the threshold from dev (table 1)",
        "The same verdicts, counted over unfaithful responses",
        "F1 by source (table 2)",
        "Without calibration (table 3)",
        "AUROC by source",
        "From dev (table 9)",
        "Against the first metric",
        "AUROC by slice",
        "Reliability: mean score → share of positives, in bins of equal size; ece: expected calibration error, by dev",
    ]
    first = result.out.splitlines()[1:3]
    assert first[0].split() == ["metric", "Precision", "Recall", "F1", "Accuracy"]
    assert first[1].split()[0] == "u_f1"
    assert first[1].count(" 1.000 (") == 4
    assert any(line.split()[:2] == ["ece", "0.000"] for line in result.out.splitlines())
    assert "metric     Min    Max  Threshold\nu_f1     0.000  1.000      1.000\n" in result.out
    assert "5 labelled responses, 3 positive; intervals over 4 documents" in result.err
    assert len(json.loads((Path(run) / "run.json").read_text())["findings"]) == 2


def test_meta_eval_without_dev(fine: Troth, data: str) -> None:
    result = fine("meta", "eval", data, "--metrics", "u_f1", "--resamples", "50", "--to", "markdown")
    assert "table 1" not in result.out
    assert "table 9" not in result.out
    assert "| metric | Spearman | Pearson | AUROC |" in result.out
    measures = "precision, recall, f1, accuracy, unfaithful_recall, unfaithful_precision, false_alarms, ece"
    assert f"no {measures} of u_f1: needs labelled dev data" in result.err


def test_meta_eval_without_a_test_and_with_one_label(fine: Troth, data: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    result = fine("meta", "eval", data, "--metrics", "u_f1,rouge_l", "--resamples", "50", "--out", run)
    (row,) = [line for line in result.out.splitlines() if line.startswith("rouge_l") and "AUROC" in line]
    assert row.split()[-3:] == ["–", "–", "–"], "no test, no corrected p-value"
    stored = json.loads((Path(run) / "run.json").read_text())["scores"]
    (p,) = [score for score in stored if score["metric"] == "p:auroc:rouge_l-u_f1"]
    assert (p["value"], p["reason"]) == (None, "a test needs 10 documents or more")
    ones = tmp_path / "ones.jsonl"
    ones.write_text("".join(json.dumps(row | {"label": 1}) + "\n" for row in ROWS))
    assert "no spearman, pearson, auroc of u_f1, rouge_l: all responses have one label\n" in (
        fine("meta", "eval", str(ones), "--metrics", "u_f1,rouge_l", "--resamples", "50").err
    )


def test_words_have_few_decimals(fine: Troth, data: str, tmp_path: Path) -> None:
    out = tmp_path / "words.jsonl"
    fine("ground", data, "--metrics", "coverage", "--words", str(out))
    doubts = [word["doubt"] for line in out.read_text().splitlines() for word in json.loads(line)["words"]]
    assert doubts
    assert all(doubt == round(doubt, 4) for doubt in doubts)


def test_another_file_is_suggested_only_where_its_name_is_close(troth: Troth, data: str) -> None:
    folder = Path(data).parent
    assert "nope.jsonl: no such file or folder (check the path)" in troth("ground", str(folder / "nope.jsonl")).err
    assert "(did you mean 'data.jsonl'?)" in troth("ground", str(folder / "date.jsonl")).err
    assert "(did you mean 'data.jsonl'?)" in troth("ground", str(folder / "data.json")).err


def test_meta_eval_json(fine: Troth, data: str) -> None:
    found = fine("meta", "eval", data, "--metrics", "u_f1,bleu", "--resamples", "50", "--json").json()
    names = {score["metric"] for score in found if score["group"] == "all"}
    assert {"auroc:u_f1", "spearman:u_f1", "pearson:u_f1", "f1:u_f1", "auroc:bleu", "auroc:bleu-u_f1"} <= names
    missing = next(score for score in found if score["metric"] == "f1:u_f1")
    assert missing["value"] is None
    assert missing["reason"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ground", "{data}", "--metrics", "bluw"), "responses is called 'bluw' (did you mean 'bleu'?)"),
        (("ground", "none.jsonl"), "none.jsonl: no such file or folder"),
        (("ground", "{data}", "--format", "begn"), "no format of grounded responses is called 'begn'"),
        (("ground", "{data}", "--rows", "{data}"), "data.jsonl: exists already"),
        (("ground", "{data}", "--rows", "{data}.new", "--words", "{data}.new"), "is named for two outputs"),
        (("ground", "{data}", "--rows", "{data}.new", "--out", "{data}.new"), "is named for two outputs"),
        (("ground", "{data}", "--calibration", "{data}"), "data.jsonl: not a calibration"),
        (("meta", "eval", "{data}", "--to", "html"), "'html' is not one of 'plain', 'markdown', 'latex', 'csv'"),
        (("meta", "fit", "{data}"), "Missing option '--out'"),
    ],
)  # fmt: skip
def test_wrong_use(troth: Troth, data: str, arguments: tuple[str, ...], said: str) -> None:
    result = troth(*(argument.replace("{data}", data) for argument in arguments))
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


def test_hostile_text_is_shown_and_not_obeyed(fine: Troth, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [ROWS[0] | {"source": "\x1b[31mred"}, ROWS[1] | {"source": "blue"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = fine("ground", str(path), "--metrics", "u_f1")
    assert "\x1b" not in result.out
    assert "\\x1b[31mred" in result.out


def test_meta_eval_on_dev_itself(troth: Troth, data: str) -> None:
    result = troth("meta", "eval", data, "--dev", data, "--metrics", "u_f1")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "data.jsonl: dev has the same content as the test file data.jsonl (take other labelled" in result.err


def test_csv_is_one_table(fine: Troth, dev: str, tmp_path: Path) -> None:
    """A line a score, for programs; what a spreadsheet would run is text."""
    rows = [row | {"source": "=cmd|' /C calc'!A0" if row["source"] == "x" else "two\nlines"} for row in ROWS]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("meta", "eval", str(path), "--dev", dev, "--metrics", "u_f1,rouge_l", "--resamples", "50")
    found = list(csv.DictReader(io.StringIO(fine(*arguments, "--to", "csv").out, newline="")))
    scores = fine(*arguments, "--json").json()
    assert list(found[0]) == ["system", "metric", "group", "value", "low", "high", "n", "signature"]
    assert [(row["metric"], row["group"]) for row in found] == [(one["metric"], one["group"]) for one in scores]
    for row, one in zip(found, scores, strict=True):
        for side in ("value", "low", "high"):
            assert (float(row[side]) if row[side] else None) == one[side]
        assert int(row["n"]) == one["n"]
    assert {row["group"] for row in found if row["group"].startswith("source:")} == {
        "source:=cmd|' /C calc'!A0",
        "source:two\nlines",
    }
    assert all(row["metric"][0].isalpha() for row in found)


def test_formulas_in_csv(fine: Troth, data: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    fine("ground", f"+2+3+cmd|calc={data}", "--metrics", "u_f1", "--out", run)
    found = list(csv.DictReader(io.StringIO(fine("table", run, "--to", "csv").out)))
    assert {row["system"] for row in found} == {"'+2+3+cmd|calc"}
    assert found[0]["value"] == "0.625"


def test_cells_do_not_break_lines(fine: Troth, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [ROWS[0] | {"source": "one\nmore\r\nline"}, ROWS[1] | {"source": "other\tone\u2028here"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = fine("ground", str(path), "--metrics", "u_f1").out
    assert "\none more line   1  1.000" in out
    assert "\nother one here  1  0.500" in out
    latex = fine("meta", "eval", str(path), "--metrics", "u_f1", "--resamples", "5", "--to", "latex").out
    assert "one more line" in latex


def test_what_has_no_score_is_still_a_response(fine: Troth, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row | {"document": ""}) + "\n" for row in ROWS))
    result = fine("ground", f"none={path}", "--metrics", "u_f1")
    assert "none: 5 responses; intervals over 0 documents\n" in result.err
    assert "none: u_f1: 5 of 5 not scored: the document is empty\n" in result.err


def test_an_answer_without_retrieval_is_counted(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Who?"}
    direct = {"messages": [asked, {"role": "assistant", "content": "Crayola."}]}
    searched = {"messages": [asked, {"role": "tool", "content": "By Crayola."}, direct["messages"][-1]]}
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (direct, searched)))
    result = fine("ground", str(path), "--context", "tools", "--metrics", "coverage")
    assert "chats: coverage: 1 of 2 not scored: the document is empty\n" in result.err
    assert "chats: 2 responses; intervals over 1 document\n" in result.err
    direct["messages"][-1]["label"] = "maybe"
    path.write_text(json.dumps(direct))
    wrong = troth("ground", str(path), "--context", "tools", "--metrics", "coverage")
    assert (wrong.code, "label" in wrong.err) == (2, True)


def test_fit_tells_what_it_leaves_out(fine: Troth, data: str, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text(Path(data).read_text() + json.dumps({"id": "n", "document": "d", "response": "r"}) + "\n")
    result = fine("meta", "fit", str(path), "--metrics", "u_f1", "--out", str(tmp_path / "c.json"))
    assert "left out for lack of a label: 1 response\n" in result.err
    assert "u_f1: 1 of 5 not scored: the document is empty\n" in result.err
    assert "from more.jsonl (6 rows, 5 with a label)\n" in result.err


def test_an_interval_that_does_not_exist(fine: Troth, dev: str, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(ROWS[place]) + "\n" for place in (0, 1)))
    for seed in ("0", "1", "2"):
        arguments = ("meta", "eval", str(path), "--dev", dev, "--metrics", "u_f1,rouge_l", "--resamples", "1")
        assert "nan" not in fine(*arguments, "--seed", seed).out


def test_an_explanation_shows_the_first_lines_alone(fine: Troth, tmp_path: Path) -> None:
    data = tmp_path / "long.jsonl"
    numbers = " ".join(f"It has {number} doors." for number in range(30, 60))
    data.write_text(json.dumps({"id": "a", "document": "It has 5 doors.", "response": numbers}))
    lines = fine("ground", str(data), "--metrics", "facts", "--explain", "1").out.splitlines()
    assert sum("number" in line and "doors" in line for line in lines if line.startswith("  ")) == 12
    assert "  … 18 more lines; --json has all" in lines
