"""Small corpora from the bundled dialogues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from troth import demo

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))


def dialogues(side: str) -> list[dict[str, Any]]:
    """The dialogues of gold, or what a tracker predicts for them."""
    return json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text())  # type: ignore[no-any-return]


def folder(path: Path, items: list[dict[str, Any]]) -> str:
    """A folder in SGD's layout with these dialogues."""
    path.mkdir()
    (path / "dialogues_001.json").write_text(json.dumps(items))
    (path / "schema.json").write_text((Path(GOLD) / "schema.json").read_text())
    return str(path)
