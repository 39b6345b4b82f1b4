"""Beam search over a batch of prompts, some with prefixes: the likeliest answers, with likelihoods.

The same search as that of transformers (`num_beams`, no early stopping, scores divided by the length), with less work:
a prompt is read once and not once for each beam, and leaves the batch when its answers are known. Rows with prefixes
and rows without stand in one batch, so that a model reads its weights once for both.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from troth.core.progress import bar
from troth.models.batches import Room, padded_tensors, plan_batches
from troth.systems.generators.difference import tune_rows
from troth.systems.generators.prefix import KeyValue, Layer, add_prefixes
from troth.systems.text import TextNetwork

ROOM = Room(items=16, units=8192)  # prompts of a batch, and tokens with all their beams


class ScoredText(NamedTuple):
    """An answer, and the mean logarithm of the probabilities of its tokens."""

    text: str
    score: float


class Prefixed(NamedTuple):
    layers: Sequence[Layer]
    pairs: Sequence[KeyValue]


def nbest(
    network: TextNetwork,
    sources: Sequence[Sequence[int]],
    *,
    beams: int = 4,
    prefix: Prefixed | None = None,
    flags: Sequence[bool] | None = None,
    changed: bool = False,
) -> list[list[ScoredText]]:
    """The `beams` likeliest answers to each source, the likeliest first.

    `flags` says which sources are read with the prefixes; None: all, if there are any. `changed`: the others are read
    by the fine-tuned model that the network holds as a `WeightDifference`.
    """
    marks = list(flags) if flags is not None else [prefix is not None] * len(sources)
    answers: list[list[ScoredText]] = [[]] * len(sources)
    lengths = [len(source) + network.answer * beams for source in sources]
    done = 0
    with bar("generating") as progress, torch.inference_mode():
        for mixed in plan_batches(lengths, ROOM):
            batch = sorted(mixed, key=lambda index: not marks[index])  # the others are a slice, not scattered rows
            rows = torch.tensor([marks[index] for index in batch])
            search = _Search(network, [list(sources[index]) for index in batch], beams, prefix, rows, changed=changed)
            for index, answer in zip(batch, search.run(), strict=True):
                texts = network.tokenizer.batch_decode([tokens for _, tokens in answer], skip_special_tokens=True)
                pairs = zip(texts, answer, strict=True)
                answers[index] = [ScoredText(str(text).strip(), score) for text, (score, _) in pairs]
            done += len(batch)
            progress(done, len(sources))
    return answers


class _Search:
    """One batch: `rows` says which prompts have the prefixes."""

    def __init__(
        self,
        network: TextNetwork,
        prompts: Sequence[list[int]],
        beams: int,
        prefix: Prefixed | None,
        rows: Any,
        *,
        changed: bool,
    ) -> None:
        self.network, self.beams, self.prefix, self.rows, self.changed = network, beams, prefix, rows, changed
        self.model, self.decoder = network.module, network.decoder
        self.parameters = set(inspect.signature(self.model.forward).parameters)
        self.ids, self.mask = padded_tensors(prompts, network.padding, left=self.decoder)
        self.prompts = list(range(len(prompts)))  # indexes of the prompts that are still searched
        self.answers: list[list[tuple[float, list[int]]]] = [[] for _ in prompts]
        self.cache: Any = None
        self.encoded: Any = None

    def run(self) -> list[list[tuple[float, list[int]]]]:
        """The best answers to each prompt, as score and tokens; the token that ends an answer is left out."""
        logits = self._begin()
        tokens = torch.empty(len(self.prompts), 1, 0, dtype=torch.long)  # prompts, beams, tokens so far
        sums = torch.zeros(len(self.prompts), 1)
        for length in range(1, self.network.answer + 1):
            tokens, sums, origin = self._choose(logits, tokens, sums, length)
            going = [
                n for n, prompt in enumerate(self.prompts) if not self._is_settled(prompt, float(sums[n, 0]), length)
            ]
            if not going or length == self.network.answer:
                break
            unsettled = torch.tensor(going)
            tokens, sums, origin = tokens[unsettled], sums[unsettled], origin[unsettled]
            self._reorder(origin.flatten(), unsettled)
            logits = self._next(tokens[:, :, -1:].flatten(0, 1))
        return [sorted(answers, key=lambda answer: -answer[0])[: self.beams] for answers in self.answers]

    def _choose(self, logits: Any, tokens: Any, sums: Any, length: int) -> tuple[Any, Any, Any]:
        """The beams after one more token, and the row of the cache that each comes from; what ends is put aside."""
        prompts, width = sums.shape
        chances = torch.log_softmax(logits.float(), dim=-1).view(prompts, width, -1) + sums[:, :, None]
        size = chances.shape[2]
        values, flat = chances.flatten(1).topk(min(2 * self.beams, width * size), dim=1)
        beam, token = flat // size, flat % size
        last = length == self.network.answer
        ends = token == self.network.end
        for number, prompt in enumerate(self.prompts):
            for rank in range(min(self.beams, values.shape[1])):  # only an end among the best is an answer
                if bool(ends[number, rank]) or last:
                    answer = tokens[number, beam[number, rank]].tolist()
                    answer += [] if bool(ends[number, rank]) else [int(token[number, rank])]
                    self.answers[prompt].append((float(values[number, rank]) / length, answer))
            self.answers[prompt] = sorted(self.answers[prompt], key=lambda answer: -answer[0])[: self.beams]
        values = values.masked_fill(ends, -torch.inf)
        sums, order = values.topk(min(self.beams, values.shape[1]), dim=1)
        beam, token = beam.gather(1, order), token.gather(1, order)
        origin = beam + width * torch.arange(prompts)[:, None]
        before = tokens.flatten(0, 1)[origin]
        return torch.cat([before, token[:, :, None]], dim=2), sums, origin

    def _is_settled(self, prompt: int, best: float, length: int) -> bool:
        """Whether the answers of a prompt are final: no beam can still become one of them."""
        answers = self.answers[prompt]
        return len(answers) >= self.beams and best / length <= answers[-1][0]

    def _begin(self) -> Any:
        if self.decoder:
            self.cache = DynamicCache(config=self.model.config)
            return self._forward(self.ids)
        with self._members():
            self.encoded = self.model.get_encoder()(input_ids=self.ids, attention_mask=self.mask).last_hidden_state
        own = self.model.config
        self.cache = EncoderDecoderCache(DynamicCache(config=own), DynamicCache(config=own))
        start = own.decoder_start_token_id
        start = self.model.generation_config.decoder_start_token_id if start is None else start
        return self._forward(torch.full((len(self.ids), 1), start))

    def _reorder(self, origin: Any, unsettled: Any) -> None:
        """Selects the rows of the remaining beams; a prompt that is answered has none."""
        if torch.equal(origin, torch.arange(len(self.mask))):  # every row stays in its place
            return
        self.cache.batch_select_indices(origin)
        self.mask = self.mask[origin]
        self.rows = self.rows[origin]
        self.prompts = [self.prompts[number] for number in unsettled.tolist()]
        if self.encoded is not None:
            self.encoded = self.encoded[origin]

    def _next(self, tokens: Any) -> Any:
        if self.decoder:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=1)
        return self._forward(tokens)

    def _forward(self, tokens: Any) -> Any:
        """Logits of the last token."""
        inputs: dict[str, Any] = {"attention_mask": self.mask, "past_key_values": self.cache, "use_cache": True}
        if self.decoder:
            inputs["input_ids"] = tokens
            if "position_ids" in self.parameters:
                inputs["position_ids"] = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
            if "logits_to_keep" in self.parameters:
                inputs["logits_to_keep"] = 1
        else:
            inputs["encoder_outputs"] = BaseModelOutput(last_hidden_state=self.encoded)
            inputs["decoder_input_ids"] = tokens
        with self._members():
            return self.model(**inputs, return_dict=True).logits[:, -1]

    @contextmanager
    def _members(self) -> Iterator[None]:
        """Rows with prefixes get them; the others are the fine-tuned model's, where that is held as a difference."""
        layers, pairs = self.prefix or ((), None)
        first = int(self.rows.sum())  # those with prefixes come first
        others = slice(first, None) if self.changed and first < len(self.rows) else None
        with add_prefixes(layers, pairs, self.rows), tune_rows(others):
            yield
