"""Score state trackers: files in, every metric of the field out, with intervals and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from troth import readers
from troth.core.errors import UserError, near
from troth.core.records import Schema
from troth.core.score import Score
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Scorer
from troth.tracking.pool import Gathers, feed
from troth.tracking.profiles import PROFILES, Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.scores import Found, System, system, unit_rows
from troth.tracking.scores import scores as summed

if TYPE_CHECKING:
    import polars as pl

    from troth.tracking.dialogues import Keeper

BY = ("seen", "service", "domain", "slot", "turn")
ENDINGS = (".gz", ".zip", ".json", ".jsonl", ".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Result(Found):
    """Scores with their intervals, and the units that they come from."""

    scores: list[Score]
    systems: list[System]
    metrics: list[str]
    keepers: dict[str, Keeper] = field(default_factory=dict)  # by system: the dialogues, where they were to be kept
    seen: frozenset[str] | None = None  # the training services

    def rows(self) -> pl.DataFrame:
        """One row a unit and metric: `num` over `den` are the parts that every score is a ratio of sums of."""
        import polars as pl

        return pl.concat(frame for system in self.systems for frame in unit_rows(system, self.metrics))

    def dialogues(self) -> Iterator[bytes]:
        """The lines of `dialogues.jsonl.gz`, of the systems whose dialogues were kept."""
        from troth.storage.explorer import Header, lines
        from troth.tracking.dialogues import Scored, kept

        found = [Scored(self.keepers[one.name], one, one.name) for one in self.systems if one.name in self.keepers]
        header = Header(seen=None if self.seen is None else tuple(sorted(self.seen)))
        return lines(header, kept(found) if found else ())


def dst(
    gold: str,
    *preds: str,
    profile: str | Profile | Sequence[str | Profile] | None = None,
    rules: Mapping[str, str | None] | None = None,
    schema: str | Schema | None = None,
    train_schema: str | None = None,
    by: Iterable[str] = (),
    metrics: Sequence[str] | None = None,
    formats: tuple[str | None, str | None] = (None, None),
    unknown: str = "error",
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    keep: bool = False,
) -> Result:
    """Score predictions against gold.

    `preds`: paths, each optionally as `name=path`; none if `gold` holds both sides. `profile`: a name, a `Profile`,
    "all", or several, each scored in the same pass. `rules` changes some of its rules: unit, match, missing, fga.
    `train_schema` tells seen services from unseen. `by` adds groups: service, domain, slot, turn. `formats`: of gold
    and of the predictions, where detection should not decide. `workers`: how many processes may read and score; they
    change no figure. `keep`: the dialogues stay at hand for `Result.dialogues`, under the first profile of each system.
    """
    groups = known_groups(by, BY, train_schema)
    schemas = readers.schema(schema) if isinstance(schema, str) else schema or readers.schema_beside(gold)
    seen = frozenset(readers.schema(train_schema)) if train_schema else None
    names = list(dict.fromkeys(metrics)) if metrics is not None else aggregate.names()
    for name in names:
        aggregate.metric(name)  # a misspelled metric is told before anything is read
    systems: list[System] = []
    keepers: dict[str, Keeper] = {}
    for label, path in _labels(gold, preds):
        chosen = [p.with_options(**(rules or {})) for p in _profiles(profile, gold, path, schemas, formats)]
        labels = [label] if len(chosen) == 1 else [f"{label}:{p.name}" for p in chosen]

        def make(chosen: list[Profile] = chosen) -> list[Scorer]:
            return [Scorer(p, schemas, by_slot="slot" in groups, strict=unknown == "error") for p in chosen]

        if keep:
            scorers, keepers[labels[0]] = _kept(make, chosen[0], schemas, (gold, path), formats, workers)
        else:
            scorers = feed(make, gold, path, formats, workers=workers)
        systems.extend(system(*pair, schemas) for pair in zip(labels, scorers, strict=True))
    scores = [
        score
        for system in systems
        for score in summed(system, names, groups, seen, schemas, resamples=resamples, seed=seed)
    ]
    return Result(scores, systems, names, keepers, seen)


def _kept(
    make: Callable[[], list[Scorer]],
    profile: Profile,
    schema: Schema | None,
    files: tuple[str, str | None],
    formats: tuple[str | None, str | None],
    workers: int,
) -> tuple[list[Scorer], Keeper]:
    """Scored as ever, with one more that keeps the dialogues."""
    from troth.tracking.dialogues import Keeper

    def gatherers() -> list[Gathers]:
        return [*make(), Keeper(profile, schema)]

    *scorers, keeper = feed(gatherers, *files, formats, workers=workers)
    return cast(list[Scorer], scorers), cast(Keeper, keeper)


def applicable(schema: Schema | None, *, correctness: bool) -> list[Profile]:
    """The profiles under which data of this kind can be scored."""
    if correctness:
        return [PROFILES["trippy"]]
    return [p for p in PROFILES.values() if p.name != "trippy" and (schema is not None or p.scope == "state")]


def _profiles(
    given: str | Profile | Sequence[str | Profile] | None,
    gold: str,
    pred: str | None,
    schema: Schema | None,
    formats: tuple[str | None, str | None],
) -> list[Profile]:
    if given is None:
        return [choose(gold, pred, schema, formats)]
    if given == "all":
        return applicable(schema, correctness=(formats[0] or readers.detect(gold)) == "trippy")
    items = [given] if isinstance(given, str | Profile) else list(given)
    return [find_profile(item) if isinstance(item, str) else item for item in items]


def choose(gold: str, pred: str | None, schema: Schema | None, formats: tuple[str | None, str | None]) -> Profile:
    """The profile to score with when none is named: by the format of the predictions."""
    if pred is None:
        return PROFILES[default_profile(schema, formats[0] or readers.detect(gold))]
    return PROFILES[default_profile(schema, formats[1] or readers.detect(pred))]


def default_profile(schema: Schema | None, pred_format: str) -> str:
    """The profile that the predictions' own field would use."""
    own = {"trippy": "trippy", "checkdst": "checkdst", "parlai": "checkdst", "mwzeval": "mwzeval"}
    if pred_format in own:
        return own[pred_format]
    return "sgd" if schema is not None else "trade"


