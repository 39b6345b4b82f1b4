"""Paths of data: local paths, globs (`logs/2026-*/*.jsonl`), and addresses that fsspec opens (`s3://bucket/logs`).

An address becomes a `UPath` of universal_pathlib, which has the methods of `pathlib.Path`, so that the other readers
need not distinguish them.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from troth.core.errors import UserError
from troth.core.extras import install_command

MARK = "://"
PATTERN = re.compile(r"[*?\[]")
EXTRA = install_command("remote") + ", and the package of the storage: s3fs, gcsfs, adlfs, …"


@contextmanager
def opening(path: str, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turns errors of fsspec and of storage packages into a UserError that names the address, except those in `but`."""
    try:
        yield
    except Exception as error:  # storage packages have their own errors, for example for missing credentials
        if isinstance(error, (UserError, *but)):
            raise
        unknown = isinstance(error, ImportError | ValueError)  # fsspec does not know the scheme, or cannot open it
        hint = EXTRA if unknown else "check the address, the network and the credentials"
        raise UserError(f"the address cannot be opened: {error}", file=path, hint=hint) from error


def to_path(path: str) -> Path:
    """A local path, or the `UPath` of an address."""
    if MARK not in path:
        return Path(path)
    with opening(path):
        from upath import UPath

        address = UPath(path)
        _ = address.fs  # opened now, so that a missing package is reported here
        return cast(Path, address)


def glob_files(path: str) -> list[Path] | None:
    """The files that a glob matches, sorted; None if the path is not a glob, or is the name of an existing file."""
    if not PATTERN.search(path) or (MARK not in path and Path(path).exists()):
        return None
    if MARK not in path:
        return [file for file in map(Path, sorted(glob.glob(path, recursive=True))) if not file.is_dir()]
    with opening(path):
        from fsspec.core import url_to_fs

        system, pattern = url_to_fs(path)
        names: list[str] = sorted(system.glob(pattern))
        return [to_path(str(system.unstrip_protocol(name))) for name in names if not system.isdir(name)]


def glob_root(path: str) -> str:
    """The folder above the first wildcard of a glob; any other path unchanged."""
    wildcard = PATTERN.search(path)
    return path if wildcard is None else path[: wildcard.start()].rpartition("/")[0] or "."
