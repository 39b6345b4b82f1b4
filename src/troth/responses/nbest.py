"""Reranks n-best lists: files of lists in, one for each system, a file of chosen responses with their reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.names import Path, name_paths, path_of
from troth.core.records import Schema
from troth.core.signature import signature
from troth.models import Nli
from troth.readers import source
from troth.readers.decode import error_context, lines
from troth.readers.plain import describe, field, refuse_unknown_keys, sequence, text, whole_number
from troth.responses import corpus
from troth.responses.rerank import Choice, Nbest, RerankRecipe, rerank_all
from troth.responses.sgsacc import Augment
from troth.storage.files import new_file

Key = tuple[str, int]  # dialogue, index into its turns
LAYOUT = "see docs/formats.md, n-best lists"


class _List(NamedTuple):
    """One line of a file of n-best lists."""

    file: str
    line: int
    candidates: tuple[str, ...]
    scores: tuple[float, ...] | None
    systems: tuple[str, ...] = ()


class RerankSummary(msgspec.Struct, frozen=True):
    """Differences between the chosen responses and the likeliest ones."""

    turns: int
    changed: int  # not the likeliest (or the first, without scores)
    faithful: int  # true to all acts that could be judged
    without_acts: int  # no act to judge by: the likeliest was taken
    signature: str
    notes: tuple[str, ...] = ()


def rerank_file(
    gold: Path,
    nbest: Path | Sequence[Path],
    out: Path,
    nli: Nli,
    *,
    gated: bool = False,
    augment: Augment = "never",
    schema: Path | Schema | None = None,
    format: str | None = None,
) -> RerankSummary:
    """Chooses from each list of `nbest` by the acts of gold's system turns, and writes the choices to the file `out`.

    `nbest`: a file of lists, or several (`NAME=PATH`, one per system); lists for the same turn are merged.
    Everything is checked before the model is asked. Its answers are in its cache, if it has one, so a killed run can be
    continued.
    """
    paths = [nbest] if isinstance(nbest, str | PathLike) else list(nbest)
    named = name_paths(paths, "file of n-best lists")
    lists = merge_lists({name: read(path) for name, path in named}) if len(named) > 1 else read(named[0][1])
    known = corpus.read(gold, schema, format=format)
    turns = _match_turns(lists, known)
    with new_file(path_of(out)) as file:
        choices = rerank_all(turns.values(), nli, gated=gated, augment=augment)
        for (dialogue, turn), choice in zip(turns, choices, strict=True):
            file.write(encode_choice(dialogue, turn, choice))
    described = corpus.classify_descriptions(known.schema)
    recipe = RerankRecipe.for_model(nli, gated=gated, augment=augment, descriptions=described)
    notes = [*corpus.description_notes(described), *corpus.truncation_notes(nli)]
    return summarize(choices, signature("rerank", recipe, n=len(choices)), notes)


def encode_choice(dialogue: str, turn: int, choice: Choice) -> bytes:
    """A line of the file: the chosen response and the reasons."""
    row = {"dialogue": dialogue, "turn": turn, "response": choice.response, "choice": choice.choice}
    rest = {"fidelity": choice.fidelity, "acts": choice.acts, "reasons": choice.reasons}
    return msgspec.json.encode(row | rest) + b"\n"


def merge_lists(systems: Mapping[str, Mapping[Key, _List]]) -> dict[Key, _List]:
    """One list for each turn, of the lists that systems have for it; each candidate with its system."""
    by_turn: dict[Key, _List] = {}
    for name, lists in systems.items():
        for key, nbest in lists.items():
            entry = nbest._replace(systems=(name,) * len(nbest.candidates))
            before = by_turn.get(key)
            if before is None:
                by_turn[key] = entry
                continue
            if (before.scores is None) != (entry.scores is None):
                what = "some systems have scores for this turn and some have none"
                raise UserError(what, file=nbest.file, dialogue=key[0], turn=key[1], hint="score all of them, or none")
            scores = None if before.scores is None else before.scores + (entry.scores or ())
            by_turn[key] = before._replace(
                candidates=before.candidates + entry.candidates, scores=scores, systems=before.systems + entry.systems
            )
    return by_turn


def summarize(choices: list[Choice], signature: str, notes: list[str]) -> RerankSummary:
    return RerankSummary(
        turns=len(choices),
        changed=sum(choice.choice != choice.likeliest for choice in choices),
        faithful=sum(choice.acts > 0 and choice.fidelity == choice.acts for choice in choices),
        without_acts=sum(choice.acts == 0 for choice in choices),
        signature=signature,
        notes=tuple(notes),
    )


def read(path: str) -> dict[Key, _List]:
    """A file of n-best lists, by dialogue and turn."""
    lists: dict[Key, _List] = {}
    for document in source.documents(path):
        try:
            for line, record in lines(document):
                with error_context(line=line):
                    key = (text(field(record, "dialogue"), "'dialogue'"), whole_number(field(record, "turn"), "'turn'"))
                with error_context(line=line, dialogue=key[0], turn=key[1]):
                    if key in lists:
                        raise UserError(f"has a list already on line {lists[key].line}", hint="remove one")
                    lists[key] = _parse_list(document.name, line, record)
        except UserError as error:
            raise error.at(file=document.name, hint=LAYOUT) from error
    return lists


def _parse_list(file: str, line: int, record: Mapping[str, Any]) -> _List:
    if "candidates" not in record and "response" in record:  # a system that gives one response and no more
        return _List(file, line, (text(record["response"], "'response'"),), None)
    items = sequence(field(record, "candidates"), "'candidates'")
    if not items:
        raise UserError("'candidates' is empty", hint="give one or more, or leave the turn out")
    texts, scores = zip(*map(_parse_candidate, items), strict=True)
    numbers = [score for score in scores if score is not None]
    if numbers and len(numbers) < len(scores):
        raise UserError("some candidates have a score and some have none", hint="score all of them, or none")
    return _List(file, line, texts, tuple(numbers) or None)


def _parse_candidate(item: object) -> tuple[str, float | None]:
    if isinstance(item, str):
        return item, None
    if not isinstance(item, dict):
        raise UserError(f'a candidate is {describe(item)}, not text or {{"text": …, "score": …}}')
    candidate = text(field(item, "text", "a candidate"), "a candidate's 'text'")
    refuse_unknown_keys(item, ("text", "score", "system"))
    score = item.get("score")
    if score is None:
        return candidate, None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise UserError(f"a score is {describe(score)}, not a number")
    try:
        return candidate, float(score)
    except OverflowError:
        raise UserError("a score is not a finite number", hint="leave out candidates that have none") from None


def _match_turns(lists: Mapping[Key, _List], gold: corpus.ActCorpus) -> dict[Key, Nbest]:
    """Each list with the acts of its turn; a list for a turn that gold does not have is an error."""
    turns = {turn.key: turn for turn in gold.turns}
    names = [dialogue.id for dialogue in gold.dialogues]
    matched: dict[Key, Nbest] = {}
    for key, row in lists.items():
        dialogue, turn = key
        try:
            with error_context(line=row.line, dialogue=dialogue, turn=turn):
                if dialogue not in names:
                    hint = suggest_name(dialogue, names) or "do gold and lists belong together?"
                    raise UserError("gold has no such dialogue", hint=hint)
                if key not in turns:
                    hint = "turns count from 0, the user's and the system's"
                    raise UserError("gold has no such system turn", hint=hint)
                matched[key] = Nbest(row.candidates, turns[key].acts, turns[key].previous, row.scores, row.systems)
        except UserError as error:
            raise error.at(file=row.file) from error
    return matched
