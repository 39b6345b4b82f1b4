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
from troth.grounding.metrics import Models, grade, make_graders
from troth.integrations.evaluate import load
from troth.models import Entailment, TextPair
from troth.responses.rerank import rerank
from troth.serve import ServeSettings, faithfulness, service
from troth.serve import settings as settings_module
from troth.serve.batching import MicroBatcher
from troth.serve.process import WARMING
from troth.serve.watch import JsonLines
from troth.storage.explorer import ClaimSupport

FAKES = Models(nli="fake", lm="fake", cache=None)
SETTINGS = ServeSettings(metrics="nli,coverage", models=FAKES, threshold=0.5, hosts="testserver")
JSON = {"Content-Type": "application/json"}
DOCUMENT, RESPONSE = "The hotel has a pool and serves breakfast until ten.", "Breakfast is served until noon."
RETURNS = (
    "Items can be returned within 30 days after delivery. They must be unopened. "
    "A return costs 14.90 EUR, which is taken off the refund."
)
RIGHT = "Unopened items can be returned within 30 days. A return costs 14.90 EUR."
WRONG = "Items can also be opened and returned within 60 days. A return costs 19.90 EUR."
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
    answer = client.post("/ground", json=REQUESTS["/ground"] | {"signatures": True}).json()
    item = Grounded("0", DOCUMENT, RESPONSE)
    expected = {one.metric.name: grade(one, [item])[0] for one in make_graders("nli,coverage", FAKES)}
    assert {one["metric"]: one["value"] for one in answer["scores"]} == expected
    assert answer["faithful"] is (expected["nli"] >= 0.5)  # type: ignore[operator]
    assert "words" not in answer
    assert answer["scores"][0]["signature"].startswith("NLI|nli:")


def test_words_are_those_of_the_response(client: TestClient) -> None:
    answer = client.post("/ground", json=REQUESTS["/ground"] | {"words": True}).json()
    assert [word["text"] for word in answer["words"]] == RESPONSE.split()
    assert answer["unsupported"] == [one["text"] for one in answer["words"] if one["support"] == "unsupported"]
    assert "noon." in answer["unsupported"]


def test_wrong_facts_are_marked_wrong_everywhere(client: TestClient) -> None:
    answer = client.post("/ground", json={"document": RETURNS, "response": WRONG, "words": True}).json()
    marked = {one["text"] for one in answer["words"] if one["support"] == "unsupported"}
    assert set(answer["unsupported"]) == marked
    assert {"opened", "60", "19.90"} <= marked
    right = client.post("/ground", json={"document": RETURNS, "response": RIGHT, "words": True}).json()
    assert "unsupported" not in right


def test_answers_are_small(client: TestClient) -> None:
    answer = client.post("/ground", json=REQUESTS["/ground"])
    assert len(answer.content) < 500
    assert b"null" not in answer.content


def test_what_cannot_be_scored_is_none_with_a_reason(client: TestClient) -> None:
    answer = client.post("/ground", json={"document": " ", "response": "Yes."}).json()
    assert "faithful" not in answer
    assert answer["reason"] == answer["scores"][0]["reason"] == "the document is empty"


def test_no_verdict_without_a_rule() -> None:
    with TestClient(service(replace(SETTINGS, threshold=None))) as client:
        answer = client.post("/ground", json=REQUESTS["/ground"]).json()
        state = client.get("/ready").json()
    assert "faithful" not in answer
    assert "calibration" in answer["reason"]
    assert answer["scores"]
    assert "verdict" not in state


def test_the_log_warns_where_the_default_metrics_have_no_verdict(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faithfulness, "match_default", lambda _: {})
    for metrics, threshold, expected in (("", None, 1), ("", 0.5, 0), ("nli", None, 0)):
        caplog.clear()
        with TestClient(service(replace(SETTINGS, metrics=metrics, threshold=threshold))):
            warnings = [record for record in caplog.records if record.getMessage() == "no verdicts"]
        assert len(warnings) == expected


def test_an_unfaithful_response_has_a_finding() -> None:
    with TestClient(service(replace(SETTINGS, metrics="faith", threshold=2.0))) as client:
        answer = client.post("/ground", json={"document": RETURNS, "response": RIGHT}).json()
    assert answer["faithful"] is False
    assert answer["findings"]
    claims = [
        ClaimSupport(name, "supported", chance, 0.0, 1 - chance, "p") for name, chance in (("a", 0.9), ("b", 0.6))
    ]
    (least,) = faithfulness.find_sentences(claims, faithful=False)
    assert (least.kind, least.sentence, least.supported) == ("least supported", "b", 0.6)
    for verdict in (True, None):
        assert faithfulness.find_sentences(claims, verdict) == ()
    absent = ClaimSupport("c", "absent", 0.4, 0.0, 0.6, "p")
    assert [one.sentence for one in faithfulness.find_sentences([*claims, absent], faithful=False)] == ["c"]


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
    scores = client.post("/dst", json=REQUESTS["/dst"] | {"metrics": ["jga"], "signatures": True}).json()["scores"]
    expected = load("jga").compute(predictions=[[{"hotel-area": "west"}]], references=[[{"hotel-area": "east"}]])
    assert [(one["metric"], one["value"], one["signature"]) for one in scores] == [
        ("jga", expected["jga"], expected["jga_signature"])
    ]
    assert client.post("/agent", json=REQUESTS["/agent"]).json() == {"faithful": True}
    answer = client.post("/agent", json=REQUESTS["/agent"] | {"metrics": ["calls_right"]}).json()
    assert {one["metric"]: one["value"] for one in answer["scores"]}["calls_right"] == 1.0
    lied = client.post("/agent", json={"messages": [TALK[0], TALK[3]]}).json()
    assert lied["faithful"] is False
    assert [one["kind"] for one in lied["findings"]] == ["claim"]
    assert "scores" not in lied
    for silent in ([], TALK[:1]):
        unsaid = client.post("/agent", json={"messages": silent}).json()
        assert unsaid == {"reason": "the conversation has no message of the assistant"}
    unmade = client.post("/agent", json={"messages": TALK[:1], "expected": REQUESTS["/agent"]["expected"]}).json()
    assert unmade["faithful"] is False
    picture = {"role": "user", "content": [{"type": "hologram", "data": "x"}]}
    unread = client.post("/agent", json={"messages": [picture, *TALK]}).json()
    assert "faithful" not in unread
    assert "could not be read" in unread["reason"]


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
    answer = client.post(path, content=body, headers=JSON)
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
        if pairs[0][1] not in ("a", WARMING["/ground"]["response"]):  # before the service is ready
            self.calls.append(len(pairs))
            self.begun.set()
            assert self.go.wait(20)
        return [Entailment(0.9, 0.05, 0.05) for _ in pairs]


