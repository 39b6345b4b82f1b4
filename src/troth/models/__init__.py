"""Models behind the metrics: two small protocols, batched and named.

A backend is named with everything that moves its answers (model, revision, limits); the name is part of every cache key
and every signature. `nli` and `lm` open one by the name that a user gives, with the cache around it. Nothing heavy is
loaded before the first question that the cache cannot answer.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple, Protocol

from troth.core.errors import UserError
from troth.storage.cache import USUAL as USUAL

INT8 = "+int8"  # after the name of a language model: faster and a little off

KINDS = {  # what a name may look like, for `troth ls`
    "embedded": "the default: troth-nli for entailment, smollm2-135m-instruct as language model; works offline",
    "hf:ORG/MODEL@REV": "a model of the Hugging Face hub, through transformers; safetensors only, no remote code",
    "FOLDER": "the same from a folder, such as ./my-model",
    "NAME+int8": "Llamas as language models, by any name above: in eight bits, faster and a little off",
    "http://HOST/v1#MODEL": "language models only: an OpenAI-compatible server that gives prompt log-probabilities",
    "fake": "no model at all: overlap of words, for trying things out and for tests",
}

Pair = tuple[str, str]  # premise, hypothesis


class Verdict(NamedTuple):
    """What an entailment model says of one pair: probabilities that sum to one."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def entailed(self) -> bool:
        """Entailment is the most probable class; a tie is not."""
        return self.entailment > self.neutral and self.entailment > self.contradiction


class Nli(Protocol):
    """Premise and hypothesis to probabilities, in the order of the pairs; results do not depend on the batch."""

    @property
    def name(self) -> str: ...

    @property
    def shortened(self) -> Set[Pair]:
        """Pairs answered so far that were longer than the model reads, and lost text."""
        ...

    @property
    def cut(self) -> int:
        """How many those are."""
        ...

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]: ...


class Request(NamedTuple):
    """A continuation to be scored, and what stands before it.

    The pieces of the context and the continuation are tokenised apart, each without special tokens, and put one after
    the other. Without a context there is nothing that the first token could be given, so it has no score; `bos` puts
    the model's token for the beginning of a text before everything, and then it has one. If all is longer than the
    model reads, the piece number `shorten` loses its end first (a document, where it comes first); where nothing would
    be left of it, nothing is scored. If it is no piece's number, the context loses its beginning.
    """

    context: tuple[str, ...]
    continuation: str
    bos: bool = False
    shorten: int = 0


class Continuation(NamedTuple):
    """A continuation's tokens as text, and the log-probability (natural) of each given all before it.

    The texts put together are the continuation. A token's log-probability is None where it has none: the first one of
    a text without a context, and what is beyond the model's reach.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    dropped: int = 0  # tokens of the context that the model did not get to see


class Lm(Protocol):
    """Context and continuation to log-probabilities, and generation. (context, continuation) is short for a Request."""

    @property
    def name(self) -> str: ...

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]: ...

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """What follows each prompt: the likeliest token each time, or one drawn by `seed` at a temperature above 0."""
        ...


def request(given: Request | tuple[str, str]) -> Request:
    """The request that is meant; an empty context is none."""
    if isinstance(given, Request):
        return given
    context, continuation = given
    return Request((context,) if context else (), continuation)


def nli(name: str = "embedded", *, cache: str | None = USUAL) -> Nli:
    """The entailment model of that name; `cache` is a file of answers, or None to keep none beyond this process."""
    if name == "fake":
        from troth.models.fake import FakeNli

        return FakeNli(listen=False)
    from troth.models.cached import CachedNli
    from troth.storage.cache import Store

    store = Store.at(cache)
    if name == "embedded":
        from troth.models.embedded import EmbeddedNli

        return CachedNli(EmbeddedNli(), store)
    if name.startswith(("http://", "https://")):
        raise UserError(
            f"'{name}' is a server, which gives no entailment", hint="--nli embedded, hf:ORG/MODEL or a folder"
        )
    from troth.models.hf import HfNli
    from troth.models.hub import source

    return CachedNli(HfNli(source(name)), store)


def lm(name: str = "embedded", *, cache: str | None = USUAL) -> Lm:
    """The language model of that name; `cache` as in `nli`. With `+int8` after it, log-probabilities in eight bits."""
    if name == "fake":
        from troth.models.fake import FakeLm

        return FakeLm()
    from troth.models.cached import CachedLm
    from troth.storage.cache import Store

    store = Store.at(cache)
    if name.startswith(("http://", "https://")):
        from troth.models.endpoint import EndpointLm

        return CachedLm(EndpointLm.named(name), store)
    from troth.models.hf import HfLm
    from troth.models.hub import embedded, source

    plain = name.removesuffix(INT8)
    found = embedded("smollm2-135m-instruct") if plain == "embedded" else source(plain)
    return CachedLm(HfLm(found, int8=plain != name), store)
