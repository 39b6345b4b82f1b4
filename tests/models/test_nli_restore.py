"""A released entailment model becomes a folder to train further, and gives the same answers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from troth.models.embedded import FOLDER, EmbeddedNli

torch = pytest.importorskip("torch")

PAIRS = [
    ("The hotel has free wifi and a pool.", "The hotel offers free internet."),
    ("Okay.", "The restaurant is in Berkeley."),
]


def test_the_restored_network_answers_as_the_released_model(tmp_path: Path) -> None:
    from training.nli.compact import Compact
    from training.nli.restore import restore

    restore(FOLDER, tmp_path)
    restored = Compact(tmp_path)
    assert restored.judges  # it is trained further, not begun again
    encoded = restored.tokenizer(*map(list, zip(*PAIRS, strict=True)), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits, _ = restored.model.eval()(**encoded)
    expected = torch.tensor([list(answer)[:3] for answer in EmbeddedNli().probabilities(PAIRS)])
    assert torch.allclose(logits.softmax(-1), expected, atol=1e-4)
