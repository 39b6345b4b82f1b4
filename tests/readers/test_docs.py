"""The examples in docs/formats.md are what they say they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from troth import readers

PAGE = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (\S+)\n.*?```json\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", readers.FORMATS.own)
def test_example(tmp_path: Path, name: str) -> None:
    path = tmp_path / "example.json"
    path.write_text(EXAMPLES[name], encoding="utf-8")
    assert readers.detect(str(path)) == name
    assert len(list(readers.read(str(path)))) == 1
