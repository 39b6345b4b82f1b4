"""Contexts put to models: plain and as a conversation, for decoders and encoder-decoders made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.build import LM_TOKENS, lm_folder
from troth.core.errors import UserError
from troth.core.progress import within
from troth.core.records import Grounded
from troth.models.hub import source
from troth.storage.cache import Store

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from troth.systems.decoding import generator  # noqa: E402
from troth.systems.decoding.generator import Responder  # noqa: E402
from troth.systems.decoding.settings import Setting  # noqa: E402

ITEM = Grounded("1", "a nice room", "", ("is it", "yes", "how"))
CHAT = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}<assistant>"


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lm_folder(tmp_path_factory.mktemp("lm") / "tiny-lm")


@pytest.fixture(scope="module")
def chatting(decoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, reading more, with a template for conversations."""
    folder = tmp_path_factory.mktemp("chat") / "tiny-chat"
    tokenizer = transformers.AutoTokenizer.from_pretrained(decoder)
    tokenizer.chat_template = CHAT
    config = transformers.AutoConfig.from_pretrained(decoder)
    config.max_position_embeddings = 300
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bart(decoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder-decoder with a table of 40 positions."""
    folder = tmp_path_factory.mktemp("bart") / "tiny-bart"
    tokenizer = transformers.AutoTokenizer.from_pretrained(decoder)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=40, pad_token_id=0,
        bos_token_id=1, eos_token_id=None, decoder_start_token_id=1, forced_eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder_decoder(decoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 over the same tokens, with an end after each text."""
    from tokenizers import processors

    folder = tmp_path_factory.mktemp("t5") / "tiny-t5"
    tokenizer = transformers.AutoTokenizer.from_pretrained(decoder)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 1)]
    )
    torch.manual_seed(1)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4, initializer_factor=2.0,
        eos_token_id=1, pad_token_id=0, decoder_start_token_id=0,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def responder(folder: Path, **options: Any) -> Responder:
    return Responder(source(str(folder)), Store(":memory:"), **options)


def texts(made: Responder, item: Grounded, max_tokens: int = 6) -> tuple[str, str]:
    tokenizer, _, _ = made.loaded
    context = made.context(item, max_tokens)
    return tokenizer.decode(context.prompt.given), tokenizer.decode(context.prompt.alone)


def test_plain_is_as_pmi_faith_asks(decoder: Path) -> None:
    assert texts(responder(decoder), ITEM) == (
        "Document: a nice room\n\nis it\nyes\nhow.\nAgent:",
        "is it\nyes\nhow.\nAgent:",
    )


def test_an_encoder_has_its_marks_and_the_decoder_begins(encoder_decoder: Path) -> None:
    assert texts(responder(encoder_decoder), ITEM) == (
        "Document: a nice room\n\nis it\nyes\nhow.\n</s>",
        "is it\nyes\nhow.\n</s>",
    )


def test_a_conversation_has_its_roles(chatting: Path) -> None:
    given, alone = texts(responder(chatting, style="chat"), ITEM)
    assert given == (
        "<system>Answer in one or two sentences, with what this document says.\n\nDocument: a nice room</>"
        "<user>is it</><assistant>yes</><user>how</><assistant>"
    )
    assert alone == "<system>Answer in one or two sentences.</><user>is it</><assistant>yes</><user>how</><assistant>"


def test_a_long_document_gives_way_in_a_conversation(chatting: Path) -> None:
    made = responder(chatting, style="chat")
    long = Grounded("1", "the room is nice " * 200, "", ("how",))
    context = made.context(long, 20)
    assert context.dropped > 0
    assert len(context.prompt.given) <= 280
    tokenizer, _, _ = made.loaded
    assert tokenizer.decode(context.prompt.given).endswith("</><user>how</><assistant>")


NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
NO_WORD_OF_A_SYSTEM = CHAT.replace("<{{", "{% if m['role'] != 'system' %}<{{").replace("</>", "</>{% endif %}")
USER_FIRST = (
    "{% set said = messages[1:] if messages[0]['role'] == 'system' else messages %}"
    "{% if said[0]['role'] != 'user' %}{{ raise_exception('a user speaks first') }}{% endif %}"
)
TASK = "Answer in one or two sentences, with what this document says.\n\nDocument: a nice room"


@pytest.mark.parametrize(
    ("template", "history", "expected"),
    [
        (NO_SYSTEM + CHAT, ("how",), f"<user>{TASK}\n\nhow</><assistant>"),
        (NO_SYSTEM + CHAT, ("yes", "how"), f"<user>{TASK}</><assistant>yes</><user>how</><assistant>"),
        (NO_SYSTEM + CHAT, (), f"<user>{TASK}</><assistant>"),
        (NO_WORD_OF_A_SYSTEM, ("how",), f"<user>{TASK}\n\nhow</><assistant>"),
        (USER_FIRST + CHAT, ("how",), f"<system>{TASK}</><user>how</><assistant>"),
        (USER_FIRST + CHAT, ("yes", "how"), f"<user>{TASK}</><assistant>yes</><user>how</><assistant>"),
        (USER_FIRST + CHAT, (), f"<user>{TASK}</><assistant>"),
    ],
)
def test_templates_that_refuse_a_role(chatting: Path, template: str, history: tuple[str, ...], expected: str) -> None:
    made = responder(chatting, style="chat")
    made.loaded[0].chat_template = template
    given, alone = texts(made, Grounded("1", "a nice room", "", history))
    assert given == expected
    assert alone == expected.replace(", with what this document says.\n\nDocument: a nice room", ".")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('no talk at all') }}", "does not take this conversation: no talk at all"),
        ("{{ 1 / 0 }}", "does not take this conversation: division by zero"),
        ("{% if %}", "does not take this conversation: Expected an expression"),
        ("{{ messages[7]['role'] + 1 }}", "does not take this conversation: "),
        ("always the same", "leaves out what it is given"),
    ],
)
def test_templates_that_take_nothing(chatting: Path, template: str, said: str) -> None:
    made = responder(chatting, style="chat")
    made.loaded[0].chat_template = template
    with pytest.raises(UserError, match=said) as told:
        made.responses([ITEM], Setting(max_tokens=3))
    assert told.value.hint == "use the plain prompt"


