"""`troth.perturb` and `troth perturb dialogue`: the same bytes however they are made, and nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result, Troth, fine, troth  # noqa: F401 (fixtures)
from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Dialogue
from troth.perturb.users import apply, inventory
from troth.perturb.users.disfluency import Disfluency
from troth.perturb.users.entities import Entities
from troth.perturb.users.run import perturb
from troth.tracking.check import check

FAMILIES = ("disfluency", "entities", "format")
GOLD = demo.path("gold")


@pytest.fixture(scope="session")
def sgd_files(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of SGD's dev set."""
    folder = tmp_path_factory.mktemp("sgd")
    for name in ("dialogues_001.json", "dialogues_007.json", "dialogues_012.json", "schema.json"):
        shutil.copy(shared / "data/sgd/dev" / name, folder)
    return str(folder)


def content(folder: Path | str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def findings(path: str) -> Counter[str]:
    return Counter({finding.kind: finding.count for finding in check(path).findings})


# -- the same bytes ----------------------------------------------------------------------------------------------------


def test_same_seed_same_bytes_on_any_number_of_workers(sgd_files: str, tmp_path: Path) -> None:
    made = {}
    for name, seed, workers in (("one", 5, 1), ("two", 5, 2), ("four", 5, 4), ("other", 6, 1)):
        perturb(sgd_files, tmp_path / name, with_=FAMILIES, seed=seed, workers=workers)
        made[name] = content(tmp_path / name)
    assert made["one"] == made["two"] == made["four"]
    for file in ("dialogues_001.json", "dialogues_007.json", "dialogues_012.json"):
        assert made["one"][file] != made["other"][file] != (Path(sgd_files) / file).read_bytes()


def test_order_of_dialogues_moves_nothing(tmp_path: Path) -> None:
    documents = json.loads((Path(GOLD) / "dialogues_001.json").read_bytes())
    for name, listed in (("forth", documents), ("back", documents[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dialogues.json").write_text(json.dumps(listed))
        shutil.copy(Path(GOLD) / "schema.json", tmp_path / name)
        perturb(tmp_path / name, tmp_path / f"{name}-out", with_=FAMILIES, seed=1)
    forth, back = (json.loads((tmp_path / name / "dialogues.json").read_bytes()) for name in ("forth-out", "back-out"))
    assert forth == back[::-1]
    assert len(forth) == len(documents)


def test_families_draw_apart(tmp_path: Path) -> None:
    """What one family draws does not depend on who else is at work."""
    perturb(GOLD, tmp_path / "both", with_=["disfluency", "format"], seed=1)
    perturb(GOLD, tmp_path / "one", with_="disfluency", seed=1)
    records = [json.loads((tmp_path / name / "perturbation.json").read_bytes()) for name in ("both", "one")]
    assert records[0]["families"][0] == records[1]["families"][0]


# -- what is written ---------------------------------------------------------------------------------------------------


def test_perturbed_sgd_passes_the_check(sgd_files: str, tmp_path: Path) -> None:
    perturb(sgd_files, tmp_path / "out", with_=FAMILIES)
    before, after = findings(sgd_files), findings(str(tmp_path / "out"))
    assert not after - before
    assert [s.value for s in check(str(tmp_path / "out")).ceiling] == [s.value for s in check(sgd_files).ceiling]


def test_only_what_is_perturbed_differs(sgd_files: str, tmp_path: Path) -> None:
    """Text, spans, states, acts, calls and results may change; every key stays, in its place."""

    def shape(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return [(k, shape(v, k)) for k, v in value.items()]
        if isinstance(value, list) and key not in ("values", "canonical_values"):
            return [shape(item) for item in value]
        keep = ("service", "slot", "act", "speaker", "dialogue_id", "active_intent", "method")
        return value if key in keep else type(value).__name__

    perturb(sgd_files, tmp_path / "out", with_="disfluency,entities")
    for file in sorted(Path(sgd_files).glob("dialogues_*")):
        before, after = (json.loads(path.read_bytes()) for path in (file, tmp_path / "out" / file.name))
        assert shape(before) == shape(after)
    assert (tmp_path / "out/schema.json").read_bytes() == (Path(sgd_files) / "schema.json").read_bytes()


def test_nothing_drawn_nothing_changed(sgd_files: str, tmp_path: Path) -> None:
    perturb(sgd_files, tmp_path / "out", with_=Disfluency(scale=0))
    for file in Path(sgd_files).iterdir():
        assert (tmp_path / "out" / file.name).read_bytes().strip() == file.read_bytes().strip()


@pytest.mark.parametrize("by_id", [False, True])
def test_keys_of_ones_own_are_kept(tmp_path: Path, by_id: bool) -> None:
    listed = json.loads((Path(GOLD) / "dialogues_001.json").read_bytes())
    for dialogue in listed:
        dialogue["note"] = {"split": "demo"}
        for turn in dialogue["turns"]:
            turn["turn_id"] = 7
            for frame in turn["frames"]:
                frame["mine"] = None
                for act in frame.get("actions", ()):
                    act["certainty"] = 0.5
    source = tmp_path / "in"
    source.mkdir()
    (source / "d.json").write_text(json.dumps({d["dialogue_id"]: d for d in listed} if by_id else listed))
    plain, noted = tmp_path / "plain", tmp_path / "noted"
    perturb(source, noted, with_=["disfluency", "entities"], schema=f"{GOLD}/schema.json")
    perturb(GOLD, plain, with_=["disfluency", "entities"])
    made = json.loads((noted / "d.json").read_bytes())
    assert isinstance(made, dict) == by_id
    made = list(made.values()) if by_id else made
    for dialogue in made:
        assert dialogue.pop("note") == {"split": "demo"}
        for turn in dialogue["turns"]:
            assert turn.pop("turn_id") == 7
            for frame in turn["frames"]:
                assert frame.pop("mine", 1) is None
                assert all(act.pop("certainty") == 0.5 for act in frame.get("actions", ()))
    assert made == json.loads((plain / "dialogues_001.json").read_bytes())


def test_the_record_says_what_was_done(tmp_path: Path) -> None:
    record = perturb(GOLD, tmp_path / "out", with_=[Entities(names=("Ely",) * 200), "disfluency"], seed=3)
    written = json.loads((tmp_path / "out/perturbation.json").read_bytes())
    assert (written["source"], written["seed"], written["dialogues"]) == (GOLD, 3, 22)
    assert [family["family"] for family in written["families"]] == ["entities", "disfluency"]
    assert written["families"][0]["options"]["names"]["count"] == 200
    assert len(written["families"][0]["options"]["names"]["sha256"]) == 64
    assert written["families"][1]["turns_changed"] == record.families[1].turns_changed > 0
    assert 0 < written["families"][1]["per_word"]["fillers"] < 0.1


def test_user_turns_are_counted_among_user_turns(tmp_path: Path) -> None:
    done = perturb(GOLD, tmp_path / "out", with_=["entities", Disfluency(fillers=1.0, repairs=1.0)], seed=3)
    turns = [turn.speaker for dialogue in readers.gold(GOLD) for turn in dialogue.turns]
    assert (done.turns, done.user_turns) == (len(turns), turns.count("USER"))
    names, disfluencies = done.families
    assert 0 < names.user_turns_changed < names.turns_changed  # the system says names, too
    assert disfluencies.user_turns_changed == disfluencies.turns_changed == done.user_turns


# -- other formats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [None, "jsonl", "sgd"])
def test_multiwoz_is_written_as_it_was_or_in_another_format(shared: Path, tmp_path: Path, to: str | None) -> None:
    source = str(shared / "data/multiwoz/test.json.zip")
    perturb(source, tmp_path / "out", with_="entities", to=to)
    made = {dialogue.id: dialogue for dialogue in readers.gold(str(tmp_path / "out"))}
    before = {dialogue.id: dialogue for dialogue in readers.gold(source)}
    assert made.keys() == before.keys()
    changed = sum(states(made[name]) != states(dialogue) for name, dialogue in before.items())
    assert changed > 600
    assert readers.detect(str(tmp_path / "out")) == (to or "multiwoz")


def states(dialogue: Dialogue) -> list[Any]:
    return [
        {frame.service: frame.state.slot_values for frame in turn.frames if frame.state and frame.state.slot_values}
        for _, turn in dialogue.user_turns()
    ]


def test_checkdst_stays_checkdst(tmp_path: Path) -> None:
    rows = [
        {"context": "<user> to ely please", "dial_id": "mul1-0", "gold": "train destination ely", "pred": ""},
        {
            "context": "<user> to ely please <system> ely it is <user> yes",
            "dial_id": "mul1-1",
            "gold": "train destination ely",
            "pred": "",
        },
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    perturb(tmp_path / "in.jsonl", tmp_path / "out", with_="entities")
    made = [json.loads(line) for line in (tmp_path / "out/dialogues.jsonl").read_text().splitlines()]
    name = made[0]["gold"].split()[-1]
    assert name != "ely"
    assert [row["context"] for row in made] == [row["context"].replace("ely", name) for row in rows]
    assert readers.detect(str(tmp_path / "out")) == "checkdst"


# -- nothing half done -------------------------------------------------------------------------------------------------


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="exists already"):
        perturb(GOLD, tmp_path / "out", with_="entities")


def test_a_crash_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("now")

    monkeypatch.setattr(Entities, "perturb", crash)
    with pytest.raises(RuntimeError, match="now"):
        perturb(GOLD, tmp_path / "deep/out", with_=["disfluency", "entities"])
    assert list((tmp_path / "deep").iterdir()) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_broken_input_leaves_nothing(tmp_path: Path, workers: int) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for name in ("a.json", "b.json"):
        shutil.copy(Path(GOLD) / "dialogues_001.json", source / name)
    (source / "c.json").write_text('[{"dialogue_id": "x", "turns": [{"speaker": "USER", "utterance": 3}]}]')
    with pytest.raises(UserError, match=r"c\.json.*dialogue x, turn 0.*text"):
        perturb(source, tmp_path / "out", with_="entities", workers=workers)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def names(tmp_path: Path) -> str:
    path = tmp_path / "names.txt"
    path.write_text("Thistle House\n\n Oak & Ash \n")
    return str(path)


def test_command(fine: Troth, tmp_path: Path, names: str) -> None:  # noqa: F811
    out = str(tmp_path / "out")
    result: Result = fine(
        "perturb", "dialogue", GOLD, out, "--with", "entities,disfluency", "--names", names, "--slots", "hotel_name",
        "--set", "disfluency.repairs=1", "--seed", "4", "--json",
    )  # fmt: skip
    record = result.json()
    options = {"slots": ["hotel_name"], "names": ["Thistle House", "Oak & Ash"], "scramble": "words"}
    assert record["families"][0]["options"] == options
    assert record["families"][1]["options"]["repairs"] == 1.0
    assert record == json.loads((Path(out) / "perturbation.json").read_bytes())
    assert result.err == f"written: {out}\n"
    said = " ".join(turn.text for dialogue in readers.gold(out) for turn in dialogue.turns)
    assert "Thistle House" in said
    table = fine("perturb", "dialogue", GOLD, f"{out}2", "--with", "format").out
    assert "22 of 22" in table


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("entity", "no perturbation is called 'entity' (did you mean 'entities'?)"),
        ("entities,entities", "perturbation 'entities' is named twice (name each only once)"),
        ("disfluency --set x", "--set x (write it as --set disfluency.fillers=0.05)"),
        ("disfluency --set disfluency.filler=1", "'disfluency' has no option 'filler' (did you mean 'fillers'?)"),
        (
            "disfluency --set disfluency.fillers=-1",
            "disfluency: 'fillers' must be 0 or more (options: fillers, repetitions, restarts, repairs, scale, half)",
        ),
        ("disfluency --slots city", "options of 'entities', which is not applied (add it: --with disfluency,entities)"),
        ("entities --names nowhere", "nowhere: cannot be read: No such file or directory (check the path)"),
        (
            "entities --to trippy",
            f"{GOLD}: 'trippy' can be read, but not written (can be written: checkdst, jsonl, multiwoz, mwzeval, sgd)",
        ),
    ],
)
def test_wrong_use(troth: Troth, tmp_path: Path, arguments: str, line: str) -> None:  # noqa: F811
    result = troth("perturb", "dialogue", GOLD, str(tmp_path / "out"), "--with", *arguments.split())
    assert (result.code, result.out, result.err) == (2, "", f"troth: {line}\n")
    assert not (tmp_path / "out").exists()


def test_apply_is_what_the_command_does(tmp_path: Path) -> None:
    dialogues = list(readers.gold(GOLD))
    known = inventory(dialogues, readers.schema_beside(GOLD))
    perturb(GOLD, tmp_path / "out", with_="entities", seed=9)
    made = [apply("entities", dialogue, known, seed=9).dialogue for dialogue in dialogues]
    assert list(readers.gold(str(tmp_path / "out"))) == made


def test_bytes_do_not_hang_on_hashing(tmp_path: Path) -> None:
    """Sets have another order in every process; nothing that is written may follow it."""
    code = "import sys, troth\ntroth.perturb(*sys.argv[1:3], with_=sys.argv[3:])"
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, GOLD, str(tmp_path / seed), *FAMILIES]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert content(tmp_path / "1") == content(tmp_path / "2")


def test_samples_in_the_docs_are_real() -> None:
    page = (Path(__file__).parents[3] / "docs/perturbations.md").read_text(encoding="utf-8")
    dialogues = list(readers.gold(GOLD))
    known = inventory(dialogues, readers.schema_beside(GOLD))
    rows = [
        line.strip("| ").split(" | ")
        for line in page.splitlines()
        if line.startswith(tuple(f"| {f} |" for f in FAMILIES))
    ]
    for family in FAMILIES:
        made = {
            (old.text, new.text)
            for dialogue in dialogues
            for old, new in zip(dialogue.turns, apply(family, dialogue, known).dialogue.turns, strict=True)
        }
        shown = {(before, after) for name, before, after in rows if name == family}
        assert len(shown) >= 2
        assert shown <= made
