"""Score state trackers: files in, every metric of the field out, with intervals and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from troth import readers
from troth.core.data_options import format_option, schema_option, train_schema_option
from troth.core.digest import schema_digest
from troth.core.errors import UserError, suggest_name
from troth.core.groups import parse_groups
from troth.core.names import Path, is_path, name_paths, parse_names, path_of, split_name_path, stem
from troth.core.options import keywords, option, resamples_option, resolve, run_folder, seed_option, workers_option
from troth.core.records import Dialogue, Gold, Schema
from troth.core.result import Note, Result
from troth.core.tasks import Task
from troth.readers.source import head
from troth.stats.estimates import Resampling, SystemCells, build_result
from troth.storage.explorer import Archive, Header
from troth.storage.runs import check_out
from troth.tracking import metrics as measures
from troth.tracking import near_misses
from troth.tracking.cells import GROUPS, Grouping, TrackedSystem, cells
from troth.tracking.dialogues import DialogueRecorder, ScoredDialogues, views
from troth.tracking.feed import DialogueSource, PairConsumer, Predictions, feed
from troth.tracking.gold import GoldDigest
from troth.tracking.profiles import CHOICES, PROFILES, Profile, matches_any
from troth.tracking.profiles import profile as find_profile
from troth.tracking.scorer import Scorer
from troth.tracking.states import GoldStates

TASK = Task("dst", "state tracking", "dialogues", "troth.report.page.tracking")
ProfileLike = str | Profile
HEAD = 1 << 20  # bytes of a file that tell gold from predictions
MEMORY = "jsonl"  # dialogues in memory get the profile of this format: bare states
# Keys in files of SGD's gold that most predictions lack, and their content.
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
    rates: Sequence[float] | None = option(
        None, "Rates λ of FGA, comma-separated, also beside --metrics. Default: 0.25,0.5,0.75,1.", "LIST",
        flag="--lambda",
    )  # fmt: skip
    by: str | Iterable[str] = option(
        (), "Add scores by service, domain, slot or turn, comma-separated.", "NAMES", complete=GROUPS[1:]
    )
    only: str | Iterable[str] = option(
        (), "Score only these services or slots, comma-separated: hotel, hotel.area, *.name.", "NAMES"
    )
    without: str | Iterable[str] = option((), "Leave out these services or slots, comma-separated.", "NAMES")
    schema: Path | Schema | None = schema_option("gold")
    train_schema: Path | None = train_schema_option()
    format: str | None = format_option("gold")
    pred_format: str | None = format_option("the predictions")
    unknown: str = option(
        "error", "Predicted slots that are not in the schema: stop, or leave them out and count them.",
        choices=("error", "ignore"),
    )  # fmt: skip
    common: bool = option(False, "Score only the dialogues that gold and all predictions have.")

    @property
    def rules(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in ("unit", "match", "norm", "missing", "fga")}


@keywords(TrackingSettings)
def dst(
    gold: Gold, *preds: Path, pred: Sequence[Dialogue] | Mapping[str, Sequence[Dialogue]] | None = None, **options: Any
) -> Result:
    """Scores trackers' predictions against gold states.

    `gold` and each of `preds` are files, folders or archives in any known format; a prediction may be given as
    `NAME=PATH`. Without `preds`, `gold` must hold both sides. Dialogues that are already in memory are given as
    `gold=[Dialogue, …], pred=[Dialogue, …]`, or `pred={"name": [Dialogue, …]}`. The options are those of
    `TrackingSettings`; rules of the profile (`unit`, `match`, `norm`, `missing`, `fga`) can be changed one by one.

    >>> from troth import demo
    >>> result = dst(demo.path("gold"), demo.path("hasty"), metrics="jga,aga", resamples=50)
    >>> f"{result['jga'].value:.3f}"
    '0.495'
    """
    settings = resolve(TrackingSettings, options)
    measures.select_metrics(settings.metrics, settings.rates)  # a misspelt name is an error before anything is read
    return score_tracking(read_tracking(gold, pred if pred is not None else preds, settings), settings)


class TrackedFile(NamedTuple):
    """One system's predictions, and the profiles that they are scored under."""

    label: str
    source: DialogueSource
    profiles: list[Profile]

    @property
    def names(self) -> list[str]:
        """The system's name under each profile."""
        return [self.label if len(self.profiles) == 1 else f"{self.label}:{p.name}" for p in self.profiles]


