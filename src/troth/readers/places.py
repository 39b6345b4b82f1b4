"""Where data lies: local paths, globs (`logs/2026-*/*.jsonl`), and addresses that fsspec opens (`s3://bucket/logs`).

An address becomes a `UPath` of universal_pathlib, which has the methods of `pathlib.Path`; nothing else in the readers
knows the difference.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Any, cast

from troth.core.errors import UserError

MARK = "://"
PATTERN = re.compile(r"[*?\[]")
EXTRA = "pip install 'troth[remote]', and the package of the storage: s3fs, gcsfs, adlfs, …"


def place(path: str) -> Path:
    """A path, or what an address names, with the same methods."""
    if MARK not in path:
        return Path(path)
    try:
        from upath import UPath

        return cast(Path, UPath(path))
    except (ImportError, ValueError) as error:  # fsspec's words for a scheme that it does not know, or cannot open
        raise UserError(f"the address cannot be opened: {error}", file=path, hint=EXTRA) from error


def matches(path: str) -> list[Path] | None:
    """The files that a glob matches, sorted; None if the path is none. A file of that very name comes first."""
    if not PATTERN.search(path) or (MARK not in path and Path(path).exists()):
        return None
    if MARK not in path:
        return [one for one in map(Path, sorted(glob.glob(path, recursive=True))) if not one.is_dir()]
    try:
        from fsspec.core import url_to_fs

        system, inner = url_to_fs(path)
        found: list[Any] = sorted(system.glob(inner))
        return [place(str(system.unstrip_protocol(one))) for one in found if not system.isdir(one)]
    except (ImportError, ValueError) as error:
        raise UserError(f"the address cannot be opened: {error}", file=path, hint=EXTRA) from error


def fixed(path: str) -> str:
    """The folder above the first wildcard of a glob; any other path as it is."""
    found = PATTERN.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0] or "."
