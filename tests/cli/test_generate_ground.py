"""`troth generate ground` and `sweep`, with small models made on the spot."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from tests.cli.conftest import Troth
from tests.models.build import WORDS, lm_folder
from troth.core.progress import within
from troth.core.records import Grounded
from troth.grounding.metrics import Models
from troth.models.batches import Room
from troth.systems.decoding.generate import GenerateSettings, contexts
from troth.systems.decoding.settings import Setting
from troth.systems.decoding.sweep import GRAMMAR, RELEVANCE, SweepSettings, sweep

ITEMS = [
    {"id": "1", "document": "the room is nice", "history": ["the room is"], "response": "it is nice", "source": "a"},
    {"id": "2", "document": "a train for two people", "history": [], "response": "for two"},
    {"id": "3", "document": "the room is nice", "history": ["monday", "cheap"], "response": "cheap"},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(lm_folder(tmp_path_factory.mktemp("lm") / "tiny-lm"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "contexts.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return str(file)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses of words, other ones for each context and setting: what a model of random weights says scores 0."""
    from troth.systems.decoding.generator import GeneratedResponse

    def said(self: Any, contexts: Any, setting: Any) -> list[bytes]:
        made = []
        for context in contexts:
            draw = random.Random(repr((context, setting.alpha, setting.top_p)))
            made.append(msgspec.msgpack.encode(GeneratedResponse(" ".join(draw.sample(WORDS, 5)), 5, 0)))
        return made

    monkeypatch.setattr("troth.systems.decoding.generator.Responder._encode_items", said)


COMMON = ("--lm", "fake", "--nli", "fake", "--max-tokens", "6", "--no-cache")


