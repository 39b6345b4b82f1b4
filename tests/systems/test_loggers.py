"""Reports of a training to TensorBoard, MLflow and Weights & Biases, with stand-ins for them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.systems.loggers import LOGGERS, report_to


class Writer:
    """What torch.utils.tensorboard has."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        LOGGED.append(("tensorboard", Path(folder).name))

    def add_scalar(self, name: str, value: float, step: int) -> None:
        LOGGED.append((name, value, step))


LOGGED: list[tuple[Any, ...]] = []


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    LOGGED.clear()
    run = SimpleNamespace(log=lambda metrics, step: LOGGED.append((metrics, step)))
    modules: dict[str, Any] = {
        "torch.utils.tensorboard": SimpleNamespace(SummaryWriter=Writer),
        "mlflow": SimpleNamespace(
            active_run=lambda: None,
            start_run=lambda run_name: LOGGED.append(("mlflow", run_name)),
            log_params=LOGGED.append,
            log_metrics=lambda metrics, step: LOGGED.append((metrics, step)),
        ),
        "wandb": SimpleNamespace(run=None, init=lambda **_: run),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return LOGGED


@pytest.mark.parametrize(
    ("name", "logged"),
    [
        ("tensorboard", [("tensorboard", "tensorboard"), ("jga/NED", 0.5, 3)]),
        ("mlflow", [("mlflow", "mine"), {"rate": "0.1"}, ({"jga/NED": 0.5}, 3)]),
        ("wandb", [({"jga:NED": 0.5}, 3)]),
    ],
)
def test_reports(name: str, logged: list[Any], installed: list[tuple[Any, ...]]) -> None:
    report_to([name], Path("mine"), {"rate": 0.1})(3, {"jga:NED": 0.5})
    assert installed == logged


@pytest.mark.parametrize("name", list(LOGGERS.own))
def test_what_is_not_installed_is_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch.utils.tensorboard", "mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"{name} is not installed \(pip install {name}\)"):
        report_to([name], Path("mine"), {})


def test_an_unknown_name_is_one_line() -> None:
    with pytest.raises(UserError, match="tensorbord"):
        report_to(["tensorbord"], Path("mine"), {})
