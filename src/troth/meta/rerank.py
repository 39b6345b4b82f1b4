"""Does the reranker choose the faithful response? Gold among spoiled copies of itself (`troth.meta.spoiled`).

A list holds gold and, for each way of spoiling that can be done, one spoiled copy. There are no likelihoods, so of
equal points the one closest to entailment wins; and gold stands last, so where the model sees no difference it loses.
By kind, gold stands against the copy of that kind alone. Turns of which nothing can be spoiled do not count. What is
scored is the reranker's own choice, by four rules:

- `entailed`: the paper's, the response alone;
- `retry`: with the retry in context;
- `gated`: an act's values must stand in the response, too;
- `rule`: the gate alone, with no model. A copy with a wrong or a missing value is only made if the gate fails it, so on
  these kinds the last two rows measure how the copies were made. What the model is worth is read from the first two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from troth.core.errors import UserError
from troth.core.records import Dialogue, Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.meta.spoiled import KINDS, Kind, spoiled
from troth.models import Nli, Pair, Verdict
from troth.responses import sgsacc, tamper
from troth.responses.rerank import Choice, Nbest, Progress, recipe, rerank_all
from troth.responses.sample import Counted, by_lot, descriptions, lacking, shares
from troth.responses.sgsacc import Augment, Unit

METRIC = "faithful_chosen"
Rule = Literal["entailed", "retry", "gated", "rule"]
RULES: tuple[Rule, ...] = ("entailed", "retry", "gated", "rule")


class List(msgspec.Struct, frozen=True):
    """A turn with its spoiled copies, in the order in which they are offered; gold comes last."""

    unit: Unit
    copies: tuple[tuple[Kind, str], ...]

    def nbest(self, kind: Kind | None = None) -> Nbest:
        """All copies and gold, or one kind's and gold."""
        texts = (text for mine, text in self.copies if kind in (None, mine))
        return Nbest((*texts, self.unit.gold), self.unit.due, self.unit.previous)


class Judged(msgspec.Struct, frozen=True):
    """What a rule chose from a list, and from gold and each copy alone."""

    one: List
    rule: Rule
    whole: Choice
    kinds: dict[Kind, Choice]

    @property
    def won(self) -> bool:
        return _gold(self.whole)


class Lost(msgspec.Struct, frozen=True):
    """A list of which gold was not chosen."""

    dialogue: str
    turn: int
    rule: Rule
    kinds: tuple[Kind, ...]  # of the copies that have as many points as gold, or more
    chosen: str
    gold: str
    missed: tuple[str, ...]  # gold's acts that gave no point


@dataclass(frozen=True)
class Trial:
    scores: list[Score]
    lost: list[Lost]
    lists: int
    notes: list[str] = field(default_factory=list)  # what the user should know besides


def trial(
    dialogues: Sequence[Dialogue],
    schema: Schema,
    nli: Nli,
    *,
    turns: int | None = 2000,
    seed: int = 0,
    augment: Augment = "never",
    resamples: int = 1000,
    progress: Progress | None = None,
) -> Trial:
    """The share of lists of which gold is chosen, by each rule, on `turns` lists. `augment`: of the gated rule."""
    made = lists(dialogues, schema, turns=turns, seed=seed)
    model, described = _Known(nli), descriptions(schema)
    recipes: dict[Rule, str] = {"rule": "rule:present"}
    judged: list[Judged] = []
    for number, rule in enumerate(RULES):
        step = _step(progress, number)
        if rule == "rule":
            judged += _judged(made, rule, _Yes(), gated=True, augment="never", progress=step)
            continue
        how: Augment = {"entailed": "never", "retry": "retry", "gated": augment}[rule]  # type: ignore[assignment]
        gated = rule == "gated"
        recipes[rule] = recipe(nli, gated=gated, augment=how, descriptions=described)
        judged += _judged(made, rule, model, gated=gated, augment=how, progress=step)
    scores = list(_scores(judged, recipes, len(made), seed, resamples))
    return Trial(scores, [_lost(one) for one in judged if not one.won], len(made), lacking(described))


