"""`troth.load(…).compute(…)`: the numbers of files, from lists."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import troth
from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Dialogue

GOLD, HASTY = demo.path("gold"), demo.path("hasty")
SCHEMA = str(Path(GOLD) / "schema.json")
NAMES = ["jga", "aga", "sa", "fga@0.5", "turn_match", "jga_cat"]

State = dict[str, dict[str, Any]]


def states(dialogue: Dialogue) -> list[State]:
    return [
        {f.service: {k: list(v) for k, v in f.state.slot_values.items()} for f in turn.frames if f.state is not None}
        for _, turn in dialogue.user_turns()
    ]


@pytest.fixture(scope="module")
def golds() -> list[Dialogue]:
    return list(readers.gold(GOLD))


@pytest.fixture(scope="module")
def preds(golds: list[Dialogue]) -> list[Dialogue]:
    found = {dialogue.id: dialogue for dialogue in readers.predictions(HASTY)}
    return [found[gold.id] for gold in golds]


def same(computed: dict[str, Any], result: Any, names: Sequence[str]) -> None:
    for name in names:
        score = result[name]
        got = tuple(computed[f"{name}{end}"] for end in ("", "_low", "_high", "_n", "_signature"))
        assert got == (score.value, score.low, score.high, score.n, score.signature)


# -- state tracking ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["sgd", "trade", "sgd+unit:turn"])
def test_states_score_as_files_do(golds: list[Dialogue], preds: list[Dialogue], profile: str) -> None:
    """Lists of states for each dialogue, single turns with ids in any order, records: value, interval, signature."""
    # By TRADE's rules a service that has an intent and no slot is there, and states alone do not show it.
    names = NAMES[:-1] if profile == "trade" else NAMES
    result = troth.dst(GOLD, HASTY, profile=profile, metrics=names)
    metric = troth.load(names, profile=profile, schema=SCHEMA)
    nested: dict[str, Any] = {"predictions": [states(d) for d in preds], "references": [states(d) for d in golds]}
    same(metric.compute(**nested, dialogue_ids=[d.id for d in golds]), result, names)

    rows = [
        (pred, gold, dialogue.id, number)
        for dialogue, mine, theirs in zip(golds, nested["references"], nested["predictions"], strict=True)
        for number, (gold, pred) in enumerate(zip(mine, theirs, strict=True))
    ][::-1]
    flat = dict(zip(("predictions", "references", "dialogue_ids", "turn_ids"), zip(*rows, strict=True), strict=True))
    same(metric.compute(**flat), result, names)
    same(metric.compute(predictions=preds[::-1], references=golds), result, names)


def test_records_have_intents(golds: list[Dialogue], preds: list[Dialogue]) -> None:
    result = troth.dst(GOLD, HASTY)
    names = ["intent_accuracy", "requested_f1"]
    same(troth.load(names, schema=SCHEMA).compute(predictions=preds, references=golds), result, names)


def test_single_turns_have_no_interval(golds: list[Dialogue], preds: list[Dialogue]) -> None:
    """Nothing tells which belong to one dialogue: the value stands, FGA does not."""
    turns = [[state for dialogue in side for state in states(dialogue)] for side in (preds, golds)]
    made = troth.load("jga", schema=SCHEMA).compute(predictions=turns[0], references=turns[1])
    assert made["jga"] == pytest.approx(troth.dst(GOLD, HASTY)["jga"].value)
    assert (made["jga_low"], made["jga_high"]) == (None, None)
    with pytest.raises(UserError, match=r"'fga@0\.5' needs to know which turns belong to one dialogue"):
        troth.load("fga@0.5", schema=SCHEMA).compute(predictions=turns[0], references=turns[1])


@pytest.mark.parametrize(
    ("prediction", "reference", "value"),
    [
        ({"hotel-area": "east"}, {"hotel-area": "east"}, 1.0),
        ({"hotel-area": "east"}, {"hotel": {"area": "east"}}, 1.0),
        ({"area": "east"}, {"area": "west"}, 0.0),
        ({"area": "east"}, {"area": ["east", "the east"]}, 1.0),
        ({"hotel-area": "none"}, {}, 1.0),
        ({}, {}, 1.0),
        ({"hotel-area": "east", "hotel-stars": "4"}, {"hotel-area": "east"}, 0.0),
        (None, {}, 0.0),
    ],
)
def test_states_of_every_form(prediction: Any, reference: Any, value: float) -> None:
    """Without a schema by TRADE's rules, as files of such states are."""
    made = troth.load("jga").compute(predictions=[prediction], references=[reference])
    assert made["jga"] == value
    assert made["jga_signature"].startswith("JGA|profile:trade|unit:turn|match:exact|")


