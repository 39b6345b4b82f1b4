"""The page of the service in Chromium: words in colours, hostile text as text, a key where one is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("uvicorn", reason="needs the extra 'serve'")
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Open
from tests.serve.running import Running
from tests.serve.test_service import DOCUMENT, RESPONSE, RETURNS, WRONG

EVIL = "<img src=x onerror=alert(1)></p><script>alert(2)</script> {{version}} &lt;b&gt;"
OPTIONS = ("--nli", "fake", "--lm", "fake", "--metrics", "nli,coverage", "--threshold", "0.5")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("serve") / "log", *OPTIONS) as one:
        yield one


def asked(page: Page, url: str, document: str, response: str) -> None:
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    page.fill("#document", document)
    page.fill("#response", response)
    page.click("#ask")
    expect(page.locator("#ask")).to_be_enabled()


@pytest.mark.parametrize("look", [{"color_scheme": "light"}, {"color_scheme": "dark", "viewport": PHONE}])
def test_words_are_coloured(opened: Open, running: Running, look: dict[str, object]) -> None:
    one = opened(**look)
    asked(one.page, running.url, DOCUMENT, RESPONSE)
    words = one.page.locator("#words span")
    expect(words).to_have_text(RESPONSE.split())
    expect(words.first).to_have_class("supported")  # by the fake model: a word of the document
    expect(words.last).to_have_class("unsupported")
    colours = {words.nth(place).evaluate("one => getComputedStyle(one).backgroundColor") for place in (0, 4)}
    assert len(colours) == 2
    expect(one.page.locator("#verdict")).to_have_text("Not faithful.")
    expect(one.page.locator("#scores tr")).to_have_count(2)
    wide = one.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    assert all(url.startswith(running.url) for url in one.asked)


def test_wrong_facts_are_not_painted_green(opened: Open, running: Running) -> None:
    one = opened()
    asked(one.page, running.url, RETURNS, WRONG)
    words = one.page.locator("#words span")
    expect(words).to_have_text(WRONG.split())
    painted = dict(zip(WRONG.split(), words.evaluate_all("spans => spans.map((one) => one.className)"), strict=True))
    assert {painted[word] for word in ("opened", "60", "19.90")} == {"unsupported"}
    assert painted["returned"] == "supported"


def test_hostile_text_is_shown(opened: Open, running: Running) -> None:
    one = opened()
    asked(one.page, running.url, EVIL, EVIL + " " + "x" * 3000)
    expect(one.page.locator("#words")).to_contain_text("<script>alert(2)</script>")
    assert one.page.locator("#words img, #words script, #words b").count() == 0
    wide = one.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0


def test_what_goes_wrong_is_said(opened: Open, running: Running) -> None:
    one = opened()
    asked(one.page, running.url, "a" * 300_000, "b")
    expect(one.page.locator("#verdict")).to_have_text("413: the request is longer than 256000 bytes")
    complaints, one.complaints = one.complaints, []  # Chromium reports the status itself, and nothing else
    assert all("413" in line for line in complaints)


def test_a_key_is_asked_for(opened: Open, tmp_path: Path) -> None:
    with Running(tmp_path / "log", *OPTIONS, env={"TROTH_SERVE_KEY": "sesame"}) as keyed:
        one = opened()
        one.page.goto(keyed.url)
        one.page.wait_for_selector("html[data-ready]")
        one.page.fill("#key", "sesame")
        one.page.fill("#document", DOCUMENT)
        one.page.fill("#response", RESPONSE)
        one.page.click("#ask")
        expect(one.page.locator("#verdict")).to_have_text("Not faithful.")
