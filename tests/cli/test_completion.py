"""What a shell is offered, asked as click's own scripts ask; and bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tests.cli.conftest import Troth
from troth import cli
from troth.cli import COMMANDS, completion
from troth.perturb import FAMILIES
from troth.readers import FORMATS
from troth.tracking.metrics import METRICS
from troth.tracking.profiles import PROFILES

HERE = Path(sys.executable).parent


def offered(*words: str) -> list[str]:
    """What may stand for the last word; a path as its kind."""
    asking = ShellComplete(cli.app, {}, "troth", "_TROTH_COMPLETE")
    found = asking.get_completions(list(words[:-1]), words[-1])
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


def test_commands_and_options() -> None:
    assert offered("") == list(COMMANDS)
    assert offered("co") == ["compare", "convert", "completion"]
    assert offered("robust", "check") == ["checkdst", "checkpoints"]
    assert offered("dst", "--un") == ["--unknown", "--unit"]
    assert offered("dst", "--unknown", "") == ["error", "ignore"]
    assert offered("unheard", "--metr") == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("dst", "--profile", ""), list(PROFILES)),
        (("dst", "--profiles", "sgd,"), [f"sgd,{name}" for name in PROFILES if name != "sgd"] + ["sgd,all"]),
        (("explain", "--from", "tr"), ["trade", "trippy"]),
        (("dst", "--format", ""), list(FORMATS)),
        (("ground", "--format", "faith"), ["faithdial", "faithdial-original"]),
        (("nlg", "--pred-format", ""), ["jsonl", "csv", "lines"]),
        (("dst", "--metrics", ""), list(METRICS)),
        (("dst", "--metrics", "jga,fga@0.5,fga"), [f"jga,fga@0.5,fga@{rate}" for rate in ("0.25", "0.75", "1")]),
        (("nlg", "--metrics", "ser"), ["ser", "ser_applicable"]),
        (("ground", "--metrics", "u"), ["u_f1", "upmi_faith"]),
        (("gate", "a", "b", "--metric", "s"), [
            "sa", "slot_precision", "slot_recall", "slot_f1",
            "ser", "ser_applicable", "sgsacc", "sgsacc_plain", "sgsacc_validated", "sgsacc_gated",
        ]),
        (("perturb", "dialogue", "--with", "entities,"), [f"entities,{n}" for n in FAMILIES if n != "entities"]),
        (("dst", "--match", ""), ["fuzzy-indel", "fuzzy-difflib", "exact"]),
        (("dst", "--by", "s"), ["service", "slot"]),
        (("nlg", "--by", "a"), ["act"]),
        (("convert", "a", "b", "--to", ""), [name for name in FORMATS if FORMATS[name].FORMAT.writes]),
        (("table", "--to", "l"), ["latex"]),
        (("cache", "trim", "--to", ""), []),
        (("nlg", "--nli", "e"), ["embedded"]),
        (("models", "verify", "troth"), ["troth-nli", "troth-track"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("dst", ""), ["<file>"]),
        (("dst", "gold", "pre"), ["<file>"]),
        (("dst", "--schema", ""), ["<file>"]),
        (("compare", "--gold", ""), ["<file>"]),
        (("report", ""), ["<dir>"]),
        (("dst", "--out", ""), ["<dir>"]),
    ],
)  # fmt: skip
def test_values(words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(*words) == expected


def test_what_ls_is_offered_it_takes(fine: Troth) -> None:
    kinds = offered("ls", "")
    assert kinds == list(fine("ls", "--json").json())
    for kind in kinds:
        assert fine("ls", *kind.split()).out.startswith(kind)  # as a shell passes it on
        assert fine("ls", kind).out.startswith(kind)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script(fine: Troth, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = fine("completion", shell).out
    assert f"_TROTH_COMPLETE={shell}_complete" in script
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert fine("completion").out == script


def test_other_shells(troth: Troth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/dash")
    result = troth("completion")
    assert (result.code, result.err) == (2, "troth: 'dash' is not a supported shell (one of: bash, zsh, fish)\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("troth ga", ["gate"]),
        ("troth gate --met", ["--metric"]),
        ("troth gate --metric jga_", ["jga_cat", "jga_noncat"]),
        ("troth dst --profile sgd", ["sgd", "sgd-exact"]),
        ("troth unheard --met", []),
    ],
)
def test_bash(words: str, expected: list[str]) -> None:
    """The script, evaluated, and its function called as bash calls it."""
    count = len(words.split()) - 1
    script = f"""
        eval "$(troth completion bash)"
        complete -p troth >/dev/null || exit 1
        COMP_WORDS=({words}) COMP_CWORD={count}
        _troth_completion troth
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True, text=True, check=True, env={**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == (expected, "")
