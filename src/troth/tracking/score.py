"""Score state trackers: files in, every metric of the field out, with intervals and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from troth import readers
from troth.core.digest import schema_digest
from troth.core.errors import UserError
from troth.core.groups import chosen as chosen_groups
from troth.core.metric import Metric
from troth.core.names import Path, labelled, listed, named, path_of, stem
from troth.core.options import (
    keywords,
    one_of,
    option,
    resamples_option,
    resolve,
    run_folder,
    seed_option,
    workers_option,
)
from troth.core.parts import lazy_rows
from troth.core.records import Schema
from troth.readers.source import first
from troth.stats.estimates import Resampling, scores
from troth.storage.explorer import Archive, Header
from troth.storage.result import Result, check_out
from troth.tracking import metrics as measures
from troth.tracking import near_misses
from troth.tracking.cells import GROUPS, Grouping, TrackedSystem, cells
from troth.tracking.dialogues import DialogueGatherer, ScoredDialogues, views
from troth.tracking.feed import Corpus, Gatherer, Predictions, feed
from troth.tracking.gold import GoldDigest
from troth.tracking.profiles import CHOICES, PROFILES, Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.scorer import Scorer
from troth.tracking.states import GoldStates

ProfileLike = str | Profile
# What SGD's gold has and most predictions do not: keys in the file, and what they hold.
GOLD_MARKS = {b'"actions"': "acts", b'"service_results"': "results of services"}


@dataclass(frozen=True)
class StateSettings:
    unit: str | None = option(
        None, "Unit that is right or wrong as a whole: frame or turn.", "NAME", complete=CHOICES["unit"]
    )
    missing: str | None = option(
        None, "Missing predictions score 0 (zero), or are left out as in the public script (skip).", "RULE",
        complete=CHOICES["missing"],
    )  # fmt: skip
    resamples: int = resamples_option()
    seed: int = seed_option()
    workers: int = workers_option(command=0)
    explorer: bool = option(True, "Keep the dialogues, for the explorer of the page.", shape="python")
    out: Path | None = run_folder()

    def __post_init__(self) -> None:
        if self.out is not None:
            check_out(self.out)

    @property
    def resampling(self) -> Resampling:
        return Resampling(self.resamples, self.seed)

    def saved(self, result: Result) -> Result:
        """The result, after it was saved where `out` says so."""
        if self.out is not None:
            result.save(self.out)
        return result


@dataclass(frozen=True)
class TrackingSettings(StateSettings):
    profile: ProfileLike | Sequence[ProfileLike] | None = option(
        None, "Scoring recipe; `troth ls profiles` lists them. Default: by the format.", "NAME",
        complete=("troth.tracking.profiles:PROFILES",),
    )  # fmt: skip
    match: str | None = option(
        None, "How values are compared: fuzzy-indel, fuzzy-difflib or exact.", "NAME", complete=CHOICES["match"]
    )
    norm: str | None = option(
        None, "Normaliser of slot names and values: none, multiwoz, mwzeval or checkdst.", "NAME",
        complete=CHOICES["norm"],
    )  # fmt: skip
    fga: str | None = option(
        None, "FGA as in the authors' code (code), or as in the paper (paper).", "RULE", complete=CHOICES["fga"]
    )
    metrics: str | Iterable[str] | None = option(
        None, "Metrics, comma-separated. Default: all.", "NAMES", complete=("troth.tracking.metrics:METRICS",)
    )
    rates: Iterable[float] = option(measures.DEFAULT_RATES, "Rates λ of FGA, comma-separated.", "LIST", flag="--lambda")
    by: str | Iterable[str] = option(
        (), "Add scores by service, domain, slot or turn, comma-separated.", "NAMES", complete=GROUPS[1:]
    )
    schema: Path | Schema | None = option(None, "Schema of the services, if it is not beside gold.", "FILE")
    train_schema: Path | None = option(None, "Training schema; adds scores for seen and unseen services.", "FILE")
    format: str | None = option(None, "Format of gold. Default: detected.", "NAME", complete=("troth.readers:FORMATS",))
    pred_format: str | None = option(
        None, "Format of the predictions. Default: detected.", "NAME", complete=("troth.readers:FORMATS",)
    )
    unknown: str = option(
        "error", "Predicted slots that are not in the schema: stop, or leave them out and count them.",
        choices=("error", "ignore"),
    )  # fmt: skip
    common: bool = option(False, "Score only the dialogues that gold and all predictions have.")

    @property
    def rules(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in ("unit", "match", "norm", "missing", "fga")}


@keywords(TrackingSettings)
def dst(gold: Path, *preds: Path, **options: Any) -> Result:
    """Scores trackers' predictions against gold states.

    `gold` and each of `preds` are files, folders or archives in any known format; a prediction may be given as
    `NAME=PATH`. Without `preds`, `gold` must hold both sides. The options are those of `TrackingSettings`; rules of
    the profile (`unit`, `match`, `norm`, `missing`, `fga`) can be changed one by one.

    >>> from troth import demo
    >>> result = dst(demo.path("gold"), demo.path("hasty"), metrics="jga,aga", resamples=50)
    >>> f"{result['jga'].value:.3f}"
    '0.495'
    """
    settings = resolve(TrackingSettings, options)
    source = path_of(gold)
    grouping = Grouping(
        chosen_groups(settings.by, GROUPS, train_schema=settings.train_schema),
        None if settings.train_schema is None else frozenset(readers.schema(path_of(settings.train_schema))),
        schema_of(settings.schema, source),
    )
    metrics = measures.chosen(settings.metrics, settings.rates)  # a misspelt name is an error before anything is read
    one_of("unknown", settings.unknown, ("error", "ignore"))
    check_sides(source, [named(path_of(pred))[1] for pred in preds], settings.format, settings.pred_format)
    jobs = [
        _Job(label, path, _profiles(settings, source, path, grouping.schema))
        for label, path in _systems(source, [path_of(pred) for pred in preds])
    ]
    shared: dict[Profile, GoldStates] = {}
    corpus = Corpus(source, settings.format, settings.pred_format, settings.common)
    predictions = [Predictions(job.path, _maker(job, settings, grouping, shared, first=job is jobs[0])) for job in jobs]
    gathered = feed(corpus, predictions, workers=settings.workers)
    systems = [system for job, mine in zip(jobs, gathered, strict=True) for system in job.systems(mine)]
    if settings.common:
        systems = _common(systems)
    result = Result(
        "dst",
        [
            score
            for one in systems
            for score in scores(one.name, cells(one, metrics, grouping), one.frames.dialogues, settings.resampling)
        ],
        metrics,
        counts={system.name: system.counts for system in systems},
        notes=_notes(jobs, gathered, systems),
        arguments=_arguments(source, preds, settings),
        inputs={system.name: _inputs(gathered[0], grouping.schema) for system in systems},
        make_rows=lambda: _rows(systems, metrics),
        make_explorer=(lambda: _archive(jobs, gathered, grouping)) if settings.explorer else None,
    )
    return settings.saved(result)


@dataclass(frozen=True)
class _Job:
    """One system's file, and the profiles that it is scored under."""

    label: str
    path: str | None
    profiles: list[Profile]

    @property
    def names(self) -> list[str]:
        return [self.label if len(self.profiles) == 1 else f"{self.label}:{p.name}" for p in self.profiles]

    def systems(self, gathered: Sequence[Any]) -> list[TrackedSystem]:
        scorers = gathered[: len(self.profiles)]
        return [TrackedSystem.of(name, scorer) for name, scorer in zip(self.names, scorers, strict=True)]


