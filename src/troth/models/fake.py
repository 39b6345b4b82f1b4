"""Backends without a model: deterministic, without dependencies, for tests and for trying things out."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence

from troth.models import Continuation, Pair, Request, Verdict, request
from troth.models.batches import Cutting

Rule = Callable[[str, str], Verdict]

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\s*\S+|\s+$")


class FakeNli(Cutting[Pair]):
    """Answers by a rule from premise and hypothesis, or by the share of the hypothesis's words that the premise has.

    `asked` lists the pairs as they were asked, repeats and all, where it is to `listen`: a corpus asks millions.
    """

    name = "fake-nli@1"

    def __init__(self, rule: Rule | None = None, *, listen: bool = True) -> None:
        super().__init__()
        self.rule = rule or overlap
        self.listen = listen
        self.asked: list[Pair] = []

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        if self.listen:
            self.asked += pairs
        return [self.rule(premise, hypothesis) for premise, hypothesis in pairs]


def overlap(premise: str, hypothesis: str) -> Verdict:
    """0.98 entailment where every word of the hypothesis stands in the premise; less, and fast, where some do not."""
    there = {word.lower() for word in _WORD.findall(premise)}
    words = [word.lower() for word in _WORD.findall(hypothesis)]
    share = sum(word in there for word in words) / len(words) if words else 0.0
    entailment = 0.02 + 0.96 * share**4
    rest = 1.0 - entailment
    return Verdict(entailment, 0.7 * rest, 0.3 * rest)


class FakeLm:
    """Tokens are words with the space before them; one that the context has is likelier than one that it has not.

    `asked` lists the requests, `prompts` what was to be continued.
    """

    name = "fake-lm@1"

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.prompts: list[str] = []

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        meant = [request(given) for given in requests]
        self.asked += meant
        return [_continued(one) for one in meant]

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """The prompt's last line over again; words in another order, drawn by seed, where there is a temperature."""
        self.prompts += prompts
        made = []
        for prompt in prompts:
            words = (prompt.strip().splitlines() or [""])[-1].split()[:max_tokens]
            if temperature > 0:
                words.sort(key=lambda word: _chance(str(seed), prompt, word))
            made.append(" ".join(words))
        return made


def _continued(asked: Request) -> Continuation:
    seen = {word.lower() for piece in asked.context for word in _WORD.findall(piece)}
    tokens = tuple(_TOKEN.findall(asked.continuation))
    logprobs: list[float | None] = []
    for index, token in enumerate(tokens):
        word = token.strip().lower()
        known = not _WORD.search(word) or any(part in seen for part in _WORD.findall(word))
        # A little of the token's own, so that two of them are told apart.
        logprobs.append(math.log(0.5 if known else 0.05) - 0.01 * _chance(token))
        if index == 0 and not asked.context and not asked.bos:
            logprobs[0] = None
        seen.update(_WORD.findall(word))
    return Continuation(tokens, tuple(logprobs))


def _chance(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=6).digest()) / 2**48
