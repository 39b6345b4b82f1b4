"""Backends with a cache: the same protocol, and nothing is computed twice.

Answers are stored batch by batch, each batch committed before the next is computed; floats are stored exactly, so that
an answer from the cache equals the computed one. Keys contain the backend's identity (its name with model and revision,
and a digest of its files if the name has none), the options of the call, and the text. An answer without a valid
log-probability is not stored: the server may be repaired.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from troth.core.progress import bar
from troth.models.batches import Batch, Cutting, Planning, Room, batch_by_length, compute_batched, group_indexes
from troth.models.protocols import Continuation, Entailment, Lm, Nli, Request, TextPair, WordedEntailment, takes_grammar
from troth.storage.cache import Store, key

K = TypeVar("K", TextPair, Request, str)

ROOM = Room(items=16, units=32_000)  # in characters, for a backend that does not plan its batches
_ENTAILMENT = struct.Struct("<3d?")  # the probabilities, and whether text was cut
_CONTINUATION = msgspec.msgpack.Decoder(tuple[list[bytes], tuple[float | None, ...], int])


def compute_cached(
    store: Store,
    model: str,
    keys: Mapping[K, bytes],
    compute: Callable[[list[K]], Sequence[bytes]],
    plan: Callable[[Sequence[K]], list[Batch]],
    *,
    keep: Callable[[bytes], bool] = lambda _: True,
) -> dict[K, bytes]:
    """The value of each item. Values that the cache lacks are computed in the batches of `plan`, and stored by batch.

    Values that `keep` rejects are not stored, and computed again by the next process.
    """
    values = store.get(list(keys.values()))
    missing = [item for item, digest in keys.items() if digest not in values]

    def compute_batch(items: list[K]) -> list[None]:
        values.update(store.get([keys[item] for item in items]))  # another process may have stored some since
        rest = [item for item in items if keys[item] not in values]
        if rest:
            rows = list(zip([keys[item] for item in rest], compute(rest), strict=True))
            store.put(model, [(digest, value) for digest, value in rows if keep(value)])
            values.update(rows)
        return [None] * len(items)

    if missing:
        with bar(model) as progress:
            compute_batched(missing, compute_batch, plan, progress)
    return {item: values[digest] for item, digest in keys.items()}


def compute_cached_pairs(
    store: Store,
    model: str,
    pairs: Sequence[TextPair],
    compute: Callable[[list[TextPair]], Sequence[bytes]],
    *,
    key_parts: tuple[str, ...],
    chunk: int,
    order: Callable[[TextPair], Any] = lambda pair: pair[0],
) -> list[bytes]:
    """The value of each pair, from the cache or computed `chunk` pairs at a time.

    `key_parts` is everything except the pair that a value depends on. Pairs of equal `order` are computed one after the
    other: by default those of one document.
    """

    def plan(missing: Sequence[TextPair]) -> list[Batch]:
        indexes = [index for group in group_indexes(map(order, missing)) for index in group]
        chunks = [indexes[start : start + chunk] for start in range(0, len(indexes), chunk)]
        return [Batch(part, sum(len(text) for index in part for text in missing[index])) for part in chunks]

    values = compute_cached(store, model, {pair: key(*key_parts, *pair) for pair in pairs}, compute, plan)
    return [values[pair] for pair in pairs]


class CachedNli(Cutting[TextPair]):
    def __init__(self, inner: Nli, store: Store) -> None:
        super().__init__()
        self.inner, self.store = inner, store

    @property
    def name(self) -> str:
        return self.inner.name

    def forget(self) -> None:
        super().forget()
        if isinstance(self.inner, Cutting):
            self.inner.forget()

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        def compute(batch: list[TextPair]) -> list[bytes]:
            answers = self.inner.probabilities(batch)
            cut = self.inner.shortened
            return [_pack_entailment(answer, pair in cut) for pair, answer in zip(batch, answers, strict=True)]

        name, identity = self.name, _identity(self.inner)
        keys = {pair: key("nli", identity, *pair) for pair in pairs}
        answers = {}
        for pair, value in compute_cached(self.store, name, keys, compute, _plan(self.inner)).items():
            answers[pair], cut = _unpack_entailment(value)
            if cut:
                self.shortened.add(pair)
        return [answers[pair] for pair in pairs]


class CachedLm:
    def __init__(self, inner: Lm, store: Store) -> None:
        self.inner, self.store = inner, store

    @property
    def name(self) -> str:
        return self.inner.name

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        identity, full = _identity(self.inner), [Request.parse(request) for request in requests]

        def digest(request: Request) -> bytes:
            options = f"bos={request.bos} shorten={request.shorten}"
            return key("logprobs", identity, options, request.continuation, *request.context)

        def compute(batch: list[Request]) -> list[bytes]:
            return [_pack(answer) for answer in self.inner.logprobs(batch)]

        keys = {request: digest(request) for request in full}
        values = compute_cached(self.store, self.name, keys, compute, _plan(self.inner), keep=_is_valid)
        answers = {request: _unpack(value) for request, value in values.items()}
        return [answers[request] for request in full]

    @property
    def takes_grammar(self) -> bool:
        return takes_grammar(self.inner)

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0, **grammar: str
    ) -> list[str]:
        # Without a temperature nothing is random, and the seed does not matter.
        options = f"max={max_tokens} temperature={temperature!r} seed={seed if temperature else None}"
        options += "".join(f" {name}={text}" for name, text in grammar.items())

        def compute(batch: list[str]) -> list[bytes]:
            texts = self.inner.generate(batch, max_tokens=max_tokens, temperature=temperature, seed=seed, **grammar)
            return [text.encode("utf-8", "surrogatepass") for text in texts]

        keys = {prompt: key("generate", _identity(self.inner), options, prompt) for prompt in prompts}
        values = compute_cached(self.store, self.name, keys, compute, _plan(self.inner))
        return [values[prompt].decode("utf-8", "surrogatepass") for prompt in prompts]


def _identity(inner: Nli | Lm) -> str:
    """What a backend's answers depend on: its `identity` if it has one, else its name."""
    return str(getattr(inner, "identity", None) or inner.name)


