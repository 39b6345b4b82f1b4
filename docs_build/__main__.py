"""`python -m docs_build`: lay out the pages in build/docs and build the site from them, into site/."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from docs_build.pages import ROOT, lay_out

_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link(?![^>]*rel="?canonical))\b[^>]*\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)"""
)
_STYLED = re.compile(r"""(?:url\(|@import\s*)["']?((?:https?:)?//[^"')\s]+)""")


def foreign(site: Path) -> Iterator[str]:
    """What the pages would load from elsewhere: nothing, if the site is to be read offline."""
    for pattern, ending in ((_LOADED, "*.html"), (_STYLED, "*.css")):
        for file in sorted(site.rglob(ending)):
            found = pattern.findall(file.read_text(encoding="utf-8"))
            yield from (f"{file.relative_to(site)}: {address}" for address in found)


def main() -> int:
    lay_out(ROOT / "build/docs")
    # From the project's root, where mkdocs.yml lies and docs_build can be imported; any warning is a failure.
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    loaded = list(foreign(ROOT / "site"))
    sys.stderr.writelines(f"loaded from elsewhere: {line}\n" for line in loaded)
    return 1 if loaded else 0


if __name__ == "__main__":
    sys.exit(main())
