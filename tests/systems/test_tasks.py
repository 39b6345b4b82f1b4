"""Tasks of a first phase: readers of the public formats, and prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.systems.tasks import TASKS, Choices, PrefineTask, sources

STORY = {"story": "Anna has a cat.", "questions": [{"input_text": "Who?"}, {"input_text": "What?"}],
         "answers": [{"input_text": "Anna"}, {"input_text": "a cat"}]}  # fmt: skip
QUESTIONS = [{"question": "Where?", "answers": [{"text": "in Leeds"}]}, {"question": "Why?", "answers": []}]
SQL = {"question": "how many?", "table_id": "t", "sql": {"sel": 0, "agg": 3, "conds": [[1, 1, 5]]}}
CASES = {  # file, number of examples, fields of the last
    "mrpc": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
             '0\t1\t2\t"one\ttwo"\tx\n1\t1\t2\t"He said ""no"""\tHe said no\n', 2,
             {"label": "1", "first": 'He said "no"', "second": "He said no"}),
    "qqp": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWho?\tWhat?\t0\n", 1,
            {"label": "0", "first": "Who?", "second": "What?"}),
    "wnli": ("index\tsentence1\tsentence2\tlabel\n0\tA. He.\tA.\t1\n", 1,
             {"label": "1", "first": "A. He.", "second": "A."}),
    "wsc": (json.dumps({"text": "Bo saw it.", "target": {"span1_text": "Bo", "span2_text": "it"}, "label": False}), 1,
            {"text": "Bo saw it.", "noun": "Bo", "pronoun": "it", "label": "0"}),
    "squad": (json.dumps({"data": [{"paragraphs": [{"context": "It is in Leeds.", "qas": QUESTIONS}]}]}), 2,
              {"context": "It is in Leeds.", "question": "Why?", "answer": "unanswerable"}),
    "coqa": (json.dumps({"data": [STORY]}), 2,
             {"context": "Anna has a cat.", "talk": "Q: Who? A: Anna", "question": "What?", "answer": "a cat"}),
    "wikisql": (json.dumps(SQL), 1,
                {"question": "how many?", "columns": "not given", "query": "SELECT COUNT(col0) WHERE col1 > 5"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_readers(name: str, tmp_path: Path) -> None:
    text, count, last = CASES[name]
    (tmp_path / "file.jsonl").write_text(text)
    examples = list(TASKS.load(name).read(str(tmp_path / "file.jsonl")))
    assert (len(examples), examples[-1]) == (count, last)
    (tmp_path / "file.jsonl").write_text("nothing of the kind\n")
    with pytest.raises(UserError):
        list(TASKS.load(name).read(str(tmp_path / "file.jsonl")))


def test_columns_have_names_where_the_tables_are_there(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text(json.dumps(SQL))
    (tmp_path / "dev.tables.jsonl").write_text(json.dumps({"id": "t", "header": ["Room", "Size"]}))
    (example,) = TASKS.load("wikisql").read(str(tmp_path / "dev.jsonl"))
    assert (example["columns"], example["query"]) == ("Room, Size", "SELECT COUNT(Room) WHERE Size > 5")


@pytest.mark.parametrize("name", list(TASKS.own))
def test_every_task_has_five_prompts_that_hold_its_fields(name: str, tmp_path: Path) -> None:
    task: PrefineTask = TASKS.load(name)
    file = demo.path("gold")
    if name in CASES:
        file = str(tmp_path / "file.jsonl")
        Path(file).write_text(CASES[name][0])
    fields = next(iter(task.read(file)))
    assert len(task.prompts) >= 5
    filled = [task.fill_prompt(fields, number) for number in range(len(task.prompts))]
    assert len({text for text, _ in filled}) == len(filled)
    for (text, answer), prompt in zip(filled, task.prompts, strict=True):
        assert answer
        said = [value for key, value in fields.items() if key not in ("label", "answer", "query", "state")]
        assert all(value in text for value in said)
        if isinstance(prompt, Choices):
            assert task.fill_prompt({**fields, "label": "0"}, 0)[1] != task.fill_prompt({**fields, "label": "1"}, 0)[1]


def test_braces_in_a_text_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("sentence1\tsentence2\tlabel\n{x} {0}\t{label.__class__}\t1\n")
    task = TASKS.load("wnli")
    (fields,) = task.read(str(tmp_path / "a.tsv"))
    assert "{x} {0}" in task.fill_prompt(fields, 0)[0]
    assert "{label.__class__}" in task.fill_prompt(fields, 0)[0]


def test_sources() -> None:
    assert sources(["mrpc=a", "mrpc=b", "squad=c"]) == {"mrpc": ["a", "b"], "squad": ["c"]}
    with pytest.raises(UserError, match="is not of the form TASK=FILE"):
        sources(["mrpc"])
    with pytest.raises(UserError, match=r"no task is called 'mrcp' \(did you mean 'mrpc'\?\)"):
        sources(["mrcp=a"])


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "file", "count"),
    [("mrpc", "mrpc_train.txt", 4045), ("wnli", "wnli_train.tsv", 518), ("wikisql", "wikisql_dev.jsonl", 8421)],
)
def test_public_files(name: str, file: str, count: int, shared: Path) -> None:
    examples = list(TASKS.load(name).read(str(shared / "data/prefinetune" / file)))
    assert len(examples) == count
