"""`troth convert`, `troth ls`, and what all commands have."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, HASTY, SCHEMA, Corpus, Troth
from tests.cli.test_bad_input import told, tree
from troth.core.version import __version__
from troth.readers import FORMATS, read

GAPS = """\
{"context": "<user> a room", "dial_id": "mul0001-0", "gold": "hotel area north", "pred": "hotel area north"}
{"context": "<user> a room", "dial_id": "mul0001-2", "gold": "hotel area north", "pred": "hotel area east"}
{"context": "<user> a room", "dial_id": "mul0001-3", "gold": "hotel area north", "pred": "hotel area north"}
"""

# -- convert -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["sgd", "jsonl"])
def test_convert_and_score(fine: Troth, tmp_path: Path, format: str) -> None:
    """What is converted scores as before."""
    gold, pred = tmp_path / "gold", tmp_path / "pred"
    assert fine("convert", GOLD, str(gold), "--to", format).err == f"written: {gold}\n"
    fine("convert", HASTY, str(pred), "--to", format)
    command = ("--schema", SCHEMA, "--profile", "sgd", "--metrics", "jga,aga,fga@0.5,intent_accuracy", "--json")
    converted = fine("dst", str(gold), f"hasty={pred}", *command).json()
    assert converted == fine("dst", GOLD, HASTY, *command).json()


def test_convert_to_sgd_is_a_folder(fine: Troth, tmp_path: Path) -> None:
    fine("convert", GOLD, str(tmp_path / "new"), "--to", "sgd")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["dialogues_001.json", "schema.json"]
    command = ("--metrics", "jga", "--json")
    assert fine("dst", str(tmp_path / "new"), HASTY, *command).json() == fine("dst", GOLD, HASTY, *command).json()
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_gaps_stay_gaps(fine: Troth, tmp_path: Path) -> None:
    """Turns that a file numbers with gaps keep their numbers on the way through SGD's layout."""
    both, gold, pred = (tmp_path / name for name in ("both.jsonl", "gold", "pred"))
    both.write_text(GAPS)
    for out, side in ((gold, "gold"), (pred, "pred")):
        fine("convert", str(both), str(out), "--to", "sgd", "--side", side)
    rest = ("--profile", "trade", "--metrics", "jga", "--by", "turn", "--json")
    expected = [s["value"] for s in fine("dst", str(both), *rest).json()]
    assert expected == [pytest.approx(2 / 3), 1, 0, 1]
    for sides in ((gold, pred), (gold, both), (both, pred)):
        assert [s["value"] for s in fine("dst", *map(str, sides), *rest).json()] == expected


def test_pairs_need_a_side(troth: Troth, tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    both.write_text(GAPS)
    result = troth("convert", str(both), str(tmp_path / "new"), "--to", "sgd")
    told(result, "dialogue mul0001: 'sgd' contains gold or predictions, not both (choose one side)")
    assert tree(tmp_path) == [str(both)]


def test_failure_leaves_nothing(troth: Troth, corpus: Corpus) -> None:
    data = corpus.files["gold"].read_bytes()
    corpus.write("gold", data[:-20])
    before = tree(corpus.folder)
    for format in ("sgd", "jsonl", "mwzeval", "checkdst"):
        told(troth("convert", str(corpus.gold), str(corpus.folder / "new"), "--to", format), "broken JSON")
        assert tree(corpus.folder) == before


def test_what_a_format_cannot_hold(troth: Troth, tmp_path: Path) -> None:
    result = troth("convert", GOLD, str(tmp_path / "new"), "--to", "checkdst")
    told(result, "dialogue figure_1, turn 1: 'Stays_1 hotel_name Lantern Rooms' cannot be written in this format (it ")
    assert tree(tmp_path) == []


def test_convert_from_stdin(fine: Troth, tmp_path: Path) -> None:
    data = (Path(GOLD) / "dialogues_001.json").read_bytes()
    fine("convert", "-", str(tmp_path / "a.jsonl"), "--to", "jsonl", stdin=data)
    fine("convert", GOLD, str(tmp_path / "b.jsonl"), "--to", "jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_every_format_that_can_be_written_is_in_the_help(fine: Troth) -> None:
    able = {name for name in FORMATS if FORMATS.load(name).FORMAT.writes}
    listed = re.search(r"Format to write: ([\w, ]+?) or (\w+)\.", " ".join(fine("convert", "--help").out.split()))
    assert listed is not None
    assert {*listed[1].split(", "), listed[2]} == able


def test_multiwoz_to_sgd_and_back_scores_as_before(fine: Troth, tmp_path: Path) -> None:
    """The schema is written with the dialogues, and states survive the way there and back."""
    gold, sgd, again = (str(tmp_path / name) for name in ("data.json", "sgd", "again.json"))
    metadata = {"hotel": {"semi": {"area": "north", "name": ""}, "book": {"booked": [], "people": "2"}}}
    log = [{"text": "For two, in the north.", "metadata": {}}, {"text": "Which price?", "metadata": metadata}]
    Path(gold).write_text(json.dumps({"MUL0001.json": {"log": log}}))
    written = fine("convert", gold, sgd, "--to", "sgd", "--json").json()["files"]
    assert [Path(file).name for file in written] == ["dialogues_001.json", "schema.json"]
    fine("convert", sgd, again, "--to", "multiwoz")
    assert list(read(again)) == list(read(gold))
    scores = fine("dst", sgd, f"s={again}", "--metrics", "jga,intent_accuracy", "--json").json()
    assert scores[0]["value"] == 1
    assert scores[1]["value"] is None, "a prediction without intents is not scored for them"


# -- ls ----------------------------------------------------------------------------------------------------------------


def test_ls(fine: Troth) -> None:
    listed = fine("ls", "--json").json()
    assert list(listed) == [
        "metrics",
        "profiles",
        "robustness metrics",
        "response metrics",
        "multiwoz metrics",
        "grounding metrics",
        "agent metrics",
        "matching rules",
        "formats",
        "grounding formats",
        "agent formats",
        "perturbations",
        "schema generators",
        "backends",
        "recipes",
        "trackers",
        "training presets",
        "training tasks",
    ]
    assert {"jga", "aga", "sa", "fga@0.5", "turn_match", "tagging_f1"} < listed["metrics"].keys()
    assert list(listed["profiles"]) == ["sgd", "sgd-exact", "nemo", "trade", "trippy", "mwzeval", "checkdst"]
    assert {"sgd", "jsonl", "trade", "trippy", "trippy-pred", "hi-dst", "mwzeval", "checkdst", "parlai"} <= listed[
        "formats"
    ].keys()
    assert all(text for kind in listed.values() for text in kind.values())
    text = fine("ls").out
    for kind, names in listed.items():
        assert f"{kind}\n" in text
        assert fine("ls", kind, "--json").json() == {kind: names}
        assert [line.split()[0] for line in fine("ls", kind).out.split("\n")[1:] if line] == list(names)


def test_every_listed_profile_scores(fine: Troth) -> None:
    for name in fine("ls", "profiles", "--json").json()["profiles"]:
        if name != "trippy":  # which takes files of its own
            fine("dst", GOLD, HASTY, "--profile", name, "--metrics", "jga")


def test_version() -> None:
    done = subprocess.run([sys.executable, "-m", "troth", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


@pytest.mark.parametrize("name", ["dst", "explain", "check", "compare", "gate", "table", "convert", "ls", "demo"])
def test_help(fine: Troth, name: str) -> None:
    for flag in ("-h", "--help"):
        result = fine(name, flag)
        assert result.out.startswith(f"Usage: troth {name} ")
        assert result.err == ""
    assert json.dumps(result.out)
