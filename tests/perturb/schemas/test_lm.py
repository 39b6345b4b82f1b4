"""Schemas reworded by a language model: what is asked, what is kept, and what is refused and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from troth.models import Continuation, Entailment
from troth.models.fake import FakeNli
from troth.perturb import schemas
from troth.perturb.schemas import lm, tools
from troth.perturb.schemas.lm import paraphrase_schema

TOOLS = [
    {
        "name": "find_flight",
        "description": "Finds at most 3 flights, never by 'night'",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where it begins"}}},
    }
]


class Writer:
    """A language model that answers by a rule from the text to reword and the seed."""

    name = "writer"

    def __init__(self, answer: Callable[[str, int], str]) -> None:
        self.answer, self.prompts = answer, list[str]()

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        assert max_tokens
        assert temperature
        self.prompts += prompts
        texts = [prompt.rstrip().splitlines()[-2].partition(": ")[2] for prompt in prompts]
        return [self.answer(text, seed) for text in texts]

    def logprobs(self, requests: Sequence[Any]) -> list[Continuation]:
        raise NotImplementedError


ANSWERS = {
    "find flight (Finds at most 3 flights, never by 'night')": "look up planes",
    "Finds at most 3 flights, never by 'night'": "Looks for up to 3 flights, but never by 'night'",
    "city (Where it begins)": '"starting town" (place)\nName: next',
    "Where it begins": "In other words: The place of the start",
}


def test_names_and_descriptions_are_reworded() -> None:
    schema = tools.read(TOOLS).schema
    writer = Writer(lambda text, _seed: ANSWERS[text])
    paraphrases, refused = paraphrase_schema(schema, writer, count=1)
    said = paraphrases["find_flight"]
    assert said.intents["find_flight"].names == ("look up planes",)
    assert said.intents["find_flight"].descriptions == (ANSWERS["Finds at most 3 flights, never by 'night'"],)
    assert said.slots["city"].names == ("starting town",)
    assert said.slots["city"].descriptions == ("The place of the start",)
    assert not refused
    assert len(writer.prompts) == 4, "asked once, because once was enough"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", lm.UNCHANGED),
        ("finds at most 3 flights, never by night", lm.UNCHANGED),
        ("Looks for 4 flights, never by 'night'", "number changed"),
        ("Looks for 3 flights by 'night'", "negation changed"),
        ("Looks for 3 flights, never at dark", lm.NAME_LOST),
    ],
)
def test_descriptions_that_are_refused(answer: str, reason: str) -> None:
    schema = tools.read([{"name": "f", "description": "Finds at most 3 flights, never by 'night'"}]).schema
    writer = Writer(lambda text, _seed: "other" if text.startswith("f (") else answer)
    paraphrases, refused = paraphrase_schema(schema, writer, count=1)
    assert paraphrases["f"].intents["f"].descriptions == ()
    assert refused == {reason: lm.TRIES}


def test_a_description_that_says_nothing_is_refused() -> None:
    assert lm._refuse_description("Cancels an order that has not been shipped.", "Nothing.") == lm.SHORTER
    assert lm._refuse_description("Number of the order", "Order number.") is None


@pytest.mark.parametrize("answer", ["", "a name that is much too long to be one", "1st", "rm -rf /; x", "<b>"])
def test_names_that_are_refused(answer: str) -> None:
    schema = tools.read([{"name": "f", "parameters": {"properties": {"start_date": {}}}}]).schema
    writer = Writer(lambda text, _seed: "g" if text == "f" else answer)
    _, refused = paraphrase_schema(schema, writer, count=1)
    assert refused == {lm.NO_NAME: lm.TRIES}


def test_meaning_is_judged_in_both_directions() -> None:
    schema = tools.read([{"name": "f", "description": "Books a flight"}]).schema
    writer = Writer(lambda text, seed: "g" if text.startswith("f (") else f"Books a flight {'xyz'[seed]}")

    def rule(premise: str, hypothesis: str) -> Entailment:
        held = "x" not in premise and "y" not in hypothesis
        return Entailment(1.0, 0.0, 0.0) if held else Entailment(0.0, 1.0, 0.0)

    paraphrases, refused = paraphrase_schema(schema, writer, nli=FakeNli(rule), count=1)
    assert paraphrases["f"].intents["f"].descriptions == ("Books a flight z",)
    assert refused == {lm.ENTAILED: 2}


def test_as_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    writer = Writer(lambda text, seed: f"{text.partition(' (')[0]} {['once', 'twice', 'again'][seed % 3]}")
    monkeypatch.setattr("troth.models.lm", lambda _name: writer)
    monkeypatch.setattr("troth.models.nli", lambda _name: FakeNli(lambda *_: Entailment(0.0, 1.0, 0.0)))
    with_ = {"paraphrase": {"count": 2, "keep_meaning": "nli", "lm": "any"}}
    first, second = schemas.vary(tmp_path / "tools.json", tmp_path / "out", with_=with_)
    assert (first.variant, second.variant) == ("v1", "v2")
    assert first.refused == {"not entailed": 24}
    assert first.how["make"] == "paraphrase"
    written = json.loads((tmp_path / "out/v1/tools.json").read_bytes())
    assert written == TOOLS, "what has no other wording stays as it is"
