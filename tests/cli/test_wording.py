"""`troth meta wording`: table 2 on the command line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Troth
from tests.meta.test_wording import VARIANT
from tests.responses.build import CORPUS, SCHEMA, write
from troth.responses.references import fingerprint
from troth.storage import runs as store


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.fixture
def sgdx(tmp_path: Path) -> str:
    folder = tmp_path / "sgdx" / "v1"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_bytes(msgspec.json.encode(list(VARIANT.values())))
    return str(tmp_path / "sgdx")


def test_table_2(fine: Troth, gold: str, sgdx: str) -> None:
    told = fine("meta", "wording", gold, "--from", sgdx, "--variants", "v1", "--nli", "fake", "--resamples", "20")
    lines = told.out.splitlines()
    assert lines[0].split() == ["all", "precision", "recall", "f1", "false_accepts", "valid_acts", "valid_turns"]
    judges = ("plain", "retry", "gated_plain", "gated", "rule")
    assert [line.split()[0] for line in lines[1:11]] == [
        f"{one}/{judge}" for one in ("original", "v1") for judge in judges
    ]
    rule = [line.split()[1:] for line in lines[1:11] if line.split()[0].endswith("/rule")]
    assert rule[0] == rule[1]
    assert "all+absent" in told.out
    assert any(line.startswith("v1: kind") for line in lines)
    recipe = f"nli:fake-nli@1|refs:b+4|schema:{fingerprint(SCHEMA)}|negatives:1|turns:5|seed:0|"
    assert f"5 turns; F1|judge:plain|wording:original|{recipe}" in told.err
    assert "the schema lacks some descriptions: names stand in their place\n" in told.err


def test_json_and_run(fine: Troth, gold: str, tmp_path: Path) -> None:
    train, out = tmp_path / "train.json", str(tmp_path / "run")
    train.write_bytes(msgspec.json.encode([]))
    options = ("--nli", "fake", "--turns", "3", "--train-schema", str(train), "--out", out, "--resamples", "20")
    scores = fine("meta", "wording", gold, *options, "--json").json()
    found = {(score["system"], score["metric"], score["group"]) for score in scores}
    assert {("original/gated", "f1", group) for group in ("all", "all+absent", "unseen")} <= found
    assert any(group.startswith("unseen/kind:") for *_, group in found)
    run = store.load(out)
    assert (run.command, run.arguments["turns"], len(run.scores)) == ("meta wording", 3, len(scores))
    assert len(store.rows(out)) > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--variants", "v1"], "--variants needs --from"),
        (["--from", "/none"], "/none: no such file or folder"),
        (["--turns", "-1"], "--turns"),
    ],
)
def test_wrong_use(troth: Troth, gold: str, options: list[str], expected: str) -> None:
    told = troth("meta", "wording", gold, "--nli", "fake", *options)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert expected in told.err


def test_a_variant_of_other_services(troth: Troth, gold: str, tmp_path: Path) -> None:
    folder = tmp_path / "sgdx" / "v1"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text("[]")
    told = troth("meta", "wording", gold, "--from", str(tmp_path / "sgdx"), "--variants", "v1", "--nli", "fake")
    assert told.code == 2
    assert "v1/schema.json: no service and no dialogue in it (is it the right one?)" in told.err


def test_a_dialogue_comes_once(troth: Troth, tmp_path: Path) -> None:
    told = troth("meta", "wording", write(tmp_path, [*CORPUS, CORPUS[0]]), "--nli", "fake")
    assert told.code == 2
    assert "dialogues_001.json: dialogue a: duplicate dialogue id" in told.err
