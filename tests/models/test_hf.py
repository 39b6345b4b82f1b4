"""Models of transformers, on tiny ones made here: what they compute, whatever the batch, and what is refused."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.build import LABELS, LM_TOKENS, NLI_TOKENS, WORDS, nli_folder
from troth.core.errors import UserError
from troth.models import Entailment, Request, TextPair
from troth.models.cached import CachedLm
from troth.models.hf import Gumbel, HfLm, HfNli, labels, texts, truncate_context
from troth.models.hub import source
from troth.storage.cache import Store


@pytest.fixture(scope="module")
def nli(nli_at: Path) -> HfNli:
    return HfNli(source(str(nli_at)))


@pytest.fixture(scope="module")
def lm(lm_at: Path) -> HfLm:
    return HfLm(source(str(lm_at)))


def drawn(count: int, seed: int = 0) -> list[TextPair]:
    rng = random.Random(seed)
    return [
        (" ".join(rng.choices(WORDS, k=rng.randint(0, 20))), " ".join(rng.choices(WORDS, k=rng.randint(1, 8))))
        for _ in range(count)
    ]


# -- entailment --------------------------------------------------------------------------------------------------------


def plainly(folder: Path, premise: str, hypothesis: str) -> Entailment:
    """The model as its documentation would call it, one pair at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(premise, hypothesis, return_tensors="pt")
    with torch.no_grad():
        found = dict(zip(model.config.id2label.values(), model(**tokens).logits.softmax(-1)[0].tolist(), strict=True))
    return Entailment(*(found[label] for label in Entailment._fields))


def test_probabilities(nli: HfNli, nli_at: Path) -> None:
    pairs = drawn(12)
    found = nli.probabilities(pairs)
    for verdict, pair in zip(found, pairs, strict=True):
        assert verdict == pytest.approx(plainly(nli_at, *pair), abs=1e-5)
    assert max(verdict.entailment for verdict in found) - min(verdict.entailment for verdict in found) > 0.05


def test_the_batch_does_not_matter_to_pairs(nli: HfNli) -> None:
    pairs = drawn(40, seed=2)
    together = nli.probabilities(pairs)
    for one, pair in zip(together, pairs, strict=True):
        assert one == pytest.approx(nli.probabilities([pair])[0], abs=1e-4)


def test_labels_are_read_from_the_model(tmp_path: Path, nli_at: Path) -> None:
    other = nli_folder(tmp_path / "turned", labels={0: "ENTAILMENT", 1: "CONTRADICTION", 2: "NEUTRAL"})
    pairs = drawn(5)
    plain = [
        dict(zip(LABELS.values(), (v.contradiction, v.neutral, v.entailment), strict=True))
        for v in HfNli(source(str(nli_at))).probabilities(pairs)
    ]
    for verdict, found in zip(HfNli(source(str(other))).probabilities(pairs), plain, strict=True):
        assert verdict == pytest.approx((found["contradiction"], found["entailment"], found["neutral"]))


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (LABELS, [2, 1, 0]),
        ({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, [0, 1, 2]),
        ({0: "entails", 1: "contradicts", 2: "neutral "}, [0, 2, 1]),
        ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, None),
        ({0: "entailment", 1: "not_entailment"}, None),
        ({0: "positive", 1: "negative", 2: "neutral"}, None),
        ({0: "entailment", 1: "neutral", 2: "contradiction", 3: "other"}, None),
    ],
)
def test_labels(given: dict[int, str], order: list[int] | None) -> None:
    if order is not None:
        assert labels(given, "m") == order
        return
    with pytest.raises(UserError, match=f"not an entailment model: its labels are {given[0]}"):
        labels(given, "m")


def test_a_classifier_of_something_else_is_refused(tmp_path: Path) -> None:
    folder = nli_folder(tmp_path / "topics", labels={0: "sports", 1: "news", 2: "weather"})
    with pytest.raises(UserError, match="its labels are sports, news, weather"):
        HfNli(source(str(folder))).probabilities([("a", "b")])


def test_long_pairs_are_cut(nli_at: Path) -> None:
    model = HfNli(source(str(nli_at)))
    rng = random.Random(4)
    long = " ".join(rng.choices(WORDS, k=100))
    kept = " ".join(long.split()[-(NLI_TOKENS - 3 - 2) :])
    found = model.probabilities([(long, "a table"), (kept, "a table"), ("", long), ("a", "b")])
    assert found[0] == pytest.approx(found[1], abs=1e-5), "the end of the premise is what counts"
    assert model.cut == 2
    assert [batch.units for batch in model.plan([(long, "a table"), ("a room", "nice")])] == [NLI_TOKENS + 6]


