"""Verifies the files of fetched models when they are loaded.

A file is right if its SHA-256 is. Hashing takes a second per gigabyte, so size, times and place on disk of files that
were found right are recorded in the cache folder; files are hashed again when one of these differs, and once a day: a
disk can change a bit without a trace.
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
    """Files that were found right."""

    sha256: Mapping[str, str]
    stamps: Mapping[str, tuple[int, ...]]
    at: float  # seconds since the epoch


def fault(folder: Path, sha256: Mapping[str, str]) -> str | None:
    """What is wrong with files of known SHA-256; None where nothing is."""
    for file, expected in ((folder / name, digest) for name, digest in sha256.items()):
        try:
            with file.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != expected:
                    return f"{file}: is not the file that was released: its SHA-256 differs"
        except OSError as error:
            return f"{file}: cannot be read: {error.strerror}"
    return None


def fault_since(folder: Path, sha256: Mapping[str, str]) -> str | None:
    """As `fault`, but files that were found right less than a day ago and were not touched since are not read."""
    place = places.models() / ".verified" / f"{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}.json"
    stamps = _stamps(folder, sha256)
    with suppress(OSError, msgspec.DecodeError):  # without a record that can be read, files are hashed
        record = msgspec.json.decode(place.read_bytes(), type=_Record)
        same = stamps is not None and (record.sha256, record.stamps) == (sha256, stamps)
        if same and 0 <= time.time() - record.at < DAY:
            return None
    if (wrong := fault(folder, sha256)) is not None:
        return wrong
    if stamps is not None:
        with suppress(OSError):  # a cache folder that cannot be written: they are hashed again next time
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(msgspec.json.encode(_Record(sha256, stamps, time.time())))
            part.replace(place)
    return None


def _stamps(folder: Path, names: Mapping[str, str]) -> dict[str, tuple[int, ...]] | None:
    """Size, times and place on disk of each file; None where one of them is not there."""
    try:
        found = {name: os.stat(folder / name) for name in names}
    except OSError:
        return None
    return {name: (one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino) for name, one in found.items()}