class TrackingCorpus(NamedTuple):
    """Gold dialogues and the predictions of several systems. Files are read when they are scored, one by one."""

    gold: DialogueSource
    systems: list[TrackedFile]
    schema: Schema | None
    seen: frozenset[str] | None  # services of the training schema
    names: list[str]  # of the prediction files, as they were given


def read_tracking(
    gold: Gold,
    preds: Sequence[Path] | Sequence[Dialogue] | Mapping[str, Sequence[Dialogue]],
    settings: TrackingSettings,
) -> TrackingCorpus:
    """The corpus of a scoring run, from files or from dialogues in memory; formats and schemas are read here."""
    train = settings.train_schema
    seen = None if train is None else frozenset(readers.schema(path_of(train)))
    records = isinstance(preds, Mapping) or any(not is_path(item) for item in preds)
    if preds and records == is_path(gold):
        raise UserError(
            "gold and predictions must both be files, or both be dialogues", hint="read one with troth.readers"
        )
    if not is_path(gold):
        return _corpus_in_memory(gold, preds, settings, seen)
    source, paths = path_of(gold), [path_of(item) for item in preds if is_path(item)]
    schema = schema_of(settings.schema, source)
    check_sides(source, [split_name_path(path)[1] for path in paths], settings.format, settings.pred_format)
    systems = [
        TrackedFile(label, DialogueSource(path or "", settings.pred_format), _profiles(settings, source, path, schema))
        for label, path in _systems(source, paths)
    ]
    return TrackingCorpus(DialogueSource(source, settings.format), systems, schema, seen, paths)


def _corpus_in_memory(
    gold: Sequence[Dialogue],
    preds: Sequence[Any] | Mapping[str, Sequence[Dialogue]],
    settings: TrackingSettings,
    seen: frozenset[str] | None,
) -> TrackingCorpus:
    schema = None if settings.schema is None else schema_of(settings.schema, "")
    named_preds = preds if isinstance(preds, Mapping) else {"pred": preds} if preds else {}
    systems = [
        TrackedFile(label, DialogueSource(dialogues=side, name="predictions"), _profiles(settings, None, None, schema))
        for label, side in named_preds.items()
    ] or [TrackedFile("gold", DialogueSource(), _profiles(settings, None, None, schema))]
    return TrackingCorpus(DialogueSource(dialogues=gold, name="gold"), systems, schema, seen, list(named_preds))


def score_tracking(corpus: TrackingCorpus, settings: TrackingSettings) -> Result:
    """The result of a corpus: states compared in one pass, then every metric for every group."""
    grouping = Grouping(
        parse_groups(settings.by, GROUPS, train_schema=settings.train_schema), corpus.seen, corpus.schema
    )
    metrics = measures.select_metrics(settings.metrics, settings.rates)
    shared: dict[Profile, GoldStates] = {}
    predictions = [
        Predictions(file.source, _maker(file, settings, grouping, shared, first=number == 0))
        for number, file in enumerate(corpus.systems)
    ]
    consumed = feed(corpus.gold, predictions, workers=settings.workers, common=settings.common)
    _check_patterns(settings, [one for consumers in consumed for one in consumers if isinstance(one, Scorer)])
    systems = [
        TrackedSystem.from_scorer(name, scorer)
        for file, consumers in zip(corpus.systems, consumed, strict=True)
        for name, scorer in zip(file.names, consumers, strict=False)
    ]
    if settings.common:
        systems = _common(systems)
    inputs = _inputs(consumed[0], corpus.schema)
    return build_result(
        TASK.name,
        (
            SystemCells(one.name, cells(one, metrics, grouping), one.frames.dialogues, one.counts, inputs)
            for one in systems
        ),
        settings.resampling,
        metrics=metrics,
        notes=_notes(corpus.systems, consumed, systems),
        arguments=_arguments(corpus, settings),
        explorer=(lambda: _archive(corpus.systems, consumed, grouping)) if settings.explorer else None,
    ).save_if(settings.out)


