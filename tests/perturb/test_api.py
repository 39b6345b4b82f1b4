"""Perturbations from Python: one keyword `with_` in several forms, small frozen records back, examples that run."""

from __future__ import annotations

import copy
import doctest
from pathlib import Path
from typing import Any

import pytest

import troth
from troth import demo, readers
from troth.core.errors import UserError
from troth.core.options import declared_options
from troth.perturb import options
from troth.perturb.schemas import run as schemas_run
from troth.perturb.schemas import table, tools
from troth.perturb.schemas.generators import GENERATORS, Compose, Corrupt, Published
from troth.perturb.users import FAMILIES
from troth.perturb.users import run as users_run
from troth.perturb.users.disfluency import Disfluency
from troth.perturb.users.transcript import Transcript

GOLD = demo.path("gold")


@pytest.mark.parametrize("module", [users_run, schemas_run, table])
def test_examples(module: Any) -> None:
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 0) == (0, True)


def test_the_package_is_a_function_and_has_rooms(tmp_path: Path) -> None:
    perturb: Any = troth.perturb  # a function to a type checker, and a package besides
    done = perturb(Path(GOLD), tmp_path / "out", with_="disfluency", seed=1)
    assert (done.dialogues, done.families[0].family) == (22, "disfluency")
    assert perturb.users.FAMILIES is perturb.FAMILIES
    assert perturb.schemas.vary is schemas_run.vary
    with pytest.raises(AttributeError, match="nothing"):
        perturb.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        perturb.schemas.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="immutable"):
        done.seed = 2


@pytest.mark.parametrize(
    "with_",
    [
        "disfluency,format",
        ["disfluency", "format"],
        [Disfluency(), Transcript()],
        ("disfluency", Transcript()),
        {"disfluency": {}, "format": {"digits": "words"}},
    ],
)
def test_all_ways_to_name_families_give_the_same(with_: Any, tmp_path: Path) -> None:
    first = users_run.perturb(GOLD, tmp_path / "first", with_=with_)
    again = users_run.perturb(GOLD, tmp_path / "again", with_="disfluency,format")
    assert first == again
    file = "dialogues_001.json"
    assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({}, "no perturbation is named (known: disfluency, entities, format, paraphrase)"),
        ({"with_": []}, "no perturbation is named"),
        ({"with_": "disfluency", "sed": 1}, "there is no option 'sed' (did you mean 'seed'?)"),
        ({"with_": ["format", Transcript()]}, "perturbation 'format' is named twice"),
        ({"with_": {"format": {"slips": 2}}}, "format: 'slips' must be between 0 and 1 (options: case, punctuation"),
        ({"with_": {"format": {"case": "upper"}}}, "format.case: Invalid enum value 'upper'"),
        ({"with_": {"format": {"cases": "keep"}}}, "'format' has no option 'cases' (did you mean 'case'?)"),
        ({"with_": "disfluency", "nli": "fake"}, "no family takes one (families that do: paraphrase)"),
    ],
)
def test_wrong_use(keywords: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        users_run.perturb(GOLD, tmp_path / "out", **keywords)
    assert line in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_schemas_take_a_name_a_value_or_a_name_with_options(tmp_path: Path) -> None:
    ways: list[Any] = [{"corrupt": {"count": 2}}, Corrupt(count=2, seed=3), {"corrupt": {"count": "2", "seed": 3}}]
    made = [schemas_run.vary(GOLD, tmp_path / str(i), with_=way, seed=3) for i, way in enumerate(ways)]
    assert made[0] == made[1] == made[2]
    assert made[0][0].how == {"make": "corrupt", "count": 2, "stop": "paper", "seed": 3, "rate": 0.3}
    for name in ("v1", "v2"):
        data = {(tmp_path / str(i) / name / "dialogues_001.json").read_bytes() for i in range(3)}
        assert len(data) == 1


@pytest.mark.parametrize(
    ("with_", "line"),
    [
        ("", "variants come from one generator (one of: published, compose, backtranslate, paraphrase, corrupt)"),
        ({"corrupt": {}, "compose": {}}, "variants come from one generator"),
        ("corrupted", "no schema generator is called 'corrupted' (did you mean 'corrupt'?)"),
        ({"corrupt": {"rate": 2}}, "corrupt.rate: Expected `float` <= 1.0 (options: count, stop, seed, rate)"),
        (Compose(), "nothing to compose variants from"),
        (Published(), "no folder with published variants is named"),
        ({"published": {"folder": "nowhere"}}, "nowhere: no such file or folder"),
    ],
)
def test_schemas_wrong_use(with_: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        schemas_run.vary(GOLD, tmp_path / "out", with_=with_)
    assert line in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("registry", [FAMILIES, GENERATORS])
def test_every_member_can_be_made_without_options_and_says_what_it_is(registry: Any) -> None:
    for name in registry:
        member = registry.load(name)
        assert options.name_of(registry, member()) == name
        assert member.__doc__.strip().endswith(".")
        for declared in declared_options(member):
            assert declared.flag.startswith("--")
            assert declared.option.help[0].isupper() or declared.option.help.startswith("apertium")


def test_stats_by_path_objects(tmp_path: Path) -> None:
    schemas_run.vary(GOLD, tmp_path / "out", with_="corrupt")
    found = table.stats(Path(GOLD), *(tmp_path / "out" / f"v{i}" for i in range(1, 6)))
    distances = [row.distance or 0.0 for row in found.rows[1:]]
    assert distances == sorted(distances)
    assert found.rows[0].distance is None
    assert found.services == len(readers.schema(GOLD))


def test_tools_may_share_parts_in_memory() -> None:
    """A program may use one object for two arguments; they are still two arguments."""
    place = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "A city"}},
        "required": ["city"],
    }
    document = [{"name": "travel", "parameters": {"type": "object", "properties": {"start": place, "goal": place}}}]
    read = tools.read(copy.copy(document))
    assert [slot.name for slot in read.schema["travel"].slots] == ["start", "start.city", "goal", "goal.city"]
    assert read.rewrite(read.schema) == document
