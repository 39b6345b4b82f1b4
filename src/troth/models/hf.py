"""Models of transformers as backends: any cross-encoder for entailment, any decoder as language model.

Weights are float32, batches are of like length, padded on the right and masked. Texts that are too long are cut as the
embedded model does it (entailment) and as `Request` says (language models).
"""

from __future__ import annotations

import bisect
import hashlib
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.models import INT8, Continuation, Pair, Request, Verdict, packed, request
from troth.models.batches import Batch, Cutting, Room, answered, by_length, encodable
from troth.models.embedded import verdicts
from troth.models.hub import Source, load, loading

NLI_ROOM = Room(items=32, units=8192)
LM_ROOM = Room(items=32, units=4096)
PACKED = 8192  # tokens read as one row
LOGITS = 2**26  # of a batch at once, so that they take a quarter of a gigabyte at most
ROW_LOGITS = 2**28  # of a row, where every token of it is scored and all are made at once: a gigabyte at most
FARTHEST = 1_000_000  # a tokenizer that knows no limit says 1e30
ENTAILMENT, LANGUAGE = 512, 2048  # tokens read, where neither model nor tokenizer says


class Encoded(NamedTuple):
    """A pair in tokens, with whatever else its model wants beside them."""

    columns: dict[str, list[int]]
    cut: bool

    @property
    def ids(self) -> list[int]:
        return self.columns["input_ids"]


