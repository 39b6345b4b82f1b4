"""Protocols of the models behind metrics: `Nli` for entailment, `Lm` for language models.

A backend's name contains everything that changes its answers (model, revision, limits); it is part of every cache key
and every signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple, Protocol, TypeGuard

TextPair = tuple[str, str]  # premise, hypothesis


class Entailment(NamedTuple):
    """Probabilities of the three classes for one pair; they sum to one."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def entailed(self) -> bool:
        """Whether entailment is the most probable class; a tie is not."""
        return self.entailment > self.neutral and self.entailment > self.contradiction


class WordedEntailment(Entailment):
    """With the doubt of each word of the hypothesis, by white space: 255 where the premise surely does not support it.

    A tuple of three as any other; whole numbers, so that an answer from the cache equals the computed one.
    """

    doubts: bytes = b""

    @classmethod
    def of(cls, probabilities: Iterable[float], doubts: bytes) -> WordedEntailment:
        answer = cls(*probabilities)
        answer.doubts = doubts
        return answer


class Nli(Protocol):
    """An entailment model: probabilities in the order of the pairs. An answer does not depend on its batch."""

    @property
    def name(self) -> str: ...

    @property
    def shortened(self) -> Set[TextPair]:
        """Pairs answered so far that were longer than the model reads, and lost text."""
        ...

    @property
    def cut(self) -> int:
        """Number of shortened pairs."""
        ...

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]: ...


class Request(NamedTuple):
    """A continuation to score, and the pieces of text before it.

    Each piece and the continuation are tokenised separately, without special tokens, and concatenated. Without a
    context the first token has no score, unless `bos` puts the model's beginning-of-text token first. If everything
    together is longer than the model reads, piece number `shorten` loses its end (a document, where it comes first);
    if nothing would remain of that piece, nothing is scored. If `shorten` is not the index of a piece, the context
    loses its beginning.
    """

    context: tuple[str, ...]
    continuation: str
    bos: bool = False
    shorten: int = 0

    @classmethod
    def parse(cls, asked: Request | tuple[str, str]) -> Request:
        """The request itself, or the request for (context, continuation); an empty context has no pieces."""
        if isinstance(asked, Request):
            return asked
        context, continuation = asked
        return cls((context,) if context else (), continuation)


class Continuation(NamedTuple):
    """The tokens of a continuation as text, and the natural log-probability of each token given all before it.

    The texts joined are the continuation. A log-probability is None for the first token of a text without a context,
    and for tokens beyond the model's limit.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    dropped: int = 0  # tokens of the context that the model did not read


class Lm(Protocol):
    """A language model: log-probabilities and generation. (context, continuation) is short for a Request."""

    @property
    def name(self) -> str: ...

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]: ...

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """Continues each prompt: greedily, or with tokens drawn by `seed` at a temperature above 0."""
        ...


class GrammarLm(Lm, Protocol):
    """A language model whose answers can be held to a grammar, in GBNF."""

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0,
        grammar: str = "",
    ) -> list[str]:  # fmt: skip
        ...


def takes_grammar(lm: Lm) -> TypeGuard[GrammarLm]:
    return bool(getattr(lm, "takes_grammar", False))
