"""The training loop: a killed or interrupted run goes on to the same curve and the same weights, bit by bit."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from troth.core.errors import UserError
from troth.systems.checkpoint import FitState
from troth.systems.data import TrackerCorpus
from troth.systems.evaluation import TrackerEvaluation
from troth.systems.training import FitSettings, Fitting, InterruptedTraining, Trainable, fit, plan

SETTINGS = FitSettings(seed=1, epochs=3, batch=4, rate=0.05, evaluate_every=4, save_every=3)


class Line(Trainable[tuple[float, float]]):
    """Learns a line through points, with noise that must be the same in every run."""

    def __init__(self) -> None:
        torch.manual_seed(5)
        self.module = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        self.die_at = -1
        self.steps = 0

    def size(self, example: tuple[float, float]) -> int:
        return int(example[0])

    def collate(self, examples: Sequence[tuple[float, float]], rng: Random) -> Any:
        return torch.tensor(examples) + rng.random() * 1e-3

    def loss(self, batch: Any) -> Any:
        self.steps += self.module.training
        if self.steps == self.die_at:
            raise RuntimeError("killed")
        return ((self.module(batch[:, :1] / 10) - batch[:, 1:]) ** 2).mean()

    def save(self, folder: Path) -> None:
        torch.save(self.module.state_dict(), folder / "line.pt")


def fitting(model: Line) -> Fitting:
    points = [(float(i), i / 10) for i in range(20)]
    keep = {"best-jga": lambda metrics: metrics["jga"], "best-loss": lambda metrics: -metrics["dev_loss"]}
    return Fitting(model, points, points[:5], lambda: {"jga": float(model.module[2].bias)}, keep)


def curve(folder: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def trained(folder: Path) -> tuple[Line, list[dict[str, float]]]:
    model = Line()
    fit(fitting(model), folder, SETTINGS)
    return model, curve(folder)


def test_batches_hold_every_example_once_in_an_order_of_seed_and_epoch() -> None:
    sizes = [i % 7 for i in range(100)]
    first = plan(sizes, 8, 0, 0)
    assert sorted(i for batch in first for i in batch) == list(range(100))
    assert first == plan(sizes, 8, 0, 0)
    assert first != plan(sizes, 8, 0, 1)
    assert first != plan(sizes, 8, 1, 0)
    assert all(max(sizes[i] for i in batch) - min(sizes[i] for i in batch) <= 2 for batch in first)


def test_a_run_repeats_itself(tmp_path: Path) -> None:
    assert trained(tmp_path / "a")[1] == trained(tmp_path / "b")[1]


@pytest.mark.parametrize("at", [2, 5, 9, 14])
def test_a_killed_run_goes_on_to_the_same_curve(tmp_path: Path, at: int) -> None:
    whole, expected = trained(tmp_path / "whole")
    killed = Line()
    killed.die_at = at
    with pytest.raises(RuntimeError, match="killed"):
        fit(fitting(killed), tmp_path / "cut", SETTINGS)
    model, resumed = trained(tmp_path / "cut")
    assert resumed == expected
    assert len(expected) == 15 + 4  # steps, and evaluations at 4, 8, 12 and the end
    for name, value in whole.module.state_dict().items():
        assert torch.equal(value, model.module.state_dict()[name])
    assert {one.name for one in (tmp_path / "cut").iterdir()} == {
        "log.jsonl", "state", "best-jga", "best-loss", "last"
    }  # fmt: skip


def test_an_interrupted_run_saves_its_last_step(tmp_path: Path) -> None:
    _, expected = trained(tmp_path / "whole")
    model = Line()
    task = fitting(model)
    task = Fitting(task.model, task.examples, task.dev, task.evaluate, task.keep,
                   lambda step, _: os.kill(os.getpid(), signal.SIGINT) if step == 7 else None)  # fmt: skip
    with pytest.raises(InterruptedTraining):
        fit(task, tmp_path / "cut", SETTINGS)
    assert json.loads((tmp_path / "cut/state/state.json").read_text())["step"] == 7
    assert trained(tmp_path / "cut")[1] == expected


@pytest.mark.parametrize("when", ["in a step", "in an evaluation"])
def test_an_interrupt_does_not_wait(tmp_path: Path, when: str) -> None:
    """Neither for the step nor for the evaluation; what was complete is saved, and nothing is made or logged twice."""
    _, expected = trained(tmp_path / "whole")
    model = Line()
    task = fitting(model)

    def interrupted() -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("it went on")

    if when == "in a step":
        loss = model.loss
        model.loss = lambda batch: interrupted() if model.steps == 6 else loss(batch)  # type: ignore[method-assign]
        step, evaluated = 6, 4
    else:
        measure = task.evaluate
        task = Fitting(task.model, task.examples, task.dev,
                       lambda: interrupted() if model.steps == 8 else measure(), task.keep)  # type: ignore[misc]  # fmt: skip
        step, evaluated = 8, 4
    with pytest.raises(InterruptedTraining):
        fit(task, tmp_path / "cut", SETTINGS)
    state = json.loads((tmp_path / "cut/state/state.json").read_text())
    assert (state["step"], state["evaluated"]) == (step, evaluated)
    assert trained(tmp_path / "cut")[1] == expected


def test_an_evaluation_that_was_logged_and_not_saved_is_logged_once(tmp_path: Path) -> None:
    _, expected = trained(tmp_path / "whole")
    task = fitting(Line())

    def interrupted() -> dict[str, float]:
        os.kill(os.getpid(), signal.SIGINT)
        return {}

    with pytest.raises(InterruptedTraining):
        fit(Fitting(task.model, task.examples, task.dev, interrupted, task.keep), tmp_path / "cut", SETTINGS)
    with (tmp_path / "cut" / "log.jsonl").open("ab") as log:  # killed after this line
        log.write(json.dumps(expected[4]).encode() + b'\n{"step": 5, "lo')
    assert trained(tmp_path / "cut")[1] == expected


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    trained(tmp_path)
    again = Line()
    state = fit(fitting(again), tmp_path, SETTINGS)
    assert (state.done, again.steps) == (True, 0)


def test_patience_stops_a_run_that_gets_no_better(tmp_path: Path) -> None:
    model = Line()
    task = Fitting(model, fitting(model).examples, keep={"best-jga": lambda _: 0.0})
    state = fit(task, tmp_path, FitSettings(epochs=100, batch=4, evaluate_every=2, patience=2))
    assert state.step == 6  # best at 2, no better at 4 and 6


POINTS = [{"jga": 0.5}, {"jga": 0.3, "nohf": 0.9}, {"jga": 0.6, "nohf": 0.8}, {"jga": 0.6, "nohf": 0.9}]


def test_slack_is_over_the_columns_that_all_checkpoints_have() -> None:
    """A checkpoint that names nothing has no NoHF, and does not win by that."""
    evaluation = TrackerEvaluation(TrackerCorpus("", [], {}, complete=False))
    assert evaluation.slacks(POINTS) == pytest.approx([0.1, 0.3, 0.0, 0.0])
    assert evaluation.slacks(POINTS[1:]) == pytest.approx([0.15, 0.05, 0.0])
    worded = [{"jga": 0.6, "jga_wordings": 0.1}, {"jga": 0.5, "jga_wordings": 0.4}]
    assert evaluation.slacks(worded) == pytest.approx([0.15, 0.05])


@pytest.mark.parametrize("die_at", [-1, 5])
def test_the_least_slack_is_chosen_among_all_evaluations_also_after_a_stop(tmp_path: Path, die_at: int) -> None:
    evaluation = TrackerEvaluation(TrackerCorpus("", [], {}, complete=False))

    def trained(model: Line) -> FitState:
        def measure() -> dict[str, float]:
            return POINTS[sum("rate" not in line for line in curve(tmp_path))]

        kept.clear()
        task = Fitting(model, fitting(model).examples, evaluate=measure, nearest={"least-slack": evaluation.slacks},
                       describe=lambda _, metrics: kept.append(metrics))  # fmt: skip
        return fit(task, tmp_path, FitSettings(steps=8, batch=4, evaluate_every=2, save_every=1))

    kept: list[dict[str, float]] = []
    model = Line()
    model.die_at = die_at
    if die_at > 0:
        with pytest.raises(RuntimeError, match="killed"):
            trained(model)
        model = Line()
    state = trained(model)
    assert state.best == {"least-slack": 0.0}
    assert kept[-2:] == [POINTS[2], POINTS[3]]  # the third; the last is kept in any case, with its own figures


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path: Path) -> None:
    model = Line()
    with pytest.raises(UserError, match="the loss is nan at step 0"):
        fit(Fitting(model, [(1.0, float("nan"))]), tmp_path, SETTINGS)


@pytest.mark.parametrize("file", ["weights.safetensors", "optimizer.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_one_line(tmp_path: Path, file: str) -> None:
    """Every bit counts: a changed weight, moment or step would give another model."""
    trained(tmp_path)
    whole = (tmp_path / "state" / file).read_bytes()
    places = [*range(0, len(whole), max(1, len(whole) // 12)), len(whole) - 1]
    for damaged in (b"", b"broken", *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places)):
        (tmp_path / "state" / file).write_bytes(damaged)
        with pytest.raises(UserError, match="the checkpoint cannot be read"):
            trained(tmp_path)


def test_a_full_disk_is_one_line_and_the_checkpoint_before_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import safetensors.torch

    _, expected = trained(tmp_path / "whole")
    save = safetensors.torch.save_file

    def full(tensors: Any, file: Path) -> None:
        if (tmp_path / "cut/state").exists():
            raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")
        save(tensors, file)

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(UserError, match=r"state: cannot be written: .*No space left on device"):
        trained(tmp_path / "cut")
    monkeypatch.undo()
    assert sorted(one.name for one in (tmp_path / "cut").iterdir()) == ["best-jga", "best-loss", "log.jsonl", "state"]
    assert trained(tmp_path / "cut")[1] == expected


def test_no_examples(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this data gives no training examples"):
        fit(Fitting(Line(), []), tmp_path, SETTINGS)


@pytest.mark.parametrize(
    ("field", "value"),
    [("rate", float("nan")), ("rate", 0.0), ("epochs", float("inf")), ("epochs", "3"), ("batch", 0), ("batch", 2.5),
     ("save_every", 0), ("steps", -1), ("patience", "x"), ("schedule", "up"), ("decay", -0.1)],
)  # fmt: skip
def test_settings_that_cannot_be(field: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"{field} cannot be"):
        FitSettings(**{field: value})
