"""PMI-Decode on small random models: what the processor computes beside what equation 8 says, in all four modes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from troth.core.signature import recipe_text  # noqa: E402
from troth.models.batches import padded_tensors  # noqa: E402
from troth.systems.decoding import pmi_decode  # noqa: E402
from troth.systems.decoding.pmi_decode import Paired, PmiDecode, Prompt, Without, combine, decode  # noqa: E402
from troth.systems.decoding.settings import MODES, Mode, Setting  # noqa: E402

VOCABULARY, END, PAD = 61, 1, 0
PROMPTS = [
    Prompt((5, 6, 7, 8, 9, 10, 11, 12), (10, 11, 12)),
    Prompt((20, 21, 22, 23, 24), (22, 23, 24)),
    Prompt((30, 31, 32, 33, 34, 35), (31, 33, 34, 35)),
]


def llama() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.6, bos_token_id=None, eos_token_id=END, pad_token_id=PAD,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def bloom() -> Any:
    config = transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=24, n_layer=2, n_head=4, initializer_range=0.6, bos_token_id=None,
        eos_token_id=END, pad_token_id=PAD,
    )  # fmt: skip
    return transformers.BloomForCausalLM(config)


def t5() -> Any:
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4, initializer_factor=2.0,
        eos_token_id=END, pad_token_id=PAD, decoder_start_token_id=PAD,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


def bart() -> Any:
    config = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, init_std=0.6, max_position_embeddings=64,
        bos_token_id=None, eos_token_id=END, pad_token_id=PAD, decoder_start_token_id=END, forced_eos_token_id=None,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


MAKERS: dict[str, Callable[[], Any]] = {"llama": llama, "bloom": bloom, "t5": t5, "bart": bart}
MADE: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Models so small are slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def made(name: str) -> Any:
    if name not in MADE:
        torch.manual_seed(7)
        MADE[name] = MAKERS[name]().eval()
    return MADE[name]


@pytest.fixture(params=list(MAKERS))
def any_model(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


@pytest.fixture(params=["llama", "t5"])
def model(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def generated(model: Any, processors: list[Any], *, seed: int = 3, **options: Any) -> list[list[int]]:
    """What `generate` of transformers makes of the contexts with their documents."""
    ids, mask = padded_tensors([one.given for one in PROMPTS], PAD, left=not model.config.is_encoder_decoder)
    torch.manual_seed(seed)
    with torch.no_grad():
        made = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=9,
            logits_processor=transformers.LogitsProcessorList(processors),
            **options,
        )
    return [list(row) for row in made.tolist()]


def processor(model: Any, alpha: float = 0.5, top_p: float = 0.9) -> PmiDecode:
    ids, mask = padded_tensors([one.alone for one in PROMPTS], PAD, left=not model.config.is_encoder_decoder)
    return PmiDecode(model, ids, mask, alpha=alpha, top_p=top_p)


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "beam": {"do_sample": False, "num_beams": 3},
    "sample": {"do_sample": True, "top_k": 0},
    "beam-sample": {"do_sample": True, "num_beams": 3, "top_k": 0},
}


# -- equation 8 --------------------------------------------------------------------------------------------------------


def test_equation_8_by_hand() -> None:
    given, alone = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log(), torch.tensor([[0.7, 0.1, 0.1, 0.1]]).log()
    made = combine(given, alone, alpha=0.5, top_p=0.75)[0].tolist()
    assert made[:2] == pytest.approx([math.log(0.5) - 0.5 * math.log(0.7), math.log(0.3) - 0.5 * math.log(0.1)])
    assert made[2:] == [-math.inf, -math.inf]


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.01, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (0.96, 4), (1.0, 4)]
)
def test_the_top_p_set_is_the_smallest(top_p: float, kept: int) -> None:
    given = torch.tensor([[0.05, 0.5, 0.15, 0.3]]).log()
    made = combine(given, torch.zeros_like(given), alpha=0.0, top_p=top_p)
    assert int(torch.isfinite(made).sum()) == kept


def test_a_flat_distribution_is_looked_at_to_its_end() -> None:
    given = torch.log_softmax(torch.rand(2, 1000, generator=torch.Generator().manual_seed(0)), dim=-1)
    made = combine(given, torch.zeros_like(given), alpha=0.0, top_p=0.9)
    for row, scores in zip(given, made, strict=True):
        kept = torch.isfinite(scores)
        chances = row.exp()
        assert float(chances[kept].sum()) >= 0.9
        assert float(chances[kept].sum() - chances[kept].min()) < 0.9
        assert float(chances[kept].min()) >= float(chances[~kept].max())


def test_what_is_impossible_without_the_document_is_not_infinitely_good() -> None:
    given, alone = torch.tensor([[0.6, 0.4]]).log(), torch.tensor([[1.0, 0.0]]).log()
    assert torch.isfinite(combine(given, alone, alpha=0.5, top_p=1.0)).all()


@pytest.mark.parametrize(("alpha", "top_p"), [(-0.1, 0.5), (1.1, 0.5), (0.5, 0.0), (0.5, 1.1)])
def test_settings_out_of_range(alpha: float, top_p: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        Paired(alpha=alpha, top_p=top_p)


# -- the processor -----------------------------------------------------------------------------------------------------


def by_hand(model: Any, prompt: Prompt, alpha: float, top_p: float, steps: int) -> list[int]:
    """Greedy decoding by equation 8 with nothing kept: both contexts whole at every step."""

    def chances(context: tuple[int, ...], since: list[int]) -> Any:
        with torch.no_grad():
            if model.config.is_encoder_decoder:
                start = [model.config.decoder_start_token_id, *since]
                made = model(input_ids=torch.tensor([list(context)]), decoder_input_ids=torch.tensor([start]))
            else:
                made = model(input_ids=torch.tensor([[*context, *since]]))
        return torch.log_softmax(made.logits[0, -1].double(), dim=-1)

    since: list[int] = []
    while len(since) < steps and (not since or since[-1] != END):
        given, alone = chances(prompt.given, since), chances(prompt.alone, since)
        order = given.argsort(descending=True).tolist()
        kept, total = [], 0.0
        for token in order:
            if total >= top_p:
                break
            kept.append(token)
            total += float(given[token].exp())
        since.append(max(kept, key=lambda token: float(given[token] - alpha * alone[token])))
    return since


@pytest.mark.parametrize(("alpha", "top_p"), [(0.25, 0.6), (0.5, 0.95), (1.0, 1.0)])
def test_greedy_is_equation_8(any_model: Any, alpha: float, top_p: float) -> None:
    model = any_model
    expected = [by_hand(model, one, alpha, top_p, 9) for one in PROMPTS]
    begin = 1 if model.config.is_encoder_decoder else max(len(one.given) for one in PROMPTS)
    made = generated(model, [processor(model, alpha, top_p)], **OPTIONS["greedy"])
    assert [row[begin : begin + len(tokens)] for row, tokens in zip(made, expected, strict=True)] == expected
    plain = [by_hand(model, one, 0.0, 1.0, 9) for one in PROMPTS]
    assert expected != plain  # or nothing was tested
    setting = Setting(alpha=alpha, top_p=top_p, max_tokens=9)
    assert decode(model, PROMPTS, setting, padding=PAD) == expected


@pytest.mark.parametrize("top_p", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("mode", list(OPTIONS))
def test_without_alpha_it_is_decoding_from_the_top_p_set(model: Any, mode: str, top_p: float) -> None:
    """With p = 1 plain decoding, below it what the library's own top-p mask gives."""
    made = generated(model, [processor(model, alpha=0.0, top_p=top_p)], **OPTIONS[mode])
    assert made == generated(model, mask(top_p), **OPTIONS[mode])
    plain = generated(model, [], **OPTIONS[mode])
    if top_p == 1 or mode == "greedy":  # the likeliest token is never masked
        assert made == plain
    elif top_p == 0.1 and mode != "beam-sample":  # it alone is left, or nearly so
        assert made != plain


