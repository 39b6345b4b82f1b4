"""Q²: the pipeline with models that are told what to say, and with small models of transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.build import NLI_TOKENS, WORDS, words
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.grounding.metrics import Models, grade
from troth.grounding.q2 import (
    PERSONAL,
    Q2,
    AnsweredQuestion,
    HfAnswerer,
    HfQuestioner,
    QuestionAnswering,
    find_candidates,
    normalise_answer,
    token_f1,
)
from troth.models import Entailment, TextPair
from troth.models.fake import FakeNli
from troth.models.hub import source
from troth.storage.cache import Store

DOCUMENT, RESPONSE = "Home Alone is a comedy from 1990.", "It is a comedy."
YES, NO, UNSURE = Entailment(0.8, 0.1, 0.1), Entailment(0.1, 0.1, 0.8), Entailment(0.1, 0.8, 0.1)


class Asks:
    name = "asks@1"

    def __init__(self, said: Mapping[str, list[str]]) -> None:
        self.said = said
        self.asked: list[TextPair] = []

    def questions(self, asked: Sequence[TextPair]) -> list[list[str]]:
        self.asked += asked
        return [self.said.get(answer, []) for answer, _ in asked]


class Answers:
    name = "answers@1"

    def __init__(self, said: Mapping[TextPair, str]) -> None:
        self.said = said

    def answers(self, asked: Sequence[TextPair]) -> list[str]:
        return [self.said.get(pair, "") for pair in asked]


def metric(
    questions: Mapping[str, list[str]], answers: Mapping[TextPair, str], verdict: Entailment = UNSURE
) -> tuple[QuestionAnswering, FakeNli]:
    nli = FakeNli(lambda *_: verdict)
    return QuestionAnswering(Asks(questions), Answers(answers), nli, Store(":memory:")), nli  # type: ignore[arg-type]


ITEM = Grounded("1", DOCUMENT, RESPONSE)
ASKED = {"comedy": ["What is it?"]}
VALID = {("What is it?", RESPONSE): "a comedy"}

CASES: dict[str, tuple[dict[str, list[str]], dict[TextPair, str], Entailment, float]] = {
    "the same answer": (ASKED, {**VALID, ("What is it?", DOCUMENT): "the comedy"}, NO, 1.0),
    "no answer in the document": (ASKED, VALID, YES, 0.0),
    "another answer, entailed": (ASKED, {**VALID, ("What is it?", DOCUMENT): "Home Alone"}, YES, 1.0),
    "another answer, contradicted": (ASKED, {**VALID, ("What is it?", DOCUMENT): "comedy film"}, NO, 0.0),
    "another answer, neither": (ASKED, {**VALID, ("What is it?", DOCUMENT): "comedy film"}, UNSURE, 2 / 3),
    "no question at all: entailed": ({}, {}, YES, 1.0),
    "no question at all: neither": ({}, {}, UNSURE, 0.5),
    "no question at all: contradicted": ({}, {}, NO, 0.0),
    "the response does not answer": (ASKED, {("What is it?", DOCUMENT): "comedy"}, UNSURE, 0.5),
    "the response answers otherwise": (ASKED, {("What is it?", RESPONSE): "It"}, UNSURE, 0.5),
    "a personal question": ({"comedy": ["What do you like?"]}, {("What do you like?", RESPONSE): "comedy"}, YES, 1.0),
    "the first valid one counts": (
        {"comedy": ["Eh?", "What is it?", "And?"]},
        {**VALID, ("And?", RESPONSE): "comedy", ("And?", DOCUMENT): "comedy", ("What is it?", DOCUMENT): ""},
        UNSURE,
        0.0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_response(case: str) -> None:
    questions, answers, verdict, expected = CASES[case]
    made, _ = metric(questions, answers, verdict)
    assert made.score([ITEM]) == [pytest.approx(expected)]


def test_what_is_compared() -> None:
    made, nli = metric(ASKED, {**VALID, ("What is it?", DOCUMENT): "Home Alone"}, YES)
    made.score([ITEM])
    assert nli.asked == [("What is it? Home Alone.", "What is it? comedy.")]
    assert made.questions([(DOCUMENT, RESPONSE)]) == [[AnsweredQuestion("What is it?", "comedy", "Home Alone", 1.0)]]


def test_without_questions_the_document_is_the_premise() -> None:
    made, nli = metric({}, {})
    made.score([ITEM])
    assert nli.asked == [(DOCUMENT, RESPONSE)]


def test_the_mean_over_questions() -> None:
    item = Grounded("1", "Paris is nice and Rome is old.", "Paris is nice and Rome is big.")
    answers = {
        ("nice?", item.response): "nice",
        ("nice?", item.document): "nice",
        ("big?", item.response): "big",
        ("big?", item.document): "old",
    }
    made, _ = metric({"nice": ["nice?"], "big": ["big?"]}, answers, NO)
    assert made.score([item]) == [0.5]


def test_several_responses_at_once() -> None:
    made, _ = metric(ASKED, {**VALID, ("What is it?", DOCUMENT): "comedy"}, UNSURE)
    items = [ITEM, Grounded("2", DOCUMENT, "Yes."), ITEM]
    assert made.score(items) == [1.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("It is.", []),
        ("It is a comedy.", ["comedy"]),
        ("Macaulay Culkin, born in 1980, is in Home Alone", ["Macaulay Culkin", "born", "1980", "Home Alone"]),
        ("The ten-pin lanes and the Ten-Pin lanes", ["ten-pin lanes"]),
    ],
)  # fmt: skip
def test_candidates(text: str, expected: list[str]) -> None:
    assert find_candidates(text) == expected


@given(st.text(max_size=60))
def test_candidates_stand_in_the_text(text: str) -> None:
    assert all(one in text for one in find_candidates(text))


def test_answers_are_compared_without_articles() -> None:
    assert normalise_answer("The  Roaring-Twenties, in Paris!") == "roaringtwenties paris"
    assert token_f1("the red car", "a car") == pytest.approx(2 / 3)
    assert token_f1("car", "") == 0.0


@pytest.mark.parametrize(("question", "expected"), [("Who are you?", True), ("What is my name", True), ("Who?", False)])
def test_personal(question: str, expected: bool) -> None:
    assert bool(PERSONAL.search(question)) == expected


# -- small models ------------------------------------------------------------------------------------------------------


def marked(folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    marks: dict[str, Any] = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    names = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = words(marks=True)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=names, **marks).save_pretrained(folder)


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> HfAnswerer:
    import torch
    from transformers import BertConfig, BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("qa") / "tiny-answers"
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDS) + 4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=NLI_TOKENS, initializer_range=0.4,
    )  # fmt: skip
    BertForQuestionAnswering(config).save_pretrained(folder)
    marked(folder)
    return HfAnswerer(source(str(folder)))


@pytest.fixture(scope="module")
def questioner(tmp_path_factory: pytest.TempPathFactory) -> HfQuestioner:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    folder = tmp_path_factory.mktemp("qg") / "tiny-questions"
    torch.manual_seed(3)
    config = T5Config(
        vocab_size=len(WORDS) + 4, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4, initializer_factor=2.0,
        eos_token_id=2, pad_token_id=0, decoder_start_token_id=0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    marked(folder)
    return HfQuestioner(source(str(folder)), number=3)


def test_answers_are_words_of_the_text(answerer: HfAnswerer) -> None:
    texts = [" ".join(WORDS[n : n + 8]) for n in range(10)]
    asked = [("the train is", text) for text in texts]
    found = answerer.answers(asked)
    assert all(answer in text for answer, text in zip(found, texts, strict=True))
    assert len(set(found)) > 1
    assert [answerer.answers([pair])[0] for pair in asked] == found


def test_answers_from_a_long_text(answerer: HfAnswerer) -> None:
    text = " ".join(WORDS * 5)
    (found,) = answerer.answers([("the train is", text)])
    assert found in text


def test_questions_are_the_same_in_any_batch(questioner: HfQuestioner) -> None:
    asked = [(word, " ".join(WORDS[n : n + 5])) for n, word in enumerate(WORDS[:6])]
    found = questioner.questions(asked)
    assert [len(mine) for mine in found] == [3] * 6
    assert [questioner.questions([pair])[0] for pair in asked] == found
    assert len({tuple(mine) for mine in found}) > 1


def test_the_whole_pipeline_with_small_models(questioner: HfQuestioner, answerer: HfAnswerer) -> None:
    models = Models(
        questions=str(questioner.files.folder()), answers=str(answerer.files.folder()), nli=FakeNli(), cache=None
    )
    made = Q2.compute(models)
    items = [Grounded(str(n), " ".join(WORDS[n : n + 9]), " ".join(WORDS[n + 2 : n + 6])) for n in range(5)]
    values = grade(made, items)
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in values)
    assert grade(made, items[::-1]) == values[::-1]
    assert identity(made.metric, made.recipe).startswith("Q2|ask:tiny-questions@")
