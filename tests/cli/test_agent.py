"""`troth agent score` and `troth agent explain`, by their whole output."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Troth
from troth import demo

TOOLS = demo.path("agents/tools.json")
STURDY, HASTY = demo.path("agents/sturdy.jsonl"), demo.path("agents/hasty.jsonl")

TABLE = """\
metric                                hasty
pass^1                41.67 (10.08 … 81.99)
call_f1               59.09 (32.67 … 81.13)
claims_without_calls   28.57 (5.98 … 71.55)
"""
NOTES = """\
hasty: task both, trial 0, turn 0: no call did what 'cancelled' says (calls that change something: book_room): \
I have cancelled BK7100 and your room in York is now booked.
… 4 claims without calls in all
hasty: task ask, trial 1, turn 0: nothing supports $85
… 2 numbers without support in all
hasty: task change, trial 0, turn 0: nothing supports 11:00
… 2 times without support in all
hasty: task ask, trial 1, turn 0: nothing supports Harbour House
hasty: task receipt, trial 1, turn 0: send_receipt: nobody said email = tomas.ruiz@example.com
hasty: task book: solved in trial 0, not in 1; they part at turn 1
… 3 wavering tasks in all
hasty: 6 tasks, 12 trials, 22 calls
rule:exact|solved:match
rule:exact
"""
STEPS = """\
choice   from     to       before  after  change  alone  flips  trials
values   json     printed   41.67  41.67   +0.00  +0.00      0      12
order    kept     any       41.67  41.67   +0.00  +0.00      0      12
failed   counted  dropped   41.67  41.67   +0.00  +0.00      0      12
calls    all      writing   41.67  50.00   +8.33  +0.00      1      12
outputs  free     needed    50.00  50.00   +0.00  +0.00      0      12
calls: task change, trial 0: extra_call → right
"""


def test_score(fine: Troth) -> None:
    names = "pass^1,call_f1,claims_without_calls"
    result = fine("agent", "score", HASTY, "--tools", TOOLS, "--metrics", names, "--examples", "1")
    assert (result.out, result.err) == (TABLE, NOTES)


def test_score_as_json(fine: Troth) -> None:
    rows = fine("agent", "score", f"new={HASTY}", "--json", "--metrics", "jga").json()
    assert [(row["system"], row["metric"], row["group"], row["n"]) for row in rows] == [("new", "jga", "all", 14)]


def test_score_from_standard_input(fine: Troth) -> None:
    result = fine("agent", "score", "bot=-", "--metrics", "calls_right", stdin=Path(STURDY).read_bytes())
    assert "calls_right  91.67" in result.out


def test_explain(fine: Troth) -> None:
    result = fine("agent", "explain", HASTY, "--to", "tau", "--examples", "1")
    assert (result.out, result.err) == (STEPS, "")
    assert fine("agent", "explain", HASTY).out == "the two rules make the same choices\n"
    steps = fine("agent", "explain", HASTY, "--to", "tau", "--json").json()
    assert [step["choice"] for step in steps] == ["values", "order", "failed", "calls", "outputs"]


def test_runs_can_be_compared_and_gated(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    for name, file in (("old", STURDY), ("new", HASTY)):
        fine("agent", "score", file, "--tools", TOOLS, "--out", str(tmp_path / name))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    gate = troth("gate", old, new, "--metric", "pass^1", "--margin", "2")
    assert gate.code == 1
    assert gate.out.startswith("worse: pass^1 -50.00")
    rows = fine("compare", old, new, "--metrics", "pass^1,claims_without_calls", "--json").json()
    assert [(row["metric"], round(row["difference"], 4)) for row in rows] == [
        ("pass^1", -0.5), ("claims_without_calls", 0.2857),
    ]  # fmt: skip


def test_states_are_scored_by_every_command_of_state_tracking(fine: Troth, tmp_path: Path) -> None:
    before, after = str(tmp_path / "before.jsonl"), str(tmp_path / "after.jsonl")
    assert fine("agent", "states", STURDY, before).err == f"written: {before} (12 trials)\n"
    assert fine("agent", "states", STURDY, str(before) + "2", "--json").json()["trials"] == 12
    fine("agent", "states", HASTY, after)
    (mine,) = fine("agent", "score", HASTY, "--metrics", "jga", "--json").json()
    (same,) = fine("dst", after, "--profile", "trade", "--metrics", "jga", "--json").json()
    assert (mine["value"], mine["n"]) == (same["value"], same["n"])
    rows = fine("robust", "checkdst", before, f"SDI={after}", "--profile", "trade", "--json").json()
    scores = {row["metric"]: row["value"] for row in rows if row["group"] == "all"}
    assert scores["cjga:SDI"] <= 1 - abs(scores["jga"] - scores["jga:SDI"]) / max(scores["jga"], scores["jga:SDI"])
    variants = [f"{name}={file}" for name, file in (("orig", before), ("v1", before), ("v2", after))]
    rows = fine("robust", "sgdx", before, *variants, "--schema", TOOLS, "--profile", "trade", "--json").json()
    assert {"ss_jga", "jga_v1-2", "jga_drop"} <= {row["metric"] for row in rows}


def test_terminal_escapes_are_shown_and_not_obeyed(fine: Troth, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Your room has been booked \x1b[31m now."},
    ]
    file = tmp_path / "t.json"
    file.write_text(json.dumps(messages))
    result = fine("agent", "score", str(file))
    assert "has been booked \\x1b[31m now." in result.err
    assert "\x1b" not in result.err


def test_what_goes_wrong_is_one_line(troth: Troth, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('[{"role": "user", "content": "x"}, {"role": "robot"}]')
    result = troth("agent", "score", str(file))
    assert (result.code, result.out) == (2, "")
    known = "system, developer, user, human, assistant, ai, model, tool, function, context"
    assert result.err == f"troth: {file}: dialogue 0, turn 1: role 'robot' is not known (known: {known})\n"
    assert "no matching rule is called 'taw'" in troth("agent", "score", HASTY, "--rule", "taw").err
    assert "no gold calls are known" in troth("agent", "explain", _bare(tmp_path)).err


def _bare(folder: Path) -> str:
    file = folder / "bare.json"
    file.write_text('[{"role": "user", "content": "x"}]')
    return str(file)


def test_a_judge(troth: Troth, tmp_path: Path) -> None:
    policy = tmp_path / "policy.txt"
    policy.write_text("Never book on Sundays.", encoding="utf-8")
    path = demo.path("agents/hasty.jsonl")
    result = troth("agent", "score", path, "--judge", "fake", "--policy", str(policy), "--votes", "1")
    assert result.code == 0
    assert "judge: 36 answers asked for; 36 answers could not be read, and are no votes" in result.err
    policy.write_text(" ", encoding="utf-8")
    empty = troth("agent", "score", path, "--judge", "fake", "--policy", str(policy))
    assert (empty.code, empty.err.splitlines()[-1][:6]) == (2, "troth:")
    bad = troth("agent", "score", path, "--judge", "fake", "--budget", "much")
    assert (bad.code, "'much' is not a valid budget" in bad.err) == (2, True)
