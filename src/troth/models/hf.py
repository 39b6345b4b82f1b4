"""Hugging Face transformers as backends: any cross-encoder for entailment, any decoder as language model.

Weights are float32; batches hold items of similar length, padded on the right and masked. Texts that are too long are
cut as `CrossEncoder` (entailment) and `Request` (language models) say.
"""

from __future__ import annotations

import bisect
import hashlib
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from troth.core.errors import UserError
from troth.models import hub
from troth.models.backends import INT8, Backend
from troth.models.batches import (
    Batch,
    Room,
    batch_by_length,
    compute_batched,
    padded_tensors,
    replace_surrogates,
    tensors,
)
from troth.models.embedded import CrossEncoder, Row, entailments
from troth.models.hub import ModelFiles, load, loading, tokenizing
from troth.models.protocols import Continuation, Entailment, Request, TextPair

if TYPE_CHECKING:
    from troth.models import packed

PACKED = 8192  # tokens read as one row
LOGITS = 2**26  # of a batch at once: a quarter of a gigabyte at most
ROW_LOGITS = 2**28  # of a row in which every token is scored and all logits are made at once: a gigabyte at most
FARTHEST = 1_000_000  # a tokenizer that knows no limit says 1e30
ENTAILMENT, LANGUAGE = 512, 2048  # tokens read, where neither model nor tokenizer says


class _Classifier(NamedTuple):
    tokenizer: Any
    model: Any
    order: list[int]  # columns of entailment, neutral and contradiction
    limit: int  # tokens that it reads


class HfNli(CrossEncoder):
    """A sequence classifier that has the labels of entailment."""

    room = Room(items=32, units=8192)

    def __init__(self, source: ModelFiles) -> None:
        super().__init__()
        self.source = source

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def identity(self) -> str:
        return self.source.identity

    def encode(self, pairs: Sequence[TextPair]) -> dict[TextPair, Row]:
        tokenizer, _, _, limit = self._model
        distinct = list(dict.fromkeys(pairs))
        clean = [(replace_surrogates(premise), replace_surrogates(hypothesis)) for premise, hypothesis in distinct]
        with tokenizing(self.name):
            columns = tokenizer([premise for premise, _ in clean], [hypothesis for _, hypothesis in clean])
        rows = {}
        for index, pair in enumerate(distinct):
            rows[pair] = {name: columns[name][index] for name in columns}
            if len(rows[pair]["input_ids"]) > limit:
                self.shortened.add(pair)
                rows[pair] = _truncate_pair(tokenizer, clean[index], limit)
        return rows

    def classify(self, rows: Sequence[Row]) -> list[Entailment]:
        import torch

        tokenizer, model, order, _ = self._model
        if tokenizer.pad_token_id is None and len(rows) > 1:
            return [answer for row in rows for answer in self.classify([row])]
        with torch.inference_mode():
            logits = model(**tensors(rows, tokenizer.pad_token_id)).logits
        return entailments(logits.float().numpy(), order)

    @cached_property
    def _model(self) -> _Classifier:
        tokenizer, model = load(self.source, "AutoModelForSequenceClassification")
        with loading(self.name):
            tokenizer.truncation_side = "left"
            order = labels(model.config.id2label, self.name)
            return _Classifier(tokenizer, model, order, reach(tokenizer, model.config, ENTAILMENT))


def labels(id2label: dict[int, str], name: str) -> list[int]:
    """The columns of entailment, neutral and contradiction, by the names of the model's labels."""
    order = []
    for start in ("entail", "neutral", "contradict"):
        columns = [int(column) for column, label in id2label.items() if str(label).strip().lower().startswith(start)]
        if len(columns) != 1 or len(id2label) != 3:
            names = ", ".join(str(label) for label in id2label.values())
            hint = "its config.json must name entailment, neutral and contradiction in id2label"
            raise UserError(f"'{name}' is not an entailment model: its labels are {names}", hint=hint)
        order += columns
    return order


def reach(tokenizer: Any, config: Any, otherwise: int) -> int:
    """Number of tokens that a model reads: the minimum of the limits of its tokenizer and its position table."""
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < FARTHEST else []
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # RoBERTa and its relatives count positions from the padding token's number on.
        shifted = "roberta" in config.model_type or config.model_type in ("camembert", "xmod", "mpnet", "longformer")
        limits.append(positions - (config.pad_token_id + 1 if shifted else 0))
    return min(limits, default=otherwise)


