"""The frame of grounded metrics: what has no number has a reason, and NaN is never one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

import pytest

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.progress import within
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.grounding.metrics import METRICS, Models, Unscored, Value, grade, make_graders
from troth.models.fake import FakeLm, FakeNli


@dataclass(frozen=True)
class Fixed:
    """A grader that gives these values, in order."""

    values: tuple[Value, ...]
    name: str = "fixed"
    recipe: tuple[()] = ()
    remarks: tuple[str, ...] = ()

    @property
    def metric(self) -> Metric:
        return Metric(self.name, self.name)

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        assert all(item.document.strip() and item.response.strip() for item in items)
        return list(self.values)


def item(document: str = "Skis are long.", response: str = "They are.") -> Grounded:
    return Grounded("x", document, response)


def test_what_cannot_be_scored_has_a_reason() -> None:
    items = [item(), item(document=" \n"), item(response=""), item(), item()]
    values = grade(Fixed((0.25, math.nan, Unscored("no words"))), items)
    assert values == [
        0.25,
        Unscored("the document is empty"),
        Unscored("the response is empty"),
        Unscored("the metric gives no finite number"),
        Unscored("no words"),
    ]


def test_a_metric_is_not_asked_about_nothing() -> None:
    assert grade(Fixed((1.0,)), [item(document="")]) == [Unscored("the document is empty")]
    assert grade(Fixed((1.0,)), []) == []


def test_too_few_values_are_a_fault_of_the_metric() -> None:
    with pytest.raises(ValueError, match="1 values for 2 responses"):
        grade(Fixed((1.0,)), [item(), item()])


def test_what_holds_for_every_metric() -> None:
    names = ["u_f1", "bleu", "rouge_l", "coverage", "nli", "pmi_faith", "blend"]
    made = make_graders(names, Models(nli=FakeNli(), lm=FakeLm()))
    assert [grader.metric.name for grader in made] == names
    items = [item(), item(response="Crayons!")]
    for grader in made:
        assert grader.metric == METRICS.load(grader.metric.name)
        assert identity(grader.metric, grader.recipe).startswith(grader.metric.name.upper() + "|")
        seen: list[tuple[str, int, int]] = []
        with within(lambda *step, seen=seen: seen.append(step)):
            values = grade(grader, items)
        assert all(isinstance(value, float) for value in values)
        assert seen[-1][1] == seen[-1][2] > 0
        assert values == [grade(grader, [one])[0] for one in items], "alone or together"


@pytest.mark.parametrize("name", list(METRICS))
def test_what_a_metric_says_of_itself(name: str) -> None:
    metric = METRICS.load(name)
    assert metric.name == name
    assert metric.title
    assert metric.about
    assert (metric.scale, metric.better, metric.unit) == ("number", "higher", "response")
    assert callable(metric.compute)


def test_names() -> None:
    with pytest.raises(UserError, match="did you mean 'rouge_l'"):
        make_graders(["rougel"], Models())
    with pytest.raises(UserError, match="no metric is named"):
        make_graders([""], Models())
    for names in (["bleu", " u_f1", "bleu"], "bleu, u_f1,bleu"):
        assert [grader.metric.name for grader in make_graders(names, Models())] == ["bleu", "u_f1"]


def test_models_are_opened_once_and_on_use() -> None:
    models = Models(nli="fake", lm="fake", cache=None)
    assert models.entailment_model is models.entailment_model
    assert models.language_model.name == "fake-lm@1"
    Models(nli="no such model", cache=None)  # nobody asks it


def test_names_of_models_for_a_run() -> None:
    assert Models().names() == {"nli": "embedded", "lm": "embedded"}
    assert Models(nli=FakeNli(), critic="hf:a/b").names() == {"nli": "fake-nli@1", "lm": "embedded", "critic": "hf:a/b"}


@pytest.mark.parametrize("name", ["u_f1", "bleu", "rouge_l", "coverage"])
def test_a_missing_package_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr("troth.grounding.overlap.version", missing)
    with pytest.raises(UserError, match=r"is not installed \(pip install \"troth\[text\]\"\)"):
        make_graders([name], Models())
