"""Tiny models made on the spot, with weights drawn at random: what they say means nothing, and is always the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

TEXT = "the a room train table is for two three four people at on monday tuesday london paris cheap nice booked"
WORDS = TEXT.split()
LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}
NLI_TOKENS, LM_TOKENS = 40, 64  # what they read


def words(*, marks: bool) -> Any:
    """A tokenizer of whole words, and with the marks around pairs as BERT has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    listed = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(listed)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if marks:
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def onnx_folder(
    folder: Path,
    *,
    limit: int = 80,
    labels: tuple[str, ...] = ("entailment", "neutral", "contradiction"),
    doubts: bool = False,
) -> Path:
    """A graph whose logits are a sum over tokens of rows of `weights`, which weigh otherwise in the hypothesis.

    `doubts`: it judges words too; the logit of a token's doubt is the first number of its row.
    """
    from onnx import TensorProto, helper, numpy_helper, save

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["of_words"]),
        helper.make_node("Gather", ["sides", "token_type_ids"], ["of_sides"]),
        helper.make_node("Mul", ["of_words", "of_sides"], ["both"]),
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["mask"]),
        helper.make_node("Mul", ["both", "mask"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "middle"], ["logits"], keepdims=0),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])]
    if doubts:
        nodes.append(helper.make_node("Gather", ["of_words", "first"], ["doubts"], axis=2))
        outputs.append(helper.make_tensor_value_info("doubts", TensorProto.FLOAT, ["batch", "tokens"]))
    tables, sides = weights()
    constants = {"words": tables, "sides": sides, "last": np.array([2]), "middle": np.array([1]), "first": np.array(0)}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    folder.mkdir(parents=True, exist_ok=True)
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "model.onnx")
    )
    words(marks=False).save(str(folder / "tokenizer.json"))
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("model.onnx", "tokenizer.json")
    }
    card = {"name": "tiny", "revision": "3", "labels": labels, "max_tokens": limit, "sha256": hashes}
    (folder / "model.json").write_text(json.dumps(card))
    return folder


def weights() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    tables = rng.normal(0, 0.3, (len(WORDS) + 4, 3)).astype(np.float32)
    return tables, np.array([[1.0, 1.0, 1.0], [-2.0, 0.5, 1.5]], dtype=np.float32)


def nli_folder(folder: Path, *, labels: Mapping[int, str] = LABELS, seed: int = 1) -> Path:
    """A BERT of two layers that tells pairs apart."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS) + 4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=NLI_TOKENS, id2label=dict(labels), label2id={v: k for k, v in labels.items()},
        initializer_range=0.4,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    marks = {
        f"{kind}_token": mark for kind, mark in (("pad", "[PAD]"), ("cls", "[CLS]"), ("sep", "[SEP]"), ("unk", "[UNK]"))
    }
    names = ["input_ids", "token_type_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=words(marks=True), model_input_names=names, **marks).save_pretrained(
        folder
    )
    return folder


def lm_folder(folder: Path, *, seed: int = 1) -> Path:
    """A Llama of two layers over bytes and a few pairs of them."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, intermediate_size=64, max_position_embeddings=LM_TOKENS, initializer_range=0.5,
        bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)  # noqa: S106
    return folder
