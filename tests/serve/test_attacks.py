"""Requests that are made to freeze the service, to reach it from a web page, or to fill its memory."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.limits import processor_limit
from tests.serve.running import Running
from tests.serve.test_service import DOCUMENT, REQUESTS, SETTINGS
from troth.agents import forbidden, mentions, sources, statements
from troth.core import text_cache
from troth.grounding import evidence, overlap
from troth.grounding.metrics import Models
from troth.models import Entailment, TextPair
from troth.models.fake import FakeNli
from troth.serve import service
from troth.serve.batching import MicroBatcher
from troth.serve.process import Scorers
from troth.text import facts, proper_names

FAKES = ("--nli", "fake", "--lm", "fake", "--metrics", "nli")


def calling(arguments: str, parameters: Any) -> dict[str, Any]:
    """A request to /agent with one call."""
    call = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    return {
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}],
        "tools": [tool],
    }


FREEZING = calling(f'{{"a": "{"a" * 40}!"}}', {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}})


def test_a_pattern_made_to_take_forever_is_searched_at_once() -> None:
    with TestClient(service(SETTINGS)) as client, processor_limit(60):
        answer = client.post("/agent", json=FREEZING)
    assert answer.status_code == 200
    assert "forbidden call" in {finding["kind"] for finding in answer.json()["findings"]}


@pytest.mark.parametrize("depth", [400, 900])
def test_deep_schemas_and_arguments_are_no_fault_of_ours(depth: int) -> None:
    deep: Any = {}
    for _ in range(depth // 2):
        deep = {"properties": {"a": deep}}
    arguments = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)
    with TestClient(service(SETTINGS)) as client:
        assert client.post("/agent", json=calling(arguments, {})).status_code == 200
        assert client.post("/agent", json=calling("{}", deep)).status_code in (200, 422)


# -- what web pages ask ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Origin": "https://pages.example"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8017", "Origin": "http://evil.example:8017"}, 421),
        ({"Host": "localhost:8017"}, 200),
        ({"Host": "127.0.0.1:8017"}, 200),
        ({"Host": "[::1]:8017"}, 200),
        ({"Host": "[::1"}, 421),
    ],
)
def test_only_own_pages_and_programs_may_ask(headers: dict[str, str], status: int) -> None:
    with TestClient(service(replace(SETTINGS, origins="https://pages.example"))) as client:
        sent = {"Content-Type": "application/json"} | headers
        answer = client.post("/dst", json=REQUESTS["/dst"], headers=sent)
        assert answer.status_code == status, answer.text
        if status == 421:
            assert client.get("/health", headers=headers).status_code == status


def test_a_page_of_an_allowed_site_can_ask_and_read() -> None:
    with TestClient(service(replace(SETTINGS, origins="https://pages.example"))) as client:
        asked = {"Origin": "https://pages.example", "Access-Control-Request-Method": "POST"}
        answer = client.options("/dst", headers=asked | {"Access-Control-Request-Headers": "content-type"})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://pages.example"


# -- work that does not end --------------------------------------------------------------------------------------------


class _Freezing(FakeNli):
    """A model that holds the global lock, for good, once it is asked about the word."""

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        if any("FREEZE" in text for pair in pairs for text in pair):
            re.fullmatch("(a+)+", f"{'a' * 60}!")
        return super().probabilities(pairs)


@pytest.mark.slow
def test_work_that_does_not_end_is_killed_and_the_next_request_is_answered() -> None:
    models = Models(nli=_Freezing(), lm="fake", cache=None)
    settings = replace(SETTINGS, metrics="nli", models=models, timeout=3)
    scorers, errors = Scorers(settings), list[Exception]()
    scorers.start(errors.append)
    try:
        with TestClient(service(settings, scorers)) as client:
            while client.get("/ready").status_code != 200:
                assert not errors
            right = client.post("/ground", json=REQUESTS["/ground"])
            assert right.status_code == 200
            frozen = client.post("/ground", json=REQUESTS["/ground"] | {"response": "FREEZE."})
            assert frozen.status_code == 504
            assert client.get("/health").status_code == 200
            answers = [
                client.post("/ground", json=REQUESTS["/ground"]) for _ in range(20)
            ]  # some while it starts again
            assert answers[-1].json() == right.json()
    finally:
        scorers.close()


@pytest.mark.slow
def test_the_freezing_request_stops_neither_health_nor_the_service(tmp_path: Path) -> None:
    with Running(tmp_path / "log", *FAKES, "--timeout", "5") as running:
        assert httpx.post(f"{running.url}/agent", json=FREEZING, timeout=30).status_code == 200
        assert httpx.get(f"{running.url}/health", timeout=5).status_code == 200
        assert httpx.post(f"{running.url}/agent", content=b"{}", timeout=5).status_code == 415
        assert httpx.get(f"{running.url}/health", headers={"Host": "evil.example"}, timeout=5).status_code == 421
        assert running.stop(signal.SIGTERM) == 0


@pytest.mark.slow
def test_a_killed_scorer_is_replaced_after_one_failure_at_most(tmp_path: Path) -> None:
    """What the kernel does when memory is short."""
    body = {"document": DOCUMENT, "response": "Breakfast until ten."}
    with Running(tmp_path / "log", *FAKES) as running:
        assert httpx.post(f"{running.url}/ground", json=body, timeout=60).status_code == 200
        for id in running.scorers():
            os.kill(id, signal.SIGKILL)
        time.sleep(0.5)
        assert httpx.post(f"{running.url}/ground", json=body, timeout=60).status_code in (200, 500)
        assert httpx.post(f"{running.url}/ground", json=body, timeout=60).status_code == 200


# -- memory ------------------------------------------------------------------------------------------------------------

CACHES: list[Any] = [
    facts.find_facts, proper_names.find_names, proper_names.name_words, mentions.find_mentions,
    mentions.find_codes, sources.word_forms, sources.read_content, sources.decode_json, sources.read_objects,
    statements.find_statements,
    forbidden._validator, evidence.passages, overlap._stems, overlap._vocabulary,
]  # fmt: skip


def test_texts_do_not_outlive_their_request() -> None:
    with TestClient(service(replace(SETTINGS, metrics="coverage,facts"))) as client:
        for number in range(300):
            document = f"Room {number} of hotel Number{number} costs {number} dollars."
            assert client.post("/ground", json={"document": document, "response": document}).status_code == 200
            if number % 30 == 0:
                parameters = {"type": "object", "properties": {f"p{number}": {"type": "string"}}}
                assert client.post("/agent", json=calling("{}", parameters)).status_code == 200
            assert sum(len(cache.answers) for cache in CACHES) == 0
            assert overlap._stem.cache_info().currsize == 0


def test_caches_are_bounded_by_the_length_of_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_cache, "MAX_LENGTH", 50_000)
    text_cache.forget_texts()
    for number in range(300):
        facts.find_facts(f"{number} rooms " * 200)
        proper_names.find_names(f"the hotel Number{number} " * 200)
        for cache in (facts.find_facts, proper_names.find_names):
            held: Any = cache
            assert sum(len(key[0]) for key in held.answers) <= 50_000
    text_cache.forget_texts()


def test_nobody_waits_for_an_empty_batch() -> None:
    assert not MicroBatcher(1).is_awaited()


# -- requests that two programs read differently -----------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/ground", "/agent"])
def test_a_key_that_comes_twice_is_refused(path: str) -> None:
    body = (
        b'{"document": "It is open.", "document": "It is shut.", "response": "It is open.", "messages": [], "a": [{}]}'
    )
    with TestClient(service(SETTINGS)) as client:
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()) == (
            422,
            {"detail": "the request does not fit: an object has a key twice"},
        )
        assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 200


def test_two_lengths_are_refused() -> None:
    """A proxy that believes the other one would see another request."""
    headers = {"Content-Type": "application/json", "Content-Length": "2", "Transfer-Encoding": "chunked"}
    with TestClient(service(SETTINGS)) as client:
        assert client.post("/ground", content=b"{}", headers=headers).status_code == 400
