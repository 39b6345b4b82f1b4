"""ParlAI world logs of state trackers, as CheckDST's authors evaluate them: one exchange per line.

The text of the first message is the context, its label the gold state; the second message is the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.normalize import dialogue_id
from troth.core.records import Pair
from troth.readers.checkdst import CheckdstRow, pairs
from troth.readers.decode import lines, where
from troth.readers.format import Format
from troth.readers.plain import field, mapping, sequence, text, whole
from troth.readers.source import Document

FORMAT = Format(
    name="parlai",
    about="ParlAI world logs of state trackers, as CheckDST's authors evaluate them",
    profile="checkdst",
)


def detect(document: Document) -> bool:
    head = document.data.lstrip().partition(b"\n")[0]
    return head[:1] == b"{" and b'"dialog"' in head and b'"dial_id"' in head and b'"eval_labels"' in head


def read(document: Document) -> Iterator[Pair]:
    return pairs(row for line, record in lines(document) for row in _rows(line, record))


def _rows(line: int, record: dict[str, Any]) -> Iterator[CheckdstRow]:
    with where(line=line):
        for exchange in sequence(field(record, "dialog"), "'dialog'"):
            messages = sequence(exchange, "an exchange in 'dialog'")
            if len(messages) != 2:
                raise UserError(f"an exchange in 'dialog' has {len(messages)} messages, not context and prediction")
            yield _row(line, mapping(messages[0], "the first message"), mapping(messages[1], "the second message"))


def _row(line: int, context: dict[str, Any], answer: dict[str, Any]) -> CheckdstRow:
    name = dialogue_id(text(field(context, "dial_id", "the first message"), "'dial_id'"))
    with where(dialogue=name):
        number = whole(field(context, "turn_num", "the first message"), "'turn_num'")
    with where(dialogue=name, turn=number):
        labels = sequence(field(context, "eval_labels", "the first message"), "'eval_labels'")
        if len(labels) != 1:
            raise UserError(f"'eval_labels' holds {len(labels)} states, not one")
        return CheckdstRow(
            line=line,
            dialogue=name,
            number=number,
            context=text(field(context, "text", "the first message"), "'text' of the first message"),
            gold=text(labels[0], "the state in 'eval_labels'"),
            pred=text(field(answer, "text", "the second message"), "'text' of the second message"),
            # The authors' converter takes it from here: ParlAI computes that metric for such turns alone.
            coref="coref_jga" in mapping(answer["metrics"], "'metrics'") if "metrics" in answer else None,
        )
