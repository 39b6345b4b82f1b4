"""Metrics that need no model: pure functions from a gold dialogue and its prediction to parts of a ratio.

`troth.metrics.load("jga").compute(predictions=…, references=…)` is `troth.load`, where users of `evaluate` look for it.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "load":
        raise AttributeError(f"module 'troth.metrics' has no attribute '{name}'")
    import troth  # the package's face, which reaches for everything: nothing here depends on what is above

    return troth.load
