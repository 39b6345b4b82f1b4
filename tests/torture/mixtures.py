"""Folders that are changed between two commands: a flipped bit in a run, another input of a run that is resumed, and
packages with broken plug-ins. No number may become another one without a word."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import sandbox, works
from tests.torture.sandbox import Fault
from tests.torture.subjects import DATA

GROUPS = ("tracking_metrics", "robustness_metrics", "responses_metrics", "grounding_metrics", "agent_metrics",
          "multiwoz_metrics", "readers", "matching_rules", "grounded_readers", "trajectory_readers", "perturbations",
          "backends", "recipes", "tasks", "scoring_tasks", "findings", "profiles")  # fmt: skip
BROKEN = {"missing": "no_such_module:x", "raises": "hostile:raises", "exits": "hostile:exits", "wrong": "hostile:wrong"}
HOSTILE = """
wrong = 7
def __getattr__(name):
    if name == "exits":
        raise SystemExit(3)
    raise RuntimeError("broken")
"""
COMMANDS = (
    ("dst", str(DATA / "gold"), str(DATA / "hasty"), "--resamples", "10", "--json"),
    ("ground", str(DATA / "documents" / "careful.jsonl"), "--metrics", "facts", "--resamples", "10", "--json"),
    ("agent", "score", str(DATA / "agents" / "sturdy.jsonl"), "--resamples", "10", "--json"),
    ("ls", "metrics"),
)
AGENT = (*works.AGENT, "live")


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """The kinds in turn, for ever; what is changed by chance."""
    place = folder / "mixtures"
    place.mkdir(parents=True)
    works.lay_tasks(place)
    works.done(place, "dst", str(DATA / "gold"), str(DATA / "hasty"), "--resamples", "10", "--out", "run")
    works.done(place, *AGENT)
    kinds: tuple[tuple[str, Callable[[Path, random.Random], Iterator[str]]], ...] = (
        ("seal", _flipped), ("resume", _resumed), ("plug-in", _plugged),
    )  # fmt: skip
    number = 0
    while True:
        for name, kind in kinds:
            chance = random.Random(f"{seed} {name} {number}")
            yield [Fault("mixtures", f"{name} {number}", name, what) for what in kind(place, chance)]
        number += 1


def _flipped(place: Path, chance: random.Random) -> Iterator[str]:
    """One bit of a file of a run is another: the run is refused, or shown as it was."""
    command = ("table", "run")
    whole = sandbox.call(command, place).out
    file = chance.choice([file for file in sorted((place / "run").rglob("*")) if file.is_file()])
    data = file.read_bytes()
    at = chance.randrange(len(data))
    file.write_bytes(data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :])
    outcome = sandbox.call(command, place)
    file.write_bytes(data)
    if wrong := sandbox.fault(outcome):
        yield wrong
    if outcome.code == 0 and outcome.out != whole:
        yield f"a flipped bit of {file.name} gives another table"


def _resumed(place: Path, chance: random.Random) -> Iterator[str]:
    """A live run is resumed after one of its files was changed: it is refused, or what a new run would be."""
    file = place / chance.choice(["tasks.json", "tools.json", "assistant.py"])
    data = file.read_text()
    old, new = chance.choice(
        [("order", "bill"), ("late", "broken"), ("policy(messages", "policy(messages[:1]"), ("", "")]
    )
    file.write_text(data.replace(old, new) if old else data)
    shutil.copytree(place / "live", place / "copy")
    try:
        outcome = sandbox.call((*works.AGENT, "copy"), place)
        if wrong := sandbox.fault(outcome):
            yield wrong
        same = file.read_text() == data
        if same and outcome.code:
            yield f"the same files are refused: {outcome.err[-200:]}"
        if not same and outcome.code == 0:
            yield f"resumed with another {file.name}"
    finally:
        file.write_text(data)
        sandbox.removed(place / "copy")


def _plugged(place: Path, chance: random.Random) -> Iterator[str]:
    """A broken plug-in of another package: commands work as they do without it, and standard error names it."""
    packages = place / "packages"
    info = packages / "hostile-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (packages / "hostile.py").write_text(HOSTILE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    groups = chance.sample(GROUPS, 4)
    entries = [
        f"[troth.{group}]\n{(kind := chance.choice(sorted(BROKEN)))}-{group} = {BROKEN[kind]}" for group in groups
    ]
    command = chance.choice(COMMANDS)
    plain = sandbox.call(command, place)
    (info / "entry_points.txt").write_text("\n".join(entries))

    def work() -> None:
        import importlib
        import sys

        sys.path.insert(0, str(packages))
        importlib.invalidate_caches()
        sandbox.command(command)

    outcome = sandbox.forked(work, place)
    if wrong := sandbox.fault(outcome):
        yield wrong
    if outcome.code or (outcome.out != plain.out and not _is_listing(command)):
        yield f"broken plug-ins ({json.dumps(entries)}) change the command: {outcome.err[-200:]}"


def _is_listing(command: tuple[str, ...]) -> bool:
    return command[0] == "ls"  # a value of a wrong type is listed by its name
