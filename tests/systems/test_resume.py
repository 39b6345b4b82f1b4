"""Trainings and predictions are resumed with the same data, weights and options only."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.systems.data import TrackerCorpus
from troth.systems.generators.train import train_response
from troth.systems.track import track
from troth.systems.train import train_tracker

FIT = {"batch": 2, "steps": 6, "evaluate_every": 2, "save_every": 1}
Killed = Callable[[Callable[[], object]], None]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three files with two dialogues each, in SGD's layout."""
    corpus = TrackerCorpus.read(demo.path("gold"))
    folder = tmp_path / "data"
    readers.write(
        corpus.dialogues[:6], str(folder), "sgd", schema=(Path(demo.path("gold")) / "schema.json").read_bytes()
    )
    rows = [row for file in sorted(folder.glob("dialogues_*.json")) for row in json.loads(file.read_text())]
    for file in folder.glob("dialogues_*.json"):
        file.unlink()
    for number in range(3):
        (folder / f"dialogues_{number}.json").write_text(json.dumps(rows[2 * number : 2 * number + 2]))
    return folder


def change(file: Path) -> None:
    rows = json.loads(file.read_text())
    rows[0]["turns"][0]["utterance"] += " Please."
    file.write_text(json.dumps(rows))


def exchange_weights(folder: Path) -> None:
    """One weight of a model is another."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    name = sorted(weights)[0]
    weights[name].flatten()[0] += 1.0
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_a_training_is_resumed_with_the_same_inputs_only(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], killed: Killed
) -> None:
    base = tmp_path / "base"
    shutil.copytree(tiny("bert"), base)
    dev = tmp_path / "dev"
    shutil.copytree(data, dev)

    def train(**options: Any) -> Any:
        given = {"recipe": "trippy", "model": base, "dev": dev, "dev_limit": None, "fit": FIT}
        return train_tracker(options.pop("data", data), tmp_path / "run", **{**given, **options})

    killed(train)
    before = (tmp_path / "run/state/state.json").read_bytes()
    with pytest.raises(UserError, match=r"run: holds a training run with another fit \(name another folder to start"):
        train(fit=FIT | {"rate": 0.5})
    for file, name in ((data / "dialogues_1.json", "training data"), (dev / "dialogues_0.json", "dev data")):
        text = file.read_bytes()
        change(file)
        with pytest.raises(UserError, match=f"holds a training run with another {name}"):
            train()
        file.write_bytes(text)
    (data / "dialogues_0.json").rename(data / "dialogues_9.json")
    with pytest.raises(UserError, match="with another training data"):  # another order of the examples
        train()
    (data / "dialogues_9.json").rename(data / "dialogues_0.json")
    weights = (base / "model.safetensors").read_bytes()
    exchange_weights(base)
    with pytest.raises(UserError, match="with another base model"):
        train()
    (base / "model.safetensors").write_bytes(weights)
    assert (tmp_path / "run/state/state.json").read_bytes() == before
    moved = tmp_path / "moved"
    data.rename(moved)
    (run,) = train(data=moved)
    assert run.steps == 6


def test_a_generator_is_resumed_with_the_same_templates_only(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], killed: Killed
) -> None:
    def train() -> Any:
        return train_response(data, tmp_path / "run", model=tiny("gpt2"), encoding="naive", fit=FIT)

    killed(train)
    change(data / "dialogues_1.json")
    with pytest.raises(UserError, match="holds a training run with another training data"):
        train()


def test_predictions_are_resumed_with_the_same_inputs_only(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    train_tracker(data, tmp_path / "model", recipe="trippy", model=tiny("bert"), fit={"steps": 1, "batch": 2})
    model = tmp_path / "model/last"
    other = tmp_path / "other"
    shutil.copytree(data, other)

    def predict(**options: Any) -> Any:
        given = {"sets": ["orig", f"mine={other}"], "seed": 0}
        return track(model, options.pop("data", data), tmp_path / "out", **{**given, **options})

    done = predict()
    predictions = {file: file.read_bytes() for file in (tmp_path / "out").rglob("dialogues_*.json")}
    (data / "dialogues_0.json").rename(data / "dialogues_9.json")
    assert [one.dialogues for one in predict()] == [one.dialogues for one in done]  # the order of files does not count
    text = (data / "dialogues_1.json").read_bytes()
    change(data / "dialogues_1.json")
    with pytest.raises(UserError, match=r"out: holds predictions of a tracker with another data \(name another folder"):
        predict()
    (data / "dialogues_1.json").write_bytes(text)
    with pytest.raises(UserError, match="with another seed"):
        predict(seed=1)
    change(other / "dialogues_0.json")
    with pytest.raises(UserError, match="mine: holds predictions for other dialogues"):
        predict()
    weights = model / "model.safetensors"
    assert weights.is_file()
    exchange_weights(model)
    with pytest.raises(UserError, match="with another model"):
        predict(sets="orig")
    assert predictions == {file: file.read_bytes() for file in (tmp_path / "out").rglob("dialogues_*.json")}


def test_a_training_in_a_folder_where_another_is_at_work(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from troth.systems import training

    inside, go = threading.Event(), threading.Event()
    step = training._Run.step

    def waits(run: Any) -> None:
        inside.set()
        assert go.wait(60)
        step(run)

    monkeypatch.setattr(training._Run, "step", waits)

    def train() -> Any:
        return train_tracker(data, tmp_path / "run", recipe="trippy", model=tiny("bert"), fit={"steps": 1})

    first = threading.Thread(target=train)
    first.start()
    assert inside.wait(60)
    with pytest.raises(UserError, match="another process is working in this folder"):
        train()
    go.set()
    first.join()
