"""Names to backends: by scheme, from this package and from others."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from troth import models
from troth.core.errors import UserError
from troth.models import Backend, backends
from troth.models.cached import CachedNli
from troth.models.embedded import EmbeddedNli
from troth.models.endpoint import EndpointLm
from troth.models.fake import FakeLm, FakeNli
from troth.models.hf import HfLm, HfNli
from troth.models.hub import source


class _MineNli(FakeNli):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = f"{name}@1"


MINE = Backend("mine:NAME", "a backend of another package", nli=_MineNli)


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package that declares a backend."""

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("mine", "tests.models.test_backends:MINE", group)] if group == "troth.backends" else []

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    monkeypatch.setattr(models.BACKENDS, "_plugins", None)


@pytest.mark.usefixtures("mine")
def test_a_backend_of_another_package(tmp_path: Path) -> None:
    opened = models.nli("mine:x", cache=tmp_path / "c.sqlite")
    assert isinstance(opened, CachedNli)
    assert opened.name == "mine:x@1"
    assert opened.probabilities([("a table", "table")])[0].entailed
    assert models.forms()["mine:NAME"] == "a backend of another package"
    with pytest.raises(UserError, match=r"'mine:x' gives no log-probabilities \(these do: embedded, hf:"):
        models.lm("mine:x")
    with pytest.raises(UserError, match="gives no model for transformers"):
        source("mine:x")


def test_the_examples_of_the_docstrings() -> None:
    assert doctest.testmod(backends).attempted == 2
    assert doctest.testmod(backends).failed == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("fake", FakeLm), ("embedded", HfLm), ("embedded+int8", HfLm), ("http://h:1/v1#m", EndpointLm),
     ("https://h/v1#m+int8", EndpointLm), ("FOLDER", HfLm), ("FOLDER+int8", HfLm)],
)  # fmt: skip
def test_language_models(name: str, kind: type[Any], lm_at: Path) -> None:
    opened = models.lm(name.replace("FOLDER", str(lm_at)), cache=None)
    inner: Any = getattr(opened, "inner", opened)
    assert isinstance(inner, kind)
    assert inner.name.endswith("+int8") == name.endswith("+int8"), "of a server it is part of the model's name"
    assert getattr(inner, "int8", False) == (kind is HfLm and name.endswith("+int8"))


def test_entailment_models(nli_at: Path) -> None:
    for name, kind in (("embedded", EmbeddedNli), (str(nli_at), HfNli), (nli_at, HfNli)):
        opened = models.nli(name, cache=None)
        assert isinstance(opened, CachedNli)
        assert isinstance(opened.inner, kind)
    assert isinstance(models.nli("fake"), FakeNli)


@pytest.mark.parametrize("name", ["fake:x", "fake+int8", "embedded:x", "embeded", "hf", "mine:x", "embedded+int4"])
@pytest.mark.parametrize("opens", [models.nli, models.lm])
def test_no_such_name(name: str, opens: Any) -> None:
    with pytest.raises(UserError, match=f"no model is called '{name}'".replace("+", r"\+")):
        opens(name, cache=None)


def test_a_folder_called_like_a_scheme(lm_at: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hf").symlink_to(lm_at)
    monkeypatch.chdir(tmp_path)
    assert models.lm("hf", cache=None).name.startswith("tiny-lm@")


def test_entailment_has_no_modifier() -> None:
    with pytest.raises(UserError, match="no model is called"):
        models.nli("embedded+int8", cache=None)


def test_what_names_look_like() -> None:
    assert list(models.forms()) == [
        "embedded", "strong", "hf:ORG/MODEL@REV", "FOLDER", "gguf:FILE", "http://HOST/v1#MODEL", "fake", "NAME+int8",
        "NAME+chat",
    ]  # fmt: skip
    assert all(models.forms().values())


@pytest.mark.parametrize(
    "work",
    [
        "import troth",
        "import troth.models; troth.models.forms()",
        "sys.argv[1:] = ['--help']; from troth.cli import main; main()",
    ],
)
def test_nothing_heavy_is_imported(work: str) -> None:
    heavy = ("httpx", "torch", "transformers", "onnxruntime", "tokenizers", "platformdirs", "huggingface_hub")
    script = (
        f"import sys\ntry:\n    {work.replace('; ', chr(10) + '    ')}\nexcept SystemExit:\n    pass\n"
        f"sys.stderr.write(repr([name for name in {heavy} if name in sys.modules]))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr == "[]"
