"""Model folders of other people: whatever is in them, they are loaded safely or refused in one line."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.models import lm
from troth.models.hf import HfLm
from troth.models.hub import source
from troth.storage import places

Change = Callable[[Path], object]
LINK = "is a link out of the model's folder"
ELSEWHERE = "which is not a file of the folder that ends in .safetensors"


@pytest.fixture
def folder(lm_at: Path, tmp_path: Path) -> Path:
    return shutil.copytree(lm_at, tmp_path / "models" / "m")


def edited(file: str, **changes: Any) -> Change:
    def change(folder: Path) -> None:
        (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | changes))

    return change


def refused(folder: Path, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=told) as error:
        HfLm(source(str(folder))).logprobs([("a room", " for two")])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000
    assert capfd.readouterr() == ("", ""), "a panic prints a backtrace of its own"


# -- weights from elsewhere --------------------------------------------------------------------------------------------


def sharded(folder: Path, name: str) -> None:
    """An index that says that all weights are in a file of this name."""
    from safetensors.torch import load_file

    names = list(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, name)})
    )


def test_weights_in_several_files_are_fine(folder: Path) -> None:
    whole = HfLm(source(str(folder))).logprobs([("a room", " for two")])
    sharded(folder, "part.safetensors")
    assert HfLm(source(str(folder))).logprobs([("a room", " for two")]) == whole


@pytest.mark.parametrize(
    "name", ["weights.bin", "../outside.safetensors", "{outside}", "deeper/part.safetensors", "absent.safetensors", ""]
)
def test_an_index_leads_nowhere_else(folder: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither to a pickle, which can run code, nor to weights that the model's name knows nothing of."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "weights.bin")
    outside = folder.parent / "outside.safetensors"
    (folder / "deeper").mkdir()
    for copy in (outside, folder / "deeper" / "part.safetensors"):
        shutil.copy(folder / "model.safetensors", copy)
    sharded(folder, name.replace("{outside}", str(outside)))
    refused(folder, ELSEWHERE, capfd)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "extra.json"])
@pytest.mark.parametrize("target", ["outside", "/dev/zero"])
def test_a_link_leads_nowhere_else(folder: Path, file: str, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    if (folder / file).exists():
        (folder / file).rename(folder.parent / "outside")
    else:
        (folder.parent / "outside").write_text("{}")
    if file == "model.safetensors":
        shutil.copy(folder.parent / "outside", folder / "other.safetensors")
    (folder / file).symlink_to(target if target.startswith("/") else folder.parent / target)
    refused(folder, LINK, capfd)


def test_a_link_within_the_folder_is_fine(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights-1.safetensors")
    (folder / "model.safetensors").symlink_to("weights-1.safetensors")
    assert HfLm(source(str(folder))).logprobs([("a", "b")])


def test_weights_in_the_hub_s_cache_are_verified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are links to blobs that are called by their SHA-256."""
    import hashlib

    from huggingface_hub import constants

    commit, place = "0" * 40, folder.parent / "models--org--model"
    (place / "blobs").mkdir(parents=True)
    (place / "snapshots").mkdir()
    there = folder.rename(place / "snapshots" / commit)
    digest = hashlib.sha256((there / "model.safetensors").read_bytes()).hexdigest()
    blob = (there / "model.safetensors").rename(place / "blobs" / digest)
    (there / "model.safetensors").symlink_to(f"../../blobs/{digest}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(place.parent))
    monkeypatch.setenv("TROTH_CACHE", str(place.parent / "cache"))
    model = source(f"hf:org/model@{commit}")
    assert model.folder() == there
    data = bytearray(blob.read_bytes())
    data[-1] ^= 1
    blob.write_bytes(data)
    with pytest.raises(UserError, match="its SHA-256 differs"):
        model.folder()
    assert (places.models() / ".verified").is_dir()


# -- numbers -----------------------------------------------------------------------------------------------------------


def reshaped(folder: Path, change: Callable[[Any], Any], name: str = "model.layers.0.self_attn.q_proj.weight") -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors[name] = change(tensors[name].clone()).contiguous()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def headed(header: bytes) -> Change:
    return lambda folder: (folder / "model.safetensors").write_bytes(header)


CONFIGS: dict[str, Change] = {
    "layers": edited("config.json", num_hidden_layers=10**9),
    "many layers": edited("config.json", num_hidden_layers=100_000),
    "no layers": edited("config.json", num_hidden_layers=-1),
    "vocabulary": edited("config.json", vocab_size=10**12),
    "hidden": edited("config.json", hidden_size=10**400),
    "wide": edited("config.json", hidden_size=100_000),
    "no heads": edited("config.json", num_attention_heads=0),
    "odd heads": edited("config.json", num_attention_heads=7),
    "positions": edited("config.json", max_position_embeddings=10**15),
    "text": edited("config.json", rms_norm_eps="x"),
    "activation": edited("config.json", hidden_act="nope"),
    "kind": edited("config.json", model_type=["llama"]),
    "named weights": edited("config.json", transformers_weights="deeper/x.safetensors"),
    "deep": lambda folder: (folder / "config.json").write_text('{"a":' + "[" * 10**5 + "]" * 10**5 + "}"),
    "adapter": lambda folder: (folder / "adapter_config.json").write_text("{}"),
    "shape": lambda folder: reshaped(folder, lambda one: one[:5]),
    "nan": lambda folder: reshaped(folder, lambda one: one * math.nan),
    "infinite": lambda folder: reshaped(folder, lambda one: one * math.inf),
    "no header": headed(b""),
    "long header": headed((2**62).to_bytes(8, "little") + b"{}"),
    "torn header": headed((100).to_bytes(8, "little") + b"{"),
}
REASONS = "cannot be loaded|larger than in any model|not finite|has no weights|for its weights|is an adapter"


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_numbers_that_no_model_has(folder: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    CONFIGS[name](folder)
    refused(folder, REASONS, capfd)


def test_large_numbers_that_models_do_have(folder: Path) -> None:
    edited("config.json", max_position_embeddings=10_485_760, rope_theta=283_461_213, time_step_limit=[0.0, math.inf])(
        folder
    )
    assert HfLm(source(str(folder))).logprobs([("a", "b")])


def test_numbers_that_overflow_are_not_scored(folder: Path) -> None:
    reshaped(folder, lambda one: one.fill_(3e38), "model.norm.weight")
    (found,) = lm(str(folder), cache=None).logprobs([("a room", " for two")])
    assert all(math.isnan(value or 0.0) for value in found.logprobs)


# -- tokenizers --------------------------------------------------------------------------------------------------------


def tokenizer(**changes: Any) -> Change:
    def change(folder: Path) -> None:
        file = folder / "tokenizer.json"
        whole = json.loads(file.read_text())
        whole["model"] |= changes.pop("model", {})
        file.write_text(json.dumps(whole | changes))

    return change


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


TOKENIZERS: dict[str, Change] = {
    "panics when loaded": tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    "panics when called": tokenizer(normalizer={"type": "Replace", "pattern": {"Regex": ""}, "content": "x"}),
    "no regular expression": tokenizer(pre_tokenizer=split("(")),
    "merges": tokenizer(model={"merges": [["zzz", "qqq"]]}),
    "numbers": tokenizer(model={"vocab": {"a": -1}}),
    "large numbers": tokenizer(model={"vocab": {"a": 2**31}, "merges": []}),
    "no model": tokenizer(model={"type": "Nope"}),
    "no token for the unknown": tokenizer(
        model={"type": "WordPiece", "vocab": {"q": 0}, "unk_token": "[NOPE]", "max_input_chars_per_word": 9}
    ),
    "deep": lambda folder: (folder / "tokenizer.json").write_text("[" * 10**5 + "]" * 10**5),
    "bytes": lambda folder: (folder / "tokenizer.json").write_bytes(os.urandom(1000)),
}


@pytest.mark.parametrize("name", sorted(TOKENIZERS))
def test_tokenizers(folder: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    TOKENIZERS[name](folder)
    refused(folder, "cannot be loaded|the tokenizer", capfd)
