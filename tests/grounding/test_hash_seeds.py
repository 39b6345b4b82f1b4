"""Values do not depend on the order in which Python keeps sets, which differs from process to process."""

from __future__ import annotations

import os
import subprocess
import sys

RANKS = """
import random
from troth.grounding.evidence import passages
rng = random.Random(0)
words = [f"w{number}" for number in range(60)]
document = " ".join(" ".join(rng.choices(words, k=6)).capitalize() + "." for _ in range(80))
claims = [" ".join(rng.sample(words, 12)) for _ in range(40)]
print([[window.start for window in passages(document).best(claim, 3, 20)] for claim in claims])
"""


def test_the_best_windows_are_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", RANKS], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }  # fmt: skip
    assert len(found) == 1
    assert len(found.pop()) > 1000
