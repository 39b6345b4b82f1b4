"""How well SGSAcc tells true acts from tampered ones, whatever the schema's wording (SGSAcc, appendix A, table 2).

True: every act of a gold system turn, against the gold utterance. Tampered: the same act with another value. An act,
true or tampered, is accepted if any of its candidate sentences is entailed. Five judges see the same cases: the model
by the utterance alone (`plain`), with the retry in context (`retry`), each of them with all values present
(`gated_plain`, `gated`), and the presence of values with no model at all (`rule`).

Requests and fixed acts have no value to tamper with. Their negatives are acts that the turn lacks, which the paper does
not have: they count in `all+absent` and by kind, not in `all`. Cases are made under the original schema; a variant only
changes the words of the references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from troth.core import groups
from troth.core.data_options import train_schema_option
from troth.core.errors import UserError
from troth.core.groups import ALL, SEEN, UNSEEN, Group
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.core.options import keywords, option, resolve
from troth.core.parts import Parts
from troth.core.randomness import generator
from troth.core.records import Act, Gold, Schema, Service
from troth.core.result import Result
from troth.meta.trials.trial import Trial, TrialSettings
from troth.meta.trials.truth import F1, FALSE_ACCEPTS, PRECISION, RECALL
from troth.perturb.schemas.files import SchemaSource, load_published, variant_names
from troth.perturb.schemas.renaming import Renaming
from troth.readers.decode import decode
from troth.readers.source import Document
from troth.responses import corpus, references, sgsacc, tamper
from troth.responses.sgsacc import DueAct, SystemTurn
from troth.stats.estimates import Cell

ORIGINAL = "original"

Sort = Literal["true", "tampered", "absent"]


@dataclass(frozen=True)
class WordingSettings(TrialSettings):
    folder: Path | None = option(
        None, "Folder with the variants' schemas, as in SGD-X: FOLDER/v1/dev/schema.json.", "FOLDER", flag="--from"
    )
    variants: str | Mapping[str, Schema] = option("v1..v5", "Variants in the folder, for example v1,v3.", "NAMES")
    train_schema: Path | Schema | None = train_schema_option()


@keywords(WordingSettings)
def wording(gold: Gold, **options: Any) -> Result:
    """Judges true and tampered acts under every wording of the schema (table 2 of the SGSAcc paper).

    `gold`: a path, or dialogues in memory. Without `folder` and without variants in memory, the original schema is
    judged alone. Systems of the result are wording and judge: `v5/gated`. The options are those of `WordingSettings`.

    >>> from troth import demo
    >>> result = wording(demo.path("gold"), nli="fake", turns=50, resamples=50)
    >>> f"{result.score('f1', system='original/rule').value:.3f}"
    '0.970'
    """
    settings = resolve(WordingSettings, options)
    trial = Trial("meta wording", gold, settings)
    schemas = {ORIGINAL: trial.gold.schema, **_read_variants(trial, settings)}
    seen = None if settings.train_schema is None else frozenset(corpus.find_schema(settings.train_schema, gold) or ())
    turns = build_cases(trial)
    judged = {name: _judge_cases(trial, turns, schema, name) for name, schema in schemas.items()}
    return trial.result(
        {
            f"{name}/{judge}": list(_cells(cases, judge, _recipe(trial, len(turns), judge, name, schemas[name]), seen))
            for name, cases in judged.items()
            for judge in JUDGES
        },
        {"turns": len(turns)},
        notes=[
            note if name == ORIGINAL else f"{name}: {note}"
            for name, schema in schemas.items()
            for note in corpus.description_notes(corpus.classify_descriptions(schema))
        ],
        row_cells={
            f"{name}/{judge}": [_accepted_cell(cases, judge)] for name, cases in judged.items() for judge in JUDGES
        },
    )


def _read_variants(trial: Trial, settings: WordingSettings) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    if not isinstance(settings.variants, str):
        schemas = dict(settings.variants)
    elif settings.folder is not None:
        source, folder = SchemaSource("", "schema", trial.gold.schema, None), path_of(settings.folder)
        for variant in load_published(source, folder, variant_names(settings.variants)):
            document = Document(f"{folder}/{variant.name}/schema.json", variant.files["schema.json"])
            schemas[variant.name] = {service.name: service for service in decode(document, list[Service])}
    if ORIGINAL in schemas:
        raise UserError(f"a variant cannot be called '{ORIGINAL}'", hint="give it another name")
    return schemas


class ActCase(NamedTuple):
    """One act put to one gold utterance; under the original schema's names."""

    turn: SystemTurn
    place: int  # of the act in its turn, which a negative shares with the act that it was made from
    due: DueAct
    kind: tamper.ActKind
    sort: Sort
    present: bool  # the verdict of the rule with no model


