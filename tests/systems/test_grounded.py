"""Generators that answer from documents: training on every layout, and PMI-Decode on the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.readers.grounded_samples import lay
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.systems.decoding.generate import GenerateSettings, respond
from troth.systems.decoding.settings import Setting
from troth.systems.generators.grounded import train_grounded

FIT = {"steps": 4, "batch": 2, "evaluate_every": 2, "rate": 1e-3, "save_every": 1}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        Grounded(f"r{n}", f"The hotel has {n} rooms.", f"It has {n} rooms.", ("How many rooms?",)) for n in range(5)
    ]
    lines = [{"id": row.id, "document": row.document, "history": row.history, "response": row.response} for row in rows]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path / "data.jsonl"


@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
def test_end_to_end(
    family: str, data: Path, tmp_path: Path, tiny: Callable[[str], Path], killed: Callable[[Callable[[], object]], None]
) -> None:
    arguments: dict[str, Any] = {"model": tiny(family), "dev": data, "fit": FIT, "length": 96, "answer": 8}
    whole = train_grounded(data, tmp_path / "whole", **arguments)
    killed(lambda: train_grounded(data, tmp_path / "cut", **arguments))
    train_grounded(data, tmp_path / "cut", **arguments)

    def log(name: str) -> list[Any]:
        lines = [json.loads(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        return [(line["step"], line.get("loss"), line.get("dev_loss")) for line in lines]

    assert log("cut") == log("whole")
    assert whole.steps == 4
    setting = Setting(alpha=0.5, top_p=0.9, max_tokens=4)
    model = str(tmp_path / "cut/best-loss")
    done = respond(data, tmp_path / "out.jsonl", GenerateSettings(model=model, setting=setting, limit=2, cache=None))
    assert done.responses == 2


@pytest.mark.parametrize("name", ["faithdial", "wow", "multidoc2dial", "topical-chat"])
def test_layouts(name: str, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    path = lay(tmp_path, name)
    made = train_grounded(path, tmp_path / "run", model=tiny("llama"), fit={"steps": 1}, length=96, answer=8)
    assert made.steps == 1
    assert (tmp_path / "run/last/grounded.json").is_file()


def test_an_empty_document_is_one_line(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps({"id": "a", "document": "  ", "history": ["Hi"], "response": "Hello."}))
    with pytest.raises(UserError, match=r"no response with a document in it \(with an empty document: 1 response\)"):
        train_grounded(file, tmp_path / "run", model=tiny("llama"))
    assert not (tmp_path / "run").exists()


def test_what_is_read_is_what_pmi_decode_asks(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    from troth.models.hub import source
    from troth.readers import grounded as readers
    from troth.storage.cache import Store
    from troth.systems.decoding.generator import Responder
    from troth.systems.generators import grounded
    from troth.systems.text import TextNetwork

    item = next(readers.read(str(data)))
    network = TextNetwork(tiny("llama"), length=2000, answer=16)
    responder = Responder(source(str(tiny("llama"))), Store.at(None))
    example = grounded._example(network, responder, item)
    assert tuple(example.source) == responder.context(item, 16).prompt.given
    said = network.tokenizer.decode(list(example.source) + list(example.target))
    assert said.endswith("Agent: It has 0 rooms.</s>")


def test_unsupported_responses_are_left_out_and_counted(
    tmp_path: Path, tiny: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": str(n), "document": "Six rooms.", "history": ["?"], "response": "Six.", "label": n % 2} for n in range(4)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = tmp_path / "run"
    done = train_grounded(
        tmp_path / "data.jsonl", run, model=tiny("llama"), fit={"epochs": 1, "batch": 1}, length=96, answer=8
    )
    assert done.steps == 2
    assert "left out, since people found them unsupported: 2 responses" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"holds no model.*name one of the models in it, such as .*run/last"):
        respond(tmp_path / "data.jsonl", tmp_path / "out.jsonl", GenerateSettings(model=str(run), cache=None))
