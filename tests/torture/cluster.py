"""Two nodes of Ray in the middle of their work: one leaves, a worker is killed, memory is short; no result is missing.

Needs the extra 'ray'. A case takes half a minute, and minutes on a busy machine.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.engine.nodes import SECOND, TwoNodes
from tests.torture.sandbox import Fault

ITEMS, PATIENCE = 30, 300
LEAVES, KILLED, HUNGRY = "a node leaves", "a worker is killed", "a worker runs out of memory"
HOG = 3 << 30  # bytes that the hungry worker takes, once
WORK = """
import json, os, sys, time
from pathlib import Path
from troth.engine import parallel_map, using

def slow(number, folder=Path(sys.argv[2]), hungry=int(sys.argv[4])):
    import ray
    if number == hungry and not (folder.parent / f"{folder.name}-hungry").exists():
        (folder.parent / f"{folder.name}-hungry").touch()
        held = bytearray(HOG)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(60)
        (folder.parent / f"{folder.name}-spared").touch()
    (folder / f"{number} {os.getpid()} {ray.util.get_node_ip_address()}").touch()
    time.sleep(0.5)
    return 2 * number

with using("ray", address=sys.argv[1]):
    print(json.dumps(list(parallel_map(slow, range(int(sys.argv[3])), 2))))
"""


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """For ever: what happens in turn, the moment by chance."""
    number = 0
    while True:
        for what in (LEAVES, KILLED, HUNGRY):
            begun = folder / f"begun-{number}"
            begun.mkdir(parents=True)
            chance = random.Random(f"{seed} {number}")
            with TwoNodes(folder / "ray.log", **(_little_memory() if what == HUNGRY else {})) as nodes:
                wrong = _disturbed(nodes, begun, chance.randint(1, ITEMS // 2), what)
            yield [Fault("cluster", what, "--on ray", fault) for fault in wrong]
            number += 1


def _little_memory() -> dict[str, str]:
    """Settings of Ray's monitor of memory: what is used now and half of what the hungry worker takes is too much."""
    known = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(known[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return {
        "RAY_memory_usage_threshold": f"{(total - free + HOG / 2) / total:.4f}",
        "RAY_memory_monitor_refresh_ms": "100",
    }


def _disturbed(nodes: TwoNodes, begun: Path, after: int, what: str) -> list[str]:
    """What is wrong with the results of work during which something happened, after so many items were begun."""
    leaves, hungry = what == LEAVES, after if what == HUNGRY else -1
    command = [sys.executable, "-c", WORK.replace("HOG", str(HOG)), nodes.address, str(begun), str(ITEMS), str(hungry)]
    logs = begun.with_suffix(".out"), begun.with_suffix(".err")
    with logs[0].open("wb") as out, logs[1].open("wb") as err:
        work = subprocess.Popen(command, stdout=out, stderr=err)
    end = time.monotonic() + PATIENCE
    while work.poll() is None and time.monotonic() < end:
        items = list(begun.iterdir())
        if len(items) >= after and (not leaves or any(SECOND in one.name for one in items)):
            break
        time.sleep(0.02)
    if leaves:
        wrong = [] if any(SECOND in one.name for one in items) else ["the node that left had no work: nothing is shown"]
        nodes.leave()
    else:
        wrong = []
        if what == KILLED:
            os.kill(int(items[-1].name.split()[1]), signal.SIGKILL)
    try:
        work.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        work.kill()
        work.wait()
        return [*wrong, "does not end"]
    if begun.with_name(f"{begun.name}-spared").exists():
        wrong.append("the hungry worker was not killed: nothing is shown")
    said = logs[1].read_text(errors="replace").strip().splitlines()
    if work.returncode or not logs[0].stat().st_size:
        return [*wrong, f"exits with {work.returncode} and no result: {said[-1] if said else ''}"]
    *more, last = logs[0].read_text(errors="replace").splitlines()
    wrong += [f"on standard output beside the result: {line[:200]}" for line in more[:1]]
    right = json.loads(last) == [2 * number for number in range(ITEMS)]
    return wrong if right else [*wrong, "other results than undisturbed"]