def mask(top_p: float) -> list[Any]:
    return [transformers.TopPLogitsWarper(top_p)] if top_p < 1 else []


@pytest.mark.parametrize("top_p", [1.0, 0.4])
@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("mode", list(OPTIONS))
def test_decode_without_alpha(any_model: Any, mode: Mode, silent: bool, top_p: float) -> None:
    """Token for token, with the same rule for the first token and the same draws; a prompt at a time, as they draw."""
    model = any_model
    setting = Setting(mode=mode, alpha=0.0, top_p=top_p, beams=3, max_tokens=9, seed=5)
    plain = [tokens for one in PROMPTS for tokens in rows(model, [one], mode, None, top_p)]
    rule = None
    if silent:
        rule = torch.zeros(VOCABULARY, dtype=torch.bool)
        rule[[tokens[0] for tokens in plain]] = True
    expected = [tokens for one in PROMPTS for tokens in rows(model, [one], mode, rule, top_p)]
    assert (expected != plain) == silent  # or the rule was not tested
    assert decode(model, PROMPTS, setting, padding=PAD, silent=rule) == expected
    if "sample" not in mode:
        assert rows(model, PROMPTS, mode, rule, top_p) == expected


def rows(model: Any, prompts: list[Prompt], mode: Mode, silent: Any, top_p: float = 1.0) -> list[list[int]]:
    """What `generate` of transformers makes, seeded as `decode` does, to the end of each response."""
    left = not model.config.is_encoder_decoder
    ids, attention = padded_tensors([one.given for one in prompts], PAD, left=left)
    options = dict(OPTIONS[mode]) | (
        {} if silent is None else {"begin_suppress_tokens": silent.nonzero()[:, 0].tolist()}
    )
    torch.manual_seed(pmi_decode.generator(5, prompts[0]).initial_seed())
    with torch.no_grad():
        made = model.generate(
            input_ids=ids, attention_mask=attention, max_new_tokens=9,
            logits_processor=transformers.LogitsProcessorList(mask(top_p)), **options,
        )  # fmt: skip
    found = [row[ids.shape[1] if left else 1 :] for row in made.tolist()]
    return [row[: row.index(END) + 1] if END in row else row for row in found]


