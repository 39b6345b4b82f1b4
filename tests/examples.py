"""Examples in the documentation: blocks of code by language, and commands run as a shell would run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli.conftest import Result, Troth
from troth import demo

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    before: str  # the prose between the block before and this one


def blocks(page: str, *languages: str) -> list[Block]:
    """The fenced blocks of a page, all or those in some languages."""
    text, at, found = (DOCS / page).read_text(encoding="utf-8"), 0, []
    for block in BLOCK.finditer(text):
        found.append(Block(block[1], block[2], text[at : block.start()].strip()))
        at = block.end()
    return [block for block in found if not languages or block.language in languages]


def run(troth: Troth, script: str) -> Iterator[Result]:
    """Runs the lines of a shell block that call troth and no other program."""
    for line in script.splitlines():
        words = shlex.split(line.replace("$DEMO", demo.path("")), comments=True)
        if words[:1] == ["troth"] and "|" not in words:
            yield troth(*words[1:])


def follow(page: str, troth: Troth) -> int:
    """Runs every command of a page; returns how many outputs, where one follows its command at once, were compared."""
    compared = 0
    found = blocks(page)
    for block, after in zip(found, [*found[1:], Block("", "", "")], strict=True):
        if block.language != "sh":
            continue
        results = list(run(troth, block.text))
        assert all(result.code in (0, 1) for result in results), results
        if after.language == "text" and not after.before and results:
            assert results[-1].out.rstrip() == after.text.rstrip(), block.text
            compared += 1
    return compared
