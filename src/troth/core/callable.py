"""Packages that can be called: `troth.perturb(…)` and `troth.report(…)` are functions, and folders of modules."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, module: str, function: str) -> None:
    """Calling the package calls a function in one of its modules, which is imported on the first call."""

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(f"{package}.{module}"), function)(*args, **kwargs)

    sys.modules[package].__class__ = CallablePackage
