"""Ray: the same results in the same order as one process, also when workers are killed; what is lost is said.

All tests share one small Ray on this machine. Where Ray is missing or cannot be started they are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra 'ray'")
import ray

import troth
from troth import demo
from troth.core.errors import UserError
from troth.engine import cluster as engine_cluster
from troth.engine import mapped, parts, using
from troth.grounding import spread
from troth.grounding.metrics import Models
from troth.tracking import feed

BUSY = 5  # processes that wait for each processor

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        pytest.skip("the machine is too busy to start Ray: each actor is a new process")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    try:
        with using("ray"):
            yield
    finally:
        ray.shutdown()


def test_results_are_in_order(cluster: None) -> None:
    offset = 100
    assert list(mapped(lambda n: n + offset, range(20), 2)) == [n + offset for n in range(20)]
    assert list(mapped(lambda n: n, [], 2)) == []
    assert list(mapped(lambda _: os.getpid(), [1], 2)) == [os.getpid()]  # not worth an actor
    assert parts(3) == 12


def test_the_first_error_is_raised(cluster: None) -> None:
    def fails(number: int) -> int:
        if number > 4:
            raise UserError(f"number {number}", file="some.json")
        return number

    with pytest.raises(UserError, match=r"some\.json: number 5"):
        list(mapped(fails, range(10), 2))


def test_a_worker_that_is_killed_loses_nothing(cluster: None, tmp_path: Path) -> None:
    """The actor kills itself once, at the seventh item; the item comes back all the same."""
    mark = str(tmp_path / "killed")

    def dies(number: int) -> int:
        if number == 6 and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number

    assert list(mapped(dies, range(12), 2)) == [2 * number for number in range(12)]
    assert os.path.exists(mark)


def test_a_worker_that_is_always_killed_is_one_line(cluster: None) -> None:
    def dies(number: int) -> int:
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(UserError, match="Ray lost part") as caught:
        list(mapped(dies, range(4), 2))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The demo's gold and two systems, each in four files."""
    root = tmp_path_factory.mktemp("corpus")
    for side in ("gold", "hasty", "sturdy"):
        (root / side).mkdir()
        dialogues = json.loads((Path(demo.path(side)) / "dialogues_001.json").read_text())
        for number in range(4):
            (root / side / f"dialogues_{number:03d}.json").write_text(json.dumps(dialogues[number::4]))
    shutil.copy(Path(demo.path("gold")) / "schema.json", root / "gold" / "schema.json")
    return {side: str(root / side) for side in ("gold", "hasty", "sturdy")}


@pytest.fixture
def shared_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each piece of work was cut into, where it went to Ray."""
    counts: list[int] = []
    inner = engine_cluster.mapped

    def spy(function: Any, items: Any, workers: int, address: str | None) -> Any:
        counts.append(len(items))
        return inner(function, items, workers, address)

    monkeypatch.setattr(engine_cluster, "mapped", spy)
    return counts


def test_state_tracking_has_the_same_rows(
    cluster: None, corpus: dict[str, str], shared_out: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "WORTH_IT", 1)
    sides = (corpus["gold"], corpus["hasty"], corpus["sturdy"])
    shared = troth.dst(*sides, workers=2, resamples=20, by="service")
    assert shared_out == [4]
    with using("processes"):
        alone = troth.dst(*sides, workers=1, resamples=20, by="service")
    assert list(shared.scores) == list(alone.scores)
    assert shared.rows().equals(alone.rows())
    assert shared.counts == alone.counts
    assert shared.inputs == alone.inputs


def test_perturbations_are_the_same(
    cluster: None, corpus: dict[str, str], shared_out: list[int], tmp_path: Path
) -> None:
    troth.perturb(corpus["gold"], tmp_path / "ray", with_="disfluency", seed=3, workers=2)
    assert shared_out == [4, 4]
    with using("processes"):
        troth.perturb(corpus["gold"], tmp_path / "own", with_="disfluency", seed=3)
    names = sorted(file.name for file in (tmp_path / "own").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "ray").iterdir())
    for name in names:
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "own" / name).read_bytes()


def test_models_are_opened_by_the_actors(cluster: None, shared_out: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "BLOCK", 4)
    file, models = demo.path("documents/careful.jsonl"), Models(nli="fake", lm="fake", cache=None)
    shared = troth.ground(file, metrics="nli,coverage", models=models, resamples=20, workers=2)
    assert shared_out[0] > 1
    with using("processes"):
        alone = troth.ground(file, metrics="nli,coverage", models=models, resamples=20, workers=1)
    assert list(shared.scores) == list(alone.scores)
    assert shared.rows().equals(alone.rows())


def test_an_engine_that_is_not_known() -> None:
    with pytest.raises(UserError, match="engine cannot be 'rai'"), using("rai"):
        pass