def _check_patterns(settings: TrackingSettings, scorers: Sequence[Scorer]) -> None:
    """Refuses a pattern that no slot of gold, predictions or schema matches: it is misspelt."""
    seen = sorted(set[tuple[str, str]]().union(*(scorer.comparer.slots_seen for scorer in scorers)))
    for name in ("only", "without"):
        for pattern in parse_names(getattr(settings, name)):
            if not any(matches_any(service, slot, [pattern]) for service, slot in seen):
                known = [*dict.fromkeys(service for service, _ in seen), *(f"{one}.{slot}" for one, slot in seen)]
                hint = suggest_name(pattern, known) or f"for example {', '.join(known[:3])}"
                raise UserError(f"has '{pattern}', which no slot matches", option=name, hint=hint)


def _notes(
    files: Sequence[TrackedFile], consumed: Sequence[Sequence[Any]], systems: Sequence[TrackedSystem]
) -> list[Note]:
    """Facts about the systems that a reader of the scores should know."""
    notes = []
    if len({tuple(p.name for p in file.profiles) for file in files}) > 1:
        profiles = ", ".join(f"{file.label} by {'+'.join(p.name for p in file.profiles)}" for file in files)
        what = f"WARNING: systems are scored by different profiles and do not compare: {profiles}; name one profile"
        notes.append(Note(what))
    for file, (scorer, *_) in zip(files, consumed, strict=True):
        if scorer.other_gold:
            turns = f"{scorer.other_gold} turns"
            notes.append(Note(f"the gold in its own file differs from the gold scored against in {turns}", file.label))
    return notes + [Note(line, one.name) for one in systems for line in near_misses.lines(one.near_misses)]


def _inputs(consumers: Sequence[Any], schema: Schema | None) -> dict[str, str]:
    """Digests of what systems are scored against."""
    gold = [{"gold": str(one.digest)} for one in consumers if isinstance(one, GoldDigest)]
    return {**gold[0], **schema_digest(schema)} if gold else {}


def _maker(
    file: TrackedFile, settings: TrackingSettings, grouping: Grouping, gold: dict[Profile, GoldStates], *, first: bool
) -> Callable[[], list[PairConsumer]]:
    """Makes one scorer per profile; dialogues are recorded under the first profile. The first file digests gold."""
    by_slot, strict = "slot" in grouping.by, settings.unknown == "error"

    def make() -> list[PairConsumer]:
        scorers = [
            Scorer(p, grouping.schema, by_slot=by_slot, strict=strict, gold=gold.setdefault(p, {}))
            for p in file.profiles
        ]
        # Only a result that is kept is ever compared with another one's gold.
        digests: list[PairConsumer] = [GoldDigest()] if first and settings.explorer else []
        recorder = DialogueRecorder(file.profiles[0], grouping.schema, scorers[0])
        return [*scorers, *digests, *([recorder] if settings.explorer else [])]

    return make


def _archive(files: Sequence[TrackedFile], consumed: Sequence[Sequence[Any]], grouping: Grouping) -> Archive:
    sets = [
        ScoredDialogues(dialogues, scorer.frames(), file.names[0])
        for file, (scorer, *_, dialogues) in zip(files, consumed, strict=True)
    ]
    header = Header(seen=None if grouping.seen is None else tuple(sorted(grouping.seen)))
    return Archive(header, views(sets))


