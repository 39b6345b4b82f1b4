"""Damaged files: each is refused in one line or gives a result."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import NEW, Subject, laid, spoilt


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """One damaged file after the other, for ever: the subjects in turn, file, damage and command by chance."""
    place = folder / "mutants"
    subjects = []
    for number, subject in enumerate(laid(place)):
        subjects.append(subject)
        yield _damaged(folder, subject, random.Random(f"{seed} {subject.name} {number}"))
    for number, subject in enumerate(itertools.cycle(subjects), len(subjects)):
        yield _damaged(folder, subject, random.Random(f"{seed} {subject.name} {number}"))


def _damaged(folder: Path, subject: Subject, chance: random.Random) -> list[Fault]:
    """Damages a file, runs a command that reads it, and puts everything back."""
    place = folder / "mutants"
    file = place / chance.choice(subject.files)
    arguments = [part.replace(NEW, "new") for part in chance.choice(subject.commands)]
    whole, copy = file.read_bytes(), folder / "copy"
    if subject.whole:
        shutil.copytree(place / subject.whole, copy)
    bad = spoilt(whole, chance)
    file.write_bytes(bad)
    outcome = sandbox.call(arguments, place, {"TROTH_CACHE": str(folder / "own-cache"), "RUST_BACKTRACE": "0"})
    wrong = sandbox.fault(outcome, verdict=arguments[0] == "gate")
    case = f"{subject.name}, {file.name}, {hashlib.sha256(bad).hexdigest()[:8]}"
    found = [Fault("mutants", case, " ".join(arguments), what) for what in (wrong, *sandbox.leftovers(place)) if what]
    if found and (keep := os.environ.get("TORTURE_KEEP")):  # a folder for what broke a promise
        (Path(keep) / f"{hashlib.sha256(bad).hexdigest()[:8]}-{file.name}").write_bytes(bad)
    for path in (place / "new", *place.glob("*.corrupt-*"), *place.glob(f"{file.name}-*")):
        sandbox.removed(path)
    if subject.whole:
        sandbox.removed(place / subject.whole)
        copy.rename(place / subject.whole)
    else:
        file.write_bytes(whole)
    return found
