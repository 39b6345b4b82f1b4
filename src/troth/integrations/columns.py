"""Converts columns in memory (lists of predictions and references) to the records that the tasks score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from troth.core.errors import UserError, suggest_name
from troth.core.metric import Metric
from troth.core.parts import Parts
from troth.core.records import Dialogue, Grounded, Turn
from troth.integrations.states import Columns
from troth.readers import plain
from troth.readers.grounded.mapped import passages
from troth.responses import bleu, ser
from troth.stats.estimates import Cell

SINGLE = {"dialogue_id": "dialogue_ids", "turn_id": "turn_ids", "history": "histories"}


def row(prediction: Any, reference: Any, further: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the columns; `further`: dialogue_id, turn_id, history."""
    for name in further:
        if name not in SINGLE:
            raise UserError(f"there is no '{name}' to add", hint=suggest_name(name, SINGLE) or ", ".join(SINGLE))
    columns = {SINGLE[name]: value for name, value in further.items() if value is not None}
    return {"predictions": prediction, "references": reference} | columns


def rows(columns: Mapping[str, Iterable[Any] | None]) -> list[dict[str, Any]]:
    """The rows of columns of equal length."""
    for name in columns:
        if name not in Columns._fields:
            hint = suggest_name(name, Columns._fields) or "one of: " + ", ".join(Columns._fields)
            raise UserError(f"there is no column '{name}'", hint=hint)
    lists = {name: _listed(name, column) for name, column in columns.items() if column is not None}
    if len({len(column) for column in lists.values()}) > 1:
        counts = ", ".join(f"{len(column)} {name}" for name, column in lists.items())
        raise UserError(f"the columns differ in length: {counts}", hint="one reference for each prediction")
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _listed(name: str, column: Any) -> list[Any]:
    is_text = isinstance(column, str) and name in ("predictions", "references")  # its letters are no responses
    if is_text or isinstance(column, Mapping) or not isinstance(column, Iterable):
        raise UserError(f"{name} is {plain.describe(column)}, not a list", hint="one item for each response")
    return list(column)


@contextmanager
def _naming_row(index: int) -> Iterator[None]:
    """Errors in the block say which row they are in, counted from 0."""
    try:
        yield
    except UserError as error:
        raise UserError(f"row {index}: {error.what}", hint=error.hint) from error


def columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """The columns of rows, which must have the same names."""
    if any(row.keys() != rows[0].keys() for row in rows):
        raise UserError("some of the added items have ids or histories, and others do not", hint="give them throughout")
    return Columns(**{name: [row[name] for row in rows] for name in rows[0]})


def refuse(columns: Columns, *names: str) -> None:
    """Refuses columns that the metric has no use for."""
    for name in names:
        if getattr(columns, name) is not None:
            raise UserError(f"{name} are not used by this metric", hint="leave them out")


def responses(columns: Columns) -> tuple[list[Dialogue], dict[tuple[str, int], str]]:
    """Gold texts as system turns of their dialogues, and the responses to them."""
    refuse(columns, "histories", "turn_ids")
    if not bleu.is_installed():
        raise UserError(bleu.MISSING)
    turns: dict[str, list[Turn]] = {}
    said: dict[tuple[str, int], str] = {}
    for name, gold, text in zip(_dialogues(columns), columns.references, columns.predictions, strict=True):
        dialogue_turns = turns.setdefault(name, [])
        said[name, len(dialogue_turns)] = _response(text)
        dialogue_turns.append(Turn("SYSTEM", plain.text(gold, "a reference")))
    return [Dialogue(name, tuple(dialogue_turns)) for name, dialogue_turns in turns.items()], said


def value_cells(metrics: Sequence[Metric], columns: Columns) -> tuple[list[Cell], list[str]]:
    """Slot error rate by the values that are listed, in place of those that acts and schema ask for."""
    refuse(columns, "histories", "turn_ids")
    due = [list(_values(values)) for values in columns.references]
    wrong = [
        float(text is None or bool(ser.missing_values(values, _response(text))))
        for values, text in zip(due, columns.predictions, strict=True)
    ]
    dialogues = _dialogues(columns)
    keys = [(dialogue, index, "") for index, dialogue in enumerate(dialogues)]
    recipe = {"unit": "turn", "match": "substring", "values": "given", "missing": "zero"}
    cells = []
    for metric in metrics:
        applies = [float(bool(values) or not metric.of) for values in due]  # `ser` divides by all turns
        parts = Parts.from_fractions(((bad * den, den) for bad, den in zip(wrong, applies, strict=True)), keys)
        cells.append(Cell(metric, parts, recipe, reason="no turn has a value to give"))
    return cells, dialogues


def grounded(columns: Columns) -> list[Grounded]:
    """Responses with their documents."""
    refuse(columns, "dialogue_ids", "turn_ids")
    histories = columns.histories or [()] * len(columns.predictions)
    items: list[Grounded] = []
    for index, (document, text, history) in enumerate(
        zip(columns.references, columns.predictions, histories, strict=True)
    ):
        with _naming_row(index):
            said = passages(document, "a document"), _response(text)
            items.append(Grounded(str(index), *said, tuple(_history(history))))
    return items


def _dialogues(columns: Columns) -> list[str]:
    return [str(name) for name in columns.dialogue_ids or range(len(columns.predictions))]


def _response(text: object) -> str:
    return "" if text is None else plain.text(text, "a prediction")


def _values(values: object) -> Iterator[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError("a reference is the list of values that the response must give", hint='for example ["Leeds"]')
    return (plain.text(value, "a value") for value in values)


def _history(lines: object) -> Iterator[str]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise UserError("a history is the list of the previous utterances, oldest first")
    return (plain.text(line, "a line of the history") for line in lines)
