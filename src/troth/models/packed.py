"""Many texts in one row: what they have in common at their beginning is computed once, and nothing is padded.

To score many continuations, a model would read the same document again for each response to it. Here the token
sequences of a batch form a forest: sequences that begin alike share the keys and values of that beginning, to the last
token that they share. The forest is laid out in one row, each token at its own depth, and attention is cut into blocks:
a token sees what stands before it on its own path, and nothing else. Numbers are those of each sequence alone, up to
rounding (1e-5). Logits are computed only where a token is scored.

transformers lets anyone register an attention function, and this is one, so no model has to be changed for it. Llamas
are read by functions of their own, see `llama`. Whether a model gives the same numbers is tested when it is loaded, on
two short sequences; where it does not (positions that are not numbers, windowed attention), batches are padded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Any, NamedTuple

import torch

from troth.models.batches import common_length
from troth.models.llama import LlamaRows

NAME = "troth_packed"  # of the attention function in transformers' registry
LEAST = 16  # tokens that sequences must share to be worth joining
QUERIES = 128  # tokens of a block that has a mask, about; more tokens waste more of the mask
ROWS = 16  # positions whose logits are normalised at a time, so that they stay in the processor's cache
CLOSE = 1e-3  # on logits, when the model is tested

Tokens = list[int]


class Block(NamedTuple):
    """Queries from `start` to `end`, and what they see: themselves, or with a mask the positions `keys`."""

    start: int
    end: int
    keys: Any  # None: the queries' own positions, each seeing all before it
    mask: Any  # what is added to the scores


_BLOCKS: ContextVar[tuple[Block, ...]] = ContextVar("blocks")


class Branch(NamedTuple):
    """Sequences in lexicographic order, each sharing a beginning with the one before it."""

    indexes: tuple[int, ...]
    shared: tuple[int, ...]  # how many tokens; 0 for the first
    tokens: int  # to be computed


def plan(sequences: Sequence[Tokens], room: int) -> list[list[Branch]]:
    """The sequences in batches of about `room` tokens, the longest branches first.

    A branch is not divided unless it alone is too large; then each part repeats the common beginning, and is large
    enough that this is less than half of the work.
    """
    batches: list[list[Branch]] = []
    held = 0
    for branch in sorted(_branches(sequences, room), key=lambda branch: -branch.tokens):
        if not batches or held + branch.tokens > room:
            batches.append([])
            held = 0
        batches[-1].append(branch)
        held += branch.tokens
    return batches


def _branches(sequences: Sequence[Tokens], room: int) -> Iterator[Branch]:
    indexes: list[int] = []
    shared: list[int] = []
    tokens = 0
    for index in sorted(range(len(sequences)), key=lambda index: sequences[index]):
        own = sequences[index]
        common = common_length(sequences[indexes[-1]], own) if indexes else 0
        full = bool(indexes) and tokens + len(own) - common > max(room, 2 * len(sequences[indexes[0]]))
        if indexes and (common < LEAST or full):
            yield Branch(tuple(indexes), tuple(shared), tokens)
            indexes, shared, tokens, common = [], [], 0, 0
        indexes.append(index)
        shared.append(common)
        tokens += len(own) - common
    if indexes:
        yield Branch(tuple(indexes), tuple(shared), tokens)


class PackedRow(NamedTuple):
    """A batch as one row: its tokens, how deep each is, and for each sequence where its tokens are."""

    ids: list[int]
    depths: list[int]
    paths: dict[int, list[int]]
    blocks: list[Block]


def layout(sequences: Sequence[Tokens], batch: Sequence[Branch]) -> PackedRow:
    """Lays out the branches of a batch one after the other."""
    row = PackedRow([], [], {}, [])
    for branch in batch:
        first = len(row.ids)
        rest: list[tuple[int, list[int]]] = []  # where a sequence's own tokens begin, and what they also see
        path: list[int] = []
        for index, shared in zip(branch.indexes, branch.shared, strict=True):
            own = sequences[index][shared:]
            start = len(row.ids)
            row.ids.extend(own)
            row.depths.extend(range(shared, shared + len(own)))
            path = path[:shared] + list(range(start, start + len(own)))
            row.paths[index] = path
            if start == first and own:
                row.blocks.append(Block(first, len(row.ids), None, None))
            elif own:
                rest.append((start, path[:shared]))
        row.blocks.extend(_mask_scores(rest, len(row.ids)))
    return row


def _mask_scores(rest: Sequence[tuple[int, list[int]]], end: int) -> Iterator[Block]:
    """Blocks of the sequences after the first, some at a time, with what they share with any before them."""
    ends = [start for start, _ in rest[1:]] + [end]
    number = 0
    while number < len(rest):
        start = rest[number][0]
        last = number + 1
        while last < len(rest) and ends[last] - start <= QUERIES:
            last += 1
        stop = ends[last - 1]
        shared = sorted({index for _, seen in rest[number:last] for index in seen if index < start})
        column = {index: at for at, index in enumerate([*shared, *range(start, stop)])}
        mask = torch.full((stop - start, len(column)), -torch.inf)
        for (begin, seen), until in zip(rest[number:last], ends[number:last], strict=True):
            mask[begin - start : until - start, [column[index] for index in seen]] = 0.0
            own = torch.full((until - begin, until - begin), -torch.inf).triu_(1)
            mask[begin - start : until - start, column[begin] : column[begin] + until - begin] = own
        yield Block(start, stop, torch.tensor(list(column)), mask)
        number = last


Reader = Callable[
    [PackedRow, Sequence[int]], Iterator[Any]
]  # a row, and positions in it, to the logits there, in parts


def attend_blocks(query: Any, key: Any, value: Any, blocks: Sequence[Block], scale: float | None = None) -> Any:
    """Attention within blocks: (batch, heads, tokens, size) to (batch, tokens, heads, size)."""
    shared = query.shape[1] != key.shape[1]
    out = torch.empty_like(query.transpose(1, 2), memory_format=torch.contiguous_format)
    for block in blocks:
        own = slice(block.start, block.end)
        keys, values = (
            states[:, :, own] if block.keys is None else states.index_select(2, block.keys) for states in (key, value)
        )
        options = {"attn_mask": block.mask, "is_causal": block.mask is None, "scale": scale, "enable_gqa": shared}
        mixed = torch.nn.functional.scaled_dot_product_attention(query[:, :, own], keys, values, **options)
        out[:, own] = mixed.transpose(1, 2)
    return out


def attention(
    _: Any, query: Any, key: Any, value: Any, _mask: Any, *, scaling: float | None = None, **_options: Any
) -> tuple[Any, None]:
    """`attend_blocks` with the signature that transformers expects."""
    return attend_blocks(query, key, value, _BLOCKS.get(), scaling), None


def by_modules(model: Any) -> Reader:
    """A reader for any model: its own modules with our attention."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attention)

    def read(row: PackedRow, indexes: Sequence[int]) -> Iterator[Any]:
        ids, depths, wanted = (torch.tensor(values) for values in ([row.ids], [row.depths], indexes))
        before, token = model.config._attn_implementation, _BLOCKS.set(tuple(row.blocks))
        model.set_attn_implementation(NAME)
        try:
            out = model(input_ids=ids, position_ids=depths, use_cache=False, logits_to_keep=wanted)
        finally:
            model.set_attn_implementation(before)
            _BLOCKS.reset(token)
        yield out.logits[0]

    return read


