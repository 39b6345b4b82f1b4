"""What people say of the metric: filled sheets against the key of the sheet (SGSAcc, section 2.2).

- `accuracy:sgsacc`: share of pairs on which the metric agrees with the majority of the annotators. A tie decides
  nothing: such pairs are counted and left out.
- `precision:`, `recall:`, `f1:`: of the metric's "faithful" against the people's.
- `fleiss_kappa`: agreement of the annotators among each other, beyond chance (Fleiss 1971), over all pairs.

Group `all` is the sheet as it is, half and half, as in the paper. Group `corpus` weighs each half by how often the
metric gives its verdict in the whole run, which is what one would see on pairs drawn without balance; only there does
recall mean what it says. Intervals resample dialogues.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from troth import stats
from troth.core import names
from troth.core.errors import UserError, near
from troth.core.metric import Metric
from troth.core.parts import Parts
from troth.core.score import Score
from troth.core.signature import signature
from troth.meta.annotate import ANSWER, SheetKey, SheetRow, mark
from troth.meta.truth import ACCURACY, F1, PRECISION, RECALL
from troth.readers import source
from troth.stats.estimates import NO_PARTS, Cell, Resampling, scores, stacked
from troth.storage.result import Result, check_out

if TYPE_CHECKING:
    import polars as pl

YES, NO = ("yes", "y", "1", "true"), ("no", "n", "0", "false")
PEOPLE = "people"

KAPPA = Metric(
    "fleiss_kappa", "Fleiss' kappa", "agreement of the annotators beyond chance", scale="number", unit="pair"
)


class Vote(NamedTuple):
    """A pair with the answer of each annotator."""

    id: str
    faithful: tuple[bool, ...]

    @property
    def majority(self) -> bool | None:
        yes = sum(self.faithful)
        return None if 2 * yes == len(self.faithful) else 2 * yes > len(self.faithful)


def agree(
    *sheets: names.Path,
    key: names.Path | None = None,
    resamples: int = 1000,
    seed: int = 0,
    out: names.Path | None = None,
) -> Result:
    """Compares filled sheets, one per annotator, with each other and, with the key, with the metric.

    The pairs on which the metric and the majority differ are the result's details.
    """
    files = [names.path_of(sheet) for sheet in sheets]
    if not files:
        raise UserError("no sheet is given", hint="one filled sheet per annotator")
    if out is not None:
        check_out(out)
    place = None if key is None else names.path_of(key)
    known = load_key(place) if place is not None else None
    if len(set(map(os.path.realpath, files))) < len(files):
        raise UserError("the same sheet is given twice", hint="one filled sheet per annotator")
    votes = _votes({file: answers(file) for file in files}, place, known)
    how = Resampling(resamples, seed)
    decided = [] if known is None else [(vote, known.pairs[vote.id]) for vote in votes if vote.majority is not None]
    cells = [] if known is None else list(_cells(decided, known, len(files)))
    ties = [vote.id for vote in votes if vote.majority is None]
    system = PEOPLE if known is None else known.system
    result = Result(
        "meta agree",
        [*scores(system, cells, [row.dialogue for _, row in decided], how), _kappa(votes, known, how)],
        [*{cell.metric.name: cell.metric for cell in cells}.values(), KAPPA],
        counts={system: {"annotators": len(files), "pairs": len(votes), "undecided": len(ties)}},
        notes=[f"{len(ties)} undecided (ties, left out: {', '.join(ties[:5])})"] if ties and known else [],
        details=[_difference(vote, row) for vote, row in decided if vote.majority != row.faithful],
        arguments={"sheets": files, "key": place, "resamples": resamples, "seed": seed},
        make_rows=lambda: _rows(system, cells),
    )
    if out is not None:
        result.save(out)
    return result


# -- reading -----------------------------------------------------------------------------------------------------------


def load_key(path: str) -> SheetKey:
    """Reads a sheet's key, and checks that it is as it was written: the marks of its ids, and its counts."""
    document = source.first(path)
    try:
        key = msgspec.json.decode(document.data, type=SheetKey)
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
    """One annotator's answers by the pairs' ids, from a sheet with commas, semicolons or tabs."""
    try:
        text = Path(sheet).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("not valid UTF-8", file=sheet, hint="save it as CSV in UTF-8") from error
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=sheet, hint="check the path") from error
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    sheet_answers: dict[str, bool] = {}
    try:
        columns = [name.strip().lower() for name in next(reader, [])]
        for name in ("id", ANSWER):
            if name not in columns:
                raise UserError(f"no column '{name}'", file=sheet, hint=near(name, columns) or "is it a sheet?")
        for number, row in enumerate(reader, 2):
            if any(cell.strip() for cell in row):
                try:
                    id, answer = _row(row, columns)
                    if id in sheet_answers:
                        raise UserError(f"duplicate id '{id}'", hint="remove one")
                except UserError as error:
                    raise UserError(f"row {number}: {error.what}", file=sheet, hint=error.hint) from error
                sheet_answers[id] = answer
    except csv.Error as error:
        raise UserError(f"line {reader.line_num}: {error}", file=sheet, hint="is a quote not closed?") from error
    if not sheet_answers:
        raise UserError("no row in it", file=sheet, hint="is it the filled sheet?")
    return sheet_answers


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


