"""Tables of documents become sentences; marks of answers become white space, and nothing else moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.text.layout import plain_document, plain_response
from troth.text.sentences import split_sentences

TABLE = """Ranges and prices:

| Model | Range | Price |
|:---|:--:|---|
| Volt S | 320 km | $5 |
| Volt X | 500 km | |

All prices are net."""


@pytest.mark.parametrize(
    ("document", "sentences"),
    [
        ("", []),
        ("Left | right.", ["Left | right."]),
        ("a | b\nc | d", ["a | b\nc | d"]),
        ("| a |\n|---|", ["| a |\n|---|"]),
        (
            TABLE,
            ["Ranges and prices:", "Model: Volt S; Range: 320 km; Price: $5.", "Model: Volt X; Range: 500 km.",
             "All prices are net."],
        ),
        ("a|b\n-|-\n1|2|3", ["a: 1; b: 2; 3."]),
        ("x | y\n--|--\nno table", ["x | y\n--|--\nno table"]),
    ],
)  # fmt: skip
def test_tables(document: str, sentences: list[str]) -> None:
    assert split_sentences(plain_document(document)) == sentences


@pytest.mark.parametrize(
    ("response", "sentences"),
    [
        ("", []),
        ("12.", ["12."]),
        ("- 5 degrees", ["- 5 degrees"]),
        ("She died in 1934. [1]", ["She died in 1934."]),
        ("She died in 1934.[1][^2] He lived [3, 4].", ["She died in 1934.", "He lived       ."]),
        ("1. She was born.\n2) **She** died.", ["She was born.", "She   died."]),
        ("Results:\n- red\n* blue", ["Results:", "red", "blue"]),
        ("It is 【3†source】 here.", ["It is            here."]),
        ("In 1995. A [1995] law.", ["In 1995.", "A [1995] law."]),
    ],
)
def test_marks(response: str, sentences: list[str]) -> None:
    assert split_sentences(plain_response(response)) == sentences


@given(st.text("1.) [],-*•\n aAé", max_size=40))
def test_positions_stay(text: str) -> None:
    plain = plain_response(text)
    assert len(plain) == len(text)
    assert all(new == old or new.isspace() for new, old in zip(plain, text, strict=True))
