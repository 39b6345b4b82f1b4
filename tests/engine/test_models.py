"""Workers that open models of their own: responses, grounded responses and trackers have the same rows as alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import troth
from troth import demo
from troth.core.progress import within
from troth.engine import WithModel, parallel_map
from troth.grounding import spread
from troth.grounding.metrics import Models
from troth.responses import sgsacc
from troth.systems import track

FAKES = Models(nli="fake", lm="fake", cache=None)


def same(one: troth.Result, other: troth.Result) -> None:
    assert list(one.scores) == list(other.scores)
    assert one.rows().equals(other.rows())
    assert one.counts == other.counts
    assert one.arguments == other.arguments


def test_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgsacc, "CHUNK", 7)
    files = [demo.path(f"responses/{name}.jsonl") for name in ("terse", "careful")]
    files = [file for file in files if Path(file).exists()]
    results = [
        troth.nlg(
            demo.path("gold"), *files, metrics="ser,sgsacc", nli="fake", cache=None, resamples=20, workers=workers
        )
        for workers in (1, 2)
    ]
    same(*results)


def test_grounded_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "BLOCK", 3)
    file = demo.path("documents/careful.jsonl")
    results = [
        troth.ground(file, metrics="nli,coverage,pmi_faith", models=FAKES, resamples=20, workers=workers)
        for workers in (1, 2, 3)
    ]
    same(results[0], results[1])
    same(results[1], results[2])


def test_trackers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(track, "SHARE", 2)
    for workers in (1, 2):
        troth.track("prompted:fake", demo.path("gold"), tmp_path / str(workers), limit=5, workers=workers)
    files = sorted(file.name for file in (tmp_path / "1" / "orig").iterdir())
    assert len(files) == 5  # three shares, the schema, and the digest of gold
    for name in files:
        assert (tmp_path / "1" / "orig" / name).read_bytes() == (tmp_path / "2" / "orig" / name).read_bytes()


def test_a_model_is_opened_once_per_worker(tmp_path: Path) -> None:
    def opened() -> Path:
        with (tmp_path / "opened").open("a") as file:
            file.write("x")
        return tmp_path

    work: WithModel[int, Path, int] = WithModel(lambda item, _: item, opened)
    assert list(parallel_map(work, range(30), 2)) == list(range(30))
    assert len((tmp_path / "opened").read_text()) <= 3  # this process and two more


def test_embedded_models_say_the_same_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, and the claims that the page shows; each pair of texts is asked about once."""
    pytest.importorskip("onnxruntime", reason="needs the extra 'nli'")
    monkeypatch.setattr(spread, "BLOCK", 8)
    file = demo.path("documents/careful.jsonl")
    results = [troth.ground(file, metrics="faith,nli", cache=None, resamples=20, workers=workers) for workers in (1, 2)]
    same(*results)
    claims = [[view.claims for view in result.explorer().responses] for result in results]
    assert claims[0] == claims[1]
    assert any(claims[0])


def test_a_run_in_one_process_has_the_blocks_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "BLOCK", 3)
    sizes: list[int] = []
    inner: Any = vars(spread)["grade"]

    def watched(grader: Any, items: Any) -> Any:
        sizes.append(len(items))
        return inner(grader, items)

    monkeypatch.setattr(spread, "grade", watched)
    steps: list[tuple[str, int, int]] = []
    with within(lambda *step: steps.append(step)):
        result = troth.ground(demo.path("documents/careful.jsonl"), metrics="coverage", resamples=1)
    count = len(result.rows())
    assert sizes == [3] * (count // 3) + [count % 3] * bool(count % 3)
    assert [done for _, done, _ in steps] == sorted({done for _, done, _ in steps})
    assert steps[-1] == ("coverage", count, count)
