"""Schemas in other words (SGD-X): other names and descriptions for services, slots, intents and tools.

from troth.perturb import schemas

schemas.vary("sgd/dev", "variants", with_="corrupt", seed=1)           # dialogues, a schema alone, or tools
schemas.vary("sgd/dev", "variants", with_={"published": {"folder": "sgd/sgd_x"}})
schemas.stats("sgd", "sgd/sgd_x/data/v1", "sgd/sgd_x/data/v2").rows    # how far variants are from the original
schemas.write_sheets("sgd/dev/schema.json", "sheets")                  # for people to write paraphrases in
schemas.write_paraphrases(schemas.read_sheets("sgd/dev/schema.json", ["sheets/01-Banks_2-names.csv"]), "said.json")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "GENERATORS": "generators", "Generator": "generators", "vary": "run", "stats": "table", "write_sheets": "sheet",
    "read_sheets": "sheet", "write_paraphrases": "sheet",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth.perturb.schemas' has no attribute '{name}'")
    return getattr(import_module(f"troth.perturb.schemas.{_HOME[name]}"), name)
