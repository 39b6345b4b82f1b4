"""Where troth keeps what it need not compute or fetch twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def folder() -> Path:
    """$TROTH_CACHE, or the platform's folder for such things."""
    if own := os.environ.get("TROTH_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "troth"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "troth"
    if local := os.environ.get("LOCALAPPDATA"):
        return Path(local) / "troth" / "cache"
    return Path.home() / ".cache" / "troth"


def scores() -> Path:
    return folder() / "scores.sqlite"


def models() -> Path:
    return folder() / "models"
