"""Agreement: filled sheets against the key of the sheet, and annotators with each other.

A sheet of SGSAcc (section 2.2 of its paper):

- `accuracy:sgsacc`: share of pairs on which the metric agrees with the majority of the annotators. A tie decides
  nothing: such pairs are counted and left out.
- `precision:`, `recall:`, `f1:`: of the metric's "faithful" against the people's.
- `fleiss_kappa`: agreement of the annotators among each other, beyond chance (Fleiss 1971), over all pairs.

Group `all` is the sheet as it is, half and half, as in the paper. Group `corpus` weighs each half by how often the
metric gives its verdict in the whole run, which is what one would see on pairs drawn without balance; only there does
recall mean what it says. Intervals are over dialogues. The sheet is stratified by the metric's verdict, so only the
spread within each half counts, and dialogues are resampled within it.

Sheets of the other two studies are read here, too; their numbers are in `ratings`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth.core import names
from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.parts import Parts
from troth.core.result import Finding, Note, Result
from troth.core.score import Estimate, Score, make_score
from troth.meta.people import ratings, sheets
from troth.meta.people.annotate import SheetKey, SheetRow, mark_pairs
from troth.meta.people.raters import KAPPA, PEOPLE, RatedItem, kappa
from troth.meta.people.sheets import FGA_STUDY, PMI_STUDY, SGSACC_STUDY, STUDIES, Answers, Study
from troth.meta.trials.truth import ACCURACY, F1, PRECISION, RECALL
from troth.readers import source
from troth.stats import intervals, resampling
from troth.stats.estimates import Cell, Resampling, SystemCells, build_result
from troth.storage.runs import check_out

CORPUS = Group("corpus")  # pairs weighted as the run has them

AnyKey = SheetKey | ratings.DialogueKey | ratings.ResponseKey
Votes = Mapping[str, Sequence[Answers]]  # by item: the answers of each annotator
KEYS: dict[str, Any] = {
    SGSACC_STUDY.name: SheetKey,
    FGA_STUDY.name: ratings.DialogueKey,
    PMI_STUDY.name: ratings.ResponseKey,
}
TAKE = "take the key that was written with the sheet"


class Vote(NamedTuple):
    """A pair with the answer of each annotator."""

    id: str
    faithful: tuple[bool, ...]

    @property
    def majority(self) -> bool | None:
        yes = sum(self.faithful)
        return None if 2 * yes == len(self.faithful) else 2 * yes > len(self.faithful)


class Disagreement(Finding, frozen=True, tag="disagreement"):
    """A pair on which the metric and most annotators differ."""

    id: str
    dialogue: str
    turn: int
    words: str  # the act in words
    previous: str
    utterance: str
    metric: bool  # whether the metric calls it faithful
    votes: tuple[bool, ...]


class _Agreement(NamedTuple):
    """Scores of a study, their metrics, notes, findings, cells for the rows, and the number of ties."""

    scores: list[Score]
    metrics: list[Metric]
    notes: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    cells: Sequence[Cell] = ()
    undecided: int | None = None


def agree(
    *filled: names.Path,
    key: names.Path | None = None,
    resamples: int = 1000,
    seed: int = 0,
    out: names.Path | None = None,
) -> Result:
    """Compares filled sheets, one per annotator, with each other and, with the key, with the metric.

    The findings of the result: for SGSAcc the pairs on which the metric and the majority differ, for PMI-Decode the
    differences between the two systems.
    """
    files = [names.path_of(sheet) for sheet in filled]
    if not files:
        raise UserError("no sheet is given", hint="one filled sheet per annotator")
    if out is not None:
        check_out(out)
    key_path = None if key is None else names.path_of(key)
    known = None if key_path is None else load_key(key_path)
    if len(set(map(os.path.realpath, files))) < len(files):
        raise UserError("the same sheet is given twice", hint="one filled sheet per annotator")
    study = sheets.detect_study(files[0]) if known is None else _study(known)
    read = {file: sheets.read_answers(file, study) for file in files}
    wanted = read[files[0]] if known is None else _items(known)
    sheets.check_items(read, key_path or files[0], wanted, study.item)
    votes = {id: [sheet_answers[id] for sheet_answers in read.values()] for id in wanted}
    agreement = _agreement(votes, known, study, Resampling(resamples, seed))
    system = PEOPLE if known is None or isinstance(known, ratings.ResponseKey) else known.system
    counts = {"annotators": len(files), f"{study.item}s": len(votes)}
    if agreement.undecided is not None:
        counts["undecided"] = agreement.undecided
    return build_result(
        "meta agree",
        [SystemCells(system, (), (), counts, further=agreement.scores, row_cells=agreement.cells)],
        Resampling(resamples, seed),
        metrics=agreement.metrics,
        notes=[Note(text) for text in agreement.notes],
        findings=agreement.findings,
        arguments={"sheets": files, "key": key_path, "study": study.name, "resamples": resamples, "seed": seed},
    ).save_if(out)


def _agreement(votes: Votes, key: AnyKey | None, study: Study, how: Resampling) -> _Agreement:
    if study == FGA_STUDY:
        dialogues = key if isinstance(key, ratings.DialogueKey) else None
        return _Agreement(*ratings.dialogue_scores(votes, dialogues, how))
    if study == PMI_STUDY:
        responses = key if isinstance(key, ratings.ResponseKey) else None
        differences = [] if responses is None else ratings.compare_systems(votes, responses, how)
        return _Agreement(*ratings.response_scores(votes, responses, how), findings=differences)
    return _score_faithfulness(votes, key if isinstance(key, SheetKey) else None, how)


def _score_faithfulness(votes: Votes, key: SheetKey | None, how: Resampling) -> _Agreement:
    """SGSAcc's verdicts against the majority, and kappa."""
    asked = [Vote(id, tuple(answer == ("yes",) for answer in answers)) for id, answers in votes.items()]
    raters = len(asked[0].faithful)
    decided = [] if key is None else [(vote, key.pairs[vote.id]) for vote in asked if vote.majority is not None]
    cells = [] if key is None else list(_cells(decided, key, raters))
    ties = [vote.id for vote in asked if vote.majority is None]
    items = [RatedItem(tuple("yes" if yes else "no" for yes in vote.faithful), *_cluster(vote, key)) for vote in asked]
    system = PEOPLE if key is None else key.system
    return _Agreement(
        [*_scores(system, cells, decided), kappa(items, SGSACC_STUDY.categories, how, _recipe(raters, key))],
        [*{cell.metric.name: cell.metric for cell in cells}.values(), KAPPA],
        [f"{len(ties)} undecided (ties, left out: {', '.join(ties[:5])})"] if ties and key else [],
        [
            Disagreement(
                vote.id, row.dialogue, row.turn, row.words, row.previous, row.utterance, row.faithful, vote.faithful
            )
            for vote, row in decided
            if vote.majority != row.faithful
        ],
        cells,
        len(ties),
    )


