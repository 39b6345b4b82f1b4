"""Every recipe, end to end on a tiny random model: trains, is killed and goes on, predicts, passes `troth check`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import troth
from troth import demo
from troth.core.errors import UserError
from troth.systems.presets import preset_first, preset_fit
from troth.systems.recipe import RECIPES, recipe_of
from troth.systems.runs import curve
from troth.systems.track import commands, track
from troth.systems.train import gains, train_tracker
from troth.tracking.check import check

TINY = {"length": 96, "answer": 8}
FIT = {"steps": 4, "batch": 4, "evaluate_every": 2, "rate": 1e-3, "save_every": 1}
CASES: list[tuple[str, str, dict[str, Any]]] = [  # recipe, family, options
    ("span", "bert", {}),
    ("sgp-dst", "bert", {}),
    ("sgd-baseline", "bert", {}),
    ("simpletod", "gpt2", TINY),
    ("simpletod", "llama", TINY),
    ("bart-dst", "bart", TINY),
    ("bart-dst", "t5", {**TINY, "schema": "descriptions"}),
    ("soloist", "gpt2", TINY),
    ("muppet", "bart", TINY),
    ("prefinedst", "llama", TINY),
    ("t5dst", "t5", {**TINY, "negatives": 0.2}),
    ("trippy", "bert", {}),
    ("convbert-dg", "bert", {}),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two dialogues with their schema."""
    from troth import readers
    from troth.readers import source

    document = source.find_beside(demo.path("gold"), source.SCHEMA)
    assert document is not None
    dialogues = list(readers.gold(demo.path("gold")))[:2]
    readers.write(dialogues, str(tmp_path / "data"), "sgd", schema=document.data)
    return tmp_path / "data"


