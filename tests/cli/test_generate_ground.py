"""`troth generate ground` and `sweep`, with small models made on the spot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backends.build import lm_folder
from tests.cli.conftest import Troth
from troth.backends.batches import Room
from troth.generate import sweep
from troth.generate.sweep import Cell
from troth.records import Grounded
from troth.runner import decode

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
    assert lines[0].split() == ["metric", "mean"]
    assert [line.split()[0] for line in lines[1:]] == ["pmi_faith", "nli"]
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


@pytest.mark.parametrize("name", ["http://localhost/v1#m", "fake"])
def test_models_that_hide_their_probabilities(troth: Troth, name: str, data: str, tmp_path: Path) -> None:
    made = troth("generate", "ground", data, "--model", name, "--out", str(tmp_path / "o.jsonl"), *COMMON)
    assert made.code == 2
    assert "gives no access to its probabilities" in made.err


def test_no_template_for_conversations(troth: Troth, model: str, data: str, tmp_path: Path) -> None:
    made = troth(
        "generate", "ground", data, "--model", model, "--prompt", "chat", "--out", str(tmp_path / "o.jsonl"), *COMMON
    )
    assert "has no template for conversations (--prompt plain)" in made.err
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
    from troth.generate.pmi_decode import decode as real

    cache = str(tmp_path / "scores.sqlite")
    arguments = ("--model", model, "--metrics", "none", "--max-tokens", "6", "--cache", cache)
    asked: list[int] = []

    def killed(model: Any, prompts: Any, setting: Any, **options: Any) -> Any:
        if asked:
            raise KeyboardInterrupt
        asked.append(len(prompts))
        return real(model, prompts, setting, **options)

    monkeypatch.setattr("troth.generate.grounded.ROOM", Room(items=1, units=100))
    monkeypatch.setattr("troth.generate.grounded.decode", killed)
    assert troth("generate", "ground", data, "--out", str(tmp_path / "o.jsonl"), *arguments).code == 130
    assert not (tmp_path / "o.jsonl").exists()

    def counted(model: Any, prompts: Any, setting: Any, **options: Any) -> Any:
        asked.append(len(prompts))
        return real(model, prompts, setting, **options)

    monkeypatch.setattr("troth.generate.grounded.decode", counted)
    assert troth("generate", "ground", data, "--out", str(tmp_path / "o.jsonl"), *arguments).code == 0
    assert sum(asked) == 3


def test_the_document_gives_way(model: str, tmp_path: Path) -> None:
    from troth.generate.grounded import Responder
    from troth.generate.pmi_decode import Setting

    made = decode.responder(model, cache=None)
    assert isinstance(made, Responder)
    long = Grounded("1", "the room is nice " * 30, "", ("monday",))
    context = made.context(long, 6)
    assert context.dropped > 0
    assert len(context.prompt.given) == 58
    tokenizer, _, _ = made._model()
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
    assert heads == ["pmi_faith", "nli", decode.RELEVANCE, decode.GRAMMAR, decode.NORMAL]
    assert "picked: α " in made.err
    assert "SWEEP|model:tiny-lm@" in made.err
    assert json.loads(chart.read_text())["title"] == "PMI-Decode"


def right(text: str) -> bool:
    return "e" not in text


def test_without_alpha_p_moves_nothing(troth: Troth, model: str, data: str) -> None:
    made = troth("generate", "sweep", data, "--model", model, "--alphas", "0,1", "--ps", "0.6,1", "--json", *COMMON)
    found = {(one["alpha"], one["top_p"]): one["means"] for one in json.loads(made.out)["cells"]}
    assert found[0.0, 0.6] == found[0.0, 1.0]
    assert len(found) == 4


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--alphas", "0,x", "'0,x' are no numbers"),
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


def test_the_grid_is_by_p() -> None:
    assert sweep.grid([0, 1], [0.5, 1, 0.5]) == [(0, 0.5), (1, 0.5), (0, 1), (1, 1)]


def test_pick_takes_the_highest_sum() -> None:
    cells = [
        Cell(0.0, 1.0, {"f": 0.5, "r": 0.4}, {}),
        Cell(0.5, 1.0, {"f": 0.6, "r": 0.4}, {}),
        Cell(1.0, 1.0, {"f": 0.9, "r": None}, {}),
    ]
    assert sweep.pick(cells, ("f", "r")) == cells[1]
    assert sweep.pick(cells[2:], ("f", "r")) is None


def test_means_leave_out_what_has_no_value() -> None:
    made = sweep.cell(0.5, 0.6, {"f": [1.0, None, 2.0], "r": [None]})
    assert made == Cell(0.5, 0.6, {"f": 1.5, "r": None}, {"f": 2, "r": 0})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.0, 3.0], [2.0, None]], [[0.0, 1.0], [0.5, None]]),
        ([[2.0]], [[0.0]]),
        ([[None]], [[None]]),
    ],
)
def test_normalised(values: list[list[float | None]], expected: list[list[float | None]]) -> None:
    assert sweep.normalised(values) == expected
