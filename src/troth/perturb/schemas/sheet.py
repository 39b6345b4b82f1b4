"""Sheets that collect blind paraphrases of a schema from people (SGD-X, §2.1, figures 7 and 8).

Who writes names sees descriptions and no names; who writes descriptions sees names and no descriptions. So each sheet
is of one service and one task, and nobody should fill in both sheets of a service. Copies of a sheet, filled in by
several people, are read back together: answers that are empty, the original's own or given before are left out and
counted, and the rest is a file of paraphrases for `compose`, after somebody has read it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path as Folder
from typing import Literal, NamedTuple

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.names import Path, parse_names, path_of
from troth.core.records import Schema, Service
from troth.perturb.schemas.files import load
from troth.perturb.schemas.renaming import elements
from troth.perturb.schemas.variants import PUBLISHED, Paraphrases, texts, wordings
from troth.readers.plain import encode_indented
from troth.readers.sheet import encode_sheet, read_sheet
from troth.storage.files import new_file, new_folder
from troth.text.identifiers import split_identifier

Task = Literal["names", "descriptions"]
COLUMNS = ("id", "app", "kind", "given", "values", "answer")
KINDS = {"slots": "Field", "intents": "Action"}
INSTRUCTIONS: dict[Task, str] = {
    "names": """\
You are building an app with a partner. The partner has described what customers can do with it (Actions) and which
pieces of information the app asks for or returns (Fields). Find a name for each.

- Read the column "given", which describes one Action or Field of the app that the column "app" describes.
- Write a short name into the column "answer": a few words, from which a customer quickly understands what is meant.
- The name of an Action begins with a verb, such as get, search or make.
- Leave all other columns as they are. Leave the answer empty if the description is not clear.
""",
    "descriptions": """\
You are building an app with a partner. The partner has named the app, what customers can do with it (Actions) and which
pieces of information it asks for or returns (Fields). Describe each in one sentence.

- Read the column "given", which has the name of the app, of an Action or of a Field.
- Write into the column "answer" one sentence that says in everyday language what it is. You may use words of the name.
- The column "values" lists what a Field can be, where the list is closed. Some names have a description in brackets,
  because the name alone is not clear: do not copy it, use your own words.
