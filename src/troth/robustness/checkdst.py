"""CheckDST over files: one system on the original set and on perturbed ones, joined by dialogue and turn."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.robustness import consistency
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Scorer
from troth.tracking.metrics import Mask, Parts
from troth.tracking.pool import Gathers, feed
from troth.tracking.profiles import Profile
from troth.tracking.score import choose
from troth.tracking.scores import Ratio, System, part_rows, ratios, system

if TYPE_CHECKING:
    import polars as pl

    from troth.tracking.dialogues import Keeper

Key = tuple[str, int, str]


class Flip(msgspec.Struct, frozen=True):
    """A unit that is right in the one set and wrong in the other, with the words that differ."""

    perturbation: str
    dialogue: str
    turn: int
    service: str | None
    right: str  # "before" or "after": where it is right
    text: str
    twin: str
    changed: list[str]  # words that only the one or the other has: "-london", "+mbadgceir"


@dataclass(frozen=True)
class Set:
    """One test set with a system's predictions for it."""

    name: str
    scored: System
    notes: consistency.Notes
    jga: Parts
    keys: list[Key]


class Cell(NamedTuple):
    """A metric over the units of a set, with what belongs into its signature."""

    metric: str
    parts: Parts
    recipe: str
    set: str


@dataclass(frozen=True)
class Robustness:
    scores: list[Score]
    flips: list[Flip]
    unpaired: dict[str, tuple[int, int]]  # per perturbation: units of the original without a twin, twins without one
    sets: list[Set]
    cells: list[Cell]
    keepers: dict[str, Keeper] = field(default_factory=dict)  # by set: the dialogues, where they were to be kept

    def rows(self) -> pl.DataFrame:
        """One row a unit and metric, under the names that the scores have: their sums are the scores."""
        import polars as pl

        sets = {one.name: one.scored for one in self.sets}
        dialogues = all_dialogues(self.sets)
        frames = []
        for metric, parts, _, name in self.cells:
            one = sets[name]
            frames.append(part_rows(one.name, metric, parts, dialogues, one.services))
        return pl.concat(frames)

    def dialogues(self) -> Iterator[bytes]:
        """The lines of `dialogues.jsonl.gz`, set by set."""
        from troth.storage.explorer import Header, lines
        from troth.tracking.dialogues import Scored, kept

        found = [(one, self.keepers[one.name]) for one in self.sets if one.name in self.keepers]
        every = (
            dialogue
            for one, keeper in found
            for dialogue in kept([Scored(keeper, one.scored, one.scored.name)], set=one.name)
        )
        return lines(Header(), every)


