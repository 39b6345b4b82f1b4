"""Registries: our own members, and plug-ins of other packages, sound or broken."""

from __future__ import annotations

import json
import math
from importlib.metadata import EntryPoint

import pytest

from troth.core.errors import UserError
from troth.core.registry import Registry


def registry(monkeypatch: pytest.MonkeyPatch, **plugins: str) -> Registry[object]:
    entries = [EntryPoint(name, value, "troth.things") for name, value in plugins.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [e for e in entries if e.group == group])
    return Registry("thing", "troth.things", {"own": 1, "late": "json:dumps"})


def test_names_and_members(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, plugged="math:pi", own="math:e")
    assert list(things) == ["own", "late", "plugged"]
    assert (things["own"], things["plugged"], things["late"]) == (1, math.pi, json.dumps)
    with pytest.raises(UserError, match=r"no thing is called 'plugg' .did you mean 'plugged'"):
        things.load("plugg")


@pytest.mark.parametrize("path", ["no_such_module_at_all:X", "math:no_such_name"])
def test_a_broken_plugin_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    things = registry(monkeypatch, bad=path, good="math:tau")
    assert list(things) == ["own", "late", "good"]
    assert list(things) == ["own", "late", "good"]
    err = capsys.readouterr().err
    assert err.count("the thing 'bad' of another package cannot be loaded") == 1, "it is said once"
    with pytest.raises(UserError, match=r"'bad' of another package cannot be loaded.*update or uninstall"):
        things.load("bad")
