"""Two nodes of Ray on this machine, as `ray start` makes them, for tests and measurements."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.serve.running import free_port

HEAD, SECOND = "127.0.0.2", "127.0.0.3"  # Ray takes 127.0.0.1 for the machine's outer address
START = 90  # seconds that a node may take
READY = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False); assert len(ray.nodes()) == int(sys.argv[2])"


class TwoNodes:
    """Ray's head and one more node, each with one processor and an address of its own on loopback.

    While they run, RAY_AUTH_TOKEN holds a token that was made for them, without which Ray lets nobody in.
    """

    def __init__(self, log: Path, **settings: str) -> None:
        """`settings`: further environment variables of the nodes."""
        port = free_port()
        while port < 20_000:  # below that Ray's workers take ports
            port = free_port()
        self.address, self.log = f"{HEAD}:{port}", log
        self.token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.settings = settings
        self.folder = tempfile.mkdtemp(prefix="ray")  # short: sockets have paths of 107 characters
        self.nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> TwoNodes:
        self.before = {name: os.environ.get(name) for name in self.token}
        os.environ.update(self.token)
        port = self.address.rpartition(":")[2]
        try:
            self._start(HEAD, "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}")
            self._start(SECOND, f"--address={self.address}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, ip: str, *options: str) -> None:
        command = [
            str(Path(sys.executable).parent / "ray"),
            "start",
            "--block",
            "--num-cpus=1",
            "--disable-usage-stats",
        ]
        command += ["--object-store-memory=300000000", f"--node-ip-address={ip}", *options]
        with self.log.open("ab") as out:
            env = (
                os.environ | {"RAY_worker_niceness": "0"} | self.settings
            )  # Ray's own is 15: starved where others work
            self.nodes.append(subprocess.Popen(command, stdout=out, stderr=out, env=env, start_new_session=True))
        check = [sys.executable, "-c", READY, self.address, str(len(self.nodes))]
        end = time.monotonic() + START
        while subprocess.run(check, capture_output=True, check=False).returncode:
            if time.monotonic() > end or self.nodes[-1].poll() is not None:
                raise ConnectionError(f"Ray does not start on two nodes; see {self.log}")

    def leave(self) -> None:
        """The second node is gone at once, with all its processes, as when a machine loses its power."""
        _end(self.nodes[1])

    def __exit__(self, *_: object) -> None:
        for node in reversed(self.nodes):
            node.terminate()
            with suppress(subprocess.TimeoutExpired):
                node.wait(20)
            _end(node)
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(self.folder, ignore_errors=True)


def _end(node: subprocess.Popen[bytes]) -> None:
    """Kills a node and what it has started: all of it is in its session, though not always in its group."""
    listed = subprocess.run(["ps", "-s", str(node.pid), "-o", "pid="], capture_output=True, text=True, check=False)
    for pid in listed.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    node.wait()
