"""A small part of the attack, the same on every machine; `make torture` has ten minutes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits what children may use")
@pytest.mark.parametrize(
    ("attack", "cases"),
    [("servers", 12), ("archives", 6), ("rooms", 1), ("texts", 6), ("mixtures", 9), ("kills", 3), ("mutants", 50)],
)
def test_no_promise_is_broken(attack: str, cases: int) -> None:
    command = [sys.executable, "-m", "tests.torture", "--only", attack, "--cases", str(cases), "--minutes", "30"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{attack}: {cases} tried, 0 promises broken" in run.stdout
