"""N-best lists on the page: the chosen response, points per act, and why."""

from __future__ import annotations

import json
from pathlib import Path

import troth
from tests.browser.conftest import Open
from troth import demo, models
from troth.responses import corpus, references
from troth.responses.nbest import rerank_file

EVIL = "<img src=x onerror=alert(1)>"


def test_the_list_that_a_response_was_chosen_from(opened: Open, tmp_path: Path) -> None:
    turn = next(turn for turn in corpus.read(demo.path("gold")).turns if any(due.act.values for due in turn.acts))
    faithful = " ".join(references.candidates(*due)[-1] for due in turn.acts)
    files = []
    for name, text, score in (("ft", f"No. {EVIL}", -0.1), ("pt", faithful, -0.2)):
        line = {"dialogue": turn.dialogue, "turn": turn.turn, "candidates": [{"text": text, "score": score}]}
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text(json.dumps(line))
    nli = models.nli("fake", cache=None)
    rerank_file(demo.path("gold"), files, tmp_path / "chosen.jsonl", nli)
    result = troth.nlg(demo.path("gold"), tmp_path / "chosen.jsonl", metrics="sgsacc", nli=nli, missing="skip")
    result.save(tmp_path / "run")
    troth.report(tmp_path / "run", out=tmp_path / "page.html")
    chosen = json.loads((tmp_path / "chosen.jsonl").read_text())
    assert chosen["choice"] == 1
    shown = opened().go(tmp_path / "page.html", "explorer")
    shown.locator(".nbest summary").first.click()
    why = shown.locator(".nbest summary").first.inner_text()
    assert why == f"n-best list of 2: number 2 was chosen: {_points(chosen['fidelity'])}, the likeliest has 0"
    first, second = (one.inner_text() for one in shown.locator(".nbest .candidate").all())
    assert EVIL in first
    assert "0 of" in first
    assert "pt" in second
    assert "chosen" in second
    assert shown.locator(".nbest .candidate.chosen .act.yes").count() == chosen["fidelity"]
    assert "entailed" in second


def _points(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"