def build_cases(trial: Trial) -> list[list[ActCase]]:
    drawn = {turn.key for turn in trial.turns()[: trial.settings.turns]}
    if not drawn:
        raise UserError("no system turn has acts and a text", hint="SGD has them: actions of the system's frames")
    pool = tamper.collect_values(trial.gold.dialogues)
    turns = [turn for turn in trial.gold.turns if turn.key in drawn]
    return [list(_turn_cases(turn, pool, trial.settings.seed)) for turn in turns]


def _turn_cases(turn: SystemTurn, pool: tamper.Pool, seed: int) -> Iterator[ActCase]:
    twins = sgsacc.make_negatives(turn, pool, seed=seed)
    for index, due in enumerate(turn.acts):
        if not references.candidates(*due):
            continue  # no rule for such an act
        sorts: list[tuple[Sort, DueAct | None]] = [("true", due), *(("tampered", twin) for twin in twins[index])]
        sorts.append(("absent", _absent_act(turn, due, seed, index)))
        for sort, other in sorts:
            if other is not None:
                present = tamper.has_values(*other, turn.gold)
                yield ActCase(turn, index, other, tamper.classify_act(*due), sort, present)


def _absent_act(turn: SystemTurn, due: DueAct, seed: int, index: int) -> DueAct | None:
    """An act of the same sort that the turn lacks, for acts that have no value."""
    rng = generator(seed, "sgsacc", f"absent\n{turn.dialogue}\n{turn.turn}\n{index}")
    if due.act.act == "REQUEST":
        named = {other.act.slot for other in turn.acts if other.service.name == due.service.name}
        free = [slot.name for slot in due.service.slots if slot.name not in named]
        return DueAct(Act("REQUEST", rng.choice(free)), due.service) if free else None
    if due.act.act in references.FIXED:
        done = {other.act.act for other in turn.acts}
        others = [act for act in references.FIXED if act not in done]
        return DueAct(Act(rng.choice(others)), due.service) if others else None
    return None


class _JudgedCase(NamedTuple):
    case: ActCase
    plain: bool
    retry: bool


JUDGES: dict[str, Callable[[_JudgedCase], bool]] = {
    "plain": lambda one: one.plain,
    "retry": lambda one: one.retry,
    "gated_plain": lambda one: one.plain and one.case.present,
    "gated": lambda one: one.retry and one.case.present,
    "rule": lambda one: one.case.present,
}


def _judge_cases(trial: Trial, turns: Sequence[Sequence[ActCase]], schema: Schema, name: str) -> list[_JudgedCase]:
    renaming = None if name == ORIGINAL else Renaming.between(trial.gold.schema, schema)
    judged: list[_JudgedCase] = []
    refs = trial.settings.refs
    for part in sgsacc.batches(turns, name):
        flat = [case for mine in part for case in mine]
        questions = [
            sgsacc.build_question(_reword(case.due, schema, renaming), case.turn.gold, case.turn.previous, refs=refs)
            for case in flat
        ]
        answers = sgsacc.ask(trial.nli, questions)
        judged += [_JudgedCase(case, a.entailed_plain, a.entailed) for case, a in zip(flat, answers, strict=True)]
    return judged


def _reword(due: DueAct, schema: Schema, renaming: Renaming | None) -> DueAct:
    """The act under the names of a variant."""
    if renaming is None:
        return due
    names, act = renaming.names(due.service.name), due.act
    slot = names.act(act.act, act.slot) if act.slot else ""
    values, canonical = (tuple(names.values(act.act, act.slot, texts)) for texts in (act.values, act.canonical_values))
    return DueAct(Act(act.act, slot, values, canonical), schema[names.service])


VALID_ACTS = Metric("valid_acts", "Valid acts", "share of gold's acts that pass validation", unit="act")
VALID_TURNS = Metric("valid_turns", "Valid turns", "share of gold's turns that pass validation", unit="turn")

ACCEPTED = Metric("accepted", "Accepted", "whether a judge accepts an act, true or not", unit="act")
NO_ACT = "no such act"
REASONS = {F1: NO_ACT, PRECISION: "nothing was accepted", RECALL: NO_ACT, FALSE_ACCEPTS: NO_ACT}


