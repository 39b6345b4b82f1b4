"""Without the libraries of an extra: everything can be imported, and a command says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from troth.cli import _install_command

WITHOUT = """
import sys
for name in ("torch", "transformers", "onnxruntime", "altair", "ray", "spacy", "sacrebleu"):
    sys.modules[name] = None
"""
NAMES = "import troth\nfor name in troth.__all__:\n    getattr(troth, name)"
COMMAND = "from troth.cli import main\nmain()"


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_all_functions_can_be_imported() -> None:
    done = run(NAMES)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "extra"),
    [("train response x y", "train"), ("train tracker x y --recipe simpletod", "train"),
     ("train grounded x y", "train"), ("generate respond x y --out z", "neural")],
)  # fmt: skip
def test_commands_say_what_to_install(command: str, extra: str) -> None:
    done = run(COMMAND, *command.split())
    line = f'torch is not installed (pip install "troth[{extra}]")'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"troth: {line}\n")


def test_what_nobody_thought_of() -> None:
    code = "import troth.cli\ntroth.cli.app.main = lambda **_: __import__('{}')\ntroth.cli.main()"
    done = run(code.format("sacrebleu"))
    assert (done.returncode, done.stderr) == (2, 'troth: sacrebleu is not installed (pip install "troth[text]")\n')
    done = run(code.format("troth.nothing"))
    assert "internal error" in done.stderr


@pytest.mark.parametrize(("module", "extra"), [("spacy", "text"), ("altair", "charts"), ("vl_convert", "charts")])
def test_the_extra_that_brings_a_library(module: str, extra: str) -> None:
    assert _install_command(module) == f'pip install "troth[{extra}]"'
    assert _install_command("boto3") == "pip install boto3"
