"""Writing: whole or not at all, never over something else."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue

Read = Callable[..., list[Any]]
WRITABLE = ("checkdst", "jsonl", "multiwoz", "mwzeval", "sgd")


@pytest.fixture
def items(read: Read, samples: dict[str, bytes]) -> list[Any]:
    return read(samples["multiwoz"])


@pytest.mark.parametrize("format", WRITABLE)
def test_leaves_nothing_else(tmp_path: Path, items: list[Any], format: str) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    readers.write(items, str(folder / "out"), format)
    assert [path.name for path in folder.iterdir()] == ["out"]
    assert readers.detect(str(folder / "out")) == format


@pytest.mark.parametrize("format", WRITABLE)
@pytest.mark.parametrize("error", [UserError("bad"), RuntimeError("crash"), KeyboardInterrupt()])
def test_a_crash_leaves_nothing(tmp_path: Path, items: list[Any], format: str, error: BaseException) -> None:
    def until() -> Iterator[Dialogue]:
        yield from items
        raise error

    folder = tmp_path / "new"
    folder.mkdir()
    with pytest.raises(type(error)):
        readers.write(until(), str(folder / "out"), format)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("format", WRITABLE)
def test_refuses_what_is_there(tmp_path: Path, items: list[Any], format: str) -> None:
    place = tmp_path / "out"
    place.write_text("mine")
    with pytest.raises(UserError, match="out: exists already"):
        readers.write(items, str(place), format)
    assert place.read_text() == "mine"


@pytest.mark.parametrize("format", WRITABLE)
def test_no_such_folder(tmp_path: Path, items: list[Any], format: str) -> None:
    with pytest.raises(UserError, match="its folder does not exist"):
        readers.write(items, str(tmp_path / "no" / "out"), format)


@pytest.mark.parametrize("format", sorted(set(readers.FORMATS.own) - set(WRITABLE)))
def test_formats_that_are_only_read(tmp_path: Path, items: list[Any], format: str) -> None:
    with pytest.raises(
        UserError, match=r"can be read, but not written .can be written: checkdst, jsonl, multiwoz, mwzeval, sgd"
    ):
        readers.write(items, str(tmp_path / "out"), format)


def test_unknown_format(tmp_path: Path, items: list[Any]) -> None:
    with pytest.raises(UserError, match="did you mean 'jsonl'"):
        readers.write(items, str(tmp_path / "out"), "json")


@pytest.mark.parametrize("format", ["sgd", "mwzeval", "multiwoz"])
def test_pairs_have_two_sides(read: Read, samples: dict[str, bytes], tmp_path: Path, format: str) -> None:
    with pytest.raises(UserError, match=r"dialogue mul0001: .* contains gold or predictions, not both"):
        readers.write(read(samples["trade"]), str(tmp_path / "out"), format)


@pytest.mark.parametrize("format", WRITABLE)
def test_correctness_has_no_values(read: Read, samples: dict[str, bytes], tmp_path: Path, format: str) -> None:
    items = [pair.pred for pair in read(samples["trippy"])]
    with pytest.raises(UserError, match="not values: nothing to convert"):
        readers.write(items, str(tmp_path / "out"), format)


@pytest.mark.parametrize("format", WRITABLE)
def test_nothing(tmp_path: Path, format: str) -> None:
    readers.write([], str(tmp_path / "out"), format)
    assert (tmp_path / "out").exists()


def test_the_example_of_convert() -> None:
    result = doctest.testmod(readers)
    assert (result.failed, result.attempted > 3) == (0, True)
