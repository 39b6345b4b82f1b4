"""What people say of the metric: filled sheets against the key of the sheet (SGSAcc, section 2.2).

- `accuracy:sgsacc`: share of pairs on which the metric agrees with the majority of the annotators. A tie decides
  nothing: such pairs are counted and left out.
- `precision:`, `recall:`, `f1:`: of the metric's "faithful" against the people's.
- `fleiss_kappa`: agreement of the annotators among each other, beyond chance (Fleiss 1971), over all pairs.

Group `all` is the sheet as it is, half and half, as in the paper. Group `corpus` weighs each half by how often the
metric gives its verdict in the whole run, which is what one would see on pairs drawn without balance; only there recall
means what it says. Intervals resample dialogues.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from troth import stats
from troth.core.errors import UserError, near
from troth.core.score import Score
from troth.core.version import __version__
from troth.meta.annotate import ANSWER, Asked, Key, mark
from troth.readers import source
from troth.responses.sample import Counted, shares

YES, NO = ("yes", "y", "1", "true"), ("no", "n", "0", "false")
SYSTEM = "people"


class Vote(NamedTuple):
    """A pair with what each annotator says of it."""

    id: str
    faithful: tuple[bool, ...]

    @property
    def majority(self) -> bool | None:
        yes = sum(self.faithful)
        return None if 2 * yes == len(self.faithful) else 2 * yes > len(self.faithful)


class Disagreement(msgspec.Struct, frozen=True):
    """A pair on which the metric and most people differ."""

    id: str
    dialogue: str
    turn: int
    words: str
    previous: str
    utterance: str
    metric: bool
    votes: tuple[bool, ...]


@dataclass(frozen=True)
class Agreement:
    scores: list[Score]
    annotators: int
    pairs: int
    undecided: list[str]  # ids of ties
    disagreements: list[Disagreement]


def agree(sheets: Sequence[str], *, key: str | None = None, resamples: int = 1000, seed: int = 0) -> Agreement:
    """Filled sheets, one an annotator, against each other and, with the key, against the metric."""
    if not sheets:
        raise UserError("no sheet is named", hint="one filled sheet an annotator")
    known = load_key(key) if key is not None else None
    if len(set(map(os.path.realpath, sheets))) < len(sheets):
        raise UserError("the same sheet is named twice", hint="one filled sheet an annotator")
    read = {sheet: answers(sheet) for sheet in sheets}
    votes = _votes(read, key, known)
    dialogues = {id: one.dialogue for id, one in known.pairs.items()} if known else {vote.id: vote.id for vote in votes}
    scores = [_kappa(votes, dialogues, known, resamples=resamples, seed=seed)]
    if known is not None:
        scores = [*_against(votes, known, resamples=resamples, seed=seed), *scores]
    undecided = [vote.id for vote in votes if vote.majority is None]
    found = list(_disagreements(votes, known.pairs)) if known else []
    return Agreement(scores, len(sheets), len(votes), undecided, found)


# -- reading -----------------------------------------------------------------------------------------------------------


def load_key(path: str) -> Key:
    """A sheet's key, if it is as it was written: its ids bear the mark of its pairs, and its counts can be true."""
    document = source.first(path)
    try:
        key = msgspec.json.decode(document.data, type=Key)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "troth meta annotate writes it beside the sheet, as NAME.key.json"
        raise UserError(f"not a sheet's key: {error}", file=path, hint=hint) from error
    hint = "take the key that was written with the sheet"
    if not key.pairs:
        raise UserError("no pair in it", file=path, hint=hint)
    if {_mark(id) for id in key.pairs} != {mark(key.pairs.values())}:
        raise UserError("its pairs are not those that its ids were made for", file=path, hint=hint)
    for side, there in ((True, key.faithful), (False, key.unfaithful)):
        drawn = sum(one.faithful == side for one in key.pairs.values())
        if there < drawn or (there and not drawn):
            name = "faithful" if side else "unfaithful"
            raise UserError(f"{drawn} {name} pairs drawn of {there} cannot be", file=path, hint=hint)
    return key


