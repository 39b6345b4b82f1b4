"""`troth ground` sentence by sentence: claims in rows, words, JSON and the page; files with other names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Troth

DOCUMENT = "The premium plan has 50 seats. The free plan has five seats. Admins cannot reset passwords."
ROW: dict[str, Any] = {
    "trace": {"id": 17}, "contexts": ["Crayola makes chalk.", {"text": "In Easton.", "score": 0.3}],
    "question": "Who?", "answer": "Crayola does.", "ok": True, "latency": 3.2,
}  # fmt: skip


def test_a_run_keeps_claims_and_shows_them(fine: Troth, tmp_path: Path) -> None:
    """From the command line, with the fake model: rows, words by rules, --explain, --json and the page."""
    data = tmp_path / "data.jsonl"
    rows = [
        {
            "id": 1,
            "document": ["Crayola makes chalk in Easton.", "It was founded in 1885."],
            "response": "It makes chalk.",
        },
        {"id": 2, "document": DOCUMENT, "response": "Zebras <b>fly</b> to the moon. The free plan has five seats."},
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, run = tmp_path / "rows.jsonl", tmp_path / "run"
    words = tmp_path / "words.jsonl"
    made = fine(
        "ground",
        str(data),
        "--nli",
        "fake",
        "--explain",
        "1",
        "--rows",
        str(out),
        "--words",
        str(words),
        "--out",
        str(run),
    )
    assert "data 2: faith 0." in made.out
    assert "words that the document does not support: Zebras <b>fly</b>" in made.out
    row = json.loads(out.read_text().splitlines()[1])
    assert [one["sentence"] for one in row["claims"]] == [
        "Zebras <b>fly</b> to the moon.",
        "The free plan has five seats.",
    ]
    assert {"verdict", "supported", "contradicted", "absent", "passage"} <= row["claims"][0].keys()
    doubted = [word["text"] for word in json.loads(words.read_text().splitlines()[1])["words"] if word["doubt"] > 0.55]
    assert doubted[:2] == ["Zebras", "<b>fly</b>"]
    explained = fine("ground", str(data), "--nli", "fake", "--explain", "1", "--json").json()
    assert explained["explained"][0]["claims"][0]["sentence"] == "Zebras <b>fly</b> to the moon."
    assert {score["metric"] for score in explained["scores"]} == {"faith", "coverage", "facts"}
    page = tmp_path / "page.html"
    fine("report", str(run), "--out", str(page))
    text = page.read_text()
    assert "Zebras <b>fly</b>" not in text, "texts of responses are escaped"
    assert "← " in text


def test_from_the_command_line(fine: Troth, troth: Troth, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps({"answer": "x"}) + "\n")
    named = ("ground", str(path), "--metrics", "facts", "--map", "document=contexts,response=answer,id=trace.id")
    refused = troth(*named)
    assert (refused.code, "line 2: has no 'contexts'" in refused.err) == (2, True)
    made = fine(*named, "--on-error", "skip")
    assert "log: 1 row skipped" in made.err
    assert "1 response; intervals over 1 document" in made.err
