"""`blend`: a sum with weights, of metrics that keep their own reasons, recipes and remarks."""

from __future__ import annotations

import pytest

from tests.grounding.test_metrics import Fixed, item
from troth.core.progress import within
from troth.core.records import Grounded
from troth.core.signature import recipe_text
from troth.grounding.blend import BLEND, WEIGHTS, Blend
from troth.grounding.metrics import Models, Unscored
from troth.models.fake import FakeLm, FakeNli

ITEMS = [Grounded("a", "Skis are long.", "Skis are long."), Grounded("b", "Skis are long.", "Crayons melt.")]


def test_the_sum_by_hand() -> None:
    made = Blend(((1.0, Fixed((0.5, 0.25), "one")), (0.2, Fixed((1.0, 0.0), "two"))))
    assert made.score([item(), item()]) == pytest.approx([0.7, 0.25])


def test_what_one_part_cannot_score_is_not_scored() -> None:
    made = Blend(((1.0, Fixed((0.5, 0.25), "one")), (1.0, Fixed((Unscored("no words"), 1.0), "two"))))
    assert made.score([item(), item()]) == [Unscored("no words"), 1.25]


def test_it_is_the_sum_of_the_metrics_of_those_names() -> None:
    given = Models(nli=FakeNli(), lm=FakeLm())
    whole = BLEND.compute(given)
    parts = [metric.compute(given) for _, metric in WEIGHTS]
    columns = [part.score(ITEMS) for part in parts]
    sums = [sum(w * v for (w, _), v in zip(WEIGHTS, row, strict=True)) for row in zip(*columns, strict=True)]
    assert whole.score(ITEMS) == pytest.approx(sums)
    assert recipe_text(whole.recipe).startswith("of:1*coverage+0.05*pmi_faith+0.3*nli|")
    assert all(recipe_text(part.recipe) in recipe_text(whole.recipe) for part in parts)


def test_remarks_of_all_parts() -> None:
    made = Blend(((1.0, Fixed((), "one", remarks=("cut",))), (1.0, Fixed((), "two", remarks=("dropped",)))))
    assert made.remarks == ["cut", "dropped"]


def test_each_part_has_its_own_bar() -> None:
    seen: list[tuple[str, int, int]] = []
    with within(lambda *step: seen.append(step)):
        BLEND.compute(Models(nli=FakeNli(), lm=FakeLm())).score(ITEMS)
    assert [name for name, done, total in seen if done == total] == ["coverage", "PMI-Faith", "nli"]