def _mark(id: str) -> str:
    return id.rpartition("-")[2]


def answers(sheet: str) -> dict[str, bool]:
    """One annotator's answers by the pairs' ids. Spreadsheets save with commas, semicolons or tabs: all are read."""
    try:
        text = Path(sheet).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("not valid UTF-8", file=sheet, hint="save it as CSV in UTF-8") from error
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=sheet, hint="check the path") from error
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    found: dict[str, bool] = {}
    try:
        columns = [name.strip().lower() for name in next(reader, [])]
        for name in ("id", ANSWER):
            if name not in columns:
                raise UserError(f"no column '{name}'", file=sheet, hint=near(name, columns) or "is it a sheet?")
        for number, row in enumerate(reader, 2):
            if any(cell.strip() for cell in row):
                try:
                    id, answer = _row(row, columns)
                    if id in found:
                        raise UserError(f"'{id}' stands there twice", hint="remove one")
                except UserError as error:
                    raise UserError(f"row {number}: {error.what}", file=sheet, hint=error.hint) from error
                found[id] = answer
    except csv.Error as error:
        raise UserError(f"line {reader.line_num}: {error}", file=sheet, hint="is a quote not closed?") from error
    if not found:
        raise UserError("no row in it", file=sheet, hint="is it the filled sheet?")
    return found


def _row(row: Sequence[str], columns: Sequence[str]) -> tuple[str, bool]:
    if len(row) < len(columns):
        raise UserError(f"{len(row)} cells under {len(columns)} headings", hint="is the row whole?")
    id, said = (row[columns.index(name)].strip() for name in ("id", ANSWER))
    if not id:
        raise UserError("has no id", hint="leave that column as it was")
    if said.lower() in YES:
        return id, True
    if said.lower() in NO:
        return id, False
    hint = f"write yes or no in the column '{ANSWER}'"
    raise UserError(f"'{id}' is not answered" if not said else f"'{said[:40]}' is neither yes nor no", hint=hint)


def _votes(read: Mapping[str, Mapping[str, bool]], key: str | None, known: Key | None) -> list[Vote]:
    """All sheets must be of the same pairs."""
    first = next(iter(read))
    of, wanted = (key, known.pairs.keys()) if known is not None else (first, read[first].keys())
    marked = _mark(next(iter(wanted)))
    for sheet, found in read.items():
        other = next((_mark(id) for id in found if _mark(id) != marked), None)
        if other is not None:
            what = f"its ids are marked '{other[:40]}', those of {of} '{marked}'"
            raise UserError(what, file=sheet, hint="do they belong together?")
        strange = sorted(found.keys() - wanted)
        lacking = sorted(wanted - found.keys())
        if strange:
            raise UserError(f"'{strange[0]}' is not in {of}", file=sheet, hint="do they belong together?")
        if lacking:
            raise UserError(f"'{lacking[0]}' is not in it, as in {of}", file=sheet, hint="every pair needs an answer")
    return [Vote(id, tuple(found[id] for found in read.values())) for id in wanted]


# -- figures -----------------------------------------------------------------------------------------------------------


def _against(votes: Sequence[Vote], key: Key, *, resamples: int, seed: int) -> Iterator[Score]:
    decided = [(key.pairs[vote.id], vote.majority) for vote in votes if vote.majority is not None]
    labels: list[tuple[str, str]] = []
    cells: list[list[Counted]] = []
    for group in ("all", "corpus"):
        weight = _weights(key) if group == "corpus" else {True: 1.0, False: 1.0}
        told = [(one.dialogue, one.faithful, people, weight[one.faithful]) for one, people in decided]
        for metric, cell in _metrics(told).items():
            labels.append((metric, group))
            cells.append(cell)
    for (metric, group), ratio in zip(labels, shares(cells, resamples=resamples, seed=seed), strict=True):
        reason = None if ratio.value is not None else "no pair to count"
        name = f"{metric}:{key.metric}"
        signature = _signature(name, votes, key, group, len(decided))
        yield Score(key.system, name, group, ratio.value, ratio.low, ratio.high, len(decided), signature, reason)


