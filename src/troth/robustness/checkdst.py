"""CheckDST over files: systems on the original set and on perturbed ones, joined by dialogue, turn and service."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from troth.core.errors import UserError
from troth.core.names import Path, is_path, parse_names, path_of
from troth.core.options import keywords, option, resolve
from troth.core.parts import Joined, Parts, join
from troth.core.records import Dialogue
from troth.core.result import Finding, Note, Result
from troth.core.tasks import Task
from troth.robustness.metrics import COREF_JGA, JGA, NOHF, on_set, pair_metrics
from troth.robustness.settings import ORIGINAL, RobustnessSettings, check_same_sets, set_label
from troth.stats.estimates import NOTHING, Cell, SystemCells
from troth.storage.explorer import Archive, DialogueView
from troth.tracking.cells import TrackedSystem, recipe
from troth.tracking.consistency import CheckdstRecipe, UserTurns
from troth.tracking.dialogues import DialogueRecorder, DialogueStates, ScoredDialogues, SlotValues, views
from troth.tracking.feed import DialogueSource, PairConsumer, Predictions, feed
from troth.tracking.gold import GoldDigest
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import MEMORY, check_sides, default_profile, profile_for_files, schema_of
from troth.tracking.scorer import Scorer

TASK = Task("robust checkdst", "robustness", "dialogues", "troth.report.page.robustness", varies=True)
# A file that holds gold and prediction, "GOLD,PRED", a pair of paths, or a pair of dialogues in memory.
TestSet = Path | tuple[Path, Path] | tuple[Sequence[Dialogue], Sequence[Dialogue]]
NO_COREF = "no turn is annotated for coreference; the rule coref:patterns finds some by regular expressions"


class Flip(Finding, frozen=True, tag="flip"):
    """A unit that is right in one set and wrong in the other, with the words that differ and the slots at fault."""

    perturbation: str
    dialogue: str
    turn: int
    service: str | None
    right: str  # "before" or "after": where it is right
    text: str
    twin: str
    changed: list[str]  # words that only one of the texts has: "-london", "+mbadgceir"
    slots: list[SlotValues]  # the wrong ones, where the unit is wrong
    system: str = ""


@dataclass(frozen=True)
class CheckdstSettings(RobustnessSettings):
    nohf: str = option(
        "default", "With code, dontcare counts as an invented name, as in the authors' code.",
        choices=("default", "code"),
    )  # fmt: skip
    coref: str = option(
        "annotated", "How to find turns with coreference: by annotation, or by regular expressions.",
        choices=("annotated", "patterns"),
    )  # fmt: skip
    slots: str | Iterable[str] | None = option(
        None, "Slots with named entities, comma-separated. Default: those of MultiWOZ and SGD.", "NAMES"
    )


class _ScoredSet(NamedTuple):
    """One test set with a system's predictions for it. `name` is empty for the original."""

    name: str
    system: TrackedSystem
    right: Parts
    turns: UserTurns
    dialogues: DialogueRecorder
    gold: str  # its digest


class TestSides(NamedTuple):
    """Gold and predictions of one test set; an empty prediction is in gold's file."""

    gold: DialogueSource
    pred: DialogueSource


def _views(same: Sequence[_ScoredSet]) -> Iterator[DialogueView]:
    """The dialogues of one set, with the predictions of each system."""
    scored = [ScoredDialogues(one.dialogues, one.system.frames, one.system.name) for one in same]
    return views(scored, set=same[0].name)


TestSets = dict[str, dict[str, TestSides]]  # by system, then by set, the original (with an empty name) first
Perturbed = Mapping[str, TestSet] | Mapping[str, Mapping[str, TestSet]] | Iterable[str]


@keywords(CheckdstSettings)
def checkdst(original: TestSet | Mapping[str, TestSet] | None, perturbed: Perturbed, **options: Any) -> Result:
    """Scores trackers on a test set and on perturbed twins of it: consistency, hallucination, coreference.

    `original` and each of `perturbed` are a file that holds gold and prediction together, `GOLD,PRED`, a pair of paths,
    or a pair of lists of dialogues. `perturbed` is a mapping of names (NED, PI, …) to these, or a list of `NAME=PATH`.
    For several systems, both are mappings of the systems' names to that; or `original` is None, and `perturbed` is a
    list of `SYSTEM:NAME=PATH`, in which `orig` is the original set. The options are those of `CheckdstSettings`.
    `Result.findings` has the units that are right in one set only.

    >>> from troth import demo
    >>> twins = {"SDI": (demo.path("gold"), demo.path("twins/hasty-SDI.jsonl"))}
    >>> result = checkdst((demo.path("gold"), demo.path("hasty")), twins, profile="trade", resamples=50)
    >>> f"{result['cjga:SDI'].value:.3f}"
    '0.746'
    """
    settings = resolve(CheckdstSettings, options)
    return score_checkdst(read_checkdst(original, perturbed, settings), settings)


