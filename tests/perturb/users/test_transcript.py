"""Format: what is lost is lost outside of values, and capitals are followed in the annotation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.limits import processor_limit
from tests.perturb.conftest import Corpus, Make, check, corpus_of, spans_fit
from troth.perturb.users import apply, transcript
from troth.perturb.users.transcript import Transcript, spell_out


@pytest.mark.parametrize("options", [{}, {"case": "keep"}, {"digits": "digits", "slips": 0.3}, {"punctuation": "keep"}])
def test_laws_on_sgd(sgd: Corpus, options: dict[str, Any]) -> None:
    for before, made in zip(sgd.dialogues, sgd.perturbed("format", **options), strict=True):
        check(before, made.dialogue)
        assert spans_fit(before) == spans_fit(made.dialogue)
        for old, new in zip(before.turns, made.dialogue.turns, strict=True):
            if old.speaker == "SYSTEM":
                assert new == old
            elif options.get("case") != "keep":
                assert new.text == new.text.lower()


@pytest.mark.parametrize("family", ["bundled", "multiwoz"])
def test_laws_elsewhere(family: str, request: pytest.FixtureRequest) -> None:
    corpus: Corpus = request.getfixturevalue(family)
    for before, made in zip(corpus.dialogues, corpus.perturbed("format", slips=0.1), strict=True):
        check(before, made.dialogue)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "i need 3 rooms at st. john's no two or forty two in five minutes"),
        ({"case": "keep"}, "I need 3 rooms at St. John's no two Or forty two In five minutes"),
        ({"punctuation": "keep"}, "i need 3 rooms at st. john's; no, two! (or forty two?) in five minutes."),
        ({"digits": "keep"}, "i need 3 rooms at st. john's no two or 42 in 5 minutes"),
        ({"digits": "digits"}, "i need 3 rooms at st. john's no 2 or 42 in 5 minutes"),
        ({"case": "keep", "punctuation": "keep", "digits": "keep"}, None),
    ],
)
def test_kinds(make: Make, options: dict[str, Any], expected: str | None) -> None:
    text = "I need 3 rooms at St. John's; no, two! (Or 42?) In 5 minutes."
    before = make((text, {"hotel_name": "St. John's", "rooms": "3"}))
    made = apply(Transcript(**options), before, corpus_of([before]).known)
    assert made.dialogue.turns[0].text == (text if expected is None else expected)
    assert made.turns == (() if expected is None else (0,))


def test_lower_case_is_followed(make: Make) -> None:
    before = make(("At Sino.", {"name": "Sino"}), ("Sino it is.", {"name": "Sino"}), ("Yes!", {}))
    after = apply("format", before, corpus_of([before]).known).dialogue
    user, system, last = (turn.frames[0] for turn in after.turns)
    assert user.state is not None
    assert last.state is not None
    assert user.state.slot_values == last.state.slot_values == {"name": ("Sino", "sino")}
    assert user.acts[0].values == ("sino",)
    assert user.acts[0].canonical_values == ("Sino",)
    assert system == before.turns[1].frames[0]


def test_a_turn_of_marks_alone_stays(make: Make) -> None:
    before = make(("...?", {}))
    made = apply("format", before, corpus_of([before]).known)
    assert (made.dialogue, made.refused) == (before, {"nothing would be left of it": 1})


def test_slips_are_outside_values(make: Make) -> None:
    before = make(("please find something somewhere near Leicester", {"city": "Leicester"}))
    options = Transcript(case="keep", punctuation="keep", digits="keep", slips=1.0)
    made = apply(options, before, corpus_of([before]).known, seed=3)
    words = made.dialogue.turns[0].text.split()
    assert words[-1] == "Leicester"
    assert all(a != b for a, b in zip(words[:-1], before.turns[0].text.split()[:-1], strict=True))
    assert made.figures["slips"] == 5


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"), (7, "seven"), (19, "nineteen"), (20, "twenty"), (42, "forty two"), (100, "one hundred"),
        (2019, "two thousand nineteen"), (9999, "nine thousand nine hundred ninety nine"),
    ],
)  # fmt: skip
def test_spelled(number: int, words: str) -> None:
    assert spell_out(number) == words


def test_slips_must_be_a_rate() -> None:
    with pytest.raises(ValueError, match="slips"):
        Transcript(slips=2)


def test_many_spaces_take_no_time() -> None:
    """The pattern of punctuation took time with the square of their number."""
    with processor_limit():
        assert [match[0] for match in transcript._MARKS.finditer("a" + " " * 100_000 + "b , c .")] == [" ,", " ."]
