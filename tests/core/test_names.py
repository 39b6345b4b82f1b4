"""`NAME=PATH` as users write it, and counts as they read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from troth.core.names import format_counts, name_paths, split_name_path


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("pred.json", ("", "pred.json")),
        ("mine=pred.json", ("mine", "pred.json")),
        ("mine=runs/lr=0.1/pred.json", ("mine", "runs/lr=0.1/pred.json")),
        ("runs/lr=0.1/pred.json", ("", "runs/lr=0.1/pred.json")),
        ("a=b/c=d", ("a", "b/c=d")),
        ("=pred.json", ("", "pred.json")),
    ],
)
def test_named(item: str, expected: tuple[str, str]) -> None:
    assert split_name_path(item) == expected


def test_a_path_that_exists_as_written_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("lr=0.1/pred.json")
    place.parent.mkdir()
    place.touch()
    assert split_name_path(str(place)) == ("", "lr=0.1/pred.json")
    assert name_paths([str(place), "mine=lr=0.1/pred.json"], "prediction") == [
        ("pred", "lr=0.1/pred.json"),
        ("mine", "lr=0.1/pred.json"),
    ]


def test_counts_of_one_are_in_the_singular() -> None:
    counts = {"dialogues": 1, "missing_turns": 1, "acts true only in context": 1, "trials": 2, "empty_responses": 0}
    assert format_counts(counts) == ["1 dialogue", "1 missing turn", "1 act true only in context", "2 trials"]