def test_a_missing_dialogue_scores_worst() -> None:
    gold = [[{"a-b": "c"}], [{"a-b": "c"}]]
    assert troth.load("jga").compute(predictions=[[{"a-b": "c"}], None], references=gold)["jga"] == 0.5
    assert troth.load("jga").compute(predictions=[[{"a-b": "c"}], [None]], references=gold)["jga"] == 0.5


def test_adding() -> None:
    """One by one, in batches, and the rest with `compute`, which forgets everything."""
    right, wrong = {"a-b": "c"}, {"a-b": "d"}
    metric = troth.load("jga")
    metric.add(prediction=right, reference=right)
    metric.add_batch(predictions=[right, wrong], references=[right, right])
    assert metric.compute(predictions=[wrong], references=[right])["jga"] == 0.5
    with pytest.raises(UserError, match="nothing to score"):
        metric.compute()
    metric.add(prediction=right, reference=right, dialogue_id="x", turn_id=0)
    metric.add(prediction=wrong, reference=right, dialogue_id="x", turn_id=1)
    made = metric.compute()
    assert (made["jga"], made["jga_n"]) == (0.5, 2)
    assert made["jga_low"] is None  # one dialogue says nothing about how much dialogues differ
    for name in "xy":
        metric.add(prediction=right, reference=right, dialogue_id=name, turn_id=0)
    assert metric.compute()["jga_low"] is not None


def test_without_a_number_there_is_a_reason() -> None:
    made = troth.load("intent_accuracy").compute(predictions=[{}], references=[{}])
    assert made["intent_accuracy"] is None
    assert made["intent_accuracy_reason"] == "gold or predictions carry no intents"


# -- responses ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, golds: list[Dialogue]) -> tuple[str, list[tuple[str, str, str]]]:
    """Every system turn of gold, said with its first word lost; as a file, and as (dialogue, gold, response)."""
    rows, lines = [], []
    for dialogue in golds:
        for number, turn in enumerate(dialogue.turns):
            if turn.speaker == "SYSTEM":
                said = turn.text.partition(" ")[2]
                rows.append((dialogue.id, turn.text, said))
                lines.append(json.dumps({"dialogue": dialogue.id, "turn": number, "response": said}))
    path = tmp_path_factory.mktemp("answers") / "responses.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return str(path), rows


def test_bleu_is_that_of_files(answered: tuple[str, list[tuple[str, str, str]]]) -> None:
    pytest.importorskip("sacrebleu")
    path, rows = answered
    score = troth.nlg(GOLD, path, metrics=["bleu"])["bleu"]
    ids, golds, said = (list(column) for column in zip(*rows, strict=True))
    made = troth.load("bleu").compute(predictions=said, references=golds, dialogue_ids=ids)
    assert (made["bleu"], made["bleu_low"], made["bleu_high"]) == (score.value, score.low, score.high)
    assert made["bleu_n"] == score.n
    alone = troth.load("bleu").compute(predictions=said, references=golds)
    assert (alone["bleu"], alone["bleu_low"]) == (made["bleu"], None)


def test_slot_errors() -> None:
    """Of three responses one leaves a value out, and one has none to give."""
    metric = troth.load(["ser", "ser_applicable"])
    said = ["A table in LEEDS at 7 pm", "A table in York", "Goodbye", None]
    due: list[list[str]] = [["Leeds", "7 pm"], ["York", "7 pm"], [], []]
    made = metric.compute(predictions=said, references=due, dialogue_ids=["a", "a", "b", "c"])
    assert (made["ser"], made["ser_n"], made["ser_applicable"], made["ser_applicable_n"]) == (0.5, 4, 0.5, 2)
    assert made["ser_signature"].startswith("SER|unit:turn|match:substring|values:given|missing:zero|n:4|")
    nothing = metric.compute(predictions=["Goodbye"], references=[[]])
    assert (nothing["ser"], nothing["ser_applicable"]) == (0.0, None)
    assert nothing["ser_applicable_reason"] == "no turn has a value to give"


def test_slot_errors_are_those_of_files(
    golds: list[Dialogue], answered: tuple[str, list[tuple[str, str, str]]]
) -> None:
    from troth.responses import ser as slot_error

    path, rows = answered
    slots = slot_error.noncategorical_slots(readers.schema(SCHEMA))
    turns = [turn for dialogue in golds for turn in dialogue.turns if turn.speaker == "SYSTEM"]
    due = [list(slot_error.due_values(turn.frames, slots)) for turn in turns]
    names = ["ser", "ser_applicable"]
    result = troth.nlg(GOLD, path, metrics=names)
    made = troth.load(names).compute(
        predictions=[said for *_, said in rows], references=due, dialogue_ids=[name for name, *_ in rows]
    )
    for name in names:
        score = result[name]
        assert (made[name], made[f"{name}_low"], made[f"{name}_high"]) == (score.value, score.low, score.high)


