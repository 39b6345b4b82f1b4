"""`python -m tests.torture`: the attack, for some minutes or a number of cases; exits with 1 if a promise is broken."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import archives, cluster, kills, mixtures, mutants, rooms, sandbox, servers, texts
from tests.torture.sandbox import Fault

Attack = Callable[[Path, int], Iterator[list[Fault]]]
ATTACKS: dict[str, tuple[Attack, float]] = {  # with their shares of the time
    "servers": (servers.attack, 0.12),
    "archives": (archives.attack, 0.13),
    "rooms": (rooms.attack, 0.1),
    "texts": (texts.attack, 0.1),
    "mixtures": (mixtures.attack, 0.1),
    "kills": (kills.attack, 0.2),
    "mutants": (mutants.attack, 0.25),
}
ALONE: dict[str, tuple[Attack, float]] = {"cluster": (cluster.attack, 1.0)}  # needs Ray, and nothing else beside it


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long it takes in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(ATTACKS | ALONE), help="one attack alone")
    parser.add_argument("--cases", type=int, help="so many cases of each attack, if that takes less time")
    options = parser.parse_args()
    chosen = ATTACKS if options.only is None else {options.only: (ATTACKS | ALONE)[options.only]}
    shares = sum(share for _, share in chosen.values())
    sandbox.import_commands()
    faults: list[Fault] = []
    for name, (attack, share) in chosen.items():
        until = time.monotonic() + 60 * options.minutes * share / shares
        tried, broken = _run(attack, options.seed, until, options.cases)
        faults += broken
        print(f"{name}: {tried} tried, {len(broken)} promises broken", flush=True)
    for what, most in sandbox.FIGURES.items():
        print(f"{what}: {most:.2f} at most", flush=True)
    return 1 if faults else 0


def _run(attack: Attack, seed: int, until: float, most: int | None) -> tuple[int, list[Fault]]:
    tried, broken = 0, []
    with tempfile.TemporaryDirectory(prefix="troth-torture-", ignore_cleanup_errors=True) as folder:
        for faults in attack(Path(folder), seed):
            tried += 1
            for fault in faults:
                print(f"BROKEN {fault.kind}: {fault.case}: troth {fault.command}: {fault.what}", flush=True)
            broken += faults
            if time.monotonic() > until or tried == most:
                break
    return tried, broken


if __name__ == "__main__":
    sys.exit(main())
