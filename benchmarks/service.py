"""The service under load from a second process on loopback: requests a second, p99, batches against one at a time.

python -m benchmarks.service                  # both ways in turn, ten seconds each
python -m benchmarks.service memory 100000    # so many requests to a model that costs nothing; memory after each tenth
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
from tests.serve.running import Running

from benchmarks import timing
from troth import demo

SECONDS, ROUNDS, CLIENTS = 5.0, 2, 64
OPTIONS = ("--metrics", "nli", "--threshold", "0.5", "--timeout", "300")
DOCUMENTS = [json.loads(line) for line in Path(demo.path("documents/careful.jsonl")).read_text().splitlines()]
SCHEMA = str(Path(demo.path("gold")) / "schema.json")


def request(path: str, number: int) -> dict[str, Any]:
    """A request that is like no other: what is asked twice is computed once."""
    if path == "/nlg":
        act = {"act": "OFFER", "slot": "hotel_name", "values": [f"Lantern Rooms {number}"]}
        return {"response": f"There is a hotel called Lantern Rooms {number}.", "acts": {"Stays_1": [act]}}
    row = DOCUMENTS[number % len(DOCUMENTS)]
    return {"document": row["document"], "response": f"{row['response'].rstrip('.')}, number {number}."}


async def load(url: str, path: str, seconds: float) -> list[float]:
    """How long each request took, with so many clients at a time, for some seconds."""
    took: list[float] = []
    end = time.monotonic() + seconds

    async def client(number: int) -> None:
        # A pool of its own: requests that share one wait for each other in the client.
        async with httpx.AsyncClient(base_url=url, timeout=300, verify=False) as http:  # noqa: S501 (plain HTTP)
            while time.monotonic() < end:
                number += CLIENTS
                begin = time.perf_counter()
                answer = await http.post(path, json=request(path, number))
                took.append(time.perf_counter() - begin)
                answer.raise_for_status()

    await asyncio.gather(*map(client, range(CLIENTS)))
    return took


def measured(url: str, path: str) -> tuple[float, list[float]]:
    """Seconds that the load took from a second process, and how long each request did."""
    code = "import asyncio, json, sys, time\nfrom benchmarks.service import load\nbegin = time.monotonic()\n"
    code += "took = asyncio.run(load(*sys.argv[1:3], float(sys.argv[3])))\n"
    code += "print(json.dumps([time.monotonic() - begin, took]))"  # the last ones end after the time for sending them
    command = [sys.executable, "-c", code, url, path, str(SECONDS)]
    seconds, took = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return seconds, took


def under_load(path: str) -> dict[str, tuple[float, float]]:
    """By size of batch: requests a second, and the time within which 99 of 100 are answered. Both sizes in turn."""
    log = Path(".bench") / "serve.log"
    sizes = ("64", "1")
    with (
        Running(log, *OPTIONS, "--schema", SCHEMA, "--batch", "64") as many,
        Running(log, *OPTIONS, "--schema", SCHEMA, "--batch", "1") as single,
    ):
        spent: dict[str, float] = dict.fromkeys(sizes, 0.0)
        took: dict[str, list[float]] = {size: [] for size in sizes}
        for _ in range(ROUNDS):
            for size, one in zip(sizes, (many, single), strict=True):
                seconds, times = measured(one.url, path)
                spent[size] += seconds
                took[size] += times
        many.stop(), single.stop()
    return {size: (len(took[size]) / spent[size], sorted(took[size])[int(0.99 * len(took[size]))]) for size in sizes}


def ask(port: int, numbers: range) -> None:
    """Asks these questions one after the other on one connection, by a client that takes less time than the service."""
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    for number in numbers:
        connection.request("POST", "/ground", json.dumps(request("/ground", number)))
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"request {number}: {answer.status} {answer.read()!r}")
        answer.read()
    connection.close()


def memory(requests: int) -> None:
    """What the service holds after each tenth of the requests, which eight clients send."""
    held = []
    with Running(Path(".bench") / "serve.log", "--nli", "fake", "--lm", "fake", *OPTIONS) as service:
        for tenth in range(10):
            asked = range(tenth * requests // 10, (tenth + 1) * requests // 10)
            with ThreadPoolExecutor(8) as clients:
                list(clients.map(lambda own: ask(service.port, own), [asked[start::8] for start in range(8)]))
            held.append(f"{service.resident() / 1e6:.1f}")
            print(f"{asked.stop:,} requests: {held[-1]} MB", flush=True)
        service.stop()
    timing.show(f"memory of the service over {requests:,} requests", [("MB after each tenth", ", ".join(held))])


def main() -> None:
    Path(".bench").mkdir(exist_ok=True)
    for path, what in (("/ground", "a response and its document"), ("/nlg", "a response with one act")):
        found = under_load(path)
        (many, late), (single, slow) = found["64"], found["1"]
        timing.show(
            f"the service under load: {path}, {what}; {CLIENTS} clients in a second process, embedded entailment model",
            [
                ("in batches", f"{many:.0f} requests/s, p99 {1000 * late:.0f} ms"),
                ("one at a time (--batch 1)", f"{single:.0f} requests/s, p99 {1000 * slow:.0f} ms"),
                ("batches / one at a time", f"{many / single:.2f} ×"),
            ],
        )


if __name__ == "__main__":
    memory(int(sys.argv[2])) if sys.argv[1:2] == ["memory"] else main()
