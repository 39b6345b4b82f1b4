"""The page of SGD dev in a real browser: how large it is, and how long until it can be read and explored."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import timing
from benchmarks.corpus import sgd_dev

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip
MEGABYTES, SECONDS = 15.0, 2.0  # what it must stay below
REPEAT = 5
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


def main() -> None:
    gold, pred, origin = sgd_dev()
    title = f"The page of {origin} (2,098 dialogues) in Chromium"
    browser = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
    if browser is None:
        timing.show(title, [("not measured", "needs Chromium: apt-get install chromium")])
        return
    with tempfile.TemporaryDirectory() as folder:
        run, page = f"{folder}/run", f"{folder}/report.html"
        timing.troth("dst", gold, pred, "--out", run, repeat=1)
        made = timing.troth("report", run, "--out", page, repeat=1)
        size = Path(page).stat().st_size / 1e6
        painted, drawn = _opened(browser, Path(page).as_uri())
    rows = [
        ("size", f"{size:.2f} MB ({size / MEGABYTES:.0%} of what it may be)"),
        ("made in", f"{made.seconds:.1f} s"),
        ("first text on the screen", f"{painted:.2f} s"),
        ("a dialogue in the explorer", f"{drawn:.2f} s ({drawn / SECONDS:.0%} of what it may take)"),
    ]
    timing.show(title, rows)


def _opened(browser: str, address: str) -> tuple[float, float]:
    """Medians over fresh tabs: until the summary is painted, and until the explorer shows its first dialogue."""
    from playwright.sync_api import sync_playwright

    painted, drawn = [], []
    with sync_playwright() as started:
        chromium: Any = started.chromium.launch(executable_path=browser, args=list(FLAGS))
        for _ in range(REPEAT):
            tab = chromium.new_page()
            tab.goto(address)
            tab.wait_for_selector("html[data-ready]")
            painted.append(float(tab.evaluate(PAINTED)))
            tab.close()
            tab = chromium.new_page()
            start = time.perf_counter()
            tab.goto(f"{address}#explorer")
            tab.wait_for_selector(".turns .turn")
            drawn.append(time.perf_counter() - start)
            tab.close()
        chromium.close()
    return statistics.median(painted), statistics.median(drawn)