def test_documents_score_as_files_do(tmp_path: Path) -> None:
    pytest.importorskip("rouge_score")
    documents = ["Leeds lies in Yorkshire.", "Leeds lies in Yorkshire.", "Bath has hot springs.", ""]
    responses = ["Leeds is a town in Yorkshire.", "I like Leeds.", "It has springs.", "Nothing to see."]
    lines = [
        json.dumps({"id": str(place), "document": document, "response": response})
        for place, (document, response) in enumerate(zip(documents, responses, strict=True))
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(lines) + "\n")
    names = ["u_f1", "rouge_l", "bleu"]
    made = troth.load(names).compute(predictions=responses, references=documents, histories=[["Where?"]] * 4)
    same(made, troth.ground(str(path), metrics=names), names)
    alone = troth.load("bleu", against="documents").compute(predictions=responses, references=documents)
    assert alone["bleu"] == made["bleu"]
    empty = troth.load("rouge_l").compute(predictions=["a"], references=[""])
    assert (empty["rouge_l"], empty["rouge_l_reason"]) == (None, "the document is empty")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"predictions": [{}]}, "predictions and references go together"),
        ({"predictions": [{}], "references": [{}, {}]}, "the columns differ in length: 1 predictions, 2 references"),
        (
            {"predictions": ["east"], "references": [{}]},
            "predictions: dialogue 0, turn 0: a state is 'east', not a map",
        ),
        (
            {"predictions": [{"a": 4}], "references": [{}]},
            "predictions: dialogue 0, turn 0: slot 'a': value 4 is a num",
        ),
        ({"predictions": [{"a": []}], "references": [{}]}, "slot 'a': the list of values is empty"),
        ({"predictions": [{4: "a"}], "references": [{}]}, "the name of a slot or service is a number, not text"),
        ({"predictions": [{"a": "b", "c": {}}], "references": [{}]}, "a state holds slots and services"),
        ({"predictions": [{}], "references": [None]}, "references: dialogue 0, turn 0: a state is null"),
        ({"predictions": [{}], "references": [[{}]]}, "dialogues and turns are mixed"),
        ({"predictions": [[{}]], "references": [[{}, {}]]}, "dialogue 0: 1 predicted states for 2 of gold"),
        ({"predictions": [[{}]], "references": [[{}]], "turn_ids": [0]}, "turn_ids go with single turns"),
        (
            {"predictions": [{}, {}], "references": [{}, {}], "dialogue_ids": "aa", "turn_ids": [1, 1]},
            "dialogue a, turn 1: duplicate turn id",
        ),
        ({"predictions": [{}], "references": [{}], "histories": [[]]}, "histories are not used by this metric"),
    ],
)
def test_what_is_wrong_is_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match="^.*" + told):
        troth.load("jga").compute(**given)


@pytest.mark.parametrize(
    ("names", "options", "told"),
    [
        ("jgo", {}, r"no metric is called 'jgo' \(did you mean 'jga'\?\)"),
        ("fga@x", {}, "no metric is called 'fga@x'"),
        ("sgsacc", {}, r"'sgsacc' needs acts and a schema \(troth.nlg scores it from files\)"),
        (["jga", "u_f1"], {}, "jga, u_f1 do not take the same references"),
        ("jga", {"against": "documents"}, "no metric against documents is called 'jga'"),
        ("jga", {"against": "all"}, "against 'all' is not known"),
        ("bleu", {"profile": "sgd"}, "profile and schema are for state tracking"),
        ([], {}, "no metric is named"),
        ("jga", {"profile": "sdg"}, "no profile is called 'sdg'"),
        ("jga", {"profile": "sgd"}, "profile sgd needs the services' schema"),
    ],
)
def test_loading_what_is_not_there(names: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        troth.load(names, **options).compute(predictions=[{}], references=[{}])


def test_inputs_stay_as_they_are() -> None:
    predictions, references = [[{"a": ["b"]}]], [[{"a": ["b", "c"]}]]
    troth.load("jga").compute(predictions=predictions, references=references)
    assert (predictions, references) == ([[{"a": ["b"]}]], [[{"a": ["b", "c"]}]])


def test_the_examples_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    examples = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "troth.load" in block]
    assert len(examples) == 2
    for example in examples:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(example, "docs", "exec"), {})  # noqa: S102
        assert printed.getvalue().split()[0] == "0.5"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"predictions": ["a"], "references": ["a"], "foo": 1}, "there is no column 'foo'"),
        ({"predictions": 1, "references": ["a"]}, "predictions is 1, not a list"),
        ({"predictions": "a", "references": "a"}, "predictions is 'a', not a list"),
        ({"predictions": ["a", "b"], "references": ["a", [1]]}, "row 1: a part of a document is not text"),
        ({"predictions": ["a", 2], "references": ["a", "b"]}, "row 1: a prediction is a number, not text"),
    ],
)
def test_columns_that_are_none(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        troth.load("coverage").compute(**columns)