class _Tag(msgspec.Struct):
    study: str = SGSACC_STUDY.name  # a key of SGSAcc does not name it


def load_key(path: str) -> AnyKey:
    """Reads a sheet's key, and checks that it is as it was written: the marks of its ids, and its counts."""
    document = source.first(path)
    with reading(path, "not a sheet's key", hint="troth meta annotate writes it beside the sheet, as NAME.key.json"):
        tag = msgspec.json.decode(document.data, type=_Tag).study
        key: AnyKey = msgspec.json.decode(document.data, type=KEYS.get(tag, SheetKey))
    item = _study(key).item
    if not _items(key):
        raise UserError(f"no {item} in it", file=path, hint=TAKE)
    marked = mark_pairs(key.pairs.values()) if isinstance(key, SheetKey) else key.mark
    if {sheets.mark_of(id) for id in _items(key)} != {marked}:
        raise UserError(f"its {item}s are not those that its ids were made for", file=path, hint=TAKE)
    if isinstance(key, SheetKey):
        _check_sides(key, path)
    elif isinstance(key, ratings.ResponseKey):
        key.check(path)
    return key


def _check_sides(key: SheetKey, path: str) -> None:
    for side, there in ((True, key.faithful), (False, key.unfaithful)):
        drawn = sum(row.faithful == side for row in key.pairs.values())
        if there < drawn or (there and not drawn):
            name = "faithful" if side else "unfaithful"
            raise UserError(f"{drawn} {name} pairs drawn of {there} cannot be", file=path, hint=TAKE)


def _study(key: AnyKey) -> Study:
    return SGSACC_STUDY if isinstance(key, SheetKey) else STUDIES[key.study]


def _items(key: AnyKey) -> Mapping[str, Any]:
    return key.pairs if isinstance(key, SheetKey) else key.items


def _cluster(vote: Vote, key: SheetKey | None) -> tuple[str, int]:
    """The dialogue of a pair, and the stratum that it was drawn from."""
    return (vote.id, 0) if key is None else (key.pairs[vote.id].dialogue, int(key.pairs[vote.id].faithful))


def _scores(system: str, cells: Sequence[Cell], decided: Sequence[tuple[Vote, SheetRow]]) -> Iterator[Score]:
    """Each share with Wilson's interval, by the spread between dialogues within the strata of the sheet."""
    owners = [(int(row.faithful), row.dialogue) for _, row in decided]
    order = sorted(set(owners))
    stratum_index = np.array([order.index(owner) for owner in owners], dtype=np.int64)
    for cell in cells:
        metric, n = cell.metric, len(decided)
        num, den = (np.bincount(stratum_index, side, len(order)) for side in (cell.parts.num, cell.parts.den))
        (value,) = resampling.ratio(num, den).tolist()
        none = np.isnan(value)
        (bounds,) = intervals.share(num, den, strata=[stratum for stratum, _ in order])
        estimate = Estimate(None if none else value, bounds.low, bounds.high, n, None if none else bounds.reason)
        yield make_score(system, metric, estimate, cell.recipe, group=cell.group, reason=cell.reason)


def _cells(decided: Sequence[tuple[Vote, SheetRow]], key: SheetKey, raters: int) -> Iterator[Cell]:
    keys = [(row.dialogue, row.turn, vote.id) for vote, row in decided]
    recipe = _recipe(raters, key) | {"ties": "out", "metric": f"[{key.recipe}]"}
    for group in (ALL, CORPUS):
        weights = _weights(key) if group == CORPUS else {True: 1.0, False: 1.0}
        for metric in (ACCURACY, PRECISION, RECALL, F1):
            fractions = [(metric.compute(vote.majority, row.faithful), weights[row.faithful]) for vote, row in decided]
            parts = Parts.from_fractions([(num * weight, den * weight) for (num, den), weight in fractions], keys)
            yield Cell(metric.on(key.metric), parts, recipe, group, "no pair to count", n=len(decided))


def _recipe(raters: int, key: SheetKey | None) -> dict[str, object]:
    return {"annotators": raters} | ({} if key is None else {"of": key.of, "seed": key.seed})


def _weights(key: SheetKey) -> dict[bool, float]:
    """How many pairs a drawn pair represents: its side's share of the run by its side's share of the sheet."""
    weights = {}
    for side, there in ((True, key.faithful), (False, key.unfaithful)):
        drawn = sum(row.faithful == side for row in key.pairs.values())
        weights[side] = (there / (key.faithful + key.unfaithful)) / (drawn / len(key.pairs)) if drawn else 0.0
    return weights
