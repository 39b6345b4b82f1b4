"""Sheets for people to fill in: a CSV file, and the key beside it, which people must not see.

A study says which columns people read, and which they fill in with which answers. An item's id ends in a hash of all
items of its sheet, so that a filled sheet cannot be compared with another sheet's key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.readers.sheet import encode_sheet, read_sheet
from troth.storage.files import check_new, new_file

YES_NO = {"yes": ("yes", "y", "1", "true"), "no": ("no", "n", "0", "false")}
AGREEMENT = {"agree": ("agree", "a"), "neutral": ("neutral", "n"), "disagree": ("disagree", "d")}
BELONG = "do they belong together?"

T = TypeVar("T")
Answers = tuple[str, ...]  # one for each question of the study


@dataclass(frozen=True)
class Study:
    """Questions for each item of a sheet."""

    name: str
    shown: tuple[str, ...]  # columns to read
    questions: tuple[str, ...]  # columns to fill in
    scale: Mapping[str, Sequence[str]]  # answers, and how they may be written
    item: str = "pair"  # noun for a row of the sheet

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.scale)

    def answer(self, cell: str, id: str, question: str) -> str:
        """The answer of the scale that a cell means; an error if it means none."""
        for answer, written in self.scale.items():
            if cell.lower() in written:
                return answer
        *rest, last = self.scale
        hint = f"write {', '.join(rest)} or {last} in the column '{question}'"
        none = f"neither {rest[0]} nor {last}" if len(rest) == 1 else f"none of {', '.join(self.scale)}"
        raise UserError(f"'{cell[:40]}' is {none}" if cell else f"'{id}' is not answered", hint=hint)


SGSACC_STUDY = Study("sgsacc", ("previous turn", "utterance", "service", "act"), ("faithful",), YES_NO)
FGA_STUDY = Study("fga", ("dialogue",), ("satisfied",), YES_NO, "dialogue")
PMI_STUDY = Study(
    "pmi-decode", ("document", "dialog", "response"), ("faithfulness", "relevance", "grammar"), AGREEMENT, "response"
)
STUDIES = {study.name: study for study in (SGSACC_STUDY, FGA_STUDY, PMI_STUDY)}


def key_file(sheet: str) -> str:
    return sheet.removesuffix(".csv") + ".key.json"


def check_sheet(sheet: str) -> None:
    """Raises an error for a name that does not end in .csv, or where the sheet or its key exists already."""
    if not sheet.endswith(".csv"):
        raise UserError("a sheet's name ends in .csv", file=sheet, hint="for example sheet.csv")
    for name in (sheet, key_file(sheet)):
        check_new(name)


def write(sheet: str, study: Study, cells: Mapping[str, Sequence[str]], key: msgspec.Struct) -> None:
    """Writes a sheet (one row per id) and its key. The key appears first, so that no sheet exists without one."""
    with new_file(sheet) as file, new_file(key_file(sheet)) as beside:
        beside.write(msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n")
        file.write(as_csv(study, cells))


def as_csv(study: Study, cells: Mapping[str, Sequence[str]]) -> bytes:
    """A sheet as CSV, with empty cells to fill in."""
    head = ("id", *study.shown, *study.questions)
    return encode_sheet(head, ((id, *row, *("" for _ in study.questions)) for id, row in cells.items()))


def number_items(items: Sequence[T], ending: str, letter: str = "p") -> dict[str, T]:
    """Items by id: a number, and `ending`, a mark of the questions."""
    width = len(str(len(items)))
    return {f"{letter}{number:0{width}}-{ending}": item for number, item in enumerate(items, 1)}


def hash_items(asked: object) -> str:
    """A short hash of the questions in their order."""
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:6]


def mark_of(id: str) -> str:
    """The mark that an id ends in."""
    return id.rpartition("-")[2]


def detect_study(sheet: str) -> Study:
    """The study that a sheet is of, by its columns; SGSAcc's where they say nothing."""
    columns = read_sheet(sheet)[0]
    return next((study for study in STUDIES.values() if set(study.questions) <= set(columns)), SGSACC_STUDY)


def read_answers(sheet: str, study: Study) -> dict[str, Answers]:
    """One annotator's answers by the items' ids, from a sheet with commas, semicolons or tabs."""
    columns, rows = read_sheet(sheet)
    for name in ("id", *study.questions):
        if name not in columns:
            raise UserError(f"no column '{name}'", file=sheet, hint=suggest_name(name, columns) or "is it a sheet?")
    sheet_answers: dict[str, Answers] = {}
    for number, row in enumerate(rows, 2):
        if any(cell.strip() for cell in row):
            try:
                id, row_answers = _row(row, columns, study)
                if id in sheet_answers:
                    raise UserError(f"duplicate id '{id}'", hint="remove one")
            except UserError as error:
                raise UserError(f"row {number}: {error.what}", file=sheet, hint=error.hint) from error
            sheet_answers[id] = row_answers
    if not sheet_answers:
        raise UserError("no row in it", file=sheet, hint="is it the filled sheet?")
    return sheet_answers


def _row(row: Sequence[str], columns: Sequence[str], study: Study) -> tuple[str, Answers]:
    if len(row) < len(columns):
        raise UserError(f"{len(row)} cells under {len(columns)} headings", hint="is the row whole?")
    id, *cells = (row[columns.index(name)].strip() for name in ("id", *study.questions))
    if not id:
        raise UserError("has no id", hint="leave that column as it was")
    return id, tuple(study.answer(cell, id, name) for cell, name in zip(cells, study.questions, strict=True))


def check_items(read: Mapping[str, Mapping[str, Answers]], of: str, wanted: Iterable[str], item: str) -> None:
    """Refuses sheets that do not answer exactly the wanted items, which are those of the file `of`."""
    ids = dict.fromkeys(wanted)
    marked = mark_of(next(iter(ids)))
    for sheet, sheet_answers in read.items():
        other = next((mark_of(id) for id in sheet_answers if mark_of(id) != marked), None)
        if other is not None:
            what = f"its ids are marked '{other[:40]}', those of {of} '{marked}'"
            raise UserError(what, file=sheet, hint=BELONG)
        unknown = sorted(sheet_answers.keys() - ids.keys())
        lacking = sorted(ids.keys() - sheet_answers.keys())
        if unknown:
            raise UserError(f"'{unknown[0]}' is not in {of}", file=sheet, hint=BELONG)
        if lacking:
            raise UserError(
                f"'{lacking[0]}' is not in it, as in {of}", file=sheet, hint=f"every {item} needs an answer"
            )
