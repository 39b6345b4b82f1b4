"""A response against the same response with another fact of its document in the same place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import troth
from troth.cli import app
from troth.core.records import Grounded
from troth.grounding.contrast import NO_NUMBER, NO_RIVALS, Contrast, make_rivals
from troth.grounding.metrics import Unscored
from troth.models import Continuation, Request
from troth.models.fake import FakeLm

DOCUMENT = "In 1998 Paris beat Lyon by 3 points. In 2004 Lyon beat Turin by 7 points. The cup is made of silver."


class CopyLm(FakeLm):
    """A word is likely if it stands in the context after the same two words."""

    name = "copy"

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        return [self._one(Request.parse(one)) for one in requests]

    def _one(self, asked: Request) -> Continuation:
        read = re.findall(r"\w+", " ".join(asked.context).lower())
        words = re.findall(r"\w+", asked.continuation.lower())
        seen = {tuple(read[at : at + 3]) for at in range(len(read))}
        each = [-1.0 if tuple(words[max(0, at - 2) : at + 1]) in seen else -5.0 for at in range(len(words))]
        return Continuation(tuple(words), tuple(each))


def value(response: str, document: str = DOCUMENT) -> float | Unscored:
    return Contrast(CopyLm()).score([Grounded("a", document, response, (), None)])[0]


def test_what_the_document_says_beats_every_rival_and_a_swapped_fact_does_not() -> None:
    assert value("In 1998 Paris beat Lyon by 3 points.") == 4.0  # the nearest rival has another number, one word
    assert value("In 1998 Paris beat Turin by 3 points.") == -8.0  # two words and their neighbours
    assert value("In 1998 Lyon beat Paris by 3 points.") == -20.0  # all five words between "1998" and "3"


@pytest.mark.parametrize("response", ["You will like it!", "Who won?", "Great."])
def test_a_response_without_rivals_has_no_value(response: str) -> None:
    assert value(response) == Unscored(NO_RIVALS)


def test_a_value_does_not_depend_on_the_other_responses() -> None:
    texts = ["In 1998 Paris beat Lyon.", "Great choice!", "The cup is not made of silver. In 2004 Lyon beat Turin."]
    items = [Grounded(str(n), DOCUMENT, text, (), None) for n, text in enumerate(texts)]
    together = Contrast(CopyLm()).score(items)
    assert together == [Contrast(CopyLm()).score([item])[0] for item in items]
    assert [isinstance(one, Unscored) for one in together] == [False, True, False]


def test_rivals_differ_from_the_sentence_and_from_each_other() -> None:
    found = make_rivals(DOCUMENT, "In 1998 Paris beat Lyon by 3 points.")
    texts = [one.text for one in found]
    assert len(set(texts)) == len(texts) > 4
    assert "In 2004 Paris beat Lyon by 3 points." in texts
    assert "In 1998 Turin beat Lyon by 3 points." in texts
    assert "In 1998 Lyon beat Paris by 3 points." in texts
    assert "In 1998 Paris beat Lyon by 7 points." in texts
    assert all(one.said and one.instead and one.said != one.instead for one in found if one.kind != "negation")


def test_what_the_model_does_not_know_is_no_margin() -> None:
    class Silent(CopyLm):
        def _one(self, asked: Request) -> Continuation:
            one = super()._one(asked)
            return one if "1998" in one.tokens else Continuation(one.tokens, (None,) * len(one.tokens))

    (margins,) = Contrast(Silent()).margins([Grounded("a", DOCUMENT, "In 1998 Paris beat Lyon.", (), None)])
    assert margins
    assert all("1998" in one.rival.text and math.isfinite(one.value) for one in margins)


def test_explained_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    rows = [{"id": "wrong", "document": DOCUMENT, "response": "In 2004 Lyon beat Paris by 7 points."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = troth.ground(path, metrics="contrast", lm="fake")
    assert "windows:3x3|rivals:6/24|rules:fact+unit+roles+quantifier+negation" in result["contrast"].signature
    done = CliRunner().invoke(app, ["ground", str(path), "--metrics", "contrast", "--lm", "fake", "--explain", "1"])
    assert done.exit_code == 0
    assert "wrong: contrast" in done.output
    lines = Contrast(CopyLm()).explain(Grounded("a", DOCUMENT, rows[0]["response"], (), None))
    assert lines[0].startswith("“Paris”: the document rather speaks for “Turin”")


def test_a_rival_that_only_adds_a_word_is_shown_whole() -> None:
    lines = Contrast(CopyLm()).explain(Grounded("a", "Admins cannot reset it.", "Admins can reset it.", (), None))
    assert [line.split(" (")[0] for line in lines] == ["likelier than “Admins can not reset it.”"]


def test_a_model_without_any_number_is_named_as_the_reason() -> None:
    class Mute(CopyLm):
        def _one(self, asked: Request) -> Continuation:
            return Continuation((asked.continuation,), (None,))

    item = Grounded("a", DOCUMENT, "In 1998 Paris beat Lyon.", (), None)
    assert Contrast(Mute()).score([item]) == [Unscored(NO_NUMBER)]
