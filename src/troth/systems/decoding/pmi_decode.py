"""PMI-Decode (PMI-Faith, section 4.2): text that its document makes likely, not only language.

Equation 8: the next token v is chosen by

    (1 − α) log P(v | d, h, r) + α (log P(v | d, h, r) − log P(v | h, r)) = log P(v | d, h, r) − α log P(v | h, r)

among the fewest tokens whose probabilities P(v | d, h, r) sum to p. Both contexts always get the same token. With α = 0
and p = 1 nothing changes: plain decoding, token for token. With α = 0 and p < 1 the top-p mask stays, as in the code of
the authors: sampling and beam search choose among the likeliest tokens only, and greedy decoding does not change.

`PmiDecode` is a logits processor for `model.generate` of transformers: greedy, beam search, sampling and beam sampling,
for decoders and encoder-decoders, in batches. It keeps keys and values of the context without the document itself, and
finds out from the tokens which beams continue.

`Paired` does the same in half the time where both contexts can be rows of one batch, since a model reads its weights
once per batch: greedy, beam search and sampling. `decode` chooses. The authors pair rows, too, but need a patched
library for sampling.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList
from transformers.modeling_outputs import BaseModelOutput

from troth.models.batches import padded_tensors
from troth.systems.decoding.settings import Setting

FEW = 64  # tokens looked at first for the top-p set, before all are sorted
LOWEST = -1e4  # bounds log P(v | h, r): a token that is impossible without the document is not infinitely good


def combine(given: Any, alone: Any, *, alpha: float, top_p: float) -> Any:
    """Scores of tokens from log-probabilities with and without the document; minus infinity outside the top-p set."""
    return _mask_top_p(given - alpha * alone.clamp(min=LOWEST), given, top_p)


def nucleus(scores: Any, top_p: float) -> Any:
    """Scores without the document's influence: as they are within the top-p set, minus infinity outside."""
    return scores if top_p >= 1 else _mask_top_p(scores, torch.log_softmax(scores.float(), dim=-1), top_p)


def _mask_top_p(scores: Any, given: Any, top_p: float) -> Any:
    """Minus infinity outside the fewest tokens whose probabilities, of logarithms `given`, sum to `top_p`."""
    if top_p >= 1:
        return scores
    values, tokens = given.topk(min(FEW, given.shape[-1]), dim=-1)
    chances = values.exp()
    sums = chances.cumsum(dim=-1)
    if not bool((sums[:, -1] >= top_p).all()):
        values, tokens = given.sort(dim=-1, descending=True)
        chances = values.exp()
        sums = chances.cumsum(dim=-1)
    inside = sums - chances < top_p  # the first one always is
    kept = scores.gather(-1, tokens).masked_fill(~inside, -torch.inf)
    return torch.full_like(scores, -torch.inf).scatter(-1, tokens, kept)


def _check_options(alpha: float, top_p: float) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be from 0 to 1, not {alpha}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")