def _arguments(corpus: TrackingCorpus, settings: TrackingSettings) -> dict[str, Any]:
    """The arguments of the run, for its record."""
    paths = {name: value for name in ("schema", "train_schema") if isinstance(value := getattr(settings, name), str)}
    lists = {name: ",".join(parse_names(getattr(settings, name))) or None for name in ("by", "only", "without")}
    plain = {**lists, "resamples": settings.resamples, "seed": settings.seed}
    return {"gold": corpus.gold.label, "pred": corpus.names, **plain, **settings.rules, **paths}


def _common(systems: Sequence[TrackedSystem]) -> list[TrackedSystem]:
    """The systems on the dialogues that all of them have predictions for."""
    shared = set.intersection(*({*s.frames.dialogues} - {*s.missing} for s in systems))
    if not shared:
        raise UserError("no dialogue is in gold and in all predictions", hint="are they of the same split?")
    counts = {"dialogues": len(shared), "missing_dialogues": 0}
    return [replace(s, frames=s.frames.on(shared), counts={**s.counts, **counts}) for s in systems]


def _systems(gold: str, preds: Sequence[str]) -> list[tuple[str, str | None]]:
    """A short name and a path for each system."""
    if not preds:
        return [(stem(gold), None)]
    if "-" in preds and gold == "-":
        raise UserError("standard input is gold or prediction, not both", hint="name a file for one of them")
    return list(name_paths(preds, "prediction"))


def check_sides(gold: str, preds: Sequence[str], format: str | None = None, pred_format: str | None = None) -> None:
    """Refuses gold and predictions that were given in the wrong order, where their formats or contents tell."""
    if not gold or "-" in (gold, *preds) or not any(preds):
        return
    kept: dict[str, frozenset[bytes]] = {}

    def marks(path: str) -> frozenset[bytes]:
        if path not in kept:
            data = head(path, HEAD)
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
        return readers.schema_beside(gold) if gold else None
    return schema if isinstance(schema, dict) else readers.schema(path_of(schema))


def _profiles(settings: TrackingSettings, gold: str | None, pred: str | None, schema: Schema | None) -> list[Profile]:
    """The profiles to score with; `gold` is None for dialogues in memory."""
    wanted = settings.profile
    if wanted is None:
        fits = gold is not None
        profiles = [
            profile_for_files(gold or "", pred, schema, settings.format, settings.pred_format) if fits
            else default_profile(schema, MEMORY)
        ]  # fmt: skip
    elif wanted == "all":
        profiles = applicable_profiles(schema, MEMORY if gold is None else settings.format or readers.detect(gold))
    else:
        items = [wanted] if isinstance(wanted, Profile) else parse_names(wanted) if isinstance(wanted, str) else wanted
        profiles = [find_profile(item) for item in items]
    only, without = parse_names(settings.only), parse_names(settings.without)
    return [profile.with_rules(**settings.rules).restrict(only, without) for profile in profiles]


def profile_for_files(
    gold: str, pred: str | None, schema: Schema | None, format: str | None = None, pred_format: str | None = None
) -> Profile:
    """The profile to score with when none is named: the one that the format of the predictions declares."""
    name = format or readers.detect(gold) if pred is None else pred_format or readers.detect(pred)
    return default_profile(schema, name)


def default_profile(schema: Schema | None, format: str) -> Profile:
    """The profile that a format declares; else SGD's where there is a schema, and TRADE's where there is none."""
    declared = readers.FORMATS.load(format).FORMAT.profile
    return PROFILES.load(declared or ("sgd" if schema is not None else "trade"))


def applicable_profiles(schema: Schema | None, format: str) -> list[Profile]:
    """The profiles under which data of this format can be scored."""
    profiles = [PROFILES.load(name) for name in PROFILES.by_name()]
    correctness = readers.FORMATS.load(format).FORMAT.correctness
    return [p for p in profiles if (p.match == "given") == correctness and (schema is not None or p.scope == "state")]
