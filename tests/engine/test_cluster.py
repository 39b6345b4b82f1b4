"""Ray: the same results in the same order as one process, also when workers are killed; what is lost is said.

All tests share one small Ray on this machine. Where Ray is missing or cannot be started they are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra 'ray'")
import ray

import troth
from troth import demo
from troth.core.errors import ImmediateExit, UserError
from troth.engine import cluster as engine_cluster
from troth.engine import guard, parallel_map, parts, using
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
    assert list(parallel_map(lambda n: n + offset, range(20), 2)) == [n + offset for n in range(20)]
    assert list(parallel_map(lambda n: n, [], 2)) == []
    assert list(parallel_map(lambda _: os.getpid(), [1], 2)) == [os.getpid()]  # not worth an actor
    assert parts(3) == 12


def test_the_first_error_is_raised(cluster: None) -> None:
    def fails(number: int) -> int:
        if number > 4:
            raise UserError(f"number {number}", file="some.json")
        return number

    with pytest.raises(UserError, match=r"some\.json: number 5"):
        list(parallel_map(fails, range(10), 2))


def test_a_worker_that_is_killed_loses_nothing(cluster: None, tmp_path: Path) -> None:
    """The actor kills itself once, at the seventh item; the item comes back all the same."""
    mark = str(tmp_path / "killed")

    def dies(number: int) -> int:
        if number == 6 and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number

    assert list(parallel_map(dies, range(12), 2)) == [2 * number for number in range(12)]
    assert os.path.exists(mark)


def test_a_worker_that_is_always_killed_is_one_line(cluster: None) -> None:
    def dies(number: int) -> int:
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(UserError, match="Ray lost part") as caught:
        list(parallel_map(dies, range(4), 2))
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
    inner = engine_cluster.parallel_map

    def spy(function: Any, items: Any, *rest: Any, **more: Any) -> Any:
        counts.append(len(items))
        return inner(function, items, *rest, **more)

    monkeypatch.setattr(engine_cluster, "parallel_map", spy)
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


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
from troth.cli import main
main()
"""


@pytest.mark.skipif(not guard.can_watch(), reason="needs /proc")
def test_an_interrupted_command_leaves_no_process(cluster: None, corpus: dict[str, str], tmp_path: Path) -> None:
    """Also the daemons that Ray starts itself, and that it would leave behind."""
    many = {side: copies(Path(corpus[side]), tmp_path / side) for side in ("gold", "hasty")}
    arguments = ["dst", many["gold"], many["hasty"], "--on", "ray", "--workers", "2"]
    command = [sys.executable, "-c", COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        folder = soon(lambda: mark(process.pid))
        assert folder
        assert soon(lambda: "raylet" in belonging(folder))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "troth: interrupted"
    assert soon(lambda: not belonging(folder) and not Path(folder).exists())


def copies(folder: Path, out: Path) -> str:
    """A folder of dialogues as often as it takes to be shared out."""
    out.mkdir()
    files = sorted(folder.glob("dialogues_*.json"))
    times = 1 + 3 * feed.WORTH_IT // sum(path.stat().st_size for path in files)
    for path in files:
        dialogues = json.loads(path.read_text())
        every = [one | {"dialogue_id": f"{one['dialogue_id']}-{copy}"} for copy in range(times) for one in dialogues]
        (out / path.name).write_text(json.dumps(every))
    if (folder / "schema.json").exists():
        shutil.copy(folder / "schema.json", out)
    return str(out)


def mark(parent: int) -> str:
    """The folder that the guard of a process watches over."""
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            given = (one / "cmdline").read_text().split("\0")
            if "guard.py" in " ".join(given) and (one / "stat").read_text().rpartition(")")[2].split()[1] == str(
                parent
            ):
                return given[-2]
    return ""


def belonging(folder: str) -> str:
    """The command lines of the processes of a folder."""
    lines = []
    for process in guard._writers(folder):
        with suppress(OSError):
            lines.append(Path(f"/proc/{process}/cmdline").read_text())
    return "\n".join(lines)


def soon(value: Callable[[], Any]) -> Any:
    """A value once it is true."""
    end = time.monotonic() + 60
    while not (found := value()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.mark.skipif(not guard.can_watch(), reason="needs /proc")
@pytest.mark.parametrize("ends", [True, False])
def test_who_goes_on_waits_for_ray_to_stop(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    """A command that ends does not; the guard stops what is left."""
    stopped: list[bool] = []
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: stopped.append(True))
    monkeypatch.setattr(engine_cluster, "_init", lambda *_: None)
    expected = ImmediateExit if ends else KeyboardInterrupt
    with pytest.raises(expected) as caught, engine_cluster._connect(2, None, ends=ends):
        raise KeyboardInterrupt
    assert stopped == ([] if ends else [True])
    if ends:
        caught.value.args[0].close()


def test_no_folder_for_ray_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_TMPDIR", "/nowhere")
    line = r"/nowhere: Ray has no folder for its files: .*RAY_TMPDIR names another"
    with pytest.raises(UserError, match=line), engine_cluster._connect(2, None, ends=True):
        pass


def test_nobody_at_the_address_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would try for minutes."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(UserError, match="Ray cannot be reached"), engine_cluster._connect(2, address, ends=True):
            pass


LISTENERS = """
import os, re, sys
from pathlib import Path
import troth.engine.cluster as cluster

def children(pid):
    own = [int(id) for task in Path(f"/proc/{pid}/task").glob("*/children") for id in task.read_text().split()]
    return [pid, *(other for child in own for other in children(child))]

def sockets(pid):
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            yield from re.findall(r"socket:.(\\d+)", os.readlink(link))
        except OSError:
            pass

with cluster._connect(1, None, ends=False) as ray:
    ray.get(ray.remote(lambda: os.getpid()).remote())
    inodes = {inode for pid in children(os.getpid()) for inode in sockets(pid)}
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                print("listens", kind, fields[1])
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_ray_listens_on_this_machine_alone() -> None:
    """Whoever reaches Ray's ports can run code."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-c", LISTENERS], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in (done.stdout + done.stderr).splitlines() if line.startswith("listens")]
    assert lines, "Ray listens somewhere"
    loopback = {"tcp": "0100007F:", "tcp6": "0000000000000000FFFF00000100007F:"}
    assert [line for line in lines if not line[2].startswith((loopback[line[1]], "0" * 31 + "1:"))] == []
