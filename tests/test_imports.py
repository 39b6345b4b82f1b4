"""The design's direction of imports: a module imports only what lies at its level or below."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import troth

ROOT = Path(troth.__file__).parent
LEVEL = {
    "records": 0, "errors": 0, "registry": 0,
    "normalize": 1, "readers": 1, "metrics": 1, "stats": 1, "perturb": 1, "backends": 1, "demo": 1,
    "scorers": 2, "generate": 2, "trackers": 2,
    "runner": 3, "report": 3,
    "cli": 4, "testing": 4,
}  # fmt: skip
REPORT_MAY = {"records", "stats", "errors", "report"}  # it reads result files


def imports(source: str) -> Iterator[str]:
    """Our own packages that a source imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "troth":
            yield from (alias.name for alias in node.names if not alias.name.startswith("__"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("troth."):
            yield (node.module or "").split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("troth."))


def wrong(package: str, imported: str) -> bool:
    if package == "report":
        return imported not in REPORT_MAY
    if package == "metrics" and imported == "backends":
        return True
    return LEVEL[imported] > LEVEL[package] or (LEVEL[package] == 0 and imported not in ("errors", package))


def test_no_import_goes_against_the_direction() -> None:
    found = []
    for file in ROOT.rglob("*.py"):
        package = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if package in ("__init__", "__main__"):
            continue  # the package's own face may reach for everything
        assert package in LEVEL, f"{package} has no place in the design; give it one here"
        found += [f"{file.name}: {package} imports {i}" for i in imports(file.read_text()) if wrong(package, i)]
    assert not found


@pytest.mark.parametrize(
    ("package", "source", "refused"),
    [
        ("metrics", "from troth.runner.dst import dst", True),
        ("metrics", "from troth import backends", True),
        ("metrics", "import troth.stats", False),
        ("report", "from troth.metrics import aggregate", True),
        ("records", "def f():\n    from troth.normalize import slot", True),
        ("cli", "from troth.runner import store", False),
    ],
)
def test_the_test_itself(package: str, source: str, refused: bool) -> None:
    assert any(wrong(package, name) for name in imports(source)) == refused
