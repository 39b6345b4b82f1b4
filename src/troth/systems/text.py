"""Networks that read text and write text: decoders (GPT-2, Llama) and encoders with a decoder (BART, T5).

A source that is too long loses the beginning of what it has to lose (the dialogue), not its end. Rows are padded on the
left for decoders, so that answers end together and only their logits are computed.
"""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

from troth.core.errors import UserError
from troth.models.batches import Room, batch_by_length, padded_tensors, replace_surrogates
from troth.models.hf import reach
from troth.models.hub import ModelFiles, load
from troth.systems.recipe import Recipe, StatelessTracker, TrainableTracker
from troth.systems.training import Trainable

IGNORED = -100  # a label that no loss counts
DECODERS = ("gpt2", "llama", "gpt_neo", "gpt_neox", "mistral", "opt", "phi", "qwen2", "qwen3", "smollm3")
ENCODERS = ("bert", "roberta", "electra", "distilbert", "mpnet", "convbert", "deberta-v2", "modernbert")
ENCODER_DECODERS = ("bart", "t5", "mbart", "mt5", "pegasus", "longt5")
ROOM = Room(items=48, units=24576)  # of a batch of prompts: a step costs about the same for one row and for many
FAR = 1024  # tokens that are read, where neither model nor tokenizer says (T5)


class TextExample(NamedTuple):
    source: array[int]
    target: array[int]
    weight: float = 1.0  # factor of its loss


