"""Any backend with a store of its answers around it: the same protocol, and nothing is computed twice.

Answers are stored batch by batch, each batch committed before the next is computed; floats are stored exactly, so an
answer from the cache equals the computed one. Keys hold the backend's identity (its name with model and revision, and
a digest of its files where the name has none), the options of the call, and the text. An answer without a valid
log-probability is not stored: a server may be repaired.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from troth.models.batches import Batch, Cutting, Planning, Room, by_length
from troth.models.protocols import Continuation, Entailment, Lm, Nli, Request, TextPair
from troth.models.remembered import stored
from troth.storage.cache import Store, key

ROOM = Room(items=16, units=32_000)  # of a backend that does not say what a batch has room for; in characters
_ENTAILMENT = struct.Struct("<3d?")  # the probabilities, and whether text was cut
_CONTINUATION = msgspec.msgpack.Decoder(tuple[list[bytes], tuple[float | None, ...], int])


class CachedNli(Cutting[TextPair]):
    """An entailment model with a store around it."""

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
        def compute(asked: list[TextPair]) -> list[bytes]:
            answers = self.inner.probabilities(asked)
            cut = self.inner.shortened
            return [_ENTAILMENT.pack(*answer, pair in cut) for pair, answer in zip(asked, answers, strict=True)]

        name, identity = self.name, _identity(self.inner)
        keys = {pair: key("nli", identity, *pair) for pair in pairs}
        answers = {}
        for pair, value in stored(self.store, name, keys, compute, _plan(self.inner)).items():
            *probabilities, cut = _ENTAILMENT.unpack(value)
            answers[pair] = Entailment(*probabilities)
            if cut:
                self.shortened.add(pair)
        return [answers[pair] for pair in pairs]


class CachedLm:
    """A language model with a store around it."""

    def __init__(self, inner: Lm, store: Store) -> None:
        self.inner, self.store = inner, store

    @property
    def name(self) -> str:
        return self.inner.name

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        identity, whole = _identity(self.inner), [Request.of(one) for one in requests]

        def named(asked: Request) -> bytes:
            options = f"bos={asked.bos} shorten={asked.shorten}"
            return key("logprobs", identity, options, asked.continuation, *asked.context)

        def compute(asked: list[Request]) -> list[bytes]:
            return [_packed(answer) for answer in self.inner.logprobs(asked)]

        keys = {asked: named(asked) for asked in whole}
        values = stored(self.store, self.name, keys, compute, _plan(self.inner), keep=_valid)
        answers = {asked: _unpacked(value) for asked, value in values.items()}
        return [answers[asked] for asked in whole]

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        # Without a temperature nothing is drawn, and the seed changes nothing.
        options = f"max={max_tokens} temperature={temperature!r} seed={seed if temperature else None}"

        def compute(asked: list[str]) -> list[bytes]:
            texts = self.inner.generate(asked, max_tokens=max_tokens, temperature=temperature, seed=seed)
            return [text.encode("utf-8", "surrogatepass") for text in texts]

        keys = {prompt: key("generate", _identity(self.inner), options, prompt) for prompt in prompts}
        values = stored(self.store, self.name, keys, compute, _plan(self.inner))
        return [values[prompt].decode("utf-8", "surrogatepass") for prompt in prompts]


def _identity(inner: Nli | Lm) -> str:
    """What a backend's answers depend on: its identity, where it has one beside its name."""
    return str(getattr(inner, "identity", None) or inner.name)


def _plan(inner: Nli | Lm) -> Callable[[Sequence[Any]], list[Batch]]:
    """How a backend puts items into batches: as it says itself, or by their length in characters."""
    if isinstance(inner, Planning):
        return inner.plan
    return lambda items: by_length([_characters(item) for item in items], ROOM)


def _packed(answer: Continuation) -> bytes:
    """Texts go in as bytes: they may hold half a surrogate pair, which MessagePack's strings cannot."""
    tokens = [token.encode("utf-8", "surrogatepass") for token in answer.tokens]
    return msgspec.msgpack.encode((tokens, answer.logprobs, answer.dropped))


def _unpacked(value: bytes) -> Continuation:
    tokens, logprobs, dropped = _CONTINUATION.decode(value)
    return Continuation(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), logprobs, dropped)


def _valid(value: bytes) -> bool:
    return not any(one is not None and math.isnan(one) for one in _CONTINUATION.decode(value)[1])


def _characters(item: TextPair | Request | str) -> int:
    if isinstance(item, str):
        return len(item)
    texts = (*item.context, item.continuation) if isinstance(item, Request) else item
    return sum(map(len, texts)) + 1
