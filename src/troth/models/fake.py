"""Backends without a model: deterministic and without dependencies, for tests and for trying things out."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence

from troth.models.backends import Backend
from troth.models.batches import Cutting
from troth.models.protocols import Continuation, Entailment, Request, TextPair

Rule = Callable[[str, str], Entailment]

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\s*\S+|\s+$")


class FakeNli(Cutting[TextPair]):
    """Answers by a rule from premise and hypothesis; by default, by the share of the hypothesis's words in the premise.

    `asked` records the pairs in order, repeats included, unless `listen` is false: a corpus asks millions.
    """

    name = "fake-nli@1"

    def __init__(self, rule: Rule | None = None, *, listen: bool = True) -> None:
        super().__init__()
        self.rule, self.listen = rule or overlap, listen
        self.asked: list[TextPair] = []

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        if self.listen:
            self.asked += pairs
        return [self.rule(premise, hypothesis) for premise, hypothesis in pairs]


def overlap(premise: str, hypothesis: str) -> Entailment:
    """0.98 entailment where the premise has every word of the hypothesis; quickly less with each missing word."""
    known = {word.lower() for word in _WORD.findall(premise)}
    words = [word.lower() for word in _WORD.findall(hypothesis)]
    share = sum(word in known for word in words) / len(words) if words else 0.0
    entailment = 0.02 + 0.96 * share**4
    rest = 1.0 - entailment
    return Entailment(entailment, 0.7 * rest, 0.3 * rest)


class FakeLm:
    """Tokens are words with the space before them; words of the context are likelier than others.

    `asked` records the requests, `prompts` the prompts for generation.
    """

    name = "fake-lm@1"

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.prompts: list[str] = []

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        full = [Request.parse(request) for request in requests]
        self.asked += full
        return [_continue(request) for request in full]

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """Repeats the prompt's last line; at a temperature above 0, with its words in an order drawn by `seed`."""
        self.prompts += prompts
        lines = []
        for prompt in prompts:
            words = (prompt.strip().splitlines() or [""])[-1].split()[:max_tokens]
            if temperature > 0:
                words.sort(key=lambda word: _chance(str(seed), prompt, word))
            lines.append(" ".join(words))
        return lines


def _continue(request: Request) -> Continuation:
    seen = {word.lower() for piece in request.context for word in _WORD.findall(piece)}
    tokens = tuple(_TOKEN.findall(request.continuation))
    logprobs: list[float | None] = []
    for index, token in enumerate(tokens):
        word = token.strip().lower()
        known = not _WORD.search(word) or any(part in seen for part in _WORD.findall(word))
        # A small part that depends on the token, so that two tokens differ.
        logprobs.append(math.log(0.5 if known else 0.05) - 0.01 * _chance(token))
        if index == 0 and not request.context and not request.bos:
            logprobs[0] = None
        seen.update(_WORD.findall(word))
    return Continuation(tokens, tuple(logprobs))


def _chance(*parts: str) -> float:
    """A number in [0, 1) that depends only on the parts."""
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=6).digest()) / 2**48


BACKEND = Backend(
    "fake",
    "no model at all: overlap of words, for trying things out and for tests",
    nli=lambda _: FakeNli(listen=False),
    lm=lambda _: FakeLm(),
    cached=False,
)
