"""State tracking over a million turns: one process, two workers, and Ray on two nodes of this machine, in one table.

`python -m benchmarks.scale 50000` takes so many turns in place of a million.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.engine.nodes import TwoNodes

from benchmarks import timing
from benchmarks.corpus import copies

EACH = 500  # dialogues of a file


def corpus(turns: int) -> tuple[str, str, int]:
    """Gold, predictions, and how many turns gold has: at least so many."""
    files = 1
    gold, pred = copies(f"turns-{EACH}", files, EACH)
    first = json.loads((Path(gold) / "dialogues_001.json").read_text())
    per_file = sum(len(dialogue["turns"]) for dialogue in first)
    files = -(-turns // per_file)
    gold, pred = copies(f"turns-{turns}", files, EACH)
    return gold, pred, files * per_file


def main(turns: int = 1_000_000) -> None:
    gold, pred, count = corpus(turns)
    ways = {"one process": ("--workers", "1"), "two workers": ("--workers", "2")}
    arguments = ("dst", gold, pred, "--json", "--resamples", "100")
    took = {name: timing.troth(*arguments, *options, repeat=2) for name, options in ways.items()}
    took["Ray on this machine"] = timing.troth(*arguments, "--on", "ray", "--workers", "2", repeat=2)
    try:
        with TwoNodes(Path(".bench") / "ray.log") as nodes:
            options = ("--on", "ray", "--address", nodes.address, "--workers", "2")
            took["Ray on two nodes of this machine"] = timing.troth(*arguments, *options, repeat=2)
    except ConnectionError as error:
        print(error)
    alone = took["one process"]
    different = [name for name, one in took.items() if one.out != alone.out]
    if different:
        raise SystemExit(f"other scores: {', '.join(different)}")
    timing.show(
        f"state tracking over {count:,} generated turns: the same scores from every engine",
        [
            (name, f"{count / one.seconds:,.0f} turns/s, {one.seconds:.1f} s, {alone.seconds / one.seconds:.2f} ×")
            for name, one in took.items()
        ],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
