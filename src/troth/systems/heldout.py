"""Examples of a first phase: drawn from each source, and some of each held out to measure the loss on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from troth.core.randomness import generator

DEV, MOST_DEV = 0.1, 300  # share of a source's examples that the loss is measured on, and the most of them


def split_drawn(sources: Iterable[tuple[str, list[Any]]], seed: int, most: int = 0) -> tuple[list[Any], list[Any]]:
    """Splits examples: those to learn from, and some of each source for the loss. `most`: per source; 0: all."""
    learned: list[Any] = []
    dev: list[Any] = []
    for purpose, examples in sources:
        generator(seed, "first phase", purpose).shuffle(examples)
        sample = examples[:most] if most else examples
        count = min(MOST_DEV, max(1, round(DEV * len(sample))))
        dev += sample[:count]
        learned += sample[count:]
    return learned, dev
