"""Greedy answers: those of transformers' `generate`, also where rows end at different lengths."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'neural'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'neural'")
text = pytest.importorskip("troth.systems.text")

PROMPTS = ["a hotel in leeds", "two seats", "the train to london leaves at nine", "yes", "no, the other one please"]


@pytest.mark.parametrize("family", ["gpt2", "bart"])
def test_a_weight_scales_the_loss(tiny: Callable[[str], Path], family: str) -> None:
    """It does not cancel, neither in a batch of one weight nor in a mixed one."""
    network = text.TextNetwork(tiny(family), length=48, answer=24)
    network.module.eval()
    one, other = (
        network.example((prompt, " "), answer) for prompt, answer in (("are they the same", "yes"), PROMPTS[:2])
    )

    def loss(*weights: float) -> float:
        examples = [example._replace(weight=weight) for example, weight in zip((one, other), weights, strict=False)]
        with torch.inference_mode():
            return float(network.loss(network.collate(examples)))

    assert loss(0.25) == pytest.approx(0.25 * loss(1.0))
    assert loss(0.5, 0.5) == pytest.approx(0.5 * loss(1.0, 1.0))
    tokens = len(one.target) + len(other.target)
    assert loss(2.0, 0.0) == pytest.approx(2.0 * loss(1.0) * len(one.target) / tokens, rel=1e-4)


def test_muppet_divides_by_the_logarithm_of_the_number_of_classes(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    from troth.systems.firstphase import Muppet, TaskPromptModel

    (tmp_path / "wnli.tsv").write_text("sentence1\tsentence2\tlabel\n" + "A. He.\tA.\t1\n" * 4)
    story = {"context": "It is in Leeds.", "qas": [{"question": "Where?", "answers": [{"text": "in Leeds"}]}] * 4}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [{"paragraphs": [story]}]}))
    model = Muppet().open(str(tiny("bart")), trained=False)
    assert isinstance(model, TaskPromptModel)
    files = [f"wnli={tmp_path}/wnli.tsv", f"squad={tmp_path}/squad.json"]
    learned, _ = Muppet().first_examples(model, files, 0)
    classes, free = {example.weight for example in learned[:3]}, {example.weight for example in learned[3:]}
    assert (classes, free) == ({1 / math.log(2)}, {1 / math.log(len(model.network.tokenizer))})


def test_a_prompt_is_drawn_anew_for_each_step_and_nothing_is_left_out(
    tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    from troth.systems.firstphase import PrefineDst, TaskPromptModel

    (tmp_path / "wnli.tsv").write_text("sentence1\tsentence2\tlabel\n" + "A. He.\tA.\t1\n" * 20_100)
    model = PrefineDst(length=64).open(str(tiny("bart")), trained=False)
    assert isinstance(model, TaskPromptModel)
    learned, dev = PrefineDst().first_examples(model, [f"wnli={tmp_path}/wnli.tsv"], 0)
    assert (len(learned), len(dev)) == (19_800, 300)
    few, _ = PrefineDst(per_source=100).first_examples(model, [f"wnli={tmp_path}/wnli.tsv"], 0)
    assert len(few) == 90

    def sources(step: int) -> list[str]:
        batch = model.collate(learned[:1], Random(step))
        return [str(one) for one in model.network.tokenizer.batch_decode(batch["input_ids"])]

    assert len({text for step in range(30) for text in sources(step)}) == 5  # every prompt of the task
    assert sources(3) == sources(3)
    assert model.size(learned[0]) > 0


@pytest.mark.parametrize("family", ["gpt2", "llama", "bart", "t5"])
@pytest.mark.parametrize("answer", [2, 24])
def test_answers_are_those_of_generate(tiny: Callable[[str], Path], family: str, answer: int) -> None:
    network = text.TextNetwork(tiny(family), length=48, answer=answer)
    rows = [list(network.source(one, " state:")) for one in PROMPTS]
    ids, mask = text.padded_tensors(rows, network.padding, left=network.decoder)
    plain = transformers.GenerationConfig(
        max_new_tokens=answer, do_sample=False, num_beams=1, pad_token_id=network.padding,
        decoder_start_token_id=getattr(network.module.config, "decoder_start_token_id", None),
    )  # fmt: skip
    network.module.generation_config = plain  # BART's own has an end, and forces it
    with torch.inference_mode():
        whole = network.module.generate(input_ids=ids, attention_mask=mask, generation_config=plain)
    said = whole[:, ids.shape[1] if network.decoder else 1 :].tolist()
    network.end = said[0][answer // 2]  # a token that ends the first row early, and others where they say it
    ended = [row[: row.index(network.end)] if network.end in row else row for row in said]
    assert len(ended[0]) < answer
    assert (network._generate if network.decoder else network._answers)(rows) == ended
    assert network.answers([network.source(one, " state:") for one in PROMPTS]) == [
        one.strip() for one in network.tokenizer.batch_decode(ended, skip_special_tokens=True)
    ]
