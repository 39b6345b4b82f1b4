"""Text functions take time in proportion to the length of a text, whatever it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.limits import grows_too_fast
from troth.grounding.facts import check_facts
from troth.grounding.restating import restate_facts
from troth.text.facts import find_facts
from troth.text.layout import plain_document, plain_response
from troth.text.proper_names import find_names
from troth.text.sentences import locate_sentences, split_sentences

UNITS = ["A. ", "x. y ", "Mr. ", "e.g. ", ". ", "? ", "a.  . ", '."', "A.", "\n", "\n a", "\n- 1.", "Aa of the ",
         "The 5 ", "one and ", "twenty one hundred ", "1,", "1", ")", " ", "|", "-|", "[1"]  # fmt: skip
FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "split_sentences": split_sentences,
    "locate_sentences": lambda text: list(locate_sentences(text)),
    "find_facts": find_facts,
    "find_names": find_names,
    "plain_document": lambda text: plain_document(f"a|b\n{text}|x\n1|2"),
    "plain_response": plain_response,
    "restate_facts": lambda text: restate_facts(text, "It has five doors, 1 window and 1,000 rooms."),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_is_linear(name: str) -> None:
    assert [unit for unit in UNITS if grows_too_fast(FUNCTIONS[name], unit, 2_000)] == []


@pytest.mark.parametrize("unit", ["The 5 ", "A. ", "The 5 rooms. ", "Aa Bb "])
def test_a_text_against_itself(unit: str) -> None:
    assert not grows_too_fast(lambda text: check_facts(text, text), unit, 1_000)
