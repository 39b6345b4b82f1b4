"""Score responses of task-oriented systems: files in, SER, SGSAcc and BLEU out, with intervals and signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import msgspec

from troth import models as backends
from troth import readers
from troth.core.errors import UserError, near
from troth.core.records import Dialogue, Frame, Schema, Speaker
from troth.core.score import Score
from troth.models import Nli
from troth.readers import responses as response_files
from troth.readers.responses import Key, Response
from troth.responses import bleu as overlap
from troth.responses import metrics as nlg_scores
from troth.responses import references, sgsacc, tamper
from troth.responses import ser as slot_error
from troth.responses.metrics import FAMILIES, Recipe, System, Told, Turn
from troth.responses.sample import descriptions, distinct, lacking
from troth.responses.sgsacc import Augment, Progress, Reference, Select, Unit
from troth.tracking.score import known_groups, labels
from troth.tracking.scores import Found, fingerprint

if TYPE_CHECKING:
    import polars as pl

Missing = Literal["part", "zero", "skip"]

BY = ("seen", "service", "domain", "act", "slot", "kind")
NO_TEXT = "gold has no utterances"
DIFFERENT = "the systems answer different turns: without the rest their numbers do not compare, and none is marked best"


class Gold(NamedTuple):
    """What is kept of gold: who speaks when, the system's turns, and the values of each slot."""

    speakers: dict[str, list[Speaker]]
    units: list[Unit]
    pool: tamper.Pool


@dataclass(frozen=True)
class Result(Found):
    """Scores with their intervals, and the judged turns that they come from."""

    scores: list[Score]
    systems: list[System]
    metrics: list[str]
    notes: list[str] = field(default_factory=list)  # what the user should know besides

    def rows(self) -> pl.DataFrame:
        """One row a turn and metric, `num` over `den`; without BLEU, which is no ratio of sums."""
        import polars as pl

        made = [frame for system in self.systems for frame in nlg_scores.rows(system, self.metrics)]
        return pl.concat(made) if made else nlg_scores.no_rows()


