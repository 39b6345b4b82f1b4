"""`troth dst`: what it prints, in which form, and what it writes."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import GOLD, HASTY, SCHEMA, STURDY, Corpus, Troth
from troth.core.parts import row_schema
from troth.core.version import __version__
from troth.tracking.score import dst

KEYS = ["system", "metric", "group", "value", "low", "high", "n", "recipe", "version", "signature"]
NAMES = [
    "jga", "jga_cat", "jga_noncat", "aga", "aga_cat", "aga_noncat", "aga_union", "aga_slots", "sa",
    "slot_precision", "slot_recall", "slot_f1", "rsa",
    "fga@0.25", "fga@0.5", "fga@0.75", "fga@1", "turn_match", "intent_accuracy",
    "requested_f1", "requested_precision", "requested_recall",
    "tagging_f1", "tagging_precision", "tagging_recall",
]  # fmt: skip

PLAIN = """\
metric                                 hasty                 sturdy
jga                    49.49 (34.72 … 64.34)  66.15 (57.44 … 73.88)
jga_cat                80.43 (61.13 … 91.49)  80.43 (72.58 … 86.46)
jga_noncat             69.05 (53.31 … 81.35)  85.17 (77.64 … 90.47)
aga                    89.20 (82.17 … 93.68)  96.01 (90.82 … 98.32)
aga_cat                93.31 (83.04 … 97.55)  94.26 (87.76 … 97.41)
aga_noncat             85.64 (76.84 … 91.46)  96.12 (90.15 … 98.53)
aga_union              86.14 (78.68 … 91.29)  90.16 (83.63 … 94.26)
aga_slots              88.05 (80.88 … 92.77)  92.81 (86.85 … 96.19)
sa                     95.21 (89.67 … 97.85)  96.87 (92.13 … 98.79)
slot_precision         96.10 (90.69 … 98.42)  92.58 (88.95 … 95.08)
slot_recall            89.23 (83.29 … 93.23)  95.61 (92.38 … 97.50)
slot_f1                92.54 (87.90 … 95.49)  94.07 (91.08 … 96.10)
rsa                    88.38 (82.44 … 92.49)  92.58 (88.95 … 95.08)
fga@0.25               66.50 (55.16 … 76.20)  66.99 (58.30 … 74.65)
fga@0.5                74.44 (64.89 … 82.10)  67.64 (58.98 … 75.25)
fga@0.75               78.76 (70.29 … 85.33)  68.15 (59.51 … 75.71)
fga@1                  81.39 (73.34 … 87.42)  68.55 (59.92 … 76.07)
turn_match             87.55 (80.32 … 92.38)  69.95 (61.37 … 77.33)
intent_accuracy        95.11 (87.45 … 98.19)  98.37 (90.96 … 99.72)
requested_f1           96.38 (90.24 … 98.71)  98.01 (91.69 … 99.55)
requested_precision  100.00 (83.57 … 100.00)  99.73 (89.60 … 99.99)
requested_recall       96.20 (89.99 … 98.61)  98.10 (91.31 … 99.61)
tagging_f1             97.01 (91.13 … 99.03)  97.69 (91.21 … 99.42)
tagging_precision      97.74 (91.67 … 99.41)  98.78 (91.62 … 99.83)
tagging_recall         96.92 (91.01 … 98.99)  97.69 (91.21 … 99.42)
"""
BY = """\
metric                  hasty
jga     49.49 (34.72 … 64.34)
aga     89.20 (82.17 … 93.68)

