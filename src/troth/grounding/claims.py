"""Claims of a response: its sentences, each supported by the document, contradicted by it, or merely absent from it."""

from __future__ import annotations

from troth.grounding.entailment import SentenceSupport
from troth.storage.explorer import ClaimSupport

SUPPORTED, CONTRADICTED, ABSENT = "supported", "contradicted", "absent"


def claim(support: SentenceSupport, odds: float, supported: float, opposed: float) -> ClaimSupport:
    """A sentence with the likeliest of the three, and the passage that says so.

    `odds`, `supported`: log odds and probability of support; `opposed`: how probably a sentence that is not supported
    is contradicted. The passage is the one that contradicts it most where that is the verdict, else the one that
    entails it most.
    """
    chances = {
        SUPPORTED: supported,
        CONTRADICTED: (1 - supported) * opposed,
        ABSENT: (1 - supported) * (1 - opposed),
    }
    likeliest = max(chances, key=lambda name: chances[name])
    passage = support.passages[support.against if likeliest == CONTRADICTED else support.best]
    return ClaimSupport(
        support.sentence, likeliest, chances[SUPPORTED], chances[CONTRADICTED], chances[ABSENT], passage, odds
    )


def claim_line(one: ClaimSupport) -> str:
    """The claim in a line for people."""
    names = [name for name in (SUPPORTED, CONTRADICTED, ABSENT) if name != one.verdict]
    others = ", ".join(f"{name} {getattr(one, name):.2f}" for name in names)
    return f"{one.verdict} {getattr(one, one.verdict):.2f} ({others}): {one.sentence} ← {one.passage}"