class Without:
    """The second context of a generation: the history alone, and the tokens generated so far.

    `logits(seen)` is given what the processor is given: the first context and all tokens since. Rows may have changed
    places since the last call, as beams do; a row's place before is found by its tokens, among the rows of its prompt.
    Rows with the same tokens have the same keys and values, so any of them will do. What cannot be found is computed
    from the beginning.
    """

    def __init__(self, model: Any, input_ids: Any, attention_mask: Any = None) -> None:
        self.model, self.ids = model, input_ids
        self.mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        self.parameters = set(inspect.signature(model.forward).parameters)
        self._first: Any = None  # the prompts of this generation
        self._seen: Any = None  # all tokens at the last call
        self._cache: Any = None
        self._encoded: Any = None

    def logits(self, seen: Any) -> Any:
        with torch.no_grad():
            if not self._is_continued(seen):
                self._first = seen
                logits = self._start(seen)
            else:
                origin = self._origin(seen) if seen.shape[1] == self._seen.shape[1] + 1 else None
                logits = self._again(seen) if origin is None else self._next(seen, origin)
        self._seen = seen
        return logits

    def _is_continued(self, seen: Any) -> bool:
        """Whether this call continues the generation of the last call."""
        first = self._first
        if first is None or len(seen) != len(first) or seen.shape[1] <= first.shape[1]:
            return False
        return bool((seen[:, : first.shape[1]] == first).all())

    def _times(self, seen: Any) -> int:
        times, rest = divmod(len(seen), len(self.ids))
        if rest or not times:
            raise ValueError(f"{len(seen)} rows are generated for {len(self.ids)} contexts without a document")
        return times

    def _origin(self, seen: Any) -> Any:
        """For each row the place that it had at the last call; itself if it can be. None: some row had none."""
        begin = self._first.shape[1]
        times = self._times(seen)
        now = seen[:, begin:-1].reshape(len(self.ids), times, 1, -1)
        then = self._seen[:, begin:].reshape(len(self.ids), 1, times, -1)
        same = (now == then).all(dim=-1)
        if not bool(same.any(dim=-1).all()):
            return None
        own = same.diagonal(dim1=1, dim2=2)
        place = torch.where(own, torch.arange(times, device=seen.device), same.int().argmax(dim=-1))
        return (place + times * torch.arange(len(self.ids), device=seen.device)[:, None]).flatten()

    def _start(self, seen: Any) -> Any:
        """Each context once, whatever the number of beams."""
        times = self._times(seen)
        self._cache, self._encoded = None, None
        logits = self._read(self.ids, self.mask, seen[::times])
        if times > 1:
            self._cache.batch_repeat_interleave(times)
        return logits.repeat_interleave(times, dim=0)

    def _again(self, seen: Any) -> Any:
        times = self._times(seen)
        self._cache, self._encoded = None, None
        ids, mask = (given.repeat_interleave(times, dim=0) for given in (self.ids, self.mask))
        return self._read(ids, mask, seen)

    def _read(self, ids: Any, mask: Any, seen: Any) -> Any:
        """Contexts and what follows them, from the beginning."""
        if self.model.config.is_encoder_decoder:
            self._encoded = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            return self._run(seen, mask)
        since = seen[:, self._first.shape[1] :]
        mask = torch.cat([mask, mask.new_ones(since.shape)], dim=1)
        return self._run(torch.cat([ids, since], dim=1), mask)

    def _next(self, seen: Any, origin: Any) -> Any:
        times = self._times(seen)
        if bool((origin != torch.arange(len(origin), device=origin.device)).any()):
            self._cache.reorder_cache(origin)
        mask = self.mask.repeat_interleave(times, dim=0)
        if self.model.config.is_encoder_decoder:
            if len(self._encoded) < len(seen):
                self._encoded = self._encoded.repeat_interleave(times, dim=0)
        else:
            mask = torch.cat([mask, mask.new_ones(len(mask), seen.shape[1] - self._first.shape[1])], dim=1)
        return self._run(seen[:, -1:], mask)

    def _run(self, tokens: Any, mask: Any) -> Any:
        """Runs the model on tokens that follow the cached ones; returns the logits of the last."""
        given: dict[str, Any] = {"attention_mask": mask, "past_key_values": self._cache, "use_cache": True}
        if self.model.config.is_encoder_decoder:
            given["encoder_outputs"] = BaseModelOutput(last_hidden_state=self._encoded)
            given["decoder_input_ids"] = tokens
        else:
            given["input_ids"] = tokens
            if "position_ids" in self.parameters:
                given["position_ids"] = (mask.long().cumsum(dim=-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
            if "logits_to_keep" in self.parameters:
                given["logits_to_keep"] = 1
        made = self.model(**given, return_dict=True)
        self._cache = made.past_key_values
        return made.logits[:, -1]


class PmiDecode(LogitsProcessor):  # type: ignore[misc]
    """Equation 8 for `model.generate(…, logits_processor=LogitsProcessorList([PmiDecode(…)]))`.

    `input_ids` and `attention_mask` are the contexts without a document, one for each row that `generate` is given, in
    their order; a decoder's are padded on the left, as for `generate` itself. For decoders they end where the prompts
    with a document end: with the same beginning of the answer, if there is one. One such object for each generation.
    """

    def __init__(
        self, model: Any, input_ids: Any, attention_mask: Any = None, *, alpha: float = 0.25, top_p: float = 0.6
    ) -> None:
        _check_options(alpha, top_p)
        self.alpha, self.top_p = alpha, top_p
        self.without = Without(model, input_ids, attention_mask)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self.alpha == 0:
            return nucleus(scores, self.top_p)
        given = torch.log_softmax(scores.float(), dim=-1)
        alone = torch.log_softmax(self.without.logits(input_ids).float(), dim=-1)
        return combine(given, alone, alpha=self.alpha, top_p=self.top_p)


class Paired(LogitsProcessor):  # type: ignore[misc]
    """Applies equation 8 to a batch whose second half repeats the contexts of the first half without documents.

    Both halves get the same scores, so that greedy decoding and beam search choose the same tokens for both. To sample,
    `generate` decodes greedily and the tokens are drawn here, each row's by a generator of its own.
    """

    def __init__(
        self, *, alpha: float = 0.25, top_p: float = 0.6, draws: Sequence[Any] | None = None, temperature: float = 1.0
    ) -> None:
        _check_options(alpha, top_p)
        self.alpha, self.top_p, self.draws, self.temperature = alpha, top_p, draws, temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        given, alone = torch.log_softmax(scores.float(), dim=-1).chunk(2)
        made = combine(given, alone, alpha=self.alpha, top_p=self.top_p)
        if self.draws is not None:
            made = draw_tokens(made / self.temperature, self.draws)
        return torch.cat([made, made])


class Unpaired(LogitsProcessor):  # type: ignore[misc]
    """Decoding with α = 0, which needs no second context: the top-p mask alone.

    To sample, each row has its own generator: its tokens do not depend on the other rows of its batch.
    """

    def __init__(self, *, top_p: float = 1.0, draws: Sequence[Any] | None = None, temperature: float = 1.0) -> None:
        _check_options(0.0, top_p)
        self.top_p, self.draws, self.temperature = top_p, draws, temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        made = nucleus(scores, self.top_p)
        return made if self.draws is None else draw_tokens(made.float() / self.temperature, self.draws)


def draw_tokens(scores: Any, draws: Sequence[Any]) -> Any:
    """Scores that leave one token of each row, drawn by its probability."""
    chances = torch.softmax(scores, dim=-1)
    rows = zip(chances, draws, strict=True)
    tokens = torch.stack([torch.multinomial(row, 1, generator=draw) for row, draw in rows])
    return torch.full_like(scores, -torch.inf).scatter(-1, tokens, 0.0)


class Prompt(NamedTuple):
    """One context in tokens, with its document and without."""

    given: tuple[int, ...]
    alone: tuple[int, ...]


class Ends(StoppingCriteria):  # type: ignore[misc]
    """A row ends with any of these tokens; `ends` says of each token of the vocabulary whether it is one."""

    def __init__(self, ends: Any) -> None:
        self.ends = ends

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002
        return self.ends[input_ids[:, -1]]


def generator(seed: int, prompt: Prompt) -> Any:
    """Randomness of its own for each prompt."""
    digest = hashlib.blake2b(repr((seed, prompt.given)).encode(), digest_size=7).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest))


