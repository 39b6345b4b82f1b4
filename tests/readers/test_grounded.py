"""Grounded responses: what each format's records are, and that formats are told by content."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.readers.grounded_samples import CHAT, FAITHDIAL, SAMPLES, WIKI, lay
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers import grounded, source
from troth.readers.grounded import chat, labels


def read(path: Path, format: str | None = None) -> list[Grounded]:
    return list(grounded.read(str(path), format))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_told_by_its_content(tmp_path: Path, name: str) -> None:
    path = lay(tmp_path, name)
    assert grounded.detect(source.first(str(path))) == name
    items = read(path)
    assert len(items) == SAMPLES[name][2]
    assert items == read(path, name)
    assert len({item.id for item in items}) == len(items)


def test_begin(tmp_path: Path) -> None:
    first, second, third = read(lay(tmp_path, "begin"))
    assert first == Grounded(
        "wow/t5/2", 'Crayola makes "crayons.', "Crayola does.", ("Who makes crayons?",), 1, "wow"
    ), "a quote is a character like any other"
    assert (second.label, second.id) == (0, "wow/gpt2/3")
    assert (third.label, third.source, third.history) == (0, "tc", ())


def test_begin_of_the_first_release(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("evidence\tprevious turn\tresponse\tgold label\tfull label set\nA.\tQ?\tA.\tentailment\tx;y\n")
    assert read(path) == [Grounded("2", "A.", "A.", ("Q?",), 1)]


def test_csv(tmp_path: Path) -> None:
    first, second, third = read(lay(tmp_path, "csv"))
    assert first == Grounded("2", "Crayola, of Easton, makes crayons.", "Crayola does.", ("Who?",), 1)
    assert (second.document, second.response, second.label) == ("Early skis\nwere long.", 'They were "short".', 0)
    assert third.label is None


def test_csv_of_our_own_names_and_tabs(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('response\tid\tdocument\tlabel\tsource\n"A, b."\tx\tA.\t0\twow\n')
    assert read(path) == [Grounded("x", "A.", "A, b.", (), 0, "wow")]


@pytest.mark.parametrize(
    ("cell", "label"),
    [("1.0", 1), ("0.0", 0), ("1", 1), (" 0 ", 0), ("", None), ("NaN", None), ("nan", None), ("Entailment", 1)],
)
def test_labels_as_pandas_writes_them(tmp_path: Path, cell: str, label: int | None) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,document,response,label\nx,A.,A.,{cell}\n")
    assert read(path) == [Grounded("x", "A.", "A.", (), label)]


@pytest.mark.parametrize(("number", "label"), [(1.0, 1), (0.0, 0), (1, 1), (False, 0), (None, None), ("", None)])
def test_labels_in_jsonl(tmp_path: Path, number: object, label: int | None) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"id": "x", "document": "A.", "response": "A.", "label": number}) + "\n")
    assert read(path) == [Grounded("x", "A.", "A.", (), label)]
    assert labels.parse_label(float("nan")) is None


def test_jsonl(tmp_path: Path) -> None:
    first, second = read(lay(tmp_path, "jsonl"))
    assert first == Grounded("a1", "Crayola makes crayons.", "Crayola.", ("Hi.", "Who?"), 1, "us")
    assert second == Grounded("a2", "Skis are long.\n\nOr short.", "They are.")


def test_chat(tmp_path: Path) -> None:
    first, second, third, fourth = read(lay(tmp_path, "chat"))
    system, asked, passages = "Answer from the passages.", "Who makes crayons?", "Crayola makes crayons.\n\nIn Easton."
    seen = f"{system}\n\n{asked}\n\n{passages}"
    history = ("Hello!", asked)
    assert first == Grounded("c1/6", seen, "Crayola, in Easton.", history, 1, conversation="c1")
    assert (second.document, second.response) == (f"{seen}\n\nReally?", "Yes."), "everything seen so far counts"
    assert second.history[-2:] == ("Crayola, in Easton.", "Really?")
    assert (third.document, third.label) == (f"{seen}\n\nReally?\n\nSkis are long.", 0)
    expected = Grounded("1/2", "Skis are long.\n\nAre they?", "They are.", ("Are they?",), conversation="1")
    assert fourth == expected, "no tool: the system has passages"


@pytest.mark.parametrize(
    ("context", "documents"),
    [
        ("tools", ["", "B: 7"]),
        ("tools+user", ["Q1", "Q1\n\nB: 7"]),
        ("system", ["Be kind.", "Be kind."]),
        ("tools,user,system", ["Be kind.\n\nQ1", "Be kind.\n\nQ1\n\nB: 7"]),
    ],
)
def test_context_of_chats(context: str, documents: list[str]) -> None:
    """A result adds to what was seen; an empty one takes nothing away. An answer without context is read, too."""
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "Let me see."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "B: 7"}]},
        {"type": "function_call_output", "call_id": "u", "output": ""},
        {"role": "tool", "content": ""},
        {"role": "assistant", "content": "It is 7."},
    ]
    document = source.Document("c.json", json.dumps(messages).encode())
    assert [one.document for one in chat.read(document, chat.parse_context(context))] == documents


def test_context_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="context cannot be 'tool' \\(did you mean 'tools'"):
        chat.parse_context("tool")


@pytest.mark.parametrize("whole", [CHAT, CHAT[1], CHAT[1]["messages"]])
def test_chat_in_other_shapes(tmp_path: Path, whole: object) -> None:
    path = tmp_path / "chat.json"
    for indent in (None, 2):
        path.write_text(json.dumps(whole, indent=indent))
        assert read(path)[-1].response == "They are."


def test_faithdial(tmp_path: Path) -> None:
    path = lay(tmp_path, "faithdial")
    edited, kept = read(path)
    assert edited == Grounded(
        "7/0", "It began in Montreal.", "In Montreal.", ("Tell me of concerts.",), None, "faithdial"
    ), "the label is of the response before the editing"
    assert (kept.id, kept.label) == ("7/1", 1)
    before, same = read(path, "faithdial-original")
    assert (before.response, before.label) == ("It began in 2015. Can you imagine?", 0)
    assert (same.response, same.label, same.source) == ("It ended in Sydney.", 1, "wow")


def test_faithdial_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    turns = [{"dialog_idx": 7} | turn for turn in FAITHDIAL[0]["utterances"]]
    path.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert grounded.detect(source.first(str(path))) == "faithdial"
    assert read(path) == read(lay(tmp_path, "faithdial"))


def test_wow(tmp_path: Path) -> None:
    first, second = read(lay(tmp_path, "wow"))
    assert first == Grounded("0/0", "", "Hi!", source="wow")
    assert second == Grounded(
        "0/2", "Crayola makes crayons.", "Crayola does.", ("Hi!", "Who makes crayons?"), source="wow"
    )


def test_multidoc2dial(tmp_path: Path) -> None:
    first, second = read(lay(tmp_path, "multidoc2dial"))
    passages = "Go to the police. Then report it. Bring a card."
    assert first == Grounded("d1/2", passages, "Report it.", ("I lost my plates.",), source="dmv")
    assert (second.document, second.history) == ("", ("I lost my plates.", "Report it."))


def test_topical_chat(tmp_path: Path) -> None:
    path = lay(tmp_path, "topical-chat")
    first, second = read(path)
    assert first == Grounded("t_1/1", "It is old. The game was close!", "Football?", ("Hi!",), source="topical-chat")
    assert (second.id, second.document) == ("t_1/3", ""), "personal knowledge is left out, ids are no text"
    (tmp_path / "wiki.json").write_text(json.dumps(WIKI))
    first, second = read(path)
    assert first.document == "A game with a ball. It is old. The game was close!"
    assert second.document == "A color."


def test_topical_chat_in_its_own_folders(tmp_path: Path) -> None:
    sets, talks = tmp_path / "reading_sets" / "post-build", tmp_path / "conversations"
    sets.mkdir(parents=True)
    talks.mkdir()
    lay(tmp_path, "topical-chat").rename(talks / "dev.json")
    (tmp_path / "reading_dev.json").rename(sets / "dev.json")
    assert len(read(talks / "dev.json")) == 2


def test_folders_and_archives(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \.jsonl"):
        read(tmp_path)
    for name in ("multidoc2dial", "topical-chat"):
        lay(tmp_path, name)
    (tmp_path / "conversations_dev.json").unlink()
    assert len(read(tmp_path)) == 2, "what lies beside is not read as responses"
    packed = tmp_path / "b.tsv.gz"
    packed.write_bytes(gzip.compress(SAMPLES["begin"][1]))
    assert len(read(packed)) == 3


def test_equal_documents_are_kept_once(tmp_path: Path) -> None:
    _, second, third = read(lay(tmp_path, "begin"))
    assert second.document is third.document


PAGE = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8").partition("## Grounded responses")[2]
EXAMPLES = dict(re.findall(r"^### (\S+)\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", SAMPLES)
def test_examples_of_the_docs(tmp_path: Path, name: str) -> None:
    path = lay(tmp_path, name)
    path.write_text(EXAMPLES[name], encoding="utf-8")
    assert grounded.detect(source.first(str(path))) == name
    (item,) = read(path)
    assert item.response in ("Crayola does.", "Report it.", "Football?")
    assert item.document


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "responses", "positive", "source", "documents"),
    [
        ("begin/wow/begin_dev_wow.tsv", 430, 180, "wow", 333),
        ("begin/wow/begin_test_wow.tsv", 3607, 1392, "wow", 1489),
        ("begin/cmu-dog/begin_dev_cmu.tsv", 416, 59, "cmu", 180),
        ("begin/topicalchat/begin_dev_tc.tsv", 383, 74, "tc", 108),
        ("faithdial_audit/gold_wow.csv", 200, 57, "", 180),
        ("faithdial_audit/gold_cmu.csv", 201, 33, "", 32),
        ("faithdial_audit/gold_topical.csv", 208, 47, "", 65),
    ],
)
def test_real_data(shared: Path, file: str, responses: int, positive: int, source: str, documents: int) -> None:
    items = read(shared / "data" / file)
    assert (len(items), sum(item.label or 0 for item in items)) == (responses, positive)
    assert {item.source for item in items} == {source}
    assert len({item.document for item in items}) == documents
    assert all(item.document.strip() and item.response.strip() for item in items)


@pytest.mark.shared
def test_real_topical_chat_has_as_many_turns_as_the_paper_says(shared: Path) -> None:
    items = read(shared / "data/topical_chat/conversations_test_rare.json")
    assert len(items) == 8301  # table 6
    assert all(not item.document for item in items), "the reading sets are not built: ids, and no text"
    assert all(item.history for item in items)
