"""Tasks of a first phase, in the manner of T0: readers of public files, and prompts that put an example into words.

The tasks are those of CheckDST's table 6. A task is a `PrefineTask` value; other packages add theirs through the entry
point group `troth.tasks`. A source is named `TASK=FILE`, such as `mrpc=msr_paraphrase_train.txt`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.names import split_name_path
from troth.core.registry import Registry
from troth.readers import source
from troth.readers.source import Document
from troth.systems.data import TrackerCorpus
from troth.systems.states import dialogue_text, format_states

Fields = dict[str, str]
UNANSWERABLE = "unanswerable"
AGGREGATES, OPERATORS = ("", "MAX", "MIN", "COUNT", "SUM", "AVG"), ("=", ">", "<", "OP")  # of WikiSQL


class TaskPrompt(NamedTuple):
    """One way to put an example: the source and the answer, with `{names}` of fields."""

    source: str
    answer: str


class Choices(NamedTuple):
    """A prompt for examples with one of two answers: the texts for the labels 0 and 1."""

    source: str
    no: str
    yes: str


class PrefineTask(NamedTuple):
    """A task: how its files are read into fields, and how they are put into words."""

    about: str
    read: Callable[[str], Iterator[Fields]]
    prompts: Sequence[TaskPrompt | Choices]

    @property
    def classes(self) -> int | None:
        """The number of possible answers; None where any text is one."""
        return 2 if all(isinstance(prompt, Choices) for prompt in self.prompts) else None

    def fill_prompt(self, fields: Fields, number: int) -> tuple[str, str]:
        """Source and answer of an example by a prompt of this number."""
        prompt = self.prompts[number % len(self.prompts)]
        if isinstance(prompt, Choices):
            return prompt.source.format(**fields), prompt.yes if fields["label"] == "1" else prompt.no
        return prompt.source.format(**fields), prompt.answer.format(**fields)


def _lines(path: str) -> tuple[Document, list[str]]:
    document = source.first(path)
    return document, [line.rstrip("\r") for line in source.utf8(document).split("\n") if line.strip()]


def _table(path: str, columns: dict[str, str]) -> Iterator[Fields]:
    """The rows of a tab-separated file: our names of fields to the names of its columns."""
    document, lines = _lines(path)
    head = lines[0].removeprefix("\ufeff").split("\t") if lines else []
    missing = next((column for column in columns.values() if column not in head), None)
    if missing is not None:
        raise UserError(f"has no column '{missing}'", file=document.name, hint="is it the right file?")
    indexes = {name: head.index(column) for name, column in columns.items()}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(head):  # quoted texts may hold tabs
            cells = next(csv.reader([line], delimiter="\t"))
        if len(cells) != len(head):
            raise UserError(f"line {number}: {len(cells)} columns in place of {len(head)}", file=document.name)
        yield {name: _unquote(cells[index]) for name, index in indexes.items()}


def _unquote(cell: str) -> str:
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _json(path: str, layout: Any) -> Any:
    document = source.first(path)
    return _decode(document.data, layout, document.name)


def _json_lines(path: str, layout: Any) -> Iterator[Any]:
    document, lines = _lines(path)
    for number, line in enumerate(lines, 1):
        yield _decode(line, layout, f"{document.name}: line {number}")


def _decode(data: bytes | str, layout: Any, where: str) -> Any:
    with reading(where, "not in the layout of this task", hint="is it the right file?"):
        return msgspec.json.decode(data, type=layout)


class _Winograd(msgspec.Struct):
    text: str
    target: dict[str, Any]
    label: bool


class _SquadAnswer(msgspec.Struct):
    text: str


class _SquadQuestion(msgspec.Struct):
    question: str
    answers: list[_SquadAnswer] = []


class _SquadParagraph(msgspec.Struct):
    context: str
    qas: list[_SquadQuestion]


class _SquadArticle(msgspec.Struct):
    paragraphs: list[_SquadParagraph]


class _Squad(msgspec.Struct):
    data: list[_SquadArticle]


class _CoqaText(msgspec.Struct):
    input_text: str


class _CoqaStory(msgspec.Struct):
    story: str
    questions: list[_CoqaText]
    answers: list[_CoqaText]


class _Coqa(msgspec.Struct):
    data: list[_CoqaStory]


class _Query(msgspec.Struct):
    sel: int
    agg: int
    conds: list[tuple[int, int, str | int | float]]


class _WikiSql(msgspec.Struct):
    question: str
    sql: _Query
    table_id: str = ""


def _wsc(path: str) -> Iterator[Fields]:
    for row in _json_lines(path, _Winograd):
        noun, pronoun = str(row.target.get("span1_text", "")), str(row.target.get("span2_text", ""))
        yield {"text": row.text, "noun": noun, "pronoun": pronoun, "label": str(int(row.label))}


def _squad(path: str) -> Iterator[Fields]:
    for article in _json(path, _Squad).data:
        for paragraph in article.paragraphs:
            for asked in paragraph.qas:
                answer = asked.answers[0].text if asked.answers else UNANSWERABLE
                yield {"context": paragraph.context, "question": asked.question, "answer": answer}


def _coqa(path: str) -> Iterator[Fields]:
    for story in _json(path, _Coqa).data:
        before: list[str] = []
        for question, answer in zip(story.questions, story.answers, strict=False):
            talk = " ".join(before)
            yield {
                "context": story.story, "talk": talk, "question": question.input_text, "answer": answer.input_text,
            }  # fmt: skip
            before += [f"Q: {question.input_text}", f"A: {answer.input_text}"]


def _wikisql(path: str) -> Iterator[Fields]:
    """Without the file of tables, columns have numbers in place of names."""
    tables = Path(path.removesuffix(".jsonl") + ".tables.jsonl")
    names = {row["id"]: row["header"] for row in _json_lines(str(tables), dict[str, Any])} if tables.is_file() else {}
    for row in _json_lines(path, _WikiSql):
        head = names.get(row.table_id, [])

        def column(number: int, head: Sequence[str] = head) -> str:
            return head[number] if number < len(head) else f"col{number}"

        aggregate = AGGREGATES[row.sql.agg % len(AGGREGATES)]
        selected = f"{aggregate}({column(row.sql.sel)})" if aggregate else column(row.sql.sel)
        where = [f"{column(at)} {OPERATORS[how % len(OPERATORS)]} {value}" for at, how, value in row.sql.conds]
        query = f"SELECT {selected}" + (f" WHERE {' AND '.join(where)}" if where else "")
        yield {"question": row.question, "columns": ", ".join(head) or "not given", "query": query}


def _dialogues(path: str) -> Iterator[Fields]:
    for turn in TrackerCorpus.read(path).turns():
        services = "; ".join(
            f"{service.name}: {', '.join(slot.name for slot in service.slots)}" for service in turn.services
        )
        yield {"dialogue": dialogue_text(turn), "services": services, "state": format_states(turn)}


_PARAPHRASE = (
    Choices("First: {first}\nSecond: {second}\nDo the two say the same? Answer:", "no", "yes"),
    Choices('Someone says "{first}" Is "{second}" another way to say it?', "no", "yes"),
    Choices("{first}\n{second}\nAre these paraphrases or different?", "different", "paraphrases"),
    Choices("Sentence A: {first}\nSentence B: {second}\nCould B replace A without a change of meaning?", "No", "Yes"),
    Choices("Compare the meaning.\n1. {first}\n2. {second}\nSame meaning, true or false?", "false", "true"),
    Choices("Given that {first} does it mean the same to say: {second}", "it does not", "it does"),
)
_COREFERENCE = (
    Choices("{first}\nDoes it follow that {second}", "no", "yes"),
    Choices("Read: {first}\nThen: {second}\nTrue or false?", "false", "true"),
    Choices('If "{first}" is right, is "{second}" right, too?', "No", "Yes"),
    Choices("Premise: {first}\nConclusion: {second}\nDoes the conclusion hold?", "it does not", "it does"),
    Choices("{first} Who is meant? Someone reads it as: {second} Is this reading correct?", "incorrect", "correct"),
)
_WINOGRAD = (
    Choices('{text}\nDoes "{pronoun}" stand for "{noun}"?', "no", "yes"),
    Choices('In "{text}", is "{pronoun}" the same as "{noun}"?', "No", "Yes"),
    Choices("Text: {text}\nWord: {pronoun}\nMeans: {noun}\nTrue or false?", "false", "true"),
    Choices('Put "{noun}" in the place of "{pronoun}": {text}\nIs the meaning kept?', "it is not", "it is"),
    Choices('{text}\n"{pronoun}" refers to "{noun}": correct or incorrect?', "incorrect", "correct"),
)
_READING = (
    TaskPrompt("{context}\nQuestion: {question}\nAnswer:", "{answer}"),
    TaskPrompt("Answer from the text, or say unanswerable.\nText: {context}\n{question}", "{answer}"),
    TaskPrompt("What does this passage say? {question}\n\n{context}", "{answer}"),
    TaskPrompt("Passage: {context}\nSomeone asks: {question} The passage has this answer:", "{answer}"),
    TaskPrompt("Find the words that answer the question.\nQuestion: {question}\nWords are from: {context}", "{answer}"),
    TaskPrompt("{question}\nUse only what is written here: {context}", "{answer}"),
)
_CONVERSATION = (
    TaskPrompt("{context}\n{talk}\nQ: {question}\nA:", "{answer}"),
    TaskPrompt("Story: {context}\nTalk so far: {talk}\nNext question: {question}\nAnswer:", "{answer}"),
    TaskPrompt("Go on with the conversation about this story. {context}\n{talk} Q: {question}", "{answer}"),
    TaskPrompt("{talk}\nNow someone asks: {question} What is the answer according to: {context}", "{answer}"),
    TaskPrompt("Read the story and the questions before, then reply.\n{context}\n{talk}\n{question}", "{answer}"),
)
_QUERY = (
    TaskPrompt("Columns: {columns}\nQuestion: {question}\nSQL:", "{query}"),
    TaskPrompt("Write the query for: {question}\nThe table has: {columns}", "{query}"),
    TaskPrompt("Translate into SQL. {question} (columns: {columns})", "{query}"),
    TaskPrompt("Which query answers this? {question}\nTable: {columns}", "{query}"),
    TaskPrompt("Given the columns {columns}, ask the database: {question}", "{query}"),
)
_STATE = (
    TaskPrompt("{dialogue}\nServices: {services}\nstate:", "{state}"),
    TaskPrompt("What does the user want so far? {dialogue}\nSlots: {services}", "{state}"),
    TaskPrompt("Slots: {services}\nConversation: {dialogue}\nFill in the slots:", "{state}"),
    TaskPrompt("Track the state of this dialogue: {dialogue}\nservices and their slots: {services}", "{state}"),
    TaskPrompt("Read the conversation and note what was asked for.\n{dialogue}\nNote: {services}", "{state}"),
)

TASKS: Registry[PrefineTask] = Registry(
    "task",
    "troth.tasks",
    {
        "mrpc": PrefineTask(
            "MSR paraphrases: are two sentences paraphrases?",
            lambda path: _table(path, {"label": "Quality", "first": "#1 String", "second": "#2 String"}), _PARAPHRASE,
        ),
        "qqp": PrefineTask(
            "Quora question pairs (GLUE): do two questions ask the same?",
            lambda path: _table(path, {"label": "is_duplicate", "first": "question1", "second": "question2"}),
            _PARAPHRASE,
        ),
        "wsc": PrefineTask("Winograd schemas (SuperGLUE): what does a pronoun stand for?", _wsc, _WINOGRAD),
        "wnli": PrefineTask(
            "Winograd schemas as entailment (GLUE)",
            lambda path: _table(path, {"label": "label", "first": "sentence1", "second": "sentence2"}), _COREFERENCE,
        ),
        "squad": PrefineTask("SQuAD 2.0: answers from a passage, or none", _squad, _READING),
        "coqa": PrefineTask("CoQA: answers in a conversation about a story", _coqa, _CONVERSATION),
        "wikisql": PrefineTask("WikiSQL: questions to queries", _wikisql, _QUERY),
        "sgd": PrefineTask("dialogues of any format: their states", _dialogues, _STATE),
    },
)  # fmt: skip


def sources(items: Sequence[str]) -> dict[str, list[str]]:
    """The files of each task, from `TASK=FILE` each; a task may have several."""
    files: dict[str, list[str]] = {}
    for item in items:
        task, path = split_name_path(item)
        if not task or not path:
            raise UserError(f"'{item}' is not of the form TASK=FILE", hint="for example mrpc=FILE")
        TASKS.load(task)  # an error for a misspelt name
        files.setdefault(task, []).append(path)
    return files
