"""Writes the bundled files, or prints the dialogues."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.demo_live.sentences import Json
from tests.demo_live.simulator import Simulator
from troth import demo

SEED = 60


def encode(dialogues: Sequence[Json]) -> bytes:
    """A line for each turn, so that a change of a sentence shows as one."""
    written = []
    for dialogue in dialogues:
        head = json.dumps({key: value for key, value in dialogue.items() if key != "turns"}, ensure_ascii=False)
        turns = ",\n  ".join(json.dumps(turn, ensure_ascii=False) for turn in dialogue["turns"])
        written.append(f'{head[:-1]}, "turns": [\n  {turns}\n ]}}')
    return ("[\n " + ",\n ".join(written) + "\n]\n").encode()


def files() -> dict[str, bytes]:
    """The bundled files by name."""
    simulator = Simulator(SEED)
    services = simulator.services.values()
    schema, wordings = [one.schema() for one in services], {one.name: one.wordings() for one in services}
    plain = {"live/schema.json": schema, "wordings/live.json": wordings}
    made = {name: f"{json.dumps(data, indent=1, ensure_ascii=False)}\n".encode() for name, data in plain.items()}
    return {"live/dialogues_001.json": encode(simulator.dialogues()), **made}


def main() -> None:
    if sys.argv[1:] == ["--text"]:
        for dialogue in Simulator(SEED).dialogues():
            print(f"\n{dialogue['dialogue_id']} {', '.join(dialogue['services'])}")
            for turn in dialogue["turns"]:
                print(f"  {'U' if turn['speaker'] == 'USER' else 'S'}: {turn['utterance']}")
        return
    for name, data in files().items():
        Path(demo.path(name)).write_bytes(data)
        print(f"{name}: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