def _weights(key: Key) -> dict[bool, float]:
    """How much a drawn pair stands for: its side's share of the run by its side's share of the sheet."""
    made = {}
    for side, there in ((True, key.faithful), (False, key.unfaithful)):
        drawn = sum(one.faithful == side for one in key.pairs.values())
        made[side] = (there / (key.faithful + key.unfaithful)) / (drawn / len(key.pairs)) if drawn else 0.0
    return made


def _metrics(told: Sequence[tuple[str, bool, bool, float]]) -> dict[str, list[Counted]]:
    """The metric's verdict against people's; every figure is a ratio of sums."""
    return {
        "accuracy": [(name, w * (metric == people), w) for name, metric, people, w in told],
        "precision": [(name, w * people, w) for name, metric, people, w in told if metric],
        "recall": [(name, w * metric, w) for name, metric, people, w in told if people],
        "f1": [(name, w * 2.0 * (metric and people), w * (metric + people)) for name, metric, people, w in told],
    }


def _kappa(votes: Sequence[Vote], dialogues: Mapping[str, str], key: Key | None, *, resamples: int, seed: int) -> Score:
    """Kappa is a function of two ratios of sums, agreement within pairs and the share of yes: both are resampled."""
    signature = _signature("fleiss_kappa", votes, key, "all", len(votes))
    raters = len(votes[0].faithful)
    if raters < 2:
        why = "one annotator has nobody to agree with"
        return Score(SYSTEM, "fleiss_kappa", "all", None, None, None, len(votes), signature, why)
    counts = [(sum(vote.faithful), raters - sum(vote.faithful)) for vote in votes]
    value = stats.fleiss_kappa(counts)
    names = sorted(set(dialogues.values()))
    index = {name: place for place, name in enumerate(names)}
    num, den = np.zeros((len(names), 2)), np.zeros((len(names), 2))
    for vote, (yes, no) in zip(votes, counts, strict=True):
        place = index[dialogues[vote.id]]
        num[place] += ((yes * (yes - 1) + no * (no - 1)) / (raters * (raters - 1)), yes)
        den[place] += (1, raters)
    seen, share = stats.bootstrap(num, den, resamples=resamples, seed=seed).T
    chance = share**2 + (1 - share) ** 2
    # A resample in which everybody says the same has no kappa.
    drawn = np.divide(seen - chance, 1 - chance, out=np.full(len(seen), np.nan), where=chance < 1 - stats.TIE)
    low, high = (float(bound[0]) for bound in stats.interval(drawn))
    bounds = [None if value is None or math.isnan(bound) else bound for bound in (low, high)]
    reason = None if value is not None else "all answers are the same"
    return Score(SYSTEM, "fleiss_kappa", "all", value, bounds[0], bounds[1], len(votes), signature, reason)


def _signature(metric: str, votes: Sequence[Vote], key: Key | None, group: str, n: int) -> str:
    marks = [metric.upper(), f"annotators:{len(votes[0].faithful)}"]
    if key is not None:
        marks += [f"of:{key.of}", f"seed:{key.seed}"]
        marks += ["ties:out", f"metric:[{key.recipe}]"] if metric != "fleiss_kappa" else []
    marks += [f"group:{group}"] if group != "all" else []
    return "|".join([*marks, f"n:{n}", f"v:{__version__}"])


def _disagreements(votes: Sequence[Vote], pairs: Mapping[str, Asked]) -> Iterator[Disagreement]:
    for vote in votes:
        one = pairs[vote.id]
        if vote.majority is not None and vote.majority != one.faithful:
            yield Disagreement(
                vote.id, one.dialogue, one.turn, one.words, one.previous, one.utterance, one.faithful, vote.faithful,
            )  # fmt: skip
