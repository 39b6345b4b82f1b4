"""Tables as Markdown and LaTeX: text from dialogues is shown, not obeyed."""

from __future__ import annotations

import pytest

from troth.core.table import Table

HOSTILE = {
    "<img src=x onerror=alert(1)>": "&lt;img src=x onerror=alert(1)&gt;",
    "[click](javascript:alert(1))": r"\[click\](javascript:alert(1))",
    "![](http://tracker/pixel)": r"!\[\](http\://tracker/pixel)",
    "https://evil.example www.evil.example a@b.cd": r"https\://evil.example www\.evil.example a\@b.cd",
    "a\\|b": r"a\\\|b",
    "`code` **bold** &lt;b&gt;": r"\`code\` \*\*bold\*\* &amp;lt;b&amp;gt;",
    "a\x1b[2J\x00b\u202ec\ud800": r"a\[2Jbc",
    "two\nlines\u2028more\r\nand": "two lines more and",
    "jga_cat fga@0.5": "jga_cat fga@0.5",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_text_as_it_is(text: str) -> None:
    head, _, row = Table((text, "x"), ((text, "1"),)).markdown().split("\n")
    assert head == f"| {HOSTILE[text]} | x |"
    assert row == f"| {HOSTILE[text]} | 1 |"


@pytest.mark.parametrize("text", ["\x1b[2J", "a\x00b", "a\u202eb", "a\u2028\\input{x}", "a\x0b\\write18{x}", "a\ud800"])
def test_latex_has_no_control_characters(text: str) -> None:
    written = Table(("system", "x"), ((text, "1"),), comments=(text,)).latex()
    assert all(c.isprintable() or c == "\n" for c in written)
    assert written.count("\n") == 7, "no text begins a line of its own"
    written.encode()
