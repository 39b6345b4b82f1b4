"""The service as a process: what it has accepted is answered, and mistakes at the start are one line."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'serve'")
from tests.examples import blocks
from tests.serve.running import Running
from tests.serve.test_service import DOCUMENT

FAKES = ("--nli", "fake", "--lm", "fake", "--metrics", "nli", "--threshold", "0.5")


class Asker(threading.Thread):
    """Asks without pause, each time on a new connection. Notes the ids of requests that got an answer."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.done = url, threading.Event()
        self.answered: dict[str, int] = {}

    def run(self) -> None:
        number = 0
        while not self.done.is_set():
            number += 1
            id = uuid.uuid4().hex
            body = {"document": DOCUMENT, "response": f"Breakfast until {number}."}
            try:
                answer = httpx.post(f"{self.url}/ground", json=body, headers={"X-Request-Id": id}, timeout=60)
                self.answered[id] = answer.status_code
            except httpx.TransportError:  # nobody listens at the moment, or the connection was never taken
                self.done.wait(0.02)


def test_a_restart_loses_no_accepted_request(tmp_path: Path) -> None:
    """Every request that the log has was answered, with 200 or 503, whatever moment the service was stopped at."""
    log = tmp_path / "log"
    with Running(log, *FAKES) as first:
        askers = [Asker(first.url) for _ in range(4)]
        for one in askers:
            one.start()
        try:
            while sum(len(one.answered) for one in askers) < 20:
                pass
            assert first.stop() == 0
            before = sum(len(one.answered) for one in askers)
            with Running(log, *FAKES, port=first.port) as second:
                while sum(len(one.answered) for one in askers) < before + 20:
                    pass
                for one in askers:
                    one.done.set()
                for one in askers:
                    one.join()
                assert second.stop() == 0
        finally:
            for one in askers:
                one.done.set()
    answered = {id: status for one in askers for id, status in one.answered.items()}
    logged = {line["id"]: line["status"] for line in first.lines() if line.get("path") == "/ground"}
    assert {200} <= set(answered.values()) <= {200, 503}  # the second one is live before its models are loaded
    assert logged == answered


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_is_clean(tmp_path: Path, by: int) -> None:
    with Running(tmp_path / "log", *FAKES) as one:
        assert one.stop(by) == 0
        assert "internal error" not in one.log.read_text()
        assert "Traceback" not in one.log.read_text()


def test_a_client_that_leaves_is_no_error_of_ours(tmp_path: Path) -> None:
    with Running(tmp_path / "log", *FAKES) as one:
        with socket.create_connection(("127.0.0.1", one.port)) as gone:
            head = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100"
            gone.sendall(b"POST /ground HTTP/1.1\r\n" + head + b"\r\n\r\n{")
        assert one.stop() == 0
        assert [line["status"] for line in one.lines() if line.get("path") == "/ground"] == [499]
        assert not [line for line in one.lines() if line["level"] == "error"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--metrics", "nlii"], "did you mean 'nli'?"),
        (["--calibration", "nowhere.json"], "nowhere.json: cannot be read"),
        (["--schema", "nowhere.json"], "nowhere.json: no such file or folder"),
        (["--body", "much"], "'much' is not a size"),
        (["--threshold", "nan"], "not a finite number"),
        (["--nli", "empty"], "empty"),  # what only loading it shows
        (["--port", "1", "--host", "256.0.0.1"], "cannot listen on 256.0.0.1:1"),
    ],
)
def test_what_is_wrong_at_the_start_is_one_line(tmp_path: Path, options: list[str], line: str) -> None:
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-m", "troth", "serve", "--nli", "fake", "--lm", "fake", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("troth: ")
    assert line in last
    assert "Traceback" not in done.stderr


def test_the_client_and_the_guardrail_of_the_docs(tmp_path: Path) -> None:
    client, guardrail = [block.text for block in blocks("serve.md", "python")[:2]]
    names: dict[str, Any] = {}
    with Running(tmp_path / "log", *FAKES) as service:
        exec(client.replace("http://127.0.0.1:8017", service.url), names)  # noqa: S102 (our own page)
        exec(guardrail, names)  # noqa: S102
        asked: list[float] = []

        def generate(_history: list[str], document: str, alpha: float) -> str:
            asked.append(alpha)
            return document if alpha else "Pets swim for free."

        assert names["guarded"](["Is there breakfast?"], DOCUMENT, generate) == DOCUMENT
        assert asked == [0.0, 0.25]
        names["client"].close()
