"""Where tests find other people's data: beside the project, or where TROTH_SHARED says. Absent, they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]  # runs pytest inside tests, for the tests of our plug-in

# A busy machine is no failure: no example has a time limit.
settings.register_profile("troth", deadline=None)
settings.load_profile("troth")

SHARED = Path(os.environ.get("TROTH_SHARED") or Path(__file__).parents[2] / "shared")


# Commands, pages, services, models and workers; what is left are the functions that they call.
SLOW_FOLDERS = ("browser", "cli", "engine", "integrations", "models", "report", "serve", "systems", "torture")
SLOW_FILES = ("test_golden.py", "test_laws.py", "test_run.py", "test_structure.py", "test_multiwoz.py", "test_parts.py")
SLOW_NAMES = {"subprocess", "Popen", "multiprocessing", "torch", "transformers", "onnx", "onnxruntime", "ray"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs models, further processes or a browser as slow: by its folder, or by the names that it uses.

    The attack, which takes longest, is first: at the end one worker would run it while the others are idle.
    """
    items.sort(key=lambda item: item.path.parent.name != "torture")
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if (
            folder in SLOW_FOLDERS
            or item.path.name in SLOW_FILES
            or (isinstance(item, pytest.Function) and _is_slow(item))
        ):
            item.add_marker(pytest.mark.slow)


def _is_slow(item: pytest.Function) -> bool:
    fixtures = [definition.func for one in item._fixtureinfo.name2fixturedefs.values() for definition in one]
    return any(map(_uses_slow_names, (item.function, *fixtures)))


@cache  # tests share fixtures, and the cases of one test its function
def _uses_slow_names(function: Any) -> bool:
    return any(name in SLOW_NAMES for name in _names(function, set()))


def _names(function: Any, seen: set[CodeType]) -> Iterator[str]:
    """The names that a function of the tests uses, and those of the functions of the tests that it calls."""
    if not isinstance(function, FunctionType) or not function.__module__.startswith("tests"):
        return
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        if code in seen:
            continue
        seen.add(code)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            yield name
            yield from _names(function.__globals__.get(name), seen)


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("needs the data folder: ../shared, or where TROTH_SHARED says")
    return SHARED
