"""The public Python interface: what is there, that every example of it runs, and that importing it costs nothing."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import polars as pl
import pytest
from docs_build.python_api import MORE

import troth
from tests.examples import DOCS, Block, blocks
from troth import demo

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
TASKS = ("dst", "checkdst", "sgdx", "nlg", "ground", "perturb", "compare", "gate", "report", "open", "load")


def public() -> dict[str, Any]:
    """Every public function by name: those of the package, and those of its packages that the reference lists."""
    own = {name: getattr(troth, name) for name in troth.__all__}
    functions = {name: inspect.unwrap(value) for name, value in own.items() if callable(value)}
    for path in (*MORE, "troth.models:nli", "troth.models:lm", "troth.readers:convert"):
        module, _, name = path.partition(":")
        functions[path] = getattr(import_module(module), name)
    return {name: value for name, value in functions.items() if isinstance(value, FunctionType)}


def test_what_there_is() -> None:
    assert set(TASKS) <= set(public())
    assert set(troth.__all__) == set(dir(troth))
    for name in troth.__all__:
        assert getattr(troth, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'dts'"):
        _ = troth.dts  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", public())
def test_the_example_of_a_docstring(name: str) -> None:
    function = public()[name]
    assert function.__doc__, "has a docstring"
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs=dict(function.__globals__))
    if name in troth.__all__:
        assert test.examples, "has an example"
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0, "see the output"


@pytest.mark.parametrize("page", ["python.md", "integrations.md", "robustness.md"])
def test_the_examples_of_a_page(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All in one session. What a block prints is what the next block shows, if it follows at once."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    found = [block for block in blocks(page) if "def test_" not in block.text and "to_mlflow(" not in block.text]
    compared = 0
    for block, after in zip(found, [*found[1:], Block("", "", "")], strict=True):
        if block.language != "python":
            continue
        exec(block.text, names)  # noqa: S102 (our own page)
        printed = capsys.readouterr().out
        if after.language == "text" and not after.before:
            assert printed.rstrip() == after.text.rstrip(), block.text
            compared += 1
    assert compared >= {"python.md": 12, "integrations.md": 2}.get(page, 0)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_what_a_page_imports_exists(page: Path) -> None:
    for line in re.findall(r"^ *((?:from|import) troth\b.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        exec(line, {})  # noqa: S102 (our own page)


def test_three_lines() -> None:
    result = troth.dst(GOLD, HASTY, STURDY, resamples=50)
    frame = result.frame()
    assert result["jga"].system == "hasty"
    assert isinstance(frame, pl.DataFrame)
    columns = {*troth.Score.__struct_fields__} - {"recipe", "version"}  # a mapping, and a part of the signature
    assert {*frame.columns} == columns
    assert frame.filter(pl.col("metric") == "jga")["value"].to_list() == [
        result.score("jga", system=name).value for name in ("hasty", "sturdy")
    ]


def test_lists_and_text_paths_and_strings_are_the_same() -> None:
    one = troth.dst(GOLD, HASTY, metrics=["jga", "aga"], by=["service"], resamples=20)
    other = troth.dst(Path(GOLD), Path(HASTY), metrics="jga,aga", by="service", resamples=20)
    assert one.scores == other.scores


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(troth.UserError, match=r"there is no option 'metric' \(did you mean 'metrics'\?\)"):
        troth.dst(GOLD, HASTY, metric="jga")  # type: ignore[call-arg]


def test_a_result_reads_well() -> None:
    result = troth.dst(GOLD, HASTY, by="service,slot,turn", resamples=20)
    assert len(repr(result)) < 6000
    assert "result.frame() has them all" in repr(result)
    assert "<table" in result._repr_html_()


def test_import_is_light() -> None:
    code = "import sys, troth; print([m for m in ('numpy', 'polars', 'rich', 'msgspec', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
