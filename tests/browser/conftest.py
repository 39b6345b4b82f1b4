"""Pages in a real browser: Debian's Chromium, driven by Playwright. Without either, these tests are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.report.make import (
    EVIL,
    answered,
    assisted,
    copied,
    grounded,
    hostile,
    hostile_assistants,
    hostile_runs,
    many,
    page,
    perturbed,
    replayed,
    tracked,
    varied,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
LONG = "a_rather_long_system_name_with_underscores_{}"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 860}


def chromium() -> str | None:
    named = os.environ.get("TROTH_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = chromium()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium, or name it in TROTH_CHROMIUM")
    with sync.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


class Opened:
    """A page with everything that it complained of and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, file: Path, place: str = "") -> Page:
        self.page.goto(f"{file.as_uri()}{'#' + place if place else ''}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """A fresh page: `opened(viewport=PHONE, color_scheme="dark")`. It must not complain."""
    made: list[tuple[Any, Opened]] = []

    def call(**options: Any) -> Opened:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        one = Opened(context.new_page())
        made.append((context, one))
        return one

    yield call
    for context, one in made:
        context.close()
        assert one.complaints == []


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages: of everything, of trackers alone, of sixteen, of ten with long names, and of a corpus that means harm."""
    folder = tmp_path_factory.mktemp("pages")
    dst = tracked(folder / "dst")
    rest = [
        perturbed(folder / "user"),
        varied(folder / "schema"),
        answered(folder / "nlg"),
        grounded(folder / "ground"),
    ]
    return {
        "every": page(folder / "every.html", dst, *rest),
        "dst": page(folder / "dst.html", dst),
        "many": page(folder / "many.html", many(folder / "many", 16)),
        "long": page(folder / "long.html", *copied(rest[0], [LONG.format(number) for number in range(10)])),
        "twins": page(folder / "twins.html", rest[0]),
        "hostile": page(folder / "hostile.html", hostile(folder / "hostile")),
        "harm": page(folder / "harm.html", *hostile_runs(folder / "harm")),
    }


@pytest.fixture(scope="session")
def assistants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of assistants: two of them with a live run, and trials that mean harm."""
    folder = tmp_path_factory.mktemp("assistants")
    return {
        "page": page(folder / "page.html", assisted(folder / "scored"), replayed(folder / "live")),
        "harm": page(folder / "harm.html", hostile_assistants(folder / "harm"), replayed(folder / "evil", evil=EVIL)),
    }
