"""What is measured on: the SGD dev files where they are, else generated ones of the same size."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

from troth import demo

CACHE = Path(".bench")
SHARED = Path(os.environ.get("TROTH_SHARED") or Path(__file__).parents[2] / "shared")
FILES = 17
DIALOGUES = 2098


def sgd_dev() -> tuple[str, str, str]:
    """Gold, predictions, and where they are from."""
    gold, pred = SHARED / "data/sgd/dev", SHARED / "data/sgd_predictions/dev"
    if gold.is_dir() and pred.is_dir():
        return str(gold), str(pred), "SGD dev"
    return (*copies("like_sgd", FILES, DIALOGUES // FILES), "generated dialogues of SGD dev's size")


def copies(name: str, files: int, each: int) -> tuple[str, str]:
    """Bundled dialogues under new ids, as often as it takes, with a value changed here and there."""
    folders = CACHE / name / "gold", CACHE / name / "pred"
    if not (folders[1] / f"dialogues_{files:03d}.json").is_file():
        sources = [json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text()) for side in ("gold", "hasty")]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        (folders[0] / "schema.json").write_text((Path(demo.path("gold")) / "schema.json").read_text())
        rng = random.Random(0)
        texts = [[_without_id(dialogue) for dialogue in source] for source in sources]  # encoded once: gigabytes follow
        for number in range(1, files + 1):
            picks = [rng.randrange(len(sources[0])) for _ in range(each)]
            for folder, source in zip(folders, texts, strict=True):
                renamed = [f'{{"dialogue_id": "{number}_{i:05d}", {source[pick]}' for i, pick in enumerate(picks)]
                (folder / f"dialogues_{number:03d}.json").write_text(f"[{','.join(renamed)}]")
    return str(folders[0]), str(folders[1])


def _without_id(dialogue: dict[str, Any]) -> str:
    """A dialogue in JSON as SGD writes it, without its id and the bracket before it."""
    return json.dumps({key: value for key, value in dialogue.items() if key != "dialogue_id"}, indent=2)[1:]
