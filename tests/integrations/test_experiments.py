"""Scores logged to MLflow and Weights & Biases: by stand-ins, and, where they are installed, for real."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import troth
from troth import demo
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.score import Score
from troth.integrations import experiments

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
LEGAL = re.compile(r"^\w+(/\w+)*$")


@pytest.fixture(scope="module")
def result() -> Any:
    return troth.dst(GOLD, HASTY, by=["service"], metrics=["jga", "fga@0.5", "tagging_f1"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, result: Any) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "hasty"
    scores = [*result.scores, Score("hasty", "unheard", ALL, None, None, None, 0, {}, "nobody said it")]
    replace(result, scores=scores, make_explorer=None).save(folder)
    return folder


@pytest.fixture
def page(tmp_path: Path) -> Path:
    made = tmp_path / "page.html"
    made.write_text("<html></html>")
    return made


# -- keys --------------------------------------------------------------------------------------------------------------


def test_keys(result: Any) -> None:
    """Legal in both tools, and none a folder of another."""
    made = experiments.entries(result).metrics
    assert made["jga"] == result["jga"].value
    assert made["fga_0_5_low"] == result["fga@0.5"].low
    assert made["service/Stays_1/jga"] == result.score("jga", "service:Stays_1").value
    assert all(LEGAL.match(key) for key in made)
    folders = {key.rpartition("/")[0] for key in made}
    assert not folders & made.keys()


def test_several_systems_stand_in_the_key() -> None:
    made = experiments.entries(troth.dst(GOLD, f"a={HASTY}", f"b={STURDY}", metrics=["jga"]))
    assert set(made.metrics) == {f"{name}/jga{end}" for name in "ab" for end in ("", "_low", "_high")}
    assert set(made.signatures) == {"a/jga", "b/jga"}
    assert made.about["system"] == "a, b"


def test_names_that_come_to_the_same_are_refused() -> None:
    scores = [Score(name, "jga", ALL, 0.5, None, None, 1, {}) for name in ("a@1", "a.1")]
    with pytest.raises(UserError, match="would both be logged as 'a_1/jga'"):
        experiments._keys(scores, named=True)


def test_what_has_no_number_has_a_reason(run: Path) -> None:
    made = experiments.entries(run)
    assert "unheard" not in made.metrics
    assert made.unscored == {"unheard": "nobody said it"}
    assert made.about == {"version": troth.__version__, "command": "dst", "system": "hasty"}
    assert [file.name for file in made.files] == ["run.json", "rows.parquet"]


# -- calls, by stand-ins -----------------------------------------------------------------------------------------------


class Mlflow(ModuleType):
    """As much of MLflow as is called, with its signatures."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.active, self.started = False, 0
        self.metrics: dict[str, float] = {}
        self.tags: dict[str, str] = {}
        self.artifacts: list[tuple[str, str | None]] = []
        self.steps: list[int | None] = []

    def active_run(self) -> object | None:
        return object() if self.active else None

    @contextmanager
    def start_run(self) -> Iterator[None]:
        self.active, self.started = True, self.started + 1
        yield
        self.active = False

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert self.active
        assert len(metrics) <= 1000
        self.metrics |= metrics
        self.steps.append(step)

    def set_tags(self, tags: dict[str, Any]) -> None:
        assert self.active
        assert len(tags) <= 100
        self.tags |= tags

    def log_artifact(self, local_path: str, artifact_path: str | None = None) -> None:
        assert Path(local_path).is_file()
        self.artifacts.append((Path(local_path).name, artifact_path))


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Mlflow:
    fake = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return fake


def test_mlflow(mlflow: Mlflow, run: Path, page: Path) -> None:
    made = troth.integrations.to_mlflow(run, report=page, step=3)
    assert mlflow.metrics == made == experiments.entries(run).metrics
    assert mlflow.steps == [3]
    assert mlflow.tags["troth.signature.jga"].startswith("JGA|profile:sgd|")
    assert mlflow.tags["troth.unscored.unheard"] == "nobody said it"
    assert mlflow.artifacts == [(name, "troth") for name in ("run.json", "rows.parquet", "page.html")]
    assert (mlflow.started, mlflow.active) == (1, False)


