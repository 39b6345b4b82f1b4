"""Where data lies: local paths, globs (`logs/2026-*/*.jsonl`), and addresses that fsspec opens (`s3://bucket/logs`).

An address becomes a `UPath` of universal_pathlib, which has the methods of `pathlib.Path`; nothing else in the readers
knows the difference.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from troth.core.errors import UserError
from troth.core.extras import install_command

MARK = "://"
PATTERN = re.compile(r"[*?\[]")
EXTRA = install_command("remote") + ", and the package of the storage: s3fs, gcsfs, adlfs, …"


@contextmanager
def opening(path: str, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turns what fsspec and the package of a storage raise into one line that names the address, `but` some errors."""
    try:
        yield
    except Exception as error:  # packages of storages have errors of their own, for missing credentials for example
        if isinstance(error, (UserError, *but)):
            raise
        unknown = isinstance(error, ImportError | ValueError)  # a scheme that fsspec does not know, or cannot open
        hint = EXTRA if unknown else "check the address, the network and the credentials"
        raise UserError(f"the address cannot be opened: {error}", file=path, hint=hint) from error


def place(path: str) -> Path:
    """A path, or what an address names, with the same methods."""
    if MARK not in path:
        return Path(path)
    with opening(path):
        from upath import UPath

        at = UPath(path)
        _ = at.fs  # opened now, so that a package that is missing is an error here
        return cast(Path, at)


def matches(path: str) -> list[Path] | None:
    """The files that a glob matches, sorted; None if the path is none. A file of that very name comes first."""
    if not PATTERN.search(path) or (MARK not in path and Path(path).exists()):
        return None
    if MARK not in path:
        return [one for one in map(Path, sorted(glob.glob(path, recursive=True))) if not one.is_dir()]
    with opening(path):
        from fsspec.core import url_to_fs

        system, inner = url_to_fs(path)
        found: list[Any] = sorted(system.glob(inner))
        return [place(str(system.unstrip_protocol(one))) for one in found if not system.isdir(one)]


def fixed(path: str) -> str:
    """The folder above the first wildcard of a glob; any other path as it is."""
    found = PATTERN.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0] or "."
