"""The page as people use it, in Chromium: tabs, filters, search, keys, arrows, links, themes, paper, and harm."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PHONE, Open
from tests.report.make import EVIL, FOLDER, LOST, NAME, page
from troth.report import page as report
from troth.storage import explorer
from troth.storage import runs as stored

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
from playwright.sync_api import Locator, Page, expect

expect.set_options(timeout=20_000)  # a busy machine is no failure
PARTS = Path(report.__file__).parent / "parts"
TABS = ("summary", "tracking", "robustness", "responses", "grounding", "explorer")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}


def hash_of(page: Page) -> str:
    return str(page.evaluate("location.hash"))


def in_view(page: Page, one: Locator) -> bool:
    box, size = one.bounding_box(), page.viewport_size
    return box is not None and size is not None and box["y"] < size["height"] and box["y"] + box["height"] > 0


@pytest.mark.parametrize("look", LOOKS)
def test_every_tab_opens(opened: Open, files: dict[str, Path], tmp_path: Path, look: str) -> None:
    """Without a word on the console, without a request, without empty charts, and no wider than the window."""
    one = opened(**LOOKS[look])
    shown = one.go(files["every"])
    assert shown.locator("nav.tabs a").count() == len(TABS)
    for tab in TABS:
        shown.locator(f'nav.tabs a[data-tab="{tab}"]').click()
        sheet = shown.locator(f"#sheet-{tab}")
        expect(sheet).to_be_visible()
        assert shown.locator(".sheet:visible").count() == 1
        if tab == "explorer":
            expect(sheet.locator(".turn").first).to_be_visible()
        elif tab != "summary":
            expect(sheet.locator("[data-chart]:not(:has(svg[role=img]))")).to_have_count(0)
            for plot in sheet.locator("[data-chart] svg[role=img]").all():
                assert plot.locator("circle, rect, path, polygon").count() > 0
                assert plot.locator("text").count() > 2
        wide = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{tab} is {wide} pixels too wide"
        picture = shown.screenshot(path=str(tmp_path / f"{tab}-{look}.png"))
        assert len(picture) > 5_000
    assert one.asked == [files["every"].as_uri()]


def test_the_first_screen_tells_the_story(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"])
    expect(shown.locator("h1:visible")).to_have_text("sturdy and hasty")
    card = shown.locator(".card").first
    expect(card).to_contain_text("Right in 33% of turns; two thirds of the wrong ones inherit an earlier mistake.")
    expect(card.locator(".mark.better")).to_have_text("▲22.0 points above hasty, beyond noise")
    expect(card.locator(".between").first).to_have_text("46.5 … 63.9")
    expect(card.locator("details code").first).to_be_hidden()
    card.locator("details summary").first.click()
    expect(card.locator("details code").first).to_contain_text("JGA|profile:trade|unit:turn")


# -- explorer ----------------------------------------------------------------------------------------------------------


def archive(files: dict[str, Path]) -> list[explorer.DialogueView]:
    return list(explorer.read(files["dst"].parent / "dst" / explorer.NAME).dialogues)


def track(one: explorer.DialogueView, system: str) -> tuple[explorer.TurnView, ...]:
    return next(track.tracked for track in one.tracks if track.system == system)


def found(shown: Page) -> str:
    return shown.locator(".found span").inner_text()


def test_filters(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "explorer")
    expect(shown.locator(".found span")).to_have_text("22 dialogues")
    shown.get_by_label("System", exact=True).select_option(label="hasty")
    dialogues = archive(files)

    def expected(wanted: Any) -> str:
        number = sum(wanted(one) for one in dialogues)
        return "22 dialogues" if number == 22 else f"{number} of 22 dialogues"

    def faults(one: explorer.DialogueView, system: str = "hasty") -> list[explorer.SlotFault]:
        return [fault for turn in track(one, system) for fault in turn.faults]

    shown.get_by_label("Service", exact=True).select_option(label="Trains_1")
    expect(shown.locator(".found span")).to_have_text(expected(lambda one: "Trains_1" in one.services))
    shown.get_by_label("Kind of mistake").select_option(label="↺ stale")
    both = expected(lambda one: any(f.kind == "stale" and f.service == "Trains_1" for f in faults(one)))
    expect(shown.locator(".found span")).to_have_text(both)
    shown.locator(".found button").click()
    expect(shown.locator(".found span")).to_have_text("22 dialogues")
    shown.get_by_label("Slot", exact=True).select_option(label="Stays_1.hotel_name")
    slot = expected(lambda one: any((f.service, f.slot) == ("Stays_1", "hotel_name") for f in faults(one)))
    expect(shown.locator(".found span")).to_have_text(slot)
    shown.locator(".found button").click()
    shown.get_by_label("Verdict").select_option(label="right throughout")
    right = expected(lambda one: not faults(one))
    expect(shown.locator(".found span")).to_have_text(right)
    shown.get_by_label("System", exact=True).select_option(label="sturdy")
    expect(shown.locator(".found span")).to_have_text(expected(lambda one: not faults(one, "sturdy")))
    shown.get_by_label("Verdict").select_option(label="wrong by turn match")
    fresh = expected(lambda one: any(u.blamed == t.number for t in track(one, "sturdy") for u in t.units))
    expect(shown.locator(".found span")).to_have_text(fresh)


def test_verdicts_on_states_are_for_trackers(opened: Open, files: dict[str, Path]) -> None:
    """What generates responses tracks no state, so that no state of its is wrong."""
    shown = opened().go(files["every"], "explorer")
    shown.get_by_label("System", exact=True).select_option(label="half")
    count = shown.locator(".found span")
    for verdict in ("wrong by JGA", "wrong by turn match", "wrong by JGA, right by turn match"):
        shown.get_by_label("Verdict").select_option(label=verdict)
        expect(count).to_have_text(re.compile("^0 of "))
    shown.get_by_label("Verdict").select_option(label="a response lacks a value")
    expect(count).to_have_text(re.compile("^[1-9].* of "))
    shown.get_by_label("System", exact=True).select_option(label="hasty")
    shown.get_by_label("Verdict").select_option(label="wrong by JGA")
    expect(count).to_have_text(re.compile("^[1-9].* of "))


def test_search(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "explorer")
    shown.get_by_label("Search").fill("LANTERN rooms")
    wanted = [one.id for one in archive(files) if any("lantern rooms" in said.text.lower() for said in one.utterances)]
    expect(shown.locator(".found span")).to_have_text(f"{len(wanted)} of 22 dialogues")
    assert [row.inner_text() for row in shown.locator(".row .id > span").all()] == wanted
    expect(shown.locator(".said mark").first).to_have_text("Lantern Rooms")
    shown.get_by_label("Search").fill("nobody says this")
    expect(shown.locator(".stage")).to_contain_text("No dialogue passes these filters.")


def test_figure_1(opened: Open, files: dict[str, Path]) -> None:
    """As the paper draws it: exact and turn match, the differences, and where they come from."""
    shown = opened().go(files["dst"], "figure_1/3//hasty")
    row = shown.locator('.turn[data-turn="3"]')
    expect(row).to_have_class("turn at")
    marks = [
        [m.inner_text().split()[0] for m in shown.locator(f'.turn[data-turn="{n}"] .match').all()] for n in range(6)
    ]
    assert marks == [["✓", "✓"], ["✓", "✓"], ["✕", "✕"], ["✕", "✓"], ["✕", "✕"], ["✕", "✓"]]
    fault = shown.locator('.turn[data-turn="4"] .fault').first
    assert fault.inner_text().split("\n")[0].startswith("+")  # told by a sign, not by colour alone
    expect(fault).to_contain_text("Sights_1.sight_name")
    expect(fault).to_contain_text("St Bride's Chapel")


@pytest.mark.parametrize(("turn", "cause"), [("3", "2"), ("5", "4")])
def test_the_arrow_leads_to_the_turn_that_made_the_mistake(
    opened: Open, files: dict[str, Path], turn: str, cause: str
) -> None:
    for way in (f'.turn[data-turn="{turn}"] button.lane.end', f'.turn[data-turn="{turn}"] .cause .back'):
        shown = opened(viewport={"width": 1280, "height": 420}).go(files["dst"], f"figure_1/{turn}//hasty")
        shown.locator(way).click()
        target = shown.locator(f'.turn[data-turn="{cause}"]')
        expect(target).to_have_class("turn at")
        assert hash_of(shown) == f"#figure_1/{cause}//hasty"
        assert in_view(shown, target)
        assert target.locator(".lane.origin").count() == 1
        shown.go_back()
        expect(shown.locator(f'.turn[data-turn="{turn}"]')).to_have_class("turn at")


def test_since_which_turn(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "figure_1/5//hasty")
    shown.locator('.turn[data-turn="5"] .fault', has_text="Stays_1.stars").locator(".back").click()
    expect(shown.locator('.turn[data-turn="2"]')).to_have_class("turn at")


def test_keys(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "figure_1///hasty")
    expect(shown.locator(".stage h1")).to_have_text("figure_1")
    shown.keyboard.press("j")
    expect(shown.locator(".stage h1")).to_have_text("demo_01")
    shown.keyboard.press("k")
    expect(shown.locator(".stage h1")).to_have_text("figure_1")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    expect(shown.locator(".turn.at")).to_have_attribute("data-turn", "1")
    assert hash_of(shown) == "#figure_1/1//hasty"
    shown.keyboard.press("ArrowUp")
    expect(shown.locator(".turn.at")).to_have_attribute("data-turn", "0")
    shown.keyboard.press("n")
    expect(shown.locator(".turn.at")).to_have_attribute("data-turn", "2")
    shown.keyboard.press("/")
    expect(shown.get_by_label("Search")).to_be_focused()
    shown.keyboard.type("jk")  # letters, now
    expect(shown.get_by_label("Search")).to_have_value("jk")
    shown.keyboard.press("Escape")
    expect(shown.get_by_label("Search")).not_to_be_focused()


def test_two_systems_side_by_side(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "figure_1/3//hasty")
    shown.get_by_label("Beside").select_option(label="sturdy")
    expect(shown.locator(".column-head")).to_have_text(["hasty", "sturdy"])
    columns = shown.locator('.turn[data-turn="3"] .columns > div')
    assert [column.locator(".fault").count() for column in columns.all()] == [2, 0]


def test_twins_side_by_side(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["twins"], "figure_1/2/SDI")
    expect(shown.locator(".column-head")).to_have_text(["tracker", "tracker, SDI"])
    row = shown.locator('.turn[data-turn="2"]')
    assert row.locator("ins").all_inner_texts() == ["well,"]
    assert row.locator("del").count() == 0
    shown.locator("nav.tabs a", has_text="Robustness").click()
    link = shown.locator("#sheet-robustness .examples a").first
    text = link.inner_text()
    link.click()
    expect(shown.locator(".stage h1")).to_have_text(text.split(",")[0])


def test_responses_show_their_acts(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["every"], "responses")
    shown.locator("#sheet-responses .examples a").first.click()
    expect(shown.locator(".turn.at .act.no").first).to_be_visible()
    expect(shown.locator(".turn.at .act").first).to_contain_text("entailed")


def test_a_long_list_is_drawn_on_demand(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["twins"], "explorer")
    expect(shown.locator(".found span")).to_have_text("44 dialogues")
    assert shown.locator(".row").count() < 25
    shown.locator(".list").evaluate("list => { list.scrollTop = list.scrollHeight; }")
    expect(shown.locator(".row").last).to_contain_text("demo_21")


# -- the page as a whole -----------------------------------------------------------------------------------------------


def test_every_chart_gives_its_data(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "tracking")
    with shown.expect_download() as waiting:
        shown.locator('[data-chart="services"] .csv').click()
    assert waiting.value.suggested_filename == "services.csv"
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert list(rows[0]) == ["system", "service", "services", "value", "low", "high", "n"]
    assert {row["service"] for row in rows} == {"Sights_1", "Stays_1", "Trains_1"}
    panels = shown.locator("#sheet-tracking [data-chart], #sheet-tracking [data-table]")
    assert shown.locator("#sheet-tracking .csv").count() == panels.count()


def downloaded(shown: Page, panel: str) -> list[dict[str, str]]:
    with shown.expect_download() as waiting:
        shown.locator(f"{panel} .csv").click()
    return list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))


def test_a_table_gives_its_figures_unrounded(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["every"], "robustness")
    rows = downloaded(shown, '[data-table="sgdx"]')
    assert list(rows[0]) == ["metric", "tracker", "tracker low", "tracker high"]
    run = stored.open(files["every"].parent / "schema")
    scores = {run.metric(one.metric).title: one for one in run.scores if one.group == "all"}
    assert {row["metric"] for row in rows} == set(scores)
    for row in rows:
        score = scores[row["metric"]]
        found = [float(row[name]) for name in list(row)[1:]]
        assert found == [score.value, score.low, score.high]


def test_flips_are_counted_and_drawn_to_both_sides(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["twins"], "robustness")
    counts = {row["direction"]: int(row["units"]) for row in downloaded(shown, '[data-chart="flips"]')}
    assert min(counts.values()) > 0
    bars = shown.locator('[data-chart="flips"] svg[role=img] rect')
    before, after = (box for bar in bars.all() if (box := bar.bounding_box()) is not None)
    assert before["x"] + before["width"] <= after["x"] + 1.5
    assert before["width"] / after["width"] == pytest.approx(
        counts["right only before"] / counts["right only after"], rel=0.1
    )


def test_csv_runs_nothing(opened: Open) -> None:
    """Text that a spreadsheet would run is quoted, a number is not."""
    cells: dict[str | float, str] = {
        "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", " =1+1": "' =1+1", "-2+3": "'-2+3", "＝1": "'＝1",
        "@SUM(A1)": "'@SUM(A1)", "-0.5": "-0.5", -0.25: "-0.25", 1e-7: "1e-7", "words": "words", "": "",
    }  # fmt: skip
    script = (PARTS / "dom.js").read_text()
    made = opened().page.evaluate(
        f"(cells) => {{ {script} return csv(['x'], cells.map((one) => [one, 1])); }}", [*cells]
    )
    assert [row[0] for row in csv.reader(io.StringIO(made))][1:] == list(cells.values())


def test_the_theme_is_the_systems_until_it_is_switched(opened: Open, files: dict[str, Path]) -> None:
    shown = opened(color_scheme="dark").go(files["dst"])
    root = shown.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    shown.get_by_label("Use light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    shown.reload()
    expect(root).to_have_attribute("data-theme", "light")


def test_on_paper_everything_but_the_explorer_is_there(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["every"])
    shown.emulate_media(media="print")
    assert shown.locator("#sheet-tracking").evaluate("one => getComputedStyle(one).display") == "block"
    assert shown.locator("#sheet-explorer").evaluate("one => getComputedStyle(one).display") == "none"
    assert shown.locator(".top").evaluate("one => getComputedStyle(one).display") == "none"
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(shown.locator(".sheet:not(.full) [data-chart]:not(:has(svg[role=img]))")).to_have_count(0)


def test_charts_have_the_width_of_their_paper(opened: Open, files: dict[str, Path]) -> None:
    """Also those of sheets that were never open; back on the screen they fit the window again."""
    shown = opened().go(files["every"], "tracking")
    wide = shown.locator('[data-chart="services"] svg[role=img]')
    before = wide.get_attribute("viewBox")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.emulate_media(media="print")
    for panel in shown.locator("[data-chart]:not(:has(.small))").all():
        box = (panel.locator("svg[role=img]").get_attribute("viewBox") or "").split()
        half = "half" in (panel.get_attribute("class") or "").split()
        assert box[2] == ("330" if half else "690")
    shown.emulate_media(media="screen")
    shown.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(wide).to_have_attribute("viewBox", before or "")


def test_like_charts_stand_side_by_side(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "tracking")
    boxes = [
        shown.locator(f'#sheet-tracking [data-chart="{name}"]').bounding_box()
        for name in ("turns-turn_match", "fga", "turns-jga")
    ]
    alone, one, other = (box for box in boxes if box is not None)
    assert alone["width"] > one["width"] + other["width"]
    assert (one["y"], one["height"]) == (other["y"], other["height"])


def test_a_full_stop_stays_where_it_is(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["twins"], "robustness")
    texts = [line.inner_text() for line in shown.locator("#sheet-robustness .examples .words").all()]
    assert texts
    assert not [text for text in texts if " ." in text or " ?" in text or " ," in text]


def test_an_old_run_says_why_there_is_no_explorer(opened: Open, files: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "old"
    run.mkdir()
    for name in ("run.json", "rows.parquet"):
        (run / name).write_bytes((files["dst"].parent / "dst" / name).read_bytes())
    shown = opened().go(page(tmp_path / "old.html", str(run)), "explorer")
    expect(shown.locator("#sheet-explorer")).to_contain_text("The runs hold no dialogues")


# -- sixteen systems ---------------------------------------------------------------------------------------------------


def test_sixteen_systems_stand_in_order(opened: Open, files: dict[str, Path]) -> None:
    """Best first, a line each; what there is to say of one is a click away."""
    shown = opened().go(files["many"])
    lines = shown.locator(".card .entry:not(.axis)")
    values = [float(line.locator(".big").inner_text().rstrip("%")) for line in lines.all()]
    assert len(values) == 16
    assert values == sorted(values, reverse=True)
    expect(lines.first.locator(".sentence")).to_be_hidden()
    lines.first.locator("summary").click()
    expect(lines.first.locator(".sentence")).to_be_visible()


@pytest.mark.parametrize("look", LOOKS)
def test_sixteen_systems_fit(opened: Open, files: dict[str, Path], look: str) -> None:
    """No wider than the window; a table scrolls under its first column."""
    shown = opened(**LOOKS[look]).go(files["many"], "tracking")
    wide = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    scroll = shown.locator('[data-table="metrics"] .scroll')
    assert scroll.evaluate("one => one.scrollWidth > one.clientWidth")
    name, figure = scroll.locator("td.word").first, scroll.locator("td:not(.word)").first
    before = name.bounding_box(), figure.bounding_box()
    scroll.evaluate("one => { one.scrollLeft = 300; }")
    after = name.bounding_box(), figure.bounding_box()
    assert before[0] is not None
    assert after[0] is not None
    assert before[1] is not None
    assert after[1] is not None
    assert after[0]["x"] == pytest.approx(before[0]["x"], abs=1)
    assert after[1]["x"] < before[1]["x"] - 100


def test_paper_has_all_columns(opened: Open, files: dict[str, Path]) -> None:
    """Paper does not scroll: a table of sixteen systems is set smaller."""
    shown = opened(viewport={"width": 718, "height": 1000}).go(files["many"], "tracking")  # A4 less its margins
    table = shown.locator('[data-table="metrics"] table')
    over = "one => one.getBoundingClientRect().right - one.parentElement.getBoundingClientRect().right"
    assert table.evaluate(over) > 100
    shown.emulate_media(media="print")
    assert table.evaluate(over) <= 1


def test_a_label_stands_on_no_line(opened: Open, files: dict[str, Path]) -> None:
    """Turn match of two systems is drawn twice, in their colours, and named once, above both."""
    chart = opened().go(files["dst"], "tracking").locator('#sheet-tracking [data-chart="fga"] svg[role=img]')
    rules = chart.locator(":scope > line[style]")
    expect(rules).to_have_count(2)
    label = chart.locator("text", has_text="turn match")
    expect(label).to_have_count(1)
    bottom = label.evaluate("one => one.getBoundingClientRect().bottom")
    assert bottom - 3 < min(rules.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)"))


def test_every_system_has_a_mark_of_its_own(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "tracking")
    looks = shown.locator('#sheet-tracking [data-chart="fga"] .legend .swatch > *').evaluate_all(
        "all => all.map((one) => [one.tagName, one.style.cssText, one.getAttribute('points')].join())"
    )
    assert len(looks) == len(set(looks)) == 16
    lines = shown.locator('#sheet-tracking [data-chart="fga"] .series > path').evaluate_all(
        "all => all.map((one) => [one.style.stroke, one.getAttribute('stroke-dasharray')].join())"
    )
    assert len(lines) == len(set(lines)) == 16


def test_pointing_at_a_name_raises_its_curve(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "tracking")
    chart = shown.locator('#sheet-tracking [data-chart="fga"]')
    expect(chart.locator(".series")).to_have_count(16)
    chart.locator(".legend span").nth(3).hover()
    expect(chart.locator(".series.back")).to_have_count(15)


def test_small_charts_share_their_scale(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "tracking")
    smalls = shown.locator('[data-chart="slots"] .small')
    expect(smalls).to_have_count(16)
    axes = {tuple(small.locator("text:not(.name):not(.value)").all_inner_texts()) for small in smalls.all()}
    assert len(axes) == 1
    assert shown.locator('[data-chart="services"] .small').count() == 3
    assert len(downloaded(shown, '[data-chart="services"]')) == 48


def test_labels_do_not_overprint(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "tracking")
    expect(shown.locator('#sheet-tracking [data-chart="fga"] svg[role=img]')).to_be_visible()
    overlaps = shown.evaluate(
        """() => [...document.querySelectorAll('#sheet-tracking svg[role=img]')].flatMap((chart) => {
          const box = (one) => [one.textContent, one.getBoundingClientRect()];
          const boxes = [...chart.querySelectorAll('text')].map(box);
          const across = (x, y) => x.left < y.right - 1 && y.left < x.right - 1;
          const along = (x, y) => x.top < y.bottom - 2 && y.top < x.bottom - 2;
          return boxes.flatMap(([a, x], i) =>
            boxes.slice(i + 1).filter(([, y]) => across(x, y) && along(x, y)).map(([b]) => `${a} / ${b}`));
        })"""
    )
    assert overlaps == []


@pytest.mark.parametrize("look", LOOKS)
def test_long_names_fit(opened: Open, files: dict[str, Path], look: str) -> None:
    """Names of systems are shortened in charts, and wrapped in tables and buttons, so that nothing is covered."""
    shown = opened(**LOOKS[look]).go(files["long"], "robustness")
    wide = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    small = shown.locator("#sheet-robustness [data-chart=cjga] .small").first
    labels = small.locator("text.name")
    assert [text[-1] for text in labels.all_text_contents()] == [*"0123456789"]
    frame = shown.locator("#sheet-robustness [data-chart=cjga]").bounding_box()
    assert frame is not None
    assert all(box["x"] >= frame["x"] for label in labels.all() if (box := label.bounding_box()))
    covered = """one => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return range.getBoundingClientRect().right > one.getBoundingClientRect().right + 1;
    }"""
    for cell in shown.locator("#sheet-robustness [data-table=checkdst] tbody td.word").all():
        assert not cell.evaluate(covered)


def test_the_reader_chooses_the_base(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "tracking")
    row = shown.locator('[data-table="metrics"] tbody tr').first
    names = [name.strip() for name in shown.locator('[data-table="metrics"] th:not(.word)').all_inner_texts()]
    note = shown.locator('[data-table="metrics"] p.note')
    expect(note).to_contain_text("worse than s00 beyond noise")
    expect(note).to_contain_text("over the 60 tests of this section")
    shown.locator("#sheet-tracking .base select").select_option(label=names[-1])
    expect(note).to_contain_text(f"worse than {names[-1]} beyond noise")
    assert row.locator(".mark-room.better").count() > 0
    assert row.locator(".mark-room.worse").count() == 0  # nothing is worse than the last
    expect(row.locator("td").last.locator(".mark-room")).to_have_text("")
    shown.locator("nav.tabs a", has_text="Summary").click()
    lines = shown.locator(".card .entry:not(.axis)")
    expect(lines.last.locator(".mark-slot")).to_have_text("base")
    expect(lines.first.locator(".mark.better")).to_contain_text("points above")
    level = shown.locator(".card .mark-slot", has_text="no difference shown (")
    assert re.search(r"\([-+]?\d+\.\d … [-+]?\d+\.\d", level.first.inner_text())


def test_a_turn_with_all_systems(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["many"], "figure_1/5")
    shown.get_by_label("Beside").select_option(label="all systems")
    expect(shown.locator(".overviews .overview")).to_have_count(16)
    over = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert shown.locator(".overviews a, .overviews .who").evaluate_all(over) == 0  # numbers and names fit
    row = shown.locator('.turn[data-turn="5"]')
    told = row.locator(".who").all_inner_texts()
    assert {f"s{number:02}" for number in range(16)} <= set(told)
    assert row.locator(".line.user").count() == 1  # what was said stands there once
    kinds = [fault.get_attribute("class") for fault in row.locator(".fault").all()]
    assert kinds == sorted(kinds, key=lambda kind: kind == "fault old")  # mistakes that are made here come first
    assert {"fault", "fault old"} <= set(kinds)
    row.locator(".fault.old .back").first.click()
    expect(shown.locator(".turn.at")).to_have_count(1)
    expect(shown.locator('.turn.at[data-turn="5"]')).to_have_count(0)
    expect(shown.locator(".overviews")).to_be_visible()


def test_mistakes_made_here_come_first(opened: Open, files: dict[str, Path]) -> None:
    shown = opened().go(files["dst"], "figure_1/4//hasty")
    kinds = [one.get_attribute("class") for one in shown.locator('.turn[data-turn="4"] .fault').all()]
    assert kinds == sorted(kinds, key=lambda kind: kind == "fault old")


# -- harm --------------------------------------------------------------------------------------------------------------


def test_hostile_dialogues_stay_text(opened: Open, files: dict[str, Path]) -> None:
    one = opened()
    shown = one.go(files["hostile"])
    for tab in ("summary", "tracking", "explorer"):
        shown.locator(f'nav.tabs a[data-tab="{tab}"]').click()
        expect(shown.locator(f"#sheet-{tab}")).to_be_visible()
    expect(shown.locator(".stage h1")).to_have_text(f"id{EVIL}0")
    for text in (f"user{EVIL}", f"system{EVIL}", f"svc{EVIL}.slot{EVIL}", f"gold{EVIL}", f"pred{EVIL}"):
        expect(shown.locator(".stage").get_by_text(text, exact=True).first).to_be_visible()
    shown.get_by_label("Search").fill("<img src=x")
    expect(shown.locator(".found span")).to_have_text("2 dialogues")
    shown.keyboard.press("Escape")
    shown.keyboard.press("j")
    expect(shown.locator(".stage h1")).to_have_text(f"id{EVIL}1")
    shown.locator(".back").first.click()
    shown.reload()
    expect(shown.locator(".stage h1")).to_have_text(f"id{EVIL}1")
    assert shown.locator("img").count() == 0
    assert shown.evaluate("window.pwned") is None
    assert one.asked == [files["hostile"].as_uri()] * 2


def test_every_hostile_field_stays_text(opened: Open, files: dict[str, Path]) -> None:
    """Whatever kind of run it is from: all of it is there to read, and none of it is an element."""
    one = opened()
    shown = one.go(files["harm"])
    scripts = opened().go(files["dst"]).locator("script").count()
    fields = {
        "summary": (f"nlg{EVIL}", FOLDER, NAME),
        "tracking": (f"svc{EVIL}", f"slot{EVIL}"),
        "robustness": (NAME, f"id{EVIL}0", f"sgdx{EVIL}", f"user twin{EVIL}"),
        "responses": (f"slot{EVIL}", f"act value{EVIL}", f"ACT{EVIL}", f"description{EVIL}", LOST),
        "grounding": (f"document{EVIL}", f"response{EVIL}", f"source{EVIL}", f"id{EVIL}"),
    }
    for tab, texts in fields.items():
        shown.locator(f'nav.tabs a[data-tab="{tab}"]').click()
        sheet = shown.locator(f"#sheet-{tab}")
        expect(sheet.locator("[data-chart]:not(:has(svg[role=img]))")).to_have_count(0)
        content = sheet.text_content() or ""
        assert [text for text in texts if text not in content] == [], tab
    shown.locator('nav.tabs a[data-tab="explorer"]').click()
    expect(shown.locator(".stage .turn").first).to_be_visible()  # by then the systems are listed
    systems, content = shown.get_by_label("System", exact=True), ""
    for place in range(systems.locator("option").count()):
        systems.select_option(index=place)
        expect(shown.locator(".stage .turn").first).to_be_visible()
        content += shown.locator("#sheet-explorer").text_content() or ""
    shown.get_by_label("Beside").select_option(label=f"its twin: {NAME}")
    expect(shown.locator(".column-head")).to_have_count(2)
    content += shown.locator(".stage").text_content() or ""
    texts = (
        "user",
        "twin",
        "system",
        "gold",
        "pred",
        "response",
        "act value",
        "ACT",
        "description",
        "svc",
        "slot",
        "id",
    )
    assert [text for text in texts if f"{text}{EVIL}" not in content] == []
    assert shown.locator("img, marquee, iframe, svg svg, [onerror], [onload]").count() == 0
    assert shown.locator("script").count() == scripts
    assert shown.evaluate("window.pwned") is None
    assert one.asked == [files["harm"].as_uri()]


def test_the_policy_holds(opened: Open, files: dict[str, Path]) -> None:
    """Even a page that were tricked into taking markup or script would not run it."""
    one = opened()
    shown = one.go(files["dst"])
    assert shown.locator('meta[http-equiv="Content-Security-Policy"]').count() == 1
    for attempt, error in (
        ("document.body.innerHTML = '<img src=x onerror=window.pwned=1>'", "TypeError"),
        ("eval('window.pwned = 1')", "EvalError"),
        ("let s = document.createElement('script'); s.append('window.pwned = 1'); document.body.append(s)", "none"),
    ):
        # In a task of the page's own: what a debugger evaluates may do more.
        told = "document.documentElement.dataset.told"
        shown.evaluate(
            f"() => {{ {told} = ''; setTimeout(() => {{ "
            f"try {{ {attempt}; {told} = 'none'; }} catch (error) {{ {told} = error.name; }} }}); }}"
        )
        expect(shown.locator("html")).to_have_attribute("data-told", error)
    assert shown.evaluate("window.pwned") is None
    assert one.complaints  # the browser said so
    one.complaints.clear()
