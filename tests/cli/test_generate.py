"""`troth generate`, and what `troth meta` says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, Troth
from troth import demo
from troth import models as backends
from troth.models.fake import FakeNli
from troth.responses.templates import fingerprint, read

TEMPLATES = demo.path("templates")


def nbest(path: Path, *candidates: object, turn: int = 3) -> str:
    path.write_text(json.dumps({"dialogue": "figure_1", "turn": turn, "candidates": candidates}) + "\n")
    return str(path)


def test_rerank(fine: Troth, tmp_path: Path) -> None:
    lists = nbest(tmp_path / "n.jsonl", {"text": "Good.", "score": -1}, {"text": "Lantern Rooms it is.", "score": -2})
    result = fine("generate", "rerank", GOLD, lists, "--out", str(tmp_path / "r.jsonl"), "--nli", "fake")
    (row,) = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert list(row) == ["dialogue", "turn", "response", "choice", "fidelity", "acts", "reasons"]
    assert result.out == ""
    assert result.err.startswith("1 turn: ")
    assert "RERANK|rule:any|refs:b+4|augment:never|" in result.err
    assert result.err.endswith(f"written: {tmp_path}/r.jsonl\n")
    gated = fine(
        "generate", "rerank", GOLD, lists, "--out", str(tmp_path / "g.jsonl"), "--nli", "fake", "--gated", "--json"
    )
    assert gated.json()["turns"] == 1
    assert "rule:any+present" in gated.json()["signature"]
    retried = fine(
        "generate", "rerank", GOLD, lists, "--out", str(tmp_path / "a.jsonl"), "--nli", "fake", "--augment", "retry"
    )
    assert "|augment:retry|" in retried.err


def test_a_schema_without_descriptions_is_told(fine: Troth, tmp_path: Path) -> None:
    services = json.loads((Path(GOLD) / "schema.json").read_bytes())
    for item in (item for one in services for item in (*one["slots"], *one["intents"])):
        item["description"] = ""
    bare = tmp_path / "schema.json"
    bare.write_text(json.dumps(services))
    told = "the schema has no descriptions: names stand in their place\n"
    lists = nbest(tmp_path / "n.jsonl", "a", "b")
    options = ("--schema", str(bare), "--nli", "fake")
    assert told in fine("generate", "rerank", GOLD, lists, "--out", str(tmp_path / "r.jsonl"), *options).err
    few = ("--turns", "5", "--resamples", "10")
    assert told in fine("meta", "rerank", GOLD, *options, *few).err
    assert told in fine("meta", "templates", GOLD, "--templates", TEMPLATES, *options, *few).err


def test_templates_and_back_into_nlg(fine: Troth, tmp_path: Path) -> None:
    out = str(tmp_path / "r.jsonl")
    result = fine("generate", "templates", GOLD, "--templates", TEMPLATES, "--out", out)
    assert result.err == f"177 responses to 453 acts\nwritten: {out}\n"
    scores = fine("nlg", GOLD, out, "--metrics", "ser", "--json").json()
    assert next(score["value"] for score in scores if score["metric"] == "ser") == 0.0  # every value is said


def test_templates_that_are_lacking_are_listed(fine: Troth, tmp_path: Path) -> None:
    (tmp_path / "Stays_1.tsv").write_text("OFFER!!hotel_name!!@\tHow about @?\nGOODBYE\tBye.\n")
    result = fine(
        "generate", "templates", GOLD, "--templates", str(tmp_path), "--out", str(tmp_path / "r.jsonl"), "--json"
    )
    assert result.json()["responses"] == 30
    assert "no template for 423 acts: 21 incomplete responses, 147 turns without a response" in result.err
    assert "  20 × Trains_1: OFFER!!leave_time!!@\n" in result.err
    assert "more; --json lists them" in result.err


def test_meta_rerank(fine: Troth, tmp_path: Path) -> None:
    lost = tmp_path / "lost.jsonl"
    result = fine(
        "meta",
        "rerank",
        GOLD,
        "--turns",
        "30",
        "--nli",
        "fake",
        "--resamples",
        "50",
        "--examples",
        "1",
        "--lost",
        str(lost),
    )
    lines = result.out.splitlines()
    assert lines[0].split() == ["metric", "entailed", "retry", "gated", "rule"]
    assert lines[1].startswith("faithful_chosen")
    assert any(line.startswith("value") for line in lines)
    assert "gold has no point for: " in result.out
    written = {row["rule"] for row in map(json.loads, lost.read_text().splitlines())}
    assert len(written) > 2
    for rule in written:  # one of each, and not one of all
        assert result.out.count(f"lost by {rule} to ") == 1
    assert result.err.startswith("30 lists; FAITHFUL_CHOSEN|rule:any|refs:b+4|augment:never|")
    assert json.loads(lost.read_text().splitlines()[0]).keys() >= {
        "dialogue",
        "turn",
        "rule",
        "kinds",
        "chosen",
        "gold",
    }
    scores = fine("meta", "rerank", GOLD, "--turns", "30", "--nli", "fake", "--resamples", "50", "--json").json()
    assert {score["system"] for score in scores} == {"entailed", "retry", "gated", "rule"}
    assert {score["group"] for score in scores} == {"all", "kind:value", "kind:missing", "kind:boolean"}


def test_meta_templates(fine: Troth) -> None:
    arguments = ("meta", "templates", GOLD, "--templates", TEMPLATES, "--nli", "fake", "--turns", "40")
    result = fine(*arguments, "--resamples", "50", "--examples", "1")
    lines = result.out.splitlines()
    assert lines[0].split() == ["metric", "template", "schema"]
    assert [line.split()[0] for line in lines[1:3]] == ["gold_rejected:plain", "gold_rejected"]
    assert "does not entail" in lines[3]
    mark = fingerprint(read(TEMPLATES))
    assert result.err.startswith(f"40 turns; GOLD_REJECTED:PLAIN|refs:template@{mark}|augment:never|nli:fake-nli@1|")
    assert len(fine(*arguments, "--json").json()) == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("generate", "rerank", GOLD, "nowhere.jsonl", "--out", "{out}"), "nowhere.jsonl: no such file or folder"),
        (("generate", "rerank", "nowhere", "{lists}", "--out", "{out}"), "nowhere: no such file or folder"),
        (("generate", "rerank", GOLD, "{lists}", "--out", "{lists}"), "n.jsonl: exists already (name a new file)"),
        (("generate", "rerank", GOLD, "{lists}", "--out", "nowhere/x"), "nowhere/x: its folder does not exist"),
        (("generate", "rerank", GOLD, "{lists}"), "Missing option '--out'."),
        (("generate", "templates", GOLD, "--templates", "nowhere", "--out", "{out}"), "nowhere: no such folder"),
        (("meta", "templates", GOLD, "--templates", GOLD), "no .tsv file in this folder (one per service"),
        (("meta", "rerank", GOLD, "--turns", "-1"), "Invalid value for '--turns'"),
    ],
)
def test_bad_input(troth: Troth, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    lists = nbest(tmp_path / "n.jsonl", "a")
    filled = [one.format(out=tmp_path / "out.jsonl", lists=lists) for one in arguments]
    model = ["--nli", "fake"] if "templates" not in filled[:2] else []
    result = troth(*filled, *model)
    assert result.code == 2
    assert told in result.err
    assert result.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["n.jsonl"]


def test_hostile_text_is_shown_and_not_obeyed(fine: Troth, tmp_path: Path) -> None:
    (tmp_path / "Trains_1.tsv").write_text("GOODBYE\t\x1b[2JHappy\n")
    result = fine("meta", "templates", GOLD, "--templates", str(tmp_path), "--nli", "fake", "--examples", "9")
    assert "\\x1b[2JHappy" in result.out
    assert "\x1b" not in result.out


def test_perturb_with_a_model(fine: Troth, tmp_path: Path) -> None:
    result = fine("perturb", "dialogue", GOLD, str(tmp_path / "out"), "--with", "paraphrase", "--nli", "fake", "--json")
    (effect,) = result.json()["families"]
    assert effect["options"]["nli"] == "fake-nli@1"
    assert effect["turns_refused"]["not entailed"] > 0


def test_perturb_with_a_model_for_nothing(troth: Troth, tmp_path: Path) -> None:
    result = troth("perturb", "dialogue", GOLD, str(tmp_path / "out"), "--with", "disfluency", "--nli", "fake")
    assert (result.code, "no family takes one" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("families", "out", "told"),
    [
        ("paraphrse", "out", "paraphrase"),
        ("disfluency", "out", "no family takes one"),
        ("paraphrase", "there", "there: exists already"),
    ],
)
def test_no_model_is_opened_for_what_cannot_be_done(
    troth: Troth, tmp_path: Path, families: str, out: str, told: str
) -> None:
    """The model's name is wrong, too: that would be told if it were looked at first."""
    (tmp_path / "there").mkdir()
    result = troth("perturb", "dialogue", GOLD, str(tmp_path / out), "--with", families, "--nli", "no-such-model")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert told in result.err
    assert "no-such-model" not in result.err


def test_pairs_that_a_model_cannot_read_whole_are_told(
    fine: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(FakeNli):
        @property
        def cut(self) -> int:
            return 7

    monkeypatch.setattr(backends, "nli", lambda *_, **__: Short())
    out = tmp_path / "out"
    result = fine("perturb", "dialogue", GOLD, str(out), "--with", "paraphrase", "--nli", "short")
    assert "7 pairs were longer than the model reads, and were cut\n" in result.err
    (effect,) = json.loads((out / "perturbation.json").read_bytes())["families"]
    assert effect["figures"]["pairs_cut"] == 7
