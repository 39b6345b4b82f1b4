"""`troth compare`, `troth gate`, `troth table`."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import GOLD, HASTY, STURDY, Corpus, Troth
from tests.cli.test_bad_input import told
from tests.report.make import reseal
from troth import demo
from troth.core.version import __version__
from troth.storage.history import read_history

COMPARED = """\
system  against  metric   value   base  difference    95% interval  p (boot)  p (rand)  p (Holm)
sturdy  hasty    jga      66.15  49.49      +16.66  +1.80 … +31.51    0.0246    0.0368    0.0736
sturdy  hasty    fga@0.5  67.64  74.44       -6.80  -14.73 … +2.82    0.0620    0.0748    0.0748
"""
RULES = "profile:sgd|unit:frame|match:fuzzy-indel|norm:none|missing:zero"
DIFFERENCE = [
    "base", "system", "metric", "base_value", "value", "difference", "low", "high",
    "p_bootstrap", "p_randomization", "p_holm", "dialogues", "signature",
]  # fmt: skip


@pytest.fixture
def runs(fine: Troth, tmp_path: Path) -> tuple[str, str]:
    made = (tmp_path / "hasty", tmp_path / "sturdy")
    for out, pred in zip(made, (HASTY, STURDY), strict=True):
        fine("dst", GOLD, pred, "--out", str(out))
    return str(made[0]), str(made[1])


# -- compare -----------------------------------------------------------------------------------------------------------


def test_compare(fine: Troth, runs: tuple[str, str]) -> None:
    result = fine("compare", *runs, "--metrics", "jga,fga@0.5")
    assert result.out == COMPARED
    assert result.err == "22 dialogues, 10000 resamples\n"


def test_compare_predictions(fine: Troth, runs: tuple[str, str]) -> None:
    """Runs, predictions, and one of each say the same, and the first is always the base."""
    expected = fine("compare", *runs, "--metrics", "jga,aga", "--json")
    for pair in ((HASTY, STURDY), (HASTY, runs[1]), (runs[0], STURDY)):
        assert fine("compare", *pair, "--gold", GOLD, "--metrics", "jga,aga", "--json") == expected
    assert [list(made) for made in expected.json()] == [DIFFERENCE, DIFFERENCE]
    back = fine("compare", *reversed(runs), "--metrics", "jga,aga", "--json").json()
    for there, here in zip(back, expected.json(), strict=True):
        assert (there["base"], there["system"]) == ("sturdy", "hasty")
        assert there["difference"] == pytest.approx(-here["difference"])


@pytest.mark.parametrize("metric", ["jga", "fga@0.5", "requested_f1"])
def test_compare_with_itself(fine: Troth, metric: str) -> None:
    pair = (f"a={HASTY}", f"b={HASTY}")
    made = fine("compare", *pair, "--gold", GOLD, "--metrics", metric, "--json").json()[0]
    assert made["difference"] == 0
    assert made["low"] == pytest.approx(-made["high"])  # twenty equal dialogues are not two thousand
    assert 0 < made["high"] < 0.2
    assert (made["p_bootstrap"], made["p_randomization"], made["p_holm"]) == (1, 1, 1)
    assert made["value"] == made["base_value"]


def test_three_systems(fine: Troth, runs: tuple[str, str]) -> None:
    made = fine("compare", *runs, f"again={STURDY}", "--gold", GOLD, "--json").json()
    assert [(d["base"], d["system"]) for d in made] == [("hasty", "sturdy"), ("hasty", "again")]
    assert made[0]["p_randomization"] == made[1]["p_randomization"]
    assert made[0]["p_holm"] == pytest.approx(2 * made[0]["p_randomization"])


def test_runs_of_one_name(fine: Troth, troth: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    """A system scored twice, as in every nightly build: the folders tell the runs apart."""
    fine("dst", GOLD, f"hasty={STURDY}", "--out", str(tmp_path / "new"))
    made = fine("compare", runs[0], str(tmp_path / "new"), "--json").json()[0]
    assert (made["base"], made["system"]) == (runs[0], str(tmp_path / "new"))
    assert fine("gate", runs[0], str(tmp_path / "new"), "--metric", "jga", "--margin", "5").out.startswith(
        "not worse: "
    )
    told(troth("compare", runs[0], runs[0]), "'hasty' is named twice (name every run or prediction once)")


def test_different_recipes(troth: Troth, fine: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    for option in (["--match", "exact"], ["--unit", "turn"], ["--profile", "nemo"], ["--missing", "skip"]):
        fine("dst", GOLD, STURDY, *option, "--out", str(tmp_path / "other"), "--force")
        for command in (["compare"], ["gate", "--metric", "jga", "--margin", "1"]):
            result = troth(*command, runs[0], str(tmp_path / "other"))
            told(result, "'hasty' and 'sturdy' are scored by different recipes: JGA|profile:sgd|", "(score both alike)")


def test_different_dialogues(troth: Troth, fine: Troth, runs: tuple[str, str], corpus: Corpus, tmp_path: Path) -> None:
    fine("dst", str(corpus.gold), f"other={corpus.pred}", "--out", str(tmp_path / "other"))
    for command in (["compare"], ["gate", "--metric", "jga", "--margin", "1"]):
        result = troth(*command, runs[0], str(tmp_path / "other"))
        what = "'hasty' and 'other' are scored on different dialogues: 'other' lacks 19 (demo_01, demo_02, demo_03, …)"
        told(result, what, "(score both on the same gold, or compare the dialogues that they have in common)")


def test_common_dialogues(fine: Troth, troth: Troth, runs: tuple[str, str], corpus: Corpus, tmp_path: Path) -> None:
    fine("dst", str(corpus.gold), f"other={corpus.pred}", "--out", str(tmp_path / "other"))
    made = fine("compare", runs[0], str(tmp_path / "other"), "--common", "--json").json()[0]
    assert made["dialogues"] == 3
    score = fine("dst", str(corpus.gold), f"x={corpus.pred}", "--metrics", "jga", "--json").json()[0]
    assert made["value"] == pytest.approx(score["value"])
    told_apart = fine("compare", runs[0], str(tmp_path / "other"), "--common").err
    assert "3 dialogues" in told_apart
    assert "19 of 22 dialogues are left out: 'other' lacks 19 (demo_01, demo_02, demo_03, …)\n" in told_apart
    for side in ("gold", "pred"):
        corpus.write(side, [{**one, "dialogue_id": f"new_{one['dialogue_id']}"} for one in corpus.read(side)])
    fine("dst", str(corpus.gold), f"far={corpus.pred}", "--out", str(tmp_path / "far"))
    told(
        troth("compare", runs[0], str(tmp_path / "far"), "--common"),
        "no dialogue is in all of these runs (are they of the same split?)",
    )
    both = "'hasty' lacks 3 (new_", "'far' lacks 22 (demo_01, demo_02, demo_03, …)"
    told(troth("compare", runs[0], str(tmp_path / "far")), *both)


def test_every_pair(fine: Troth, runs: tuple[str, str]) -> None:
    named = (*runs, f"again={STURDY}", "--gold", GOLD)
    made = fine("compare", *named, "--pairs", "--json").json()
    assert [(d["base"], d["system"]) for d in made] == [("hasty", "sturdy"), ("hasty", "again"), ("sturdy", "again")]
    assert made[0]["p_holm"] == pytest.approx(3 * made[0]["p_randomization"])
    rows = fine("compare", *named, "--pairs", "--to", "latex").out
    assert r"again & sturdy & jga & 66.15 & 66.15 & +0.00 &" in rows


def test_another_base(fine: Troth, troth: Troth, runs: tuple[str, str]) -> None:
    named = (*runs, f"again={STURDY}", "--gold", GOLD)
    made = fine("compare", *named, "--base", "again", "--json").json()
    assert [(d["base"], d["system"]) for d in made] == [("again", "hasty"), ("again", "sturdy")]
    told(troth("compare", *named, "--base", "agian"), "there is no system 'agian' (did you mean 'again'?)")
    told(troth("compare", *named, "--base", "again", "--pairs"), "--base and --pairs exclude each other")


COMPARED_LATEX = rf"""% JGA|{RULES}|v:{__version__}
% FGA@1|{RULES}|fga:code|v:{__version__}
% † differs from hasty: p < 0.05, paired randomisation, Holm over 4 tests; 22 dialogues, 10000 resamples
\begin{{tabular}}{{lrr}}
\toprule
system & JGA & FGA, $\lambda$ = 1 \\
\midrule
Ours & 66.15 & 68.55$^\dagger$ \\
again & 66.15 & 68.55$^\dagger$ \\
hasty & 49.49 & 81.39 \\
\bottomrule
\end{{tabular}}
"""


def test_compared_in_latex(fine: Troth, runs: tuple[str, str]) -> None:
    names = ("--names", "sturdy=Ours", "--names", "jga=JGA")
    named = (*runs, f"again={STURDY}", "--gold", GOLD, "--metrics", "jga,fga@1", "--to", "latex", *names)
    assert fine("compare", *named).out == COMPARED_LATEX
    assert fine("compare", *named[:-4], "--names", "sturdy=Ours,jga=JGA").out == COMPARED_LATEX
    rows = fine("compare", *named, "--sort", "fga@1").out.splitlines()[7:10]
    assert [row.partition(" & ")[0] for row in rows] == ["hasty", "Ours", "again"]


def test_metric_that_a_run_lacks(troth: Troth, runs: tuple[str, str], corpus: Corpus) -> None:
    told(troth("compare", *runs, "--metrics", "fga@0.6"), "'hasty' has no metric 'fga@0.6' (did you mean 'fga@")
    corpus.schema.unlink()
    pair = (str(corpus.pred), f"b={corpus.pred}")
    told(
        troth("compare", *pair, "--gold", str(corpus.gold), "--metrics", "jga_cat"),
        "has no metric 'jga_cat' (it is not known which slots are categorical",
    )


@pytest.mark.parametrize("command", [["compare"], ["gate", "--metric", "jga", "--margin", "1"]])
def test_broken_runs(troth: Troth, runs: tuple[str, str], command: list[str]) -> None:
    run, rows = (Path(runs[1]) / name for name in ("run.json", "rows.parquet"))
    whole = run.read_bytes()
    for data in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, whole.replace(b'"layout": 2', b'"layout": 9')):
        run.write_bytes(data)
        told(troth(*command, *runs), f"{run}: ")
    run.write_bytes(whole)
    whole_rows = pl.read_parquet(rows)
    impossible = "rows.parquet: 'num' holds an impossible number"
    for table, what in (
        (pl.DataFrame({"a": [1]}), "rows.parquet has no column 'system'"),
        (whole_rows.with_columns(num=pl.lit("x")), "rows.parquet: 'num' holds String, not numbers"),
        (whole_rows.with_columns(num=pl.lit(float("nan"))), impossible),
        (whole_rows.with_columns(num=pl.lit(float("inf"))), impossible),
        (whole_rows.with_columns(num=pl.lit(1e308)), impossible),
        (whole_rows.with_columns(num=pl.lit(-1e308)), impossible),
        (whole_rows.with_columns(den=-pl.col("den")), impossible.replace("'num'", "'den'")),
        (whole_rows.with_columns(den=pl.lit(0.0)), "'sturdy' has no metric 'jga'"),
    ):
        table.write_parquet(rows)
        reseal(runs[1])
        told(troth(*command, *runs), what)
    for data in (b"", b"PAR1", b"x" * 100):
        rows.write_bytes(data)
        reseal(runs[1])
        told(troth(*command, *runs), f"{rows}: cannot be read: ", "(make the run again)")
    rows.unlink()
    told(troth(*command, *runs), f"{rows}: cannot be read: ", "(make the run again)")


# -- gate --------------------------------------------------------------------------------------------------------------


def test_gate_worse(troth: Troth, runs: tuple[str, str]) -> None:
    result = troth("gate", *reversed(runs), "--metric", "jga", "--margin", "1")
    assert result.code == 1
    assert result.out == "worse: jga -16.66 (-28.95 … -4.37) over 22 dialogues, margin 1\n"
    assert result.err.splitlines()[:4] == [
        "broke: dialogue demo_09, 62.50 → 0.00: turn 0: the first turn that is worse",
        "broke: dialogue demo_01, 57.14 → 0.00: turn 0: the first turn that is worse",
        "broke: dialogue demo_16, 65.12 → 12.50: turn 1: the first turn that is worse",
        "… broke in all: 13 dialogues",
    ]
    made = troth("gate", *reversed(runs), "--metric", "jga", "--margin", "1", "--json")
    assert made.code == 1
    assert list(made.json()) == [
        "metric", "base", "new", "verdict", "difference", "low", "high", "margin", "dialogues", "needed", "reason",
        "base_value", "value", "signature", "scale", "better", "broken", "mended",
    ]  # fmt: skip
    assert (made.json()["verdict"], made.json()["margin"], made.json()["base"]) == ("worse", 0.01, "sturdy")


def test_gate_not_worse(fine: Troth, runs: tuple[str, str]) -> None:
    result = fine("gate", *runs, "--metric", "jga", "--margin", "5")
    assert result.out == "not worse: jga +16.66 (+3.87 … +28.95) over 22 dialogues, margin 5\n"
    same = fine("gate", f"a={HASTY}", f"b={HASTY}", "--gold", GOLD, "--metric", "jga", "--margin", "20")
    assert same.out == "not worse: jga +0.00 (-12.73 … +0.00) over 22 dialogues, margin 20\n"


def test_gate_undecided(fine: Troth, runs: tuple[str, str]) -> None:
    result = fine("gate", *runs, "--metric", "fga@0.5", "--margin", "1")
    assert result.out == (
        "undecided: fga@0.5 -6.80 (-13.38 … -0.23) over 22 dialogues, margin 1\n"
        "too few dialogues to tell: about 59 dialogues would decide\n"
    )
    assert fine("gate", *runs, "--metric", "fga@0.5", "--margin", "1", "--json").json()["needed"] == 59
    equal = fine("gate", f"a={HASTY}", f"b={HASTY}", "--gold", GOLD, "--metric", "jga", "--margin", "0").out
    assert equal.startswith(
        "undecided: jga +0.00 (-12.73 … +0.00) over 22 dialogues, margin 0\ntoo few dialogues to tell: "
    )


def test_gate_at_most(troth: Troth, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    assert troth("agent", "score", demo.path("agents/hasty.jsonl"), "--out", run).code == 0
    limits = {"60": ("kept", 0), "10": ("undecided", 0), "1": ("exceeded", 1)}
    for limit, (verdict, code) in limits.items():
        result = troth("gate", run, "--metric", "failed_calls", "--at-most", limit)
        assert (result.out.splitlines()[0], result.code) == (
            f"{verdict}: failed_calls 9.09 (1.33 … 42.60) over 6 tasks, at most {limit}", code,
        )  # fmt: skip
    told(troth("gate", run, "--metric", "pass^1", "--at-most", "5"), "higher is better for pass^1")
    told(troth("gate", run, "--metric", "failed_calls", "--at-least", "5"), "lower is better for failed_calls")


def test_gates_of_a_file(troth: Troth, runs: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told(troth("gate", *runs), "no metric is named (name a metric, or write gates to troth.toml or pyproject.toml)")
    told(troth("gate", *runs, "--margin", "1"), "a limit needs --metric")
    limits = '[gate]\nhistory = "history.jsonl"\n[gate.metrics]\njga = { margin = 1, at_least = 20 }\n'
    Path("troth.toml").write_text(limits, encoding="utf-8")
    further = ("--summary", "summary.md", "--label", "v2", "--examples", "1")
    result = troth("gate", *reversed(runs), *further)
    assert (result.code, result.out) == (
        1,
        "worse: jga -16.66 (-28.95 … -4.37) over 22 dialogues, margin 1\n"
        "reached: jga 49.49 (37.09 … 61.95) over 22 dialogues, at least 20\n",
    )
    assert result.err.splitlines()[-2:] == ["written: summary.md", "recorded in: history.jsonl"]
    assert "troth gate: **failed**: jga" in Path("summary.md").read_text(encoding="utf-8")
    (entry,) = read_history("history.jsonl")
    assert (entry.system, entry.label, entry.verdicts) == ("hasty", "v2", {"jga": "worse"})
    assert list(troth("gate", *runs, "--json").json()) == ["failed", "outcomes"]
    told(troth("gate", *runs, "--metric", "jga", "--config", "troth.toml"), "--metric and --config exclude each other")


def test_gate_process(runs: tuple[str, str]) -> None:
    """The exit code as a build sees it."""
    command = [sys.executable, "-m", "troth", "gate", "--metric", "jga", "--margin", "0.5"]
    for pair, code in ((runs, 0), (runs[::-1], 1), ((runs[0], "nowhere"), 2)):
        done = subprocess.run([*command, *pair], capture_output=True, check=False)
        assert done.returncode == code


def test_gate_takes_two(troth: Troth, fine: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    fine("dst", GOLD, f"c={HASTY}", f"d={STURDY}", "--out", str(tmp_path / "both"))
    result = troth("gate", runs[0], str(tmp_path / "both"), "--metric", "jga", "--margin", "1")
    told(result, "a gate takes two systems, and these runs hold 3 (one system per run)")


def test_a_margin_that_lets_anything_pass(troth: Troth, runs: tuple[str, str]) -> None:
    result = troth("gate", *runs, "--metric", "jga", "--margin", "25")
    told(result, "a margin of 25 for jga would let almost anything pass (it is in points: 0.5 is half a point)")


def test_gate_of_one_dialogue(troth: Troth, corpus: Corpus) -> None:
    for side in ("gold", "pred"):
        corpus.write(side, corpus.read(side)[:1])
    pair = (f"a={corpus.pred}", f"b={corpus.pred}", "--gold", str(corpus.gold))
    told(troth("gate", *pair, "--metric", "jga", "--margin", "1"), "a gate needs two or more dialogues")


# -- table -------------------------------------------------------------------------------------------------------------

MARKDOWN = """\
| metric | hasty | sturdy |
| --- | ---: | ---: |
| jga | 49.49 (34.72 … 64.34) | **66.15 (57.44 … 73.88)** |
| fga@0.5 | **74.44 (64.89 … 82.10)** | **67.64 (58.98 … 75.25)** |
"""
LATEX = rf"""% JGA|{RULES}|n:184|v:{__version__}
% FGA@1|{RULES}|fga:code|n:184|v:{__version__}
\begin{{tabular}}{{lrr}}
\toprule
system & JGA & FGA, $\lambda$ = 1 \\
\midrule
Ours & \textbf{{66.15 {{\scriptsize [57.4, 73.9]}}}} & 68.55 {{\scriptsize [59.9, 76.1]}} \\
a\_b\%\&\#\$ & 49.49 {{\scriptsize [34.7, 64.3]}} & \textbf{{81.39 {{\scriptsize [73.3, 87.4]}}}} \\
\bottomrule
\end{{tabular}}
"""


def test_markdown(fine: Troth, runs: tuple[str, str]) -> None:
    assert fine("table", *runs, "--metrics", "jga,fga@0.5", "--to", "markdown").out == MARKDOWN


def test_latex(fine: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    """Systems are rows, the best by the first metric on top, under the names that are asked for."""
    fine("dst", GOLD, f"a_b%&#$={HASTY}", "--out", str(tmp_path / "odd"))
    named = (str(tmp_path / "odd"), runs[1], "--metrics", "jga,fga@1", "--to", "latex", "--names", "sturdy=Ours")
    assert fine("table", *named).out == LATEX
    both = (*named[:-1], "jga=JGA, all,sturdy=Ours", "--sort", "fga@1")
    assert fine("table", *both).out == fine("table", *named, "--sort", "fga@1", "--names", "jga=JGA, all").out
    rows = fine("table", *both).out.splitlines()[4:8]
    assert [row.partition(" & ")[0] for row in rows] == ["system", r"\midrule", r"a\_b\%\&\#\$", "Ours"]
    assert rows[0] == r"system & JGA, all & FGA, $\lambda$ = 1 \\"
    given = fine("table", *named, "--sort", "none", "--no-intervals").out.splitlines()[6:8]
    assert given == [r"a\_b\%\&\#\$ & 49.49 & \textbf{81.39} \\", r"Ours & \textbf{66.15} & 68.55 \\"]


def test_chosen_systems(fine: Troth, troth: Troth, runs: tuple[str, str]) -> None:
    made = fine("table", *runs, "--systems", "sturdy", "--metrics", "jga", "--to", "markdown").out
    assert made.splitlines()[0] == "| metric | sturdy |"
    assert "**" not in made  # one system is no contest
    told(troth("table", *runs, "--systems", "nobody"), "no score is left to show (compare metrics, groups and ")
    told(
        troth("table", *runs, "--sort", "jgaa"), "--sort names a metric that is not shown: 'jgaa' (did you mean 'jga'?)"
    )
    told(
        troth("table", *runs, "--names", "hast=Ours"),
        "--names has 'hast', which the table does not have (did you mean 'hasty'?)",
    )
    told(troth("table", *runs, "--names", "hasty"), "'hasty' is not of the form NAME=VALUE")


def test_bold_where_no_rows_are_at_hand(fine: Troth, runs: tuple[str, str]) -> None:
    """The best value alone; of the same scores with rows, a test marks both."""
    named = ("--metrics", "fga@0.5", "--to", "markdown", "--no-intervals")
    assert "| fga@0.5 | **74.44** | **67.64** |" in fine("table", *runs, *named).out
    (Path(runs[0]) / "rows.parquet").unlink()
    assert "| fga@0.5 | **74.44** | 67.64 |" in fine("table", *runs, *named).out
    assert "| fga@0.5 | **74.44** | 67.64 |" in fine("table", *(f"{run}/run.json" for run in runs), *named).out


def test_csv(fine: Troth, runs: tuple[str, str]) -> None:
    """One line a score, unrounded, for further work."""
    made = list(csv.DictReader(io.StringIO(fine("table", *runs, "--metrics", "jga,fga@0.5", "--to", "csv").out)))
    scores = fine("table", *runs, "--metrics", "jga,fga@0.5", "--to", "json").json()
    assert [(row["system"], row["metric"]) for row in made] == [
        (name, metric) for name in ("hasty", "sturdy") for metric in ("jga", "fga@0.5")
    ]
    for row, score in zip(made, scores, strict=True):
        assert {key: float(row[key]) for key in ("value", "low", "high", "n")} == {
            key: score[key] for key in ("value", "low", "high", "n")
        }
        assert row["signature"] == score["signature"]


def test_runs_by_different_recipes_are_not_ranked(fine: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    fine("dst", GOLD, STURDY, "--profile", "trade", "--out", str(tmp_path / "trade"))
    made = fine("table", runs[0], str(tmp_path / "trade"), "--metrics", "jga", "--to", "markdown")
    assert "**" not in made.out
    assert "different recipes" in made.err


def test_json_and_plain(fine: Troth, runs: tuple[str, str]) -> None:
    scores = fine("table", *runs, "--to", "json").json()
    assert scores == [score for run in runs for score in json.loads((Path(run) / "run.json").read_text())["scores"]]
    plain = fine("dst", GOLD, HASTY, STURDY).out
    assert fine("table", *runs).out == plain
    assert fine("table", f"{runs[0]}/run.json", runs[1]).out == plain


def test_groups(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    fine("dst", GOLD, HASTY, "--by", "service", "--out", str(tmp_path / "run"))
    made = fine("table", str(tmp_path / "run"), "--groups", "service:Stays_1", "--metrics", "jga", "--to", "csv")
    assert [row["group"] for row in csv.DictReader(io.StringIO(made.out))] == ["service:Stays_1"]
    told(troth("table", str(tmp_path / "run"), "--groups", "service:X"), "no score is left to show (compare metrics, ")
    told(troth("table", str(tmp_path / "run"), "--to", "html"), "--to cannot be 'html' (one of: plain, ")


def test_names_in_tables_by_group(fine: Troth, tmp_path: Path) -> None:
    """A name stands in some of the tables only, and there within a heading: `jga sturdy` by service."""
    fine("dst", GOLD, HASTY, STURDY, "--by", "service", "--metrics", "jga,aga", "--out", str(tmp_path / "run"))
    names = ("--names", "sturdy=Ours", "--names", "jga=Joint", "--names", "Stays_1=Hotels")
    plain = fine("table", str(tmp_path / "run"), "--no-intervals", *names).out
    assert plain.splitlines()[0].split() == ["metric", "hasty", "Ours"]
    assert plain.splitlines()[1].startswith("Joint ")
    by_service = plain.split("\n\n")[1].splitlines()
    assert by_service[0].split() == ["service", "n", "Joint", "hasty", "aga", "hasty", "Joint", "Ours", "aga", "Ours"]
    assert [line.split()[0] for line in by_service[1:]] == ["Sights_1", "Hotels", "Trains_1"]
    latex = fine("table", str(tmp_path / "run"), "--no-intervals", "--to", "latex", "--names", "sturdy=Ours").out
    assert r"system & JGA & AGA \\" in latex
    assert r"service & n & JGA Ours & AGA Ours & JGA hasty & AGA hasty \\" in latex


def test_systems_of_one_name(fine: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    fine("dst", GOLD, HASTY, STURDY, "--metrics", "jga", "--out", str(tmp_path / "both"))
    made = fine("table", *runs, str(tmp_path / "both"), "--metrics", "jga", "--to", "csv").out
    assert [row["system"] for row in csv.DictReader(io.StringIO(made))] == [
        *runs, f"{tmp_path}/both:hasty", f"{tmp_path}/both:sturdy",
    ]  # fmt: skip


def test_a_folder_that_is_no_run(troth: Troth, runs: tuple[str, str], tmp_path: Path) -> None:
    told(troth("table", GOLD), f"{GOLD}: not a run: no run.json in it (make one with troth dst … --out RUN)")
    shutil.copytree(runs[0], tmp_path / "copy")
    (tmp_path / "copy" / "run.json").write_text('{"scores": [], "layout": 2}')
    told(troth("table", str(tmp_path / "copy")), "run.json: not a run: ")


@pytest.mark.parametrize("command", [["table"], ["report", "--out"]])
def test_impossible_scores(troth: Troth, runs: tuple[str, str], tmp_path: Path, command: list[str]) -> None:
    file = Path(runs[0]) / "run.json"
    whole = json.loads(file.read_bytes())
    page = str(tmp_path / "page.html")
    for changes in ({"low": 0.9, "high": 0.1}, {"value": 1e308}, {"high": -1e308, "low": None}):
        broken = {**whole, "scores": [{**whole["scores"][0], **changes}, *whole["scores"][1:]]}
        file.write_text(json.dumps(broken))
        reseal(runs[0])
        told(troth(*command, *([page] if "--out" in command else []), runs[0]), f"{file}: impossible: 'jga' is ")
    for text in ('"value": NaN', '"value": 1e999'):
        file.write_text(json.dumps(whole).replace('"value": 0.', f'{text}, "was": 0.', 1))
        told(troth(*command, *([page] if "--out" in command else []), runs[0]), f"{file}: not a run: ")
    assert not Path(page).exists()
