"""troth tells whether a dialogue system is true, and helps to make it so.

    import troth
    result = troth.dst("gold/", "predictions/")
    result["jga"].value, result.frame()

Names are loaded on first use, so that `import troth` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from troth.errors import UserError as UserError
    from troth.metrics.profiles import PROFILES as PROFILES
    from troth.metrics.profiles import Profile as Profile
    from troth.metrics.profiles import profile as profile
    from troth.records import Score as Score
    from troth.runner.check import check as check
    from troth.runner.compare import compare as compare
    from troth.runner.compare import gate as gate
    from troth.runner.compare import sides as sides
    from troth.runner.dst import Result as Result
    from troth.runner.dst import dst as dst
    from troth.runner.explain import explain as explain

_HOME = {
    "UserError": "troth.errors",
    "PROFILES": "troth.metrics.profiles",
    "Profile": "troth.metrics.profiles",
    "profile": "troth.metrics.profiles",
    "Score": "troth.records",
    "check": "troth.runner.check",
    "compare": "troth.runner.compare",
    "gate": "troth.runner.compare",
    "sides": "troth.runner.compare",
    "Result": "troth.runner.dst",
    "dst": "troth.runner.dst",
    "explain": "troth.runner.explain",
}
__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
