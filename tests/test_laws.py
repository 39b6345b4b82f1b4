"""Laws that every task keeps, whatever it measures: order changes nothing, a missing dialogue costs exactly its units,
shards add up to the whole, every rule of a recipe stands in the signature, and
files and memory give equal bits. Metrics come from the registries."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.tracking.build import SCHEMA, dialogue
from troth import demo, readers
from troth.agents.corpus import ReadTrials, join
from troth.agents.score import AgentSettings, agent, score_corpus
from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.records import Dialogue
from troth.core.result import Result
from troth.core.signature import signature
from troth.grounding.metrics import METRICS as GROUNDING
from troth.grounding.score import ground
from troth.models.fake import FakeNli
from troth.readers import grounded, trajectories
from troth.readers import responses as response_files
from troth.readers import tools as tool_readers
from troth.responses.metrics import METRICS as RESPONSES
from troth.responses.metrics import BleuRecipe, SerRecipe, SgsaccRecipe
from troth.responses.multiwoz.metrics import METRICS as MULTIWOZ
from troth.responses.multiwoz.metrics import MultiwozRecipe
from troth.responses.score import nlg
from troth.robustness.checkdst import checkdst
from troth.robustness.sgdx import sgdx
from troth.tracking.cells import TrackedSystem, recipe
from troth.tracking.consistency import CheckdstRecipe
from troth.tracking.metrics import METRICS as TRACKING
from troth.tracking.metrics import select_metrics
from troth.tracking.profiles import CHOICES, PROFILES
from troth.tracking.score import dst
from troth.tracking.scorer import Scorer

GOLD, SCHEMA_FILE = demo.path("gold"), str(Path(demo.path("gold")) / "schema.json")
Files = dict[str, list[Any]]  # records of each input file, by name
NEURAL = {"bertscore", "faithcritic", "faithcritic_soft", "q2"}  # need models that do not come with troth


@dataclass(frozen=True)
class Task:
    """A task on small files: what they hold, how it is called on them, and which of them may lose a dialogue."""

    files: dict[str, str]  # name to bundled file
    run: Callable[[dict[str, str]], Result]
    predictions: str
    by_dialogue: str = "dialogue"  # the key of a record that says which dialogue, or document, it belongs to

    def records(self) -> Files:
        return {name: _records(demo.path(path)) for name, path in self.files.items()}

    def __call__(self, folder: Path, files: Files) -> Result:
        folder.mkdir(exist_ok=True)
        return self.run({name: _written(folder, name, records, self.files[name]) for name, records in files.items()})


def _records(path: str) -> list[Any]:
    file = Path(path) / "dialogues_001.json" if Path(path).is_dir() else Path(path)
    text = file.read_text()
    return list(json.loads(text)) if file.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def _written(folder: Path, name: str, records: list[Any], like: str) -> str:
    if like.endswith(".jsonl"):
        place = folder / f"{name}.jsonl"
        place.write_text("".join(json.dumps(record) + "\n" for record in records))
        return str(place)
    place = folder / name
    place.mkdir()
    (place / "schema.json").write_text(Path(SCHEMA_FILE).read_text())
    half = len(records) // 2
    (place / "dialogues_001.json").write_text(json.dumps(records[:half]))
    (place / "dialogues_002.json").write_text(json.dumps(records[half:]))
    return str(place)


def _documents() -> str:
    return ",".join(name for name in GROUNDING.own if name not in NEURAL)


TASKS = {
    "dst": Task(
        {"gold": "gold", "hasty": "hasty", "sturdy": "sturdy"},
        lambda f: dst(f["gold"], f"hasty={f['hasty']}", f"sturdy={f['sturdy']}", by="service,slot,turn", resamples=30),
        "hasty",
        "dialogue_id",
    ),
    "checkdst": Task(
        {"gold": "gold", "pred": "hasty", "twin": "gold", "twin_pred": "twins/hasty-SDI.jsonl"},
        lambda f: checkdst(
            (f["gold"], f["pred"]), {"SDI": (f["twin"], f["twin_pred"])}, profile="trade", resamples=30
        ),
        "twin_pred",
    ),
    "sgdx": Task(
        {"gold": "gold", "v1": "wordings/hasty-v1.jsonl", "v2": "wordings/hasty-v2.jsonl", "orig": "hasty"},
        lambda f: sgdx(
            f["gold"], {k: f[k] for k in ("v1", "v2", "orig")}, profile="trade", metrics="jga,aga", by="service",
            resamples=30,
        ),
        "v2",
    ),
    "nlg": Task(
        {"gold": "gold", "fluent": "responses/fluent.jsonl", "terse": "responses/terse.jsonl"},
        lambda f: nlg(
            f["gold"], f["fluent"], f["terse"], nli="fake", cache=None, by="service,act,kind", missing="zero",
            resamples=30,
        ),
        "fluent",
    ),
    "ground": Task(
        {"careful": "documents/careful.jsonl", "chatty": "documents/chatty.jsonl"},
        lambda f: ground(
            f["careful"], f["chatty"], metrics=_documents(), nli="fake", lm="fake", cache=None, resamples=30
        ),
        "careful",
        "document",
    ),
}  # fmt: skip


JOINT = {"dst": "jga", "checkdst": "jga:SDI", "sgdx": "jga:v2", "nlg": "sgsacc"}  # wrong wherever a prediction lacks


def table(result: Result) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    return {(s.system, s.metric, s.group): (s.value, s.low, s.high, s.n, s.signature) for s in result.scores}


def rows(result: Result) -> pl.DataFrame:
    frame = result.rows()
    return frame.sort([name for name in frame.columns if name not in ("num", "den")])


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("seed", [1, 2])
def test_order_changes_nothing(name: str, seed: int, tmp_path: Path) -> None:
    """Of files, lines and dialogues, on both sides, each shuffled in its own way."""
    task = TASKS[name]
    files = task.records()
    whole = task(tmp_path / "whole", files)
    shuffled = {key: random.Random(f"{seed}{key}").sample(value, len(value)) for key, value in files.items()}
    other = task(tmp_path / "shuffled", shuffled)
    assert table(other) == table(whole)
    assert rows(other).equals(rows(whole))
    assert other.counts == whole.counts


@pytest.mark.parametrize("name", ["dst", "nlg", "ground"])
def test_order_of_systems_changes_nothing(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    swapped = {
        "dst": lambda f: dst(f["gold"], f"sturdy={f['sturdy']}", f"hasty={f['hasty']}", by="service,slot,turn",
                             resamples=30),
        "nlg": lambda f: nlg(f["gold"], f["terse"], f["fluent"], nli="fake", cache=None, by="service,act,kind",
                             missing="zero", resamples=30),
        "ground": lambda f: ground(f["chatty"], f["careful"], metrics=_documents(), nli="fake", lm="fake", cache=None,
                                   resamples=30),
    }[name]  # fmt: skip
    files = task.records()
    assert table(replace(task, run=swapped)(tmp_path / "a", files)) == table(task(tmp_path / "b", files))


@pytest.mark.parametrize("name", ["dst", "checkdst", "sgdx", "nlg"])
def test_a_missing_dialogue_costs_exactly_its_units(name: str, tmp_path: Path) -> None:
    """All other units are as they were, and nothing of it is right any more."""
    task = TASKS[name]
    files = task.records()
    whole = task(tmp_path / "whole", files)
    (metric,) = (one.name for one in whole.metrics if one.name == JOINT[name])
    system = whole.systems[0]
    units = rows(whole).filter((pl.col("metric") == metric) & (pl.col("system") == system))
    gone = units.filter(pl.col("num") > 0)["dialogue"][0]
    kept = [record for record in files[task.predictions] if record[task.by_dialogue] != gone]
    less = task(tmp_path / "less", {**files, task.predictions: kept})
    others = [rows(result).filter(pl.col("dialogue") != gone) for result in (whole, less)]
    assert others[0].equals(others[1])
    mine = (pl.col("metric") == metric) & (pl.col("system") == system) & (pl.col("dialogue") == gone)
    before, after = (rows(result).filter(mine) for result in (whole, less))
    assert (before["den"].sum(), after["num"].sum()) == (after["den"].sum(), 0.0)


@pytest.mark.parametrize("name", TASKS)
def test_shards_add_up_to_the_whole(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    files = task.records()
    ids = sorted({str(record.get("dialogue_id", record.get("dialogue"))) for record in files[next(iter(files))]})
    if name == "ground":
        ids = sorted({record["document"] for records in files.values() for record in records})
    half = set(ids[: len(ids) // 2])

    def part(inside: bool) -> Files:
        keys = ("document",) if name == "ground" else ("dialogue_id", "dialogue")
        return {
            key: [r for r in value if (next(str(r[k]) for k in keys if k in r) in half) == inside]
            for key, value in files.items()
        }

    # Validation tampers with values of the whole corpus: what passes depends on what else there is.
    local = pl.col("metric") != "sgsacc_validated"
    whole = rows(task(tmp_path / "whole", files)).filter(local)
    shards = pl.concat([task(tmp_path / str(inside), part(inside)).rows() for inside in (True, False)]).filter(local)
    assert shards.sort([c for c in shards.columns if c not in ("num", "den")]).equals(whole)


# -- recipes -----------------------------------------------------------------------------------------------------------


def metrics_of(registry: Any) -> list[Metric]:
    return [registry.load(name) for name in registry.own]


@pytest.mark.parametrize("rule", CHOICES)
@pytest.mark.parametrize("base", ["sgd", "trade"])
def test_every_rule_of_a_profile_stands_in_the_signature(rule: str, base: str) -> None:
    """Or the metric says that it ignores the rule, and then no number moves."""
    gold = dialogue(
        [{"Stays_1": {"name": "Alder Court", "area": "North", "nights": "2"}, "Sights_1": {"fee": "3"}}] * 3
    )
    pred = dialogue([{"Stays_1": {"name": "alder cort", "area": "north"}, "Sights_1": {"fee": "dontcare"}}] * 2)
    profile = PROFILES[base]
    for value in CHOICES[rule]:
        if value == getattr(profile, rule):
            continue
        systems = []
        for one in (profile, profile.with_rules(**{rule: value})):
            scorer = Scorer(one, SCHEMA)
            scorer.add(gold, pred)
            systems.append(TrackedSystem.from_scorer("s", scorer))
        for metric in select_metrics():
            before, after = (
                signature(metric, (*recipe(metric, one.frames), {"unit": one.frames.profile.unit}), n=0)
                for one in systems
            )
            if rule in metric.ignores:
                old, new = (one.parts(metric) for one in systems)
                assert (old.num.tolist(), old.den.tolist()) == (new.num.tolist(), new.den.tolist()), (metric, rule)
            else:
                assert before != after, (metric, rule)


def test_profiles_of_one_name_with_other_rules_have_other_signatures() -> None:
    metric = TRACKING["jga"]
    lines = {signature(metric, PROFILES["sgd"], n=1)}
    for rule in ("case", "values", "typed", "scope"):
        for value in CHOICES[rule]:
            changed: dict[str, Any] = {rule: value}
            lines.add(signature(metric, replace(PROFILES["sgd"], **changed), n=1))
    assert len(lines) == 1 + 4 + 1  # `values` has three choices


@pytest.mark.parametrize(
    "base",
    [
        CheckdstRecipe(),
        SerRecipe(schema="a"),
        SgsaccRecipe(schema="a", nli="m"),
        MultiwozRecipe(states="gold", domains="estimated", missing="part"),
        BleuRecipe(nrefs="1", case="mixed", eff="no", tok="13a", smooth="exp", version="2"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_field_of_a_recipe_stands_in_the_signature(base: Any) -> None:
    metric = Metric("m", "M")
    line = signature(metric, base, n=1)
    for field in fields(base):
        value = getattr(base, field.name)
        other: Any = (
            f"{value}x" if isinstance(value, str) else (value or 0) + 1 if not isinstance(value, bool) else not value
        )
        changed = signature(metric, replace(base, **{field.name: frozenset({"x"}) if value is None else other}), n=1)
        assert changed != line, field.name


@pytest.mark.parametrize("registry", [TRACKING, RESPONSES, MULTIWOZ, GROUNDING], ids=lambda one: one.group)
def test_metrics_say_what_they_are(registry: Any) -> None:
    for metric in metrics_of(registry):
        assert metric.title, metric.name
        assert metric.about, metric.name
        assert not metric.about.endswith("."), metric.name
        assert metric.better in ("higher", "lower")
    names = [metric.name for metric in metrics_of(registry)]
    assert len(set(names)) == len(names)


# -- files and memory --------------------------------------------------------------------------------------------------

HASTY, STURDY = demo.path("hasty"), demo.path("sturdy")
TWIN = demo.path("twins/hasty-SDI.jsonl")


def dialogues(path: str) -> list[Dialogue]:
    return list(readers.gold(path))


def predictions(path: str) -> list[Dialogue]:
    return list(readers.predictions(path))


def _dst() -> tuple[Result, Result]:
    options: dict[str, Any] = {"profile": "sgd", "by": "service,slot", "train_schema": SCHEMA_FILE, "resamples": 20}
    memory = {"hasty": predictions(HASTY), "sturdy": predictions(STURDY)}
    return dst(GOLD, HASTY, STURDY, **options), dst(dialogues(GOLD), pred=memory, schema=SCHEMA_FILE, **options)


def _checkdst() -> tuple[Result, Result]:
    options: dict[str, Any] = {"profile": "trade", "resamples": 20, "schema": SCHEMA_FILE}
    gold = dialogues(GOLD)
    files = checkdst((GOLD, HASTY), {"SDI": (GOLD, TWIN)}, **options)
    return files, checkdst((gold, predictions(HASTY)), {"SDI": (gold, predictions(TWIN))}, **options)


def _sgdx() -> tuple[Result, Result]:
    options: dict[str, Any] = {"schema": SCHEMA_FILE, "by": "service", "resamples": 20}
    files = sgdx(GOLD, {"v1": HASTY, "v2": STURDY}, **options)
    return files, sgdx(dialogues(GOLD), {"v1": predictions(HASTY), "v2": predictions(STURDY)}, **options)


def _nlg() -> tuple[Result, Result]:
    options: dict[str, Any] = {"schema": SCHEMA_FILE, "nli": FakeNli(), "by": "service,kind", "resamples": 20}
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


def test_files_and_records_are_not_mixed() -> None:
    message = "gold and predictions must both be files, or both be dialogues"
    with pytest.raises(UserError, match=message):
        dst(dialogues(GOLD), HASTY)
    with pytest.raises(UserError, match=message):
        dst(GOLD, pred=predictions(HASTY))
