"""CheckDST's JSON Lines: one user turn per line, gold and predicted state as `domain slot value, …`.

States are parsed as in the authors' script. Its value map (`centre` to `center`, no `dontcare`) belongs to scoring and
is not applied here. Perturbed sets contain only some turns of a dialogue, so gaps and any order of lines are valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair, Turn
from troth.readers import plain
from troth.readers.decode import error_context, lines
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import dialogue_id

FORMAT = Format(
    name="checkdst", about="CheckDST's predictions: states as `domain slot value, …`", profile="checkdst",
    writes=True, pairs=True, ending=".jsonl",
)  # fmt: skip

DOMAINS = frozenset(("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train"))
BOOK = frozenset(("day", "people", "stay", "time"))  # after "book", these make a slot's name of two words

_TAG = re.compile(r"<(user|system)>")


class CheckdstRow(msgspec.Struct, frozen=True):
    """One user turn of a prediction file, or of a ParlAI log."""

    line: int
    dialogue: str
    number: int
    context: str
    gold: str
    pred: str | None
    coref: bool | None


def detect(document: Document) -> bool:
    return document.starts(b"{") and b'"dial_id"' in document.head and b'"gold"' in document.head


def read(document: Document) -> Iterator[Dialogue | Pair]:
    """Pairs; or dialogues, if no line has a prediction."""
    rows = [_row(line, row) for line, row in lines(document)]
    joined = pairs(rows)
    return joined if any(row.pred is not None for row in rows) else (pair.gold for pair in joined)


def parse(states: str) -> plain.PlainState:
    """`hotel area north, hotel book people 2` as a state; pieces that are not `domain slot value` do not count."""
    words = states.split()
    if words and words[0] in ("<bs>", "</bs>"):
        words = words[1:]
    if "</bs>" in words:
        words = words[: words.index("</bs>")]
    state: plain.PlainState = {}
    for piece in " ".join(words).split(","):
        match piece.split():
            case [domain, "book", slot, *value] if domain in DOMAINS and slot in BOOK:
                plain.add(state, domain, f"book {slot}", " ".join(value))
            case [domain, slot, first, *rest] if domain in DOMAINS:
                plain.add(state, domain, slot, " ".join((first, *rest)))
    return state


def pairs(rows: Iterable[CheckdstRow]) -> Iterator[Pair]:
    """Lines as pairs: dialogues in the order in which they first occur, their turns by number."""
    dialogues: dict[str, dict[int, CheckdstRow]] = {}
    for row in rows:
        turns = dialogues.setdefault(row.dialogue, {})
        if row.number in turns:
            what = f"line {row.line}: duplicate turn, already on line {turns[row.number].line}"
            raise UserError(what, dialogue=row.dialogue, turn=row.number, hint=plain.KEEP_ONE)
        turns[row.number] = row
    for name, turns in dialogues.items():
        yield _pair(name, [turns[number] for number in sorted(turns)])


def write(dialogues: Iterable[Dialogue | Pair], out: BinaryIO) -> None:
    """One line per user turn; without `pred` if an item is a dialogue and not a pair."""
    plain.write_lines((row for item in dialogues for row in _lines(item)), out)


def _row(line: int, row: dict[str, Any]) -> CheckdstRow:
    with error_context(line=line):
        full = plain.text_of(row, "dial_id")
        name, dash, turn = full.rpartition("-")
        if not dash:
            raise UserError(f"'dial_id' is '{full}', without a turn's number", hint="write it as mul0003-5")
        name = dialogue_id(name)
        with error_context(dialogue=name):
            number = plain.whole_number(turn, "the turn in 'dial_id'")
        with error_context(dialogue=name, turn=number):
            context, gold = plain.text_of(row, "context", default=""), plain.text_of(row, "gold")
            pred = plain.text_of(row, "pred") if "pred" in row else None
            coref = row.get("requires_coref", "")
            if coref != "" and not isinstance(coref, bool):
                raise UserError(f"'requires_coref' is {plain.describe(coref)}, not true, false or an empty text")
            return CheckdstRow(line, name, number, context, gold, pred, None if coref == "" else coref)


def _pair(name: str, rows: list[CheckdstRow]) -> Pair:
    gold: list[Turn] = []
    for row in rows:
        before, text = _last_turns(row.context)
        if before is not None:
            gold.append(Turn(speaker="SYSTEM", text=before))
        user = plain.user_turn(row.number, parse(row.gold))
        gold.append(msgspec.structs.replace(user, text=text, context=row.context, coref=row.coref))
    pred = [plain.user_turn(row.number, parse(row.pred)) for row in rows if row.pred is not None]
    return Pair(plain.dialogue(name, gold), plain.dialogue(name, pred) if pred else None)


def _last_turns(context: str) -> tuple[str | None, str]:
    """The last user turn, after the system turn before it."""
    first, *rest = _TAG.split(context)
    turns = [(tag, text.strip()) for tag, text in zip(rest[::2], rest[1::2], strict=True)]
    for position in reversed(range(len(turns))):
        tag, text = turns[position]
        if tag == "user":
            before = turns[position - 1] if position else None
            return (before[1] if before and before[0] == "system" else None), text
    return None, first.strip()


def _lines(item: Dialogue | Pair) -> Iterator[dict[str, Any]]:
    gold, predicted = plain.sides(item)
    numbers = iter([number for number, _ in gold.user_turns()])
    context: list[str] = []
    for turn in gold.turns:
        context.append(f"<{turn.speaker.lower()}> {turn.text}".strip())
        if turn.speaker != "USER":
            continue
        number = next(numbers)
        with error_context(dialogue=gold.id, turn=number):
            row = {
                "context": " ".join(context) if turn.context is None else turn.context,
                "dial_id": f"{gold.id}-{number}",
                "aug_type": "Not found",  # what the authors' converter writes if it is unknown
                "gold": _flatten_state(turn),
                "requires_coref": "" if turn.coref is None else turn.coref,
            }
            if number in predicted:
                row["pred"] = _flatten_state(predicted[number])
        yield row


def _flatten_state(turn: Turn) -> str:
    pieces: list[str] = []
    for frame in turn.frames:
        for slot, values in (frame.state.slot_values if frame.state else {}).items():
            for value in values:
                words = " ".join(value.split())
                piece = f"{frame.service} {slot} {words}"
                if parse(piece) != {frame.service: {slot: (words,)}}:
                    hint = "it allows MultiWOZ's domains, slots of one word and values without commas"
                    raise UserError(f"'{piece}' cannot be written in this format", hint=hint)
                pieces.append(piece)
    return ", ".join(pieces)
