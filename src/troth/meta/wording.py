"""How well true acts are told from tampered ones, whatever the schema's wording (SGSAcc, appendix A, table 2).

True: every act of a gold system turn, against the gold utterance. Tampered: the same act with another value. An act is
accepted iff any of its candidate sentences is entailed, and a tampered act likewise by *its* candidates. Five judges
see the same cases: the model by the utterance alone (`plain`), with the retry in context (`retry`), each of them with
all values present (`gated_plain`, `gated`), and the presence of values with no model at all (`rule`).

Requests and fixed acts have no value to tamper with. Their negatives are acts that the turn lacks: a request for
another slot of the service, another fixed act. The paper has none of these, so they stand in rows of their own and in
`all+absent`, and not in `all`.

Turns are drawn, values tampered with and kinds told by the original schema; a variant only changes the words of the
references. So every variant judges the same cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from troth import models as backends
from troth import readers
from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Schema, Service
from troth.core.score import Score
from troth.core.version import __version__
from troth.models import Nli
from troth.perturb.schemas.files import load, published, variant_names
from troth.perturb.schemas.renaming import Renaming
from troth.readers.decode import decode
from troth.readers.source import Document
from troth.responses import references, sgsacc, tamper
from troth.responses.sample import Counted, by_lot, descriptions, distinct, lacking, shares
from troth.responses.score import acts_only
from troth.responses.sgsacc import Due, Progress, Unit
from troth.tracking.scores import fingerprint

if TYPE_CHECKING:
    import polars as pl

JUDGES = ("plain", "retry", "gated_plain", "gated", "rule")
ORIGINAL = "original"

Sort = Literal["true", "tampered", "absent"]


class Case(msgspec.Struct, frozen=True):
    """One act put to one gold utterance; under the original schema's names."""

    dialogue: str
    turn: int
    place: int  # of the act in its turn, which a negative shares with the act it was made from
    service: str
    act: Act
    kind: str
    sort: Sort
    present: bool  # what the rule with no model says


class Judged(msgspec.Struct, frozen=True):
    """A case under one wording of the schema."""

    wording: str
    case: Case
    plain: bool
    retry: bool

    def accepted(self, judge: str) -> bool:
        if judge == "rule":
            return self.case.present
        entailed = self.plain if judge.endswith("plain") else self.retry
        return entailed and (self.case.present or not judge.startswith("gated"))


@dataclass(frozen=True)
class Judgement:
    """Scores of every judge under every wording (system: `v5/gated`), and the cases that they come from."""

    scores: list[Score]
    judged: list[Judged]
    turns: int
    notes: list[str] = field(default_factory=list)  # what the user should know besides

    def score(self, metric: str, group: str = "all", system: str = f"{ORIGINAL}/retry") -> Score:
        for score in self.scores:
            if (score.metric, score.group, score.system) == (metric, group, system):
                return score
        raise UserError(f"no score '{metric}' for group '{group}' of '{system}'")

    def rows(self) -> pl.DataFrame:
        """One row a case and judge: whether the act is true of its turn, and whether it was accepted."""
        import polars as pl

        made = [
            {
                "system": f"{one.wording}/{judge}",
                "metric": "accepted",
                "dialogue": one.case.dialogue,
                "turn": one.case.turn,
                "service": one.case.service,
                "act": one.case.act.act,
                "slot": one.case.act.slot,
                "values": list(one.case.act.values),
                "kind": one.case.kind,
                "sort": one.case.sort,
                "num": float(one.accepted(judge)),
                "den": 1.0,
            }
            for one in self.judged
            for judge in JUDGES
        ]
        return pl.DataFrame(made, schema_overrides={"values": pl.List(pl.String), "turn": pl.Int64})


