"""What a paraphrase engine is: texts in, other wordings out, nothing promised. The guard judges what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, Protocol

from troth.perturb.users import rules
from troth.perturb.users.guard import Kept


class Request(NamedTuple):
    text: str
    kept: tuple[Kept, ...]  # what must stand in the new text as it stood in the old
    seed: int


class Failed(NamedTuple):
    """No new wording: counted under its reason."""

    reason: str


class Engine(Protocol):
    varies: bool  # whether another seed gives another wording, so that a refused one is worth a second try

    def rewrite(self, requests: Sequence[Request]) -> list[str | Failed]:
        """One answer for each request, in order. The same batch gives the same answers."""
        ...


class Rules:
    """Hand-written rules, offline (see rules.py)."""

    varies = True

    def rewrite(self, requests: Sequence[Request]) -> list[str | Failed]:
        return [rules.paraphrase(text, kept, Random(seed)) for text, kept, seed in requests]  # noqa: S311 (no secret)
