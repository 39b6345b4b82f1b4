"""What runs keep of their dialogues: faults, blame, and that nothing disagrees with the scores."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import msgspec
import pytest

from tests.report.make import GOLD, HASTY, answered, perturbed, tracked, varied
from troth import readers
from troth.core.errors import UserError
from troth.storage import explorer
from troth.storage import runs as store
from troth.tracking.dialogues import DialogueRecorder, SlotFaults
from troth.tracking.profiles import PROFILES
from troth.tracking.score import dst
from troth.tracking.scorer import Scorer
from troth.tracking.states import Comparer

States = list[dict[str, str]]


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ([{}], [{}], [[]]),
        ([{"area": "north"}], [{"area": "north"}], [[]]),
        ([{"area": "north"}], [{}], [["area missed 0"]]),
        ([{}], [{"area": "north"}], [["area invented 0"]]),
        ([{"area": "north"}], [{"area": "south"}], [["area wrong 0"]]),
        # Carried on: as old as the turn that made it.
        ([{"area": "n"}, {"area": "n"}], [{}, {}], [["area missed 0"], ["area missed 0"]]),
        # Mended, and wrong again.
        ([{"a": "n"}] * 3, [{}, {"a": "n"}, {}], [["a missed 0"], [], ["a missed 2"]]),
        # The prediction keeps what gold has given up: another value, or none.
        ([{"a": "n"}, {"a": "s"}], [{"a": "n"}, {"a": "n"}], [[], ["a stale 1"]]),
        ([{"a": "n"}, {}], [{"a": "n"}, {"a": "n"}], [[], ["a stale 1"]]),
        # Gold changes while the slot is wrong: a fresh fault. Another wrong value: a fresh fault, too.
        ([{"a": "n"}, {"a": "s"}], [{}, {}], [["a missed 0"], ["a missed 1"]]),
        ([{"a": "n"}, {"a": "n"}], [{"a": "x"}, {"a": "y"}], [["a wrong 0"], ["a wrong 1"]]),
    ],
)
def test_faults(gold: States, pred: States, expected: list[list[str]]) -> None:
    comparer, faults = Comparer(PROFILES["trade"], None, strict=False), SlotFaults(whole=True)
    found = []
    for number, (ours, theirs) in enumerate(zip(gold, pred, strict=True)):
        states: list[explorer.States] = [
            {"hotel": {slot: (value,) for slot, value in side.items()}} for side in (ours, theirs)
        ]
        scores = {"hotel": comparer.compare(states[0]["hotel"], states[1]["hotel"], "hotel").scores}
        wrong = faults.add_turn(number, states[0], states[1], scores)
        found.append([f"{fault.slot} {fault.kind} {fault.since}" for fault in wrong])
    assert found == expected


def test_nothing_predicted_is_missed() -> None:
    (fault,) = SlotFaults(whole=True).add_turn(0, {"hotel": {"area": ("north",)}}, None, {})
    assert (fault.kind, fault.since) == ("missed", 0)


def test_figure_1_of_the_paper(tmp_path: Path) -> None:
    archive = explorer.read(Path(tracked(tmp_path / "run")) / explorer.NAME)
    figure = next(one for one in archive.dialogues if one.id == "figure_1")
    turns = next(track for track in figure.tracks if track.system == "hasty").tracked
    assert [turn.units[0].blamed for turn in turns] == [None, None, 2, 2, 4, 4]
    assert [turn.units[0].joint for turn in turns] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    ages = [[(fault.slot, fault.kind, fault.since) for fault in turn.faults] for turn in turns]
    stays = [("area", "missed", 2), ("stars", "missed", 2)]
    assert ages[2] == ages[3] == stays
    assert ages[5] == [("sight_name", "invented", 4), *stays]


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "trippy"])
def test_kept_verdicts_are_the_scores(profile: str) -> None:
    """JGA, turn match and the wrong slots' count, from the file alone."""
    result = dst(GOLD, HASTY, profile=profile, resamples=1)
    dialogues = list(result.explorer().dialogues)
    turns = [turn for one in dialogues for turn in one.tracks[0].tracked]
    units = [(turn, unit) for turn in turns for unit in turn.units]
    assert len(units) == result["jga"].n
    assert sum(unit.joint for _, unit in units) / len(units) == pytest.approx(result["jga"].value, abs=1e-12)
    forgiven = [unit.joint if unit.blamed == turn.number else 1.0 for turn, unit in units]
    assert sum(forgiven) / len(units) == pytest.approx(result["turn_match"].value, abs=1e-12)
    assert all(bool(turn.faults) == any(unit.joint != 1.0 for unit in turn.units) for turn in turns)