def lists(dialogues: Sequence[Dialogue], schema: Schema, *, turns: int | None = 2000, seed: int = 0) -> list[List]:
    """The first `turns` turns by lot of which something can be spoiled."""
    pool = tamper.pool(dialogues)
    units = (
        unit for dialogue in dialogues for unit in sgsacc.units(dialogue, schema) if unit.due and unit.gold.strip()
    )
    made: list[List] = []
    for unit in by_lot(units, seed):
        if turns is not None and len(made) == turns:
            break
        rng = sgsacc.generator(seed, "rerank", unit.dialogue, unit.turn)
        copies = list(spoiled(unit.gold, unit.due, pool, rng).items())
        rng.shuffle(copies)
        if copies:
            made.append(List(unit, tuple(copies)))
    if not made:
        raise UserError("no system turn has acts with values that stand in its text", hint="SGD's layout holds acts")
    return made


# -- choosing ----------------------------------------------------------------------------------------------------------


class _Known:
    """A model that is asked once for each pair, whatever the rules: most pairs are the same."""

    def __init__(self, nli: Nli) -> None:
        self.nli, self.name = nli, nli.name
        self.known: dict[Pair, Verdict] = {}

    @property
    def shortened(self) -> Set[Pair]:
        return self.nli.shortened

    @property
    def cut(self) -> int:
        return self.nli.cut

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self.known))
        if new:
            self.known.update(zip(new, self.nli.probabilities(new), strict=True))
        return [self.known[pair] for pair in pairs]


class _Yes:
    """No model: everything is entailed, and the gate decides alone."""

    name = "none"
    shortened: Set[Pair] = frozenset()
    cut = 0

    def probabilities(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [Verdict(1.0, 0.0, 0.0)] * len(pairs)


def _judged(
    made: Sequence[List], rule: Rule, nli: Nli, *, gated: bool, augment: Augment, progress: Progress | None
) -> Iterator[Judged]:
    choices = iter(
        rerank_all(
            [nbest for one in made for nbest in (one.nbest(), *(one.nbest(kind) for kind, _ in one.copies))],
            nli, gated=gated, augment=augment, progress=progress,
        )
    )  # fmt: skip
    for one in made:
        yield Judged(one, rule, next(choices), {kind: next(choices) for kind, _ in one.copies})


def _gold(choice: Choice) -> bool:
    return choice.choice == len(choice.reasons) - 1


def _step(progress: Progress | None, number: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, len(RULES) * total)


# -- figures -----------------------------------------------------------------------------------------------------------


def _lost(judged: Judged) -> Lost:
    unit, choice = judged.one.unit, judged.whole
    missed = tuple(
        f"{act.act}({act.slot}={', '.join(act.values)})" for act in choice.reasons[-1].acts if not act.faithful
    )
    kinds = tuple(kind for kind, alone in judged.kinds.items() if not _gold(alone))
    return Lost(unit.dialogue, unit.turn, judged.rule, kinds, choice.response, unit.gold, missed)


def _scores(
    judged: Sequence[Judged], recipes: dict[Rule, str], count: int, seed: int, resamples: int
) -> Iterator[Score]:
    labels: list[tuple[Rule, str]] = []
    cells: list[list[Counted]] = []
    for rule in RULES:
        mine = [one for one in judged if one.rule == rule]
        labels.append((rule, "all"))
        cells.append([(one.one.unit.dialogue, float(one.won), 1.0) for one in mine])
        for kind in KINDS:
            told = [(one.one.unit.dialogue, one.kinds[kind]) for one in mine if kind in one.kinds]
            labels.append((rule, f"kind:{kind}"))
            cells.append([(name, float(_gold(choice)), 1.0) for name, choice in told])
    for (rule, group), ratio in zip(labels, shares(cells, resamples=resamples), strict=True):
        marks = [METRIC.upper(), recipes[rule], f"lists:{count}", f"seed:{seed}"]
        marks += [f"group:{group}"] if group != "all" else []
        signature = "|".join([*marks, f"n:{ratio.n}", f"v:{__version__}"])
        reason = None if ratio.value is not None else "nothing could be spoiled that way"
        yield Score(rule, METRIC, group, ratio.value, ratio.low, ratio.high, ratio.n, signature, reason)
