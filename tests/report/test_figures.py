"""Charts as files: every kind can be drawn, and what is written is a picture."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.report.make import grounded, perturbed, sources, tracked, varied
from troth.core.errors import UserError
from troth.report import charts, page
from troth.report.page import figures
from troth.report.page.model import Page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("runs")
    paths = [
        tracked(folder / "dst"),
        perturbed(folder / "user"),
        varied(folder / "schema"),
        grounded(folder / "ground"),
    ]
    return page.build(sources(*paths))


def test_every_chart_can_be_drawn(made: Page) -> None:
    found = dict(figures.page_charts(made))
    assert {chart.kind for chart in found.values()} == {"lines", "dots", "bars", "columns", "scatter"}
    for chart in found.values():
        drawn = figures.draw(chart).to_dict()
        layer = drawn["layer"][0] if "layer" in drawn else drawn
        data = layer.get("data", drawn.get("data"))
        assert len(data["values"]) == len(chart.rows)
        assert charts.PALETTE[0] in str(drawn) or charts.PALETTE[1] in str(drawn)


def test_files(made: Page, tmp_path: Path) -> None:
    one = msgspec.structs.replace(
        made, sections=[msgspec.structs.replace(made.sections[0], blocks=made.sections[0].blocks[:3])]
    )
    assert figures.write(one, tmp_path) == 1
    assert (tmp_path / "tracking-fga.svg").read_text().startswith("<svg")
    assert (tmp_path / "tracking-fga.png").read_bytes()[:4] == b"\x89PNG"


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UserError, match=r"troth\[charts\]"):
        charts.altair()
