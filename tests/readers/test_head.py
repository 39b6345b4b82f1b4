"""The beginning of a file, read without the rest."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from troth.core.errors import UserError
from troth.readers import source, unpack

LINES = b'{"dialogue": "a", "turn": 0}\n' * 200_000


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"[]")
        archive.writestr("b.jsonl", b"second")
        archive.writestr("a.jsonl", data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.jsonl", bytes),
        ("a.json", bytes),
        ("a.jsonl.gz", gzip.compress),
        ("a.jsonl", gzip.compress),
        ("a.jsonl.bz2", bz2.compress),
        ("a.jsonl.xz", lzma.compress),
        ("a.zip", zipped),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_first_bytes_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, pack: Callable[[bytes], bytes], mark: bytes
) -> None:
    monkeypatch.setattr(unpack, "LARGEST", 1000)  # reading the whole file would be refused
    monkeypatch.setattr(unpack, "HARMLESS", 1000)
    monkeypatch.setattr(unpack, "RATIO", 0)
    path = tmp_path / name
    path.write_bytes(pack(mark + LINES))
    assert source.head(str(path), 100) == LINES[:100]
    assert source.head(str(tmp_path), 100) == LINES[:100]
    with pytest.raises(UserError, match="holds more than"):
        source.first(str(path))


def test_a_small_file_is_its_own_head(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[1]")
    assert source.head(str(path), 100) == b"[1]"
    path.write_bytes(b"")
    assert source.head(str(path), 100) == b""


def test_the_first_rows_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"dialogue": ["a"] * 1000, "turn": range(1000)}).write_parquet(path)
    assert source.head(str(path), 45) == b'{"dialogue":"a","turn":0}\n{"dialogue":"a","tu'
    assert source.head(str(path), 10**6).count(b"\n") == source.HEAD_ROWS - 1


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.json.gz", b"no gzip", "cannot be read: Not a gzipped file"),
        ("a.zip", b"no zip", "cannot be read: File is not a zip file"),
        ("a.zip", zipfile.ZipFile, "no .json or .jsonl file in this archive"),
    ],
)
def test_damaged_files_are_user_errors(
    tmp_path: Path, name: str, content: bytes | Callable[..., zipfile.ZipFile], error: str
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path, "w").close()
    with pytest.raises(UserError, match=error):
        source.head(str(path), 10)
    with pytest.raises(UserError, match="no such file or folder"):
        source.head(str(tmp_path / "nowhere.json"), 10)
