"""Options that settings declare: the signature of a function, and values out of range."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

from troth.core.errors import UserError
from troth.core.options import Option, declared_options, keywords, option, resolve, seed_option


@dataclass(frozen=True)
class BaseSettings:
    seed: int = seed_option()


@dataclass(frozen=True)
class SampleSettings(BaseSettings):
    rule: str = option("zero", "Rule.", choices=("zero", "skip"))
    share: float | None = option(None, "Share.", least=0, above=True, most=1)
    steps: int = option(0, "Steps.", least=1)
    names: dict[str, str] = option({}, "Names.")


@keywords(SampleSettings)
def sample(path: str, *more: str, **options: Any) -> SampleSettings:
    return resolve(SampleSettings, options)


def test_the_signature_has_the_keywords() -> None:
    parameters = list(inspect.signature(sample).parameters.values())
    assert [one.name for one in parameters] == ["path", "more", "seed", "rule", "share", "steps", "names"]
    assert [repr(one.default) for one in parameters[2:]] == ["0", "'zero'", "None", "0", "{}"]
    assert all(one.kind is one.KEYWORD_ONLY for one in parameters[2:])


def test_options_of_a_class_come_before_inherited_ones() -> None:
    declared = declared_options(SampleSettings)
    assert [one.flag for one in declared] == ["--rule", "--share", "--steps", "--names", "--seed"]
    assert [one.kind for one in declared] == ["text", "float", "int", "text", "int"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, None),
        ({"rule": "skip", "share": 1, "steps": 0, "seed": 3}, None),  # a default is always allowed
        ({"rule": "skp"}, "rule cannot be 'skp' (did you mean 'skip'?)"),
        ({"share": 0}, "share cannot be '0' (above 0, at most 1)"),
        ({"share": 1.5}, "share cannot be '1.5' (above 0, at most 1)"),
        ({"share": float("nan")}, "share cannot be 'nan' (above 0, at most 1)"),
        ({"steps": -1}, "steps cannot be '-1' (1 or more)"),
        ({"seeds": 1}, "there is no option 'seeds' (did you mean 'seed'?)"),
    ],
)
def test_values(given: dict[str, Any], error: str | None) -> None:
    if error is None:
        assert sample("x", **given) == SampleSettings(**given)
        return
    with pytest.raises(UserError) as raised:
        sample("x", **given)
    assert str(raised.value) == error


def test_an_error_under_the_name_of_the_flag() -> None:
    with pytest.raises(UserError) as raised:
        sample("x", steps=-1)
    assert str(raised.value.rename_option("--steps")) == "--steps cannot be '-1' (1 or more)"


class Member(msgspec.Struct, frozen=True):
    plain: int = 0
    how: Annotated[Literal["words", "name"], Option("How.", flag="--scramble")] = "words"
    names: Annotated[tuple[str, ...], Option("Names.", "FILE")] = ()


def test_options_of_a_struct() -> None:
    how, names = declared_options(Member)
    assert (how.flag, how.kind, how.default, how.option.choices) == ("--scramble", "text", "words", ("words", "name"))
    assert (names.flag, names.kind, names.default, names.option.metavar) == ("--names", "texts", (), "FILE")