def _notes(jobs: Sequence[_Job], gathered: Sequence[Sequence[Any]], systems: Sequence[TrackedSystem]) -> list[str]:
    """What a reader should know besides the scores."""
    notes = []
    if len({tuple(p.name for p in job.profiles) for job in jobs}) > 1:
        named = ", ".join(f"{job.label} by {'+'.join(p.name for p in job.profiles)}" for job in jobs)
        notes.append(f"WARNING: systems are scored by different profiles and do not compare: {named}; name one profile")
    for job, (scorer, *_) in zip(jobs, gathered, strict=True):
        if scorer.other_gold:
            turns = f"{scorer.other_gold} turns"
            notes.append(f"{job.label}: the gold in its own file differs from the gold scored against in {turns}")
    return notes + [f"{one.name}: {line}" for one in systems for line in near_misses.lines(one.near_misses)]


def _inputs(gathered: Sequence[Any], schema: Schema | None) -> dict[str, str]:
    """Digests of what systems are scored against."""
    gold = next(one for one in gathered if isinstance(one, GoldDigest))
    return {"gold": str(gold.digest), **schema_digest(schema)}


def _maker(
    job: _Job, settings: TrackingSettings, grouping: Grouping, gold: dict[Profile, GoldStates], *, first: bool
) -> Callable[[], list[Gatherer]]:
    """Makes one scorer per profile; dialogues are kept as the first profile has them. The first job digests gold."""
    by_slot, strict = "slot" in grouping.by, settings.unknown == "error"

    def make() -> list[Gatherer]:
        scorers: list[Gatherer] = [
            Scorer(p, grouping.schema, by_slot=by_slot, strict=strict, gold=gold.setdefault(p, {}))
            for p in job.profiles
        ]
        digests: list[Gatherer] = [GoldDigest()] if first else []
        dialogues = [DialogueGatherer(job.profiles[0], grouping.schema)] if settings.explorer else []
        return [*scorers, *digests, *dialogues]

    return make


def _rows(systems: Sequence[TrackedSystem], metrics: Sequence[Metric]) -> Any:
    return lazy_rows(
        lambda: (system.parts(metric).frame(system.name, metric.name) for system in systems for metric in metrics)
    )


