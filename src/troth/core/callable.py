"""Packages that can be called: `troth.perturb(…)` and `troth.report(…)` are functions, and folders of modules."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from troth.core.registry import import_path


def make_callable(package: str, module: str, function: str) -> None:
    """Calling the package calls a function in one of its modules, which is imported on the first call."""

    class CallablePackage(ModuleType):
        @property
        def __wrapped__(self) -> Any:  # by this name `inspect.signature` and notebooks find the function
            return import_path(f"{package}.{module}:{function}")

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.__wrapped__(*args, **kwargs)

    sys.modules[package].__class__ = CallablePackage
