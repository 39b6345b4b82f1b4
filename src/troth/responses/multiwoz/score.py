"""Scores whole dialogues on MultiWOZ as mwzeval does: systems' files in, Inform, Success, Combined, richness out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from troth.core import groups
from troth.core.digest import digest
from troth.core.errors import UserError
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.names import Path, format_count, name_paths
from troth.core.options import keywords, option, record_arguments, resamples_option, resolve, run_folder, seed_option
from troth.core.parts import NONE, Parts
from troth.core.records import Dialogue
from troth.core.result import Finding, Note, Result, notes_of
from troth.core.score import NO_ESTIMATE, Score, make_score
from troth.core.tasks import Task
from troth.responses import bleu
from troth.responses.multiwoz import corpus, richness
from troth.responses.multiwoz import metrics as measures
from troth.responses.multiwoz.corpus import Booked, Goals, MultiwozSystem, States
from troth.responses.multiwoz.database import VenueDatabase
from troth.responses.multiwoz.metrics import JudgedDialogues, MultiwozRecipe
from troth.responses.multiwoz.success import DomainOutcome, estimate_domains, judge_dialogue
from troth.stats.estimates import Cell, Resampling, SystemCells, build_result
from troth.storage.runs import check_out

TASK = Task(
    "multiwoz", "MultiWOZ dialogues", "dialogues", "troth.report.page.multiwoz",
    no_explorer="Runs of troth multiwoz hold no dialogues: their files have no texts of users.",
)  # fmt: skip
MissingDialogues = Literal["part", "zero", "skip"]
GOAL_HINT = "see docs/multiwoz.md"


@dataclass(frozen=True)
class MultiwozSettings:
    goals: Path | Mapping[str, Any] | None = option(None, "The users' goals: JSON, by dialogue and domain.", "FILE")
    booked: Path | Mapping[str, Any] | None = option(
        None, "Domains that are booked by each system turn: JSON, by dialogue.", "FILE"
    )
    database: Path | Mapping[str, Any] | None = option(
        None, "MultiWOZ's tables of venues and trains: a ZIP or a folder.", "ZIP"
    )
    references: Path | Mapping[str, Any] | None = option(
        None, "Delexicalised reference responses, for BLEU and Combined.", "FILE"
    )
    states: Path | Iterable[Dialogue] | None = option(
        None, "Gold states, for systems whose files have none: dialogues in any format.", "FILE"
    )
    metrics: str | Iterable[str] | None = option(
        None, "Metrics, comma-separated. Default: all.", "NAMES",
        complete=("troth.responses.multiwoz.metrics:METRICS",),
    )  # fmt: skip
    missing: MissingDialogues = option(
        "part", "Dialogues that a system lacks: wrong if any system has them (part), wrong (zero), left out (skip).",
        choices=get_args(MissingDialogues),
    )  # fmt: skip
    resamples: int = resamples_option()
    seed: int = seed_option()
    out: Path | None = run_folder()


class MissedGoal(Finding, frozen=True, tag="missed goal"):
    """A domain of a user's goal that a system missed, and why."""

    system: str
    dialogue: str
    domain: str
    inform: bool
    offered: int  # venues that the last offer may mean
    unfit: int  # those of them that do not fit the goal
    missing: tuple[str, ...]  # requested and not provided

    @property
    def reason(self) -> str:
        """Why the domain counts as missed, in words."""
        if self.inform:
            return f"not given: {', '.join(self.missing)}"
        if not self.offered:
            return "no venue offered"
        return f"{self.unfit} of {format_count(self.offered, 'offered venue')} do not fit the goal"


class MultiwozCorpus(NamedTuple):
    """Goals, bookings and database, and the turns of each system."""

    goals: Goals
    booked: Booked
    database: VenueDatabase
    systems: dict[str, MultiwozSystem]
    references: dict[str, list[str]]
    states: dict[str, list[States]]
    gold_digest: str
    files: list[str]


@keywords(MultiwozSettings)
def multiwoz(
    *files: Path, predictions: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] | None = None, **options: Any
) -> Result:
    """Scores whole dialogues on MultiWOZ: Inform, Success, Combined and lexical richness, as mwzeval does.

    Each of `files` is one system in mwzeval's format (`NAME=PATH` gives it a name): for each dialogue a list of turns
    with a delexicalised `response`, a `state`, and perhaps `active_domains`. In memory, `predictions` maps a system's
    name to the same content. `goals`, `booked` and `database` are needed, as files or in memory; Combined and BLEU need
    `references`. The options are those of `MultiwozSettings`.

        >>> goal = {"taxi": {"informable": {}, "requestable": ["PHONE"]}}
        >>> turn = {"response": "Call [taxi_phone].", "state": {"taxi": {"leave": "17:15"}}}
        >>> tables = {"attraction": [], "hotel": [], "restaurant": [], "train": []}
        >>> world = {"goals": {"sng0073": goal}, "booked": {"sng0073": [[]]}, "database": tables}
        >>> multiwoz(predictions={"new": {"sng0073": [turn]}}, metrics="inform,success", **world)["success"].value
        1.0
    """
    settings = resolve(MultiwozSettings, options)
    measures.select_metrics(settings.metrics)  # a misspelt name is an error before anything is read
    if settings.out is not None:
        check_out(settings.out)
    return score_multiwoz(read_multiwoz(files if predictions is None else predictions, settings), settings)


