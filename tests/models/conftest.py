"""Tiny models, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.build import lm_folder, nli_folder


@pytest.fixture(scope="session")
def nli_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nli_folder(tmp_path_factory.mktemp("nli") / "tiny-nli")


@pytest.fixture(scope="session")
def lm_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lm_folder(tmp_path_factory.mktemp("lm") / "tiny-lm")
