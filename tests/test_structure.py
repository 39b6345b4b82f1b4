"""The shape of the code: small signatures, small files, class names that mean one thing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import troth

ROOT = Path(troth.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST = 8  # parameters of a function outside the command line, self not counted


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            yield str(file.relative_to(ROOT)), node


def test_no_function_takes_more_than_eight_parameters() -> None:
    wide = []
    for file, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not file.startswith("cli/"):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len([one for one in every if one.arg not in ("self", "cls")])
            wide += [f"{file}: {node.name} has {count}"] if count > MOST else []
    assert not wide


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for file, node in nodes():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places.setdefault(node.name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_files_are_short() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in FILES}
    assert median(length for length in lengths.values() if length > 1) <= 150
    assert {file: length for file, length in lengths.items() if length > 450} == {}
