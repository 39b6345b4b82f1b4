"""Tiny models of every family, made on the spot with weights drawn at random, and a few dialogues to train them on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troth import demo, readers

SIZE = 32  # of hidden states
MARKS = {
    "bert": {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]",
             "mask_token": "[MASK]"},
    "gpt2": {"eos_token": "<|end|>", "unk_token": "<unk>"},
    "llama": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    "bart": {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<m>"},
}  # fmt: skip


def model(folder: Path, family: str) -> Path:
    """A folder with a tiny model of a family: config.json, safetensors and tokenizer."""
    import torch
    import transformers

    tokenizer = _tokenizer(family)
    size = len(tokenizer)
    token = {name: getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config: Any
    if family == "bert":
        config = transformers.BertConfig(vocab_size=size, hidden_size=SIZE, num_hidden_layers=1, num_attention_heads=2,
                                         intermediate_size=64, max_position_embeddings=256)  # fmt: skip
        kind: Any = transformers.BertForMaskedLM
    elif family == "gpt2":
        config = transformers.GPT2Config(vocab_size=size, n_embd=SIZE, n_layer=1, n_head=2, n_positions=512,
                                         bos_token_id=token["eos"], eos_token_id=token["eos"])  # fmt: skip
        kind = transformers.GPT2LMHeadModel
    elif family == "llama":
        config = transformers.LlamaConfig(vocab_size=size, hidden_size=SIZE, num_hidden_layers=1, num_attention_heads=2,
                                          intermediate_size=64, max_position_embeddings=2048, tie_word_embeddings=True,
                                          bos_token_id=token["bos"], eos_token_id=token["eos"])  # fmt: skip
        kind = transformers.LlamaForCausalLM
    elif family == "t5":
        config = transformers.T5Config(vocab_size=size, d_model=SIZE, d_ff=64, d_kv=16, num_layers=1, num_heads=2,
                                       pad_token_id=token["pad"], eos_token_id=token["eos"],
                                       decoder_start_token_id=token["pad"])  # fmt: skip
        kind = transformers.T5ForConditionalGeneration
    else:
        config = transformers.BartConfig(vocab_size=size, d_model=SIZE, encoder_layers=1, decoder_layers=1,
                                         encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
                                         decoder_ffn_dim=64, max_position_embeddings=512, bos_token_id=token["bos"],
                                         pad_token_id=token["pad"], eos_token_id=token["eos"],
                                         decoder_start_token_id=token["eos"], forced_eos_token_id=None)  # fmt: skip
        kind = transformers.BartForConditionalGeneration
    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(family: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = list(MARKS[family].values())
    texts = [turn.text for dialogue in readers.gold(demo.path("gold")) for turn in dialogue.turns]
    if family == "bert":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=600, special_tokens=special, show_progress=False)
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet,
                                      show_progress=False)  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)

    def number(mark: str) -> int:
        return int(tokenizer.token_to_id(mark) or 0)

    if family == "bert":
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", number("[SEP]")), ("[CLS]", number("[CLS]")))
    elif family == "bart":
        tokenizer.post_processor = processors.BertProcessing(("</s>", number("</s>")), ("<s>", number("<s>")))
    elif family == "t5":
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", number("</s>"))])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **MARKS[family])
