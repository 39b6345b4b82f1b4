"""Translation there and back as an engine for paraphrases."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from troth.core.errors import UserError
from troth.perturb.translate import Apertium, Marian, TranslationParaphraser
from troth.perturb.users import guard
from troth.perturb.users.engines import Rewrite
from troth.perturb.users.guard import Stretch


class Upside:
    """A translator that turns the words of a text around."""

    name = "upside"

    def there_and_back(self, texts: Sequence[str]) -> list[str]:
        return [" ".join(reversed(text.split())) for text in texts]


def request(text: str, *values: str, seed: int = 0) -> Rewrite:
    kept = tuple(Stretch(text.index(value), text.index(value) + len(value), guard.VALUE) for value in values)
    return Rewrite(text, kept, seed)


def test_values_are_veiled_on_the_way() -> None:
    asked = request("a hotel in San Jose for 2 nights", "San Jose", "2")
    assert TranslationParaphraser([Upside()]).rewrite([asked]) == ["nights 2 for San Jose in hotel a"]


def test_many_values() -> None:
    values = [f"Value{number}" for number in range(30)]
    asked = request(" ".join(values), *values)
    assert TranslationParaphraser([Upside()]).rewrite([asked]) == [" ".join(reversed(values))]


def test_words_left_over_from_the_other_language_are_marked() -> None:
    class Left(Upside):
        def there_and_back(self, texts: Sequence[str]) -> list[str]:
            return ["*Quan does *Xqa leave, *Bob?"] * len(texts)

    asked = request("When does the Comet leave, Bob?", "the Comet")
    assert TranslationParaphraser([Left()]).rewrite([asked]) == ["*Quan does the Comet leave, Bob?"]


def test_the_seed_picks_the_pivot() -> None:
    class Shout(Upside):
        def there_and_back(self, texts: Sequence[str]) -> list[str]:
            return [text + " indeed" for text in texts]

    engine = TranslationParaphraser([Upside(), Shout()])
    assert engine.varies
    assert engine.rewrite([request("a b", seed=3), request("a b", seed=4)]) == ["a b indeed", "b a"]


@pytest.mark.skipif(shutil.which("apertium") is None, reason="needs Debian's apertium")
@pytest.mark.parametrize("pair", ["eng-spa", "eng-cat"])
def test_apertium(pair: str) -> None:
    translator = Apertium(pair)
    try:
        translator.check_installed()
    except UserError as error:
        pytest.skip(str(error))
    asked = [request("I want a room in Port Linnet for 2 nights.", "Port Linnet", "2"), request("Thanks, that is all.")]
    first = TranslationParaphraser([translator]).rewrite(asked)
    assert first == TranslationParaphraser([translator]).rewrite(asked)
    assert "Port Linnet" in str(first[0])
    assert "2 nights" in str(first[0])


def test_marian_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"troth\[neural\]"):
        Marian("there", "back").there_and_back(["Hello"])


def tiny(folder: Path) -> str:
    """A Marian model that knows nothing, with random weights and a vocabulary of letters."""
    from transformers import MarianConfig, MarianMTModel

    spm = pytest.importorskip("sentencepiece", reason="Marian's tokenizer needs sentencepiece")
    folder.mkdir()
    text = folder / "text.txt"
    text.write_text("\n".join(["i want a room in town for two nights", "can you find me a train"] * 20))
    for side in ("source", "target"):
        spm.SentencePieceTrainer.train(input=str(text), model_prefix=str(folder / side), vocab_size=25, minloglevel=2)
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
    pieces = [line.split("\t")[0] for line in (folder / "source.vocab").read_text().splitlines()]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"]))}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "xx"}))
    size, pad = len(vocab), vocab["<pad>"]
    config = MarianConfig(
        vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=0, max_length=12, num_beams=2,
    )  # fmt: skip
    MarianMTModel(config).save_pretrained(folder, safe_serialization=True)
    return str(folder)


@pytest.mark.filterwarnings("ignore")
def test_marian(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    there, back = tiny(tmp_path / "there"), tiny(tmp_path / "back")
    texts = ["i want a room", "can you find me a train in town", ""]
    first = Marian(there, back, batch=2).there_and_back(texts)
    assert len(first) == 3
    assert first == Marian(there, back, batch=2).there_and_back(texts)
    with pytest.raises(UserError, match="cannot be loaded"):
        Marian(str(tmp_path / "absent"), back).there_and_back(texts)