def decode(
    model: Any, prompts: Sequence[Prompt], setting: Setting, *, padding: int = 0, ends: Any = None, silent: Any = None
) -> list[list[int]]:
    """The tokens of a response to each prompt, up to and with the one that ends it.

    `ends` and `silent` are tensors of booleans over the vocabulary: tokens that end a response, beside the model's own,
    and tokens that none begins with. Beam sampling draws all rows of a batch from one generator, so it takes one prompt
    at a time, lest they move each other's draws.
    """
    if not prompts:
        return []
    if setting.mode == "beam-sample" and len(prompts) > 1:
        return [
            tokens
            for one in prompts
            for tokens in decode(model, [one], setting, padding=padding, ends=ends, silent=silent)
        ]
    paired = setting.alpha > 0 and setting.mode != "beam-sample"
    given, alone = [one.given for one in prompts], [one.alone for one in prompts]
    left = not model.config.is_encoder_decoder
    ids, mask = padded_tensors([*given, *alone] if paired else given, padding, left=left)
    processors: list[Any] = []
    draws = [generator(setting.seed, one) for one in prompts] if setting.mode == "sample" else None
    if paired:
        processors += [Paired(alpha=setting.alpha, top_p=setting.top_p, draws=draws, temperature=setting.temperature)]
    elif setting.alpha > 0:
        processors += [
            PmiDecode(model, *padded_tensors(alone, padding, left=left), alpha=setting.alpha, top_p=setting.top_p)
        ]
    else:
        processors += [Unpaired(top_p=setting.top_p, draws=draws, temperature=setting.temperature)]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator(setting.seed, prompts[0]).initial_seed())
        made = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=_config(setting, padding, model, silent),
            logits_processor=LogitsProcessorList(processors),
            stopping_criteria=StoppingCriteriaList([] if ends is None else [Ends(ends)]),
        )
    begin = ids.shape[1] if left else 1
    own = model.generation_config.eos_token_id
    own = set(own) if isinstance(own, list) else {own}
    return [_cut(row[begin:], own, ends) for row in made[: len(prompts)].tolist()]


def _config(setting: Setting, padding: int, model: Any, silent: Any) -> Any:
    own = model.generation_config
    options: dict[str, Any] = {"max_new_tokens": setting.max_tokens, "pad_token_id": padding, "do_sample": False}
    options["eos_token_id"] = own.eos_token_id
    if model.config.is_encoder_decoder:
        options["decoder_start_token_id"] = own.decoder_start_token_id or model.config.decoder_start_token_id
    if "beam" in setting.mode:
        options["num_beams"] = setting.beams
    if setting.mode == "beam-sample":
        options |= {"do_sample": True, "temperature": setting.temperature, "top_k": 0, "top_p": 1.0}
    if silent is not None:
        options["begin_suppress_tokens"] = silent.nonzero().flatten().tolist()
    return GenerationConfig(**options)


def _cut(tokens: Sequence[int], own: set[int], ends: Any) -> list[int]:
    """Up to the first token that ends a response: rows of a batch go on, or are padded, until the last one ends."""
    for number, token in enumerate(tokens):
        if token in own or (ends is not None and bool(ends[token])):
            return list(tokens[: number + 1])
    return list(tokens)
