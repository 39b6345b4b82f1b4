"""The explorer's data of a run: each response with its document, its values and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from troth.core.result import Result
from troth.grounding.graded import GradedSystem
from troth.grounding.metrics import Unscored
from troth.storage.explorer import Archive, Header, ResponseView
from troth.storage.files import new_file


def archive(systems: Iterable[GradedSystem]) -> Archive:
    """The responses of all systems, as a run keeps them."""
    return Archive(Header(holds="responses"), responses=(view for system in systems for view in _views(system)))


def _views(system: GradedSystem) -> Iterator[ResponseView]:
    for index, item in enumerate(system.items):
        numbers = {column.metric.name: column.numbers[index] for column in system.metrics}
        verdicts = {
            column.metric.name: verdict for column in system.metrics if (verdict := column.verdicts[index]) is not None
        }
        values = {column.metric.name: column.values[index] for column in system.metrics}
        reasons = {name: value.reason for name, value in values.items() if isinstance(value, Unscored)}
        yield ResponseView(
            system.name, item.id, item.document, item.response, item.history, item.label, item.source,
            {name: number for name, number in numbers.items() if number is not None},
            {name: verdict.faithful for name, verdict in verdicts.items()},
            {name: verdict.probability for name, verdict in verdicts.items()}, reasons,
            next((tuple(column.claims[index]) for column in system.metrics if column.claims is not None), ()),
        )  # fmt: skip


def write_rows(result: Result, out: str) -> None:
    """Writes each response with its values to a new JSONL file; a value that does not exist is null, with a reason."""
    encoder = msgspec.json.Encoder()
    with new_file(out) as file:
        for view in result.explorer().responses:
            file.write(encoder.encode(_row(view, result)) + b"\n")


def _row(view: ResponseView, result: Result) -> dict[str, Any]:
    scored = view.values.keys() | view.reasons.keys()
    row: dict[str, Any] = {"system": view.system, "id": view.id, "source": view.source, "label": view.label}
    row |= {metric.name: view.values.get(metric.name) for metric in result.metrics if metric.name in scored}
    further = {
        "reasons": view.reasons, "faithful": view.faithful, "probability": view.probability, "claims": view.claims,
    }  # fmt: skip
    return row | {name: values for name, values in further.items() if values}
