"""The design's direction of imports: a folder imports only from its own level or from below, without exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import troth

ROOT = Path(troth.__file__).parent
ROOMS = (
    ("core",),
    ("text", "stats", "storage", "engine"),
    ("readers", "models"),
    ("perturb",),
    ("tracking", "responses", "grounding"),
    ("robustness", "agents", "systems", "meta"),
    ("client",),
    ("integrations", "report", "serve", "demo"),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
FACE = len(ROOMS)  # `import troth` and `from troth import dst`: the package's public names, which reach everything


def imports(source: str) -> Iterator[str]:
    """The rooms that a source imports from, wherever in it; "troth" for the package's own face."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "troth":
            yield from (alias.name if alias.name in LEVEL else "troth" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("troth."):
            yield (node.module or "").split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "troth":
                    yield [*alias.name.split("."), "troth"][1]


def wrong(room: str, imported: str) -> bool:
    return LEVEL.get(imported, FACE) > LEVEL[room]


def test_no_import_goes_against_the_direction() -> None:
    against = []
    for file in ROOT.rglob("*.py"):
        room = file.relative_to(ROOT).parts[0]
        if file.parent == ROOT:
            assert file.name in ("__init__.py", "__main__.py"), f"{file.name} belongs into a folder"
            continue
        assert room in LEVEL, f"{room} has no place in the design; give it one here"
        against += [f"{file.relative_to(ROOT)} imports {i}" for i in imports(file.read_text()) if wrong(room, i)]
    assert not against


def test_folders_below_the_questions_do_not_import_each_other() -> None:
    """Rooms of one level stand alone, but for those that are made of others by design."""
    allowed = {"integrations": {"report"}, "demo": {"report"}, "serve": {"integrations"}, "storage": {"stats"}}
    against = []
    for file in ROOT.rglob("*.py"):
        room = file.relative_to(ROOT).parts[0]
        near = {other for other in imports(file.read_text()) if LEVEL.get(other) == LEVEL.get(room, FACE)}
        against += [f"{file.relative_to(ROOT)} imports {other}" for other in near - {room} - allowed.get(room, set())]
    assert not against


@pytest.mark.parametrize(
    ("room", "source", "refused"),
    [
        ("tracking", "from troth.cli.tracking import dst", True),
        ("tracking", "from troth import robustness", True),
        ("tracking", "import troth", True),
        ("tracking", "from troth import dst", True),
        ("tracking", "import troth.stats", False),
        ("core", "def f():\n    from troth.storage import runs", True),
        ("cli", "from troth.storage import runs", False),
        ("cli", "from troth import __version__", True),
    ],
)
def test_the_test_itself(room: str, source: str, refused: bool) -> None:
    assert any(wrong(room, name) for name in imports(source)) == refused