def read_multiwoz(
    systems: Sequence[Path] | Mapping[str, Mapping[str, Any]], settings: MultiwozSettings
) -> MultiwozCorpus:
    """Everything that is scored, from files or from memory."""
    if not systems:
        raise UserError("no predictions are given", hint="for example pptod.json, or name=pptod.json")
    for name in ("goals", "booked", "database"):
        if getattr(settings, name) is None:
            raise UserError("is needed", option=name, hint=GOAL_HINT)
    goals, booked = corpus.read_goals(settings.goals or {}), corpus.read_booked(settings.booked or {})
    tables = corpus.read_tables(settings.database or {})
    lacking = sorted(goals.keys() - booked.keys())
    if lacking:
        raise UserError("has a goal, but no booked domains", dialogue=lacking[0], hint="are both files of one release?")
    named: Iterable[tuple[str, Path | Mapping[str, Any]]] = (
        systems.items() if isinstance(systems, Mapping) else name_paths(systems, "file of predictions")
    )
    references = {} if settings.references is None else corpus.read_references(settings.references)
    states = {} if settings.states is None else corpus.read_states(settings.states)
    facts = [
        (name, goal, [sorted(turn) for turn in booked[name]], references.get(name)) for name, goal in goals.items()
    ]
    return MultiwozCorpus(
        goals, booked, VenueDatabase(tables), {name: corpus.read_system(data) for name, data in named}, references,
        states, digest([*facts, tables]), [*map(str, systems)],
    )  # fmt: skip


def score_multiwoz(read: MultiwozCorpus, settings: MultiwozSettings) -> Result:
    """The result of a corpus: every dialogue judged once, then every metric in total and by domain."""
    metrics = measures.select_metrics(settings.metrics)
    how = Resampling(settings.resamples, settings.seed)
    judged = [_judge(name, system, read, settings.missing) for name, system in read.systems.items()]
    lacking = _missing_inputs(read)
    return build_result(
        TASK.name,
        [_cells(system, recipe, metrics, lacking, how, read) for system, recipe in judged],
        how,
        metrics=metrics,
        notes=[note for system, _ in judged for note in _notes(system.name, read)],
        findings=[finding for system, _ in judged for finding in _missed_goals(system)],
        arguments=record_arguments(settings, predictions=read.files),
    ).save_if(settings.out)


def _judge(
    name: str, system: MultiwozSystem, read: MultiwozCorpus, missing: MissingDialogues
) -> tuple[JudgedDialogues, MultiwozRecipe]:
    dialogues = _scored_dialogues(system, read, missing)
    outcomes: dict[str, dict[str, DomainOutcome]] = {}
    responses: dict[str, list[str]] = {}
    for dialogue in dialogues:
        turns = system.turns.get(dialogue, [])
        if not system.has_states:
            turns = [
                msgspec.structs.replace(turn, state=state)
                for turn, state in zip(turns, _gold_states(dialogue, len(turns), read), strict=True)
            ]
        if not system.has_domains:
            active = estimate_domains([turn.state or {} for turn in turns])
            turns = [msgspec.structs.replace(turn, domains=now) for turn, now in zip(turns, active, strict=True)]
        outcomes[dialogue] = judge_dialogue(read.goals[dialogue], turns, read.booked[dialogue], read.database)
        if dialogue not in system.turns:  # not even a domain that is right at once
            outcomes[dialogue] = {
                domain: DomainOutcome(False, False, 0, 0, outcome.missing)
                for domain, outcome in outcomes[dialogue].items()
            }
        responses[dialogue] = [turn.response for turn in turns]
        if read.references and dialogue not in read.references:
            raise UserError("has a goal, but no references", dialogue=dialogue, hint="are both files of one release?")
    recipe = MultiwozRecipe(
        states="predicted" if system.has_states else "gold",
        domains="predicted" if system.has_domains else "estimated",
        missing=missing,
        set=groups.fingerprint(dialogues) if missing == "skip" else "",
    )
    return JudgedDialogues(name, outcomes, responses, read.references), recipe


def _scored_dialogues(system: MultiwozSystem, read: MultiwozCorpus, missing: MissingDialogues) -> list[str]:
    if missing == "zero":
        return sorted(read.goals)
    known = [system] if missing == "skip" else read.systems.values()
    dialogues = sorted({dialogue for one in known for dialogue in one.turns} & read.goals.keys())
    if not dialogues:
        hint = "ids are those of MultiWOZ, such as mul0003"
        raise UserError("no dialogue of the predictions has a goal", hint=hint)
    return dialogues


