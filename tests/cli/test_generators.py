"""`troth train response`, `troth generate respond` and `troth train grounded`, with a tiny model made on the spot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, Troth
from tests.systems.build import model as tiny
from troth import demo


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny(tmp_path_factory.mktemp("model") / "llama", "llama"))


def test_train_respond_and_rerank(troth: Troth, tmp_path: Path, model: str) -> None:
    ft, pt = str(tmp_path / "ft"), str(tmp_path / "pt")
    usual = ("--templates", demo.path("templates"), "--steps", "2", "--length", "96", "--answer", "8", "--nli", "fake")
    done = troth("train", "response", GOLD, ft, "--model", model, "--dev", GOLD, "--dev-limit", "2", *usual)
    assert done.code == 0, done.err
    assert "29,536 of 29,536 numbers are trained" in done.err
    assert "step 2 of 2: dev_loss" in done.err
    assert f"run it: troth generate respond {ft} DATA --out FILE" in done.err
    assert troth("train", "response", GOLD, pt, "--method", "pt", "--model", ft, *usual).code == 0
    assert "sgsacc" in troth("train", "curve", ft).out

    out = str(tmp_path / "both.jsonl")
    both = troth("generate", "respond", ft, GOLD, "--with", pt, "--out", out, "--limit", "1", "--beams", "2",
                 "--nli", "fake", "--json")  # fmt: skip
    assert both.code == 0, both.err
    assert both.json()["systems"] == ["ft", "pt"]
    assert "2 generators, 1 sets of weights" in both.err
    files = [str(tmp_path / f"{name}.jsonl") for name in ("a", "b")]
    for path, one in zip(files, (ft, pt), strict=True):
        assert troth("generate", "respond", one, GOLD, "--out", path, "--limit", "1", "--beams", "2").code == 0
    chosen = str(tmp_path / "chosen.jsonl")
    ranked = troth("generate", "rerank", GOLD, *files, "--out", chosen, "--nli", "fake")
    assert ranked.code == 0, ranked.err
    for one, other in zip(*(Path(path).read_text().splitlines() for path in (out, chosen)), strict=True):
        assert json.loads(one)["response"] == json.loads(other)["response"]
    assert troth("nlg", GOLD, out, "--metrics", "ser").code == 0


def test_a_grounded_generator(troth: Troth, tmp_path: Path, model: str) -> None:
    out = str(tmp_path / "grounded")
    data = demo.path("documents/careful.jsonl")
    done = troth("train", "grounded", data, out, "--model", model, "--steps", "1", "--length", "96", "--dev", data,
                 "--dev-limit", "2")  # fmt: skip
    assert done.code == 0, done.err
    assert f"troth generate ground DATA --model {out}/best-loss" in done.err
    answers = troth("generate", "ground", data, "--model", f"{out}/best-loss", "--out", str(tmp_path / "x.jsonl"),
                    "--limit", "2", "--max-tokens", "4", "--metrics", "none", "--no-cache")  # fmt: skip
    assert answers.code == 0, answers.err


def test_bad_input_is_one_line(troth: Troth, tmp_path: Path, model: str) -> None:
    for arguments, said in (
        (("train", "response", GOLD, str(tmp_path / "x"), "--templates", str(tmp_path)), "no .tsv file in this folder"),
        (("generate", "respond", str(tmp_path), GOLD, "--out", str(tmp_path / "y")), "not a generator"),
        (("train", "response", GOLD, str(tmp_path / "x"), "--model", str(tmp_path)), ""),
    ):
        done = troth(*arguments)
        assert done.code == 2
        assert said in done.err
        assert len(done.err.splitlines()) <= 2
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()
