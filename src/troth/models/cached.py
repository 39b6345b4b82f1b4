"""Any backend with a store of its answers around it: the same protocol, and nothing is computed twice.

Answers are kept batch by batch, each committed before the next is computed; floats are kept as they are, so what
comes from the cache equals what was computed. Keys hold the backend's name, which holds model and revision, the options
of the call, and the text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from troth.core.progress import bar
from troth.models import Continuation, Lm, Nli, Pair, Request, Verdict, request
from troth.models.batches import Cutting, Measured, Planning, Room, answered
from troth.storage.cache import Store, key

K = TypeVar("K", Pair, Request, str)
V = TypeVar("V")

ROOM = Room(items=16, units=32_000)  # what is computed at a time by a backend that does not say; in characters
_VERDICT = struct.Struct("<3d?")  # the probabilities, and whether text was cut
_CONTINUATION = msgspec.msgpack.Decoder(tuple[list[bytes], tuple[float | None, ...], int])


class CachedNli(Cutting[Pair]):
    """An entailment model with a store around it."""

    def __init__(self, inner: Nli, store: Store) -> None:
        super().__init__()
        self.inner, self.store = inner, store

    @property
    def name(self) -> str:
        return self.inner.name

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        name = self.name

        def compute(asked: list[Pair]) -> list[bytes]:
            verdicts = self.inner.probabilities(asked)
            cut = self.inner.shortened
            return [_VERDICT.pack(*verdict, pair in cut) for pair, verdict in zip(asked, verdicts, strict=True)]

        kept = _kept(self.store, self.inner, pairs, lambda pair: key("nli", name, *pair), compute, _characters)
        verdicts = {}
        for pair, value in kept.items():
            *probabilities, cut = _VERDICT.unpack(value)
            verdicts[pair] = Verdict(*probabilities)
            if cut:
                self.shortened.add(pair)
        return [verdicts[pair] for pair in pairs]


class CachedLm:
    """A language model with a store around it."""

    def __init__(self, inner: Lm, store: Store) -> None:
        self.inner, self.store = inner, store

    @property
    def name(self) -> str:
        return self.inner.name

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        name, meant = self.name, [request(given) for given in requests]

        def named(asked: Request) -> bytes:
            options = f"bos={asked.bos} shorten={asked.shorten}"
            return key("logprobs", name, options, asked.continuation, *asked.context)

        def compute(asked: list[Request]) -> list[bytes]:
            return [_packed(answer) for answer in self.inner.logprobs(asked)]

        kept = _kept(self.store, self.inner, meant, named, compute, _length)
        answers = {asked: _unpacked(value) for asked, value in kept.items()}
        return [answers[asked] for asked in meant]

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        name = self.name
        # Without a temperature nothing is drawn, and the seed moves nothing.
        options = f"max={max_tokens} temperature={temperature!r} seed={seed if temperature else None}"

        def compute(asked: list[str]) -> list[bytes]:
            made = self.inner.generate(asked, max_tokens=max_tokens, temperature=temperature, seed=seed)
            return [text.encode("utf-8", "surrogatepass") for text in made]

        def named(prompt: str) -> bytes:
            return key("generate", name, options, prompt)

        kept = _kept(self.store, self.inner, prompts, named, compute, len)
        return [kept[prompt].decode("utf-8", "surrogatepass") for prompt in prompts]


def _kept(
    store: Store,
    inner: Nli | Lm,
    items: Sequence[K],
    named: Callable[[K], bytes],
    compute: Callable[[list[K]], list[bytes]],
    length: Callable[[K], int],
) -> dict[K, bytes]:
    """The answer for each item as the store has it, computed and stored first where it has none."""
    keys = {item: named(item) for item in items}
    found = store.get(list(keys.values()))
    missing = [item for item, digest in keys.items() if digest not in found]

    def batch(asked: list[K]) -> list[None]:
        # Another process may have been here since.
        found.update(store.get([keys[item] for item in asked]))
        rest = [item for item in asked if keys[item] not in found]
        if rest:
            rows = list(zip([keys[item] for item in rest], compute(rest), strict=True))
            store.put(inner.name, rows)
            found.update(rows)
        return [None] * len(asked)

    if missing:
        room = inner.room if isinstance(inner, Measured) else ROOM
        lengths = inner.lengths if isinstance(inner, Measured) else lambda items: [length(item) for item in items]
        plan = inner.plan if isinstance(inner, Planning) else None
        with bar(inner.name) as progress:
            answered(missing, batch, lengths=lengths, room=room, plan=plan, progress=progress)
    return {item: found[digest] for item, digest in keys.items()}


def _packed(answer: Continuation) -> bytes:
    """Texts as bytes: they may hold half a surrogate pair, which MessagePack's own do not."""
    tokens = [token.encode("utf-8", "surrogatepass") for token in answer.tokens]
    return msgspec.msgpack.encode((tokens, answer.logprobs, answer.dropped))


def _unpacked(value: bytes) -> Continuation:
    tokens, logprobs, dropped = _CONTINUATION.decode(value)
    return Continuation(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), logprobs, dropped)


def _characters(pair: Pair) -> int:
    return len(pair[0]) + len(pair[1]) + 1


def _length(asked: Request) -> int:
    return sum(map(len, asked.context)) + len(asked.continuation) + 1
