"""Many texts in one row: the plan, the row, and the same numbers as one text at a time, for several kinds of model."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.build import LM_TOKENS, WORDS
from troth.core.errors import UserError
from troth.models import Request, lm, packed
from troth.models.cached import CachedLm
from troth.models.hf import HfLm
from troth.models.hub import source
from troth.models.llama import Exact, LlamaRows, Rounded
from troth.storage.cache import Store

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCABULARY = 61
SEQUENCES = st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=14)


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_what_begins_alike_is_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "LEAST", 2)
    sequences = [[1, 2, 3, 9], [7], [1, 2, 3, 4], [1, 2, 5], [1, 3, 3]]
    ((first, second, third),) = packed.plan(sequences, 100)
    assert first == packed.Branch((2, 0, 3), (0, 3, 2), 6)
    assert second == packed.Branch((4,), (0,), 3)
    assert third == packed.Branch((1,), (0,), 1)


@given(SEQUENCES, st.integers(1, 40), st.integers(1, 4))
def test_every_sequence_has_one_place(sequences: list[list[int]], room: int, least: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "LEAST", least)
        batches = packed.plan(sequences, room)
    assert sorted(place for batch in batches for piece in batch for place in piece.indexes) == list(
        range(len(sequences))
    )
    for batch in batches:
        for piece in batch:
            assert piece.shared[0] == 0
            assert piece.tokens <= max(room, 2 * len(sequences[piece.indexes[0]])) or len(piece.indexes) == 1
        assert len(batch) == 1 or sum(piece.tokens for piece in batch) <= room


@given(SEQUENCES, st.integers(1, 40))
def test_a_sequence_is_found_on_its_path(sequences: list[list[int]], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "LEAST", 1)
        batches = packed.plan(sequences, room)
    for batch in batches:
        made = packed.layout(sequences, batch)
        assert len(made.ids) == sum(piece.tokens for piece in batch)
        for place, path in made.paths.items():
            assert [made.ids[node] for node in path] == sequences[place]
            assert [made.depths[node] for node in path] == list(range(len(path)))


@given(SEQUENCES, st.integers(1, 40))
def test_a_token_sees_its_own_path_and_nothing_else(sequences: list[list[int]], queries: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "LEAST", 1)
        patch.setattr(packed, "QUERIES", queries)
        for batch in packed.plan(sequences, 60):
            made = packed.layout(sequences, batch)
            seen: dict[int, set[int]] = {}
            for block in made.blocks:
                for row in range(block.start, block.end):
                    if block.mask is None:
                        seen[row] = set(range(block.start, row + 1))
                    else:
                        keys = (block.mask[row - block.start] == 0).nonzero().flatten().tolist()
                        seen[row] = set(block.keys[keys].tolist())
            assert sorted(seen) == list(range(len(made.ids)))
            for path in made.paths.values():
                for depth, node in enumerate(path):
                    assert seen[node] == set(path[: depth + 1])


# -- models ------------------------------------------------------------------------------------------------------------


def llama() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=2, initializer_range=0.5, bos_token_id=None, eos_token_id=1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def biased() -> Any:
    config = llama().config
    config.attention_bias = True
    return transformers.LlamaForCausalLM(config)


def gpt2() -> Any:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=24, n_layer=2, n_head=4, initializer_range=0.5, bos_token_id=1, eos_token_id=1
    )
    return transformers.GPT2LMHeadModel(config)


def bloom() -> Any:
    config = transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=24, n_layer=2, n_head=4, initializer_range=0.5, bos_token_id=1,
        eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return transformers.BloomForCausalLM(config)


def mistral() -> Any:
    config = transformers.MistralConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=8,
    )  # fmt: skip
    return transformers.MistralForCausalLM(config)


@pytest.mark.parametrize(
    ("make", "expected"),
    [(llama, "by_rows"), (biased, "by_modules"), (gpt2, "by_modules"), (bloom, None), (mistral, None)],
)
def test_whether_a_model_can_be_read_so_is_tried(make: Any, expected: str | None) -> None:
    torch.manual_seed(3)
    model = make().eval()
    before = model.config._attn_implementation
    read = packed.reader(model, list(inspect.signature(model.forward).parameters))
    assert (None if read is None else read.__qualname__.partition(".")[0]) == expected
    assert model.config._attn_implementation == before


def test_a_way_that_gives_other_numbers_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    model = llama().eval()
    monkeypatch.setattr(LlamaRows, "_norm", lambda _, states, gain, _memory: states * gain)
    read = packed.reader(model, list(inspect.signature(model.forward).parameters))
    assert read is not None
    assert read.__qualname__.startswith("by_modules")


def test_the_model_goes_on_working() -> None:
    """Its projections are views of the joined ones: the same weights, and the same place in memory."""
    torch.manual_seed(3)
    model = llama().eval()
    ids = torch.tensor([[3, 5, 7, 11]])
    with torch.no_grad():
        before = model(input_ids=ids).logits
        rows = LlamaRows(model)
        assert torch.equal(model(input_ids=ids).logits, before)
    attention = model.model.layers[0].self_attn
    inward = rows.layers[0].inward
    assert isinstance(inward, Exact)
    assert attention.k_proj.weight.data_ptr() == inward.turned[:, 24:].data_ptr()


@pytest.mark.parametrize(
    ("make", "way"), [(llama, packed.by_rows), (llama, packed.by_modules), (gpt2, packed.by_modules)]
)
@pytest.mark.parametrize(("room", "queries"), [(1, 1), (40, 20), (1000, 2**21)])
def test_the_same_numbers_as_alone(
    make: Any, way: Any, room: int, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "QUERIES", queries)
    torch.manual_seed(3)
    model = make().eval()
    read = way(model)
    rng = random.Random(room)
    documents = [[rng.randrange(VOCABULARY) for _ in range(rng.randint(10, 50))] for _ in range(4)]
    sequences, targets = [], []
    for _ in range(24):
        whole = rng.choice(documents)[: rng.randint(5, 50)] + [
            rng.randrange(VOCABULARY) for _ in range(rng.randint(2, 9))
        ]
        sequences.append(whole[:-1])
        targets.append(whole[-rng.randint(1, len(whole) - 1) :])
    found: dict[int, list[float]] = {}
    for batch in packed.plan(sequences, room):
        found.update(packed.logprobs(read, sequences, targets, batch))
    for place, (sequence, wanted) in enumerate(zip(sequences, targets, strict=True)):
        whole = [*sequence, wanted[-1]]
        with torch.no_grad():
            chances = torch.log_softmax(model(input_ids=torch.tensor([whole])).logits[0], dim=-1)
        first = len(whole) - len(wanted) - 1
        expected = [float(chances[first + number, token]) for number, token in enumerate(wanted)]
        assert found[place] == pytest.approx(expected, abs=1e-4)


def test_eight_bits() -> None:
    """The product is that of the rounded numbers, each row by its own scale; what follows is the same arithmetic."""
    torch.manual_seed(3)
    weight, states = torch.randn(40, 24), torch.randn(600, 24) * torch.rand(600, 1) * 9
    states[5] = 0.0
    scale, own = weight.abs().amax(dim=1) / 127, states.abs().amax(dim=1, keepdim=True) / 127
    steps = torch.where(own > 0, states / own, 0.0).round()
    expected = steps @ (weight / scale[:, None]).round().t() * own * scale
    made = Rounded(weight)
    assert torch.allclose(made.into(torch.empty(600, 40), states), expected, atol=1e-4)
    assert torch.allclose(made.add(torch.ones(600, 40), states), expected + 1, atol=1e-4)
    assert 0 < (expected - states @ weight.t()).norm() / expected.norm() < 0.02, "near, and not the same"


def test_eight_bits_give_nearly_the_same_numbers() -> None:
    torch.manual_seed(3)
    model = llama().eval()
    texts = [[7, 5, 3, 2, 11, 13, 17, first] for first in (4, 6)]
    (batch,) = packed.plan(texts, 100)
    exact = packed.logprobs(packed.by_rows(model), texts, texts, batch)
    rounded = packed.logprobs(packed.by_rows(model, int8=True), texts, texts, batch)
    assert rounded[0] == pytest.approx(exact[0], abs=0.5)
    assert rounded != exact


# -- behind the backend ------------------------------------------------------------------------------------------------


def requests() -> list[Request]:
    rng = random.Random(4)
    documents = [" ".join(rng.choices(WORDS, k=rng.randint(3, 12))) for _ in range(3)]
    made = [
        Request((f"Document: {rng.choice(documents)}\n\n", "hi.\n"), "Agent: " + " ".join(rng.choices(WORDS, k=3)))
        for _ in range(12)
    ]
    beyond = Request(("a " * LM_TOKENS,), "b " * LM_TOKENS)
    return [*made, Request((), ""), Request((), "a"), Request((), "abc"), Request(("x",), ""), beyond, made[0]]


def test_padded_and_packed_agree(lm_at: Path) -> None:
    lm = HfLm(source(str(lm_at)))
    together = lm.logprobs(requests())
    assert lm._model.reader is not None
    lm._model = lm._model._replace(reader=None)
    for one, other in zip(together, lm.logprobs(requests()), strict=True):
        assert (one.tokens, one.dropped) == (other.tokens, other.dropped)
        assert [x is None for x in one.logprobs] == [x is None for x in other.logprobs]
        pairs = zip(one.logprobs, other.logprobs, strict=True)
        assert all(x == pytest.approx(y, abs=1e-4) for x, y in pairs if x is not None and y is not None)


def test_the_cache_asks_by_the_plan(lm_at: Path) -> None:
    batches: list[int] = []

    class Counting(HfLm):
        def logprobs(self, requests):  # type: ignore[no-untyped-def]
            batches.append(len(requests))
            return super().logprobs(requests)

    lm = Counting(source(str(lm_at)))
    assert CachedLm(lm, Store(":memory:")).logprobs(requests()) == HfLm(source(str(lm_at))).logprobs(requests())
    assert sum(batches) == len(set(requests()))
    assert sum(batch.units for batch in lm.plan(requests())) < sum(
        len(row.ids) for row in lm._rows(requests()).values()
    )


def test_prompts_are_planned_by_length(lm_at: Path) -> None:
    lm = HfLm(source(str(lm_at)))
    assert [batch.indexes for batch in lm.plan(["a", "a room", ""])] == [[1, 0, 2]]


def test_eight_bits_have_a_name_of_their_own(lm_at: Path) -> None:
    exact, rounded = lm(str(lm_at), cache=None), lm(f"{lm_at}+int8", cache=None)
    assert rounded.name == exact.name + "+int8"
    assert rounded.logprobs(requests()) != exact.logprobs(requests())


def test_eight_bits_are_for_llamas(tmp_path: Path, lm_at: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(lm_at)
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=24, n_layer=1, n_head=4)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    tokenizer.save_pretrained(tmp_path / "gpt2")
    with pytest.raises(UserError, match="cannot be read in eight bits"):
        lm(f"{tmp_path / 'gpt2'}+int8", cache=None).logprobs([("a", "b")])