def test_merged_shares_are_the_whole() -> None:
    pairs = list(zip(readers.gold(GOLD), readers.predictions(HASTY), strict=True))
    scorers = [Scorer(PROFILES["trade"]) for _ in range(3)]
    whole, first, second = (DialogueRecorder(PROFILES["trade"], None, scorer) for scorer in scorers)
    for index, (gold, pred) in enumerate(pairs):
        for recorder in (whole, first if index < 9 else second):
            assert recorder.scorer is not None
            recorder.scorer.add(gold, pred)
            recorder.add(gold, pred)
    first.merge(second)
    assert (first.dialogues, first.read) == (whole.dialogues, whole.read)


def test_several_systems_stand_side_by_side(tmp_path: Path) -> None:
    archive = explorer.read(Path(tracked(tmp_path / "run")) / explorer.NAME)
    assert len(list(archive.dialogues)) == 22
    assert {tuple(track.system for track in one.tracks) for one in archive.dialogues} == {("hasty", "sturdy")}


def test_sets_and_wordings_are_kept(tmp_path: Path) -> None:
    sets = explorer.read(Path(perturbed(tmp_path / "user")) / explorer.NAME)
    assert {one.set for one in sets.dialogues} == {"", "SDI"}
    wordings = explorer.read(Path(varied(tmp_path / "schema")) / explorer.NAME)
    assert {f"{track.system}:{track.wording}" for one in wordings.dialogues for track in one.tracks} == {
        "tracker:v1", "tracker:v2", "tracker:v3", "tracker:orig",
    }  # fmt: skip


def test_answers_are_kept(tmp_path: Path) -> None:
    archive = explorer.read(Path(answered(tmp_path / "run")) / explorer.NAME)
    figure = next(one for one in archive.dialogues if one.id == "figure_1")
    whole = figure.tracks[0].answers
    assert whole[0].text == next(said.text for said in figure.utterances if said.index == whole[0].index)
    assert {act.act for answer in whole for act in answer.acts} >= {"OFFER", "INFORM"}
    assert any(act.missed for answer in figure.tracks[1].answers for act in answer.acts)


@pytest.mark.parametrize("kind", ["user", "schema"])
def test_rows_sum_to_the_scores(tmp_path: Path, kind: str) -> None:
    out = (perturbed if kind == "user" else varied)(tmp_path / "run")
    rows = store.rows(out)
    for score in store.load(out).scores:
        if score.group != "all" or score.value is None or score.metric.endswith("_drop"):
            continue
        mine = rows.filter(metric=score.metric)
        num, den = (math.fsum(mine[side]) for side in ("num", "den"))
        assert num / den == pytest.approx(score.value, abs=1e-12), score.metric


def test_the_same_run_has_the_same_bytes(tmp_path: Path) -> None:
    files = [Path(tracked(tmp_path / name)) / explorer.NAME for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no gzip", "cannot be read"),
        (gzip.compress(b"", mtime=0), "cannot be read"),
        (gzip.compress(b'{"layout": 99}\n', mtime=0), "newer troth"),
        (gzip.compress(b'{"layout": 1}\n{"id": 3}\n', mtime=0), "cannot be read"),
        (gzip.compress(b'{"layout": 1}\n' + b"x" * 1000, mtime=0)[:-12], "cannot be read"),
    ],
)
def test_a_broken_file_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / explorer.NAME).write_bytes(content)
    with pytest.raises(UserError, match=told):
        explorer.read(tmp_path / explorer.NAME)


def test_a_record_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte can unpack to a gigabyte."""
    monkeypatch.setattr(explorer, "LONGEST", 10_000)
    file = tmp_path / "dialogues.jsonl.gz"
    head = msgspec.json.encode(explorer.Header()) + b"\n"
    for content in (b"x" * 10**6, head + b'{"id": "' + b"x" * 10**6):
        file.write_bytes(gzip.compress(content))
        with pytest.raises(UserError, match="cannot be read: "):
            explorer.read(file)
