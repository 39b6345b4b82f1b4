"""What goes wrong in the service: whose fault it is, whom it fails, and which reason is given."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from fastapi.testclient import TestClient

from tests.eventloop import finished
from tests.serve.test_service import REQUESTS, SETTINGS, _slow
from troth.core.errors import UserError
from troth.core.signature import identity
from troth.grounding.calibration import Calibration, Fitted, save
from troth.grounding.metrics import make_graders
from troth.serve import service, tasks
from troth.serve.batching import MicroBatcher
from troth.serve.faithfulness import GroundRequest, GroundTask, ServedScore


def test_a_timeout_of_a_model_is_no_timeout_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(_: object) -> None:
        raise TimeoutError

    model, settings = _slow()
    with TestClient(service(settings)) as client:
        monkeypatch.setattr(model, "probabilities", late)
        assert client.post("/ground", json=REQUESTS["/ground"]).status_code == 500


def test_a_wrong_request_does_not_make_its_batch_be_scored_twice() -> None:
    scored: list[int] = []

    def score(item: int) -> int:
        scored.append(item)
        if item == 1:
            raise UserError("one")
        return 2 * item

    async def run() -> list[Any]:
        batcher, each = MicroBatcher(10), tasks.score_each(score)
        answers = await asyncio.gather(*(batcher.answer(each, n) for n in range(4)), return_exceptions=True)
        await batcher.close()
        return answers

    answers = finished(run)
    assert [answer for answer in answers if not isinstance(answer, UserError)] == [0, 4, 6]
    assert isinstance(answers[1], UserError)
    assert scored == [0, 1, 2, 3]


@pytest.mark.parametrize("path", ["/dst", "/agent"])
def test_states_and_calls_give_errors_as_answers(path: str) -> None:
    mistakes: dict[str, dict[str, Any]] = {"/dst": {"predictions": []}, "/agent": {"rule": "exakt"}}
    (task,) = [one for one in tasks.tasks(SETTINGS) if one.path == path]
    right: Any = msgspec.convert(REQUESTS[path], task.request)
    wrong: Any = msgspec.convert(REQUESTS[path] | mistakes[path], task.request)
    answers = task.score([right, wrong, right])
    assert answers[0] == answers[2]
    assert isinstance(answers[1], UserError)


def test_the_reason_for_no_verdict_is_that_of_the_metric_that_gives_it(tmp_path: Path) -> None:
    """The first metric is scored and has no calibration; the second has one, and no value for this response."""
    metric: dict[str, Any] = {
        "metric": "coverage",
        "signature": "",
        "n": 2,
        "positive": 1,
        "low": 0.0,
        "high": 1.0,
        "threshold": 0.5,
    }

    (grader,) = make_graders("coverage", SETTINGS.models)
    metric["signature"] = identity(grader.metric, grader.recipe)
    fitted = msgspec.convert(metric | {"f1": 1.0, "steps": [[0.0, 0.1], [1.0, 0.9]]}, Fitted)
    file = tmp_path / "calibration.json"
    save(Calibration((), (fitted,)), str(file))
    task = GroundTask(replace(SETTINGS, threshold=None, calibration=str(file)))
    first = ServedScore("nli", None, "the model does not answer")
    assert task._verdict([first, ServedScore("coverage", 0.9, None, True, 0.8)]) == (True, None)
    assert task._verdict([first, ServedScore("coverage", None, "no words")]) == (None, "no words")
    answer = task.score([msgspec.convert(REQUESTS["/ground"] | {"response": " "}, GroundRequest)])[0]
    assert answer.faithful is None
    assert answer.reason == answer.scores[1].reason