@pytest.mark.parametrize("mode", list(OPTIONS))
def test_the_second_context_follows_the_beams(any_model: Any, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With keys and values kept and put in order as without: everything read anew at every step."""
    model = any_model
    made = generated(model, [processor(model)], **OPTIONS[mode])
    moved: list[bool] = []

    def anew(self: Without, seen: Any) -> None:
        place = Without_origin(self, seen)
        moved.append(place is not None and place.tolist() != list(range(len(place))))

    Without_origin = Without._origin  # noqa: N806
    monkeypatch.setattr(Without, "_origin", anew)
    assert generated(model, [processor(model)], **OPTIONS[mode]) == made
    assert any(moved) == ("beam" in mode)
    assert made != generated(model, [], **OPTIONS[mode])


@pytest.mark.parametrize("mode", ["greedy", "beam"])
def test_pairs_choose_the_same(model: Any, mode: str) -> None:
    alone = generated(model, [processor(model)], **OPTIONS[mode])
    setting = Setting(mode=mode, alpha=0.5, top_p=0.9, beams=3, max_tokens=9)  # type: ignore[arg-type]
    paired = decode(model, PROMPTS, setting, padding=PAD)
    begin = 1 if model.config.is_encoder_decoder else max(len(one.given) for one in PROMPTS)
    assert [row[begin : begin + len(tokens)] for row, tokens in zip(alone, paired, strict=True)] == paired


@pytest.mark.parametrize("mode", ["greedy", "beam", "sample", "beam-sample"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_a_response_does_not_depend_on_its_batch(model: Any, mode: str, alpha: float) -> None:
    setting = Setting(mode=mode, alpha=alpha, top_p=0.9, beams=3, max_tokens=8, seed=5)  # type: ignore[arg-type]
    together = decode(model, PROMPTS, setting, padding=PAD)
    assert [decode(model, [one], setting, padding=PAD)[0] for one in PROMPTS] == together
    assert decode(model, PROMPTS[::-1], setting, padding=PAD)[::-1] == together


def test_drawing_depends_on_the_seed(model: Any) -> None:
    made = {
        tuple(
            map(
                tuple,
                decode(
                    model, PROMPTS, Setting(mode="sample", alpha=0.25, top_p=1.0, seed=seed, max_tokens=5), padding=PAD
                ),
            )
        )
        for seed in range(4)
    }
    assert len(made) > 1


def test_what_others_draw_is_not_moved(model: Any) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3).tolist()
    torch.manual_seed(11)
    decode(model, PROMPTS, Setting(mode="beam-sample", beams=2, max_tokens=3), padding=PAD)
    assert torch.rand(3).tolist() == expected


def test_several_sequences_of_one_context(model: Any) -> None:
    made = generated(model, [processor(model)], do_sample=True, top_k=0, num_return_sequences=2)
    assert len(made) == 2 * len(PROMPTS)


def test_one_processor_for_two_generations_begins_again(model: Any) -> None:
    one = processor(model)
    first = generated(model, [one], **OPTIONS["beam"])
    assert generated(model, [one], **OPTIONS["beam"]) == first


def test_rows_that_belong_to_no_context(model: Any) -> None:
    with pytest.raises(ValueError, match="2 rows are generated for 3 contexts"):
        processor(model)(torch.ones(2, 4, dtype=torch.long), torch.zeros(2, VOCABULARY))


# -- where a response ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["greedy", "beam", "sample", "beam-sample"])
def test_a_response_ends_with_the_first_token_that_ends_it(model: Any, mode: str) -> None:
    setting = Setting(mode=mode, alpha=0.5, top_p=0.9, beams=3, max_tokens=9)  # type: ignore[arg-type]
    ends = torch.zeros(VOCABULARY, dtype=torch.bool)
    ends[2::2] = True
    for tokens in decode(model, PROMPTS, setting, padding=PAD, ends=ends):
        assert 0 < len(tokens) <= 9
        finished = [token == END or bool(ends[token]) for token in tokens]
        assert not any(finished[:-1])
        assert finished[-1] or len(tokens) == 9


def test_nothing_to_do(model: Any) -> None:
    assert decode(model, [], Setting(), padding=PAD) == []


def test_the_recipe_names_what_moves_a_response() -> None:
    assert recipe_text(Setting().recipe) == "decode:greedy|alpha:0.25|p:0.6|max:64"
    assert recipe_text(Setting(mode="beam-sample", alpha=0.0).recipe) == (
        "decode:beam-sample|alpha:0|p:0.6|beams:4|temperature:1|seed:0|max:64"
    )


def test_the_modes_are_all_tested() -> None:
    assert set(OPTIONS) == set(MODES)
