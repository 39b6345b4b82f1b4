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
from troth.engine import WithModel, parallel_map
from troth.grounding.metrics import ClaimJudge, Grader, Models, Unscored, Value, grade, make_graders
from troth.storage.explorer import ClaimSupport

BLOCK = 256  # responses


class Gradings(NamedTuple):
    """A grader's values for a list of responses, and, if it judges claims, the claims of each response."""

    values: list[Value]
    claims: list[Sequence[ClaimSupport]] | None


class _Block(NamedTuple):
    """The gradings of a block, grader by grader, and the remarks of the graders so far."""

    gradings: list[Gradings]
    remarks: list[str]


class SpreadGradings(NamedTuple):
    """The gradings of all responses by metric, and remarks of the workers."""

    by_metric: dict[str, Gradings]
    remarks: list[str]

    def look_up(self, grader: Grader, _: Sequence[Grounded]) -> Gradings:
        return self.by_metric[grader.metric.name]


def grade_on_workers(items: Sequence[Grounded], names: Sequence[str], models: Models, workers: int) -> SpreadGradings:
    """The gradings of all responses by these metrics, computed by workers."""
    blocks = _blocks(items)
    load: Callable[[], list[Grader]] = partial(make_graders, tuple(names), replace(models))  # a copy: no open models
    work = parallel_map(WithModel(_grade_block, load), [[items[index] for index in block] for block in blocks], workers)
    by_metric: dict[str, list[Gradings]] = {name: [] for name in names}
    remarks: dict[str, None] = {}
    for done in work:
        for name, gradings in zip(names, done.gradings, strict=True):
            by_metric[name].append(gradings)
        remarks |= dict.fromkeys(done.remarks)
    joined = {name: _join(blocks, gradings_of_blocks) for name, gradings_of_blocks in by_metric.items()}
    return SpreadGradings(joined, [f"{remark} (in one of the workers, so far)" for remark in remarks])


def grade_in_blocks(grader: Grader, items: Sequence[Grounded]) -> Gradings:
    """The gradings of all responses by one grader, computed in this process."""
    blocks, parts = _blocks(items), list[Gradings]()
    done = 0
    with bar(grader.metric.name) as progress:
        for block in blocks:

            def inside(_: str, part: int, whole: int, begun: int = done, size: int = len(block)) -> None:
                progress(begun + size * part // max(1, whole), len(items))

            with within(inside):
                parts.append(_grade(grader, [items[index] for index in block]))
            done += len(block)
    return _join(blocks, parts)


def _grade_block(items: Sequence[Grounded], graders: Sequence[Grader]) -> _Block:
    gradings = [_grade(grader, items) for grader in graders]
    return _Block(gradings, [f"{grader.metric.name}: {remark}" for grader in graders for remark in grader.remarks])


def _grade(grader: Grader, items: Sequence[Grounded]) -> Gradings:
    values = grade(grader, items)
    if not isinstance(grader, ClaimJudge):
        return Gradings(values, None)
    pairs = zip(items, values, strict=True)
    return Gradings(values, [() if isinstance(value, Unscored) else grader.claims(item) for item, value in pairs])


def _join(blocks: Sequence[Sequence[int]], parts: Sequence[Gradings]) -> Gradings:
    """The gradings of all blocks in the order of the responses."""
    indexes = [index for block in blocks for index in block]
    order = sorted(range(len(indexes)), key=indexes.__getitem__)
    values = [value for part in parts for value in part.values]
    claims = [claim for part in parts for claim in part.claims or ()]
    judged = bool(parts) and parts[0].claims is not None
    return Gradings([values[index] for index in order], [claims[index] for index in order] if judged else None)


def _blocks(items: Sequence[Grounded]) -> list[list[int]]:
    # Responses to one document stay together; the order of the data changes nothing.
    keys = [(len(item.document), item.document, len(item.response), item.response) for item in items]
    order = sorted(range(len(items)), key=keys.__getitem__)
    return [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
