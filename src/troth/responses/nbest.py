"""N-best lists reranked: a file of them in, a file of responses with their reasons out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from troth import readers
from troth.core.errors import UserError, near
from troth.core.records import Schema
from troth.core.version import __version__
from troth.models import Nli
from troth.readers import source
from troth.readers.decode import lines, where
from troth.readers.plain import field, sequence, shown, text, whole
from troth.responses import sgsacc
from troth.responses.rerank import CHUNK, Choice, Nbest, Progress, recipe, rerank_all
from troth.responses.sample import descriptions, distinct, lacking
from troth.responses.sgsacc import Augment, Unit
from troth.storage.files import new_file

Key = tuple[str, int]  # dialogue, index into its turns
LAYOUT = "see docs/formats.md, n-best lists"


class Listed(msgspec.Struct, frozen=True):
    """One line of a file of n-best lists."""

    file: str
    line: int
    candidates: tuple[str, ...]
    scores: tuple[float, ...] | None


class Row(msgspec.Struct, frozen=True):
    """One line of what is written: a response, as `troth nlg` reads it, with the reasons for it."""

    dialogue: str
    turn: int
    response: str
    choice: int
    fidelity: int
    acts: int
    reasons: Any


class Summary(msgspec.Struct, frozen=True):
    turns: int
    changed: int  # another one than the likeliest (or the first, without scores)
    faithful: int  # true to all acts that could be judged
    without_acts: int  # nothing to judge by: the likeliest was taken
    signature: str
    notes: tuple[str, ...] = ()  # what the user should know besides


def rerank_file(
    gold: str,
    nbest: str,
    out: str,
    nli: Nli,
    *,
    gated: bool = False,
    augment: Augment = "never",
    schema: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Choose from each list of `nbest` by the acts of gold's system turns, and write the choices to the new file `out`.

    Everything is checked before the model is asked. What it said is in its cache, if it has one: a killed run goes on.
    """
    lists = read(nbest)
    schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
    if schemas is None:
        raise UserError("no schema.json beside it", file=gold, hint="name it with --schema FILE")
    units = _units(gold, format, schemas, lists)
    turns = [_nbest(units[key], listed) for key, listed in lists.items()]
    keys = list(lists)
    choices: list[Choice] = []
    with new_file(out) as file:
        for start in range(0, len(turns), CHUNK):
            made = rerank_all(turns[start : start + CHUNK], nli, gated=gated, augment=augment)
            for (dialogue, turn), one in zip(keys[start : start + CHUNK], made, strict=True):
                row = Row(dialogue, turn, one.response, one.choice, one.fidelity, one.acts, one.reasons)
                file.write(msgspec.json.encode(row) + b"\n")
            choices += made
            if progress is not None:
                progress(len(choices), len(turns))
    described = descriptions(schemas)
    rule = recipe(nli, gated=gated, augment=augment, descriptions=described)
    return _summary(choices, f"RERANK|{rule}|n:{len(choices)}|v:{__version__}", lacking(described))


def _summary(choices: list[Choice], signature: str, notes: list[str]) -> Summary:
    return Summary(
        turns=len(choices),
        changed=sum(one.choice != one.likeliest for one in choices),
        faithful=sum(one.acts > 0 and one.fidelity == one.acts for one in choices),
        without_acts=sum(one.acts == 0 for one in choices),
        signature=signature,
        notes=tuple(notes),
    )


# -- reading -----------------------------------------------------------------------------------------------------------


def read(path: str) -> dict[Key, Listed]:
    """A file of n-best lists, by dialogue and turn."""
    found: dict[Key, Listed] = {}
    for document in source.documents(path):
        try:
            for line, record in lines(document):
                with where(line=line):
                    dialogue = text(field(record, "dialogue", "the object"), "'dialogue'")
                    turn = whole(field(record, "turn", "the object"), "'turn'")
                with where(line=line, dialogue=dialogue, turn=turn):
                    if (dialogue, turn) in found:
                        raise UserError(f"stands already on line {found[dialogue, turn].line}", hint="remove one")
                    found[dialogue, turn] = _listed(document.name, line, record)
        except UserError as error:
            raise error.at(file=document.name, hint=LAYOUT) from error
    return found


def _listed(file: str, line: int, record: Mapping[str, Any]) -> Listed:
    items = sequence(field(record, "candidates", "the object"), "'candidates'")
    if not items:
        raise UserError("'candidates' is empty", hint="give one or more, or leave the turn out")
    texts, scores = zip(*map(_candidate, items), strict=True)
    given = [score for score in scores if score is not None]
    if given and len(given) < len(scores):
        raise UserError("some candidates have a score and some have none", hint="score all of them, or none")
    return Listed(file, line, texts, tuple(given) or None)


def _candidate(item: object) -> tuple[str, float | None]:
    if isinstance(item, str):
        return item, None
    if not isinstance(item, dict):
        raise UserError(f'a candidate is {shown(item)}, not text or {{"text": …, "score": …}}')
    said = text(field(item, "text", "a candidate"), "a candidate's 'text'")
    unknown = next((key for key in item if key not in ("text", "score")), None)
    if unknown is not None:
        raise UserError(f"a candidate has '{unknown}'", hint=near(unknown, ("text", "score")) or "known: text, score")
    score = item.get("score")
    if score is None:
        return said, None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise UserError(f"a score is {shown(score)}, not a number")
    try:
        return said, float(score)
    except OverflowError:
        raise UserError("a score is not a finite number", hint="leave out candidates that have none") from None


def _units(gold: str, format: str | None, schema: Schema, lists: Mapping[Key, Listed]) -> dict[Key, Unit]:
    """Gold's system turns that lists were given for; a list for any other turn is an error."""
    wanted = {dialogue for dialogue, _ in lists}
    found: dict[Key, Unit] = {}
    names: list[str] = []
    for file, dialogue in distinct(gold, format):
        names.append(dialogue.id)
        if dialogue.id in wanted:
            try:
                found |= {(unit.dialogue, unit.turn): unit for unit in sgsacc.units(dialogue, schema)}
            except UserError as error:
                raise error.at(file=file) from error
    for key, listed in lists.items():
        if key not in found:
            raise _unknown(key, listed, names)
    return found


def _unknown(key: Key, listed: Listed, names: list[str]) -> UserError:
    dialogue, turn = key
    if dialogue not in names:
        what, hint = "gold has no such dialogue", near(dialogue, names) or "do gold and lists belong together?"
    else:
        what, hint = "gold has no such system turn", "turns count from 0, the user's and the system's"
    return UserError(f"line {listed.line}: {what}", file=listed.file, dialogue=dialogue, turn=turn, hint=hint)


def _nbest(unit: Unit, listed: Listed) -> Nbest:
    try:
        return Nbest(listed.candidates, unit.due, unit.previous, listed.scores)
    except UserError as error:  # what the list itself is: too many scores, one that is no number
        raise UserError(
            f"line {listed.line}: {error.what}",
            file=listed.file,
            dialogue=unit.dialogue,
            turn=unit.turn,
            hint=error.hint,
        ) from error
