"""Can a metric be trusted? Metrics against people's labels, against tampered responses, and under other wordings.

- `evaluate`: metrics of grounded responses against people's labels, and `fit`, which learns thresholds from labels
- `annotate`, `ratings`, `agreement`: sheets for people to fill in, and what they say of metrics and systems
- `wording`: SGSAcc on true and tampered acts, under other wordings of the schema
- `rerank`, `templates`: whether the reranker finds the faithful response; whether templates make good references
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["agreement", "annotate", "evaluate", "ratings", "rerank", "templates", "wording"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'troth.meta' has no attribute '{name}'")
    return import_module(f"troth.meta.{name}")  # on first use
