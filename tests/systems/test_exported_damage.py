"""Files of an exported tracker that are damaged: one line that names the file."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="needs the extra 'nli'")
from troth.core.errors import UserError
from troth.systems.span.exported import SCALES, UPPER, WORDS, _session, pack_words, read_words


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / UPPER
    for content in (b"", b"no model", b"\x08\x07\x12" * 100):
        file.write_bytes(content)
        with pytest.raises(UserError, match=r"upper\.onnx: damaged model file"):
            _session(file)


def npy(array: Any) -> bytes:
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


@pytest.mark.parametrize("name", [WORDS, SCALES])
def test_damaged_word_vectors_are_one_line(tmp_path: Path, name: str) -> None:
    """However a file is damaged, it is refused in one line, or can be read."""
    table, scales = pack_words(np.random.default_rng(0).normal(size=(50, 64)).astype(np.float32))
    whole = {WORDS: npy(table), SCALES: npy(scales)}
    for file, data in whole.items():
        (tmp_path / file).write_bytes(data)
    assert read_words(tmp_path).shape == (50, 64)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.npy", whole[name])
    chance, data = random.Random(0), whole[name]
    others: list[bytes] = [
        b"", b"PK\x03\x04", b"no array", data[:60], data[:-7], archive.getvalue(), npy(table[0]), npy(np.float32(1)),
        npy(table.astype(np.float64)), npy(scales.astype("U8")), npy(table[:7]),
        data.replace(b"(50,", b"(5000000000000,"),
    ]  # fmt: skip
    for _ in range(400):
        at = chance.randrange(128)
        others.append(data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :])
    refused = 0
    for content in others:
        (tmp_path / name).write_bytes(content)
        with suppress(UserError):
            read_words(tmp_path)
            refused -= 1
        refused += 1
    assert refused > 300
