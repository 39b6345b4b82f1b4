"""Some of the dialogues: by id, by share, by number for each domain."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair
from troth.readers import shots as module
from troth.readers.shots import Shots, sample


def dialogues() -> list[Dialogue]:
    names = [(f"{domain}_1", f"{domain}-{number}") for number in range(30) for domain in ("Hotels", "Trains")]
    both = [Dialogue(id=f"both-{n}", turns=(), services=("Hotels_1", "Trains_1")) for n in range(40)]
    return [*(Dialogue(id=name, turns=(), services=(service,)) for service, name in names), *both]


@pytest.mark.parametrize(("shots", "count"), [(None, 100), (0.05, 5), ("5%", 5), (1.0, 100), (7, 14), ("50", 60)])
def test_sizes(shots: Shots, count: int) -> None:
    chosen = sample(dialogues(), shots)
    assert len(chosen) == count
    assert [one.id for one in chosen] == [one.id for one in dialogues() if one in chosen]  # in their order
    if shots == 7:
        assert sum(one.id.startswith("Hotels") for one in chosen) == 7


def test_domains_with_too_few_dialogues_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    items = [*dialogues(), Dialogue(id="taxi", turns=(), services=("Taxis_1",))]
    assert len(sample(items, 20)) == 41
    assert "fewer than 20 dialogues with a single service: Taxis has 1\n" in capsys.readouterr().err
    sample([*dialogues(), Dialogue(id="taxi", turns=(), services=("Hotels_1", "Taxis_1"))], 20)
    assert "fewer than 20 dialogues with a single service: Taxis has 0\n" in capsys.readouterr().err
    assert len(sample(dialogues(), 30)) == 60
    assert not capsys.readouterr().err


def test_a_draw_depends_on_seed_and_ids_alone_and_grows() -> None:
    some_of = {one.id for one in sample(dialogues(), 0.1)}
    assert some_of == {one.id for one in sample(dialogues()[::-1], 0.1)}
    assert some_of < {one.id for one in sample(dialogues(), 0.2)}
    assert some_of != {one.id for one in sample(dialogues(), 0.1, seed=1)}


def test_ids_in_any_spelling_of_multiwoz_and_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [Pair(Dialogue(id=name, turns=()), None) for name in ("mul0001", "mul0002", "sng01")]
    (tmp_path / "ids.txt").write_text("MUL0002.json\nSNG01.json\nMUL0009.json\n")
    assert [one.gold.id for one in sample(items, str(tmp_path / "ids.txt"))] == ["mul0002", "sng01"]
    assert "1 of 3 listed dialogues are not in the data" in capsys.readouterr().err
    assert [one.gold.id for one in sample(items, ["mul0001"])] == ["mul0001"]
    with pytest.raises(UserError, match="none of these dialogues"):
        sample(items, ["mul0009"])


@pytest.mark.parametrize("shots", ["no such file", 0, -1, 1.5, "1.5", "x%", "200%"])
def test_wrong_use(shots: Shots) -> None:
    with pytest.raises(UserError, match="shots cannot be"):
        sample(dialogues(), shots)


def test_converted(tmp_path: Path) -> None:
    out = tmp_path / "few"
    readers.convert(demo.path("gold"), out, "sgd", shots="25%", seed=3)
    names = [one.id for one in readers.gold(str(out))]
    assert names == [one.id for one in sample(list(readers.gold(demo.path("gold"))), 0.25, 3)]
    assert readers.schema_beside(str(out)) == readers.schema_beside(demo.path("gold"))


def test_the_published_splits(shared: Path) -> None:
    """T2G2's lists are of SGD's train dialogues: 5, 10, … of each of 14 domains."""
    lists = {int(file.stem.partition("_")[0]): file for file in shared.glob("data/t2g2/fewshot_splits/*_shot.txt")}
    assert sorted(lists) == [5, 10, 20, 40, 80]
    for count, file in lists.items():
        ids = file.read_text().split()
        corpus = [Dialogue(id=name, turns=()) for name in dict.fromkeys([*ids, "other"])]
        assert len(sample(corpus, str(file))) == len(ids) == 14 * count


def test_example() -> None:
    assert doctest.testmod(module) == (0, 3)
