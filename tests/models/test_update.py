"""What was learnt is merged into a base model: the result is the network that was trained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.models.build import words
from troth import models
from troth.core.errors import UserError
from troth.models import catalog
from troth.models.update import COPIED, UPDATE, merge_update

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PAIRS = [("a cheap room for two", "the room is cheap"), ("train on monday", "table"), ("nice", "paris london paris")]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """MPNet with four layers and random weights, and a tokenizer of whole words."""
    config = transformers.MPNetConfig(vocab_size=64, hidden_size=16, num_hidden_layers=4, num_attention_heads=2,
                                      intermediate_size=32, max_position_embeddings=66)  # fmt: skip
    torch.manual_seed(0)
    folder = tmp_path / "base"
    transformers.MPNetModel(config).save_pretrained(folder)
    marks = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("pad", "cls", "sep", "unk")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words(marks=True), **marks)
    tokenizer.save_pretrained(folder)
    for name in COPIED:
        if not (folder / name).exists():
            (folder / name).write_text("{}")
    return folder


def test_the_merged_model_is_the_trained_one(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.nli import update
    from training.nli.data import LABELS
    from training.nli.strong import Strong

    trained = Strong(base, rank=2).eval()
    for name, parameter in trained.trained().items():
        if name.endswith(".up"):
            torch.nn.init.normal_(parameter, std=0.3)  # as training would have changed it
    torch.save({"model": trained.trained()}, tmp_path / "checkpoint.pt")
    command = ["update", "--checkpoint", str(tmp_path / "checkpoint.pt"), "--out", str(tmp_path / "update")]
    command += ["--revision", "7"]
    monkeypatch.setattr(sys, "argv", command)
    update.main()
    merge_update(base, tmp_path / "update", tmp_path / "merged")

    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    answers = models.nli(tmp_path / "merged", cache=None).probabilities(PAIRS)
    for (premise, hypothesis), answer in zip(PAIRS, answers, strict=True):
        row = tokenizer(premise, hypothesis, return_tensors="pt")
        with torch.inference_mode():
            expected = trained(row).softmax(-1)[0].tolist()
        assert dict(zip(LABELS, expected, strict=True)) == pytest.approx(answer._asdict(), abs=2e-3)  # float16 on disk


def test_an_update_of_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    folder = tmp_path / "update"
    folder.mkdir()
    (folder / "model.json").write_text('{"config": {}, "prefix": "mpnet"}')
    save_file({"mpnet.other.weight.up": torch.ones(2, 1), "mpnet.other.weight.down": torch.ones(1, 2)}, folder / UPDATE)
    with pytest.raises(UserError, match=r"has no weight 'mpnet\.other\.weight'"):
        merge_update(base, folder, tmp_path / "merged")


def test_the_strong_model_is_not_fetched_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"'strong' is not on this disk \(run: troth models fetch strong\)"):
        models.nli("strong", cache=None).probabilities(PAIRS)


@pytest.mark.skipif(not catalog.find("strong").here, reason="needs: troth models fetch strong")
def test_the_strong_model_reads_what_is_said() -> None:
    premise = "The museum opens at nine and is closed on Mondays. Tickets cost 12 euros."
    yes, no, unknown = models.nli("strong", cache=None).probabilities([
        (premise, "The museum does not open on Mondays."),
        (premise, "A ticket costs 15 euros."),
        (premise, "The museum has a large collection of paintings."),
    ])  # fmt: skip
    assert yes.entailed
    assert not no.entailed
    assert not unknown.entailed
