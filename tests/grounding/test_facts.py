"""Facts of a response looked up in the window of the document that speaks of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import troth
from troth.cli import app
from troth.grounding.evidence import Passages, best_passages
from troth.grounding.facts import check_facts

DOCUMENT = (
    "The museum opened on 2019-03-01 at 17:00. Its founder is Alice Binney of the National Rope Society. "
    "A visit takes 90 minutes. The rope is 310 metres long. Two trains leave every hour. "
    "Tickets for adults cost $1,250. Children get in free. The old mill burned down in 1880."
)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("", []),
        ("You will like it.", []),
        ("It opened at 5pm on March 1st.", [("5pm", True), ("March 1st", True)]),
        ("It opened on March 1, 2018.", [("March 1, 2018", False)]),
        ("The founder is Alice Binney, of the NRS.", [("Alice Binney", True), ("NRS", True)]),
        ("The founder is Alice Jones.", [("Alice Jones", False)]),
        ("A visit takes 1.5 hours.", [("1.5 hours", True)]),
        ("A visit takes four hours.", [("four hours", False)]),
        ("Tickets for adults cost 1250 dollars.", [("1250 dollars", True)]),
        ("2 trains leave every hour.", [("2", True)]),
        ("The museum's rope is 310 miles long.", [("310 miles", False)]),
    ],
)
def test_facts_of_a_response(response: str, expected: list[tuple[str, bool]]) -> None:
    found = check_facts(DOCUMENT, response)
    assert [(fact.text, fact.found) for fact in found] == expected
    assert all(response[fact.start : fact.end] == fact.text for fact in found)


def test_a_fact_of_another_part_of_the_document_has_half_the_credit() -> None:
    (fact,) = check_facts(DOCUMENT, "The museum opened on a sunny day in 1880.")
    assert (fact.found, fact.elsewhere, fact.credit) == (False, True, 0.5)
    assert fact.line().startswith("date 1880: elsewhere in the document, not in: The museum opened")


def test_the_metric_and_its_explanation(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    responses = ["It opened at 5pm in 2031.", "It is nice.", "A visit takes 90 minutes."]
    rows = [{"id": str(n), "document": DOCUMENT, "response": text} for n, text in enumerate(responses)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = troth.ground(path, metrics="facts")
    assert result["facts"].value == 0.75
    assert result["facts"].n == 2
    assert "the response has no name, number, date or time" in " ".join(map(str, result.notes))
    assert "window:3|best:2|elsewhere:0.5" in result["facts"].signature
    run = CliRunner().invoke(app, ["ground", str(path), "--metrics", "facts", "--explain", "1"])
    assert run.exit_code == 0, run.output
    assert "answers 0: facts 0.500: It opened at 5pm in 2031." in run.stdout
    assert "  time 5pm: found in: The museum opened" in run.stdout
    assert "  date 2031: not in: The museum opened" in run.stdout


def test_the_best_windows_share_the_rare_words_of_a_claim() -> None:
    known = Passages(DOCUMENT)
    assert known.best("How long is the rope?", 1, 1)[0].text == "The rope is 310 metres long."
    assert [window.start for window in known.best("quite something else", 3, 2)] == [0, 1]
    assert len(known.best("the rope", 3, 100)) == known.windows(3) == 6
    assert best_passages("the rope", Passages("One sentence."), [(1, 2), (3, 1)]) == ["One sentence."]
    assert Passages("").best("anything", 3, 2)[0].text == ""


def test_a_document_without_sentence_ends_is_cut() -> None:
    known = Passages("word " * 20_000)
    assert max(len(sentence.split()) for sentence in known.sentences) == 80
