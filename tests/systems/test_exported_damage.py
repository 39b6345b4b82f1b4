"""Files of an exported tracker that are damaged: one line that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="needs the extra 'nli'")
from troth.core.errors import UserError
from troth.systems.span.exported import UPPER, _session


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / UPPER
    for content in (b"", b"no model", b"\x08\x07\x12" * 100):
        file.write_bytes(content)
        with pytest.raises(UserError, match=r"upper\.onnx: damaged model file"):
            _session(file)
