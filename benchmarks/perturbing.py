"""Perturbing a corpus beside merely reading and writing it: whole commands on the same files."""

from __future__ import annotations

import shutil

from benchmarks import timing
from benchmarks.corpus import CACHE, sgd_dev

OUT = str(CACHE / "perturbed")


def best(*arguments: str, repeat: int = 5) -> float:
    """The best of several runs of a command that writes to `OUT`, which must not be there."""
    seconds = []
    for _ in range(repeat):
        shutil.rmtree(OUT, ignore_errors=True)
        seconds.append(timing.troth(*arguments, repeat=1).seconds)
    shutil.rmtree(OUT, ignore_errors=True)
    return min(seconds)


def main() -> None:
    CACHE.mkdir(exist_ok=True)
    gold, _, name = sgd_dev()
    command = ("perturb", "dialogue", gold, OUT, "--with", "disfluency,entities")
    copied = best("convert", gold, OUT, "--to", "sgd")
    made = best(*command)
    alone = best(*command, "--workers", "1")
    timing.show(
        f"perturbing {name} with disfluency and entities",
        [
            ("troth convert --to sgd: read and write", f"{copied:.2f} s"),
            ("troth perturb dialogue, all cores", f"{made:.2f} s"),
            ("perturb / convert (below 3 wanted)", f"{made / copied:.2f} ×"),
            ("perturb / convert with one process", f"{alone / copied:.2f} ×"),
        ],
    )
