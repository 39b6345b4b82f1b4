"""A service in a process of its own, as users start it, for tests and measurements."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Running:
    """`troth serve` with these options; its log goes to a file."""

    def __init__(self, log: Path, *options: str, port: int | None = None, env: dict[str, str] | None = None) -> None:
        self.port, self.log = port or free_port(), log
        command = [sys.executable, "-m", "troth", "serve", "--port", str(self.port), *options]
        with log.open("ab") as file:
            self.process = subprocess.Popen(command, stderr=file, env=os.environ | (env or {}))
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Running:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise TimeoutError("the service does not start")

    def stop(self, by: int = signal.SIGTERM) -> int:
        """Stops it as an operator would; returns its exit code."""
        self.process.send_signal(by)
        return self.process.wait(60)

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def lines(self) -> list[dict[str, Any]]:
        """The records of its log."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def children(self) -> list[int]:
        """The ids of its processes besides the leading one, of which some score."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return [int(id) for task in tasks.iterdir() for id in (task / "children").read_text().split()]

    def scorers(self) -> list[int]:
        """The ids of the processes that score."""
        return [id for id in self.children() if b"spawn_main" in Path(f"/proc/{id}/cmdline").read_bytes()]

    def resident(self) -> int:
        """Bytes of memory that all its processes hold."""
        ids = [self.process.pid, *self.children()]
        pages = sum(int(Path(f"/proc/{id}/statm").read_text().split()[1]) for id in ids)
        return pages * os.sysconf("SC_PAGE_SIZE")
