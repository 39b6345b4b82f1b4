"""Paths in the cache folder, which holds model answers and models."""

from __future__ import annotations

import os
from pathlib import Path

from troth.core.errors import UserError


def folder() -> Path:
    """$TROTH_CACHE, or $XDG_CACHE_HOME/troth, or the platform's folder for caches (~/.cache/troth on Linux)."""
    if own := os.environ.get("TROTH_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):  # on every platform
        return Path(xdg) / "troth"
    from platformdirs import user_cache_path

    try:
        path = user_cache_path("troth", appauthor=False)
        if not path.is_absolute():  # earlier versions of platformdirs leave "~" as it is
            raise RuntimeError
    except RuntimeError as error:
        raise UserError("there is no home directory for the cache", hint="set TROTH_CACHE to a folder") from error
    return path


def scores() -> Path:
    """The file of model answers."""
    return folder() / "scores.sqlite"


def models() -> Path:
    """The folder of fetched models."""
    return folder() / "models"