def by_rows(model: Any, *, int8: bool = False) -> Reader:
    """A reader for Llamas: functions that do less."""
    rows = LlamaRows(model, int8=int8)

    def read(row: PackedRow, indexes: Sequence[int]) -> Iterator[Any]:
        def attend(query: Any, key: Any, value: Any) -> Any:
            return attend_blocks(query[None], key[None], value[None], row.blocks)[0].flatten(1)

        return rows.logits(torch.tensor(row.ids), torch.tensor(row.depths), torch.tensor(indexes), attend)

    return read


def logprobs(
    read: Reader, sequences: Sequence[Tokens], targets: Sequence[Tokens], batch: Sequence[Branch]
) -> dict[int, list[float]]:
    """The log-probabilities of the last tokens of each sequence of the batch; the last target follows its sequence."""
    packed = layout(sequences, batch)
    asked = {index: path[len(path) - len(targets[index]) :] for index, path in packed.paths.items()}
    nodes = sorted({node for path in asked.values() for node in path})
    if not nodes:
        return {index: [] for index in asked}
    number = {node: index for index, node in enumerate(nodes)}
    with torch.inference_mode():
        rows = torch.tensor([number[node] for path in asked.values() for node in path])
        wanted = torch.tensor([token for index in asked for token in targets[index]])
        values = iter(_pick(read(packed, nodes), rows, wanted).tolist())
    return {index: list(islice(values, len(targets[index]))) for index in asked}


def _pick(logits: Iterator[Any], rows: Any, wanted: Any) -> Any:
    """Log-probabilities of tokens; a row of logits may be asked for several."""
    picked = torch.empty(len(rows))
    at = 0
    for part in logits:
        mine = ((rows >= at) & (rows < at + len(part))).nonzero()[:, 0]
        own = rows[mine] - at
        totals = torch.cat([torch.logsumexp(rows.float(), dim=-1) for rows in part.split(ROWS)])
        picked[mine] = part[own, wanted[mine]].float() - totals[own]
        at += len(part)
    return picked


def reader(model: Any, parameters: Sequence[str], *, int8: bool = False) -> Reader | None:
    """The fastest reader that gives this model's numbers; None where there is none.

    In eight bits the numbers differ, but those of the same functions without the rounding must not.
    """
    config = model.config.get_text_config(decoder=True)
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    windowed = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    if kinds != {"full_attention"} or windowed or not {"position_ids", "logits_to_keep"} <= set(parameters):
        return None
    if not getattr(model, "_supports_attention_backend", False):
        return None
    ways = [by_rows(model)] if LlamaRows.fits(model) else []
    if int8:
        agrees = bool(ways) and _agrees(model, ways[0], int(config.vocab_size))
        return by_rows(model, int8=True) if agrees else None
    return next((read for read in [*ways, by_modules(model)] if _agrees(model, read, int(config.vocab_size))), None)


def _agrees(model: Any, read: Reader, vocabulary: int) -> bool:
    """Whether a reader gives the model's numbers for two sequences that share a beginning."""
    common = [(7 * number + 3) % vocabulary for number in range(LEAST + 4)]
    texts = [[*common, *[(11 * number + first) % vocabulary for number in range(5)]] for first in (1, 2)]
    inputs, targets = [text[:-1] for text in texts], [text[-5:] for text in texts]
    unpacked = []
    with torch.inference_mode():
        for text in texts:
            logits = torch.log_softmax(model(input_ids=torch.tensor([text])).logits[0].float(), dim=-1)
            unpacked.append([float(logits[len(text) - 6 + number, text[-5 + number]]) for number in range(5)])
    (batch,) = plan(inputs, 10 * LEAST)
    try:
        values = logprobs(read, inputs, targets, batch)
    except (AttributeError, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False  # a model that cannot be read this way may fail anywhere
    return all(abs(a - b) < CLOSE for index in (0, 1) for a, b in zip(values[index], unpacked[index], strict=True))
