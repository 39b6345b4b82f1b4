"""State tracking over a million turns: one process, two workers, and Ray on two nodes of this machine, in one table.

`python -m benchmarks.scale 50000` takes so many turns in place of a million.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serve.running import free_port

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


@contextmanager
def two_nodes(log: Path) -> Iterator[str]:
    """Ray's head and one more node on loopback, each with one processor; both end with this process."""
    ray, port = str(Path(sys.executable).parent / "ray"), free_port()
    address = f"127.0.0.1:{port}"
    common = [ray, "start", "--block", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--disable-usage-stats"]
    head = [*common, "--head", f"--port={port}", "--include-dashboard=false", "--object-store-memory=300000000"]
    second = [*common, f"--address={address}", "--object-store-memory=300000000"]
    started: list[subprocess.Popen[bytes]] = []
    with log.open("wb") as out:
        try:
            for command in (head, second):
                started.append(subprocess.Popen(command, stdout=out, stderr=out))
                _wait_for(address, len(started))
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(60)


def _wait_for(address: str, nodes: int) -> None:
    check = f"import ray; ray.init('{address}', log_to_driver=False); assert len(ray.nodes()) >= {nodes}"
    end = time.monotonic() + 60
    while subprocess.run([sys.executable, "-c", check], capture_output=True, check=False).returncode:
        if time.monotonic() > end:
            raise ConnectionError("Ray does not start on two nodes; see .bench/ray.log")


def main(turns: int = 1_000_000) -> None:
    gold, pred, count = corpus(turns)
    ways = {"one process": ("--workers", "1"), "two workers": ("--workers", "2")}
    arguments = ("dst", gold, pred, "--json", "--resamples", "100")
    took = {name: timing.troth(*arguments, *options, repeat=2) for name, options in ways.items()}
    took["Ray on this machine"] = timing.troth(*arguments, "--engine", "ray", "--workers", "2", repeat=2)
    try:
        with two_nodes(Path(".bench") / "ray.log") as address:
            options = ("--engine", "ray", "--address", address, "--workers", "2")
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
