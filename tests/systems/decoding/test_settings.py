"""Settings of decoding: numbers in their range."""

from __future__ import annotations

import math
from typing import Any

import click
import pytest

from troth.cli import options
from troth.core.errors import UserError
from troth.systems.decoding.settings import Setting


@pytest.mark.parametrize("name", ["alpha", "top_p", "temperature"])
@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0])
def test_numbers_out_of_range(name: str, number: float) -> None:
    with pytest.raises(UserError, match=f"{name} cannot be "):
        Setting(**{name: number})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "2"])
def test_numbers_on_the_command_line(text: str) -> None:
    """click lets NaN through every range."""
    convert: Any = options.Real(0, 1).convert
    assert convert("0.5", None, None) == 0.5
    with pytest.raises(click.BadParameter):
        convert(text, None, None)
