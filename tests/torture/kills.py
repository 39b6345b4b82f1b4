"""Commands killed at random moments: the same command then gives what it gives undisturbed, and nothing is left."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import DATA

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
COPIES = 12  # of the bundled dialogues, so that there is something to interrupt
DOCUMENTS = str(DATA / "documents" / "careful.jsonl")


def _commands() -> dict[str, tuple[list[str], str]]:
    """Commands by name, each with the file or folder that it writes; "" for what it prints."""
    twins = [f"{name}={DATA / 'twins' / f'sturdy-{name}.jsonl'}" for name in ("NED", "PI", "SDI")]
    original = f"{DATA / 'gold'},{DATA / 'sturdy'}"
    return {
        "dst": (["dst", "gold", "pred", "--out", "new", "--force", "--workers", "2"], "new"),
        "checkdst": (["robust", "checkdst", original, *twins, "--out", "new", "--force", "--workers", "2"], "new"),
        "perturb": (["perturb", "dialogue", "gold", "new", "--with", "disfluency,entities", "--workers", "2"], "new"),
        "ground": (["ground", DOCUMENTS, "--metrics", "nli", "--cache", "cache.sqlite", "--json"], ""),
        "report": (["report", "run", "--out", "new.html"], "new.html"),
    }


def _corpus(place: Path) -> None:
    """The bundled dialogues several times over, under other ids, and a run of them."""
    for name, source in (("gold", "gold"), ("pred", "sturdy")):
        (place / name).mkdir(parents=True)
        whole = json.loads((DATA / source / "dialogues_001.json").read_bytes())
        for copy in range(COPIES):
            own = [one | {"dialogue_id": f"{copy}-{one['dialogue_id']}"} for one in whole]
            (place / name / f"dialogues_{copy + 1:03}.json").write_text(json.dumps(own))
    (place / "gold" / "schema.json").write_bytes((DATA / "gold" / "schema.json").read_bytes())


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """One kill after the other, for ever: the commands in turn, the signal and the moment by chance."""
    place = folder / "kills"
    _corpus(place)
    commands = _commands()
    expected: dict[str, str] = {}
    took: dict[str, float] = {}
    prepared = sandbox.call(["dst", "gold", "pred", "--out", "run"], place)
    if prepared.code:
        raise RuntimeError(prepared.err)
    for name, (arguments, target) in commands.items():
        began = time.monotonic()
        outcome = sandbox.call(arguments, place)
        if outcome.code:
            raise RuntimeError(f"{name}: {outcome.err}")
        took[name], expected[name] = time.monotonic() - began, _digest(place, target, outcome.out)
        _cleared(place)
    number = 0
    while True:
        for name, (arguments, target) in commands.items():
            number += 1
            chance = random.Random(f"{seed} {name} {number}")
            sign = chance.choice(SIGNALS)
            wrong = _killed(place, arguments, sign, chance.random() * took[name])
            outcome = sandbox.call(arguments, place)
            wrong += [what for what in (sandbox.fault(outcome), *sandbox.leftovers(place)) if what]
            if not wrong and _digest(place, target, outcome.out) != expected[name]:
                wrong.append("the result is not that of an undisturbed run")
            _cleared(place)
            yield [Fault("kills", f"{name} {sign.name} {number}", " ".join(arguments), what) for what in wrong]


def _killed(place: Path, arguments: Sequence[str], sign: signal.Signals, after: float) -> list[str]:
    """Starts a command and sends it a signal; what is wrong with how it ends."""
    logs = [place.parent / f".kills-{name}" for name in ("out", "err")]
    child = sandbox.start(lambda: sandbox.command(arguments), place, logs)
    time.sleep(after)
    with suppress(ProcessLookupError):
        os.kill(child, sign)  # the leader alone: its workers must notice by themselves
    _, status, _ = os.wait4(child, 0)
    code, err = os.waitstatus_to_exitcode(status), logs[1].read_bytes().decode(errors="replace")
    wrong = ["leaves processes"] if sandbox.left_alive(child) else []
    if "Traceback" in err or "internal error" in err:
        wrong.append(f"a traceback at {sign.name}: {err.strip().splitlines()[-1][:200]}")
    if code not in (0, -sign, 130, 143):
        wrong.append(f"exits with {code} at {sign.name}")
    return wrong


def _digest(place: Path, target: str, printed: str) -> str:
    """A digest of what a command wrote or printed; times and versions of the page are of no account."""
    if not target:
        return hashlib.sha256(printed.encode()).hexdigest()
    whole = place / target
    files = sorted(path for path in whole.rglob("*") if path.is_file()) if whole.is_dir() else [whole]
    total = hashlib.sha256()
    for path in files:
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _cleared(place: Path) -> None:
    for name in ("new", "new.html", *(path.name for path in place.glob("cache.sqlite*"))):
        sandbox.removed(place / name)