def _plan(inner: Nli | Lm) -> Callable[[Sequence[Any]], list[Batch]]:
    """How items are put into batches: by the backend's own plan, or by length in characters."""
    if isinstance(inner, Planning):
        return inner.plan
    return lambda items: batch_by_length([_characters(item) for item in items], ROOM)


def _pack_entailment(answer: Entailment, cut: bool) -> bytes:
    """The probabilities, whether text was cut, and what is known of the words."""
    return _ENTAILMENT.pack(*answer, cut) + (answer.doubts if isinstance(answer, WordedEntailment) else b"")


def _unpack_entailment(value: bytes) -> tuple[Entailment, bool]:
    *probabilities, cut = _ENTAILMENT.unpack_from(value)
    if doubts := value[_ENTAILMENT.size :]:
        return WordedEntailment.of(probabilities, doubts), cut
    return Entailment(*probabilities), cut


def _pack(answer: Continuation) -> bytes:
    """Texts are stored as bytes: they may contain half a surrogate pair, which MessagePack strings cannot."""
    tokens = [token.encode("utf-8", "surrogatepass") for token in answer.tokens]
    return msgspec.msgpack.encode((tokens, answer.logprobs, answer.dropped))


def _unpack(value: bytes) -> Continuation:
    tokens, logprobs, dropped = _CONTINUATION.decode(value)
    return Continuation(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), logprobs, dropped)


def _is_valid(value: bytes) -> bool:
    return not any(number is not None and math.isnan(number) for number in _CONTINUATION.decode(value)[1])


def _characters(item: TextPair | Request | str) -> int:
    if isinstance(item, str):
        return len(item)
    texts = (*item.context, item.continuation) if isinstance(item, Request) else item
    return sum(map(len, texts)) + 1
