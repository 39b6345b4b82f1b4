"""`blend`: a sum with weights, of metrics that keep their own reasons, recipes and remarks."""

from __future__ import annotations

import pytest

from tests.grounding.test_metrics import Given, item
from troth.core.records import Grounded
from troth.grounding import metrics as grounded
from troth.grounding.blend import WEIGHTS, Blend, blend
from troth.grounding.metrics import Models, Unscored
from troth.models.fake import FakeLm, FakeNli

ITEMS = [Grounded("a", "Skis are long.", "Skis are long."), Grounded("b", "Skis are long.", "Crayons melt.")]


def test_the_sum_by_hand() -> None:
    made = Blend(((1.0, Given((0.5, 0.25), "one")), (0.2, Given((1.0, 0.0), "two"))))
    assert made.score([item(), item()]) == pytest.approx([0.7, 0.25])


def test_what_one_part_cannot_score_is_not_scored() -> None:
    made = Blend(((1.0, Given((0.5, 0.25), "one")), (1.0, Given((Unscored("no words"), 1.0), "two"))))
    assert made.score([item(), item()]) == [Unscored("no words"), 1.25]


def test_it_is_the_sum_of_the_metrics_of_those_names() -> None:
    given = Models(nli=FakeNli(), lm=FakeLm())
    whole = blend(given)
    parts = [grounded.metric(name, given) for name in WEIGHTS]
    columns = [part.score(ITEMS) for part in parts]
    sums = [sum(w * v for w, v in zip(WEIGHTS.values(), row, strict=True)) for row in zip(*columns, strict=True)]
    assert whole.score(ITEMS) == pytest.approx(sums)
    assert whole.recipe.startswith("of:1*coverage+0.05*pmi_faith+0.3*nli|")
    assert all(part.recipe in whole.recipe for part in parts)


def test_remarks_of_all_parts() -> None:
    made = Blend(((1.0, Given((), "one", remarks=("cut",))), (1.0, Given((), "two", remarks=("dropped",)))))
    assert made.remarks == ["cut", "dropped"]


def test_progress_goes_on_from_part_to_part() -> None:
    seen: list[tuple[int, int]] = []
    blend(Models(nli=FakeNli(), lm=FakeLm())).score(ITEMS, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (3000, 3000)
