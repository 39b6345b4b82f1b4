"""Fixtures of the trackers' tests: tiny models, on one thread, since on more they would mostly wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.systems.build import model


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    import torch
    import transformers

    transformers.logging.disable_progress_bar()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Runs a training that dies before its fourth step, as if the process had been killed."""
    from troth.systems import training

    step = training._Run.step

    def dies(run: training._Run) -> None:
        if run.state.step == 3:
            raise MemoryError("killed")
        step(run)

    def run(train: Callable[[], object]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(training._Run, "step", dies)
            with pytest.raises(MemoryError):
                train()

    return run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with a tiny model of a family."""
    folders: dict[str, Path] = {}

    def made(family: str) -> Path:
        if family not in folders:
            folders[family] = model(tmp_path_factory.mktemp("models") / family, family)
        return folders[family]

    return made
