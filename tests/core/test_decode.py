"""Errors of reading and decoding as user errors."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from troth.core.decode import explain, reading
from troth.core.errors import UserError


def test_errors_become_one_line_with_file_reason_and_hint(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with pytest.raises(UserError) as missing, reading(file, "not a run", hint="make one"):
        file.read_bytes()
    assert str(missing.value) == f"{file}: not a run: No such file or directory (make one)"
    with pytest.raises(UserError) as broken, reading("a.json"):
        msgspec.json.decode(b"{")
    assert str(broken.value) == "a.json: cannot be read: Input data was truncated"
    with pytest.raises(UserError) as unnamed, reading(None, "not a call"):
        msgspec.convert("x", int)
    assert str(unnamed.value) == "not a call: Expected `int`, got `str`"


def test_other_errors_pass_unless_they_are_named() -> None:
    with pytest.raises(KeyError), reading("a.json"):
        raise KeyError("x")
    with pytest.raises(UserError, match="cannot be read: 'x'"), reading("a.json", also=(KeyError,)):
        raise KeyError("x")
    inner = UserError("something else")
    with pytest.raises(UserError) as outer, reading("a.json", "not a run"):
        raise inner
    assert outer.value is inner


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "not valid UTF-8"),
        (msgspec.DecodeError("Invalid UTF-8 encoded string"), "not valid UTF-8"),
        (PermissionError(13, "Permission denied", "a"), "Permission denied"),
        (OSError("not a gzipped file"), "not a gzipped file"),
        (ValueError("first line\nsecond line"), "first line"),
        (EOFError(), "EOFError"),
    ],
)
def test_reasons(error: Exception, reason: str) -> None:
    assert explain(error) == reason
