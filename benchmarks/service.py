"""The service under load from a second process on loopback: requests a second, p99, batches against one at a time.

python -m benchmarks.service                  # both ways, ten seconds each
python -m benchmarks.service memory 100000    # so many requests; memory at the beginning and at the end
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
from tests.serve.running import Running

from benchmarks import timing
from troth import demo

SECONDS, CLIENTS = 10.0, 64
OPTIONS = ("--metrics", "nli", "--threshold", "0.5", "--timeout", "300")
DOCUMENTS = [json.loads(line) for line in Path(demo.path("documents/careful.jsonl")).read_text().splitlines()]


async def load(url: str, seconds: float, most: int | None = None) -> list[float]:
    """How long each request took, with so many clients at a time, for some seconds or so many requests."""
    took: list[float] = []
    end = time.monotonic() + seconds

    async def client(http: httpx.AsyncClient, number: int) -> None:
        while time.monotonic() < end and (most is None or len(took) < most):
            number += CLIENTS
            row = DOCUMENTS[number % len(DOCUMENTS)]
            body = {"document": row["document"], "response": f"{row['response']} Number {number}."}
            begin = time.perf_counter()
            answer = await http.post("/ground", json=body)
            took.append(time.perf_counter() - begin)
            answer.raise_for_status()

    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as http:
        await asyncio.gather(*(client(http, number) for number in range(CLIENTS)))
    return took


def under_load(*options: str) -> tuple[float, float]:
    """Requests a second, and the time within which 99 of 100 are answered."""
    with Running(Path(".bench") / "serve.log", *OPTIONS, *options) as service:
        asyncio.run(load(service.url, 2.0))
        code = "import asyncio, json, sys, time\nfrom benchmarks.service import load\nbegin = time.monotonic()\n"
        code += f"took = asyncio.run(load(sys.argv[1], {SECONDS}))\nprint(json.dumps([time.monotonic() - begin, took]))"
        out = subprocess.run([sys.executable, "-c", code, service.url], capture_output=True, text=True, check=True)
        seconds, took = json.loads(out.stdout)  # the last requests end later than the time for sending them
        service.stop()
    return len(took) / seconds, sorted(took)[int(0.99 * len(took))]


def memory(requests: int) -> None:
    """What the service holds after a tenth of the requests, and after all."""
    with Running(Path(".bench") / "serve.log", "--nli", "fake", "--lm", "fake", *OPTIONS) as service:
        held = []
        for share in (0.1, 0.9):
            asyncio.run(load(service.url, 3600.0, int(share * requests)))
            held.append(service.resident() / 1e6)
        service.stop()
    timing.show(f"memory of the service over {requests:,} requests", [
        ("after a tenth", f"{held[0]:.0f} MB"), ("after all", f"{held[1]:.0f} MB"),
    ])  # fmt: skip


def main() -> None:
    Path(".bench").mkdir(exist_ok=True)
    (many, late), (single, slow) = under_load("--batch", "64"), under_load("--batch", "1")
    timing.show(
        f"the service under load, {CLIENTS} clients in a second process, embedded entailment model",
        [
            ("in batches", f"{many:.0f} requests/s, p99 {1000 * late:.0f} ms"),
            ("one at a time (--batch 1)", f"{single:.0f} requests/s, p99 {1000 * slow:.0f} ms"),
            ("batches / one at a time (at least 3 wanted)", f"{many / single:.2f} ×"),
        ],
    )


if __name__ == "__main__":
    memory(int(sys.argv[2])) if sys.argv[1:2] == ["memory"] else main()
