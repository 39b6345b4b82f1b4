"""The page of assistants in Chromium: calls beside gold, the first mistake, claims, trials side by side, and harm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PHONE, Open
from tests.report.make import EVIL, page
from troth import agent

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
from playwright.sync_api import Page, expect

expect.set_options(timeout=20_000)  # a busy machine is no failure
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}
CHANGE = "trajectories/change/1//hasty"  # a failed call, a repeated one, one with another argument than gold's


def too_wide(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("look", LOOKS)
def test_every_tab_opens(opened: Open, assistants: dict[str, Path], look: str) -> None:
    """Without a word on the console, without a request, and no wider than the window."""
    one = opened(**LOOKS[look])
    shown = one.go(assistants["page"])
    for tab in ("summary", "agents", "trajectories"):
        shown.locator(f'nav.tabs a[data-tab="{tab}"]').click()
        sheet = shown.locator(f"#sheet-{tab}")
        expect(sheet).to_be_visible()
        if tab == "agents":
            expect(sheet.locator("[data-chart]:not(:has(svg[role=img]))")).to_have_count(0)
        if tab == "trajectories":
            expect(sheet.locator(".call").first).to_be_visible()
        assert too_wide(shown) <= 0, tab
    for beside in ("1", "all"):
        shown.goto(f"{assistants['page'].as_uri()}#trajectories/book/0/parting/hasty/{beside}")
        expect(shown.locator(".parting").first).to_be_visible()
        assert too_wide(shown) <= 0, beside
    assert set(one.asked) == {assistants["page"].as_uri()}


def test_calls_stand_beside_gold_and_the_first_mistake_is_marked(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], CHANGE)
    stage = shown.locator("#sheet-trajectories .stage")
    expect(stage.locator("h1")).to_have_text("Task change, trial 1")
    expect(stage.locator(".first")).to_have_count(1)
    expect(stage.locator(".first + .message .call.extra")).to_contain_text("change_booking")
    expect(stage.locator(".call.failed .result.error")).to_contain_text("'nights' must be a number")
    expect(stage.locator(".call .tag", has_text="repeats an earlier call")).to_have_count(1)
    expect(stage.locator(".call .tag", has_text="forbidden: nights: 'two more' is not of type")).to_have_count(1)
    wrong = stage.locator(".message .call.wrong .arg.bad")
    expect(wrong).to_contain_text("nights")
    expect(wrong.locator(".should")).to_have_text("gold 4")
    expect(stage.locator(".beside .call.gold.wrong")).to_contain_text("made with other arguments")
    expect(stage.locator(".beside .call-state[open]")).to_contain_text("change_booking.nights")


def test_a_value_that_nobody_said_is_named(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], "trajectories/receipt/1//hasty")
    stage = shown.locator("#sheet-trajectories .stage")
    expect(stage.locator(".unsourced")).to_contain_text("email = tomas.ruiz@example.com: nobody said this")


def test_claims_are_coloured_by_their_support_and_lead_to_it(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], CHANGE)
    stage = shown.locator("#sheet-trajectories .stage")
    expect(stage.locator(".claim.no", has_text="11:00")).to_have_count(1)  # June 15 follows from the arrival
    done = stage.locator("a.claim.yes.action", has_text="has been updated")
    colours = [
        stage.locator(f".message .claim.{kind}").first.evaluate("e => getComputedStyle(e).textDecorationColor")
        for kind in ("yes", "no")
    ]
    assert colours[0] != colours[1]
    done.click()
    expect(shown).to_have_url(re.compile("#trajectories/change/1/m8"))  # the call behind it
    shown.get_by_label("Found").select_option(label="claims what it did not do")
    expect(shown.locator("#sheet-trajectories .found span")).to_have_text("3 of 24 trajectories")


def test_trials_stand_side_by_side_from_where_they_part(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], "agents")
    card = shown.locator("#sheet-agents .panel", has_text="Tasks that waver")
    card.get_by_role("link", name="task book").first.click()
    stage = shown.locator("#sheet-trajectories .stage")
    expect(stage.locator(".parting")).to_contain_text("They part here")
    assert stage.locator(".turn.duo.alike").count() > 2, "what is the same stands in one row"
    sides = stage.locator(".parting + .turn.duo .columns > div")
    expect(sides.nth(0)).to_contain_text("book_room")
    expect(sides.nth(1)).to_contain_text("book_room")
    assert sides.nth(0).inner_text() != sides.nth(1).inner_text()
    shown.get_by_label("Beside").select_option(value="all")
    expect(stage.locator(".trial-head")).to_have_count(4)
    expect(stage.locator(".all-trials .parting")).to_have_count(1)
    shown.get_by_label("Beside").select_option(value="")
    expect(stage.locator(".parting")).to_have_count(0)


def test_a_trial_that_changes_nothing_more(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], "trajectories/cancel/1/parting/hasty/0")
    expect(shown.locator(".parting")).to_have_text("They part here · trial 1 changes nothing more")


def test_live_runs_say_what_is_fragile_lost_and_to_rename(opened: Open, assistants: dict[str, Path]) -> None:
    shown = opened().go(assistants["page"], "agents")
    sheet = shown.locator("#sheet-agents")
    expect(sheet).to_contain_text("Which tool is fragile, which argument is lost, what to rename")
    rows = {
        title: sheet.locator("table", has=shown.locator(f"thead:has-text('{column}')")).locator("tbody tr").first
        for title, column in (("fragile", "tool"), ("lost", "absent"), ("rename", "called"))
    }
    for title, cells in {
        "fragile": ["cancel_order", "tools", "Call recall", "yes", "100.0", "0.0"],
        "lost": ["cancel_order.id", "tools", "yes", "100.0", "0.0"],
        "rename": ["find_order.id", "order_number", "v1", "Expected arguments right", "yes", "0.0", "100.0"],
    }.items():
        assert [text.strip() for text in rows[title].locator("td, th").all_inner_texts()][: len(cells)] == cells
    expect(shown.locator("#sheet-summary")).to_contain_text("Fragile under other words, beyond noise: cancel_order.")


def test_hostile_trials_stay_text(opened: Open, assistants: dict[str, Path]) -> None:
    """All of it is there to read, and none of it is an element."""
    one = opened()
    shown = one.go(assistants["harm"])
    scripts = opened().go(assistants["page"]).locator("script").count()
    content = ""
    for tab in ("summary", "agents", "trajectories"):
        shown.locator(f'nav.tabs a[data-tab="{tab}"]').click()
        sheet = shown.locator(f"#sheet-{tab}")
        expect(sheet.locator("[data-chart]:not(:has(svg[role=img]))")).to_have_count(0)
        content += sheet.text_content() or ""
    stage = shown.locator("#sheet-trajectories .stage")
    expect(stage.locator("h1")).to_have_text(f"Task task{EVIL}, trial 0")
    stage.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    expect(stage.locator("details pre", has_text="long long")).to_have_count(1)
    content += stage.text_content() or ""
    for beside in ("all", '[0,"' + f"task{EVIL}".replace('"', '\\"') + '","1"]'):
        shown.get_by_label("Beside").select_option(value=beside)
        expect(stage.locator(".parting")).to_contain_text("They part here")
        content += stage.text_content() or ""
    texts = (
        "task", "assistant", "argument", "value", "book", "broken", "no object", "system", "user", "result",
        "gold", "cancel_order", "find_order",
    )  # fmt: skip
    assert [text for text in texts if f"{text}{EVIL}" not in content] == []
    assert f"$99.{EVIL}" in content
    assert shown.locator("img, marquee, iframe, svg svg, [onerror], [onload]").count() == 0
    assert shown.locator("script").count() == scripts
    assert shown.evaluate("window.pwned") is None
    assert one.asked == [assistants["harm"].as_uri()]


@pytest.mark.shared
def test_140_trajectories_open_in_under_two_seconds(opened: Open, shared: Path, tmp_path: Path) -> None:
    """Of the processor, so that a busy machine is no failure: from opening to a trajectory that can be read."""
    file = shared / "data/agents/tau_airline/gpt-4o-airline.json"
    agent(file, tools=file.with_name("tools.json"), out=tmp_path / "run", resamples=100)
    one = opened()
    session = one.page.context.new_cdp_session(one.page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    shown = one.go(page(tmp_path / "page.html", str(tmp_path / "run")), "trajectories/0/1")
    expect(shown.locator(".found span").last).to_have_text("140 trajectories")
    expect(shown.locator(".stage .call").first).to_be_visible()
    spent = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    assert 0 < spent["TaskDuration"] <= spent["ProcessTime"] < 2.0
