"""`troth robust`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth
from troth import demo

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))


def test_checkdst_prints_table_2_and_the_flips(fine: Troth) -> None:
    result = fine(
        "robust", "checkdst", f"{GOLD},{HASTY}", f"NED={GOLD},{STURDY}", "--profile", "trade", "--name", "mine",
        "--coref", "patterns", "--examples", "2",
    )  # fmt: skip
    lines = result.out.splitlines()
    assert lines[0].split() == ["system", "jga", "coref_jga", "cjga:NED", "nohf", "nohf:NED"]
    assert lines[1].startswith("mine")
    assert lines[3].split() == ["set", "jga", "cjga", "cjga_all", "nohf"]
    assert sum(line.startswith("NED: right ") for line in lines) == 2
    assert "NED: " in result.err
    assert "the other way; without a twin: 0 of the original, 0 perturbed" in result.err


def test_checkdst_of_several_systems_is_one_table(fine: Troth) -> None:
    sets = [f"{name}:{label}={GOLD},{pred}" for name, pred in (("a", HASTY), ("b", STURDY)) for label in ("orig", "X")]
    result = fine("robust", "checkdst", *sets, "--profile", "trade", "--examples", "1")
    lines = [line.split() for line in result.out.splitlines()]
    assert [line[0] for line in lines[:3]] == ["system", "a", "b"]
    assert [line[:2] for line in lines[4:9]] == [
        ["set", "system"], ["original", "a"], ["original", "b"], ["X", "a"], ["X", "b"],
    ]  # fmt: skip
    assert "a:X: 0 units right before" in result.err


def test_sgdx_of_several_systems(fine: Troth, tmp_path: Path) -> None:
    sets = ["a:v1=" + HASTY, "a:v2=" + STURDY, "b:v1=" + STURDY, "b:v2=" + GOLD]
    charts = [tmp_path / "services.svg", tmp_path / "variants.svg"]
    drawn = ["--chart", str(charts[0]), "--chart-variants", str(charts[1])]
    result = fine("robust", "sgdx", GOLD, *sets, "--examples", "1", *drawn)
    lines = result.out.splitlines()
    assert lines[0].split() == ["metric", "a", "b"]
    assert [line.split(":")[0] for line in lines if "varies: " in line] == ["a", "b"]
    assert all(chart.read_text().startswith("<svg") for chart in charts)


def test_a_missing_interval_is_explained(fine: Troth, tmp_path: Path) -> None:
    few = str(tmp_path / "few.jsonl")  # predictions for a single dialogue: JGA is near 0
    fine("convert", HASTY, few, "--to", "jsonl", "--shots", "0.05")
    result = fine("robust", "sgdx", GOLD, f"v1={HASTY}", f"v2={STURDY}", f"orig={few}", "--by", "")
    assert "jga_drop: no interval: it would be wider than 100 points" in result.err


def test_checkdst_json(fine: Troth) -> None:
    result = fine("robust", "checkdst", f"{GOLD},{HASTY}", f"PI={GOLD},{HASTY}", "--profile", "trade", "--json")
    scores = {score["metric"]: score for score in json.loads(result.out)}
    assert list(scores) == ["jga", "nohf", "coref_jga", "jga:PI", "cjga:PI", "cjga_all:PI", "nohf:PI"]
    assert scores["cjga:PI"]["value"] == 1.0
    assert scores["coref_jga"]["value"] is None
    assert scores["coref_jga"]["reason"]
    assert scores["cjga:PI"]["signature"].startswith("CJGA:PI|profile:trade|unit:turn|")
    assert "|right:exact|" in scores["jga"]["signature"]


def test_runs_and_checkpoints(fine: Troth, tmp_path: Path) -> None:
    for step, twin in ((1, HASTY), (2, STURDY)):
        fine(
            "robust", "checkdst", f"{GOLD},{HASTY}", f"NED={GOLD},{twin}", "--profile", "trade",
            "--out", str(tmp_path / f"step{step}"),
        )  # fmt: skip
    paths = [str(tmp_path / f"step{step}") for step in (1, 2)]
    medians = fine("robust", "runs", *paths).out.splitlines()
    assert medians[0].startswith("system (median ± half of the 95% interval)  ")
    assert medians[0].split()[-4:] == ["jga", "cjga:NED", "nohf", "nohf:NED"]
    assert "33.3 ± 0.0" in medians[1]
    paper = fine("robust", "runs", *paths, "--error", "se", "--to", "csv").out
    assert paper.startswith("system (median ± standard error),jga,")
    assert fine("robust", "runs", *paths, "--to", "latex").out.startswith("\\begin{tabular}")
    picked = fine("robust", "checkpoints", *paths, "--pick")
    assert picked.out == f"{paths[0]}\n"  # the same JGA, and consistent with itself
    assert picked.err.startswith("average slack: 1.98; best JGA: ")
    chart = tmp_path / "curves.svg"
    told = fine("robust", "checkpoints", *paths, "--chart", str(chart))
    assert "least average slack: " in told.out
    assert "best JGA minus the first checkpoint: jga +0.0" in told.out
    assert chart.read_text().startswith("<svg")
    both = json.loads(fine("robust", "checkpoints", *paths, "--json").out)
    assert both["checkpoints"][0]["slack"] <= both["checkpoints"][1]["slack"]


def test_runs_of_several_systems_with_slack_best_and_worst(fine: Troth, tmp_path: Path) -> None:
    for name, pred in (("hasty", HASTY), ("sturdy", STURDY)):
        fine(
            "robust", "checkdst", f"{GOLD},{pred}", f"NED={GOLD},{pred}", "--profile", "trade", "--name", name,
            "--out", str(tmp_path / name),
        )  # fmt: skip
    paths = [str(tmp_path / name) for name in ("hasty", "sturdy")]
    head, *rows = fine("robust", "runs", *paths).out.splitlines()
    assert head.split() == ["system", "(median)", "jga", "cjga:NED", "nohf", "nohf:NED", "slack"]
    assert [row.split()[-1] for row in rows][1] == "0.0"
    marked = fine("robust", "runs", *paths, "--to", "latex").out.splitlines()
    hasty, sturdy = ([cell.strip(" \\") for cell in line.split("&")] for line in marked[4:6])
    assert (hasty[1].startswith("underline{"), sturdy[1].startswith("textbf{")) == (True, True)
    assert hasty[2] == sturdy[2]  # consistent with itself: nothing to mark
    found = json.loads(fine("robust", "runs", *paths, "--json").out)
    assert {one["system"] for one in found if one["metric"] == "slack"} == {"hasty", "sturdy"}
    *_, family = fine("robust", "runs", *paths, "--family", "both=hasty,sturdy", "--to", "csv").out.splitlines()
    halves = [
        (float(one) + float(other)) / 2 for one, other in zip(rows[0].split()[1:], rows[1].split()[1:], strict=True)
    ]
    assert family.split(",")[0] == "both"
    assert [float(cell) for cell in family.split(",")[1:]] == pytest.approx(halves, abs=0.1)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("GEN", "--family 'GEN' is not of the form NAME=SYSTEM,SYSTEM"),
        ("GEN=", "--family 'GEN=' is not of the form NAME=SYSTEM,SYSTEM"),
        ("GEN=hastie", "family 'GEN' names the system 'hastie', which no run has (did you mean 'hasty'?)"),
        ("hasty=hasty", "'hasty' names a family and a system"),
    ],
)
def test_a_family_that_cannot_be(fine: Troth, troth: Troth, tmp_path: Path, family: str, message: str) -> None:
    fine("robust", "checkdst", f"{GOLD},{HASTY}", f"NED={GOLD},{HASTY}", "--name", "hasty", "--profile", "trade",
         "--out", str(tmp_path / "run"))  # fmt: skip
    refused = troth("robust", "runs", str(tmp_path / "run"), "--family", family)
    assert refused.code == 2
    assert message in refused.err


def test_reversed_lines_of_one_variant(fine: Troth, tmp_path: Path) -> None:
    wordings = demo.path("wordings/paraphrases.json")
    fine("perturb", "schema", GOLD, str(tmp_path / "variants"), "--paraphrases", wordings, "--count", "3")
    files = {f"v{number}": Path(demo.path(f"wordings/hasty-v{number}.jsonl")) for number in (1, 2, 3)}
    turned = tmp_path / "v2.jsonl"
    turned.write_text("\n".join(files["v2"].read_text().splitlines()[::-1]))
    printed = []
    for changed in ({}, {"v2": turned}):
        variants = [f"{label}={file}" for label, file in {**files, **changed}.items()]
        printed.append(fine("robust", "sgdx", GOLD, *variants, "--from", str(tmp_path / "variants"), "--json").out)
    assert printed[0] == printed[1]
    scores = {(score["metric"], score["group"]): score["value"] for score in json.loads(printed[0])}
    assert scores["ss_jga", "all"] == pytest.approx(0.42830604)


def test_sgdx_by_turns_and_without_what_is_missing(fine: Troth, tmp_path: Path) -> None:
    variants = (f"v1={HASTY}", f"v2={STURDY}")
    by_turn = fine("robust", "sgdx", GOLD, *variants, "--unit", "turn")
    assert "|unit:turn|" in by_turn.err
    part = tmp_path / "part.json"
    part.write_text(json.dumps(json.loads((Path(HASTY) / "dialogues_001.json").read_text())[2:]))
    skipped = fine("robust", "sgdx", GOLD, f"v1={part}", f"v2={STURDY}", "--missing", "skip")
    assert "v2: " in skipped.err
    assert "units are left out: not all variants have them" in skipped.err


def test_sgdx(fine: Troth, tmp_path: Path) -> None:
    scatter, variants = tmp_path / "services.svg", tmp_path / "variants.html"
    result = fine(
        "robust", "sgdx", GOLD, f"v1={HASTY}", f"v2={STURDY}", f"orig={GOLD}", "--metrics", "jga,aga",
        "--chart", str(scatter), "--chart-variants", str(variants), "--out", str(tmp_path / "run"),
    )  # fmt: skip
    metrics = [line.split()[0] for line in result.out.splitlines()[1:13]]
    assert metrics[:6] == ["jga_orig", "jga_v1-2", "ss_jga", "all_wrong_jga", "jga:v1", "jga:v2"]
    assert "ss_aga" in metrics
    assert "varies: " in result.out
    assert "units are wrong under every variant" in result.err
    assert "Trains_1" in scatter.read_text()
    page = variants.read_text()
    assert "<script" in page
    assert 'src="http' not in page  # its renderer is inside
    assert (tmp_path / "run" / "rows.parquet").is_file()
    table = fine("table", str(tmp_path / "run"), "--metrics", "ss_jga,jga_v1-2")
    assert "ss_jga" in table.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("checkdst", f"{GOLD},{HASTY}", "nameless"), "'nameless' has no name (write it as NAME=PATH)"),
        (("checkdst", f"{GOLD},{HASTY}", "A=x", "A=y"), "'A' is named twice"),
        (("checkdst", f"{GOLD},{HASTY}", "A=nowhere"), "nowhere: no such file or folder"),
        (("checkdst", GOLD, f"A={GOLD},{HASTY}"), "holds dialogues and no predictions"),
        (("sgdx", GOLD, f"v1={HASTY}"), "sensitivity takes two variants or more"),
        (("sgdx", HASTY, f"v1={HASTY}", f"v2={HASTY}"), "no schema.json beside the dialogues"),
        (
            ("sgdx", GOLD, f"v1={HASTY}", f"v2={HASTY}", "--chart", "x.gif"),
            "x.gif: a chart cannot be written under this",
        ),
        (("sgdx", GOLD, f"v1={HASTY}", f"v2={HASTY}", "--from", GOLD), "no variant is called 'v1'"),
        (("sgdx", GOLD, f"v1={HASTY}", f"v2={HASTY}", "--metrics", "jag"), "no metric is called 'jag'"),
        (
            ("sgdx", GOLD, f"v1={HASTY}", f"v2={HASTY}", "--profile", "sdg"),
            "no profile is called 'sdg' (did you mean 'sgd'?",
        ),
        (("runs", "nowhere"), "nowhere: not a run"),
        (("checkpoints", GOLD), "not a run"),
    ],
)
def test_bad_input(troth: Troth, arguments: tuple[str, ...], told: str) -> None:
    result = troth("robust", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert told in result.err
    assert result.err.count("\n") == 1
