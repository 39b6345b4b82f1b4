"""A live run on disk against a server with a policy of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import troth
from tests.agents import server as servers
from tests.agents.server import PolicyServer
from troth.agents.live.run import run_agent
from troth.core.trajectories import Trajectory
from troth.models import client
from troth.readers import trajectories


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PolicyServer]:
    monkeypatch.setattr(client, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with servers.running() as state:
        yield state


class Files:
    """Tasks and tools on disk, and a run of the policy on them."""

    def __init__(self, folder: Path, server: PolicyServer, count: int = 3) -> None:
        self.folder, self.server = folder, server
        (folder / "tasks.json").write_text(json.dumps(servers.tasks(count)))
        (folder / "tools.json").write_text(json.dumps(servers.TOOLS))

    def run(self, **options: Any) -> troth.Result:
        given = {"tools": self.folder / "tools.json", "out": self.folder / "run", "timeout": 5.0}
        return run_agent(f"endpoint:{self.server.url}#m", self.folder / "tasks.json", **{**given, **options})

    def trial(self, name: str, number: int = 0) -> list[Trajectory]:
        return list(trajectories.read(str(self.folder / "run" / name / f"trial-{number}.jsonl")))

    @property
    def missing(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads((self.folder / "run/missing.json").read_bytes())
        return listed


@pytest.fixture
def files(tmp_path: Path, server: PolicyServer) -> Files:
    return Files(tmp_path, server)
