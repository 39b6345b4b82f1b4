"""Pictures of the demo and its page, in Chromium.

python -m tests.browser.picture              for README and documentation: page.png, explorer.png, demo.svg
python -m tests.browser.picture PAGE FOLDER  every section of a page: light, dark, on a phone, on paper
"""

from __future__ import annotations

import io
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.conftest import DESKTOP, FLAGS, PHONE, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from troth.demo.run import Demo

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": DESKTOP, "color_scheme": "light"},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light", "device_scale_factor": 2},
}


@contextmanager
def opened() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = chromium()
    if path is None:
        sys.exit("no Chromium: apt-get install chromium, or name it in TROTH_CHROMIUM")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


def readme(page: Path) -> None:
    """The first screen and a dialogue, sharp."""
    size = {"width": 1180, "height": 940}
    with opened() as browser:
        context = browser.new_context(viewport=size, color_scheme="light", device_scale_factor=1.5)  # type: ignore[arg-type]
        shown = context.new_page()
        for name, place in (("page", "summary"), ("explorer", "live_06/2//troth-track")):
            shown.goto(f"{page.as_uri()}#{place}")
            shown.wait_for_selector("html[data-ready]")
            shown.wait_for_timeout(2000)  # until nothing flashes any more
            file = IMAGES / f"{name}.png"
            shown.screenshot(path=str(file))
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def terminal(done: Demo) -> None:
    """What the command prints, as a terminal shows it."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=100, file=io.StringIO())
    console.print(Text("$ troth demo", style="bold"))
    for line in done.found:
        head = line.partition(":")[0] + ":"
        text = textwrap.fill(line, 98, subsequent_indent="  ")
        console.print(Text.assemble((head, "bold"), text.removeprefix(head)))
    console.print(Text("file:///home/you/troth-demo/report.html", style="underline"))
    console.save_svg(str(IMAGES / "demo.svg"), title="troth demo", unique_id="troth-demo")


def every(page: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with opened() as browser:
        for look, options in LOOKS.items():
            context = browser.new_context(**options)
            shown = context.new_page()
            shown.goto(page.as_uri())
            shown.wait_for_selector("html[data-ready]")
            for link in shown.locator("nav.tabs a").all():
                link.click()
                shown.wait_for_timeout(200)
                shown.screenshot(path=str(folder / f"{link.get_attribute('data-tab')}-{look}.png"), full_page=True)
            context.close()
        context = browser.new_context(**LOOKS["light"])
        shown = context.new_page()
        shown.goto(page.as_uri())
        shown.wait_for_selector("html[data-ready]")
        shown.pdf(path=str(folder / "paper.pdf"), format="A4")
        shown.emulate_media(media="print")
        shown.screenshot(path=str(folder / "paper.png"), full_page=True)
        context.close()


def main() -> None:
    if len(sys.argv) == 3:
        every(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
        return
    from troth.demo.run import PAGE, demo

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "troth-demo"
        done = demo(str(out))
        terminal(done)
        readme(out / PAGE)


if __name__ == "__main__":
    main()