class HfNli(Cutting[Pair]):
    """A sequence classifier that has the labels of entailment."""

    room = NLI_ROOM

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self._loaded: tuple[Any, Any, list[int], int] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def lengths(self, items: Sequence[Pair]) -> list[int]:
        encoded = self._encoded(items)
        return [len(encoded[pair].ids) for pair in items]

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        encoded = self._encoded(pairs)
        self.shortened.update(pair for pair, one in encoded.items() if one.cut)
        return answered(
            pairs,
            lambda asked: self._verdicts([encoded[pair] for pair in asked]),
            lengths=lambda asked: [len(encoded[pair].ids) for pair in asked],
            room=self.room,
        )

    def _encoded(self, pairs: Sequence[Pair]) -> dict[Pair, Encoded]:
        tokenizer, _, _, limit = self._model()
        distinct = list(dict.fromkeys(pairs))
        clean = [(encodable(premise), encodable(hypothesis)) for premise, hypothesis in distinct]
        found = tokenizer([premise for premise, _ in clean], [hypothesis for _, hypothesis in clean])
        encoded = {}
        for index, pair in enumerate(distinct):
            columns = {name: found[name][index] for name in found}
            cut = len(columns["input_ids"]) > limit
            encoded[pair] = Encoded(_shortened(tokenizer, clean[index], limit) if cut else columns, cut)
        return encoded

    def _verdicts(self, batch: Sequence[Encoded]) -> list[Verdict]:
        import torch

        tokenizer, model, order, _ = self._model()
        if tokenizer.pad_token_id is None and len(batch) > 1:
            return [verdict for one in batch for verdict in self._verdicts([one])]
        width = max(len(one.ids) for one in batch)
        fill = {"input_ids": tokenizer.pad_token_id or 0}  # all else that a tokenizer gives is 0 where nothing stands
        given = {
            name: torch.tensor([one.columns[name] + [fill.get(name, 0)] * (width - len(one.ids)) for one in batch])
            for name in batch[0].columns
        }
        with torch.inference_mode():
            logits = model(**given).logits
        return verdicts(logits.float().numpy(), order)

    def _model(self) -> tuple[Any, Any, list[int], int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModelForSequenceClassification")
            with loading(self.name):
                tokenizer.truncation_side = "left"
                order = labels(model.config.id2label, self.name)
                self._loaded = tokenizer, model, order, reach(tokenizer, model.config, ENTAILMENT)
        return self._loaded


def labels(id2label: dict[int, str], name: str) -> list[int]:
    """In which places a model has entailment, neutral and contradiction, by its own names for them."""
    order = []
    for start in ("entail", "neutral", "contradict"):
        places = [int(place) for place, label in id2label.items() if str(label).strip().lower().startswith(start)]
        if len(places) != 1 or len(id2label) != 3:
            given = ", ".join(str(label) for label in id2label.values())
            hint = "its config.json must name entailment, neutral and contradiction in id2label"
            raise UserError(f"'{name}' is no model of entailment: its labels are {given}", hint=hint)
        order += places
    return order


def reach(tokenizer: Any, config: Any, otherwise: int) -> int:
    """How many tokens a model reads: the least of what its tokenizer and its table of positions say."""
    said = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < FARTHEST else []
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # RoBERTa and its kin count positions from the padding token's number on.
        kin = "roberta" in config.model_type or config.model_type in ("camembert", "xmod", "mpnet", "longformer")
        said.append(positions - (config.pad_token_id + 1 if kin else 0))
    return min(said, default=otherwise)


def _shortened(tokenizer: Any, pair: Pair, limit: int) -> dict[str, list[int]]:
    """The premise without its beginning; the hypothesis whole, unless it would leave next to nothing of the premise."""
    premise, hypothesis = pair

    def tokens(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    room = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(tokens(premise), limit // 4)
    if tokens(hypothesis) > room:  # as many characters as fit: a cut within one would make others of it
        most = bisect.bisect_right(range(len(hypothesis)), room, key=lambda end: tokens(hypothesis[:end])) - 1
        hypothesis = hypothesis[: max(0, most)]
    row = tokenizer(premise, hypothesis, truncation="only_first", max_length=limit)
    return {name: row[name] for name in row}


class Tokens(NamedTuple):
    ids: list[int]
    texts: tuple[str, ...]


class Row(NamedTuple):
    """A request in tokens."""

    ids: list[int]
    start: int  # where the continuation begins
    tokens: tuple[str, ...]  # of the continuation, as text; more than are in `ids` where it is too long by itself
    dropped: int


class HfLm:
    """A decoder: log-probabilities of continuations, and generation.

    `int8`: log-probabilities from whole numbers of eight bits, of Llamas: faster and a little off, see `llama`.
    """

    room = LM_ROOM

    def __init__(self, source: Source, *, int8: bool = False) -> None:
        self.source, self.int8 = source, int8
        self._loaded: tuple[Any, Any, int] | None = None
        self._chooses = False  # whether the model can leave out logits that nobody asks for
        self._reader: packed.Reader | None = None  # how it reads many texts as one row, if it can

    @property
    def name(self) -> str:
        return self.source.name + (INT8 if self.int8 else "")

    def lengths(self, items: Sequence[Request | str]) -> list[int]:
        prompts = self._tokens([item for item in items if isinstance(item, str)])
        rows = self._rows([item for item in items if isinstance(item, Request)])
        return [len(prompts[item].ids if isinstance(item, str) else rows[item].ids) for item in items]

    def plan(self, items: Sequence[Request | str]) -> list[Batch]:
        """Requests that begin alike together, where the model can read them as one; else by length."""
        requests = [item for item in items if isinstance(item, Request)]
        self._model()
        if self._reader is None or len(requests) < len(items):
            return by_length(self.lengths(items), self.room)
        rows = self._rows(requests)
        read = [_read(rows[one]) for one in requests]
        if not any(read):  # nothing to score in any of them
            return [Batch(list(range(len(requests))), 0)]
        batches = packed.plan(read, self._units())
        return [
            Batch([place for piece in batch for place in piece.places], sum(piece.tokens for piece in batch))
            for batch in batches
        ]

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        meant = [request(given) for given in requests]
        rows = self._rows(meant)
        if self._reader is not None:
            return self._packed([rows[one] for one in meant], self._reader)
        return answered(
            meant,
            lambda asked: self._scored([rows[one] for one in asked]),
            lengths=lambda asked: [len(rows[one].ids) for one in asked],
            room=self.room,
        )

    def _packed(self, rows: Sequence[Row], reader: packed.Reader) -> list[Continuation]:
        read, wanted = [_read(row) for row in rows], [row.ids[max(row.start, 1) :] for row in rows]
        found: dict[int, list[float]] = {}
        for batch in packed.plan(read, self._units()) if any(read) else ():
            found.update(packed.logprobs(reader, read, wanted, batch))
        return [_continuation(row, found.get(place, [])) for place, row in enumerate(rows)]

    def _units(self) -> int:
        """Tokens of a batch: no more than there is room for the logits of."""
        return max(packed.LEAST, min(PACKED, ROW_LOGITS // self._vocabulary()))

    def _vocabulary(self) -> int:
        _, model, _ = self._model()
        return int(model.config.get_text_config(decoder=True).vocab_size)

    def _rows(self, requests: Sequence[Request]) -> dict[Request, Row]:
        _, _, limit = self._model()
        found = self._tokens([piece for asked in requests for piece in (*asked.context, asked.continuation)])
        rows = {}
        for asked in dict.fromkeys(requests):
            own = found[asked.continuation]
            context = [found[piece].ids for piece in asked.context]
            before, dropped = fitted(context, limit - len(own.ids) - asked.bos, asked.shorten)
            if 0 <= asked.shorten < len(context) and dropped >= len(context[asked.shorten]) > 0:
                rows[asked] = Row([], 0, own.texts, dropped)  # nothing is left of the piece: not what was asked
                continue
            if asked.bos:
                before = [self._bos(), *before]
            rows[asked] = Row(before + own.ids[: limit - len(before)], len(before), own.texts, dropped)
        return rows

    def _tokens(self, pieces: Sequence[str]) -> dict[str, Tokens]:
        """Each distinct piece in tokens, without special ones."""
        tokenizer, _, _ = self._model()
        distinct = list(dict.fromkeys(pieces))
        if not distinct:
            return {}
        clean = [encodable(piece) for piece in distinct]
        found = tokenizer(clean, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast)
        if tokenizer.is_fast:
            parts = [texts(piece, offsets) for piece, offsets in zip(distinct, found["offset_mapping"], strict=True)]
        else:
            parts = [tuple(tokenizer.decode([token]) for token in ids) for ids in found["input_ids"]]
        return {piece: Tokens(*one) for piece, *one in zip(distinct, found["input_ids"], parts, strict=True)}

    def _bos(self) -> int:
        tokenizer, _, _ = self._model()
        if tokenizer.bos_token_id is None:
            raise UserError(f"'{self.name}' has no token for the beginning of a text", hint="ask without bos")
        return int(tokenizer.bos_token_id)

    def _scored(self, batch: Sequence[Row]) -> list[Continuation]:
        import torch

        _, model, _ = self._model()
        # The token at a place is given by the logits one place before; the first of all by none.
        first = min(max(row.start - 1, 0) for row in batch)
        last = max(max(len(row.ids) - 1, 0) for row in batch)
        if len(batch) > 1 and len(batch) * (last - first) * self._vocabulary() > LOGITS:
            half = len(batch) // 2
            return self._scored(batch[:half]) + self._scored(batch[half:])
        if last == first:
            return [_continuation(row, []) for row in batch]
        width = max(len(row.ids) for row in batch)
        ids = torch.tensor([row.ids + [0] * (width - len(row.ids)) for row in batch])
        mask = torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in batch])
        with torch.inference_mode():
            if self._chooses:
                chosen = torch.arange(first, last)
                logits = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=chosen).logits
            else:
                logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, first:last]
            out = []
            for number, row in enumerate(batch):
                begin = max(row.start, 1)
                own = torch.log_softmax(logits[number, begin - 1 - first : len(row.ids) - 1 - first].float(), dim=-1)
                picked = own.gather(1, ids[number, begin : len(row.ids), None])[:, 0]
                out.append(_continuation(row, picked.tolist()))
        return out

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """Drawn tokens depend on seed and prompt alone, not on what else is in the batch."""
        _, _, limit = self._model()
        ids = {prompt: found.ids or [self._bos()] for prompt, found in self._tokens(prompts).items()}
        longest = max(map(len, ids.values()), default=0)
        if longest + max_tokens > limit:
            what = f"a prompt of {longest} tokens and {max_tokens} more are too long for '{self.name}'"
            raise UserError(what, hint=f"it reads {limit} tokens")
        return answered(
            prompts,
            lambda batch: self._generated(batch, [ids[prompt] for prompt in batch], max_tokens, temperature, seed),
            lengths=lambda batch: [len(ids[prompt]) + max_tokens for prompt in batch],
            room=self.room,
        )

    def _generated(
        self, prompts: Sequence[str], ids: Sequence[list[int]], max_tokens: int, temperature: float, seed: int
    ) -> list[str]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList

        tokenizer, model, _ = self._model()
        width = max(map(len, ids))
        padding = tokenizer.pad_token_id or 0
        config = GenerationConfig(max_new_tokens=max_tokens, do_sample=False, pad_token_id=padding)
        draw = LogitsProcessorList([Gumbel(prompts, temperature, seed)] if temperature > 0 else [])
        with torch.inference_mode():
            made = model.generate(
                input_ids=torch.tensor([[padding] * (width - len(row)) + row for row in ids]),
                attention_mask=torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids]),
                generation_config=config,
                logits_processor=draw,
            )
        return [str(text) for text in tokenizer.batch_decode(made[:, width:], skip_special_tokens=True)]

    def _model(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModelForCausalLM")
            with loading(self.name):
                own = model.generation_config
                own.eos_token_id = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
                # Penalties and the like, which a model may bring along, would go into every text unasked.
                model.generation_config = type(own)(eos_token_id=own.eos_token_id)
                parameters = inspect.signature(model.forward).parameters
                self._chooses = "logits_to_keep" in parameters
                self._reader = self._read_by(model, list(parameters))
                config = model.config.get_text_config(decoder=True)
                self._loaded = tokenizer, model, reach(tokenizer, config, LANGUAGE)
        return self._loaded

    def _read_by(self, model: Any, parameters: list[str]) -> packed.Reader | None:
        found = packed.reader(model, parameters, int8=self.int8)
        if self.int8 and found is None:
            what = f"'{self.source.name}' cannot be read in eight bits"
            raise UserError(what, hint=f"only Llamas can; leave out {INT8}")
        return found


def fitted(pieces: Sequence[list[int]], room: int, shorten: int) -> tuple[list[int], int]:
    """The pieces in a row, within the room; and how many tokens were dropped for it."""
    over = max(0, sum(map(len, pieces)) - max(0, room))
    kept = [list(piece) for piece in pieces]
    if over and 0 <= shorten < len(kept):
        kept[shorten] = kept[shorten][: max(0, len(kept[shorten]) - over)]
    whole = [token for piece in kept for token in piece]
    rest = max(0, len(whole) - max(0, room))
    return whole[rest:], over


def texts(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Each token's part of the text. Joined, they are the text, whatever a tokenizer leaves out."""
    parts, at = [], 0
    for _, end in offsets[:-1]:
        parts.append(text[at : max(at, end)])  # a character of several tokens belongs to the first of them
        at = max(at, end)
    return (*parts, text[at:]) if offsets else ()


def _read(row: Row) -> list[int]:
    """What the model has to read of a row: all but its last token, and nothing where no token is scored."""
    return row.ids[:-1] if len(row.ids) > max(row.start, 1) else []


def _continuation(row: Row, logprobs: list[float]) -> Continuation:
    unread = len(row.tokens) - (len(row.ids) - row.start)
    unscored = len(row.tokens) - unread - len(logprobs)
    return Continuation(row.tokens, (*[None] * unscored, *logprobs, *[None] * unread), row.dropped)


class Gumbel:
    """Sampling as the likeliest of noisy scores, with a generator of its own for each prompt."""

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