def _slow(**limits: Any) -> tuple[_Slow, ServeSettings]:
    model = _Slow()
    return model, ServeSettings(
        metrics="nli", models=Models(nli=model, lm="fake", cache=None), hosts="testserver", **limits
    )


def _ask(client: TestClient, answers: list[Any], **more: str) -> threading.Thread:
    body = REQUESTS["/ground"] | more
    thread = threading.Thread(target=lambda: answers.append(client.post("/ground", json=body)))
    thread.start()
    return thread


def test_a_long_body_is_413_with_and_without_a_length(client: TestClient) -> None:
    body = json.dumps({"document": "a" * 300_000, "response": "b"}).encode()
    assert client.post("/ground", content=body, headers=JSON).status_code == 413
    assert client.post("/ground", content=iter([body[:200_000], body[200_000:]]), headers=JSON).status_code == 413


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
        for scheme in ("Bearer", "bearer", "BEARER"):
            right = {b"Authorization": f"{scheme} sésame".encode()}
            assert client.post("/ground", headers=right, json=REQUESTS["/ground"]).status_code == 200
        assert client.get("/metrics").status_code == 401
        assert client.get("/health").status_code == client.get("/").status_code == 200
        assert client.get("/openapi.json").json()["paths"]["/ground"]["post"]["security"] == [{"key": []}]


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
    with TestClient(service(settings)) as client, caplog.at_level(logging.INFO, "troth.serve"):
        monkeypatch.setattr(model, "probabilities", lambda _: 1 / 0)
        answer = client.post("/ground", json=REQUESTS["/ground"])
    assert (answer.status_code, answer.json()) == (500, {"detail": "internal error; the log has the place"})
    line = json.loads(JsonLines().format(caplog.records[0]))
    assert line["error"] == "ZeroDivisionError"
    assert line["at"][-1].startswith("test_service.py:")


def test_a_model_that_is_missing_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise UserError("http://127.0.0.1:9: does not answer")

    lm = models.lm("fake")
    own = replace(SETTINGS, metrics="pmi_faith", models=Models(nli="fake", lm=lm, cache=None))
    with TestClient(service(own)) as other:
        monkeypatch.setattr(lm, "logprobs", gone)
        answer = other.post("/ground", json=REQUESTS["/ground"])
    assert answer.status_code == 503
    assert answer.json()["detail"] == "http://127.0.0.1:9: does not answer"


def test_a_model_that_is_not_known_is_refused_at_the_start() -> None:
    with pytest.raises(UserError, match="nowhere/model"):
        service(replace(SETTINGS, models=Models(nli="nowhere/model", cache=None)))


def test_health_figures_and_the_page(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == client.get("/live").json()["status"] == "ok"
    assert (client.get("/ready").status_code, client.get("/ready").json()["status"]) == (200, "ready")
    client.get("/does/not/exist")
    text = client.get("/metrics").text
    assert 'path="other",status="404"' in text
    assert "does/not" not in text
    page = client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert {client.get(path).status_code for path in ("/page.js", "/page.css", "/docs", "/docs.js")} == {200}
    for path in ("/docs", "/docs.js"):
        assert "http" not in client.get(path).text, "works without a network"


def test_the_description_names_every_question(client: TestClient) -> None:
    description = client.get("/openapi.json").json()
    assert set(description["paths"]) == {*REQUESTS, "/batch", "/ground/stream", "/live", "/ready", "/health"}
    for path in REQUESTS:
        assert {"200", "413", "422", "429", "504"} <= set(description["paths"][path]["post"]["responses"])
    stream = description["paths"]["/ground/stream"]["post"]
    assert set(stream["requestBody"]["content"]) == {"application/json", "application/x-ndjson"}
    assert set(stream["responses"]["200"]["content"]) == {"text/event-stream"}
    assert {"ServedScore", "StreamStart", "StreamPiece"} <= set(description["components"]["schemas"])
    assert description["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert description["paths"]["/ground"]["post"]["security"] == [{}, {"key": []}]
    assert description["paths"]["/ready"]["get"]["security"] == []


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
