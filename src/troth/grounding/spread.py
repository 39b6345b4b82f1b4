"""Graders work on blocks of responses of similar length, in this process or on workers that open the models once.

Blocks do not depend on the engine nor on the number of workers, so values do not, to the last bit: what a model says
of a text depends, in the last digits, on the texts that are computed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from troth.core.progress import bar, within
from troth.core.records import Grounded
from troth.engine import WithModel, mapped
from troth.grounding.metrics import Grader, Models, Value, grade, graders

BLOCK = 256  # responses


class _Graded(NamedTuple):
    """The values of a block, grader by grader, and what graders have to say so far."""

    values: list[list[Value]]
    remarks: list[str]


class SpreadValues(NamedTuple):
    """The values of all responses by metric, and remarks of the workers."""

    by_metric: dict[str, list[Value]]
    remarks: list[str]

    def of(self, grader: Grader, _: Sequence[Grounded]) -> list[Value]:
        return self.by_metric[grader.metric.name]


def spread(items: Sequence[Grounded], names: Sequence[str], models: Models, workers: int) -> SpreadValues:
    """The values of these metrics for all responses, computed by workers."""
    blocks = _blocks(items)
    opened: Callable[[], list[Grader]] = partial(graders, tuple(names), replace(models))  # not with models open here
    work = mapped(WithModel(_grade, opened), [[items[at] for at in block] for block in blocks], workers)
    values: dict[str, list[Value]] = {name: [0.0] * len(items) for name in names}
    remarks: dict[str, None] = {}
    for block, done in zip(blocks, work, strict=True):
        for name, some in zip(names, done.values, strict=True):
            for place, value in zip(block, some, strict=True):
                values[name][place] = value
        remarks |= dict.fromkeys(done.remarks)
    return SpreadValues(values, [f"{remark} (in one of the workers, so far)" for remark in remarks])


def in_blocks(grader: Grader, items: Sequence[Grounded]) -> list[Value]:
    """The values of all responses, computed here."""
    values: list[Value] = [0.0] * len(items)
    done = 0
    with bar(grader.metric.name) as progress:
        for block in _blocks(items):

            def inside(_: str, part: int, whole: int, begun: int = done, size: int = len(block)) -> None:
                progress(begun + size * part // max(1, whole), len(items))

            with within(inside):
                for place, value in zip(block, grade(grader, [items[at] for at in block]), strict=True):
                    values[place] = value
            done += len(block)
    return values


def _blocks(items: Sequence[Grounded]) -> list[list[int]]:
    order = sorted(range(len(items)), key=lambda place: _size(items[place]))
    return [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]


def _grade(items: Sequence[Grounded], own: Sequence[Grader]) -> _Graded:
    values = [grade(grader, items) for grader in own]
    return _Graded(values, [f"{grader.metric.name}: {remark}" for grader in own for remark in grader.remarks])


def _size(item: Grounded) -> tuple[int, str, int, str]:
    """Responses to one document stay together; the order of the data changes nothing."""
    return len(item.document), item.document, len(item.response), item.response
