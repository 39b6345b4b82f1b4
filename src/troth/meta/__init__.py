"""Can a metric be trusted? Metrics against people's labels, against tampered responses, and under other wordings.

- `labels`: `evaluate` compares metrics of grounded responses with people's labels; `fit` learns thresholds from labels
- `people`: `annotate`, `ratings`, `agreement`: sheets for people to fill in, and what their answers show
- `trials`: `wording` (SGSAcc on true and tampered acts under other wordings of the schema), `rerank` and `templates`
  (whether the reranker finds the faithful response; whether templates make good references), `stress` (which
  corruptions of answers metrics notice)

The modules can be had from here: `troth.meta.labels.evaluate.fit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FOLDERS = {
    "agreement": "people", "annotate": "people", "evaluate": "labels", "ratings": "people", "rerank": "trials",
    "stress": "trials", "templates": "trials", "wording": "trials",
}  # fmt: skip
__all__ = list(_FOLDERS)


def __getattr__(name: str) -> Any:
    if name not in _FOLDERS:
        raise AttributeError(f"module 'troth.meta' has no attribute '{name}'")
    return import_module(f"troth.meta.{_FOLDERS[name]}.{name}")  # on first use
