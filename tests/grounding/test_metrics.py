"""The frame of grounded metrics: what has no number has a reason, and NaN is never one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

import pytest

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding import metrics as grounded
from troth.grounding.metrics import METRICS, Models, Progress, Unscored, Value
from troth.models.fake import FakeLm, FakeNli


@dataclass(frozen=True)
class Given:
    """Gives what it is told to, in order, and remembers nothing."""

    values: tuple[Value, ...]
    name: str = "given"
    recipe: str = ""
    remarks: tuple[str, ...] = ()

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        assert progress is None
        assert all(item.document.strip() and item.response.strip() for item in items)
        return list(self.values)


def item(document: str = "Skis are long.", response: str = "They are.") -> Grounded:
    return Grounded("x", document, response)


def test_what_cannot_be_scored_has_a_reason() -> None:
    items = [item(), item(document=" \n"), item(response=""), item(), item()]
    values = grounded.scored(Given((0.25, math.nan, Unscored("no words"))), items)
    assert values == [
        0.25,
        Unscored("the document is empty"),
        Unscored("the response is empty"),
        Unscored("the metric gives no finite number"),
        Unscored("no words"),
    ]


def test_a_metric_is_not_asked_about_nothing() -> None:
    assert grounded.scored(Given((1.0,)), [item(document="")]) == [Unscored("the document is empty")]
    assert grounded.scored(Given((1.0,)), []) == []


def test_too_few_values_are_a_fault_of_the_metric() -> None:
    with pytest.raises(ValueError, match="1 values for 2 responses"):
        grounded.scored(Given((1.0,)), [item(), item()])


def test_what_holds_for_every_metric() -> None:
    names = ["u_f1", "bleu", "rouge_l", "coverage", "nli", "pmi_faith", "blend"]
    made = grounded.metrics(names, Models(nli=FakeNli(), lm=FakeLm()))
    assert [metric.name for metric in made] == names
    assert all(grounded.signature(metric).startswith(metric.name.upper() + "|") for metric in made)
    items = [item(), item(response="Crayons!")]
    for metric in made:
        seen: list[tuple[int, int]] = []
        values = grounded.scored(metric, items, progress=lambda done, total, seen=seen: seen.append((done, total)))  # type: ignore[misc]
        assert all(isinstance(value, float) for value in values)
        assert seen[-1][0] == seen[-1][1] > 0
        assert values == [grounded.scored(metric, [one])[0] for one in items], "alone or together"
        assert (METRICS.load(metric.name).__doc__ or "").strip(), "docs say what it is"


def test_names() -> None:
    with pytest.raises(UserError, match="did you mean 'rouge_l'"):
        grounded.metrics(["rougel"], Models())
    with pytest.raises(UserError, match="no metric is named"):
        grounded.metrics([""], Models())
    assert [metric.name for metric in grounded.metrics(["bleu", " u_f1", "bleu"], Models())] == ["bleu", "u_f1"]


def test_models_are_opened_once_and_on_use() -> None:
    models = Models(nli="fake", lm="fake", cache=None)
    assert models.nli is models.nli
    assert models.lm.name == "fake-lm@1"
    Models(nli="no such model", cache=None)  # nobody asks it


@pytest.mark.parametrize("name", ["u_f1", "bleu", "rouge_l", "coverage"])
def test_a_missing_package_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr("troth.grounding.overlap.version", missing)
    with pytest.raises(UserError, match=r"is not installed \(pip install \"troth\[text\]\"\)"):
        grounded.metrics([name], Models())
