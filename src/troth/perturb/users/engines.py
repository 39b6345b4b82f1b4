"""What a paraphrase engine is: texts in, other wordings out, nothing promised. The guard judges what comes back.

An engine of the registry is a function that takes the options of the family (`Paraphrase`) and returns a `Paraphraser`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from troth.core.registry import Registry
from troth.perturb.users.guard import Stretch

ENGINES: Registry[Callable[..., Paraphraser]] = Registry(
    "paraphrase engine",
    "troth.paraphrase_engines",
    {
        "rules": "troth.perturb.users.rules:engine",
        "translate": "troth.perturb.translate:engine",
        "llm": "troth.perturb.users.llm:engine",
    },
)


class Rewrite(NamedTuple):
    """A text to be said in other words."""

    text: str
    stretches: tuple[Stretch, ...]  # what must stand in the new text as it stood in the old
    seed: int


class Failed(NamedTuple):
    """No new wording: counted under its reason."""

    reason: str


class Paraphraser(Protocol):
    varies: bool  # whether another seed gives another wording, so that a refused one is worth a second try

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        """One answer for each request, in order. The same batch gives the same answers."""
        ...
