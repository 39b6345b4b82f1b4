"""What another package can add: the package of docs/extending.md, as if it were installed."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import troth as api
from tests.cli.conftest import GOLD, HASTY, Troth
from tests.examples import blocks
from troth import demo
from troth.cli.data import KINDS
from troth.core.registry import Registry

REGISTRIES = (
    "troth.agents.metrics:METRICS",
    "troth.agents.rules:RULES",
    "troth.grounding.metrics:METRICS",
    "troth.models:BACKENDS",
    "troth.perturb.schemas.generators:GENERATORS",
    "troth.perturb.users.engines:ENGINES",
    "troth.perturb.users:FAMILIES",
    "troth.readers.grounded:FORMATS",
    "troth.readers.trajectories:FORMATS",
    "troth.readers:FORMATS",
    "troth.responses.metrics:METRICS",
    "troth.robustness.metrics:METRICS",
    "troth.systems.recipe:RECIPES",
    "troth.systems.recipe:TRACKERS",
    "troth.tracking.metrics:METRICS",
    "troth.tracking.profiles:PROFILES",
)


def registries() -> Iterator[Registry[Any]]:
    for path in REGISTRIES:
        module, _, name = path.partition(":")
        yield getattr(import_module(module), name)


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the page on the path, with the metadata that an installer would write."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_package").mkdir()
    for block in blocks("extending.md", "python", "json"):
        name = re.findall(r"`((?:my_package/)?\w+\.py|my_package/[\w/]+\.json)`", block.before)[0]
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(block.text, encoding="utf-8")
    (settings,) = blocks("extending.md", "toml")
    groups = settings.text[settings.text.index("[project.entry-points") :]
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n", encoding="utf-8")
    entries = groups.replace('project.entry-points."', "").replace('"', "")
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    for registry in registries():
        monkeypatch.setattr(registry, "_plugins", None)
    (tmp_path / "answers.jsonl").write_text(ANSWERS, encoding="utf-8")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        del sys.modules[name]


ANSWERS = """\
{"id": "a1", "document": "It costs 4.90 euros.", "response": "It is 4.90 or 5 euros."}
{"id": "a2", "document": "It is free.", "response": "It is free."}
"""


def test_every_group_is_tried() -> None:
    (settings,) = blocks("extending.md", "toml")
    tried = set(re.findall(r'entry-points\."([\w.]+)"', settings.text))
    assert tried == {registry.group for registry in registries()} - {"troth.paraphrase_engines"}


ARROWS = """\
> Book a room in Ulm.
! book_room {"city": "Ulm"}
= {"id": "R1"}
< There you are.
"""


def test_a_metric_a_rule_and_a_reader_of_assistants(fine: Troth, package: Path) -> None:
    (package / "log.arrows").write_text(ARROWS, encoding="utf-8")
    rows = fine("agent", "score", "log.arrows", "--metrics", "hushed", "--json").json()
    assert [(row["metric"], row["value"], row["n"]) for row in rows] == [("hushed", 1.0, 1)]
    chats = demo.path("agents/hasty.jsonl")
    (score,) = fine("agent", "score", chats, "--metrics", "calls_right", "--rule", "tools_only", "--json").json()
    assert "rule:tools_only|extra:allowed|order:any" in score["signature"]


def test_a_robustness_metric(fine: Troth) -> None:
    sets = (f"{GOLD},{HASTY}", f"SDI={GOLD},{demo.path('twins/hasty-SDI.jsonl')}")
    options = ("--profile", "trade", "--resamples", "20")
    scores = {one["metric"]: one["value"] for one in fine("robust", "checkdst", *sets, *options, "--json").json()}
    assert scores["lost:SDI"] == pytest.approx(1 - scores["cjga_all:SDI"] / scores["jga"])
    assert "lost" in fine("robust", "checkdst", *sets, *options).out.splitlines()[3]


def test_a_tracking_metric(fine: Troth) -> None:
    (one,) = fine("dst", GOLD, HASTY, "--metrics", "flawless", "--json").json()
    rows = api.dst(GOLD, HASTY, metrics="jga").rows()
    right = [frame["num"].min() for _, frame in rows.group_by("dialogue")]
    assert one["value"] == pytest.approx(sum(float(str(value)) for value in right) / len(right))
    assert one["n"] == len(right)
    assert one["signature"].startswith("FLAWLESS|profile:sgd|unit:dialogue|match:fuzzy-indel|norm:none|missing:zero|n:")
    assert "flawless" in fine("dst", GOLD, HASTY, "--profile", "trade", "--by", "service,turn,slot").out
    assert api.load("flawless").compute(predictions=[{"a-b": "c"}], references=[{"a-b": "d"}])["flawless"] == 0.0


def test_a_tracking_metric_goes_through_runs_and_reports(fine: Troth) -> None:
    fine("dst", GOLD, HASTY, demo.path("sturdy"), "--metrics", "jga,flawless", "--out", "run")
    assert "flawless" in fine("compare", "run", "--metrics", "flawless").out
    fine("report", "run", "--out", "report.html")
    assert "Flawless dialogues" in Path("report.html").read_text(encoding="utf-8")


def test_a_missing_dialogue_costs_its_unit_of_the_metric(package: Path) -> None:
    whole = json.loads((Path(GOLD) / "dialogues_001.json").read_bytes())
    (package / "part.json").write_text(json.dumps(whole[1:]), encoding="utf-8")
    result = api.dst(GOLD, package / "part.json", metrics="flawless", missing="zero")
    assert result["flawless"].value == pytest.approx(1 - 1 / result["flawless"].n)


def test_a_response_metric(fine: Troth) -> None:
    responses = demo.path("responses/terse.jsonl")
    scores = fine("nlg", GOLD, responses, "--metrics", "ser,brief", "--json").json()
    (one,) = [score for score in scores if score["metric"] == "brief"]
    assert 0.2 < one["value"] < 1
    assert one["signature"].startswith("BRIEF|unit:turn|words:10|missing:part|n:")


def test_a_grounding_metric(fine: Troth) -> None:
    scores = fine("ground", "answers.jsonl", "--metrics", "numbers", "--json").json()
    (score,) = [score for score in scores if score["metric"] == "numbers"]
    assert (score["value"], score["n"]) == (0.5, 1)
    assert score["signature"].startswith("NUMBERS|digits:verbatim")


def test_a_reader(package: Path, fine: Troth, troth: Troth) -> None:
    (gold,) = [block.text for block in blocks("extending.md", "text")]
    (package / "gold.calls").write_text(gold, encoding="utf-8")
    (package / "pred.calls").write_text(gold.replace("stars=4", "stars=3"), encoding="utf-8")
    scores = fine("dst", "gold.calls", "pred.calls", "--metrics", "jga,aga", "--json").json()
    assert {score["metric"]: score["value"] for score in scores} == {"jga": 0.5, "aga": 0.75}
    (package / "bad.calls").write_text("c1;0;find\nc1;one;find\n", encoding="utf-8")
    wrong = troth("dst", "gold.calls", "bad.calls")
    assert wrong.code == 2
    assert "bad.calls: line 2 is not" in wrong.err


def test_a_reader_of_grounded_responses(package: Path, fine: Troth) -> None:
    (package / "answers.quoted").write_text(
        "> It is free.\nIt is free.\n\n> It is free.\nTen euros\n", encoding="utf-8"
    )
    scores = fine("ground", "answers.quoted", "--metrics", "coverage", "--json").json()
    assert [score["value"] for score in scores if score["metric"] == "coverage"] == [0.5]


def test_a_perturbation(fine: Troth) -> None:
    fine("perturb", "dialogue", GOLD, "loud", "--with", "shouting", "--set", "shouting.marks=2")
    assert Path("loud/dialogues_001.json").read_text(encoding="utf-8").count("!!") > 20
    assert fine("check", "loud").code == 0
    done = api.perturb(GOLD, "louder", with_={"shouting": {"share": 1.0}})
    assert done.families[0].dialogues_changed == done.dialogues


def test_a_schema_generator(package: Path, fine: Troth) -> None:
    fine("perturb", "schema", GOLD, "variants", "--make", "undescribed")
    services = json.loads(Path("variants/undescribed/schema.json").read_bytes())
    assert {slot["description"] for service in services for slot in service["slots"]} == {""}
    tools = [{"type": "function", "function": {"name": "find", "description": "Find it", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "City of it"}}}}}]  # fmt: skip
    (package / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    fine("perturb", "schema", "tools.json", "tools", "--make", "undescribed")
    assert "City of" not in Path("tools/undescribed/tools.json").read_text(encoding="utf-8")


def test_a_backend(package: Path, fine: Troth, capsys: pytest.CaptureFixture[str]) -> None:
    scores = fine("ground", "answers.jsonl", "--metrics", "nli", "--nli", "lexical", "--json").json()
    (score,) = [score for score in scores if score["metric"] == "nli"]
    exec((package / "direct.py").read_text(encoding="utf-8"), {})  # noqa: S102 (our own page)
    printed = capsys.readouterr().out
    assert f"{score['value']} {score['signature']}" == printed.strip()
    assert "NLI|nli:lexical@1|" in printed


def test_a_profile(fine: Troth) -> None:
    (score,) = fine("dst", GOLD, HASTY, "--metrics", "jga", "--profile", "house", "--json").json()
    assert score["signature"].startswith(
        "JGA|profile:house|unit:turn|match:exact|norm:none|missing:zero|dontcare:drop|"
    )
    assert "dontcare" in fine("explain", GOLD, HASTY, "--from", "sgd", "--to", "house").out
    assert "house" in fine("dst", GOLD, HASTY, "--metrics", "jga", "--profiles", "all").out


def test_what_is_listed(fine: Troth) -> None:
    listed = fine("ls").out
    (settings,) = blocks("extending.md", "toml")
    names = re.findall(r'^(\w+) = "my_package', settings.text, re.MULTILINE)
    assert len(names) == 15
    for name in names:
        assert re.search(rf"^{name} +\S", listed, re.MULTILINE), name
    assert len(KINDS) >= len(names)


def test_a_recipe_and_a_tracker(fine: Troth, package: Path) -> None:
    """The recipe finds what the user says, and the tracker has the recipe with an option of its own."""
    services = [{"service_name": "Stays", "slots": [
        {"name": "area", "is_categorical": True, "possible_values": ["north", "south"]},
        {"name": "stars", "is_categorical": True, "possible_values": ["4", "5"]},
        {"name": "hotel", "is_categorical": False},
    ]}]  # fmt: skip
    texts = ["Something in the North, please.", "Go on.", "And then?", "Hm.", "With 4 stars; no, 5."]
    state = {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}
    turns = [{"speaker": "USER", "utterance": text, "frames": [{"service": "Stays", "state": state}]} for text in texts]
    (package / "gold").mkdir()
    (package / "gold/schema.json").write_text(json.dumps(services))
    (package / "gold/dialogues_001.json").write_text(
        json.dumps([{"dialogue_id": "d1", "services": ["Stays"], "turns": turns}])
    )
    for model, last in (("mentions:", {"area": ["north"], "stars": ["5"]}), ("attentive", {"stars": ["5"]})):
        (done,) = fine("track", model, "gold", "--out", model.rstrip(":"), "--json").json()
        predicted = next(iter(api.readers.gold(done["predictions"]))).turns
        found = [turn.frames[0].state.slot_values for turn in predicted if turn.frames[0].state is not None]
        assert json.loads(json.dumps(found[0])) == {"area": ["north"]}
        assert json.loads(json.dumps(found[-1])) == last
    assert "mentions" in fine("ls", "recipes").out
    assert "Remembers what the user said in the last three turns." in fine("ls", "trackers").out
