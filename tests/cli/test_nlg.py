"""`troth nlg` by its whole output: tables, explanations, files, and one line for whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import troth as package
from tests.cli.conftest import Troth
from tests.responses.build import CORPUS, GOLD, NAME, SCHEMA, dialogue, responses, write
from troth.cli import nlg as command
from troth.core.records import Act, Service
from troth.responses import score as runner
from troth.responses import ser as slot_error
from troth.storage import explorer
from troth.storage import runs as store

WRONG = {**GOLD, ("a", 1): "Fawlty Towers, a hotel in the north.", ("a", 5): ""}
V = package.__version__
SLOTS = slot_error.fingerprint(slot_error.noncategorical_slots(SCHEMA))


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return write(tmp_path)


def test_the_table_is_laid_out_like_table_1(fine: Troth, gold: str, tmp_path: Path) -> None:
    train = tmp_path / "train.json"
    train.write_bytes(msgspec.json.encode([Service("Stays_1")]))
    good, bad = responses(tmp_path, GOLD, "good.jsonl"), responses(tmp_path, WRONG, "bad.jsonl")
    told = fine("nlg", gold, good, bad, "--nli", "fake", "--train-schema", str(train), "--resamples", "20")
    head, first, second = told.out.splitlines()[:3]
    assert head.split() == [
        "system", "bleu", "all", "bleu", "seen", "ser", "all", "ser", "seen",
        "sgsacc_validated", "all", "sgsacc_validated", "seen", "sgsacc", "all", "sgsacc", "seen",
    ]  # fmt: skip
    assert first.split()[:3] == ["good", "100.00", "100.00"]  # BLEU of two dialogues has no interval
    assert second.split()[0] == "bad"
    domains = told.out.splitlines()[4]
    assert domains.split()[:5] == ["system", "bleu", "all", "bleu", "seen_domain"]
    assert "bad seen_domain" in told.out.splitlines()[8]
    assert "sgsacc_gated" in told.out
    assert f"SER|unit:turn|match:substring|schema:{SLOTS}|missing:part|n:5|v:{V}" in told.err
    metrics = [
        "SER",
        "SER_APPLICABLE",
        "BLEU",
        "SGSACC",
        "SGSACC_PLAIN",
        "SGSACC_VALIDATED",
        "SGSACC_GATED",
        "AGREEMENT:SER",
    ]
    assert [line.partition("|")[0] for line in told.err.splitlines() if "|" in line] == metrics
    assert "good: 2 dialogues, 5 turns, 7 acts" in told.err
    assert "bad: 2 dialogues, 5 turns, 1 empty response, 7 acts" in told.err


def test_ser_alone_asks_no_model(fine: Troth, gold: str, tmp_path: Path) -> None:
    told = fine("nlg", gold, responses(tmp_path, WRONG), "--metrics", "ser", "--nli", "/none", "--resamples", "20")
    assert told.out.splitlines() == [
        "system                   ser",
        "system  20.00 (0.07 … 98.89)",
        "",
        "metric                          system",
        "ser_applicable    50.00 (0.21 … 99.79)",
        "coverage:ser      40.00 (0.33 … 99.27)",
        "act_coverage:ser  28.57 (0.19 … 98.82)",
    ]
    assert told.err.splitlines() == [
        "system: 2 dialogues, 5 turns, 1 empty response",
        f"SER|unit:turn|match:substring|schema:{SLOTS}|missing:part|n:5|v:{V}",
        f"SER_APPLICABLE|unit:turn|match:substring|schema:{SLOTS}|missing:part|n:2|v:{V}",
    ]


def test_json_is_an_array_of_scores(fine: Troth, gold: str, tmp_path: Path) -> None:
    told = fine("nlg", gold, f"mine={responses(tmp_path, WRONG)}", "--nli", "fake", "--by", "act,kind", "--json")
    scores = told.json()
    assert {"mine"} == {score["system"] for score in scores}
    found = {(score["metric"], score["group"]): score for score in scores}
    assert {"bleu", "ser", "ser_applicable", "sgsacc", "sgsacc_validated", "sgsacc_gated", "sgsacc_plain"} <= {
        metric for metric, group in found if group == "all"
    }
    assert found["ser", "all"]["value"] == 0.2
    assert 0 < found["bleu", "all"]["value"] < 1
    assert ("sgsacc", "act:OFFER") in found
    assert ("sgsacc", "slots:categorical") in found
    assert all({"value", "low", "high", "n", "signature"} <= score.keys() for score in scores)


def test_one_response_explained(fine: Troth, gold: str, tmp_path: Path) -> None:
    path = responses(tmp_path, {**GOLD, ("a", 1): "Fawlty \x1b[31mTowers,\nhere."})
    told = fine("nlg", gold, path, "--nli", "fake", "--explain", "1", "--resamples", "5")
    shown = told.out[told.out.index("a, turn 1") :].splitlines()
    assert shown[:4] == [
        "a, turn 1",
        "  before    A hotel, please.",
        "  gold      Grand Budapest is a hotel in the north.",
        r"  response  Fawlty \x1b[31mTowers, here.",
    ]
    assert shown[4] == "  NOT TRUE  OFFER(place_name = Grand Budapest); missing: Grand Budapest"
    assert shown[5] == "            “Name of the hotel is Grand Budapest”"
    assert shown[6].startswith("            alone: entailment 0.")
    assert "; in context: entailment 0." in shown[6]
    assert "; not all values are there" in shown[6]
    assert "CONFIRM(area = North)" in shown[7]
    assert "a, turn 3" not in told.out


def test_explained_without_a_model(fine: Troth, gold: str, tmp_path: Path) -> None:
    path = responses(tmp_path, {("a", 1): "In the north.", ("a", 3): "Yes."})
    told = fine("nlg", gold, path, "--metrics", "ser", "--explain", "9", "--resamples", "5")
    assert "  WRONG     OFFER(place_name = Grand Budapest); missing: Grand Budapest" in told.out
    assert "  right     CONFIRM(area = North)" in told.out
    assert "  response  – none –" in told.out
    assert "  right     GOODBYE" in told.out
    assert "3 turns without a response, 1 of them scored as wrong" in told.err


def test_every_act_in_a_file(troth: Troth, fine: Troth, gold: str, tmp_path: Path) -> None:
    out = tmp_path / "acts.jsonl"
    arguments = ("nlg", gold, responses(tmp_path, WRONG), "--nli", "fake", "--acts", str(out), "--resamples", "5")
    assert f"written: {out}" in fine(*arguments).err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["dialogue"], row["turn"], row["act"]) for row in rows[:3]] == [
        ("a", 1, "OFFER"), ("a", 1, "CONFIRM"), ("a", 3, "INFORM"),
    ]  # fmt: skip
    assert len(rows) == 7
    first = rows[0]
    assert first["system"] == "system"
    assert first["plain"].keys() == {"entailment", "neutral", "contradiction"}
    assert first["entailed"] is False
    assert (first["slot"], first["values"], first["kind"]) == ("place_name", ["Grand Budapest"], "name")
    texts = (WRONG["a", 1], GOLD["a", 1], "A hotel, please.")
    assert (first["response"], first["gold"], first["previous"]) == texts
    assert all("excluded" in row for row in rows)
    again = troth(*arguments)
    assert (again.code, again.out) == (2, "")
    assert again.err == f"troth: {out}: exists already (name a new file)\n"


def test_a_run_is_kept_and_compared(fine: Troth, gold: str, tmp_path: Path) -> None:
    runs = []
    for name, texts in (("good", GOLD), ("bad", WRONG)):
        runs.append(str(tmp_path / f"run-{name}"))
        fine("nlg", gold, responses(tmp_path, texts, f"{name}.jsonl"), "--nli", "fake", "--out", runs[-1])
    run = store.load(runs[1])
    assert (run.command, run.arguments["missing"]) == ("nlg", "part")
    assert run.counts["bad"]["empty_responses"] == 1
    assert run.findings
    assert not any(act["entailed"] for act in run.findings)
    told = fine("compare", *runs, "--metrics", "ser,sgsacc", "--resamples", "100", "--json").json()
    assert [one["metric"] for one in told] == ["ser", "sgsacc"]
    assert told[0]["difference"] == pytest.approx(0.2)
    assert "sgsacc" in fine("table", *runs, "--to", "markdown").out
    assert run.arguments["metrics"] is None
    assert (run.arguments["gold"], run.arguments["seed"], run.arguments["gold_text"]) == (gold, 0, True)


def test_a_run_by_groups_makes_full_tables(fine: Troth, gold: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    fine("nlg", gold, responses(tmp_path, WRONG), "--nli", "fake", "--by", "kind,service", "--out", run)
    lines = fine("table", run).out.splitlines()
    for kind, row, known in (  # what stands in a single dialogue has no interval
        ("service", "Stays_1", True), ("kind", "name", True), ("kind", "boolean", False),
        ("slots", "noncategorical", True), ("slots", "categorical", False),
    ):  # fmt: skip
        (head,) = [number for number, line in enumerate(lines) if line.split()[:2] == [kind, "n"]]
        assert "sgsacc" in lines[head].split()
        (line,) = [line for line in lines[head + 1 :] if line.split()[:1] == [row]]
        assert (" … " in line) == known


def test_details_are_the_acts_that_a_rule_fits(fine: Troth, tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "Yes, Grand Budapest.", [Act("AFFIRM"), NAME]))])
    run = str(tmp_path / "run")
    fine("nlg", gold, responses(tmp_path, {("a", 1): "No."}), "--nli", "fake", "--out", run, "--metrics", "sgsacc")
    assert [act["act"] for act in store.load(run).findings] == ["OFFER"]
    assert store.load(run).arguments["metrics"] == "sgsacc"
    (kept_one,) = explorer.read(Path(run) / explorer.NAME).dialogues
    assert len(kept_one.tracks[0].answers[0].acts) == 2


def test_acts_without_validation_do_not_say_that_they_are_valid(fine: Troth, gold: str, tmp_path: Path) -> None:
    out = tmp_path / "acts.jsonl"
    options = ("--metrics", "sgsacc_gated", "--nli", "fake", "--acts", str(out), "--resamples", "5")
    told = fine("nlg", gold, responses(tmp_path, WRONG), *options, "--explain", "9")
    assert not any("excluded" in json.loads(line) for line in out.read_text().splitlines())
    assert "not validated" not in told.out


@pytest.mark.parametrize("missing", ["part", "skip"])
def test_systems_with_other_turns_are_no_contest(fine: Troth, gold: str, tmp_path: Path, missing: str) -> None:
    part = {key: text for key, text in WRONG.items() if key[1] != 3}
    paths = [responses(tmp_path, GOLD, "good.jsonl"), responses(tmp_path, part, "part.jsonl")]
    options = ("--metrics", "ser", "--missing", missing, "--resamples", "20")
    told = fine("nlg", gold, *paths, *options)
    assert (runner.DIFFERENT in told.err) == (missing == "skip")
    result = runner.nlg(gold, *paths, metrics=["ser"], missing=missing, resamples=20)
    marked = [table.best for table in command._tables(result)]
    assert any(marked) == (missing == "part")
    out = str(tmp_path / "run")
    fine("nlg", gold, *paths, *options, "--out", out)
    assert ("different recipes" in fine("table", out).err) == (missing == "skip")


def test_lines_without_ids_are_told(fine: Troth, gold: str, tmp_path: Path) -> None:
    path = tmp_path / "said"
    path.write_text("\n".join(GOLD.values()) + "\n")
    told = fine("nlg", gold, str(path), "--metrics", "ser", "--json", "--resamples", "5")
    assert f"{path}: names no turns: matched to gold's system turns in order" in told.err


def test_what_cannot_be_written_is_told_before_anything_is_judged(troth: Troth, gold: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for out, expected in (
        ("run", "exists and is not a run of troth: it holds 'thesis.tex'"),
        ("file", "exists and is not a run of troth: it is a file"),
        ("file/run", "cannot be written"),
    ):
        for words in (("nlg", gold, "/no/such/responses"), ("meta", "wording", "/no/such/gold")):
            told = troth(*words, "--nli", "/no/such/model", "--out", str(tmp_path / out))
            assert (told.code, told.out) == (2, "")
            assert told.err.startswith(f"troth: {tmp_path / out}: {expected}")


def test_what_is_not_beaten_is_marked_in_every_table(gold: str, tmp_path: Path) -> None:
    paths = [responses(tmp_path, GOLD, "good.jsonl"), responses(tmp_path, WRONG, "bad.jsonl")]
    result = runner.nlg(gold, *paths, metrics=["ser"], resamples=20)
    first, second = command._tables(result)
    best = {(one.metric, one.system) for one in result.unbeaten()}
    assert {("ser", first.rows[row][0]) for row, _ in first.best} == {one for one in best if one[0] == "ser"}
    marked = {(second.rows[row][0], second.columns[column]) for row, column in second.best}
    assert marked == {one for one in best if one[0] != "ser"} != set()


@pytest.mark.parametrize("layout", ["csv", "lines", "ids"])
def test_other_layouts(fine: Troth, gold: str, tmp_path: Path, layout: str) -> None:
    path, ids = tmp_path / "said", tmp_path / "ids"
    if layout == "csv":
        rows = [f'{dialogue},{turn},"{text}"' for (dialogue, turn), text in GOLD.items()]
        path.write_text("\n".join(["dialogue,turn,response", *rows]) + "\n")
    else:
        path.write_text("\n".join(GOLD.values()) + "\n")
        ids.write_text("".join(f"{dialogue} {turn}\n" for dialogue, turn in GOLD))
    options = ["--ids", str(ids)] if layout == "ids" else []
    told = fine("nlg", gold, str(path), "--metrics", "ser,bleu", "--json", "--resamples", "5", *options).json()
    assert {score["metric"]: score["value"] for score in told if "coverage" not in score["metric"]} == {
        "ser": 0.0, "ser_applicable": 0.0, "bleu": 1.0,
    }  # fmt: skip


def test_production_has_no_gold_text(fine: Troth, gold: str, tmp_path: Path) -> None:
    told = fine("nlg", gold, responses(tmp_path, GOLD), "--nli", "fake", "--no-gold-text", "--resamples", "5")
    assert "not scored: bleu, sgsacc_validated: gold has no utterances" in told.err
    assert "|select:any|" in told.err


def test_a_schema_without_descriptions_is_told_once(fine: Troth, tmp_path: Path) -> None:
    bare = msgspec.structs.replace(
        SCHEMA["Stays_1"],
        slots=tuple(msgspec.structs.replace(slot, description="") for slot in SCHEMA["Stays_1"].slots),
        intents=(),
    )
    gold = write(tmp_path, CORPUS, {"Stays_1": bare})
    told = fine("nlg", gold, responses(tmp_path, GOLD), "--nli", "fake", "--resamples", "5")
    assert told.err.count("the schema has no descriptions: names stand in their place") == 1
    assert "|desc:none|" in told.err


def bad_row(tmp_path: Path, text: str) -> str:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"dialogue": "zz", "turn": 1, "response": "x"}', "bad.jsonl: dialogue zz, turn 1: line 1: gold has no such"),
        ('{"dialogue": "a", "turn": 2, "response": "x"}', "bad.jsonl: dialogue a, turn 2: line 1: the user speaks"),
        ('{"dialogue": "a", "turn": 1}', "bad.jsonl: line 1: the object has no 'response'"),
        ("{", "bad.jsonl: line 1: broken JSON"),
    ],
)  # fmt: skip
def test_bad_responses(troth: Troth, gold: str, tmp_path: Path, text: str, expected: str) -> None:
    told = troth("nlg", gold, bad_row(tmp_path, text), "--nli", "fake")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert expected in told.err


def test_an_act_with_an_unknown_slot(troth: Troth, tmp_path: Path) -> None:
    gold = write(tmp_path, [dialogue("a", ("x", "y", [NAME, Act("OFFER", "plaze_name", ("z",))]))])
    told = troth("nlg", gold, responses(tmp_path, {("a", 1): "x"}), "--nli", "fake")
    assert told.code == 2
    assert "dialogues_001.json: dialogue a, turn 1: slot 'plaze_name' of act OFFER" in told.err
    assert "did you mean 'place_name'?" in told.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--metrics", "sgsac"], "did you mean 'sgsacc'?"),
        (["--by", "slots"], "did you mean 'slot'?"),
        (["--missing", "all"], "--missing"),
        (["--schema", "/none.json"], "/none.json: no such file"),
        (["--pred-format", "xml"], "the format of responses cannot be 'xml'"),
        (["--explain", "1", "--json"], "--explain is for reading, --json for programs"),
        (["--acts", "acts.jsonl", "--metrics", "ser,bleu"], "--acts are SGSAcc's verdicts, which --metrics leaves out"),
    ],
)
def test_wrong_use(troth: Troth, gold: str, tmp_path: Path, options: list[str], expected: str) -> None:
    told = troth("nlg", gold, responses(tmp_path, GOLD), "--nli", "fake", *options)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert expected in told.err
