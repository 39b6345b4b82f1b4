"""What was learnt is merged into a base model: the result is the network that was trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.build import words
from troth import models
from troth.core.errors import UserError
from troth.models import catalog
from troth.models.update import COPIED, UPDATE, merge_update, pack_levels, unpack_change

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


def test_the_merged_model_answers_as_the_trained_one(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.nli import update
    from training.nli.data import LABELS
    from training.nli.strong import Strong

    trained = Strong(base).eval()
    before = [answer(trained, base, pair) for pair in PAIRS]
    with torch.no_grad():
        for parameter in trained.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)  # as training would have changed it
    after = [answer(trained, base, pair) for pair in PAIRS]
    trained.model.save_pretrained(tmp_path / "trained")
    command = ["update", "--base", str(base), "--model", str(tmp_path / "trained"), "--out", str(tmp_path / "update")]
    monkeypatch.setattr(sys, "argv", [*command, "--revision", "7"])
    update.main()
    merge_update(base, tmp_path / "update", tmp_path / "merged")

    told = models.nli(tmp_path / "merged", cache=None).probabilities(PAIRS)
    merged = [[getattr(one, label) for label in LABELS] for one in told]
    assert merged == [pytest.approx(row, abs=0.03) for row in after], "a change is rounded to four levels"
    assert np.abs(np.array(before) - after).max() > 0.1


def answer(model: Any, base: Path, pair: tuple[str, str]) -> list[float]:
    row = transformers.AutoTokenizer.from_pretrained(base)(*pair, return_tensors="pt")
    with torch.inference_mode():
        probabilities: list[float] = model(row).softmax(-1)[0].tolist()
    return probabilities


def test_levels_are_packed_four_in_a_byte() -> None:
    levels = np.array([[0, 1, 2, 3, 3], [2, 2, 0, 1, 3]], np.uint8)
    packed = pack_levels(levels)
    assert len(packed) == 3
    expected = [[-1.5, -0.5, 0.5, 1.5, 1.5], [1, 1, -3, -1, 3]]
    assert unpack_change(packed, np.array([[1], [2]], np.float16), (2, 5)).tolist() == expected


def test_an_update_of_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    folder = tmp_path / "update"
    folder.mkdir()
    (folder / "model.json").write_text('{"config": {}, "prefix": "mpnet"}')
    save_file(
        {"mpnet.other.weight.levels": torch.ones(1), "mpnet.other.weight.step": torch.ones(2, 1)}, folder / UPDATE
    )
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