def judge(
    dialogues: Sequence[Dialogue],
    schema: Schema,
    nli: Nli,
    *,
    variants: Mapping[str, Schema] | None = None,
    turns: int | None = 2000,
    seed: int = 0,
    train: frozenset[str] | None = None,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> Judgement:
    """Table 2 on `turns` system turns of gold dialogues (None: all), drawn by the seed and their ids.

    `variants`: other wordings of the schema by name, their elements in the same places; the original is always judged.
    `train`: the training services' names, which tell seen from unseen. Values to tamper with come from all `dialogues`.
    """
    twice = [name for name, times in Counter(dialogue.id for dialogue in dialogues).items() if times > 1]
    if twice:
        raise UserError("comes twice", dialogue=twice[0], hint="ids must be unique; remove one")
    made, names = cases(dialogues, schema, turns=turns, seed=seed)
    wordings: dict[str, tuple[Schema, Renaming | None]] = {ORIGINAL: (schema, None)}
    for name, variant in (variants or {}).items():
        if name == ORIGINAL:
            raise UserError(f"a variant cannot be called '{ORIGINAL}'", hint="name it otherwise")
        wordings[name] = (variant, Renaming.between(schema, variant))
    judged: list[Judged] = []
    for number, (name, (words, renaming)) in enumerate(wordings.items()):
        step = _step(progress, number, len(wordings))
        judged += _judged(name, made, names, words, renaming, nli, progress=step)
    recipe = Recipe(nli.name, {name: references.fingerprint(words) for name, (words, _) in wordings.items()},
                    len(names), seed, fingerprint(train or ()))  # fmt: skip
    scores = list(_scores(judged, train, recipe, resamples=resamples))
    return Judgement(scores, judged, len(names), _notes({name: words for name, (words, _) in wordings.items()}, nli))


def _notes(schemas: Mapping[str, Schema], nli: Nli) -> list[str]:
    made = [
        note if name == ORIGINAL else f"{name}: {note}"
        for name, schema in schemas.items()
        for note in lacking(descriptions(schema))
    ]
    return made + ([f"{nli.cut} pairs were longer than the model reads, and were cut"] if nli.cut else [])


def wording(
    gold: str,
    *,
    folder: str | None = None,
    variants: str = "v1..v5",
    schema: str | None = None,
    train_schema: str | None = None,
    nli: str | Nli = "embedded",
    cache: str | None = backends.USUAL,
    turns: int | None = 2000,
    format: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judgement:
    """The same over files: gold with its schema, and SGD-X's `folder` with those of its `variants`, if there is one."""
    source = load(gold, schema)
    other = {}
    if folder is not None:
        for one in published(source, folder, variant_names(variants)):
            document = Document(f"{folder}/{one.name}/schema.json", one.files["schema.json"])
            other[one.name] = {service.name: service for service in decode(document, list[Service])}
    dialogues = []
    for file, whole in distinct(gold, format):
        dialogue = acts_only(whole)
        try:
            for _ in sgsacc.units(dialogue, source.schema):  # tells what is wrong where the file is known
                pass
        except UserError as error:
            raise error.at(file=file) from error
        dialogues.append(dialogue)
    train = frozenset(readers.schema(train_schema)) if train_schema else None
    model = backends.nli(nli, cache=cache) if isinstance(nli, str) else nli
    return judge(
        dialogues, source.schema, model, variants=other, turns=turns, seed=seed, train=train, resamples=resamples,
        progress=progress,
    )  # fmt: skip


def _step(progress: Progress | None, number: int, wordings: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, wordings * total)


# -- cases -------------------------------------------------------------------------------------------------------------


def cases(
    dialogues: Sequence[Dialogue], schema: Schema, *, turns: int | None = 2000, seed: int = 0
) -> tuple[list[list[Case]], list[Unit]]:
    """The cases of each drawn turn, and the turns."""
    every = [
        unit for dialogue in dialogues for unit in sgsacc.units(dialogue, schema) if unit.due and unit.gold.strip()
    ]
    if not every:
        raise UserError("no system turn has acts and a text", hint="SGD has them: actions of the system's frames")
    wanted = {(unit.dialogue, unit.turn) for unit in by_lot(every, seed)[:turns]}
    drawn = [unit for unit in every if (unit.dialogue, unit.turn) in wanted]
    pool = tamper.pool(dialogues)
    return [list(_cases(unit, pool, seed)) for unit in drawn], drawn


def _cases(unit: Unit, pool: tamper.Pool, seed: int) -> Iterator[Case]:
    twins = sgsacc.negatives(unit, pool, seed=seed)
    for place, due in enumerate(unit.due):
        if not references.candidates(*due):
            continue  # no rule for such an act
        kind = tamper.kind(*due)

        def case(sort: Sort, other: Due, place: int = place, kind: str = kind) -> Case:
            there = tamper.present(other.act, other.service, unit.gold)
            return Case(unit.dialogue, unit.turn, place, other.service.name, other.act, kind, sort, there)

        yield case("true", due)
        yield from (case("tampered", twin) for twin in twins[place])
        lacking = _absent(unit, due, seed, place)
        if lacking is not None:
            yield case("absent", lacking)


def _absent(unit: Unit, due: Due, seed: int, place: int) -> Due | None:
    """An act of the same sort that the turn lacks, for acts that have no value."""
    rng = sgsacc.generator(seed, "absent", unit.dialogue, unit.turn, place)
    mine = [other.act for other in unit.due if other.service.name == due.service.name]
    if due.act.act == "REQUEST":
        named = {act.slot for act in mine}
        free = [slot.name for slot in due.service.slots if slot.name not in named]
        return Due(Act("REQUEST", rng.choice(free)), due.service) if free else None
    if due.act.act in references.FIXED:
        done = {other.act.act for other in unit.due}
        others = [act for act in references.FIXED if act not in done]
        return Due(Act(rng.choice(others)), due.service) if others else None
    return None


# -- judging -----------------------------------------------------------------------------------------------------------


def _judged(
    wording: str,
    made: Sequence[Sequence[Case]],
    units: Sequence[Unit],
    schema: Schema,
    renaming: Renaming | None,
    nli: Nli,
    *,
    progress: Progress | None,
) -> Iterator[Judged]:
    for start in range(0, len(units), sgsacc.CHUNK):
        flat = [
            (case, unit)
            for unit, found in zip(units[start : start + sgsacc.CHUNK], made[start : start + sgsacc.CHUNK], strict=True)
            for case in found
        ]
        questions = [sgsacc.question(_worded(case, schema, renaming), unit.gold, unit.previous) for case, unit in flat]
        for (case, _), answer in zip(flat, sgsacc.ask(nli, questions), strict=True):
            yield Judged(wording, case, answer.entailed_plain, answer.entailed)
        if progress is not None:
            progress(min(start + sgsacc.CHUNK, len(units)), len(units))


def _worded(case: Case, schema: Schema, renaming: Renaming | None) -> Due:
    """The act under the names of a variant."""
    if renaming is None:
        return Due(case.act, schema[case.service])
    names, act = renaming.names(case.service), case.act
    slot = names.act(act.act, act.slot) if act.slot else ""
    values, canonical = (tuple(names.values(act.act, act.slot, some)) for some in (act.values, act.canonical_values))
    return Due(Act(act.act, slot, values, canonical), schema[names.service])


# -- scores ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """What moves the numbers."""

    nli: str
    schemas: dict[str, str]  # by wording, a fingerprint of its schema
    turns: int
    seed: int
    train: str  # a fingerprint of the training services

    def signature(self, metric: str, judge: str, wording: str, group: str, n: int) -> str:
        """Cases are made under the original schema; the rule sees nothing else, and no model."""
        own = self.schemas[ORIGINAL if judge == "rule" else wording]
        parts = [metric.upper(), f"judge:{judge}", f"wording:{wording}"]
        parts += [f"nli:{self.nli}", f"refs:{references.RULES}"] if judge != "rule" else []
        parts += [f"schema:{own}"] + ([f"cases:{self.schemas[ORIGINAL]}"] if own != self.schemas[ORIGINAL] else [])
        parts += ["negatives:1", f"turns:{self.turns}", f"seed:{self.seed}"]
        parts += [f"group:{group}"] if group != "all" else []
        parts += [f"train:{self.train}"] if group.startswith(("seen", "unseen")) else []
        return "|".join([*parts, f"n:{n}", f"v:{__version__}"])


def _scores(
    judged: Sequence[Judged], train: frozenset[str] | None, recipe: Recipe, *, resamples: int
) -> Iterator[Score]:
    labels: list[tuple[str, str, str, str]] = []
    cells: list[list[Counted]] = []
    for wording in dict.fromkeys(one.wording for one in judged):
        groups = _groups([one for one in judged if one.wording == wording], train)
        for judge in JUDGES:
            for group, mine in groups.items():
                for metric, units in _metrics(mine, judge, group):
                    labels.append((wording, judge, metric, group))
                    cells.append(units)
    for label, cell, ratio in zip(labels, cells, shares(cells, resamples=resamples), strict=True):
        (wording, judge, metric, group), n = label, len(cell)
        signature = recipe.signature(metric, judge, wording, group, n)
        reason = None if ratio.value is not None else "nothing was accepted" if metric == "precision" else "no such act"
        yield Score(f"{wording}/{judge}", metric, group, ratio.value, ratio.low, ratio.high, n, signature, reason)


def _groups(judged: Sequence[Judged], train: frozenset[str] | None) -> dict[str, list[Judged]]:
    """The headline without absent acts, with them, and every kind with the negatives that it has; then seen, unseen."""
    made: dict[str, list[Judged]] = {}
    for side in ("", "seen", "unseen") if train is not None else ("",):
        mine = [one for one in judged if not side or (one.case.service in (train or ())) == (side == "seen")]
        dash = f"{side}/" if side else ""
        made[side or "all"] = [one for one in mine if one.case.sort != "absent"]
        made[f"{dash}all+absent"] = mine
        for kind in get_args(tamper.Kind):
            made[f"{dash}kind:{kind}"] = [one for one in mine if one.case.kind == kind]
    return {group: found for group, found in made.items() if found}


def _metrics(judged: Sequence[Judged], judge: str, group: str) -> Iterator[tuple[str, list[Counted]]]:
    """Every metric as a ratio of sums: F1 is twice the accepted true acts over the accepted and the true ones."""
    told = [(one.case.dialogue, one.case.sort == "true", one.accepted(judge)) for one in judged]
    yield "f1", [(name, 2.0 * (true and taken), float(true) + taken) for name, true, taken in told]
    yield "precision", [(name, float(true), 1.0) for name, true, taken in told if taken]
    yield "recall", [(name, float(taken), 1.0) for name, true, taken in told if true]
    yield "false_accepts", [(name, float(taken), 1.0) for name, true, taken in told if not true]
    if group in ("all", "seen", "unseen"):
        yield from _validation(judged, judge)


def _validation(judged: Sequence[Judged], judge: str) -> Iterator[tuple[str, list[Counted]]]:
    """Gold passes: the true act is accepted and its tampered twin is not. A turn passes iff all its acts do."""
    acts: dict[tuple[str, int, int], bool] = {}
    turns: dict[tuple[str, int], bool] = {}
    for one in judged:
        key = (one.case.dialogue, one.case.turn, one.case.place)
        acts[key] = acts.get(key, True) and one.accepted(judge) == (one.case.sort == "true")
    for (dialogue, turn, _), passes in acts.items():
        turns[dialogue, turn] = turns.get((dialogue, turn), True) and passes
    yield "valid_acts", [(key[0], float(passes), 1.0) for key, passes in acts.items()]
    yield "valid_turns", [(key[0], float(passes), 1.0) for key, passes in turns.items()]