def _labels(gold: str, preds: Sequence[str]) -> list[tuple[str, str | None]]:
    """A short name for each system: its own, or as much of the path as tells it from the others."""
    if not preds:
        return [(stem(gold, 1), None)]
    if "-" in preds and gold == "-":
        raise UserError("standard input is gold or prediction, not both", hint="name a file for one of them")
    return list(labels(preds, "prediction"))


def labels(given: Sequence[str], what: str) -> list[tuple[str, str]]:
    """A name for each system, and its path: its own name, or as much of the path as tells it from the others."""
    paths = [named(item) for item in given]
    for depth in range(1, 10):
        names = [name or stem(path, depth) for name, path in paths]
        if len(set(names)) == len(names):
            return [(name, path) for name, (_, path) in zip(names, paths, strict=True)]
    raise UserError(f"the same {what} is named twice", hint="give each a name: first=PATH second=PATH")


def named(pred: str) -> tuple[str, str]:
    """`name=path` in two; the name is empty where none is given."""
    name, equals, path = pred.partition("=")
    return (name, path) if equals and "/" not in name else ("", pred)


def stem(path: str, depth: int) -> str:
    """The last parts of a path, without what only tells the format."""
    parts = [part for part in path.rstrip("/").split("/") if part not in ("", ".", "..")] or [path]
    name = "/".join(parts[-depth:])
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def known_groups(by: Iterable[str], known: Sequence[str], train_schema: str | None) -> tuple[str, ...]:
    """What is asked for; seen and unseen come with the training services."""
    groups = tuple(dict.fromkeys(by))
    for name in groups:
        if name not in known:
            raise UserError(f"cannot group by '{name}'", hint=near(name, known) or "one of: " + ", ".join(known))
    if "seen" in groups and train_schema is None:
        raise UserError("seen and unseen need the training services", hint="give --train-schema FILE")
    return ("seen", *groups) if train_schema and "seen" not in groups else groups