def test_responses_for_troth_ground(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    made = troth("generate", "ground", data, "--model", model, "--out", str(out), *COMMON)
    assert made.code == 0, made.err
    found = rows(out)
    assert [row["id"] for row in found] == ["1", "2", "3"]
    assert [row["document"] for row in found] == [item["document"] for item in ITEMS]
    assert found[2]["history"] == ["monday", "cheap"]
    assert found[0]["source"] == "a"
    assert found[0]["meta"]["recipe"].endswith("|prompt:plain|first:word|decode:greedy|alpha:0.25|p:0.6|max:6")
    lines = made.out.splitlines()
    assert lines[0].split() == ["metric", "out"]
    assert [line.split()[0] for line in lines[1:3]] == ["pmi_faith", "nli"]
    assert "3 responses of" in made.err
    assert "GENERATE|model:tiny-lm@" in made.err
    again = troth("ground", str(out), "--metrics", "pmi_faith", "--lm", "fake", "--json")
    assert again.code == 0, again.err


@pytest.mark.parametrize("mode", ["greedy", "beam", "sample", "beam-sample"])
def test_every_mode(troth: Troth, model: str, data: str, tmp_path: Path, mode: str) -> None:
    texts = []
    for number, alpha in enumerate(("0", "0.5", "0.5")):
        out = tmp_path / f"{number}.jsonl"
        made = troth(
            "generate",
            "ground", data, "--model", model, "--out", str(out), "--decode", mode, "--alpha", alpha, "--top-p", "1",
            "--metrics", "none", "--json", *COMMON,
        )  # fmt: skip
        assert made.code == 0, made.err
        assert json.loads(made.out)["responses"] == 3
        texts.append([row["response"] for row in rows(out)])
    assert texts[1] == texts[2]


def test_a_new_file_only(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    out = tmp_path / "there.jsonl"
    out.write_text("mine")
    made = troth("generate", "ground", data, "--model", model, "--out", str(out), *COMMON)
    assert made.code == 2
    assert out.read_text() == "mine"


@pytest.mark.parametrize("options", [("--metrics", "pmi_fait"), ("--metrics", "nli", "--nli", "nowhere")])
def test_metrics_are_looked_at_before_anything_is_generated(
    troth: Troth, model: str, data: str, tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = tmp_path / "o.jsonl"
    made = troth("generate", "ground", data, "--model", model, "--out", str(out), *COMMON, *options)
    assert made.code == 2
    assert not out.exists()


@pytest.mark.usefixtures("words")
def test_what_is_drawn_does_not_move_the_intervals(troth: Troth, model: str, tmp_path: Path) -> None:
    """`--seed` is of the responses; they are scored as `troth ground` scores them."""
    data = tmp_path / "many.jsonl"
    # The values of the model lie on a coarse grid: with a dozen responses, the intervals of most seeds are equal.
    documents = [" ".join(WORDS[n % 9 : n % 9 + 3 + n % 5]) for n in range(40)]
    items = [ITEMS[0] | {"id": str(n), "document": document} for n, document in enumerate(documents)]
    data.write_text("".join(json.dumps(item) + "\n" for item in items))
    out = str(tmp_path / "o.jsonl")
    options = ("--metrics", "pmi_faith", "--lm", "fake", "--json")  # a metric whose interval is resampled
    made = troth("generate", "ground", str(data), "--model", model, "--out", out, "--seed", "4", *options, *COMMON)
    found, usual, moved = (
        [(one["low"], one["high"]) for one in json.loads(text) if one["group"] == "all"]
        for text in (made.out, troth("ground", out, *options).out, troth("ground", out, *options, "--seed", "4").out)
    )
    assert found == usual
    assert found != moved  # or nothing was tested


@pytest.mark.parametrize("name", ["http://localhost/v1#m", "fake"])
def test_models_that_hide_their_probabilities(troth: Troth, name: str, data: str, tmp_path: Path) -> None:
    made = troth("generate", "ground", data, "--model", name, "--out", str(tmp_path / "o.jsonl"), *COMMON)
    assert made.code == 2
    assert f"'{name}' gives no model for transformers" in made.err


def test_no_template_for_conversations(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    made = troth(
        "generate", "ground", data, "--model", model, "--prompt", "chat", "--out", str(tmp_path / "o.jsonl"), *COMMON
    )
    assert "has no template for conversations (use the plain prompt)" in made.err
    assert not (tmp_path / "o.jsonl").exists()


def test_more_tokens_than_it_reads(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    made = troth(
        "generate",
        "ground",
        data,
        "--model",
        model,
        "--out",
        str(tmp_path / "o.jsonl"),
        "--max-tokens",
        "64",
        "--no-cache",
    )
    assert "64 tokens are more than 'tiny-lm@" in made.err


def test_a_killed_run_goes_on(
    troth: Troth, model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from troth.systems.decoding.pmi_decode import decode as real

    cache = str(tmp_path / "scores.sqlite")
    arguments = ("--model", model, "--metrics", "none", "--max-tokens", "6", "--cache", cache)
    asked: list[int] = []

    def killed(model: Any, prompts: Any, setting: Any, **options: Any) -> Any:
        if asked:
            raise KeyboardInterrupt
        asked.append(len(prompts))
        return real(model, prompts, setting, **options)

    monkeypatch.setattr("troth.systems.decoding.generator.ROOM", Room(items=1, units=100))
    monkeypatch.setattr("troth.systems.decoding.generator.decode", killed)
    assert troth("generate", "ground", data, "--out", str(tmp_path / "o.jsonl"), *arguments).code == 130
    assert not (tmp_path / "o.jsonl").exists()

    def counted(model: Any, prompts: Any, setting: Any, **options: Any) -> Any:
        asked.append(len(prompts))
        return real(model, prompts, setting, **options)

    monkeypatch.setattr("troth.systems.decoding.generator.decode", counted)
    assert troth("generate", "ground", data, "--out", str(tmp_path / "o.jsonl"), *arguments).code == 0
    assert sum(asked) == 3


def test_the_document_gives_way(model: str, tmp_path: Path) -> None:
    made = GenerateSettings(model, cache=None).responder()
    long = Grounded("1", "the room is nice " * 30, "", ("monday",))
    context = made.context(long, 6)
    assert context.dropped > 0
    assert len(context.prompt.given) == 58
    tokenizer, _, _ = made.loaded
    assert tokenizer.decode(context.prompt.given).endswith("monday.\nAgent:")
    assert tokenizer.decode(context.prompt.alone) == "monday.\nAgent:"
    (one,) = made.responses([long], Setting(max_tokens=6))
    assert one.dropped == context.dropped


# -- the sweep ---------------------------------------------------------------------------------------------------------


def test_table_5(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    chart = tmp_path / "sweep.json"
    made = troth(
            "generate",
        "sweep", data, "--model", model, "--alphas", "0,0.5", "--ps", "0.6,1", "--pick", "--chart", str(chart),
        "--grammar", "str:isascii", *COMMON,
    )  # fmt: skip
    assert made.code == 2  # `str` is no module
    made = troth(
            "generate",
        "sweep", data, "--model", model, "--alphas", "0,0.5", "--ps", "0.6,1", "--pick", "--chart", str(chart),
        "--grammar", "tests.cli.test_generate_ground:right", *COMMON,
    )  # fmt: skip
    assert made.code == 0, made.err
    heads = [line.split("  ")[0] for line in made.out.splitlines() if "α 0 " in line]
    names = ["pmi_faith", "nli", RELEVANCE.name, GRAMMAR.name]
    assert heads == [f"{name}, n 3" for name in names], "its plain responses have one value: nothing is normalised"
    assert "SWEEP|model:tiny-lm@" in made.err
    drawn = json.loads(chart.read_text())
    assert drawn["title"] == "PMI-Decode"
    assert drawn["facet"]["sort"] == names
    assert {(row["metric"], row["p"], row["α"]) for row in drawn["data"]["values"]} == {
        (name, p, alpha) for name in names for p in ("0.6", "1") for alpha in (0, 0.5)
    }


def right(text: str) -> bool:
    return "e" not in text


@pytest.mark.parametrize("mode", ["greedy", "sample"])
def test_p_without_alpha(model: str, data: str, mode: Literal["greedy", "sample"]) -> None:
    """The likeliest token is in every top-p set, so only what is drawn depends on p."""
    made = GenerateSettings(model, cache=None).responder()
    settings = [Setting(mode=mode, alpha=0.0, top_p=p, max_tokens=8) for p in (0.05, 1.0)]
    masked, plain = made.sweep(contexts(data, SweepSettings())[0], settings).values()
    assert (masked == plain) == (mode == "greedy")


def test_each_setting_without_alpha_has_its_recipe(troth: Troth, model: str, data: str) -> None:
    made = troth("generate", "sweep", data, "--model", model, "--alphas", "0,1", "--ps", "0.6,1", "--json", *COMMON)
    scores = json.loads(made.out)["scores"]
    found = {one["system"]: one["signature"] for one in scores if (one["metric"], one["group"]) == ("relevance", "all")}
    assert len(found) == 4
    for system, signature in found.items():
        assert f"|alpha:{system.split()[1].strip(',')}|p:{system.split()[-1]}|" in signature


def means(found: Any) -> dict[str, dict[str, float]]:
    """By setting and metric."""
    made: dict[str, dict[str, float]] = {}
    for one in found["scores"]:
        if one["group"] == "all":
            made.setdefault(one["system"], {})[one["metric"]] = one["value"]
    return made


def swept(troth: Troth, model: str, data: str, *options: str) -> Any:
    made = troth("generate", "sweep", data, "--model", model, "--json", *options, *COMMON)
    assert made.code == 0, made.err
    return json.loads(made.out)


@pytest.mark.usefixtures("words")
def test_what_else_is_in_the_grid_moves_nothing(troth: Troth, model: str, data: str) -> None:
    alone = swept(troth, model, data, "--alphas", "0.5", "--ps", "0.6")
    among = swept(troth, model, data, "--alphas", "0,0.5,1", "--ps", "0.6,1")
    own = {one["metric"]: one for one in among["scores"] if (one["system"], one["group"]) == ("α 0.5, p 0.6", "all")}
    assert {one["metric"]: one for one in alone["scores"] if one["group"] == "all"} == own
    picked, low, high = ([found["picked"][0][name] for found in (alone, among)] for name in ("by", "low", "high"))
    assert picked == ["pmi_faith"] * 2
    assert (low[0], high[0]) == (low[1], high[1])
    expected = (own["pmi_faith"]["value"] - low[0]) / (high[0] - low[0])
    assert own["pmi_faith, normalised"]["value"] == pytest.approx(expected)


@pytest.mark.usefixtures("words")
def test_the_order_of_metrics_moves_nothing(troth: Troth, model: str, data: str) -> None:
    grid = ("--alphas", "0,0.5,1", "--ps", "0.6,1", "--pick")
    found = []
    for names in ("pmi_faith,u_f1", "u_f1,pmi_faith"):
        made = troth("generate", "sweep", data, "--model", model, "--metrics", names, *grid, *COMMON)
        found += [line for line in made.err.splitlines() if line.startswith("picked: ")]
    assert len(found) == 2
    assert found[0] == found[1]
    assert ", by pmi_faith (plain decoding has " in found[0]
    made = troth("generate", "sweep", data, "--model", model, "--metrics", "u_f1,nli", *grid, *COMMON)
    assert ", by u_f1 (plain decoding has " in made.err
    assert "|normal:u_f1:plain|low:" in made.err


def test_the_bar_of_a_sweep_goes_one_way(model: str, data: str) -> None:
    """Also where some of it exists already."""
    made = GenerateSettings(model, cache=None).responder()
    settings = SweepSettings(
        model=made, setting=Setting(max_tokens=3), alphas=(0.0, 0.5, 1.0), ps=(1.0,), metrics="u_f1",
        models=Models(cache=None),
    )  # fmt: skip
    made.responses(contexts(data, settings)[0][:2], Setting(alpha=0.5, top_p=1.0, max_tokens=3))
    steps: list[tuple[int, int]] = []
    with within(lambda what, done, total: steps.append((done, total)) if what == "generating" else None):
        sweep(data, settings)
    assert len({total for _, total in steps}) == 1
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert steps[-1][0] == steps[-1][1]


def test_nothing_to_pick_by(troth: Troth, model: str, data: str) -> None:
    grid = ("--alphas", "0.5", "--ps", "0.6", "--pick")
    made = troth("generate", "sweep", data, "--model", model, "--limit", "1", *grid, *COMMON)
    assert "nothing to pick by: plain decoding has fewer than two values of the metric" in made.err


def test_what_is_not_scored_is_told(troth: Troth, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting gives an empty response, one context has no document, and one no response to compare with."""
    from troth.systems.decoding.pmi_decode import decode as real

    def empty(model: Any, prompts: Any, setting: Any, **options: Any) -> Any:
        made = real(model, prompts, setting, **options)
        return [[], *made[1:]] if setting.alpha == 0.5 and setting.top_p == 0.6 else made

    monkeypatch.setattr("troth.systems.decoding.generator.decode", empty)
    file = tmp_path / "some.jsonl"
    bare = {"id": "4", "document": "", "history": ["monday"], "response": "for two"}
    file.write_text("".join(json.dumps(item) + "\n" for item in (*ITEMS[:2], bare, ITEMS[2] | {"response": ""})))
    made = troth(
        "generate", "sweep", str(file), "--model", model, "--alphas", "0,0.5", "--ps", "0.6,1", "--metrics", "u_f1",
        *COMMON,
    )  # fmt: skip
    assert made.code == 0, made.err
    first, second = (line for line in made.out.splitlines()[1:3])
    assert first.endswith("(n 2)")
    assert "(n" not in second
    told = made.err.splitlines()
    assert "α 0.5, p 0.6: u_f1: 1 of 3 not scored: the response is empty" in told
    assert f"all α and p: {RELEVANCE.name}: 1 of 3 not scored: the data has no response" in told
    assert "1 contexts have no document, and were left out" in told
    assert sum("not scored" in line for line in told) == 2


def test_contexts_without_a_document_are_counted(troth: Troth, model: str, tmp_path: Path) -> None:
    file, out = tmp_path / "some.jsonl", tmp_path / "o.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in (ITEMS[0], ITEMS[1] | {"document": " "}, ITEMS[2])))
    made = troth("generate", "ground", str(file), "--model", model, "--out", str(out), "--metrics", "none", *COMMON)
    assert "1 contexts have no document, and were left out" in made.err
    assert [row["id"] for row in rows(out)] == ["1", "3"]


def test_long_contexts_are_told_by_a_sweep(troth: Troth, model: str, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps(ITEMS[0] | {"document": "the room is nice " * 30}) + "\n")
    made = troth("generate", "sweep", str(file), "--model", model, "--alphas", "0,1", "--ps", "1", *COMMON)
    assert "1 contexts were longer than the model reads, and lost the end of their document" in made.err


def test_a_sweep_without_metrics_has_relevance(troth: Troth, model: str, data: str) -> None:
    grid = ("--alphas", "0,0.5", "--ps", "0.6", "--metrics", "none")
    found = swept(troth, model, data, *grid)
    assert [set(one) for one in means(found).values()] == [{RELEVANCE.name}] * 2
    made = troth("generate", "sweep", data, "--model", model, *grid, "--pick", *COMMON)
    assert made.code == 2
    assert "--pick needs a metric of faithfulness" in made.err


# -- checkers of grammar -----------------------------------------------------------------------------------------------

CHECKERS = """
def right(text): return True
def broken(text): raise KeyError(text)
NUMBER = 3
"""


@pytest.fixture
def checkers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in the current folder, which is not where Python looks, as for an installed command."""
    (tmp_path / "own_checkers.py").write_text(CHECKERS)
    (tmp_path / "bad_checkers.py").write_text("def right(text: return True")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", ".", str(tmp_path))])
    before = list(sys.path)
    yield "own_checkers"
    assert sys.path == before
    sys.modules.pop("own_checkers", None)


def test_a_checker_in_the_current_folder(troth: Troth, model: str, data: str, checkers: str) -> None:
    found = swept(troth, model, data, "--alphas", "0", "--ps", "1", "--grammar", f"{checkers}:right")
    assert means(found)["α 0, p 1"][GRAMMAR.name] == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own_checkers:NUMBER", "'own_checkers:NUMBER' is not a function (module:function, "),
        ("own_checkers:nothing", "no checker of grammar is called 'own_checkers:nothing'"),
        ("bad_checkers:right", "no checker of grammar is called 'bad_checkers:right'"),
        (".x:right", "no checker of grammar is called '.x:right'"),
    ],
)
def test_checkers_that_are_none(
    troth: Troth, model: str, data: str, checkers: str, name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before anything is generated."""
    monkeypatch.setattr("troth.systems.decoding.generator.decode", None)
    made = troth("generate", "sweep", data, "--model", model, "--grammar", name, *COMMON)
    assert made.code == 2
    assert said in made.err
    assert len(made.err.splitlines()) == 1


def test_a_checker_that_fails_on_a_text(troth: Troth, model: str, data: str, checkers: str) -> None:
    made = troth(
        "generate", "sweep", data, "--model", model, "--alphas", "0", "--ps", "1", "--grammar", f"{checkers}:broken",
        *COMMON,
    )  # fmt: skip
    assert made.code == 2
    assert "the checker 'own_checkers:broken' fails on the response to '1': " in made.err
    assert len(made.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--alphas", "0,x", "'0,x' is not a comma-separated list of numbers"),
        ("--alphas", "2", "α is 2"),
        ("--ps", "0", "p is 0"),
        ("--chart", "x.gif", "a chart cannot be written under this name"),
        ("--metrics", "nothing", "no metric of grounded responses is called 'nothing'"),
    ],
)
def test_bad_options(troth: Troth, model: str, data: str, option: str, given: str, said: str) -> None:
    made = troth("generate", "sweep", data, "--model", model, option, given, *COMMON)
    assert made.code == 2
    assert said in made.err