@pytest.mark.parametrize("text", ["", "\ud800", "\x00", "é😀" * 30])
def test_any_text_has_a_verdict(nli: HfNli, text: str) -> None:
    for pair in ((text, "a table"), ("a table", text), (text, text)):
        (verdict,) = nli.probabilities([pair])
        assert sum(verdict) == pytest.approx(1)


@pytest.mark.parametrize("premise", ["", "x", "xy", "the room"])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_long_hypothesis_is_cut_between_characters(bytes_nli: HfNli, premise: str, before: int) -> None:
    """Where a character is several tokens, a cut between two of them would make other tokens of it."""
    pair = (premise, "x" * before + "😀" * 40)
    tokenizer, _, _, limit = bytes_nli._model
    ids = bytes_nli.encode([pair])[pair]["input_ids"]
    assert limit - 4 < len(ids) <= limit
    assert tokenizer.decode(ids, skip_special_tokens=True).startswith(premise + "x" * before + "😀")
    assert "\N{REPLACEMENT CHARACTER}" not in tokenizer.decode(ids)
    assert sum(bytes_nli.probabilities([pair])[0]) == pytest.approx(1)


@pytest.fixture(scope="module")
def bytes_nli(lm_at: Path, tmp_path_factory: pytest.TempPathFactory) -> HfNli:
    """A model of entailment that reads bytes."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("bytes")
    tokenizer = AutoTokenizer.from_pretrained(lm_at)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=NLI_TOKENS, id2label=LABELS,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return HfNli(source(str(folder)))


# -- language models ---------------------------------------------------------------------------------------------------

REQUESTS = [
    Request(("the room is nice\n", "for two.\n"), "the table is booked."),
    Request(("the room is nice\nfor two.\n",), "the table is booked."),
    Request(("for two.\n",), "the table is booked."),
    Request((), "the table is booked."),
    Request((), "the table is booked.", bos=True),
    Request(("for",), "é😀 x"),
    Request(("for",), ""),
    Request((), ""),
    Request((), "a"),
]


def one_by_one(folder: Path, asked: Request) -> tuple[list[float | None], list[int]]:
    """Whole logits of one sequence, pieces tokenised apart."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    before = [tokenizer.bos_token_id] if asked.bos else []
    for piece in asked.context:
        before += tokenizer(piece, add_special_tokens=False)["input_ids"] if piece else []
    own = tokenizer(asked.continuation, add_special_tokens=False)["input_ids"] if asked.continuation else []
    if not before + own:
        return [], []
    with torch.no_grad():
        scores = model(input_ids=torch.tensor([before + own])).logits[0].log_softmax(-1)
    places = range(len(before), len(before) + len(own))
    return [float(scores[at - 1, (before + own)[at]]) if at else None for at in places], own


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_logprobs(lm: HfLm, lm_at: Path, number: int) -> None:
    asked = REQUESTS[number]
    (found,) = lm.logprobs([asked])
    expected, own = one_by_one(lm_at, asked)
    assert len(found.tokens) == len(own)
    assert found.logprobs == pytest.approx(expected, abs=1e-5)
    assert found.dropped == 0


def test_the_batch_does_not_matter_to_requests(lm: HfLm) -> None:
    rng = random.Random(6)
    asked = REQUESTS + [
        Request((" ".join(rng.choices(WORDS, k=rng.randint(1, 6))),), " ".join(rng.choices(WORDS, k=rng.randint(1, 6))))
        for _ in range(40)
    ]
    together = lm.logprobs(asked)
    backwards = lm.logprobs(asked[::-1])[::-1]
    for one, other, request in zip(together, backwards, asked, strict=True):
        alone = lm.logprobs([request])[0]
        assert one.tokens == other.tokens == alone.tokens
        assert one.logprobs == pytest.approx(alone.logprobs, abs=1e-4)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize(("chooses", "logits"), [(True, 2**26), (False, 2**26), (True, 1)])