class TextNetwork:
    """A network with its tokenizer: examples, loss and greedy answers."""

    def __init__(self, folder: Path, *, length: int, answer: int) -> None:
        """`length`, `answer`: tokens of a source and of an answer, at most."""
        import msgspec

        config = msgspec.json.decode((folder / "config.json").read_bytes())
        self.decoder = not config.get("is_encoder_decoder", False)
        masked = any(str(one).endswith("ForMaskedLM") for one in config.get("architectures") or ())
        if self.decoder and (masked or config.get("model_type") in ENCODERS):
            what = f"a model of the family '{config.get('model_type')}' reads text and writes none"
            raise UserError(what, file=str(folder), hint="name a decoder, or an encoder with a decoder")
        kind = "AutoModelForCausalLM" if self.decoder else "AutoModelForSeq2SeqLM"
        self.tokenizer, self.module = load(ModelFiles(str(folder), lambda: folder), kind)
        self.end = self.tokenizer.eos_token_id
        if self.end is None:
            raise UserError("the tokenizer has no token for the end of a text", file=str(folder))
        special = self.tokenizer("")["input_ids"]
        self.begin, self.close = (
            [one for one in special if one != self.end],
            [one for one in special if one == self.end],
        )
        self.padding = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.end
        most = reach(self.tokenizer, self.module.config, FAR)
        self.answer = min(answer, max(2, most // 2))
        self.length = min(length, most - self.answer if self.decoder else most)
        self._keeps = "logits_to_keep" in inspect.signature(self.module.forward).parameters

    def example(self, parts: tuple[str, str], answer: str, weight: float = 1.0) -> TextExample:
        """An example from a source in two parts, and the answer; the beginning of the first part may be cut."""
        return TextExample(self.source(*parts), array("i", [*self._ids(answer)[: self.answer - 1], self.end]), weight)

    def source(self, loses: str, stays: str) -> array[int]:
        """The tokens of a text; where it is too long, `loses` loses its beginning, then `stays`."""
        room = self.length - len(self.begin) - len(self.close)
        end = self._ids(stays)[-room:]
        start = self._ids(loses)[-max(room - len(end), 0) :] if room > len(end) else []
        return array("i", [*self.begin, *start, *end, *self.close])

    @lru_cache(maxsize=64)  # noqa: B019 (a dialogue is asked about slot by slot)
    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(replace_surrogates(text), add_special_tokens=False)["input_ids"] if text else []
        return ids

    def collate(self, examples: Sequence[TextExample]) -> dict[str, Any]:
        import torch

        weights = torch.tensor([example.weight for example in examples])
        if not self.decoder:
            ids, mask = padded_tensors([list(one.source) for one in examples], self.padding)
            labels, _ = padded_tensors([list(one.target) for one in examples], IGNORED)
            return {"input_ids": ids, "attention_mask": mask, "labels": labels, "weights": weights}
        ids, mask = padded_tensors([[*one.source, *one.target] for one in examples], self.padding, left=True)
        labels, _ = padded_tensors([list(one.target) for one in examples], IGNORED, left=True)
        places = (mask.cumsum(1) - 1).clamp(min=0)
        return {"input_ids": ids, "attention_mask": mask, "position_ids": places, "labels": labels, "weights": weights}

    def loss(self, batch: dict[str, Any]) -> Any:
        """Cross-entropy: the mean over all tokens of the batch's answers, each times the weight of its example."""
        import torch

        inputs = dict(batch)
        labels, weights = inputs.pop("labels"), inputs.pop("weights")
        if self.decoder:
            last = labels.shape[1] + 1  # the logits of a token are those of the place before it
            keep = {"logits_to_keep": last} if self._keeps else {}
            logits = self.module(**inputs, **keep, use_cache=False).logits[:, -last:-1]
        else:
            logits = self.module(**inputs, labels=labels).logits
        each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none", ignore_index=IGNORED)
        return (each * weights[:, None]).sum() / (labels != IGNORED).sum()

    def answers(self, sources: Sequence[array[int]]) -> list[str]:
        """The likeliest answer to each, token by token."""
        texts = [""] * len(sources)
        for batch in batch_by_length([len(source) + self.answer for source in sources], ROOM):
            rows = [list(sources[i]) for i in batch.indexes]
            found = self._generate(rows) if self.decoder else self._answers(rows)
            for place, text in zip(
                batch.indexes, self.tokenizer.batch_decode(found, skip_special_tokens=True), strict=True
            ):
                texts[place] = str(text).strip()
        return texts

    def _generate(self, rows: Sequence[list[int]]) -> list[list[int]]:
        """Continuations by a decoder. A row that has ended leaves the batch, so that one long answer costs one row."""
        import torch
        from transformers import DynamicCache

        tokens, mask = padded_tensors(rows, self.padding, left=True)
        cache, going = DynamicCache(config=self.module.config), list(range(len(rows)))
        said: list[list[int]] = [[] for _ in rows]
        known = inspect.signature(self.module.forward).parameters
        with torch.inference_mode():
            for _ in range(self.answer):
                more: dict[str, Any] = {"logits_to_keep": 1} if self._keeps else {}
                if "position_ids" in known:
                    more["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
                out = self.module(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True, **more)
                best = out.logits[:, -1].argmax(-1)
                kept = (best != self.end).nonzero().flatten()
                if len(kept) < len(going):
                    cache.batch_select_indices(kept)
                    going, best, mask = [going[i] for i in kept.tolist()], best[kept], mask[kept]
                if not going:
                    break
                for place, token in zip(going, best.tolist(), strict=True):
                    said[place].append(token)
                tokens, mask = best[:, None], torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        return said

    def _answers(self, rows: Sequence[list[int]]) -> list[list[int]]:
        """Answers by an encoder with a decoder. Here too, a row that has ended leaves the batch."""
        import torch
        from transformers import DynamicCache, EncoderDecoderCache

        ids, mask = padded_tensors(rows, self.padding)
        own, going = self.module.config, list(range(len(rows)))
        start = own.decoder_start_token_id
        start = self.module.generation_config.decoder_start_token_id if start is None else start
        cache = EncoderDecoderCache(DynamicCache(config=own), DynamicCache(config=own))
        said: list[list[int]] = [[] for _ in rows]
        with torch.inference_mode():
            read = self.module.get_encoder()(input_ids=ids, attention_mask=mask)[0]
            tokens = mask.new_full((len(rows), 1), start)
            for _ in range(self.answer):
                out = self.module(
                    encoder_outputs=(read,), attention_mask=mask, decoder_input_ids=tokens, past_key_values=cache,
                    use_cache=True,
                )  # fmt: skip
                best = out.logits[:, -1].argmax(-1)
                kept = (best != self.end).nonzero().flatten()
                if len(kept) < len(going):
                    cache.batch_select_indices(kept)
                    going, best, mask, read = [going[i] for i in kept.tolist()], best[kept], mask[kept], read[kept]
                if not going:
                    break
                for place, token in zip(going, best.tolist(), strict=True):
                    said[place].append(token)
                tokens = best[:, None]
        return said

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


class TextLearner(Trainable[TextExample]):
    def __init__(self, network: TextNetwork) -> None:
        self.network, self.module = network, network.module

    def size(self, example: TextExample) -> int:
        return len(example.source) + len(example.target)

    def collate(self, examples: Sequence[TextExample], rng: Random) -> dict[str, Any]:  # noqa: ARG002
        return self.network.collate(examples)

    def loss(self, batch: Any) -> Any:
        return self.network.loss(batch)

    def save(self, folder: Path) -> None:
        self.network.save(folder)


class TextModel(TextLearner, StatelessTracker, TrainableTracker[TextExample]):
    """A tracker with a network that reads and writes text; recipes define the texts."""


class TextRecipe(Recipe, frozen=True, kw_only=True):
    """Base class of recipes whose networks read and write text."""

    families: ClassVar[tuple[str, ...]] = (*DECODERS, *ENCODER_DECODERS)

    length: int = 512  # tokens of the dialogue and the schema that are read
    answer: int = 128  # tokens that are written

    def network(self, model: str) -> TextNetwork:
        return TextNetwork(self.files(model), length=self.length, answer=self.answer)
