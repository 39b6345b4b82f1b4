"""Randomness as an argument: a generator for each purpose and id, so that order and workers do not matter."""

from __future__ import annotations

import hashlib
import random


def generator(seed: int, purpose: str, id: str) -> random.Random:
    """A generator that depends only on the seed, on its purpose, and on the id of the item that it is used for."""
    key = hashlib.sha256(f"{seed}\n{purpose}\n{id}".encode()).digest()
    return random.Random(int.from_bytes(key, "big"))  # noqa: S311 (nothing here is secret)