@pytest.mark.parametrize("mode", ["greedy", "beam", "sample", "beam-sample"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_an_encoder_decoder_responds(encoder_decoder: Path, mode: Any, alpha: float) -> None:
    setting = Setting(mode=mode, alpha=alpha, beams=2, max_tokens=5)
    made = responder(encoder_decoder)
    items = [ITEM, Grounded("2", "the train", "", ("hi",)), ITEM]
    found = made.responses(items, setting)
    assert found[0] == found[2]
    assert all("\n" not in one.text and 0 < one.tokens <= 5 for one in found)
    assert responder(encoder_decoder).responses(items[::-1], setting) == found[::-1]


def test_a_plain_response_is_one_line(decoder: Path) -> None:
    made = responder(decoder)
    tokenizer, _, _ = made.loaded
    ends, _ = made.marked_tokens
    assert bool(ends[tokenizer("\n")["input_ids"][0]])
    assert not bool(ends[tokenizer("a")["input_ids"][0]])
    items = [Grounded(str(n), f"the room {n}", "", ("how",)) for n in range(6)]
    for one in made.responses(items, Setting(mode="sample", alpha=0.25, top_p=1.0, max_tokens=12)):
        assert "\n" not in one.text


@pytest.mark.parametrize("mode", ["greedy", "beam", "sample", "beam-sample"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_a_response_begins_with_a_word(decoder: Path, mode: Any, alpha: float) -> None:
    """Whatever the model would rather: here it would end at once, or begin with an empty line."""
    made = responder(decoder)
    tokenizer, model, _ = made.loaded
    with torch.no_grad():
        model.lm_head.weight[[tokenizer.eos_token_id, tokenizer("\n")["input_ids"][0]]] *= 50
    ends, silent = made.marked_tokens
    assert bool(silent[tokenizer.eos_token_id])
    assert bool((silent | ~ends).all())
    items = [Grounded(str(n), f"the room {n}", "", ("how",)) for n in range(4)]
    found = made.responses(items, Setting(mode=mode, alpha=alpha, beams=2, max_tokens=4))
    assert all(one.text for one in found)


def test_progress_is_in_tokens_and_comes_to_its_end(decoder: Path) -> None:
    steps: list[tuple[int, int]] = []
    items = [Grounded(str(n), f"the room {n}", "", ("how",)) for n in range(10)]
    made = responder(decoder)
    with within(lambda _, done, total: steps.append((done, total))):
        made.responses(items, Setting(max_tokens=3))
    assert steps[-1][0] == steps[-1][1] == sum(len(made.context(item, 3).prompt.given) + 3 for item in items)
    steps.clear()
    with within(lambda _, done, total: steps.append((done, total))):
        made.responses(items, Setting(max_tokens=3))
    assert steps == []


def test_what_does_not_fit(decoder: Path) -> None:
    with pytest.raises(UserError, match=f"{LM_TOKENS} tokens are more than 'tiny-lm@"):
        responder(decoder).context(ITEM, LM_TOKENS)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_what_a_decoder_beside_an_encoder_does_not_write(bart: Path, alpha: float) -> None:
    (one,) = responder(bart).responses([ITEM], Setting(alpha=alpha, max_tokens=40))
    assert one.tokens == 40
    with pytest.raises(UserError, match=r"41 tokens are more than 'tiny-bart@.* \(generate 40 at most\)"):
        responder(bart).responses([ITEM], Setting(alpha=alpha, max_tokens=41))


def test_a_sweep_knows_all_that_is_to_do(decoder: Path) -> None:
    """Whatever exists already: one total from the first step to the last."""
    made = responder(decoder)
    items = [Grounded(str(n), f"the room {n}", "", ("how",)) for n in range(10)]
    half, whole, plain = (Setting(alpha=alpha, max_tokens=3) for alpha in (0.5, 1.0, 0.0))
    expected = [made.responses(items[:4], half), made.responses(items, plain)]
    steps: list[tuple[int, int]] = []
    with within(lambda _, done, total: steps.append((done, total))):
        found = made.sweep(items, [plain, half, whole])
    assert [found[half][:4], found[plain]] == expected
    lengths = [len(made.context(item, 3).prompt.given) + 3 for item in items]
    assert {total for _, total in steps} == {sum(lengths[4:]) + sum(lengths)}
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert steps[-1][0] == steps[-1][1]


def test_greedy_responses_without_pmi_are_made_once_whatever_p_is(
    decoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Setting] = []
    inner: Any = vars(generator)["decode"]

    def counted(model: Any, prompts: Any, setting: Setting, **rest: Any) -> Any:
        calls.append(setting)
        return inner(model, prompts, setting, **rest)

    monkeypatch.setattr(generator, "decode", counted)
    greedy = [Setting(alpha=0.0, top_p=p, max_tokens=3) for p in (0.5, 0.9, 1.0)]
    found = responder(decoder).sweep([ITEM], greedy)
    assert calls == [greedy[-1]]
    assert found[greedy[0]] == found[greedy[1]] == found[greedy[2]]
    drawn = [Setting("sample", alpha=0.0, top_p=p, max_tokens=3) for p in (0.5, 0.9)]
    responder(decoder).sweep([ITEM], drawn)
    assert calls[1:] == drawn