@pytest.fixture
def tasks(tmp_path: Path) -> list[str]:
    rows = "".join(f"{n % 2}\t{n}\t{n}\ta room {n}\troom number {n}\n" for n in range(12))
    (tmp_path / "mrpc.txt").write_text("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + rows)
    lines = [{"question": f"how many {n}?", "sql": {"sel": 0, "conds": [[1, 0, n]], "agg": 3}} for n in range(12)]
    (tmp_path / "sql.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return [f"mrpc={tmp_path}/mrpc.txt", f"wikisql={tmp_path}/sql.jsonl"]


def losses(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


@pytest.mark.parametrize(("recipe", "family", "options"), CASES, ids=[f"{one[0]}-{one[1]}" for one in CASES])
def test_end_to_end(
    recipe: str, family: str, options: dict[str, Any], data: Path, tasks: list[str], tmp_path: Path,
    tiny: Callable[[str], Path], killed: Callable[[Callable[[], object]], None],
) -> None:  # fmt: skip
    first: Any = {"": (), "dialogues": [str(data)], "tasks": tasks}[recipe_of(recipe).first]
    arguments: dict[str, Any] = {"recipe": recipe, "model": tiny(family), "options": options, "fit": FIT, "dev": data,
                                 "dev_limit": 1}  # fmt: skip
    if recipe_of(recipe).first:
        arguments |= {"first": first, "first_fit": {"steps": 2, "batch": 4}}
    whole = train_tracker(data, tmp_path / "whole", **arguments)
    assert whole[0].steps == 4

    killed(lambda: train_tracker(data, tmp_path / "cut", **arguments))
    train_tracker(data, tmp_path / "cut", **arguments)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert len(losses(tmp_path / "cut")) == 4

    (done,) = track(tmp_path / "cut", data, tmp_path / "out", limit=1)
    checked = check(done.predictions)
    assert checked.dialogues == 1
    # A state that is written anew in each turn may lose a slot; anything else would be a fault of the tracker.
    assert {finding.kind for finding in checked.findings} <= {"state shrinks"}
    assert troth.dst(done.gold, done.predictions, metrics="jga", resamples=10)["jga"].n > 0


@pytest.mark.parametrize("recipe", list(RECIPES.own))
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5", "bart"])
def test_a_model_that_does_not_fit_is_one_line(recipe: str, family: str, tiny: Callable[[str], Path]) -> None:
    made = recipe_of(recipe)
    if made.families and family not in made.families:
        with pytest.raises(UserError, match=f"a model of the family '{family}' does not fit this recipe") as refused:
            made.files(str(tiny(family)))
        assert "supported families" in str(refused.value)
        assert "\n" not in str(refused.value)
    else:
        assert made.files(str(tiny(family))) == tiny(family)


def test_sets_curves_and_seeds(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    runs = train_tracker(
        data, tmp_path / "runs", recipe="trippy", model=tiny("bert"), dev=data, dev_limit=1, sets="NED,SDI", fit=FIT,
        seeds=[1, 2], shots=1.0, augment="corrupt",
    )  # fmt: skip
    assert [Path(run.folder).name for run in runs] == ["seed-1", "seed-2"]
    assert losses(Path(runs[0].folder)) != losses(Path(runs[1].folder))
    points = curve(runs[0].folder)
    assert [point["step"] for point in points] == [2, 4]
    assert {"dev_loss", "jga", "jga:NED", "jga:SDI"} <= points[0].keys()
    assert set(runs[0].best) == {"best-jga", "least-slack"}
    assert "jga" in gains(runs[0].folder)
    assert "jga" in json.loads((Path(runs[0].folder) / "curve.json").read_text())["gains"]
    card = json.loads((Path(runs[0].folder) / "least-slack/tracker.json").read_text())
    assert card["recipe"] == "trippy"
    assert "jga" in card["metrics"]
    with pytest.raises(
        UserError, match="holds a training run with another dev_limit and sets and augment and fit and seeds"
    ):
        train_tracker(data, tmp_path / "runs/seed-1", recipe="trippy", model=tiny("bert"))


def test_wordings_of_the_schema_are_measured_while_training(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    paraphrases = demo.path("wordings/paraphrases.json")
    arguments: dict[str, Any] = {"recipe": "span", "model": tiny("bert"), "fit": FIT, "dev": data, "dev_limit": 1}
    (run,) = train_tracker(data, tmp_path / "run", **arguments, sets="NED,v1..v2", dev_schemas=paraphrases)
    for point in curve(run.folder):
        assert {"jga", "jga:NED", "jga:v1", "jga:v2"} <= point.keys()
        assert point["jga_wordings"] == pytest.approx((point["jga:v1"] + point["jga:v2"]) / 2)
    assert set(run.best) == {"best-jga", "least-slack"}
    record = json.loads((tmp_path / "run/training.json").read_text())
    assert record["dev_schemas"] == str(paraphrases)
    for sets, schemas, line in (
        ("v1", None, "nothing says how the schema is worded in v1"),
        ("v9", paraphrases, "different"),
        ("orig,SDI,NDE", None, "there is no set 'NDE'"),
        (f"mine={data}", None, "sets cannot be 'mine=…' while training"),
    ):
        with pytest.raises(UserError, match=line):
            train_tracker(data, tmp_path / "other", **arguments, sets=sets, dev_schemas=schemas)
        assert not (tmp_path / "other").exists()


def test_masked_words_are_learned_before_states(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    """ConvBERT-DG: of the training dialogues, where no others are named; and not where it is not wanted."""
    arguments: dict[str, Any] = {"recipe": "convbert-dg", "model": tiny("bert"), "fit": {"steps": 2, "batch": 2}}
    train_tracker(data, tmp_path / "both", **arguments, first_fit={"steps": 3, "batch": 2})
    assert len(losses(tmp_path / "both/first")) == 3
    assert json.loads((tmp_path / "both/first/state/state.json").read_text())["best"].keys() == {"best-loss"}
    train_tracker(data, tmp_path / "plain", **arguments, options={"before": "false"})
    assert not (tmp_path / "plain/first").exists()
    assert losses(tmp_path / "both") != losses(tmp_path / "plain")


def test_a_preset_sets_what_is_not_set_by_hand(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    arguments: dict[str, Any] = {"recipe": "trippy", "model": tiny("bert"), "preset": "checkdst"}
    train_tracker(data, tmp_path / "a", **arguments, fit={"steps": 1})
    card = json.loads((tmp_path / "a/training.json").read_text())
    assert card["preset"] == "checkdst"
    assert preset_fit("checkdst", few=False) == {"epochs": 10, "batch": 4, "rate": 5e-5}
    assert preset_fit("checkdst", few=True) == {"epochs": 20, "batch": 4, "rate": 1e-5}
    assert preset_first("checkdst")["rate"] == 1e-5
    rates = [json.loads(line)["rate"] for line in (tmp_path / "a/log.jsonl").read_text().splitlines()[:1]]
    assert rates == [5e-5]
    train_tracker(data, tmp_path / "b", **arguments, fit={"steps": 1, "rate": 1e-3}, shots=1.0)
    rates = [json.loads(line)["rate"] for line in (tmp_path / "b/log.jsonl").read_text().splitlines()[:1]]
    assert rates == [1e-3]
    with pytest.raises(UserError, match=r"'chekdst'.*did you mean 'checkdst'"):
        train_tracker(data, tmp_path / "c", recipe="trippy", model=tiny("bert"), preset="chekdst")
    train_tracker(data, tmp_path / "d", recipe="trippy", model=tiny("bert"), fit={"steps": 1})
    record = json.loads((tmp_path / "d/training.json").read_text())
    assert not {"preset", "engines", "dev_schemas"} & record.keys()  # runs of earlier versions can be resumed


def test_all_sets_in_one_go_and_again(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    train_tracker(data, tmp_path / "model", recipe="trippy", model=tiny("bert"), fit={"steps": 1, "batch": 2})
    done = track(tmp_path / "model", data, tmp_path / "out", sets="orig,NED,SDI,PI,v1..v2", schemas="corrupt")
    assert [one.name for one in done] == ["orig", "NED", "SDI", "PI", "v1", "v2"]
    assert [one.kind for one in done] == ["original", "twin", "twin", "twin", "variant", "variant"]
    twins = {one.name: (one.gold, one.predictions) for one in done if one.kind == "twin"}
    result = troth.checkdst((done[0].gold, done[0].predictions), twins, resamples=10)
    assert {"cjga:NED", "cjga:SDI", "cjga:PI"} <= {score.metric for score in result.scores}
    variants = {one.name: one.predictions for one in done if one.kind == "variant"}
    result = troth.sgdx(done[0].gold, {"orig": done[0].predictions, **variants}, schemas=tmp_path / "out/data",
                        resamples=10)  # fmt: skip
    assert result["jga_v1-2"].n > 0
    assert len(commands(done)) == 3
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*.json")}
    (tmp_path / "out/SDI").rename(tmp_path / "out/SDI.part")  # a run that was stopped before its end
    track(tmp_path / "model", data, tmp_path / "out", sets="orig,SDI", schemas="corrupt")
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*.json")}
    assert before.keys() == after.keys()
    assert {file.name for file in before if before[file] != after[file]} == {"schema.json"}
    with pytest.raises(UserError, match="holds predictions of a tracker with another data"):
        track(tmp_path / "model", data, tmp_path / "out", limit=1)
    paraphrases = demo.path("wordings/paraphrases.json")  # has three wordings
    done = track(tmp_path / "model", data, tmp_path / "worded", sets="v2..v3", schemas=paraphrases)
    assert [one.name for one in done] == ["v2", "v3"]
    with pytest.raises(UserError, match=r"there is no set 'NDE' \(did you mean 'NED'\?\)"):
        track(tmp_path / "model", data, tmp_path / "other", sets="NDE")
    with pytest.raises(UserError, match="nothing says how the schema is worded in v1"):
        track(tmp_path / "model", data, tmp_path / "third", sets="v1")


@pytest.mark.parametrize(
    ("wrong", "line"),
    [({"model": "nowhere"}, "no model is called"), ({"dev": "nowhere"}, "nowhere"), ({"fit": {"batch": 0}}, "batch"),
     ({"shots": "nowhere.json"}, "nowhere"), ({"recipe": "muppet"}, "first is needed: recipe 'muppet'"),
     ({"first": "x"}, "first is not used: recipe 'trippy' has no first phase"),
     ({"first_fit": {"epochs": 2}}, "first_fit is not used: recipe 'trippy' has no first phase")],
)  # fmt: skip
def test_bad_input_leaves_no_folder_behind(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], wrong: dict[str, Any], line: str
) -> None:
    options: dict[str, Any] = {"recipe": "trippy", "model": tiny("bert"), **wrong}
    with pytest.raises(UserError, match=line):
        train_tracker(data, tmp_path / "model", **options)
    assert not (tmp_path / "model").exists()


def test_a_tokenizer_without_its_marks(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny("bert"), folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"sep_token": None, "eos_token": None}))
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(UserError, match="the tokenizer has no token for the beginning or the end of a text"):
        train_tracker(data, tmp_path / "model", recipe="trippy", model=folder)
