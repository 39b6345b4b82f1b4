"""Reports loss and measures of a training to TensorBoard, MLflow or Weights & Biases, where these are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from troth.core.extras import not_installed_error, require
from troth.core.registry import Registry

Report = Callable[[int, Mapping[str, float]], None]


def tensorboard(folder: Path, _settings: Mapping[str, Any]) -> Report:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / "tensorboard"))

    def report(step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name.replace(":", "/"), value, step)

    return report


def mlflow(folder: Path, settings: Mapping[str, Any]) -> Report:
    import mlflow

    if mlflow.active_run() is None:
        mlflow.start_run(run_name=folder.name)
    mlflow.log_params({name: str(value)[:500] for name, value in settings.items()})
    return lambda step, metrics: mlflow.log_metrics({name.replace(":", "/"): v for name, v in metrics.items()}, step)


def wandb(folder: Path, settings: Mapping[str, Any]) -> Report:
    import wandb

    run = wandb.run or wandb.init(project="troth", name=folder.name, config=dict(settings))
    return lambda step, metrics: run.log(dict(metrics), step=step)


LOGGERS: Registry[Callable[[Path, Mapping[str, Any]], Report]] = Registry(
    "experiment tracker", "troth.loggers", {"tensorboard": tensorboard, "mlflow": mlflow, "wandb": wandb}
)


def check_installed(names: Sequence[str]) -> None:
    """Refuses experiment trackers that are unknown or not installed, before anything is written."""
    for name in names:
        LOGGERS.load(name)
        if name in LOGGERS.own:
            require(name)


def report_to(names: Sequence[str], folder: Path, settings: Mapping[str, Any]) -> Report:
    reports: list[Report] = []
    for name in names:
        make = LOGGERS.load(name)
        try:
            reports.append(make(folder, settings))
        except ImportError as error:
            raise not_installed_error(name) from error

    def report(step: int, metrics: Mapping[str, float]) -> None:
        for send in reports:
            send(step, metrics)

    return report
