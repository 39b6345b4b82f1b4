"""Means of grounded metrics: values, groups, intervals over documents, verdicts, and what has no number."""

from __future__ import annotations

import doctest
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from troth.core.errors import UserError
from troth.core.parts import row_schema
from troth.core.progress import within
from troth.core.result import Result, UnscoredCount
from troth.core.version import __version__
from troth.grounding import calibration, score
from troth.grounding.calibration import Calibration
from troth.grounding.explorer import write_rows
from troth.grounding.metrics import Models
from troth.grounding.score import ground
from troth.meta.labels.evaluate import fit
from troth.models.fake import FakeLm, FakeNli
from troth.report.compare import compare
from troth.storage.explorer import ResponseView
from troth.storage.runs import open as open_run

ROWS: list[dict[str, Any]] = [
    {"id": "a", "document": "red wine", "response": "red wine", "label": 1, "source": "x"},
    {"id": "b", "document": "red wine", "response": "red beer", "label": 0, "source": "x"},
    {"id": "c", "document": "long skis", "response": "short crayons", "label": 0, "source": "y"},
    {"id": "d", "document": "", "response": "red wine", "source": "y"},
    {"id": "e", "document": "long skis", "response": " ", "source": "y"},
]


def write(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data.jsonl")


def views(result: Result) -> list[ResponseView]:
    return list(result.explorer().responses)


def test_means_and_groups(data: str) -> None:
    result = ground(data, metrics=["u_f1", "rouge_l"], resamples=200)
    found = {(score.metric, score.group): (score.value, score.n) for score in result.scores}
    assert found == {
        (metric, group): (value, n)
        for metric in ("u_f1", "rouge_l")
        for group, value, n in [
            ("all", 0.5, 3),
            ("source:x", 0.75, 2),
            ("source:y", 0.0, 1),
            ("label:0", 0.25, 2),
            ("label:1", 1.0, 1),
        ]
    }
    assert result["u_f1"].system == "data"
    assert result["u_f1"].signature.startswith("U_F1|tok:spacy-en|")
    assert result["u_f1"].signature.endswith(f"|n:3|v:{__version__}")
    assert "|group:label:1|" in result.score("u_f1", "label:1").signature


def test_what_has_no_number_is_counted(data: str) -> None:
    result = ground(data, metrics=["u_f1"], resamples=10)
    assert result.counts["data"] == {"responses": 5, "documents": 2}
    assert sorted(result.unscored, key=lambda count: count.reason) == [
        UnscoredCount("data", "u_f1", "the document is empty", 1),
        UnscoredCount("data", "u_f1", "the response is empty", 1),
    ]
    assert "data: u_f1: 1 of 5 not scored: the document is empty" in [*map(str, result.notes)]
    assert [view.values.get("u_f1") for view in views(result)] == [1.0, 0.5, 0.0, None, None]
    assert views(result)[3].reasons == {"u_f1": "the document is empty"}


def test_nothing_can_be_scored(tmp_path: Path) -> None:
    result = ground(write(tmp_path / "x.jsonl", ROWS[3:]), metrics=["u_f1"], resamples=10)
    assert (result["u_f1"].value, result["u_f1"].low, result["u_f1"].n) == (None, None, 0)
    assert result["u_f1"].reason in ("the document is empty", "the response is empty")
    only = ground(write(tmp_path / "y.jsonl", ROWS[3:4]), metrics=["u_f1"], resamples=10)
    assert "y: no response has a document" in str(only.notes[0])


def test_documents_are_drawn_whole(tmp_path: Path) -> None:
    """A hundred responses from one document are one thing to draw, and one says nothing of how documents vary."""
    one = [{"id": str(n), "document": "red wine", "response": ("red", "beer")[n % 2]} for n in range(100)]
    score = ground(write(tmp_path / "one.jsonl", one), metrics=["u_f1"])["u_f1"]
    assert score.value is not None
    assert (score.low, score.high) == (None, None)
    many = [row | {"document": f"red wine{n}"} for n, row in enumerate(one)]
    score = ground(write(tmp_path / "many.jsonl", many), metrics=["u_f1"])["u_f1"]
    assert score.low is not None
    assert score.high is not None
    assert score.high - score.low > 0.05


def test_order_changes_nothing(tmp_path: Path) -> None:
    first = ground(write(tmp_path / "a.jsonl"), resamples=100)
    second = ground(f"a={write(tmp_path / 'b.jsonl', ROWS[::-1])}", resamples=100)
    assert sorted(first.scores, key=repr) == sorted(second.scores, key=repr)


def test_several_systems(tmp_path: Path) -> None:
    better = [row | {"response": row["document"] or "red wine"} for row in ROWS]
    paths = [write(tmp_path / "one.jsonl"), write(tmp_path / "two.jsonl", better)]
    result = ground(*paths, metrics=["u_f1"], resamples=50)
    assert result.systems == ["one", "two"]
    assert result.score("u_f1", system="two").value == 1.0
    alone = ground(paths[1], metrics=["u_f1"], resamples=50)
    assert alone.score("u_f1") == result.score("u_f1", system="two"), "others change nothing"
    with pytest.raises(UserError, match="the same file is given twice"):
        ground(paths[0], paths[0])
    with pytest.raises(UserError, match=r"the name 'a' is given twice .give each file a name of its own"):
        ground(f"a={paths[0]}", f"a={paths[1]}")
    with pytest.raises(UserError, match="no metric is named"):
        ground(paths[0], metrics="")


def test_runs_compare(tmp_path: Path) -> None:
    better = [row | {"response": row["document"] or "red wine"} for row in ROWS[:3]]
    for name, rows in (("one", ROWS[:3]), ("two", better)):
        ground(write(tmp_path / f"{name}.jsonl", rows), metrics=["u_f1"], resamples=10, out=tmp_path / name)
    (found,) = compare(tmp_path / "one", tmp_path / "two", metrics=["u_f1"], resamples=100)
    assert found.difference == pytest.approx(0.5)
    assert found.dialogues == 2, "documents"


def test_rows(data: str) -> None:
    frame = ground(data, metrics=["u_f1"], resamples=10).rows()
    assert frame.columns == list(row_schema())
    assert frame["id"].null_count() == 0
    assert frame["turn"].null_count() == frame["service"].null_count() == len(frame)
    assert frame["num"].to_list() == [1.0, 0.5, 0.0]
    assert frame["dialogue"].n_unique() == 2
    assert frame.schema["label"] == pl.Int64


def test_a_model_s_metric(data: str) -> None:
    model = FakeNli()
    result = ground(data, metrics=["nli"], nli=model, resamples=10)
    assert result["nli"].value is not None
    assert "|nli:fake-nli@1|" in result["nli"].signature
    assert all(premise in ("red wine", "long skis") for premise, _ in model.asked)


def test_models_by_keyword_and_together(data: str) -> None:
    """`nli`, `lm` and `cache` come before those of `models`, which has the rest."""
    models = Models(nli=FakeNli(), lm=FakeLm(), critic="hf:a/b", cache=None)
    plain, named = score.ScoringSettings(models=models), score.ScoringSettings(nli="fake", models=models)
    for settings, nli in ((plain, models.nli), (named, "fake")):
        assert (settings.all_models.nli, settings.all_models.lm) == (nli, models.lm)
        assert (settings.all_models.critic, settings.all_models.cache) == ("hf:a/b", None)
    assert score.ScoringSettings(models=models).all_models is models, "models stay open"
    assert ground(data, metrics="nli", models=models, resamples=5).arguments["models"]["critic"] == "hf:a/b"
    with pytest.raises(UserError, match=r"there is no option 'metric' \(did you mean 'metrics'\?\)"):
        ground(data, metric="nli")


def test_calibrated(tmp_path: Path, data: str) -> None:
    path = str(tmp_path / "c.json")
    made = fit(data, metrics=["u_f1"])
    calibration.save(made, path)
    assert made.metrics[0].threshold == 1.0
    result = ground(data, metrics=["u_f1", "rouge_l"], calibration=path, resamples=50)
    share = result["faithful:u_f1"]
    assert share.value == pytest.approx(1 / 3)
    assert share.n == 3
    assert share.signature.startswith("FAITHFUL:U_F1|")
    assert (share.scale, result["u_f1"].scale) == ("share", "number")
    assert (result.metric("faithful:u_f1").of, result.metric("faithful:u_f1").variant) == ("faithful", "u_f1")
    assert "|threshold:1|" in share.signature
    assert "no verdict: the calibration has no rouge_l" in [*map(str, result.notes)]
    assert [view.faithful for view in views(result)] == [{"u_f1": True}, {"u_f1": False}, {"u_f1": False}, {}, {}]
    assert views(result)[0].probability == {"u_f1": 1.0}
    assert set(result.rows()["metric"].unique()) == {"u_f1", "rouge_l", "faithful:u_f1"}
    assert ground(data, metrics=["u_f1"], calibration=made, resamples=50)["faithful:u_f1"] == share


def test_another_recipe_is_refused(tmp_path: Path, data: str) -> None:
    path = tmp_path / "c.json"
    made = fit(data, metrics=["u_f1"])
    other = made.metrics[0].signature.replace("spacy-en", "spacy-de")
    changed = [
        type(made.metrics[0])(
            **{f: getattr(made.metrics[0], f) for f in made.metrics[0].__struct_fields__} | {"signature": other}
        )
    ]
    calibration.save(Calibration(made.data, tuple(changed)), str(path))
    with pytest.raises(UserError, match=r"c\.json: 'u_f1' was calibrated as .*spacy-de.* and is scored as .*spacy-en"):
        ground(data, metrics=["u_f1"], calibration=str(path))


def test_written_rows(tmp_path: Path, data: str) -> None:
    out = tmp_path / "rows.jsonl"
    result = ground(data, metrics=["u_f1", "bleu"], resamples=10)
    write_rows(result, str(out))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b", "c", "d", "e"]
    assert rows[0] == {"system": "data", "id": "a", "source": "x", "label": 1, "u_f1": 1.0, "bleu": rows[0]["bleu"]}
    assert rows[3]["u_f1"] is None
    assert rows[3]["reasons"] == {"u_f1": "the document is empty", "bleu": "the document is empty"}
    result.save(tmp_path / "run")
    write_rows(open_run(tmp_path / "run"), str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_text() == out.read_text(), "a saved run has them, too"


def test_steps(data: str) -> None:
    seen: list[tuple[str, int, int]] = []
    with within(lambda *step: seen.append(step)):
        ground(data, metrics=["u_f1", "bleu"], resamples=10)
    assert seen == [("u_f1", 5, 5), ("bleu", 5, 5)]


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no data is named"):
        ground()
    path = tmp_path / "w.json"
    path.write_text(json.dumps([{"chosen_topic": "x", "dialog": []}]))
    with pytest.raises(UserError, match="no response in it"):
        ground(str(path))


@pytest.mark.parametrize(
    ("positional", "named", "said"),
    [
        ([[]], {}, "a response is a Grounded record, not a list"),
        ([[{"document": "a", "response": "b"}]], {}, "a response is a Grounded record, not a list"),
        ([], {"responses": [{"document": "a", "response": "b"}]}, "a response is a Grounded record, not a dict"),
        ([], {"responses": {"a": [{"document": "a"}]}}, "a response is a Grounded record, not a dict"),
        ([], {"responses": {"a": []}}, "there are no responses"),
        ([], {"responses": []}, "no data is named"),
    ],
)
def test_what_is_no_record(positional: Any, named: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        ground(*positional, metrics="coverage", **named)


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(score).failed == 0
    assert doctest.testmod(score).attempted > 0


def test_lists_and_commas_texts_and_paths(data: str) -> None:
    expected = ground(data, metrics=["u_f1", "bleu"], resamples=10).scores
    assert ground(Path(data), metrics="u_f1, bleu", resamples=10).scores == expected
