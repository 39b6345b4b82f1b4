"""Where models for transformers are, what they are called, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models.build import nli_folder
from troth.core.errors import UserError
from troth.models import TextPair
from troth.models.hf import HfLm, HfNli
from troth.models.hub import source

PAIRS: list[TextPair] = [("a room for two", "the room is nice"), ("", "a table"), ("paris on monday", "london")]


def test_a_folder_s_name_says_what_is_in_it(nli_at: Path, tmp_path: Path) -> None:
    name = source(str(nli_at)).name
    moved = shutil.copytree(nli_at, tmp_path / "tiny-nli")
    assert source(str(moved)).name == name == f"tiny-nli@{name.split('@')[1]}"
    (moved / "README.md").write_text("a note")
    assert source(str(moved)).name == name
    other = nli_folder(tmp_path / "other" / "tiny-nli", seed=2)
    assert source(str(other)).name != name, "the same shapes, other weights"


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_a_model(nli_at: Path, tmp_path: Path, missing: str) -> None:
    folder = shutil.copytree(nli_at, tmp_path / "m")
    (folder / missing).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"code")
    with pytest.raises(UserError, match=missing.removeprefix("model.")):
        source(str(folder))


def test_a_model_that_cannot_be_loaded(nli_at: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(nli_at, tmp_path / "m")
    (folder / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{broken}")
    with pytest.raises(UserError, match="cannot be loaded"):
        HfNli(source(str(folder))).probabilities([("a", "b")])


@pytest.mark.parametrize("of", ["nli", "lm"])
def test_a_model_without_a_tokenizer(nli_at: Path, lm_at: Path, tmp_path: Path, of: str) -> None:
    """transformers would make up one of special tokens, to which all words are the same."""
    folder = shutil.copytree(nli_at if of == "nli" else lm_at, tmp_path / "m")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    model = (HfNli if of == "nli" else HfLm)(source(str(folder)))
    with pytest.raises(UserError, match=r"no tokenizer|cannot be loaded"):
        _ = model._model


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", "", "[]"),
        ("config.json", '"hidden_size": 32', '"hidden_size": "x"'),
        ("config.json", '"id2label": {', '"id2label": ["a", "b", "c"], "other": {'),
        ("tokenizer_config.json", "{", '{"model_max_length": "x",'),
        ("tokenizer.json", '"booked": 23', '"booked": 999'),
        ("tokenizer.json", "", "{}"),
    ],
)
def test_files_that_are_not_as_they_should_be(nli_at: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    folder = shutil.copytree(nli_at, tmp_path / "m")
    text = (folder / file).read_text()
    assert old in text
    changed = text.replace(old, new, 1) if old else new
    if file == "tokenizer_config.json":
        changed = json.dumps(json.loads(text) | {"model_max_length": "x"})
    (folder / file).write_text(changed)
    with pytest.raises(UserError, match=r"cannot be loaded|tokens, the model|not an entailment model") as error:
        HfNli(source(str(folder))).probabilities([("booked", "b")])
    assert "\n" not in str(error.value)


def test_a_model_that_was_not_trained_for_it(lm_at: Path, nli_at: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(nli_at, tmp_path / "m")
    tensors = {
        name: tensor for name, tensor in load_file(folder / "model.safetensors").items() if "classifier" not in name
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"no weights for classifier\.bias, classifier\.weight"):
        HfNli(source(str(folder))).probabilities([("a", "b")])
    with pytest.raises(UserError, match=r"score\.weight"):
        HfNli(source(str(lm_at))).probabilities([("a", "b")])


def test_code_that_comes_with_a_model_is_not_run(nli_at: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(nli_at, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Config", "AutoModelForSequenceClassification": "own.Model"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: ...\nclass Model: ...\n")
    with pytest.raises(UserError, match="cannot be loaded"):
        HfNli(source(str(folder))).probabilities([("a", "b")])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["hf:", "hf:a/b/c", "hf:a b", "hf:../x/y", "hf:a/b@", "no/such/folder", "embeded"])
def test_no_such_name(name: str) -> None:
    with pytest.raises(UserError, match=r"hub|is called"):
        source(name)


def test_offline_without_the_model_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, tmp_path)
    with pytest.raises(UserError, match=r"'org/model@main' cannot be fetched from the hub") as error:
        source("hf:org/model@main")
    assert "\n" not in str(error.value)


def test_a_model_in_the_hub_s_cache_needs_no_connection(
    tmp_path: Path, nli_at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the hub's library lays it out on disk."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "models--org--model"
    shutil.copytree(nli_at, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    hub(monkeypatch, tmp_path)
    found = source("hf:org/model")
    assert found.name == source(f"hf:org/model@{commit}").name == f"hf:org/model@{commit}"
    pairs = PAIRS
    assert HfNli(found).probabilities(pairs) == HfNli(source(str(nli_at))).probabilities(pairs)


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.safetensors", "part"])
def test_what_is_missing_in_the_hub_s_cache_is_fetched(
    tmp_path: Path, nli_at: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    import huggingface_hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    there = shutil.copytree(nli_at, tmp_path / "models--org--model" / "snapshots" / commit)
    if missing == "part":
        index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
        (there / "model.safetensors.index.json").write_text(json.dumps(index))
    else:
        (there / missing).unlink()
    hub(monkeypatch, tmp_path)
    asked: list[bool] = []

    def snapshot(repo: str, *, local_files_only: bool = False, **_: Any) -> str:
        asked.append(local_files_only)
        return str(there if local_files_only else nli_at)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert source(f"hf:org/model@{commit}").folder() == nli_at
    assert asked == [True, False]


def test_whatever_the_hub_s_library_raises_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    class GoneError(Exception):
        pass

    def snapshot(*_: Any, local_files_only: bool = False, **__: Any) -> str:
        raise FileNotFoundError if local_files_only else GoneError("peer closed connection\nin the middle")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    hub(monkeypatch, tmp_path)
    with pytest.raises(UserError, match=r"'org/model@0+' cannot be fetched from the hub: peer closed") as error:
        source(f"hf:org/model@{'0' * 40}").folder()
    assert "\n" not in str(error.value)


def hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """The hub's library with that cache and without a network; it reads its settings when it is imported."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_what_to_install(nli_at: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = HfNli(source(str(nli_at)))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"{package} is not installed.*troth\[neural\]"):
        model.probabilities([("a", "b")])
