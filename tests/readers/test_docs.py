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


def test_table() -> None:
    """The table says of each format what its reader declares."""
    rows = re.findall(r"^\| `(\S+)` \|.*\| (?:`(\w+)`)? ?\| ?(yes)? ?\|$", PAGE.partition("\n## ")[0], re.MULTILINE)
    declared = {name: readers.FORMATS.load(name).FORMAT for name in readers.FORMATS.own}
    assert {name: (profile or None, bool(written)) for name, profile, written in rows} == {
        name: (format.profile, format.writes) for name, format in declared.items()
    }
