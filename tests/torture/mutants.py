"""Damaged files: each is refused in one line or gives a result."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import NEW, laid, spoilt


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """One damaged file after the other, for ever: the subjects in turn, file, damage and command by chance."""
    place = folder / "mutants"
    subjects = laid(place)
    settings = {"TROTH_CACHE": str(folder / "own-cache"), "RUST_BACKTRACE": "0"}
    number = 0
    while True:
        for subject in subjects:
            number += 1
            chance = random.Random(f"{seed} {subject.name} {number}")
            file = place / chance.choice(subject.files)
            arguments = [part.replace(NEW, "new") for part in chance.choice(subject.commands)]
            whole = file.read_bytes()
            file.write_bytes(spoilt(whole, chance))
            outcome = sandbox.call(arguments, place, settings)
            wrong = sandbox.fault(outcome, verdict=arguments[0] == "gate")
            left = sandbox.leftovers(place)
            case = f"{subject.name} {file.name} {number}"
            found = [Fault("mutants", case, " ".join(arguments), what) for what in (wrong, *left) if what]
            if found:
                keep = folder / "faults" / f"{number}-{file.name}"
                keep.parent.mkdir(exist_ok=True)
                keep.write_bytes(file.read_bytes() if file.is_file() else b"")
            for path in (place / "new", *place.glob("*.corrupt-*"), *place.glob(f"{file.name}-*")):
                sandbox.removed(path)
            file.write_bytes(whole)
            yield found
