"""The service: answers, limits, keys, logs, figures, batches; and that it scores as the command line does."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.eventloop import finished
from troth import demo, models, readers
from troth.core.errors import UserError
from troth.core.records import Act, Grounded
from troth.grounding.doubts import doubted_words
from troth.grounding.metrics import Models, grade, make_graders
from troth.integrations.evaluate import load
from troth.models import Entailment, TextPair
from troth.responses.rerank import rerank
from troth.serve import ServeSettings, service
from troth.serve import settings as settings_module
from troth.serve.batching import MicroBatcher
from troth.serve.watch import JsonLines

FAKES = Models(nli="fake", lm="fake", cache=None)
SETTINGS = ServeSettings(metrics="nli,coverage", models=FAKES, threshold=0.5)
DOCUMENT, RESPONSE = "The hotel has a pool and serves breakfast until ten.", "Breakfast is served until noon."
SCHEMA = [{"service_name": "Stays_1", "slots": [{"name": "hotel_name", "description": "name of the hotel"}]}]
ACTS = {"Stays_1": [{"act": "OFFER", "slot": "hotel_name", "values": ["Lantern Rooms"]}]}
TALK = [
    {"role": "user", "content": "Cancel order 7."},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "cancel", "arguments": '{"id": 7}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "done"},
    {"role": "assistant", "content": "Order 7 has been cancelled."},
]
REQUESTS: dict[str, dict[str, Any]] = {
    "/ground": {"document": DOCUMENT, "response": RESPONSE},
    "/nlg": {"response": "The hotel name is Lantern Rooms.", "acts": ACTS, "schema": SCHEMA},
    "/rerank": {"candidates": ["Sure.", "The hotel name is Lantern Rooms."], "acts": ACTS, "schema": SCHEMA},
    "/dst": {"references": [{"hotel-area": "east"}], "predictions": [{"hotel-area": "west"}]},
    "/agent": {"messages": TALK, "expected": [{"name": "cancel", "arguments": {"id": 7}}]},
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(service(SETTINGS)) as opened:
        yield opened


# -- answers -----------------------------------------------------------------------------------------------------------


def test_ground_has_the_values_of_the_metrics(client: TestClient) -> None:
    answer = client.post("/ground", json=REQUESTS["/ground"]).json()
    item = Grounded("0", DOCUMENT, RESPONSE)
    expected = {one.metric.name: grade(one, [item])[0] for one in make_graders("nli,coverage", FAKES)}
    assert {one["metric"]: one["value"] for one in answer["scores"]} == expected
    assert answer["faithful"] is (expected["nli"] >= 0.5)  # type: ignore[operator]
    assert answer["words"] is None
    assert answer["scores"][0]["signature"].startswith("NLI|nli:")


def test_words_are_those_of_the_response(client: TestClient) -> None:
    answer = client.post("/ground", json=REQUESTS["/ground"] | {"words": True}).json()
    assert [word["text"] for word in answer["words"]] == RESPONSE.split()
    assert answer["unsupported"] == [one.text for one in doubted_words(DOCUMENT, RESPONSE) if one.unsupported]
    assert "noon." in answer["unsupported"]


def test_what_cannot_be_scored_is_none_with_a_reason(client: TestClient) -> None:
    answer = client.post("/ground", json={"document": " ", "response": "Yes."}).json()
    assert answer["faithful"] is None
    assert answer["reason"] == answer["scores"][0]["reason"] == "the document is empty"


def test_no_verdict_without_a_rule() -> None:
    with TestClient(service(replace(SETTINGS, threshold=None))) as client:
        answer = client.post("/ground", json=REQUESTS["/ground"]).json()
    assert answer["faithful"] is None
    assert "calibration" in answer["reason"]


def test_acts_and_candidates(client: TestClient) -> None:
    said = client.post("/nlg", json=REQUESTS["/nlg"]).json()
    assert said["faithful"] is True
    silent = client.post("/nlg", json=REQUESTS["/nlg"] | {"response": "Sure."}).json()
    assert silent["faithful"] is False
    assert silent["acts"][0]["missed"] == ["Lantern Rooms"]
    chosen = client.post("/rerank", json=REQUESTS["/rerank"]).json()
    schema = readers.schema(demo.path("gold"))
    acts = {"Stays_1": [Act("OFFER", "hotel_name", ("Lantern Rooms",))]}
    expected = rerank(REQUESTS["/rerank"]["candidates"], acts, schema, models.nli("fake"))
    assert (chosen["choice"], chosen["response"], chosen["fidelity"]) == (1, expected.response, expected.fidelity)


def test_states_and_calls(client: TestClient) -> None:
    scores = client.post("/dst", json=REQUESTS["/dst"] | {"metrics": ["jga"]}).json()["scores"]
    expected = load("jga").compute(predictions=[[{"hotel-area": "west"}]], references=[[{"hotel-area": "east"}]])
    assert [(one["metric"], one["value"], one["signature"]) for one in scores] == [
        ("jga", expected["jga"], expected["jga_signature"])
    ]
    answer = client.post("/agent", json=REQUESTS["/agent"]).json()
    assert {one["metric"]: one["value"] for one in answer["scores"]}["calls_right"] == 1.0
    lied = client.post("/agent", json={"messages": [TALK[0], TALK[3]]}).json()
    assert lied["findings"][0]["kind"] == "claim"


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/ground", b"{", "does not fit"),
        ("/ground", b'{"document": 1, "response": "a"}', "$.document"),
        ("/ground", b'{"document": "a", "response": "b", "respnse": "c"}', "respnse"),
        ("/ground", b'{"document": "\xff", "response": "b"}', "does not fit"),
        ("/ground", b"[" * 100_000, "does not fit"),
        ("/nlg", b'{"response": "a", "acts": {"Stays_1": []}}', "no schema"),
        ("/nlg", json.dumps({"response": "a", "acts": {"Stay": [{"act": "X"}]}, "schema": SCHEMA}).encode(), "Stays_"),
        ("/rerank", json.dumps({"candidates": [], "acts": {}, "schema": SCHEMA}).encode(), "no candidate"),
        ("/dst", b'{"references": [{"a": "b"}], "predictions": []}', "0 predicted states for 1"),
        ("/dst", b'{"references": [{"a": "b"}], "predictions": [null], "metrics": ["jgaa"]}', "did you mean 'jga'"),
        ("/agent", b'{"messages": [{"role": "pope"}]}', "pope"),
        ("/agent", b'{"messages": [], "rule": "exakt"}', "exact"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_one_line(client: TestClient, path: str, body: bytes, word: str) -> None:
    answer = client.post(path, content=body)
    assert answer.status_code == 422
    assert word in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


# -- limits ------------------------------------------------------------------------------------------------------------


class _Slow:
    """An entailment model that answers when it is let go, and counts its calls."""

    name, shortened, cut = "slow", frozenset[TextPair](), 0

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        self.calls.append(len(pairs))
        self.begun.set()
        assert self.go.wait(20)
        return [Entailment(0.9, 0.05, 0.05) for _ in pairs]


def _slow(**limits: Any) -> tuple[_Slow, ServeSettings]:
    model = _Slow()
    return model, ServeSettings(metrics="nli", models=Models(nli=model, lm="fake", cache=None), **limits)


def _ask(client: TestClient, answers: list[Any], **more: str) -> threading.Thread:
    body = REQUESTS["/ground"] | more
    thread = threading.Thread(target=lambda: answers.append(client.post("/ground", json=body)))
    thread.start()
    return thread


def test_a_long_body_is_413_with_and_without_a_length(client: TestClient) -> None:
    body = json.dumps({"document": "a" * 300_000, "response": "b"}).encode()
    assert client.post("/ground", content=body).status_code == 413
    assert client.post("/ground", content=iter([body[:200_000], body[200_000:]])).status_code == 413


def test_too_many_at_a_time_are_429_and_the_accepted_are_answered() -> None:
    model, settings = _slow(concurrency=2)
    with TestClient(service(settings)) as client:
        answers: list[Any] = []
        threads = [_ask(client, answers)]
        assert model.begun.wait(20)
        threads.append(_ask(client, answers, response="Another one."))
        while "at_work 2.0" not in client.get("/metrics").text:
            pass
        refused = client.post("/ground", json=REQUESTS["/ground"])
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        model.go.set()
        for thread in threads:
            thread.join()
    assert [one.status_code for one in answers] == [200, 200]


def test_what_takes_too_long_is_504_and_is_not_scored_later() -> None:
    model, settings = _slow(timeout=0.2)
    with TestClient(service(settings)) as client:
        answers: list[Any] = []
        thread = _ask(client, answers)
        assert model.begun.wait(20)
        assert client.post("/ground", json=REQUESTS["/ground"] | {"response": "Waits in vain."}).status_code == 504
        thread.join()
        model.go.set()
    assert answers[0].status_code == 504
    assert len(model.calls) == 1


def test_requests_that_wait_are_scored_in_one_batch() -> None:
    model, settings = _slow()
    with TestClient(service(settings)) as client:
        answers: list[Any] = []
        threads = [_ask(client, answers)]
        assert model.begun.wait(20)
        threads += [_ask(client, answers, response=f"Answer {number}.") for number in range(5)]
        while "at_work 6.0" not in client.get("/metrics").text:
            pass
        model.go.set()
        for thread in threads:
            thread.join()
        figures = client.get("/metrics").text
    assert [one.status_code for one in answers] == [200] * 6
    assert len(model.calls) == 2
    assert 'troth_batch_size_bucket{le="1.0"} 1.0' in figures
    assert "troth_batch_size_sum 6.0" in figures


def test_one_bad_item_does_not_fail_its_batch() -> None:
    def score(items: Sequence[int]) -> list[int]:
        if 3 in items:
            raise ValueError("three")
        return [2 * item for item in items]

    async def run() -> list[Any]:
        batcher = MicroBatcher(10)
        answers = await asyncio.gather(*(batcher.answer(score, n) for n in range(5)), return_exceptions=True)
        await batcher.close()
        return answers

    answers = finished(run)
    assert [answer for answer in answers if not isinstance(answer, ValueError)] == [0, 2, 4, 8]
    assert isinstance(answers[3], ValueError)


def test_a_panic_fails_one_request_and_no_other() -> None:
    class Panic(BaseException):
        """As Rust code raises it."""

    def score(items: Sequence[int]) -> list[int]:
        if 1 in items:
            raise Panic
        return list(items)

    async def run() -> list[Any]:
        batcher = MicroBatcher(10)
        answers = await asyncio.gather(*(batcher.answer(score, n) for n in range(3)), return_exceptions=True)
        await batcher.close()
        return answers

    answers = finished(lambda: asyncio.wait_for(run(), 20))
    assert (answers[0], answers[2]) == (0, 2)
    assert isinstance(answers[1], RuntimeError)


def test_requests_whose_time_is_up_leave_the_queue_and_a_batch_that_is_tried_again() -> None:
    calls: list[list[int]] = []
    go = threading.Event()

    def score(items: Sequence[int]) -> list[int]:
        calls.append(list(items))
        assert go.wait(20)
        if len(items) > 1:
            raise ValueError("together")
        return list(items)

    async def run() -> list[Any]:
        batcher = MicroBatcher(10)
        asked = [asyncio.create_task(batcher.answer(score, n)) for n in range(3)]
        await asyncio.sleep(0.05)  # these three are at work
        late = asyncio.create_task(batcher.answer(score, 3))
        await asyncio.sleep(0)
        for one in (asked[1], late):
            one.cancel()
        await asyncio.sleep(0)
        assert not batcher._queue
        go.set()
        answers = await asyncio.gather(*asked, late, return_exceptions=True)
        await batcher.close()
        return answers

    answers = finished(run)
    assert (answers[0], answers[2]) == (0, 2)
    assert calls == [[0, 1, 2], [0], [2]]


def test_a_batch_has_at_most_so_many_and_closing_answers_all() -> None:
    sizes: list[int] = []
    busy, go = threading.Event(), threading.Event()

    def score(items: Sequence[int]) -> list[int]:
        busy.set()
        assert go.wait(20)
        return [10 * item for item in items]

    async def run() -> list[int]:
        batcher = MicroBatcher(2, observe=sizes.append)
        first = asyncio.create_task(batcher.answer(score, 0))
        await asyncio.to_thread(busy.wait, 20)
        others = [asyncio.create_task(batcher.answer(score, n)) for n in range(1, 6)]  # wait while the first is scored
        await asyncio.sleep(0)
        go.set()
        await batcher.close()
        return list(await asyncio.gather(first, *others))

    assert finished(run) == [0, 10, 20, 30, 40, 50]
    assert sizes == [1, 2, 2, 1]


def test_items_of_different_functions_are_not_scored_together() -> None:
    sizes: list[int] = []

    async def run() -> list[int]:
        batcher = MicroBatcher(2, observe=sizes.append)
        requests = [asyncio.create_task(batcher.answer(lambda items: items, n)) for n in range(5)]
        answers = asyncio.gather(*requests)
        await asyncio.sleep(0)
        await batcher.close()
        return list(await answers)

    assert finished(run) == [0, 1, 2, 3, 4]
    assert sizes == [1] * 5


# -- keys, logs, figures -----------------------------------------------------------------------------------------------


def test_a_key_is_needed_where_there_is_one() -> None:
    with TestClient(service(replace(SETTINGS, key="sésame"))) as client:
        assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 401
        for wrong in ("Bearer ", "Bearer sesame", "sésame", "Bearer " + "a" * 5000):
            sent = {b"Authorization": wrong.encode()}
            assert client.post("/ground", headers=sent, json={}).status_code == 401
        right = {b"Authorization": "Bearer sésame".encode()}
        assert client.post("/ground", headers=right, json=REQUESTS["/ground"]).status_code == 200
        assert client.get("/metrics").status_code == 401
        assert client.get("/health").status_code == client.get("/").status_code == 200
        assert client.get("/openapi.json").json()["security"] == [{"key": []}]


def test_an_empty_key_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings_module.KEY, " ")
    with pytest.raises(UserError, match="empty"):
        settings_module.key_of_environment()
    monkeypatch.setenv(settings_module.KEY, " from a file\n")
    assert settings_module.key_of_environment() == "from a file"


@pytest.mark.parametrize("asked", [False, True])
def test_logs_hold_no_text_unless_asked(caplog: pytest.LogCaptureFixture, asked: bool) -> None:
    with TestClient(service(replace(SETTINGS, log_text=asked))) as client, caplog.at_level(logging.INFO, "troth.serve"):
        client.post("/ground", json=REQUESTS["/ground"], headers={"X-Request-Id": "mine-1"})
        client.get("/nowhere/secret")
    lines = [JsonLines().format(record) for record in caplog.records]
    first, second = map(json.loads, lines)
    assert ("breakfast" in "".join(lines)) is asked
    assert (first["id"], first["path"], first["status"], first["event"]) == ("mine-1", "/ground", 200, "request")
    assert (second["path"], second["status"]) == ("other", 404)
    assert "secret" not in lines[1]


def test_an_error_of_ours_is_500_and_its_text_is_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, settings = _slow()
    monkeypatch.setattr(model, "probabilities", lambda _: 1 / 0)
    with TestClient(service(settings)) as client, caplog.at_level(logging.INFO, "troth.serve"):
        answer = client.post("/ground", json=REQUESTS["/ground"])
    assert (answer.status_code, answer.json()) == (500, {"detail": "internal error; the log has the place"})
    line = json.loads(JsonLines().format(caplog.records[0]))
    assert line["error"] == "ZeroDivisionError"
    assert line["at"][-1].startswith("test_service.py:")


def test_a_model_that_is_missing_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise UserError("http://127.0.0.1:9: does not answer")

    lm = models.lm("fake")
    monkeypatch.setattr(lm, "logprobs", gone)
    with TestClient(service(replace(SETTINGS, models=Models(nli="fake", lm=lm, cache=None)))) as other:
        answer = other.post("/ground", json=REQUESTS["/ground"] | {"words": True})
    assert answer.status_code == 503
    assert answer.json()["detail"] == "http://127.0.0.1:9: does not answer"


def test_a_model_that_is_not_known_is_refused_at_the_start() -> None:
    with pytest.raises(UserError, match="nowhere/model"):
        service(replace(SETTINGS, models=Models(nli="nowhere/model", cache=None)))


def test_health_figures_and_the_page(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"
    client.get("/does/not/exist")
    text = client.get("/metrics").text
    assert 'path="other",status="404"' in text
    assert "does/not" not in text
    page = client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert {client.get(path).status_code for path in ("/page.js", "/page.css")} == {200}


def test_the_description_names_every_question(client: TestClient) -> None:
    description = client.get("/openapi.json").json()
    assert set(description["paths"]) == {*REQUESTS, "/health"}
    for path in REQUESTS:
        assert {"200", "413", "422", "429", "504"} <= set(description["paths"][path]["post"]["responses"])
    assert "Score" in description["components"]["schemas"]


def test_memory_of_long_texts_is_let_go() -> None:
    nli = models.nli("fake", cache=None)
    settings = replace(SETTINGS, models=Models(nli=nli, lm="fake", cache=None))
    settings.open_models.entailment_model.shortened.add(("a", "b"))  # type: ignore[attr-defined]
    with TestClient(service(settings)) as client:
        client.post("/ground", json=REQUESTS["/ground"])
    assert not nli.shortened


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UserError, match="batch"):
        ServeSettings(batch=0)
    with pytest.raises(UserError, match="one of the two"):
        ServeSettings(threshold=0.5, calibration="x")
