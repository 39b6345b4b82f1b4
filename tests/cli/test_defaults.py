"""Every option of the command line has the default that Python has."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click
import pytest

from tests.cli.conftest import Troth
from tests.cli.test_json import commands
from troth import cli
from troth.cli.options import SettingsCommand, format_default
from troth.core.options import SAME, size
from troth.core.registry import import_path
from troth.serve.settings import ServeSettings

# Commands whose functions have keywords in place of settings, and options that stand for others.
FUNCTIONS = {
    "compare": "troth.report.compare:compare",
    "gate": "troth.report.compare:gate",
    "explain": "troth.tracking.explain:explain",
    "check": "troth.tracking.check:check",
    "agent explain": "troth.agents.explain:explain_rules",
    "agent states": "troth.agents.export:write_states",
    "convert": "troth.readers:convert",
    "meta annotate": "troth.meta.people.annotate:annotate",
    "meta agree": "troth.meta.people.agreement:agree",
    "generate rerank": "troth.responses.nbest:rerank_file",
    "generate templates": "troth.responses.templates:respond",
    "perturb stats": "troth.perturb.schemas.table:stats",
    "report": "troth.report.write:report",
    "demo": "troth.demo.run:demo",
}
LATER = {"meta annotate": {"pairs"}}  # None on the command line: the size of the study


def values(path: str, command: click.Command) -> Iterator[tuple[str, Any, Any]]:
    """Name, default of the command line and default of Python, of every option that both have."""
    function = inspect.signature(import_path(FUNCTIONS[path])).parameters if path in FUNCTIONS else {}
    context = click.Context(command)
    for parameter in (one for one in command.params if isinstance(one, click.Option)):
        known = function.get(parameter.name or "")
        if known is not None and known.default is not known.empty and parameter.name not in LATER.get(path, ()):
            default = parameter.get_default(context)
            yield str(parameter.name), parameter.type_cast_value(context, default), known.default


def empty(value: Any) -> bool:
    return value in (None, "", (), [], {}, False)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_functions(path: str) -> None:
    command = dict(commands(cli.app))[path]
    for name, here, python in values(path, command):
        assert here == python or (empty(here) and empty(python)), name


def test_functions_are_compared() -> None:
    every = {(path, name) for path in FUNCTIONS for name, *_ in values(path, dict(commands(cli.app))[path])}
    assert {("compare", "resamples"), ("gate", "confidence"), ("meta agree", "seed"), ("convert", "side")} <= every


@pytest.mark.parametrize(
    ("path", "command"), [pair for pair in commands(cli.app) if isinstance(pair[1], SettingsCommand)]
)
def test_settings(path: str, command: SettingsCommand) -> None:
    options = {parameter.name: parameter for parameter in command.params}
    assert command.declared
    for _, declared in command.declared:
        about, shown = declared.option, options[declared.name]
        if about.command is not SAME:
            assert declared.name in ("workers", "steps"), f"{path} {declared.name}: another default than Python's"
        elif declared.kind != "bool":
            expected = "0" if about.zero and declared.default is None else format_default(declared.default)
            assert about.repeat or (shown.default or "") == expected, f"{path} {declared.name}"


def test_python_gets_its_own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is given nothing calls its function with the defaults of the settings."""
    given: dict[str, Any] = {}
    module = import_module("troth.tracking.score")
    settings = module.TrackingSettings()

    def dst(*_: str, **options: Any) -> None:
        given.update(options)
        raise SystemExit

    monkeypatch.setattr(module, "dst", dst)
    with pytest.raises(SystemExit):
        cli.app.main(["dst", "gold"], standalone_mode=False)
    expected = {name: getattr(settings, name) for name in given} | {"workers": 0, "explorer": False}
    assert given == expected
    assert {"profile", "resamples", "seed", "unknown", "common", "out"} <= set(given)


def test_the_size_of_a_request() -> None:
    (body,) = [one for one in dict(commands(cli.app))["serve"].params if one.name == "body"]
    assert size(str(body.default)) == ServeSettings().body


def test_an_option_that_is_set_to_its_default_is_set(fine: Troth, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it takes precedence over a preset."""
    passed: dict[str, Any] = {}

    def train(*_: str, **settings: Any) -> list[Any]:
        passed.update(settings)
        return []

    monkeypatch.setattr("troth.systems.train.train_tracker", train)
    fine("train", "tracker", "in", "out", "--preset", "checkdst", "--rate", "0.0001")
    assert passed["fit"] == {"rate": 0.0001}
    fine("train", "tracker", "in", "out", "--preset", "checkdst")
    assert passed["fit"] == {}
