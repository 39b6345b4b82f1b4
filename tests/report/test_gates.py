"""Several gates at once: limits in a file, one clear line for wrong ones, and the summary for a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

import troth
from troth import demo
from troth.core.errors import UserError
from troth.core.result import Result
from troth.core.trajectories import Call, Expected, Message, Trajectory
from troth.report.gate_summary import MARK, format_summary, write_summary
from troth.report.gates import GateConfig, GatedRun, GateRule, read_config

TOML = """\
[tool.other]
x = 1

[tool.troth.gate]
confidence = 0.9
strict = true
history = "history.jsonl"

[tool.troth.gate.metrics]
"pass^1" = { margin = 2 }
failed_calls = { at_most = 60 }
call_f1 = { margin = 1, at_least = 30 }
"""


@pytest.fixture(scope="module")
def runs() -> tuple[Result, Result]:
    old, new = (troth.agent(demo.path(f"agents/{name}.jsonl")) for name in ("sturdy", "hasty"))
    return old, new


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_found_and_applied(runs: tuple[Result, Result]) -> None:
    Path("pyproject.toml").write_text(TOML, encoding="utf-8")
    config = read_config()
    assert (config.confidence, config.strict, config.history) == (0.9, True, "history.jsonl")
    assert config.rules[2] == GateRule("call_f1", margin=1.0, at_least=30.0)
    gated = troth.apply_gates(*runs)
    verdicts = [(outcome.metric, outcome.verdict) for outcome in gated.outcomes]
    assert verdicts == [("pass^1", "worse"), ("failed_calls", "kept"), ("call_f1", "worse"), ("call_f1", "reached")]
    assert gated.failed
    assert gated.verdicts == {"pass^1": "worse", "failed_calls": "kept", "call_f1": "worse"}
    Path("troth.toml").write_text("[gate.metrics]\nfailed_calls = { at_most = 0 }\n", encoding="utf-8")
    (outcome,) = troth.apply_gates(runs[1]).outcomes  # troth.toml comes first, and has no margin
    assert outcome.verdict == "exceeded"


def test_what_cannot_be_decided_passes_unless_strict(runs: tuple[Result, Result]) -> None:
    rules = (GateRule("failed_calls", at_most=10),)
    assert not troth.apply_gates(runs[1], config=GateConfig(rules)).failed
    assert troth.apply_gates(runs[1], config=GateConfig(rules, strict=True)).failed


@pytest.mark.parametrize(("text", "line"), [
    ("[tool.troth.gates]\n", r"\[tool.troth\] has the unknown key 'gates' \(did you mean 'gate'\?\)"),
    ("[tool.troth.gate]\nconfidense = 1\n", r"\[gate\] has the unknown key 'confidense' .*'confidence'"),
    ("[tool.troth.gate.metrics]\njga = { at-most = 1 }\n", r"metric 'jga' has the unknown key 'at-most' .*'at_most'"),
    ("[tool.troth.gate.metrics]\njga = { margn = 1 }\n", r"metric 'jga' has the unknown key 'margn' .*'margin'"),
    ("[tool.troth.gate.metrics]\njga = 2\n", r"metric 'jga' is not a table \(for example"),
    ("[tool.troth.gate.metrics]\njga = {}\n", r"metric 'jga' has no limit \(for example"),
    ('[tool.troth.gate.metrics]\njga = { margin = "2" }\n', r"jga: margin is '2', not a number"),
    ("[tool.troth.gate.metrics]\njga = { margin = nan }\n", r"jga: margin is nan, not a number"),
    ("[tool.troth.gate.metrics]\njga = { margin = true }\n", r"jga: margin is True, not a number"),
    ("[tool.troth.gate]\nstrict = 1\nmetrics.jga.margin = 1\n", r"strict is 1, not true or false"),
    ("[tool.troth.gate]\nstrict = true\n", r"\[gate\] names no metrics"),
    ("[tool.troth]\ngate = 3\n", r"\[gate\] is not a table"),
    ("[tool.troth.gate\n", r"no TOML: "),
])  # fmt: skip
def test_a_wrong_file_is_one_line(text: str, line: str) -> None:
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"^pyproject.toml: {line}"):
        read_config()


def test_no_gates_anywhere() -> None:
    Path("pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    with pytest.raises(UserError, match="no metric is named"):
        read_config()
    with pytest.raises(UserError, match="has no gates"):
        read_config("pyproject.toml")


@pytest.mark.parametrize(("rule", "line"), [
    (GateRule("pass^1", margin=50), "a margin of 50 for pass.1 would let almost anything pass"),
    (GateRule("pass^1", at_least=0.9), "at least 0.9 would be 0.9 percent of pass.1"),
    (GateRule("failed_calls", at_most=101), "at most 101 would be 101 percent of failed_calls"),
    (GateRule("failed_calls", at_least=50), "lower is better for failed_calls"),
    (GateRule("pass^1", at_most=50), "higher is better for pass.1"),
    (GateRule("fail_calls", at_most=50), r"has no metric 'fail_calls' \(did you mean 'failed_calls'\?\)"),
])  # fmt: skip
def test_a_wrong_limit_is_one_line(runs: tuple[Result, Result], rule: GateRule, line: str) -> None:
    with pytest.raises(UserError, match=line):
        troth.apply_gates(*runs, config=GateConfig((rule,)))


def test_a_margin_needs_a_base(runs: tuple[Result, Result]) -> None:
    with pytest.raises(UserError, match=r"the margin of pass.1 needs a base run"):
        troth.apply_gates(runs[1], config=GateConfig((GateRule("pass^1", margin=1),)))


def hostile() -> GatedRun:
    task = "x|<img src=x onerror=alert(1)> @everyone #12 `a` $x$ [l](http://e.vil) \u202e__b__\n# h"

    def trial(id: str, value: str) -> Trajectory:
        call = Call("book", {"to": value})
        messages = (Message("user", "hi"), Message("assistant", calls=(call,)), Message("tool", "ok"))
        return Trajectory(id, messages, expected=(Expected("book", {"to": ("x",)}),))

    old = troth.agent([trial(task, "x"), trial("b", "x")])
    new = troth.agent([trial(task, "</details>**@root**|"), trial("b", "x")])
    return troth.apply_gates(old, new, config=GateConfig((GateRule("pass^1", margin=1),)))


def test_the_summary_escapes_what_transcripts_say() -> None:
    text = format_summary(hostile())
    assert text.startswith(MARK)
    rows = [line for line in text.splitlines() if "everyone" in line]
    (row,) = rows
    assert row.count(" | ") == 3
    for dangerous in (
        "<img",
        "</details>*",
        "@everyone",
        "@root",
        "#12",
        "`a`",
        "[l](",
        "http://e",
        "$x$",
        "\u202e",
        "__b__",
    ):
        assert dangerous not in row.replace("\\`", "").replace("\\_", ""), dangerous
    assert text.count("<details") == text.count("</details>") == 1


def test_only_a_summary_is_replaced(elsewhere: Path) -> None:
    gated = hostile()
    path = elsewhere / "summary.md"
    write_summary(gated, str(path))
    write_summary(gated, str(path))
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="exists and is not a summary of troth gate"):
        write_summary(gated, str(path))
    assert path.read_text(encoding="utf-8") == "mine"