def _recipe(trial: Trial, turns: int, judge: str, wording: str, schema: Schema) -> dict[str, object]:
    """The recipe of a judge. Cases are made under the original schema; the rule uses only it, and no model."""
    worded, original = map(references.fingerprint, (schema, trial.gold.schema))
    rules: dict[str, object] = {"judge": judge, "wording": wording, "schema": original}
    if judge != "rule":
        refs = references.rules_name(trial.settings.refs)
        rules = {"judge": judge, "wording": wording, "nli": trial.nli.name, "refs": refs, "schema": worded}
        rules["cases"] = original if worded != original else ""
    return rules | {"negatives": 1, "turns": turns, "seed": trial.settings.seed}


def _cells(
    judged: Sequence[_JudgedCase], judge: str, recipe: dict[str, object], seen: frozenset[str] | None
) -> Iterator[Cell]:
    accepted = [JUDGES[judge](case) for case in judged]
    truth = [(case.case.sort == "true", verdict) for case, verdict in zip(judged, accepted, strict=True)]
    keys = [(*case.case.turn.key, f"{case.case.place} {case.case.sort}") for case in judged]
    parts = {metric: Parts.from_fractions([metric.compute(*pair) for pair in truth], keys) for metric in REASONS}
    trained = recipe | {"train": groups.fingerprint(seen or ())}
    for group, side, indexes in _groups(judged, seen):
        own_recipe = recipe if side == ALL else trained
        for metric, reason in REASONS.items():
            # F1 counts an act in its denominator twice, once or not at all.
            n = len(indexes) if metric is F1 else None
            yield Cell(metric, parts[metric].take(np.array(indexes)), own_recipe, group, reason, n=n, in_rows=False)
        if group in (ALL, SEEN, UNSEEN):
            passes = [truth[index][0] == accepted[index] for index in indexes]
            yield from _validation_cells([judged[index].case for index in indexes], passes, own_recipe, group)


def _groups(judged: Sequence[_JudgedCase], seen: frozenset[str] | None) -> Iterator[tuple[Group, Group, list[int]]]:
    """Group, side and indexes: all without absent acts, with them, and every kind with the negatives that it has."""
    for side in (ALL, SEEN, UNSEEN) if seen is not None else (ALL,):
        members_of_side = [
            (index, one.case)
            for index, one in enumerate(judged)
            if side == ALL or (one.case.due.service.name in (seen or ())) == (side == SEEN)
        ]
        prefix = "" if side == ALL else f"{side}/"
        members = {side: [index for index, case in members_of_side if case.sort != "absent"]}
        members[Group(f"{prefix}all+absent")] = [index for index, _ in members_of_side]
        for kind in tamper.KINDS:
            members[Group(f"{prefix}kind", kind)] = [index for index, case in members_of_side if case.kind == kind]
        yield from ((group, side, indexes) for group, indexes in members.items() if indexes)


def _validation_cells(
    cases: Sequence[ActCase], passes: Sequence[bool], recipe: dict[str, object], group: Group
) -> Iterator[Cell]:
    """Cells of validation: an act passes if it is accepted and its twin is not; a turn if all its acts pass."""
    acts: dict[tuple[str, int, str], bool] = {}
    turns: dict[tuple[str, int, str], bool] = {}
    for case, passed in zip(cases, passes, strict=True):
        for units, item in ((acts, f"{case.place}"), (turns, "")):
            key = (*case.turn.key, item)
            units[key] = units.get(key, True) and passed
    for metric, units in ((VALID_ACTS, acts), (VALID_TURNS, turns)):
        parts = Parts.from_fractions([(float(passed), 1.0) for passed in units.values()], list(units))
        yield Cell(metric, parts, recipe, group, NO_ACT, in_rows=False)


def _accepted_cell(judged: Sequence[_JudgedCase], judge: str) -> Cell:
    """One row per case: whether it was accepted. Its sort and kind are the source, and the label of true acts is 1."""
    cases = [judged_case.case for judged_case in judged]
    keys = [(case.turn.dialogue, case.turn.turn, f"{case.place} {case.sort}") for case in cases]
    parts = Parts.from_fractions(
        [(float(JUDGES[judge](judged_case)), 1.0) for judged_case in judged], keys, item_column="id"
    )
    further: dict[str, Any] = {
        "service": [case.due.service.name for case in cases],
        "source": [f"{case.sort} {case.kind}" for case in cases],
        "label": [int(case.sort == "true") for case in cases],
    }
    columns = {name: np.array(values, dtype=object) for name, values in further.items()}
    return Cell(ACCEPTED, replace(parts, units=replace(parts.units, further=columns)))
