"""Where tests find other people's data: beside the project, or where TROTH_SHARED says. Absent, they are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]  # runs pytest inside tests, for the tests of our plug-in

# A busy machine is no failure: no example has a time limit.
settings.register_profile("troth", deadline=None)
settings.load_profile("troth")

SHARED = Path(os.environ.get("TROTH_SHARED") or Path(__file__).parents[2] / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("needs the data folder: ../shared, or where TROTH_SHARED says")
    return SHARED
