"""The interface of paraphrase engines: texts in, other wordings out. The guard checks the results.

An engine of the registry is a function that takes the options of the family (`Paraphrase`) and returns a `Paraphraser`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from troth.core.records import Turn
from troth.core.registry import Registry
from troth.perturb.users.guard import Stretch

ENGINES: Registry[Callable[..., Paraphraser]] = Registry(
    "paraphrase engine",
    "troth.paraphrase_engines",
    {
        "rules": "troth.perturb.users.rules:engine",
        "translate": "troth.perturb.translate:engine",
        "llm": "troth.perturb.users.llm:engine",
        "acts": "troth.perturb.users.acts:engine",
    },
)


class Rewrite(NamedTuple):
    """A text to be paraphrased."""

    text: str
    stretches: tuple[Stretch, ...]  # parts that must not change
    seed: int
    turn: Turn | None = None  # what it is the text of


class Failed(NamedTuple):
    """No paraphrase; counted by reason."""

    reason: str


class Paraphraser(Protocol):
    varies: bool  # whether another seed gives another wording, so that it makes sense to try again

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        """One answer for each request, in order. The same batch gives the same answers."""
        ...