def _archive(jobs: Sequence[_Job], gathered: Sequence[Sequence[Any]], grouping: Grouping) -> Archive:
    sets = [
        ScoredDialogues(dialogues, scorer.frames(), job.names[0])
        for job, (scorer, *_, dialogues) in zip(jobs, gathered, strict=True)
    ]
    header = Header(seen=None if grouping.seen is None else tuple(sorted(grouping.seen)))
    return Archive(header, views(sets))


def _arguments(gold: str, preds: Sequence[Path], settings: TrackingSettings) -> dict[str, Any]:
    """What a reader needs to make the run again."""
    paths = {name: value for name in ("schema", "train_schema") if isinstance(value := getattr(settings, name), str)}
    plain = {"by": ",".join(listed(settings.by)) or None, "resamples": settings.resamples, "seed": settings.seed}
    return {"gold": gold, "pred": [path_of(pred) for pred in preds], **plain, **settings.rules, **paths}


def _common(systems: Sequence[TrackedSystem]) -> list[TrackedSystem]:
    """The systems on the dialogues that all of them have predictions for."""
    shared = set.intersection(*({*s.frames.dialogues} - {*s.missing} for s in systems))
    if not shared:
        raise UserError("no dialogue is in gold and in all predictions", hint="are they of the same split?")
    counts = {"dialogues": len(shared), "missing_dialogues": 0}
    return [replace(s, frames=s.frames.on(shared), counts={**s.counts, **counts}) for s in systems]


# -- systems, schemas, profiles ----------------------------------------------------------------------------------------


def _systems(gold: str, preds: Sequence[str]) -> list[tuple[str, str | None]]:
    """A short name and a path for each system."""
    if not preds:
        return [(stem(gold), None)]
    if "-" in preds and gold == "-":
        raise UserError("standard input is gold or prediction, not both", hint="name a file for one of them")
    return list(labelled(preds, "prediction"))


def check_sides(gold: str, preds: Sequence[str], format: str | None = None, pred_format: str | None = None) -> None:
    """Refuses gold and predictions that were given in the wrong order, where their formats or contents tell."""
    if "-" in (gold, *preds) or not preds:
        return
    kept: dict[str, frozenset[bytes]] = {}

    def marks(path: str) -> frozenset[bytes]:
        if path not in kept:
            data = first(path).data
            kept[path] = frozenset(mark for mark in GOLD_MARKS if mark in data)
        return kept[path]

    for pred in preds:
        if marks(pred) and marks(pred) > marks(gold):
            what = f"holds {GOLD_MARKS[max(marks(pred) - marks(gold))]}, as gold does, and gold holds none"
        elif readers.side(pred, pred_format) == "gold" and readers.side(gold, format) == "pred":
            what = "its format is one of gold, and that of gold is one of predictions"
        else:
            continue
        raise UserError(f"{what}: were the two swapped?", file=pred, hint="gold comes first")


def schema_of(schema: Path | Schema | None, gold: str) -> Schema | None:
    """The schema: the one that is given, read from a file, or the one beside gold."""
    if schema is None:
        return readers.schema_beside(gold)
    return schema if isinstance(schema, dict) else readers.schema(path_of(schema))


def _profiles(settings: TrackingSettings, gold: str, pred: str | None, schema: Schema | None) -> list[Profile]:
    wanted = settings.profile
    if wanted is None:
        profiles = [fitting(gold, pred, schema, settings.format, settings.pred_format)]
    elif wanted == "all":
        profiles = applicable(schema, settings.format or readers.detect(gold))
    else:
        items = [wanted] if isinstance(wanted, Profile) else listed(wanted) if isinstance(wanted, str) else wanted
        profiles = [find_profile(item) for item in items]
    return [profile.with_rules(**settings.rules) for profile in profiles]


def fitting(
    gold: str, pred: str | None, schema: Schema | None, format: str | None = None, pred_format: str | None = None
) -> Profile:
    """The profile to score with when none is named: the one that the format of the predictions declares."""
    name = format or readers.detect(gold) if pred is None else pred_format or readers.detect(pred)
    return default_profile(schema, name)


def default_profile(schema: Schema | None, format: str) -> Profile:
    """The profile that a format declares; else SGD's where there is a schema, and TRADE's where there is none."""
    declared = readers.FORMATS.load(format).FORMAT.profile
    profile: Profile = PROFILES.load(declared or ("sgd" if schema is not None else "trade"))
    return profile


def applicable(schema: Schema | None, format: str) -> list[Profile]:
    """The profiles under which data of this format can be scored."""
    profiles: list[Profile] = [PROFILES.load(name) for name in PROFILES.by_name()]
    correctness = readers.FORMATS.load(format).FORMAT.correctness
    return [p for p in profiles if (p.match == "given") == correctness and (schema is not None or p.scope == "state")]
