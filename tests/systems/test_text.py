"""Greedy answers of decoders: those of transformers' `generate`, also where rows end at different lengths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'neural'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'neural'")
text = pytest.importorskip("troth.systems.text")

PROMPTS = ["a hotel in leeds", "two seats", "the train to london leaves at nine", "yes", "no, the other one please"]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("answer", [2, 24])
def test_answers_are_those_of_generate(tiny: Callable[[str], Path], family: str, answer: int) -> None:
    network = text.TextNetwork(tiny(family), length=48, answer=answer)
    rows = [list(network.source(one, " state:")) for one in PROMPTS]
    ids, mask = text.padded_tensors(rows, network.padding, left=True)
    plain = transformers.GenerationConfig(
        max_new_tokens=answer, do_sample=False, num_beams=1, pad_token_id=network.padding
    )
    with torch.inference_mode():
        whole = network.module.generate(input_ids=ids, attention_mask=mask, generation_config=plain)
    said = whole[:, ids.shape[1] :].tolist()
    network.end = said[0][answer // 2]  # a token that ends the first row early, and others where they say it
    ended = [row[: row.index(network.end)] if network.end in row else row for row in said]
    assert len(ended[0]) < answer
    assert network._generate(rows) == ended
    assert network.answers([network.source(one, " state:") for one in PROMPTS]) == [
        one.strip() for one in network.tokenizer.batch_decode(ended, skip_special_tokens=True)
    ]
