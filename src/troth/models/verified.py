"""Verifies the files of fetched models when they are loaded.

A file is valid if its SHA-256 matches. Hashing takes a second per gigabyte, so size, times and inode of valid files are
recorded in the cache folder; files are hashed again when one of these differs, and once a day: a disk can change a bit
without a trace.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from troth.storage import places

DAY = 24 * 3600


class _Record(msgspec.Struct, frozen=True):
    sha256: Mapping[str, str]
    stamps: Mapping[str, tuple[int, ...]]
    at: float  # seconds since the epoch


def fault(folder: Path, sha256: Mapping[str, str]) -> str | None:
    """The first problem with files of known SHA-256; None if all are valid."""
    for file, expected in ((folder / name, digest) for name, digest in sha256.items()):
        try:
            with file.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != expected:
                    return f"{file}: is not the file that was released: its SHA-256 differs"
        except OSError as error:
            return f"{file}: cannot be read: {error.strerror}"
    return None


def fault_since(folder: Path, sha256: Mapping[str, str]) -> str | None:
    """As `fault`, but files that were valid less than a day ago and are unchanged since are not read."""
    record_file = (
        places.models() / ".verified" / f"{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}.json"
    )
    stamps = _stamps(folder, sha256)
    with suppress(OSError, msgspec.DecodeError):  # without a record that can be read, files are hashed
        record = msgspec.json.decode(record_file.read_bytes(), type=_Record)
        same = stamps is not None and (record.sha256, record.stamps) == (sha256, stamps)
        if same and 0 <= time.time() - record.at < DAY:
            return None
    if (wrong := fault(folder, sha256)) is not None:
        return wrong
    if stamps is not None:
        with suppress(OSError):  # a read-only cache folder: files are hashed again next time
            record_file.parent.mkdir(parents=True, exist_ok=True)
            part = record_file.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(msgspec.json.encode(_Record(sha256, stamps, time.time())))
            part.replace(record_file)
    return None


def _stamps(folder: Path, names: Mapping[str, str]) -> dict[str, tuple[int, ...]] | None:
    """Size, times and inode of each file; None if one is missing."""
    try:
        stats = {name: os.stat(folder / name) for name in names}
    except OSError:
        return None
    return {name: (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) for name, stat in stats.items()}
