"""ParlAI world logs of state trackers, as CheckDST's authors evaluate them: one exchange per line.

The text of the first message is the context, its label the gold state; the second message is the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Pair
from troth.readers import plain
from troth.readers.checkdst import CheckdstRow, pairs
from troth.readers.decode import error_context, lines
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import dialogue_id

FORMAT = Format(
    name="parlai", about="ParlAI world logs of state trackers, as in CheckDST's evaluation", profile="checkdst"
)

_FIRST, _SECOND = "the first message", "the second message"


def detect(document: Document) -> bool:
    return document.starts(b"{") and all(key in document.head for key in (b'"dialog"', b'"dial_id"', b'"eval_labels"'))


def read(document: Document) -> Iterator[Pair]:
    return pairs(row for line, record in lines(document) for row in _rows(line, record))


def _rows(line: int, record: dict[str, Any]) -> Iterator[CheckdstRow]:
    with error_context(line=line):
        for exchange in plain.sequence(plain.field(record, "dialog"), "'dialog'"):
            messages = plain.sequence(exchange, "an exchange in 'dialog'")
            if len(messages) != 2:
                raise UserError(f"an exchange in 'dialog' has {len(messages)} messages, not context and prediction")
            yield _row(line, plain.mapping(messages[0], _FIRST), plain.mapping(messages[1], _SECOND))


def _row(line: int, context: dict[str, Any], answer: dict[str, Any]) -> CheckdstRow:

    name = dialogue_id(plain.text_of(context, "dial_id", _FIRST))
    with error_context(dialogue=name):
        number = plain.whole_number(plain.field(context, "turn_num", _FIRST), "'turn_num'")
    with error_context(dialogue=name, turn=number):
        labels = plain.sequence(plain.field(context, "eval_labels", _FIRST), "'eval_labels'")
        if len(labels) != 1:
            raise UserError(f"'eval_labels' holds {len(labels)} states, not one")
        return CheckdstRow(
            line=line,
            dialogue=name,
            number=number,
            context=plain.text(plain.field(context, "text", _FIRST), f"'text' of {_FIRST}"),
            gold=plain.text(labels[0], "the state in 'eval_labels'"),
            pred=plain.text(plain.field(answer, "text", _SECOND), f"'text' of {_SECOND}"),
            # As in the authors' converter: ParlAI computes this metric only for turns with coreference.
            coref="coref_jga" in plain.mapping(answer["metrics"], "'metrics'") if "metrics" in answer else None,
        )
