"""Optional packages: imports them, or says which extra of troth to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from troth.core.errors import UserError


def require(*modules: str, extra: str | None = None) -> Any:
    """Imports modules and returns the first; a UserError names the extra (or else the package) to install."""
    with requiring(extra):
        first, *_ = [import_module(module) for module in modules]
    return first


@contextmanager
def requiring(extra: str | None = None) -> Iterator[None]:
    """Turns an ImportError inside the block into a UserError that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise not_installed_error(error.name or str(error).strip().split("\n")[0], extra) from error


def not_installed_error(package: str, extra: str | None = None) -> UserError:
    """The error for a package that is not installed."""
    return UserError(f"{package} is not installed", hint=install_command(extra) if extra else f"pip install {package}")


def install_command(extra: str) -> str:
    """The command that installs an extra of troth."""
    return f'pip install "troth[{extra}]"'