def _truncate_pair(tokenizer: Any, pair: TextPair, limit: int) -> Row:
    premise, hypothesis = pair

    def tokens(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    room = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(tokens(premise), limit // 4)
    if tokens(hypothesis) > room:  # as many characters as fit: a cut inside a character would change it
        most = bisect.bisect_right(range(len(hypothesis)), room, key=lambda end: tokens(hypothesis[:end])) - 1
        hypothesis = hypothesis[: max(0, most)]
    row = tokenizer(premise, hypothesis, truncation="only_first", max_length=limit)
    return {name: row[name] for name in row}


class TokenRow(NamedTuple):
    """A request in tokens: what is read, and where the continuation begins."""

    ids: list[int]
    start: int  # where the continuation begins
    tokens: tuple[str, ...]  # of the continuation, as text; more than are in `ids` where it is too long by itself
    dropped: int

    @classmethod
    def build(
        cls,
        context: Sequence[list[int]],
        continuation: list[int],
        texts: tuple[str, ...],
        shorten: int,
        limit: int,
        before: list[int],
        after: list[int],
    ) -> TokenRow:
        """The row of a request in tokens, cut to the limit; `before`, `after`: special tokens around the context."""
        room = limit - len(continuation) - len(before) - len(after)
        cut, dropped = truncate_context(context, room, shorten)
        if 0 <= shorten < len(context) and dropped >= len(context[shorten]) > 0:
            return cls([], 0, texts, dropped)  # nothing remains of the piece: not scored
        start = [*before, *cut, *after]
        return cls(start + continuation[: limit - len(start)], len(start), texts, dropped)

    @property
    def read(self) -> list[int]:
        """What the model has to read: all but the last token, and nothing where no token is scored."""
        return self.ids[:-1] if len(self.ids) > max(self.start, 1) else []

    def answer(self, logprobs: list[float]) -> Continuation:
        unread = len(self.tokens) - (len(self.ids) - self.start)
        unscored = len(self.tokens) - unread - len(logprobs)
        return Continuation(self.tokens, (*[None] * unscored, *logprobs, *[None] * unread), self.dropped)


class _Decoder(NamedTuple):
    tokenizer: Any
    model: Any
    limit: int  # tokens that it reads
    vocabulary: int
    chooses: bool  # whether the model can compute only the logits that are needed
    reader: packed.Reader | None  # how it reads many texts as one row, if it can


class HfLm:
    """A decoder: log-probabilities of continuations, and generation.

    `int8`: log-probabilities of Llamas computed in eight bits, faster and a little off, see `llama`.
    """

    room = Room(items=32, units=4096)

    def __init__(self, source: ModelFiles, *, int8: bool = False) -> None:
        self.source, self.int8 = source, int8

    @property
    def name(self) -> str:
        return self.source.name + ("+int8" if self.int8 else "")

    @property
    def identity(self) -> str:
        return self.source.identity + ("+int8" if self.int8 else "")

    def plan(self, items: Sequence[Request | str]) -> list[Batch]:
        """Requests with a common beginning together, if the model can read them as one row; else by length."""
        requests = [item for item in items if isinstance(item, Request)]
        rows, prompts = self._rows(requests), self._tokens([item for item in items if isinstance(item, str)])
        if self._model.reader is None or prompts:
            ids = [prompts[item][0] if isinstance(item, str) else rows[item].ids for item in items]
            return batch_by_length([len(row) for row in ids], self.room)
        from troth.models import packed

        read = [rows[request].read for request in requests]
        if not any(read):  # nothing to score in any of them
            return [Batch(list(range(len(requests))), 0)]
        return [
            Batch([index for branch in batch for index in branch.indexes], sum(branch.tokens for branch in batch))
            for batch in packed.plan(read, self._units(packed.LEAST))
        ]

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        full = [Request.parse(request) for request in requests]
        rows = self._rows(full)
        if self._model.reader is not None:
            return self._score_packed([rows[request] for request in full], self._model.reader)
        return compute_batched(
            full,
            lambda batch: self._score_batch([rows[request] for request in batch]),
            lambda batch: batch_by_length([len(rows[request].ids) for request in batch], self.room),
        )

    def _score_packed(self, rows: Sequence[TokenRow], reader: packed.Reader) -> list[Continuation]:
        from troth.models import packed

        read, wanted = [row.read for row in rows], [row.ids[max(row.start, 1) :] for row in rows]
        logprobs: dict[int, list[float]] = {}
        for batch in packed.plan(read, self._units(packed.LEAST)) if any(read) else ():
            logprobs.update(packed.logprobs(reader, read, wanted, batch))
        return [row.answer(logprobs.get(index, [])) for index, row in enumerate(rows)]

    def _units(self, least: int) -> int:
        """Tokens of a packed batch, limited by the memory for their logits."""
        return max(least, min(PACKED, ROW_LOGITS // self._model.vocabulary))

    def _rows(self, requests: Sequence[Request]) -> dict[Request, TokenRow]:
        limit = self._model.limit
        tokens = self._tokens([piece for asked in requests for piece in (*asked.context, asked.continuation)])
        rows = {}
        for asked in dict.fromkeys(requests):
            own, parts = tokens[asked.continuation]
            context = [tokens[piece][0] for piece in asked.context]
            rows[asked] = TokenRow.build(
                context, own, parts, asked.shorten, limit, [self._bos] if asked.bos else [], []
            )
        return rows

    def _tokens(self, pieces: Sequence[str]) -> dict[str, tuple[list[int], tuple[str, ...]]]:
        """The tokens of each distinct piece, without special ones, as numbers and as text."""
        tokenizer = self._model.tokenizer
        distinct = list(dict.fromkeys(pieces))
        if not distinct:
            return {}
        clean = [replace_surrogates(piece) for piece in distinct]
        with tokenizing(self.name):
            rows = tokenizer(clean, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast)
        if tokenizer.is_fast:
            parts = [texts(piece, offsets) for piece, offsets in zip(distinct, rows["offset_mapping"], strict=True)]
        else:
            parts = [tuple(tokenizer.decode([token]) for token in ids) for ids in rows["input_ids"]]
        return dict(zip(distinct, zip(rows["input_ids"], parts, strict=True), strict=True))

    @property
    def _bos(self) -> int:
        number = self._model.tokenizer.bos_token_id
        if number is None:
            raise UserError(f"'{self.name}' has no token for the beginning of a text", hint="ask without bos")
        return int(number)

    def _score_batch(self, batch: Sequence[TokenRow]) -> list[Continuation]:
        import torch

        model = self._model.model
        # The logits at a position predict the next token; nothing predicts the first token.
        first = min(max(row.start - 1, 0) for row in batch)
        last = max(max(len(row.ids) - 1, 0) for row in batch)
        if len(batch) > 1 and len(batch) * (last - first) * self._model.vocabulary > LOGITS:
            half = len(batch) // 2
            return self._score_batch(batch[:half]) + self._score_batch(batch[half:])
        if last == first:
            return [row.answer([]) for row in batch]
        ids, mask = padded_tensors([row.ids for row in batch])
        with torch.inference_mode():
            inputs = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
            if self._model.chooses:
                logits = model(**inputs, logits_to_keep=torch.arange(first, last)).logits
            else:
                logits = model(**inputs).logits[:, first:last]
            out = []
            for number, row in enumerate(batch):
                begin = max(row.start, 1)
                own = torch.log_softmax(logits[number, begin - 1 - first : len(row.ids) - 1 - first].float(), dim=-1)
                out.append(row.answer(own.gather(1, ids[number, begin : len(row.ids), None])[:, 0].tolist()))
        return out

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """Continues each prompt. Sampled tokens depend only on seed and prompt, not on the rest of the batch."""
        limit = self._model.limit
        ids = {prompt: tokens or [self._bos] for prompt, (tokens, _) in self._tokens(prompts).items()}
        longest = max(map(len, ids.values()), default=0)
        if longest + max_tokens > limit:
            what = f"a prompt of {longest} tokens and {max_tokens} more are too long for '{self.name}'"
            raise UserError(what, hint=f"it reads {limit} tokens")

        def generate_batch(batch: list[str]) -> list[str]:
            draw = [Gumbel(batch, temperature, seed)] if temperature > 0 else []
            return self._generate_batch([ids[prompt] for prompt in batch], max_tokens, draw)

        return compute_batched(
            prompts,
            generate_batch,
            lambda batch: batch_by_length([len(ids[prompt]) + max_tokens for prompt in batch], self.room),
        )

    def _generate_batch(self, rows: Sequence[list[int]], max_tokens: int, draw: list[Gumbel]) -> list[str]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList

        tokenizer = self._model.tokenizer
        padding = tokenizer.pad_token_id or 0
        ids, mask = padded_tensors(rows, padding, left=True)
        with torch.inference_mode():
            out = self._model.model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=GenerationConfig(max_new_tokens=max_tokens, do_sample=False, pad_token_id=padding),
                logits_processor=LogitsProcessorList(draw),
            )
        return [str(text) for text in tokenizer.batch_decode(out[:, ids.shape[1] :], skip_special_tokens=True)]

    @cached_property
    def _model(self) -> _Decoder:
        tokenizer, model = load(self.source, "AutoModelForCausalLM")
        from troth.models import packed  # which needs torch

        with loading(self.name):
            own = model.generation_config
            own.eos_token_id = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
            # A model may bring penalties and other settings, which would change every text.
            model.generation_config = type(own)(eos_token_id=own.eos_token_id)
            parameters = list(inspect.signature(model.forward).parameters)
            reader = packed.reader(model, parameters, int8=self.int8)
            if self.int8 and reader is None:
                what = f"'{self.source.name}' cannot be read in eight bits"
                raise UserError(what, hint="only Llamas can; leave out +int8")
            config = model.config.get_text_config(decoder=True)
            limit = reach(tokenizer, config, LANGUAGE)
            return _Decoder(tokenizer, model, limit, int(config.vocab_size), "logits_to_keep" in parameters, reader)


def truncate_context(pieces: Sequence[list[int]], room: int, shorten: int) -> tuple[list[int], int]:
    """The pieces concatenated within the room, and how many tokens were dropped for it."""
    over = max(0, sum(map(len, pieces)) - max(0, room))
    fitting = [list(piece) for piece in pieces]
    if over and 0 <= shorten < len(fitting):
        fitting[shorten] = fitting[shorten][: max(0, len(fitting[shorten]) - over)]
    whole = [token for piece in fitting for token in piece]
    return whole[max(0, len(whole) - max(0, room)) :], over


def texts(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Each token's part of the text. Joined, they are the text, whatever a tokenizer leaves out."""
    parts, at = [], 0
    for _, end in offsets[:-1]:
        parts.append(text[at : max(at, end)])  # a character of several tokens belongs to the first of them
        at = max(at, end)
    return (*parts, text[at:]) if offsets else ()


class Gumbel:
    """Sampling as the argmax of noisy scores, with a random generator of its own for each prompt."""

    def __init__(self, prompts: Sequence[str], temperature: float, seed: int) -> None:
        import torch

        self.temperature = temperature
        self.draws = []
        for prompt in prompts:
            digest = hashlib.blake2b(f"{seed}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=7).digest()
            self.draws.append(torch.Generator().manual_seed(int.from_bytes(digest)))

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        import torch

        noise = torch.stack([torch.empty(scores.shape[1]).exponential_(generator=draw).log() for draw in self.draws])
        return scores / self.temperature - noise


def _backend(form: str, about: str, files: Callable[[str], ModelFiles]) -> Backend:
    def lm(name: str, **options: bool) -> HfLm:
        return HfLm(files(name), **options)

    return Backend(form, about, nli=lambda name: HfNli(files(name)), lm=lm, modifiers=INT8, files=files)


REMOTE = "a model of the Hugging Face hub, through transformers; safetensors only, no remote code"
HUB = _backend("hf:ORG/MODEL@REV", REMOTE, hub.on_hub)
FOLDER = _backend("FOLDER", "the same from a folder, such as ./my-model", hub.in_folder)
STRONG = Backend(
    "strong",
    "entailment by a larger model than the embedded one, after troth models fetch strong",
    nli=lambda name: HfNli(hub.embedded_files(name)),
)