service    n                    jga                    aga
Sights_1  46  50.00 (23.75 … 76.25)  90.64 (71.11 … 97.44)
Stays_1   80  48.46 (26.03 … 71.53)  86.57 (73.76 … 93.66)
Trains_1  58  50.50 (24.78 … 75.96)  91.73 (75.59 … 97.54)
"""
TRADE = """\
metric                      hasty                 sturdy
jga         33.33 (20.89 … 48.63)  55.37 (46.46 … 63.95)
aga         82.28 (74.32 … 88.16)  91.94 (85.62 … 95.62)
sa          97.40 (92.66 … 99.11)  98.32 (94.12 … 99.54)
turn_match  77.40 (68.99 … 84.06)  58.76 (49.82 … 67.15)
"""


def values(result: Any, group: str = "all") -> dict[str, float]:
    return {score["metric"]: score["value"] for score in result.json() if score["group"] == group}


# -- what is printed ---------------------------------------------------------------------------------------------------


def test_table(fine: Troth) -> None:
    result = fine("dst", GOLD, HASTY, STURDY)
    assert result.out == PLAIN
    rest = f"22 dialogues; JGA|profile:sgd|unit:frame|match:fuzzy-indel|norm:none|missing:zero|n:184|v:{__version__}"
    missed = "hasty: 7 wrong Trains_1.travel_day values equal gold if a leading 'the' or 'a' is ignored\n"
    assert result.err == f"{missed}hasty: {rest}\nsturdy: {rest}\n"


def test_table_by_turn_of_multiwoz_fashion(fine: Troth) -> None:
    result = fine("dst", GOLD, HASTY, STURDY, "--profile", "trade", "--metrics", "jga,aga,sa,turn_match")
    assert result.out == TRADE


def test_table_by_group(fine: Troth) -> None:
    assert fine("dst", GOLD, HASTY, "--metrics", "jga,aga", "--by", "service").out == BY


def test_same_twice(fine: Troth) -> None:
    command = ("dst", GOLD, HASTY, "--by", "service,domain,slot,turn", "--json")
    assert fine(*command) == fine(*command)
    assert fine(*command) == fine(*command, "--seed", "1")  # intervals of shares need no random numbers


def test_module(tmp_path: Path) -> None:
    """As a process, from another folder, on a console without Greek letters."""
    command = [sys.executable, "-m", "troth", "dst", GOLD, HASTY, STURDY]
    for encoding in ("utf-8", "ascii"):
        done = subprocess.run(
            command, capture_output=True, cwd=tmp_path, check=True, env={**os.environ, "PYTHONIOENCODING": encoding}
        )
        text = done.stdout.decode()
        assert (text if encoding == "utf-8" else text.replace(r"\u2026", "…")) == PLAIN
    assert list(tmp_path.iterdir()) == []


def test_help_is_light() -> None:
    code = (
        "import sys\nfrom troth.cli import main\nsys.argv = ['troth', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    heavy = {'numpy', 'polars', 'rapidfuzz', 'rich'} & set(sys.modules)\n"
        "    sys.exit(str(heavy) if heavy or end.code else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: troth [OPTIONS] COMMAND [ARGS]...\n")


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_json(fine: Troth) -> None:
    result = fine("dst", GOLD, HASTY, "mine=" + STURDY, "--json")
    scores = result.json()
    assert [score["metric"] for score in scores] == NAMES * 2
    assert [score["system"] for score in scores] == ["hasty"] * len(NAMES) + ["mine"] * len(NAMES)
    for score in scores:
        assert [key for key in score if key != "interval_note"] == KEYS
        assert score["group"] == "all"
        assert 0 <= score["low"] <= score["value"] <= score["high"] <= 1
        assert score["signature"].startswith(score["metric"].upper() + "|profile:sgd|unit:frame|")
        assert score["signature"].endswith(f"|n:{score['n']}|v:{__version__}")
    assert scores[0] == {
        "system": "hasty",
        "metric": "jga",
        "group": "all",
        "value": pytest.approx(0.4948913043478261),
        "low": pytest.approx(0.34725, abs=1e-5),
        "high": pytest.approx(0.64343, abs=1e-5),
        "n": 184,
        "recipe": {"profile": "sgd", "unit": "frame", "match": "fuzzy-indel", "norm": "none", "missing": "zero"},
        "version": __version__,
        "signature": f"JGA|profile:sgd|unit:frame|match:fuzzy-indel|norm:none|missing:zero|n:184|v:{__version__}",
    }
    assert "hasty: 22 dialogues; " in result.err, "notes are told with JSON as well"


def test_no_value_has_a_reason(fine: Troth, corpus: Corpus) -> None:
    corpus.schema.unlink()
    result = fine("dst", str(corpus.gold), str(corpus.pred), "--json")
    lacking = {score["metric"]: score for score in result.json() if score["value"] is None}
    assert lacking.keys() >= {"jga_cat", "aga_noncat", "sa", "tagging_f1"}
    for score in lacking.values():
        assert list(score) == [*KEYS[:-2], "reason", *KEYS[-2:]]
        assert (score["low"], score["high"], score["n"]) == (None, None, 0)
        assert score["reason"].endswith("; give the schema")
    assert "not scored: sa: the number of slots is not known; give the schema\n" in result.err
    assert "\nsa " not in fine("dst", str(corpus.gold), str(corpus.pred)).out


# -- options -----------------------------------------------------------------------------------------------------------


def test_profiles_side_by_side(fine: Troth) -> None:
    scores = fine("dst", GOLD, HASTY, "--profiles", "all", "--json").json()
    names = ["sgd", "sgd-exact", "nemo", "trade", "mwzeval", "checkdst"]
    assert list(dict.fromkeys(score["system"] for score in scores)) == [f"hasty:{name}" for name in names]
    for name in names:
        alone = fine("dst", GOLD, HASTY, "--profile", name, "--json").json()
        both = [{**score, "system": "hasty"} for score in scores if score["system"] == f"hasty:{name}"]
        assert alone == both
    head = fine("dst", GOLD, HASTY, "--profiles", "trade,sgd", "--metrics", "jga").out.splitlines()[0].split()
    assert head == ["metric", "trade", "sgd"]


@pytest.mark.parametrize(
    ("options", "marks", "moved"),
    [
        (["--match", "exact"], "|match:exact|", {"jga": 0.3478, "fga@0.5": 0.6828}),
        (["--match", "fuzzy-difflib"], "|match:fuzzy-difflib|", {}),
        (["--unit", "turn"], "|unit:turn|", {"jga": 0.4923, "fga@0.5": 0.7374}),
        (["--fga", "paper"], "|fga:paper|", {"fga@0.5": 0.7575}),
        (["--missing", "skip"], "|missing:skip|", {}),
    ],
)
def test_rules(fine: Troth, options: list[str], marks: str, moved: dict[str, float]) -> None:
    """Each rule moves what it should, and nothing else; the signature says so."""
    result = fine("dst", GOLD, HASTY, "--metrics", "jga,aga,fga@0.5", *options, "--json")
    usual = {"jga": 0.4949, "aga": 0.8920, "fga@0.5": 0.7444}
    if marks == "|match:exact|":
        moved = {**moved, "aga": 0.8518}
    assert values(result) == pytest.approx({**usual, **moved}, abs=5e-5)
    assert marks in result.json()[2]["signature"]


def test_rates(fine: Troth) -> None:
    found = values(fine("dst", GOLD, HASTY, "--lambda", "0,0.5,1e-7,1e7", "--json"))
    assert [name for name in found if name.startswith("fga")] == ["fga@0", "fga@0.5", "fga@1e-07", "fga@1e+07"]
    assert found["fga@0"] == pytest.approx(found["jga"])
    assert found["fga@1e-07"] == pytest.approx(found["jga"], abs=1e-5)
    assert found["fga@1e+07"] == pytest.approx(found["turn_match"])


def test_rates_and_forget_beside_named_metrics(fine: Troth) -> None:
    found = values(fine("dst", GOLD, HASTY, "--metrics", "jga,fga@0.5", "--lambda", "0.3,0.5", "--json"))
    assert list(found) == ["jga", "fga@0.5", "fga@0.3"]
    found = values(fine("dst", GOLD, HASTY, "--metrics", "jga", "--forget", "6,0.95", "--json"))
    assert list(found) == ["jga", "fga@0.49928871225899835"]
    result = dst(GOLD, HASTY, metrics="jga", rates=[0.3], resamples=10)
    assert [score.metric for score in result.scores] == ["jga", "fga@0.3"]


def test_forget(fine: Troth) -> None:
    """Forgotten to 95 % after six turns: λ = 0.4993."""
    found = values(fine("dst", GOLD, HASTY, "--forget", "6,0.95", "--json"))
    assert [name for name in found if name.startswith("fga")] == [
        *(name for name in NAMES if name.startswith("fga")),
        "fga@0.49928871225899835",
    ]
    assert found["fga@0.25"] < found["fga@0.49928871225899835"] < found["fga@0.5"]
    assert found["fga@0.49928871225899835"] == pytest.approx(found["fga@0.5"], abs=1e-3)


def test_a_metric_named_twice_comes_once(fine: Troth) -> None:
    assert list(values(fine("dst", GOLD, HASTY, "--metrics", "jga, aga,jga", "--json"))) == ["jga", "aga"]
    assert fine("dst", GOLD, HASTY, "--lambda", "0.5,0.50", "--metrics", "fga@0.5,fga@0.5").out.count("fga@0.5") == 1


def test_groups(fine: Troth) -> None:
    result = fine("dst", GOLD, HASTY, "--by", "service,domain,slot,turn", "--json")
    groups = dict.fromkeys(score["group"] for score in result.json())
    assert {group.partition(":")[0] for group in groups} == {"all", "service", "domain", "slot", "turn"}
    assert [g for g in groups if g.startswith("service:")] == [
        "service:Sights_1",
        "service:Stays_1",
        "service:Trains_1",
    ]
    assert [g for g in groups if g.startswith("domain:")] == ["domain:Sights", "domain:Stays", "domain:Trains"]
    assert [g for g in groups if g.startswith("turn:")] == [f"turn:{n}" for n in range(12)]
    assert "slot:Stays_1.area" in groups
    scores = {(score["metric"], score["group"]): score for score in result.json()}
    for kind in ("service", "domain", "turn"):
        parts = [scores["jga", group] for group in groups if group.startswith(f"{kind}:")]
        assert sum(part["n"] for part in parts) == 184
        whole = sum(part["value"] * part["n"] for part in parts) / 184
        assert whole == pytest.approx(scores["jga", "all"]["value"])
    assert "|group:service:Stays_1|n:80|" in scores["jga", "service:Stays_1"]["signature"]


def test_seen_and_unseen(fine: Troth, tmp_path: Path) -> None:
    train = tmp_path / "train.json"
    train.write_text('[{"service_name": "Stays_1"}]')
    command = ("dst", GOLD, HASTY, "--train-schema", str(train))
    result = fine(*command, "--json")
    scores = {(score["metric"], score["group"]): score for score in result.json()}
    assert {group for _, group in scores} == {"all", "seen", "unseen"}
    assert scores["jga", "seen"]["n"] + scores["jga", "unseen"]["n"] == scores["jga", "all"]["n"] == 184
    by_service = fine("dst", GOLD, HASTY, "--by", "service", "--json")
    assert scores["jga", "seen"]["value"] == values(by_service, "service:Stays_1")["jga"]
    assert fine(*command, "--metrics", "jga").out.split()[:4] == ["metric", "all", "seen", "unseen"]
    assert "|group:seen|" in scores["jga", "seen"]["signature"]


def test_schema_elsewhere(fine: Troth, corpus: Corpus) -> None:
    pair = (str(corpus.gold), str(corpus.pred))
    beside = fine("dst", *pair, "--json")
    corpus.schema.rename(corpus.folder / "other.json")
    assert fine("dst", *pair, "--schema", str(corpus.folder / "other.json"), "--json") == beside
    assert values(fine("dst", *pair, "--json")) != values(beside), "without a schema, another recipe"


# -- where dialogues come from -----------------------------------------------------------------------------------------


def test_inputs(fine: Troth, tmp_path: Path) -> None:
    """A folder, a file, gzip, zip and standard input hold the same dialogues."""
    expected = values(fine("dst", GOLD, HASTY, "--json"))
    gold, pred = (Path(folder) / "dialogues_001.json" for folder in (GOLD, HASTY))
    packed = tmp_path / "gold.json.gz"
    packed.write_bytes(gzip.compress(gold.read_bytes()))
    archive = tmp_path / "gold.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(gold, "test/dialogues_001.json")
        file.write(SCHEMA, "test/schema.json")
        file.writestr("__MACOSX/test/._dialogues_001.json", b"\x00")
    both = tmp_path / "packed"
    both.mkdir()
    (both / "a.json.gz").write_bytes(gzip.compress(pred.read_bytes()))
    for sides in ((str(gold), str(pred)), (str(packed), HASTY, "--schema", SCHEMA), (str(archive), str(both))):
        assert values(fine("dst", *sides, "--json")) == expected
    assert values(fine("dst", GOLD, "-", "--json", stdin=pred.read_bytes())) == expected
    read = fine("dst", "-", HASTY, "--schema", SCHEMA, "--json", stdin=gold.read_bytes())
    assert values(read) == expected


def test_names_of_systems(fine: Troth, tmp_path: Path) -> None:
    """As much of the path as tells one from the other."""

    def systems(*preds: str) -> list[str]:
        scores = fine("dst", GOLD, *preds, "--metrics", "jga", "--json").json()
        return [score["system"] for score in scores]

    for name in ("a/run.json", "b/run.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes((Path(HASTY) / "dialogues_001.json").read_bytes())
    assert systems(f"{tmp_path}/a/run.json") == ["run"]
    assert systems(f"{tmp_path}/a/run.json", f"{tmp_path}/b/run.json") == ["a/run", "b/run"]
    assert systems(f"first={HASTY}", f"second={HASTY}") == ["first", "second"]


def test_order_of_dialogues_moves_nothing(fine: Troth, corpus: Corpus) -> None:
    pair = (str(corpus.gold), str(corpus.pred), "--json")
    before = fine("dst", *pair)
    corpus.write("gold", corpus.read("gold")[::-1])
    assert fine("dst", *pair) == before


# -- runs --------------------------------------------------------------------------------------------------------------


def test_run(fine: Troth, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "first"
    result = fine("dst", GOLD, HASTY, STURDY, "--by", "service", "--out", str(out), "--json")
    assert f"written: {out}/run.json, {out}/rows.parquet, {out}/dialogues.jsonl.gz\n" in result.err
    assert sorted(path.name for path in out.iterdir()) == ["dialogues.jsonl.gz", "rows.parquet", "run.json"]
    assert [path.name for path in out.parent.iterdir()] == ["first"]
    assert fine("table", str(out), "--to", "json").out == result.out
    rows = pl.read_parquet(out / "rows.parquet")
    assert rows.schema == row_schema()
    assert all(rows[name].null_count() == rows.height for name in ("id", "source", "label"))
    sums = {
        (system, metric): (math.fsum(part["num"]), math.fsum(part["den"]))
        for (system, metric), part in rows.group_by("system", "metric")
    }
    scores = {(s["system"], s["metric"]): s for s in result.json() if s["group"] == "all"}
    assert sums.keys() == scores.keys()
    for key, (num, den) in sums.items():
        assert den == scores[key]["n"]
        assert num / den == pytest.approx(scores[key]["value"], rel=1e-12)
    stays = rows.filter(pl.col("service") == "Stays_1", pl.col("system") == "hasty", pl.col("metric") == "jga")
    found = next(s for s in result.json() if (s["metric"], s["group"]) == ("jga", "service:Stays_1"))
    assert math.fsum(stays["num"]) / math.fsum(stays["den"]) == pytest.approx(found["value"])


def test_run_says_what_was_run(fine: Troth, tmp_path: Path) -> None:
    fine("dst", GOLD, HASTY, "--match", "exact", "--out", str(tmp_path / "run"))
    text = (tmp_path / "run" / "run.json").read_text()
    for part in (
        '"command": "dst"',
        f'"gold": "{GOLD}"',
        '"match": "exact"',
        '"dialogues": 22',
        f'"troth": "{__version__}"',
    ):
        assert part in text


def test_overwrite_a_run(troth: Troth, fine: Troth, tmp_path: Path) -> None:
    out = tmp_path / "run"
    fine("dst", GOLD, HASTY, "--out", str(out))
    refused = troth("dst", GOLD, STURDY, "--out", str(out))
    assert (refused.code, refused.err) == (2, f"troth: {out}: already contains a run (--force replaces it)\n")
    second = fine("dst", GOLD, STURDY, "--out", str(out), "--force", "--json")
    assert fine("table", str(out), "--to", "json").out == second.out
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    link = tmp_path / "latest"
    link.symlink_to("run")
    third = fine("dst", GOLD, HASTY, "--out", str(link), "--force", "--json")
    assert link.is_symlink()
    assert fine("table", str(out), "--to", "json").out == third.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run"]


def test_an_empty_folder_becomes_a_run(fine: Troth, tmp_path: Path) -> None:
    fine("dst", GOLD, HASTY, "--out", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dialogues.jsonl.gz", "rows.parquet", "run.json"]


def test_failure_leaves_the_run(troth: Troth, fine: Troth, tmp_path: Path) -> None:
    out = tmp_path / "run"
    fine("dst", GOLD, HASTY, "--out", str(out))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert troth("dst", GOLD, HASTY, "--metrics", "jgaa", "--out", str(out)).code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


# -- text from files is shown, not obeyed ------------------------------------------------------------------------------


def test_terminal_escapes(fine: Troth, corpus: Corpus) -> None:
    for file in (*corpus.files.values(), corpus.schema):
        file.write_bytes(file.read_bytes().replace(b"Stays_1", rb"Stays\u001b[2J_1"))
    result = fine("dst", str(corpus.gold), str(corpus.pred), "--by", "service")
    assert r"Stays\x1b[2J_1" in result.out
    assert "\x1b" not in result.out + result.err


def test_the_reader_has_gone() -> None:
    """`| head`: no traceback, and not the exit code of a gate."""
    with subprocess.Popen(
        [sys.executable, "-m", "troth", "dst", GOLD, HASTY, "--by", "slot,turn", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 141