def checkdst(
    original: str,
    perturbed: Mapping[str, str],
    *,
    name: str = "system",
    profile: str | Profile | None = None,
    schema: str | None = None,
    nohf: consistency.NohfRule = "default",
    coref: consistency.CorefRule = "annotated",
    slots: frozenset[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    keep: bool = False,
) -> Robustness:
    """Score a system on its test set and on perturbed twins of it.

    Each path is a file that holds gold and prediction together, or `GOLD,PRED`. `perturbed` maps a name (NED, PI, …)
    to a path. `slots`: which hold named entities, for NoHF. `keep`: the dialogues stay at hand for `dialogues`.
    """
    if not perturbed:
        raise UserError("no perturbed set is named", hint="for example NED=PATH")
    sets = []
    keepers: dict[str, Keeper] = {}
    for label, path in {"": original, **perturbed}.items():
        gold, _, pred = path.partition(",")
        schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
        chosen = _profile(profile, gold, pred or None, schemas)

        def make(chosen: Profile = chosen, schemas: Schema | None = schemas) -> list[Gathers]:
            made: list[Gathers] = [
                Scorer(chosen, schemas),
                consistency.Notes(nohf=nohf, coref=coref, slots=slots),
            ]
            return [*made, _keeper(chosen, schemas)] if keep else made

        scorer, notes, *rest = feed(make, gold, pred or None, workers=workers)
        if rest:
            keepers[label] = cast("Keeper", rest[0])
        sets.append(_set(label, system(name, cast(Scorer, scorer), schemas), cast(consistency.Notes, notes)))
    return replace(_compare(sets, name, nohf, coref, resamples=resamples, seed=seed), keepers=keepers)


def _keeper(profile: Profile, schema: Schema | None) -> Keeper:
    from troth.tracking.dialogues import Keeper

    return Keeper(profile, schema)


def _profile(given: str | Profile | None, gold: str, pred: str | None, schema: Schema | None) -> Profile:
    from troth.tracking.profiles import profile as find

    if given is None:
        return choose(gold, pred, schema, (None, None))
    return find(given) if isinstance(given, str) else given


def _set(label: str, scored: System, notes: consistency.Notes) -> Set:
    parts = aggregate.metric("jga")(scored.frames)
    # A unit is right or wrong: under fuzzy matching, right is a joint score of 1.
    exact = parts._replace(num=(parts.num == 1.0).astype(np.float64))
    services = [*scored.services, ""]
    keys = [
        (scored.dialogues[dialogue], turn, services[service])
        for dialogue, turn, service in zip(
            parts.dialogue.tolist(), parts.turn.tolist(), parts.service.tolist(), strict=True
        )
    ]
    return Set(label, scored, notes, exact, keys)


def _compare(sets: Sequence[Set], name: str, nohf: str, coref: str, *, resamples: int, seed: int) -> Robustness:
    first = sets[0]
    dialogues = all_dialogues(sets)
    index = {dialogue: position for position, dialogue in enumerate(dialogues)}
    cells: list[Cell] = []
    flips: list[Flip] = []
    unpaired: dict[str, tuple[int, int]] = {}
    for one in sets:
        suffix = f":{one.name}" if one.name else ""
        # Under fuzzy matching this is not JGA as `dst` has it: a unit is right here, or it is not.
        recipe = one.scored.frames.profile.signature() + "|right:exact"
        cells.append(Cell(f"jga{suffix}", _placed(one.jga, one, index), recipe, one.name))
        if one.name:
            pairs = consistency.paired(first.keys, one.keys)
            unpaired[one.name] = (pairs.only_first, pairs.only_second)
            right, twin = (side.jga.num[at] == 1.0 for side, at in ((first, pairs.first), (one, pairs.second)))
            both, either = consistency.conditional(right, twin)
            at = _placed(first.jga.take(pairs.first), first, index)
            cells.append(Cell(f"cjga{suffix}", at._replace(num=both, den=either), recipe, ""))
            cells.append(Cell(f"cjga_all{suffix}", at._replace(num=both, den=np.ones(len(both))), recipe, ""))
            flips += _flips(first, one, pairs, right, twin)
        cells.append(Cell(f"nohf{suffix}", _placed(one.notes.hallucination(), one, index), f"nohf:{nohf}", one.name))
        if not one.name:
            pointing = one.notes.pointing()
            chosen = _pointing(one, pointing)
            cells.append(Cell("coref_jga", _placed(chosen, one, index), f"{recipe}|coref:{coref}", one.name))
    found = ratios([cell.parts for cell in cells], dialogues, resamples=resamples, seed=seed)
    scores = [_score(name, cell.metric, ratio, cell.recipe) for cell, ratio in zip(cells, found, strict=True)]
    return Robustness(scores, flips, unpaired, list(sets), cells)


def all_dialogues(sets: Sequence[Set]) -> list[str]:
    return sorted({dialogue for one in sets for dialogue in one.scored.dialogues})


def _placed(parts: Parts, one: Set, index: Mapping[str, int]) -> Parts:
    """The same parts with dialogues numbered over all sets together."""
    numbers = np.array([index[dialogue] for dialogue in one.scored.dialogues], dtype=np.int64)
    return parts._replace(dialogue=numbers[parts.dialogue])


def _pointing(one: Set, pointing: Mapping[tuple[int, int], bool] | None) -> Parts:
    keys = zip(one.jga.dialogue.tolist(), one.jga.turn.tolist(), strict=True)
    chosen = np.array([bool(pointing and pointing.get(key)) for key in keys], dtype=bool)
    return one.jga.take(chosen)


def _score(name: str, metric: str, ratio: Ratio, recipe: str) -> Score:
    reason = None
    if ratio.value is None:
        reason = {
            "coref_jga": "no turn is annotated for coreference; --coref patterns looks for it",
            "nohf": "no named entity is predicted",
        }.get(metric.partition(":")[0], "no unit to score")
    signature = f"{metric.upper()}|{recipe}|n:{ratio.n}|v:{__version__}"
    return Score(name, metric, "all", ratio.value, ratio.low, ratio.high, ratio.n, signature, reason)


def _flips(first: Set, other: Set, pairs: consistency.Pairs, right: Mask, twin: Mask) -> list[Flip]:
    """Both directions, with the words that changed in the turn itself."""
    texts, twins = (one.notes.said() for one in (first, other))
    made = []
    for position in np.flatnonzero(right != twin):
        at, other_at = int(pairs.first[position]), int(pairs.second[position])
        dialogue, turn, service = first.keys[at]
        text = texts.get((int(first.jga.dialogue[at]), turn), "")
        changed = twins.get((int(other.jga.dialogue[other_at]), turn), "")
        where = "before" if right[position] else "after"
        words = changed_words(text, changed)
        made.append(Flip(other.name, dialogue, turn, service or None, where, text, changed, words))
    return made


def changed_words(text: str, twin: str) -> list[str]:
    """Words that one text has and the other has not, in order, marked with - and +."""
    found = difflib.ndiff(text.split(), twin.split())
    return [line[0] + line[2:] for line in found if line[0] in "+-"]