def read_checkdst(
    original: TestSet | Mapping[str, TestSet] | None, perturbed: Perturbed, settings: CheckdstSettings
) -> TestSets:
    """The test sets of each system, by name; the original's name is empty."""
    found = settings.parse_sets(perturbed)
    originals = {} if original is None else original if isinstance(original, Mapping) else {settings.name: original}
    sets = {
        system: {ORIGINAL: originals[system], **found.get(system, {})} if system in originals else found[system]
        for system in dict.fromkeys((*originals, *found))
    }
    for system, mine in sets.items():
        if ORIGINAL not in mine:
            what = f"'{system}' has no original set" if len(sets) > 1 else "no original set is named"
            raise UserError(what, hint=f"add {system}:{ORIGINAL}=PATH")
    if all(len(mine) < 2 for mine in sets.values()):
        raise UserError("no perturbed set is named", hint="for example NED=PATH")
    check_same_sets(sets)
    order = ["", *(name for name in next(iter(sets.values())) if name != ORIGINAL)]
    corpus = {system: {name: _sides(mine[name or ORIGINAL]) for name in order} for system, mine in sets.items()}
    for gold, pred in (sides for mine in corpus.values() for sides in mine.values()):
        check_sides(gold.path, [pred.path] if pred.path else [])
    return corpus


class _ScoredSystem(NamedTuple):
    """One system on all sets, the original first, and the units that a set shares with the original, by set."""

    sets: list[_ScoredSet]
    pairs: dict[str, Joined]

    @property
    def name(self) -> str:
        return self.sets[0].system.name


def score_checkdst(corpus: TestSets, settings: CheckdstSettings) -> Result:
    """The result of systems on their original test set and the perturbed ones."""
    rules = CheckdstRecipe(
        nohf=settings.nohf, coref=settings.coref, slots=frozenset(parse_names(settings.slots)) or None
    )
    systems = []
    for system, mine in corpus.items():
        sets = [_score_set(system, name, sides, settings, rules) for name, sides in mine.items()]
        systems.append(
            _ScoredSystem(sets, {one.name: join({"": sets[0].right, one.name: one.right}) for one in sets[1:]})
        )
    _check_gold(systems)
    flips = [
        flip for one in systems for other in one.sets[1:] for flip in _flips(one.sets[0], other, one.pairs[other.name])
    ]
    same_sets = list(zip(*(one.sets for one in systems), strict=True))
    return settings.build(
        TASK.name,
        (
            SystemCells(
                one.name,
                _cells(one.sets, one.pairs, rules),
                [dialogue for mine in one.sets for dialogue in mine.system.frames.dialogues],
            )
            for one in systems
        ),
        counts={set_label(one.name, name, list(corpus)): count for one in systems for name, count in _counts(one)},
        notes=[
            _note(set_label(one.name, name, list(corpus)), pair, [flip for flip in flips if flip.system == one.name])
            for one in systems
            for name, pair in one.pairs.items()
        ],
        findings=flips,
        arguments=_arguments(corpus),
        explorer=(lambda: Archive(dialogues=chain(*map(_views, same_sets)))) if settings.explorer else None,
    )


def _check_gold(systems: Sequence[_ScoredSystem]) -> None:
    """Systems can be put side by side only where they are scored against the same gold."""
    for one in systems[1:]:
        for ours, theirs in zip(systems[0].sets, one.sets, strict=True):
            if ours.gold != theirs.gold:
                what = f"'{systems[0].name}' and '{one.name}' have different gold for '{ours.name or ORIGINAL}'"
                raise UserError(what, hint="score them apart, or against the same gold")


def _counts(one: _ScoredSystem) -> Iterator[tuple[str, dict[str, int]]]:
    for mine in one.sets:
        pair = one.pairs.get(mine.name)
        lacking = {} if pair is None else {"unpaired": pair.unpaired[mine.name], "unpaired_original": pair.unpaired[""]}
        yield mine.name or ORIGINAL, {**mine.system.counts, **lacking}


