"""Optional packages: imported, or named together with what to install."""

from __future__ import annotations

import sys

import pytest

from troth.core.errors import UserError
from troth.core.extras import install_command, not_installed_error, require, requiring


def test_the_first_module_is_returned() -> None:
    assert require("json", "json.decoder").loads("1") == 1


@pytest.mark.parametrize(
    ("extra", "command"), [("nli", r'pip install "troth\[nli\]"'), (None, "pip install no_such_package")]
)
def test_a_missing_package(extra: str | None, command: str) -> None:
    with pytest.raises(UserError, match=rf"^no_such_package is not installed \({command}\)$"):
        require("json", "no_such_package", extra=extra)


def test_an_import_in_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"^torch is not installed"), requiring("neural"):
        import torch  # noqa: F401
    with pytest.raises(UserError, match=r"^sentencepiece, please is not installed"), requiring("neural"):
        raise ImportError("sentencepiece, please\nand more")


def test_texts() -> None:
    assert install_command("text") == 'pip install "troth[text]"'
    assert str(not_installed_error("wandb")) == "wandb is not installed (pip install wandb)"
