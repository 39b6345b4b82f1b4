"""Shards that were scored apart and merged are the run of the whole, to the last bit; what does not fit is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import troth
from troth import demo, readers
from troth.core.errors import UserError
from troth.report.merge import merge

METRICS = "jga,aga,fga@0.5,slot_f1"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return cut(tmp_path_factory.mktemp("shards"))


def cut(root: Path) -> list[Path]:
    """The demo's gold and two systems, cut into three parts."""
    for side in ("gold", "hasty", "sturdy"):
        dialogues = sorted(readers.read(demo.path(side)), key=lambda one: one.id)  # type: ignore[union-attr]
        schema = Path(demo.path("gold")) / "schema.json"
        for number in range(3):
            readers.write(dialogues[number::3], str(root / f"{number}-{side}"), "sgd", schema=schema.read_bytes())
    return [root / str(number) for number in range(3)]


def score(shard: Path, **options: Any) -> troth.Result:
    preds = [f"{side}={shard}-{side}" for side in ("hasty", "sturdy")]
    return troth.dst(f"{shard}-gold", *preds, **({"metrics": METRICS} | options))


@pytest.fixture(scope="module")
def results(shards: list[Path]) -> list[troth.Result]:
    return [score(one) for one in shards]


def test_merged_shards_are_the_whole(results: list[troth.Result], tmp_path: Path) -> None:
    preds = [f"{side}={demo.path(side)}" for side in ("hasty", "sturdy")]
    whole = troth.dst(demo.path("gold"), *preds, metrics=METRICS)
    for one in (merge(*results), merge(*results[::-1])):
        assert list(one.scores) == list(whole.scores)
        assert one.counts == whole.counts
        assert one.inputs == whole.inputs
        order = ["system", "metric", "dialogue", "turn", "service"]
        assert_frame_equal(one.rows().sort(order), whole.rows().sort(order))
    assert_frame_equal(merge(*results).rows(), merge(*results[::-1]).rows())
    saved = merge(*results, out=tmp_path / "run")
    again = troth.open(tmp_path / "run")
    assert list(again.scores) == list(saved.scores)
    assert len(list(again.explorer().dialogues)) == whole.counts["hasty"]["dialogues"]


def test_a_dialogue_in_two_shards_is_refused(results: list[troth.Result]) -> None:
    with pytest.raises(UserError, match=r"dialogue .* is in result 1, too"):
        merge(results[0], results[1], results[0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"match": "exact"}, "is scored as"),
        ({"metrics": "jga"}, "has no"),
        ({"metrics": METRICS + ",intent_accuracy"}, "which result 1 has not"),
    ],
)
def test_other_rules_are_refused(
    results: list[troth.Result], shards: list[Path], options: dict[str, Any], match: str
) -> None:
    with pytest.raises(UserError, match=match):
        merge(results[0], score(shards[1], **options))


def test_other_systems_and_commands_are_refused(results: list[troth.Result], shards: list[Path]) -> None:
    alone = troth.dst(f"{shards[1]}-gold", f"{shards[1]}-hasty", metrics=METRICS)
    with pytest.raises(UserError, match="not in all runs"):
        merge(results[0], alone)
    with pytest.raises(UserError, match="of troth ground"):
        merge(results[0], troth.ground(demo.path("documents/careful.jsonl"), metrics="coverage"))


def test_responses_to_one_document_may_be_in_two_shards(tmp_path: Path) -> None:
    lines = Path(demo.path("documents/careful.jsonl")).read_text().splitlines()
    parts = []
    for number in range(2):
        file = tmp_path / f"{number}.jsonl"
        rows = [msgspec.json.decode(line) for line in lines[number::2]]
        for place, row in enumerate(rows):
            row["id"] = f"{number}-{place}"
        file.write_text("\n".join(msgspec.json.encode(row).decode() for row in rows))
        parts.append(troth.ground(f"s={file}", metrics="coverage"))
    whole = troth.ground(f"s={demo.path('documents/careful.jsonl')}", metrics="coverage")
    merged = merge(*parts)
    assert merged["coverage"] == whole["coverage"]
    assert merged.counts == whole.counts


def test_what_is_no_ratio_is_named(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    run = troth.nlg(demo.path("gold"), demo.path("responses/terse.jsonl"), metrics="ser,bleu", resamples=10)
    merged = merge(run)
    assert merged["ser"].value == run["ser"].value
    assert "bleu" not in {one.metric for one in merged.scores}
    assert any("bleu" in note.text for note in merged.notes)
    assert isinstance(merged.rows(), pl.DataFrame)
