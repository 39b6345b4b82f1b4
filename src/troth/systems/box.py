"""The bundled trackers: the recipe `span`, trained on SGD by `make tracker` (training/tracker)."""

from __future__ import annotations

from pathlib import Path

from troth.models import catalog


def plain() -> Path:
    """Tracks dialogues under any schema; trained on SGD, runs without torch."""
    return catalog.ready(catalog.TRACKERS) / "troth-track"


def robust() -> Path:
    """The same, trained on other wordings of SGD's schemas as well (SGD-X)."""
    return catalog.ready(catalog.TRACKERS) / "troth-track-robust"
