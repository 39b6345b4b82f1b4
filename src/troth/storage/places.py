"""Where troth keeps what it need not compute or fetch twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from troth.core.errors import UserError


def folder() -> Path:
    """$TROTH_CACHE, or the platform's folder for such things."""
    if own := os.environ.get("TROTH_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "troth"
    if local := os.environ.get("LOCALAPPDATA"):
        return Path(local) / "troth" / "cache"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UserError("there is no home directory to keep a cache in", hint="TROTH_CACHE names a folder") from error
    return home / "Library" / "Caches" / "troth" if sys.platform == "darwin" else home / ".cache" / "troth"


def scores() -> Path:
    return folder() / "scores.sqlite"


def models() -> Path:
    return folder() / "models"
