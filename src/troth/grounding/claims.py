"""Claims of a response: its sentences, each supported by the document, contradicted by it, or merely absent from it.

A question or a courtesy beside them is no claim (`courtesies.py`).
"""

from __future__ import annotations

from troth.grounding.entailment import SentenceSupport
from troth.storage.explorer import ClaimSupport
from troth.text.courtesies import NO_CLAIM

SUPPORTED, CONTRADICTED, ABSENT = "supported", "contradicted", "absent"
OBJECTIONS = (CONTRADICTED, ABSENT)


def judge_claim(support: SentenceSupport, odds: float, supported: float, opposed: float) -> ClaimSupport:
    """A sentence with its verdict, and the passage that says so.

    It is supported where that is at least as probable as not; else the more probable of the other two is the verdict.

    `odds`, `supported`: log odds and probability of support; `opposed`: how probably a sentence that is not supported
    is contradicted. The passage is the one that contradicts it most where that is the verdict, else the one that
    entails it most.
    """
    chances = {SUPPORTED: supported, CONTRADICTED: (1 - supported) * opposed, ABSENT: (1 - supported) * (1 - opposed)}
    verdict = SUPPORTED if supported >= 0.5 else CONTRADICTED if opposed > 0.5 else ABSENT
    verdict = verdict if support.claims else NO_CLAIM
    passage = support.passages[support.against if verdict == CONTRADICTED else support.best]
    return ClaimSupport(
        support.sentence, verdict, chances[SUPPORTED], chances[CONTRADICTED], chances[ABSENT], passage, odds,
        support.doubts,
    )  # fmt: skip


def format_claim(claim: ClaimSupport) -> str:
    """The claim in a line for people."""
    if claim.verdict == NO_CLAIM:
        return f"{NO_CLAIM}: {claim.sentence}"
    names = [name for name in (SUPPORTED, CONTRADICTED, ABSENT) if name != claim.verdict]
    others = ", ".join(f"{name} {getattr(claim, name):.2f}" for name in names)
    return f"{claim.verdict} {getattr(claim, claim.verdict):.2f} ({others}): {claim.sentence} ← {claim.passage}"
