"""The types of `import troth`: the stub is what `python -m docs_build.stub` writes."""

from __future__ import annotations

import ast
import inspect

from docs_build.stub import FILE, write_stub

import troth


def test_the_stub_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == write_stub(), "run: make stub"


def test_the_stub_has_every_name_and_keyword() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    imports = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(troth.__all__) <= set(functions) | imports
    assert [one.arg for one in functions["merge"].args.kwonlyargs] == ["resamples", "seed", "out"]
    for name, node in functions.items():
        parameters = inspect.signature(inspect.unwrap(getattr(troth, name))).parameters.values()
        keywords = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        assert [one.arg for one in node.args.kwonlyargs] == keywords, name