def test_mlflow_takes_the_run_that_is_open(mlflow: Mlflow, result: Any) -> None:
    mlflow.active = True
    troth.integrations.to_mlflow(result)
    assert (mlflow.started, mlflow.active, mlflow.artifacts) == (0, True, [])


def test_mlflow_in_pieces(mlflow: Mlflow) -> None:
    scores = [Score("a", f"m{place}", ALL, 0.5, 0.4, 0.6, 1, {}) for place in range(500)]
    troth.integrations.to_mlflow(troth.Result("dst", scores, []))
    assert (len(mlflow.metrics), len(mlflow.tags)) == (1500, 503)


class Wandb(ModuleType):
    """As much of Weights & Biases as is called, with its signatures; also its run, config and artifact."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.run: Wandb | None = None
        self.id, self.project, self.finished = "abc", "", False
        self.config = self
        self.settings: dict[str, Any] = {}
        self.logged: dict[str, float] = {}
        self.files: list[str] = []
        self.steps: list[int | None] = []

    def init(self, *, project: str) -> Wandb:
        self.project = project
        return self

    def update(self, d: dict[str, Any], allow_val_change: bool | None = None) -> None:
        assert allow_val_change
        self.settings |= d

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        self.logged |= data
        self.steps.append(step)

    def Artifact(self, name: str, type: str, metadata: dict[str, Any] | None = None) -> Wandb:
        assert re.fullmatch(r"[\w.-]+", name)
        assert (type, json.loads(json.dumps(metadata))) == ("evaluation", metadata)
        return self

    def add_file(self, local_path: str, name: str | None = None) -> None:
        assert Path(local_path).name == name
        self.files.append(name or "")

    def log_artifact(self, artifact: Wandb) -> None:
        assert artifact is self

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Wandb:
    fake = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_wandb(wandb: Wandb, run: Path, page: Path) -> None:
    made = troth.integrations.to_wandb(run, report=page, step=3)
    assert wandb.logged == made == experiments.entries(run).metrics
    assert wandb.steps == [3]
    assert wandb.settings["troth"]["signatures"]["fga_0_5"].startswith("FGA@0.5|")
    assert wandb.settings["troth"]["command"] == "dst"
    assert wandb.files == ["run.json", "rows.parquet", "page.html"]
    assert (wandb.project, wandb.finished) == ("troth", True)


def test_wandb_takes_the_run_that_is_open(wandb: Wandb, result: Any) -> None:
    wandb.run = wandb
    troth.integrations.to_wandb(result)
    assert (wandb.project, wandb.finished, wandb.files) == ("", False, [])


@pytest.mark.parametrize(("name", "log"), [("mlflow", experiments.to_mlflow), ("wandb", experiments.to_wandb)])
def test_bad_input(monkeypatch: pytest.MonkeyPatch, result: Any, tmp_path: Path, name: str, log: Any) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=rf"^{name} is not installed \(pip install {name}\)$"):
        log(result)
    with pytest.raises(UserError, match="not a run"):
        log(str(tmp_path))
    with pytest.raises(UserError, match="no such file"):
        log(result, report=tmp_path / "none.html")


# -- for real, where they are installed --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # theirs are not ours to mend
@pytest.mark.parametrize("kind", ["sqlite", "file"])
def test_the_real_mlflow(run: Path, page: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    if kind == "sqlite":
        pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else (tmp_path / "log").as_uri())
    mlflow.set_experiment("troth")
    with mlflow.start_run() as active:
        made = troth.integrations.to_mlflow(run, report=page)
    client = mlflow.MlflowClient()
    logged = client.get_run(active.info.run_id).data
    assert logged.metrics == pytest.approx(made)
    assert logged.tags["troth.signature.jga"].startswith("JGA|profile:sgd|")
    files = {file.path for file in client.list_artifacts(active.info.run_id, "troth")}
    assert files == {"troth/run.json", "troth/rows.parquet", "troth/page.html"}


@pytest.mark.filterwarnings("ignore")
def test_the_real_wandb(run: Path, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    with wandb.init(project="troth", mode="offline") as active:
        made = troth.integrations.to_wandb(run, report=page)
        assert {key: active.summary[key] for key in made} == made
        assert active.config["troth"]["signatures"]["jga"].startswith("JGA|profile:sgd|")
