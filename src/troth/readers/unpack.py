"""Bytes out of compressed files, archives and Parquet, with limits on how much they may unpack to."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from troth.core.decode import explain
from troth.core.errors import UserError
from troth.core.options import size as parse_size

LARGEST = 2 * 10**9  # bytes of one document, unless TROTH_INPUT_LIMIT says otherwise
RATIO = 100  # how many times its own size an archive may unpack to; dialogues in JSON reach about 30
HARMLESS = 10**8  # bytes that any archive may unpack to
IS_WHOLE = "is the file whole?"

CHUNK = 1 << 20  # bytes read at once
ROWS = 5_000  # rows of a Parquet file that are one document
_PARQUET = b"PAR1"
ARCHIVE_PROTOCOLS = ("zip", "tar", "libarchive")  # of fsspec
# By ending: the first bytes of such a file, and the function that opens it.
COMPRESSIONS: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": (b"\x1f\x8b", lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file))),
    ".bz2": (b"BZh", lambda file: cast(IO[bytes], bz2.BZ2File(file))),
    ".xz": (b"\xfd7zXZ\x00", lambda file: cast(IO[bytes], lzma.LZMAFile(file))),  # noqa: SIM115
}
DAMAGE = (  # errors that damaged files raise, beside OSError
    EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, struct.error, ValueError,
    RuntimeError,
)  # fmt: skip


class Content(NamedTuple):
    """The bytes of a file or of a part of it, and the name that errors use for it."""

    name: str
    data: bytes


def unpacked_name(name: str) -> str:
    """The name of a file without the ending of its compression."""
    return name.removesuffix(next((ending for ending in COMPRESSIONS if name.endswith(ending)), ""))


def max_unpacked(packed: int) -> int:
    """The number of bytes that a file of `packed` bytes may unpack to."""
    limit = os.environ.get("TROTH_INPUT_LIMIT")
    return parse_size(limit) if limit else max(HARMLESS, RATIO * packed)


def max_document(packed: int | None = None) -> int:
    """The number of bytes that a document may have; `packed`: the size of the archive that it comes from."""
    limit = os.environ.get("TROTH_INPUT_LIMIT")
    if limit:
        return parse_size(limit)
    return LARGEST if packed is None else min(LARGEST, max_unpacked(packed))


def archived_limit(file: Path) -> int | None:
    """The limit of a file inside an archive that an address names (`zip://a.json::s3://b/c.zip`); None for others."""
    if getattr(file, "protocol", "") not in ARCHIVE_PROTOCOLS:
        return None
    packed = file.fs.info(file.path).get("compress_size")  # type: ignore[attr-defined]
    return max_document(packed if isinstance(packed, int) else 0)


def too_large(name: str, limit: float) -> UserError:
    """The error for a document above the limit."""
    hint = "TROTH_INPUT_LIMIT=20GB allows more"
    return UserError(f"holds more than {limit / 1e6:,.0f} MB once it is read", file=name, hint=hint)


def decompress(name: str, file: IO[bytes]) -> IO[bytes]:
    """A stream of the unpacked content, if the name or the first bytes say that the file is compressed; else `file`."""
    beginning = file.read(8)
    file.seek(0)
    for ending, (mark, unpack) in COMPRESSIONS.items():
        if name.endswith(ending) or beginning.startswith(mark):
            return unpack(file)
    return file


def read_bytes(name: str, file: IO[bytes], limit: int, beginning: bytes = b"") -> bytes:
    """The whole content of a stream; above `limit` bytes it is an error. `beginning`: bytes that were already read."""
    data = io.BytesIO()
    chunk = beginning
    while chunk := chunk or file.read(CHUNK):
        data.write(chunk)
        if data.tell() > limit:
            raise too_large(name, limit)
        chunk = b""
    return data.getvalue()


def read_unpacked(name: str, file: IO[bytes], limit: int | None = None, beginning: bytes = b"") -> bytes:
    """The unpacked content of a stream, without the byte order mark that editors on Windows write.

    `limit`: the number of bytes that it may unpack to; by default it depends on the packed size.
    """
    data = read_bytes(name, file, max_document() if limit is None else limit, beginning)
    packed = io.BytesIO(data)
    stream = decompress(name, packed)
    if stream is not packed:
        data = read_bytes(name, stream, max_document(len(data)) if limit is None else limit)
    return data.removeprefix(codecs.BOM_UTF8)


def read_head(name: str, file: IO[bytes], size: int) -> bytes:
    """The first `size` bytes of the unpacked content of a stream."""
    return decompress(name, file).read(size + len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)[:size]


def unzip(file: Path, wanted: Callable[[str], bool], size: int | None = None) -> Iterator[Content]:
    """The wanted members of an archive, sorted by name; `size`: only that many bytes of each."""
    with file.open("rb") as packed, zipfile.ZipFile(packed) as archive:
        limit = max_document(file.stat().st_size)
        for name in sorted(name for name in archive.namelist() if wanted(name) and not name.startswith("__MACOSX/")):
            member = archive.getinfo(name)
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                hint = "unpack the archive and name the folder"
                raise UserError("encrypted, or an unknown kind of compression", file=f"{file}/{name}", hint=hint)
            full_name = f"{file}/{name}"
            with archive.open(member) as stream:
                if size is None:
                    data = read_unpacked(full_name, stream, limit)
                    limit -= len(data)
                else:
                    data = read_head(full_name, stream, size)
            yield Content(full_name, data)


def read_parquet(file: Path, rows: int | None = None) -> Iterator[Content]:
    """The rows of a Parquet file as JSON lines, some thousands at a time; keys without a value are left out.

    `rows`: how many rows at a time. By default, rows that are turns of dialogues stay together.
    """
    import polars as pl

    try:
        with file.open("rb") as data:
            if data.read(len(_PARQUET)) != _PARQUET:
                raise UserError("is not a Parquet file", file=str(file), hint=IS_WHOLE)
            data.seek(0)
            local = isinstance(file, Path)
            lazy = pl.scan_parquet(file if local else io.BytesIO(read_bytes(str(file), data, max_document())))
        count = lazy.select(pl.len()).collect().item()
        size = rows or (count if "dialogue" in lazy.collect_schema() else ROWS)
        for start in range(0, count, size or 1) or (0,):
            values = lazy.slice(start, size).collect().to_dicts()
            lines = b"\n".join(msgspec.json.encode(_drop_nulls(row)) for row in values)
            yield Content(f"{file}" if count <= size else f"{file}, rows from {start}", lines)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError) as error:
        raise UserError(f"cannot be read: {explain(error)}", file=str(file), hint=IS_WHOLE) from error


def _drop_nulls(value: Any) -> Any:
    """A Parquet column has a value in every row; a null stands for a key that the original object did not have."""
    if isinstance(value, dict):
        return {key: _drop_nulls(item) for key, item in value.items() if item is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value
