"""Files and memory give equal bits: every task reads, then scores, and the second step does not know where from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import demo, readers
from troth.agents.corpus import ReadTrials, join
from troth.agents.score import AgentSettings, agent, score_corpus
from troth.core.encoding import encode_json
from troth.core.records import Dialogue
from troth.core.result import Result
from troth.grounding.score import ground
from troth.models.fake import FakeNli
from troth.readers import grounded, trajectories
from troth.readers import responses as response_files
from troth.readers import tools as tool_readers
from troth.responses.score import nlg
from troth.robustness.checkdst import checkdst
from troth.robustness.sgdx import sgdx
from troth.tracking.score import dst

GOLD, HASTY, STURDY = demo.path("gold"), demo.path("hasty"), demo.path("sturdy")
SCHEMA = str(Path(GOLD) / "schema.json")
TWIN = demo.path("twins/hasty-SDI.jsonl")


def dialogues(path: str) -> list[Dialogue]:
    return list(readers.gold(path))


def predictions(path: str) -> list[Dialogue]:
    return list(readers.predictions(path))


def _dst() -> tuple[Result, Result]:
    options: dict[str, Any] = {"profile": "sgd", "by": "service,slot", "train_schema": SCHEMA, "resamples": 20}
    memory = {"hasty": predictions(HASTY), "sturdy": predictions(STURDY)}
    return dst(GOLD, HASTY, STURDY, **options), dst(dialogues(GOLD), pred=memory, schema=SCHEMA, **options)


def _checkdst() -> tuple[Result, Result]:
    options: dict[str, Any] = {"profile": "trade", "resamples": 20, "schema": SCHEMA}
    gold = dialogues(GOLD)
    files = checkdst((GOLD, HASTY), {"SDI": (GOLD, TWIN)}, **options)
    return files, checkdst((gold, predictions(HASTY)), {"SDI": (gold, predictions(TWIN))}, **options)


def _sgdx() -> tuple[Result, Result]:
    options: dict[str, Any] = {"schema": SCHEMA, "by": "service", "resamples": 20}
    files = sgdx(GOLD, {"v1": HASTY, "v2": STURDY}, **options)
    return files, sgdx(dialogues(GOLD), {"v1": predictions(HASTY), "v2": predictions(STURDY)}, **options)


def _nlg() -> tuple[Result, Result]:
    options: dict[str, Any] = {"schema": SCHEMA, "nli": FakeNli(), "by": "service,kind", "resamples": 20}
    path, gold = demo.path("responses/terse.jsonl"), dialogues(GOLD)
    speakers = {dialogue.id: [turn.speaker for turn in dialogue.turns] for dialogue in gold}
    said = {key: response.text for key, response in response_files.read(path, speakers).items()}
    return nlg(GOLD, path, **options), nlg(gold, responses={"terse": said}, **options)


def _ground() -> tuple[Result, Result]:
    options: dict[str, Any] = {"metrics": "u_f1,coverage,facts", "resamples": 20}
    path = demo.path("documents/judged.jsonl")
    return ground(path, **options), ground(responses={"judged": list(grounded.read(path))}, **options)


def _agent() -> tuple[Result, Result]:
    path, tools = demo.path("agents/hasty.jsonl"), demo.path("agents/tools.json")
    trials = ReadTrials(list(trajectories.read(path)), "chat", "memory")
    corpus = join({"hasty": trials}, tools=tuple(tool_readers.load(tools)))
    return agent(path, tools=tools, by="tool", resamples=20), score_corpus(
        corpus, AgentSettings(by="tool", resamples=20)
    )


@pytest.mark.parametrize("task", [_dst, _checkdst, _sgdx, _nlg, _ground, _agent])
def test_files_and_memory_give_equal_bits(task: Callable[[], tuple[Result, Result]]) -> None:
    files, memory = task()
    assert encode_json(list(files.scores)) == encode_json(list(memory.scores))
    assert files.rows().equals(memory.rows())
    assert (files.counts, files.inputs, files.cluster) == (memory.counts, memory.inputs, memory.cluster)
    assert [*map(str, files.notes)] == [*map(str, memory.notes)]
    assert list(files.findings) == list(memory.findings)
    assert list(files.explorer().dialogues) == list(memory.explorer().dialogues)
    assert list(files.explorer().responses) == list(memory.explorer().responses)
