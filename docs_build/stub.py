"""Writes `troth/__init__.pyi`: what `import troth` gives, with the keywords of each function spelled out.

    python -m docs_build.stub

Editors and type checkers read this file; the functions themselves take their keywords as `**options` (see
`troth.core.options`). A test fails when it is out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import troth
from troth.core.options import field_default

FILE = Path(troth.__file__).with_suffix(".pyi")
HEAD = '"""What `import troth` gives. Written by `python -m docs_build.stub`; do not edit."""'


Binding = tuple[str, str, str]  # module, name, alias


def write_stub() -> str:
    """The text of the stub."""
    paths: dict[str, str] = vars(troth)["_NAMES"]
    names = [name for name in troth.__all__ if not name.startswith("__")]
    functions = {name: inspect.unwrap(getattr(troth, name)) for name in names}
    tasks = {name: function for name, function in functions.items() if hasattr(function, "settings")}
    bindings: set[Binding] = {("troth.core.version", "__version__", "__version__")}
    for name in names:
        if name not in tasks:
            own = functions[name].__module__ if inspect.isfunction(functions[name]) else "troth"
            bindings.add((paths.get(name, own), name, name))
    exported = {name for _, name, _ in bindings}
    for function in tasks.values():
        bindings |= {binding for binding in _bindings_of(function) if binding[1] not in exported}
    _check_names(bindings)
    lines = [f"import {name}" for module, name, _ in sorted(bindings) if not module]
    for module, name, alias in sorted(bindings):
        if module:
            lines.append(f"from {module} import {name}" + (f" as {alias}" if alias else ""))
    signatures = (_signature(name, function) for name, function in tasks.items())
    return "\n".join([HEAD, "", *lines, "", "__all__: list[str]", "", *signatures])


def _check_names(bindings: set[Binding]) -> None:
    targets: dict[str, tuple[str, str]] = {}
    for module, name, alias in bindings:
        if targets.setdefault(alias or name, (module, name)) != (module, name):
            raise ValueError(f"{alias or name} is both {module}.{name} and {'.'.join(targets[alias or name])}")


def _signature(name: str, function: Callable[..., Any]) -> str:
    """The function as a stub: positional parameters, then one keyword per field of its settings."""
    parameters = []
    starred = False
    for parameter in _own_parameters(function):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred = starred or parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    if not starred:
        parameters.append("*")
    for field in fields(function.settings):  # type: ignore[attr-defined]
        default = field_default(field)
        shown = repr(default) if isinstance(default, str | int | float | tuple | None) else "..."
        parameters.append(f"{field.name}: {field.type} = {shown}")
    body = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"def {name}(\n{body}) -> {inspect.signature(function).return_annotation}: ...\n"


def _own_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that are not fields of its settings."""
    names = {field.name for field in fields(function.settings)}  # type: ignore[attr-defined]
    return [own for name, own in inspect.signature(function).parameters.items() if name not in names]


def _bindings_of(function: Callable[..., Any]) -> Iterator[Binding]:
    """The imports that the annotations of a function and of its settings need."""
    signature = inspect.signature(function)
    own = [str(parameter.annotation) for parameter in _own_parameters(function)]
    texts = {function.__module__: [*own, str(signature.return_annotation)]}
    for cls in function.settings.__mro__[:-1]:  # type: ignore[attr-defined]
        texts.setdefault(cls.__module__, []).extend(map(str, inspect.get_annotations(cls).values()))
    for module, hints in texts.items():
        known = _names_of(module)
        for name in {name for hint in hints for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", hint)}:
            if name in known and known[name][:2] != ("troth", name):
                yield known[name]


def _names_of(module: str) -> dict[str, Binding]:
    """The names that a module imports or defines."""
    names: dict[str, Binding] = {}
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                names.setdefault(alias.asname or alias.name, (str(node.module), alias.name, alias.asname or ""))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                names.setdefault(alias.asname or alias.name, ("", alias.name, alias.asname or ""))
        elif isinstance(node, ast.ClassDef):
            names.setdefault(node.name, (module, node.name, ""))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, (module, node.targets[0].id, ""))
    return names


if __name__ == "__main__":
    FILE.write_text(write_stub(), encoding="utf-8")
