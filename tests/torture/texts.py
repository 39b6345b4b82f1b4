"""Texts that are made to freeze a command or to fill the memory, and texts in another Unicode form.

A command must end within its limits of processor time and memory, and a text whose accents are characters of their own
(NFD) must get the numbers of the usual form.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import DATA

LONGEST = 60_000  # characters of a text
PIECES = ("A. ", "Mr. ", "e.g. ", "? ", '."', "\n- 1.", "Aa of the ", "The 5 ", "one and ", "twenty one hundred ", "1,",
          ")", "(a", "Zu\u0308rich ", "NASA ", "5pm on 3/4/19 ", "\u202e", "\U0001f600", "$5 million ")  # fmt: skip
PATTERNS = ("^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "^(?=a)(a+)+$", "(.*a){20}", "a{1,1000}{1,1000}")
LETTERS = {"a": "á", "e": "é", "o": "ö", "u": "ü", "n": "ñ", "A": "Å", "c": "ç"}
GROUND = ("ground", "data.jsonl", "--metrics", "facts", "--resamples", "10", "--json")
AGENT = ("agent", "score", "log.jsonl", "--rule", "exact", "--resamples", "10", "--json")


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """The kinds in turn, for ever; the texts by chance."""
    place = folder / "texts"
    place.mkdir(parents=True)
    kinds: tuple[tuple[str, Callable[[Path, random.Random], Iterator[str]]], ...] = (
        ("long texts", _long), ("patterns", _patterns), ("Unicode forms", _forms),
    )  # fmt: skip
    number = 0
    while True:
        for name, kind in kinds:
            chance = random.Random(f"{seed} {name} {number}")
            yield [Fault("texts", f"{name} {number}", "ground, agent score", what) for what in kind(place, chance)]
        number += 1


def _write(file: Path, *rows: Any) -> None:
    file.write_text("\n".join(json.dumps(row) for row in rows))


def _run(place: Path, *arguments: str) -> tuple[sandbox.Outcome, list[str]]:
    outcome = sandbox.call(arguments, place)
    sandbox.figure("megabytes of a command on hostile texts", outcome.megabytes)
    wrong = sandbox.fault(outcome)
    return outcome, [wrong] if wrong else []


def _long(place: Path, chance: random.Random) -> Iterator[str]:
    """Texts of a few pieces that repeat themselves, with and without numbers that differ."""
    pieces = chance.choices(PIECES, k=chance.randint(1, 3))
    counted = chance.random() < 0.5
    text = "".join(f"{chance.choice(pieces)}{n if counted else ''}" for n in range(LONGEST // 4))[:LONGEST]
    _write(place / "data.jsonl", {"id": "1", "document": text, "response": text})
    yield from _run(place, *GROUND)[1]
    _write(place / "log.jsonl", _conversation(text[: LONGEST // 4], text[:50]))
    yield from _run(place, *AGENT)[1]


def _patterns(place: Path, chance: random.Random) -> Iterator[str]:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": chance.choice(PATTERNS)}}}
    value = "a" * chance.randint(20, 5000) + chance.choice("!b")
    row = _conversation("go", value) | {"tools": [{"name": "book", "parameters": schema}]}
    _write(place / "log.jsonl", row)
    outcome, wrong = _run(place, *AGENT)
    yield from wrong
    if outcome.code:
        yield f"a definition of a tool ends the command: {outcome.err[-200:]}"


def _forms(place: Path, chance: random.Random) -> Iterator[str]:
    """Accents in composed form, then some of the texts in the other one."""
    lines = (DATA / "documents" / "careful.jsonl").read_text().splitlines()
    row = json.loads(chance.choice(lines))
    some = chance.sample(sorted(LETTERS), 3)
    document, response = (_accented(row[name], some) for name in ("document", "response"))
    city = _accented("Genoa on the sea", some)
    values = []
    for form in ("NFC", "NFD"):
        _write(
            place / "data.jsonl", {"id": "1", "document": document, "response": unicodedata.normalize(form, response)}
        )
        talk = _conversation(f"Book a room in {city}.", unicodedata.normalize(form, city))
        _write(place / "log.jsonl", talk | {"expected": [{"name": "book", "arguments": {"x": city}}]})
        for command in (GROUND, AGENT):
            outcome, wrong = _run(place, *command)
            yield from wrong
            values.append(
                [(score["metric"], score["group"], score["value"]) for score in json.loads(outcome.out or "[]")]
            )
    if values[:2] != values[2:]:
        other = [before for before, after in zip(values[:2], values[2:], strict=True) if before != after]
        yield f"another Unicode form gets other numbers: {other}"[:300]


def _accented(text: str, letters: list[str]) -> str:
    return "".join(LETTERS[letter] if letter in letters else letter for letter in text)


def _conversation(said: str, value: str) -> dict[str, Any]:
    call = {"id": "c", "function": {"name": "book", "arguments": json.dumps({"x": value})}}
    return {"id": "t", "messages": [
        {"role": "user", "content": said},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": f"I booked it. {said}"},
    ]}  # fmt: skip