def _arguments(corpus: TestSets) -> dict[str, Any]:
    """The files, as the command line takes them."""
    files = {
        (system, name): ",".join(filter(None, (sides.gold.path, sides.pred.path)))
        for system, mine in corpus.items()
        for name, sides in mine.items()
    }
    original = None if len(corpus) > 1 else files.pop((next(iter(corpus)), ""))
    named = [f"{set_label(system, name or ORIGINAL, list(corpus))}={path}" for (system, name), path in files.items()]
    return {"original": original, "perturbed": named}


def _sides(test_set: TestSet) -> TestSides:
    if isinstance(test_set, tuple):
        gold, pred = test_set
    else:
        gold, pred = path_of(test_set).partition(",")[::2]
    return TestSides(_source(gold, "gold"), _source(pred, "predictions"))


def _source(side: Path | Sequence[Dialogue], name: str) -> DialogueSource:
    return DialogueSource(path_of(side)) if is_path(side) else DialogueSource(dialogues=side, name=name)


def _score_set(
    system: str, name: str, sides: TestSides, settings: CheckdstSettings, rules: CheckdstRecipe
) -> _ScoredSet:
    gold, pred = sides
    schema = schema_of(settings.schema, gold.path)
    if settings.profile is not None:
        profile = find_profile(settings.profile)
    elif gold.path:
        profile = profile_for_files(gold.path, pred.path or None, schema)
    else:
        profile = default_profile(schema, MEMORY)
    profile = profile.with_rules(**settings.rules)

    def make() -> list[PairConsumer]:
        scorer = Scorer(profile, schema)
        return [scorer, UserTurns(rules), DialogueRecorder(profile, schema, scorer), GoldDigest()]

    ((scorer, turns, dialogues, digest),) = feed(gold, [Predictions(pred, make)], workers=settings.workers)
    tracked = TrackedSystem.from_scorer(system, scorer)
    return _ScoredSet(name, tracked, JGA.compute(tracked.frames), turns, dialogues, str(digest.digest))


def _cells(sets: Sequence[_ScoredSet], pairs: Mapping[str, Joined], rules: CheckdstRecipe) -> Iterator[Cell]:
    for one in sets:
        make = partial(Cell, recipe=(*recipe(JGA, one.system.frames), rules))
        why = one.system.unscorable or NOTHING
        yield make(on_set(JGA, one.name), one.right, reason=why)
        for metric in pair_metrics() if one.name else ():
            yield make(on_set(metric, one.name), metric.compute(*pairs[one.name].parts.values()), reason=why)
        yield Cell(on_set(NOHF, one.name), NOHF.compute(one.turns), rules, reason="no named entity is predicted")
        if not one.name:
            yield make(COREF_JGA, COREF_JGA.compute(one.right, one.turns), reason=NO_COREF)


def _note(label: str, pair: Joined, flips: Sequence[Flip]) -> Note:
    name = next(name for name in pair.unpaired if name)
    mine = [flip.right for flip in flips if flip.perturbation == name]
    counted = f"{mine.count('before')} units right before and wrong after, {mine.count('after')} the other way"
    unpaired = f"without a twin: {pair.unpaired['']} of the original, {pair.unpaired[name]} perturbed"
    return Note(f"{counted}; {unpaired}", label)


def _flips(first: _ScoredSet, other: _ScoredSet, pair: Joined) -> Iterator[Flip]:
    """The pairs that are right on one side only, with the words that changed in the turn and the slots at fault."""
    texts, twins = first.turns.texts(), other.turns.texts()
    before, after = pair.parts.values()
    flipped = np.flatnonzero(before.num != after.num)
    keys = before.units.take(flipped).keys()
    known: dict[tuple[str, str], DialogueStates] = {}
    for (dialogue, turn, service), right in zip(keys, before.num[flipped].tolist(), strict=True):
        where, wrong = ("before", other) if right else ("after", first)
        states = known.get((wrong.name, dialogue))
        if states is None:
            states = known[wrong.name, dialogue] = wrong.dialogues.states(dialogue)
        slots = states.wrong_slots(turn, service or None)
        text, twin = texts[dialogue, turn], twins[dialogue, turn]
        changed = changed_words(text, twin)
        mine = first.system.name
        yield Flip(other.name, dialogue, turn, service or None, where, text, twin, changed, slots, mine)


def changed_words(text: str, twin: str) -> list[str]:
    """Words that only one of two texts has, in order, marked with - and +."""
    return [line[0] + line[2:] for line in difflib.ndiff(text.split(), twin.split()) if line[0] in "+-"]
