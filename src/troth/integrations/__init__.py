"""troth in other tools: pytest, code that speaks Hugging Face's `evaluate`, MLflow, Weights & Biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from troth.integrations.experiments import to_mlflow as to_mlflow
    from troth.integrations.experiments import to_wandb as to_wandb

__all__ = ["to_mlflow", "to_wandb"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'troth.integrations' has no attribute '{name}'")
    from troth.integrations import experiments

    return getattr(experiments, name)