def nlg(
    gold: str,
    *responses: str,
    metrics: Sequence[str] | None = None,
    schema: str | Schema | None = None,
    train_schema: str | None = None,
    by: Iterable[str] = (),
    missing: Missing = "part",
    nli: str | Nli = "embedded",
    cache: str | None = backends.USUAL,
    gold_text: bool = True,
    augment: Augment = "retry",
    negatives: int = 1,
    ids: str | None = None,
    formats: tuple[str | None, str | None] = (None, None),
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Score responses against the acts and utterances of gold.

    `responses`: paths, each optionally as `name=path`. `metrics`: `ser`, `bleu`, `sgsacc`, each with its kin, or single
    names. `missing`: what a system turn without a response is: `zero`, wrong; `skip`, left out; `part`, wrong if any of
    the systems answers in its dialogue, else left out. `nli`: a model's name, or the model. `gold_text=False` takes
    gold for its acts alone, as in production. `ids`: the turns of files with one response a line. `seed`: of the
    resampling, and of the values that acts are tampered with.
    """
    wanted = chosen_metrics(metrics)
    groups = known_groups(by, BY, train_schema)
    _check(missing, augment, negatives)
    schemas = _schema(schema, gold, needed=set(wanted) != {"bleu"})
    seen = frozenset(readers.schema(train_schema)) if train_schema else None
    read = _gold(gold, formats[0], schemas, gold_text=gold_text)
    notes: list[str] = []
    files = _files(responses, read, formats[1], ids, notes.append)
    answered = {dialogue for found in files.values() for dialogue, _ in found}
    chosen = {name: _scored(read.units, found, missing, answered) for name, found in files.items()}
    modelled = [name for name in wanted if name in FAMILIES["sgsacc"]]
    model = (backends.nli(nli, cache=cache) if isinstance(nli, str) else nli) if modelled else None
    judge = _Judge(model, read, schemas or {}, augment, "sgsacc_validated" in wanted, negatives, seed, progress)
    judge.prepare([unit for units in chosen.values() for unit in units])
    recipe = Recipe(
        missing, model.name if model else "", _select(read.units), augment, negatives, seed, **_prints(schemas, seen)
    )
    systems = [judge.system(name, units, files[name], recipe) for name, units in chosen.items()]
    reasons = _reasons(wanted, texts=any(unit.gold.strip() for unit in read.units))
    scores = [
        score
        for system in systems
        for score in nlg_scores.scores(system, wanted, groups, seen, reasons, resamples=resamples, seed=seed)
    ]
    notes += _notes(recipe, model, systems)
    return Result(scores, systems, [name for name in wanted if name not in reasons], notes)


def _check(missing: str, augment: str, negatives: int) -> None:
    """What the command line refuses by itself is refused from Python, too."""
    for option, given, known in (("missing", missing, get_args(Missing)), ("augment", augment, get_args(Augment))):
        if given not in known:
            listed = f"{', '.join(known[:-1])} or {known[-1]}"
            raise UserError(f"--{option} is {listed}, not '{given}'", hint=near(given, known) or "see --help")
    if not 1 <= negatives <= 100:
        raise UserError(f"--negatives is 1 to 100, not {negatives}", hint="one is what the paper's words suggest")


# -- reading -----------------------------------------------------------------------------------------------------------


def _schema(given: str | Schema | None, gold: str, *, needed: bool) -> Schema | None:
    found = readers.schema(given) if isinstance(given, str) else given or readers.schema_beside(gold)
    if found is None and needed:
        raise UserError("no schema.json beside the dialogues", file=gold, hint="name it with --schema")
    return found


def _gold(path: str, format: str | None, schema: Schema | None, *, gold_text: bool) -> Gold:
    speakers: dict[str, list[Speaker]] = {}
    units: list[Unit] = []
    acted: list[Dialogue] = []
    for file, dialogue in distinct(path, format):
        speakers[dialogue.id] = [turn.speaker for turn in dialogue.turns]
        slim = acts_only(dialogue) if schema is not None else _texts_only(dialogue)
        try:
            mine = list(sgsacc.units(slim, schema or {}))
        except UserError as error:
            raise error.at(file=file) from error
        units += mine if gold_text else [unit._replace(gold="") for unit in mine]
        acted.append(slim)
    if not units:
        raise UserError("gold has no system turn", file=path, hint="SGD's layout has them")
    return Gold(speakers, units, tamper.pool(acted))


def acts_only(dialogue: Dialogue) -> Dialogue:
    """Half of a corpus is states, spans and results, which nothing here has a use for."""
    turns = [
        msgspec.structs.replace(
            turn,
            frames=tuple(Frame(frame.service, acts=frame.acts) for frame in turn.frames)
            if turn.speaker == "SYSTEM"
            else (),
        )
        for turn in dialogue.turns
    ]
    return msgspec.structs.replace(dialogue, turns=tuple(turns))


def _texts_only(dialogue: Dialogue) -> Dialogue:
    return msgspec.structs.replace(
        dialogue, turns=tuple(msgspec.structs.replace(turn, frames=()) for turn in dialogue.turns)
    )


def _files(
    responses: Sequence[str], gold: Gold, format: str | None, ids: str | None, tell: Callable[[str], None]
) -> dict[str, dict[Key, Response]]:
    if not responses:
        raise UserError("no responses are named", hint="for example responses.jsonl, or name=responses.jsonl")
    return {
        label: response_files.read(path, gold.speakers, format=format, ids=ids, tell=tell)
        for label, path in labels(responses, "file of responses")
    }


def _scored(units: Sequence[Unit], found: dict[Key, Response], missing: Missing, answered: Set[str]) -> list[Unit]:
    """The turns that count; `answered`: dialogues that any of the systems answers, so that all have the same turns."""
    if missing == "zero":
        return list(units)
    if missing == "skip":
        return [unit for unit in units if (unit.dialogue, unit.turn) in found]
    return [unit for unit in units if unit.dialogue in answered]


# -- judging -----------------------------------------------------------------------------------------------------------


class _Judge:
    """Gold's part is done once for all systems."""

    def __init__(
        self,
        model: Nli | None,
        gold: Gold,
        schema: Schema,
        augment: Augment,
        validate: bool,
        negatives: int,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.model, self.gold, self.augment, self.validate = model, gold, augment, validate
        self.negatives, self.seed, self.progress = negatives, seed, progress
        self.slots = slot_error.noncategorical(schema)
        self.prepared: dict[Key, tuple[Reference, ...]] = {}
        self.done, self.total = 0, 0

    def prepare(self, units: Sequence[Unit]) -> None:
        distinct = list({(unit.dialogue, unit.turn): unit for unit in units}.values())
        self.total = len(distinct) + len(units)
        if self.model is None:
            return
        made = sgsacc.prepare(
            distinct, self.model, pool=self.gold.pool, augment=self.augment, validate=self.validate,
            count=self.negatives, seed=self.seed, progress=self._step(),
        )  # fmt: skip
        self.prepared = {(unit.dialogue, unit.turn): mine for unit, mine in zip(distinct, made, strict=True)}
        self.done = len(distinct)

    def _step(self) -> Progress | None:
        if self.progress is None:
            return None
        show, before = self.progress, self.done
        return lambda done, _: show(before + done, self.total)

    def system(self, name: str, units: Sequence[Unit], found: dict[Key, Response], recipe: Recipe) -> System:
        keys = [(unit.dialogue, unit.turn) for unit in units]
        texts = [found[key].text if key in found else None for key in keys]
        judged: Sequence[Sequence[sgsacc.ActVerdict | None]] = [(None,) * len(unit.due) for unit in units]
        if self.model is not None:
            references = [self.prepared[key] for key in keys]
            judged = sgsacc.verdicts(units, references, texts, self.model, augment=self.augment, progress=self._step())
            self.done += len(units)
        turns = [self._turn(unit, text, some) for unit, text, some in zip(units, texts, judged, strict=True)]
        counts = _counts(turns, len(self.gold.units) - len(found), modelled=self.model is not None)
        if recipe.missing == "skip":  # which turns count is the system's choice, and moves the numbers
            recipe = replace(recipe, turns=fingerprint(f"{dialogue}\t{turn}" for dialogue, turn in keys))
        return System(name, turns, counts, recipe)

    def _turn(self, unit: Unit, text: str | None, judged: Sequence[sgsacc.ActVerdict | None]) -> Turn:
        acts = []
        for due, verdict in zip(unit.due, judged, strict=True):
            values = tuple(slot_error.due([Frame(due.service.name, acts=(due.act,))], self.slots))
            acts.append(Told(due, values, tuple(slot_error.missed(values, text or "")), verdict))
        return Turn(unit, text, tuple(acts))


def _counts(turns: Sequence[Turn], lacking: int, *, modelled: bool) -> dict[str, int]:
    """What the user should know of; run.json keeps it."""
    made = {
        "dialogues": len({turn.unit.dialogue for turn in turns}),
        "turns": len(turns),
        "turns_without_a_response": lacking,
        "of_them_scored_as_wrong": sum(turn.response is None for turn in turns),
        "empty_responses": sum(turn.response is not None and not turn.response.strip() for turn in turns),
        "turns_without_acts": sum(not turn.acts for turn in turns),
    }
    if not modelled:
        return made
    verdicts = [[told.verdict for told in turn.acts if told.verdict is not None] for turn in turns]
    flat = [verdict for mine in verdicts for verdict in mine]
    made["acts"] = len(flat)
    made["acts_true_only_in_context"] = sum(verdict.helped for verdict in flat)
    made["responses_faithful_only_in_context"] = sum(
        all(one.entailed for one in mine) and any(one.helped for one in mine) for mine in verdicts
    )
    excluded: tuple[tuple[str, list[str | None]], ...] = (
        ("turns", [_reason([one.excluded for one in mine]) for mine in verdicts]),
        ("acts", [one.excluded for one in flat]),
    )
    for what, found in excluded:
        every = Counter(reason for reason in found if reason)
        made |= {
            f"{what}_excluded:_{reason.replace(' ', '_')}": every[reason] for reason in sgsacc.REASONS if every[reason]
        }
    return made


def _reason(reasons: Sequence[str | None]) -> str | None:
    return next((reason for reason in sgsacc.REASONS if reason in reasons), None)


# -- what is asked for, and what cannot be had -------------------------------------------------------------------------


def chosen_metrics(given: Sequence[str] | None) -> list[str]:
    """Families stand for all their members."""
    members = [name for names in FAMILIES.values() for name in names]
    made: dict[str, None] = {}
    for name in given if given is not None else FAMILIES:
        if name not in members:
            hint = near(name, members) or "one of: " + ", ".join(members)
            raise UserError(f"no metric of responses is called '{name}'", hint=hint)
        made.update(dict.fromkeys(FAMILIES.get(name, (name,))))
    return list(made)


def _prints(schema: Schema | None, seen: Iterable[str] | None) -> dict[str, str]:
    """Of the schemas, what goes into the recipe."""
    return {
        "descriptions": descriptions(schema or {}),
        "train": fingerprint(seen) if seen is not None else "",
        "schema": references.fingerprint(schema or {}),
        "slots": slot_error.fingerprint(slot_error.noncategorical(schema or {})),
    }


def _select(units: Sequence[Unit]) -> str:
    ways: list[Select] = ["gold" if unit.gold.strip() else "any" for unit in units if unit.due]
    return "+".join(sorted(set(ways), reverse=True)) or "gold"


def _reasons(metrics: Sequence[str], *, texts: bool) -> dict[str, str]:
    made = {}
    if "bleu" in metrics and not overlap.available():
        made["bleu"] = overlap.MISSING
    if not texts:
        made |= {name: NO_TEXT for name in metrics if name in ("bleu", "sgsacc_validated")}
    return made


def _notes(recipe: Recipe, model: Nli | None, systems: Sequence[System]) -> list[str]:
    made = [DIFFERENT] if len({system.recipe.turns for system in systems}) > 1 else []
    if model is None:
        return made
    made += lacking(recipe.descriptions)
    if model.cut:
        made.append(f"{model.cut} pairs were longer than the model reads, and were cut")
    return made