def test_rows_apart_give_the_same(lm: HfLm, monkeypatch: pytest.MonkeyPatch, chooses: bool, logits: int) -> None:
    """Padded rows, for models that cannot read many texts as one; with all logits, or those asked for; split up."""
    expected = lm.logprobs(REQUESTS)
    monkeypatch.setattr(lm, "_model", lm._model._replace(reader=None, chooses=chooses))
    monkeypatch.setattr("troth.models.hf.LOGITS", logits)
    for one, other in zip(lm.logprobs(REQUESTS), expected, strict=True):
        assert one.tokens == other.tokens
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


@pytest.mark.parametrize("asked", [REQUESTS, REQUESTS[6:], REQUESTS[7:8], []])
def test_with_the_cache_around_it(lm: HfLm, tmp_path: Path, asked: list[Request]) -> None:
    cached = CachedLm(lm, Store(str(tmp_path / "c.sqlite")))
    first = cached.logprobs(asked)
    for one, other in zip(first, lm.logprobs(asked), strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    assert cached.logprobs(asked) == first
    assert cached.generate(["the room"], max_tokens=3) == lm.generate(["the room"], max_tokens=3)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=12))
def test_tokens_are_the_text(lm: HfLm, text: str) -> None:
    (found,) = lm.logprobs([("a room", text)])
    assert "".join(found.tokens) == text
    assert len(found.tokens) == len(found.logprobs)


def lengths(lm: HfLm, requests: list[Request]) -> list[int]:
    return [len(row.ids) for row in lm._rows(requests).values()]


def test_pieces_are_tokenised_apart(lm: HfLm) -> None:
    """One text, cut in other places, is another question."""
    whole, parted = lm.logprobs([Request(("the room",), "x"), Request(("the r", "oom"), "x")])
    assert lengths(lm, [Request(("the room",), "x")]) < lengths(lm, [Request(("the r", "oom"), "x")])
    assert whole.logprobs != pytest.approx(parted.logprobs, abs=1e-4)


@pytest.mark.parametrize(
    ("pieces", "room", "shorten", "kept", "dropped"),
    [
        ([[1, 2, 3], [4, 5]], 5, 0, [1, 2, 3, 4, 5], 0),
        ([[1, 2, 3], [4, 5]], 4, 0, [1, 2, 4, 5], 1),
        ([[1, 2, 3], [4, 5]], 2, 0, [4, 5], 3),
        ([[1, 2, 3], [4, 5]], 1, 0, [5], 4),
        ([[1, 2, 3], [4, 5]], 4, 1, [1, 2, 3, 4], 1),
        ([[1, 2, 3], [4, 5]], 0, 0, [], 5),
        ([[1, 2, 3], [4, 5]], -7, 0, [], 5),
        ([[1, 2, 3]], 2, 9, [2, 3], 1),
        ([], 3, 0, [], 0),
    ],
)
def test_fitted(pieces: list[list[int]], room: int, shorten: int, kept: list[int], dropped: int) -> None:
    assert truncate_context(pieces, room, shorten) == (kept, dropped)


def test_long_contexts_lose_the_document_s_end(lm: HfLm) -> None:
    document, history = "\x01" * 100, "the room is\n"
    (found,) = lm.logprobs([Request((document, history), "nice")])
    left = 100 - found.dropped
    assert 0 < left < LM_TOKENS
    (expected,) = lm.logprobs([Request((document[:left], history), "nice")])
    assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-5)
    assert lengths(lm, [Request((document, history), "nice")]) == [LM_TOKENS]


def test_a_continuation_beyond_reach_is_scored_as_far_as_it_goes(lm: HfLm) -> None:
    (found,) = lm.logprobs([Request(("a room",), "\x01" * 100, shorten=-1)])
    assert len(found.tokens) == 100
    assert sum(value is None for value in found.logprobs) == 100 - LM_TOKENS + 1, "the first has no context left"
    assert found.logprobs[1] is not None
    assert found.logprobs[-1] is None
    assert found.dropped == lengths(lm, [Request((), "a room")])[0]


def test_a_piece_of_which_nothing_is_left_is_not_what_was_asked(lm: HfLm) -> None:
    """A document that the history leaves no room for: a number without it would pass for one with it."""
    history = "\x01" * (LM_TOKENS - 1)
    gone, short, alone = lm.logprobs(
        [
            Request(("a room", history), "b"),
            Request(("a room", history[:-1]), "b"),
            Request((history,), "b", shorten=-1),
        ]
    )
    assert set(gone.logprobs) == {None}
    assert None not in short.logprobs
    assert short.dropped > 0
    assert None not in alone.logprobs
    assert lm.logprobs([Request(("a room", history), "b"), Request(("a",), "b")])[0] == gone