def _votes(read: Mapping[str, Mapping[str, bool]], key: str | None, known: SheetKey | None) -> list[Vote]:
    """The votes on each pair; all sheets must be of the same pairs."""
    first = next(iter(read))
    of, wanted = (key, known.pairs.keys()) if known is not None else (first, read[first].keys())
    marked = _mark(next(iter(wanted)))
    for sheet, mine in read.items():
        other = next((_mark(id) for id in mine if _mark(id) != marked), None)
        if other is not None:
            what = f"its ids are marked '{other[:40]}', those of {of} '{marked}'"
            raise UserError(what, file=sheet, hint="do they belong together?")
        strange = sorted(mine.keys() - wanted)
        lacking = sorted(wanted - mine.keys())
        if strange:
            raise UserError(f"'{strange[0]}' is not in {of}", file=sheet, hint="do they belong together?")
        if lacking:
            raise UserError(f"'{lacking[0]}' is not in it, as in {of}", file=sheet, hint="every pair needs an answer")
    return [Vote(id, tuple(mine[id] for mine in read.values())) for id in wanted]


# -- figures -----------------------------------------------------------------------------------------------------------


def _cells(decided: Sequence[tuple[Vote, SheetRow]], key: SheetKey, raters: int) -> Iterator[Cell]:
    keys = [(row.dialogue, row.turn, vote.id) for vote, row in decided]
    recipe = _recipe(raters, key) | {"ties": "out", "metric": f"[{key.recipe}]"}
    for group in ("all", "corpus"):
        weights = _weights(key) if group == "corpus" else {True: 1.0, False: 1.0}
        for metric in (ACCURACY, PRECISION, RECALL, F1):
            fractions = [(metric.compute(vote.majority, row.faithful), weights[row.faithful]) for vote, row in decided]
            parts = Parts.of([(num * weight, den * weight) for (num, den), weight in fractions], keys)
            yield Cell(metric.on(key.metric), parts, recipe, group, "no pair to count", n=len(decided))


def _recipe(raters: int, key: SheetKey | None) -> dict[str, object]:
    return {"annotators": raters} | ({} if key is None else {"of": key.of, "seed": key.seed})


def _weights(key: SheetKey) -> dict[bool, float]:
    """How many pairs a drawn pair represents: its side's share of the run by its side's share of the sheet."""
    weights = {}
    for side, there in ((True, key.faithful), (False, key.unfaithful)):
        drawn = sum(one.faithful == side for one in key.pairs.values())
        weights[side] = (there / (key.faithful + key.unfaithful)) / (drawn / len(key.pairs)) if drawn else 0.0
    return weights


def _kappa(votes: Sequence[Vote], key: SheetKey | None, how: Resampling) -> Score:
    """Kappa is a function of two ratios of sums, agreement within pairs and the share of yes: both are resampled."""
    raters, n = len(votes[0].faithful), len(votes)
    text = signature(KAPPA, _recipe(raters, key), n=n)

    def score(value: float | None, low: float | None, high: float | None, reason: str | None) -> Score:
        return Score(PEOPLE, KAPPA.name, "all", value, low, high, n, text, reason, KAPPA.scale, KAPPA.better)

    if raters < 2:
        return score(None, None, None, "one annotator has nobody to agree with")
    yes = np.array([sum(vote.faithful) for vote in votes])
    value = stats.fleiss_kappa(np.stack([yes, raters - yes], axis=1))
    if value is None:
        return score(None, None, None, "all answers are the same")
    within = (yes * (yes - 1) + (raters - yes) * (raters - yes - 1)) / (raters * (raters - 1))
    keys = [(vote.id if key is None else key.pairs[vote.id].dialogue, 0, vote.id) for vote in votes]
    sums = [Parts.of(zip(top, bottom, strict=True), keys) for top, bottom in ((within, n * [1]), (yes, n * [raters]))]
    num, den = stacked(sums, sorted({dialogue for dialogue, _, _ in keys}))
    seen, share = stats.bootstrap(num, den, resamples=how.resamples, seed=how.seed).T
    chance = share**2 + (1 - share) ** 2
    # A resample in which everybody says the same has no kappa.
    drawn = np.divide(seen - chance, 1 - chance, out=np.full(len(seen), np.nan), where=chance < 1 - stats.TIE)
    low, high = (None if math.isnan(bound[0]) else float(bound[0]) for bound in stats.interval(drawn))
    return score(value, low, high, None)


def _difference(vote: Vote, row: SheetRow) -> dict[str, object]:
    """A pair on which the metric and most people differ."""
    shown = {name: getattr(row, name) for name in ("dialogue", "turn", "words", "previous", "utterance")}
    return {"id": vote.id, **shown, "metric": row.faithful, "votes": vote.faithful}


def _rows(system: str, cells: Sequence[Cell]) -> pl.DataFrame:
    import polars as pl

    whole = [cell.parts.frame(system, cell.metric.name) for cell in cells if cell.group == "all"]
    return pl.concat([NO_PARTS.frame(system, ""), *whole])