def _gold_states(dialogue: str, number: int, read: MultiwozCorpus) -> list[States]:
    if not read.states:
        raise UserError("is needed: some predictions have no states", option="states", hint="dialogues with gold")
    states = read.states.get(dialogue, [])
    if number > len(states):
        what = "has more turns than gold" if states else "no states are predicted, and gold has none"
        raise UserError(what, dialogue=dialogue, hint="are both files of one release?")
    return states[:number]


def _missing_inputs(read: MultiwozCorpus) -> dict[str, str]:
    """What metrics need and is not there, with the reason that a score without a value has."""
    absent = {} if read.references else {"references": "no references are given"}
    absent |= {} if bleu.is_installed() else {"sacrebleu": bleu.MISSING}
    return absent | ({} if richness.is_installed() else {"sacremoses": richness.MISSING})


def _cells(
    system: JudgedDialogues,
    recipe: MultiwozRecipe,
    metrics: Sequence[Metric],
    lacking: Mapping[str, str],
    how: Resampling,
    read: MultiwozCorpus,
) -> SystemCells:
    reasons = {
        metric.name: next((lacking[need] for need in metric.needs if need in lacking), None) for metric in metrics
    }
    if not system.count_responses():
        reasons |= {metric.name: "no response" for metric in metrics if metric.needs}
    further: list[Score] = []
    for metric in metrics:
        rules, reason = measures.metric_recipe(metric, recipe), reasons[metric.name]
        if reason is not None:
            further.append(make_score(system.name, metric, NO_ESTIMATE, rules, reason=reason))
        elif metric.unit == "corpus":
            further.append(make_score(system.name, metric, metric.compute.estimate(system, how), rules))
    ratios = [metric for metric in metrics if reasons[metric.name] is None and metric.unit != "corpus"]
    cells = [
        cell for metric in ratios for cell in _metric_cells(system, metric, measures.metric_recipe(metric, recipe))
    ]
    inputs = {"gold": read.gold_digest}
    return SystemCells(system.name, cells, system.dialogues, _counts(system, read), inputs, further)


def _metric_cells(system: JudgedDialogues, metric: Metric, recipe: Any) -> Iterator[Cell]:
    """A metric over all dialogues, and over those with each domain in their goal."""
    scoring: measures.DialogueScoring = metric.compute
    fractions = [scoring.part(system, name) for name in system.dialogues]
    yield Cell(metric, Parts.from_fractions(fractions, [(name, NONE, "") for name in system.dialogues]), recipe, ALL)
    if scoring.of_domain is None:
        return
    by_domain: dict[str, list[str]] = {}
    for name in system.dialogues:
        for domain in system.outcomes[name]:
            by_domain.setdefault(domain, []).append(name)
    for domain in sorted(by_domain):
        names = by_domain[domain]
        own = [(float(scoring.of_domain(system.outcomes[name][domain])), 1.0) for name in names]
        yield Cell(
            metric, Parts.from_fractions(own, [(name, NONE, domain) for name in names]), recipe, Group("domain", domain)
        )


def _counts(system: JudgedDialogues, read: MultiwozCorpus) -> dict[str, int]:
    """What the user should know of; `run.json` keeps it."""
    mine = read.systems[system.name]
    beyond = sum(max(0, len(turns) - len(read.booked.get(name, turns))) for name, turns in mine.turns.items())
    counts = {
        "dialogues": len(system.dialogues),
        "responses": system.count_responses(),
        "dialogues_without_a_prediction": len(system.outcomes.keys() - mine.turns.keys()),
        "dialogues_without_a_goal": len(mine.turns.keys() - read.goals.keys()),
        "turns_beyond_the_annotation": beyond,
        "unknown_placeholders": mine.unknown,
    }
    return {name: count for name, count in counts.items() if count or name in ("dialogues", "responses")}


def _notes(name: str, read: MultiwozCorpus) -> list[Note]:
    system = read.systems[name]
    texts = []
    if without := len(system.turns.keys() - read.goals.keys()):
        texts.append(f"{format_count(without, 'dialogue')} without a goal: not scored")
    if system.unknown:
        texts.append(f"{format_count(system.unknown, 'placeholder')} not known to mwzeval: left out of the responses")
    texts += [] if system.has_states else ["no predicted states: gold states are used"]
    texts += [] if system.has_domains else ["no active domains: estimated from states"]
    return notes_of(name, texts)


def _missed_goals(system: JudgedDialogues) -> Iterator[MissedGoal]:
    """The domains without Inform, and those that lack something the user asked for."""
    for dialogue in system.dialogues:
        for domain, outcome in sorted(system.outcomes[dialogue].items()):
            if not outcome.inform or outcome.missing:
                yield MissedGoal(
                    system.name, dialogue, domain, outcome.inform, outcome.offered, outcome.unfit, outcome.missing
                )
