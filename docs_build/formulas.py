"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network.

In the sources a formula is TeX between dollar signs, as code hosts show it. `pymdownx.arithmatex` finds it; this
extension of Python-Markdown comes after it and turns what it leaves in the HTML into MathML.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

_FOUND = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


class Drawn(Postprocessor):  # type: ignore[misc]
    def run(self, text: str) -> str:
        return _FOUND.sub(_mathml, text)


class Formulas(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (their name)
        md.postprocessors.register(Drawn(md), "formulas", 0)  # last: arithmatex's HTML has been put back by then


def makeExtension(**options: Any) -> Formulas:  # noqa: N802 (their name)
    return Formulas(**options)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found[1] == "div" else "inline"
    tex = html.unescape(found[2]).strip()
    drawing = str(convert(tex, display=display))
    if "\\" in drawing:  # what it does not know, it writes down as it is
        raise ValueError(f"a command in this formula is not known: {tex}")
    drawing = drawing.replace("<mo>&#x0007C;</mo>", '<mo lspace="0" rspace="0">&#x0007C;</mo>')  # a bar, no operator
    return f'<div class="formula">{drawing}</div>' if display == "block" else drawing