- Leave all other columns as they are. Leave the answer empty if the name is not clear.
""",
}


class _Question(NamedTuple):
    """A text of a schema to find another wording for."""

    service: Service
    path: str  # as `texts` has it: slots/city/name
    original: str
    task: Task

    @property
    def element(self) -> str:
        return self.path.rpartition("/")[0]


class CollectedParaphrases(msgspec.Struct, frozen=True):
    """The paraphrases that people wrote, and the answers that were left out."""

    paraphrases: Paraphrases
    sheets: int
    answers: int  # different ones that are kept
    left_out: dict[str, int]  # by reason
    few: dict[str, int]  # texts with fewer different answers than variants are to be made, and how many they have


def write_sheets(schema: Path, out: Path, *, ambiguous: str | Sequence[str] = ()) -> list[str]:
    """Writes two sheets for each service to the new folder `out`, with instructions; returns the names of the files.

    `schema` is a schema, a file of tools, or dialogues with their schema. `ambiguous`: elements (`service.slot`) whose
    description is shown to those who describe them, because the name alone is not clear.
    """
    known = load(path_of(schema)).schema
    unclear = set(parse_names(ambiguous))
    names = {f"{one.name}.{item.name}" for one in known.values() for item in elements(one)}
    for name in sorted(unclear - names):
        hint = suggest_name(name, names) or "for example Homes_1.intent"
        raise UserError(f"'{name}' is not in the schema", file=path_of(schema), hint=hint)
    questions = _questions(known)
    files = []
    with new_folder(path_of(out)) as folder:
        for task, text in INSTRUCTIONS.items():
            (folder / f"{task}.txt").write_text(text, encoding="utf-8")
            for number, service in enumerate(known.values(), 1):
                own = {id: one for id, one in questions.items() if one.service is service and one.task == task}
                rows = [_row(id, one, unclear) for id, one in own.items()]
                if rows:
                    safe = re.sub(r"[^\w-]+", "_", service.name)
                    files.append(f"{number:02}-{safe}-{task}.csv")
                    (folder / files[-1]).write_bytes(encode_sheet(COLUMNS, rows))
    return [str(Folder(path_of(out)) / name) for name in files]


def read_sheets(schema: Path, sheets: Sequence[Path], *, count: int = PUBLISHED) -> CollectedParaphrases:
    """Reads filled sheets of a schema. `count`: how many different answers each text should have."""
    known = load(path_of(schema)).schema
    questions = _questions(known)
    answers: dict[tuple[str, str], dict[str, str]] = {
        (one.service.name, one.path): {_normalize(one.original, one.task): ""} for one in questions.values()
    }
    left_out: Counter[str] = Counter()
    for sheet in map(path_of, sheets):
        for id, answer in _answers(sheet, questions):
            one = questions[id]
            said = answers[one.service.name, one.path]
            key = _normalize(answer, one.task)
            if not key:
                left_out["empty"] += 1
            elif key in said:
                left_out["given before" if said[key] else "the original"] += 1
            else:
                said[key] = answer
    found = {place: tuple(filter(None, said.values())) for place, said in answers.items()}
    if not any(found.values()):
        counts = ", ".join(f"{count} {why}" for why, count in left_out.items())
        raise UserError(f"no new wording in the sheets: {counts}", hint="fill in the column 'answer'")
    paraphrases = {
        service.name: wordings(service, lambda owner, path, _: found.get((owner.name, path), ()))
        for service in known.values()
    }
    few = {f"{service}: {path}": len(said) for (service, path), said in found.items() if len(said) < count}
    return CollectedParaphrases(paraphrases, len(sheets), sum(map(len, found.values())), dict(left_out), few)


def write_paraphrases(collected: CollectedParaphrases, out: Path) -> None:
    """Writes a file of paraphrases, which `compose` reads."""
    with new_file(path_of(out)) as file:
        file.write(encode_indented(collected.paraphrases))


def _questions(schema: Schema) -> dict[str, _Question]:
    """The questions by id: the number of a text in the schema, and a mark of the schema. Ids do not show names."""
    every = [(service, path, text) for service in schema.values() for path, text in texts(service)]
    mark = hashlib.sha256(msgspec.json.encode([(s.name, *rest) for s, *rest in every])).hexdigest()[:6]
    asked: dict[str, _Question] = {}
    for number, (service, path, text) in enumerate(every, 1):
        named = path.endswith("/name")
        if named and not _description(service, path):
            continue  # nothing to show but the name
        asked[f"{number:04}-{mark}"] = _Question(service, path, text, "names" if named else "descriptions")
    return asked


def _description(service: Service, path: str) -> str:
    element = path.rpartition("/")[0]
    return dict(texts(service)).get(f"{element}/description", service.description if not element else "")


def _row(id: str, one: _Question, unclear: set[str]) -> Sequence[str]:
    kind, _, name = one.element.partition("/")
    if one.task == "names":
        return id, one.service.description, KINDS[kind], _description(one.service, one.path), "", ""
    if not one.element:  # the service itself
        return id, "", "App", _app_name(one.service), "", ""
    slot = next((slot for slot in one.service.slots if kind == "slots" and slot.name == name), None)
    values = ", ".join(slot.possible_values) if slot is not None and slot.is_categorical else ""
    text = " ".join(split_identifier(name))
    if f"{one.service.name}.{name}" in unclear:
        text += f" ({one.original})"
    return id, _app_name(one.service), KINDS[kind], text, values, ""


def _app_name(service: Service) -> str:
    """The name of a service as words, without its number: Banks_2 is "banks"."""
    return " ".join(split_identifier(service.name.rstrip("_0123456789") or service.name))


def _normalize(text: str, task: Task) -> str:
    """A wording as it is compared with others: letter case, blanks and the style of a name do not count."""
    words = split_identifier(text) if task == "names" else text.split()
    return " ".join(words).casefold()


def _answers(sheet: str, questions: dict[str, _Question]) -> Iterator[tuple[str, str]]:
    columns, rows = read_sheet(sheet)
    for name in ("id", "answer"):
        if name not in columns:
            raise UserError(f"no column '{name}'", file=sheet, hint=suggest_name(name, columns) or "is it a sheet?")
    seen: set[str] = set()
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        cells = [*row, *[""] * (len(columns) - len(row))]  # some spreadsheets leave empty cells at the end out
        id, answer = (cells[columns.index(name)].strip() for name in ("id", "answer"))
        what = f"duplicate id '{id}'" if id in seen else "" if id in questions else f"'{id[:40]}' is not of this schema"
        if what:
            raise UserError(f"row {number}: {what}", file=sheet, hint="do sheet and schema belong together?")
        seen.add(id)
        yield id, " ".join(answer.split())
    if not seen:
        raise UserError("no row in it", file=sheet, hint="is it the filled sheet?")
