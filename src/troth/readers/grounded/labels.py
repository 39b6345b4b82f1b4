"""Human labels of a response: 1 if the document supports it, else 0."""

from __future__ import annotations

import math

from troth.core.errors import UserError, suggest_name

# Labels of BEGIN (2022), of its first release, and of the audit that preceded FaithDial.
SUPPORTED = ("fully attributable", "entailment")
NOT_SUPPORTED = ("not fully attributable", "generic", "hallucination", "partial hallucination", "uncooperative",
                 "neutral", "contradiction", "off-topic")  # fmt: skip
LABELS = dict.fromkeys(SUPPORTED, 1) | dict.fromkeys(NOT_SUPPORTED, 0)
NUMBERS = {"0": 0, "0.0": 0, "1": 1, "1.0": 1}


def parse_name(text: str) -> int | None:
    """The label of a name, ignoring case; None for an empty text."""
    name = " ".join(text.lower().split())
    if not name:
        return None
    if name not in LABELS:
        hint = suggest_name(name, LABELS) or "known: 0, 1, " + ", ".join(LABELS)
        raise UserError(f"label '{text[:40]}' is not known", hint=hint)
    return LABELS[name]


def parse_label(value: object) -> int | None:
    """The label of a value in a file: 0, 1, true, false, a name, or empty.

    pandas writes a column with missing labels as 1.0, 0.0 and NaN.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool | int | float) and value in (0, 1):
        return int(value)
    if isinstance(value, str):
        text = value.strip().lower()
        if text in NUMBERS:
            return NUMBERS[text]
        return None if text == "nan" else parse_name(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    raise UserError("'label' is not 0 or 1", hint="1: the document supports the response; leave it out if unknown")
