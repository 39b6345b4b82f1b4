"""The same said in other words: by users (`troth.perturb.users`) and in schemas (`troth.perturb.schemas`).

troth.perturb("sgd/dev", "twins/sdi", with_="disfluency", seed=1)    # dialogues
troth.perturb.schemas.vary("sgd/dev", "variants", with_="corrupt")   # schemas, with their dialogues
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from troth.core.callable import make_callable

make_callable(__name__, "users.run", "perturb")


def __getattr__(name: str) -> Any:
    if name == "FAMILIES":
        return import_module("troth.perturb.users").FAMILIES
    if name in ("users", "schemas"):  # imported when they are asked for
        return import_module(f"troth.perturb.{name}")
    raise AttributeError(f"module 'troth.perturb' has no attribute '{name}'")