def test_no_token_for_the_beginning(lm_at: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(lm_at, tmp_path / "lm")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("bos_token")
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="no token for the beginning"):
        HfLm(source(str(folder))).logprobs([Request((), "a", bos=True)])


@pytest.mark.parametrize(
    ("text", "offsets", "expected"),
    [
        ("", [], ()),
        ("a b", [(0, 1), (2, 3)], ("a", " b")),  # a tokenizer that leaves out spaces
        ("é!", [(0, 1), (0, 1), (1, 2)], ("é", "", "!")),
        ("a  ", [(0, 1)], ("a  ",)),
    ],
)
def test_texts(text: str, offsets: list[tuple[int, int]], expected: tuple[str, ...]) -> None:
    assert texts(text, offsets) == expected


def test_a_model_that_also_sees(lm_at: Path, tmp_path: Path) -> None:
    """Its vocabulary and its reach stand in a part of its configuration."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    text = {
        "vocab_size": 320, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16,
        "num_key_value_heads": 1, "intermediate_size": 64, "max_position_embeddings": 48, "sliding_window": 16,
    }  # fmt: skip
    images = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = Gemma3Config(
        text_config=text, vision_config=images | {"image_size": 16, "patch_size": 8}, mm_tokens_per_image=4
    )
    Gemma3ForConditionalGeneration(config).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(lm_at / name, tmp_path / name)
    model = HfLm(source(str(tmp_path)))
    assert lengths(model, [Request(("\x01" * 100,), "nice")]) == [48]
    found = model.logprobs([("the room", "is nice"), ("a", "b")])
    assert all(value is not None for one in found for value in one.logprobs)


# -- generation --------------------------------------------------------------------------------------------------------

PROMPTS = ["the room", "a table for two people is", "paris", "on monday at"]


def greedily(folder: Path, prompt: str, count: int) -> str:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    made: list[int] = []
    with torch.no_grad():
        while len(made) < count:
            made.append(int(model(input_ids=torch.tensor([ids + made])).logits[0, -1].argmax()))
            if made[-1] == tokenizer.eos_token_id:
                break
    return str(tokenizer.decode(made, skip_special_tokens=True))


def test_generation_takes_the_likeliest(lm: HfLm, lm_at: Path) -> None:
    assert lm.generate([*PROMPTS, PROMPTS[0]], max_tokens=6) == [greedily(lm_at, p, 6) for p in [*PROMPTS, PROMPTS[0]]]


def test_drawing_depends_on_seed_and_prompt_alone(lm: HfLm) -> None:
    together = lm.generate(PROMPTS, max_tokens=8, temperature=1.0, seed=3)
    assert together == [lm.generate([prompt], max_tokens=8, temperature=1.0, seed=3)[0] for prompt in PROMPTS]
    assert together == lm.generate(PROMPTS[::-1], max_tokens=8, temperature=1.0, seed=3)[::-1]
    assert together != lm.generate(PROMPTS, max_tokens=8, temperature=1.0, seed=4)


def test_a_low_temperature_is_none(lm: HfLm) -> None:
    assert lm.generate(PROMPTS, max_tokens=5, temperature=1e-4) == lm.generate(PROMPTS, max_tokens=5)


def test_draws_follow_the_probabilities() -> None:
    import torch

    shares = torch.tensor([0.6, 0.3, 0.1])
    draw = Gumbel(["x", "y"], 2.0, 1)
    made = [draw(None, 2.0 * shares.log().repeat(2, 1)).argmax(-1).tolist() for _ in range(2000)]
    for row in (0, 1):
        found = [[one[row] for one in made].count(token) / 2000 for token in range(3)]
        assert found == pytest.approx(shares.tolist(), abs=0.05)
    assert any(one[0] != one[1] for one in made), "each prompt draws for itself"


def test_too_long_a_prompt_is_refused(lm: HfLm) -> None:
    with pytest.raises(UserError, match="it reads 64 tokens"):
        lm.generate(["\x01" * 60], max_tokens=5)


def test_an_empty_prompt_begins_a_text(lm: HfLm) -> None:
    assert lm.generate(["", "the room"], max_tokens=4) == [
        lm.generate([""], max_tokens=4)[0],
        lm.generate(["the room"], max_tokens=4)[0],
    ]
