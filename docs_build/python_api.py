"""The Python interface as a page: what the package exports, with signatures, options and docstrings."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import troth
from docs_build import markdown
from docs_build.markdown import block, code, prose
from troth.core.options import declared_options

WIDTH = 100  # of a signature on one line
MORE = (  # functions of packages that the package itself does not name
    "troth.meta.labels.evaluate:evaluate",
    "troth.meta.labels.evaluate:fit",
    "troth.meta.people.annotate:annotate",
    "troth.meta.people.agreement:agree",
    "troth.meta.trials.wording:wording",
    "troth.meta.trials.rerank:rerank",
    "troth.meta.trials.templates:template_references",
    "troth.perturb.schemas.run:vary",
    "troth.perturb.schemas.table:stats",
    "troth.perturb.users:apply",
    "troth.demo:path",
)


def page() -> str:
    names = sorted((name for name in troth.__all__ if not name.startswith("__")), key=str.lower)
    values = {name: getattr(troth, name) for name in names}
    classes = [name for name in names if inspect.isclass(values[name])]
    functions = [name for name in names if callable(values[name]) and name not in classes]
    packages = [name for name in names if isinstance(values[name], ModuleType)]
    rest = [name for name in names if name not in (*classes, *functions, *packages)]
    parts = [f"What `import troth` gives, version {troth.__version__}. How it is used: [From Python](../python.md)."]
    for heading, members in (("Functions", functions), ("Classes", classes), ("Registries", rest)):
        parts.append(f"## {heading}")
        for name in members:
            parts += [f"### {name}", *_described(name, values[name])]
    parts += ["## Packages", *_packages({name: values[name] for name in packages})]
    return markdown.page("Python interface", *parts)


def body(cls: type) -> str:
    """A class as it is written, without what it does: fields with their comments, methods as signatures."""
    source = textwrap.dedent(inspect.getsource(cls))
    node = ast.parse(source).body[0]
    if not isinstance(node, ast.ClassDef):
        raise TypeError(f"{cls} is not made by a class statement")
    lines = source.splitlines()
    kept = [f"class {node.name}:"]
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            kept += _comment(lines, item.lineno) + lines[item.lineno - 1 : item.end_lineno]
        elif isinstance(item, ast.FunctionDef) and (item.name == "__init__" or not item.name.startswith("_")):
            kept += ["", *(f"    @{ast.unparse(mark)}" for mark in item.decorator_list)]
            kept += lines[item.lineno - 1 : _before_body(item)]
            kept[-1] = kept[-1].removesuffix(" ...") + " ..."
    return "\n".join(line for at, line in enumerate(kept) if line or at != 1)


def signature(name: str, function: Any) -> str:
    """`name(argument: type = default) -> type`; on several lines if it is long."""
    found = inspect.signature(function)
    parameters: list[str] = []
    starred = False  # after a star, arguments go by name
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parameters.append(_parameter(parameter))
    returned = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    line = f"{name}({', '.join(parameters)}){returned}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), f"){returned}"])


def options(function: Any) -> str:
    """The options of a task with their defaults and what they mean; empty if it has none."""
    record = getattr(function, "settings", None)
    if record is None:
        return ""
    parameters = inspect.signature(function).parameters
    rows = [
        (code(declared.name), code(repr(parameters[declared.name].default)), prose(declared.option.help))
        for declared in declared_options(record)
    ]
    return markdown.table(["option", "default", ""], rows)


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield prose(value.__doc__)
        yield block(body(value), "python")
        yield from _methods(value)
    elif callable(value):
        function = inspect.unwrap(value)
        yield block(signature(name, function), "python")
        yield prose(function.__doc__)
        yield options(function)
    else:
        yield "By name: " + ", ".join(code(str(key)) for key in value) + "."


def _packages(packages: dict[str, ModuleType]) -> Iterator[str]:
    more = [path.partition(":")[::2] for path in MORE]
    for name, package in packages.items():
        yield f"### troth.{name}"
        yield prose(package.__doc__)
        own = [(package.__name__, member) for member in getattr(package, "__all__", ())]
        own += [(module, member) for module, member in more if module.startswith(package.__name__)]
        for module, member in own:
            value = getattr(import_module(module), member)
            if inspect.isfunction(value):
                yield from _described(f"{module}.{member}", value)


def _methods(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield f"{code(f'{cls.__name__}.{name}')}: {prose(function.__doc__)}"


def _parameter(parameter: inspect.Parameter) -> str:
    kind = parameter.kind
    stars = "*" if kind is parameter.VAR_POSITIONAL else "**" if kind is parameter.VAR_KEYWORD else ""
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    return text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}"


def _comment(lines: list[str], number: int) -> list[str]:
    """The lines of a comment right above a line."""
    first = number - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return lines[first : number - 1]


def _before_body(function: ast.FunctionDef) -> int:
    """The last line of the signature: the one before the first statement, or the same where all is on one line."""
    start = function.body[0].lineno
    return start if start == function.lineno else start - 1
