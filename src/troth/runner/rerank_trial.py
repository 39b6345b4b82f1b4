"""Does the reranker choose the faithful response? Gold among spoiled copies of itself (`troth.generate.spoiled`).

A list holds gold and, for each way of spoiling that can be done, one spoiled copy. Gold stands last and there are no
likelihoods, so a tie loses: gold is chosen only if it has more points than every other. By kind, gold stands against
the copy of that kind alone. Turns of which nothing can be spoiled do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from troth import __version__
from troth.backends import Nli
from troth.errors import UserError
from troth.generate.rerank import Candidate, Choice, Nbest, Progress, recipe, rerank_all
from troth.generate.spoiled import KINDS, Kind, spoiled
from troth.records import Dialogue, Schema, Score
from troth.runner.sample import Counted, by_lot, shares
from troth.scorers import sgsacc, tamper
from troth.scorers.sgsacc import Unit

METRIC = "faithful_chosen"
RULES = ("plain", "gated")


class List(msgspec.Struct, frozen=True):
    """A turn with its spoiled copies, in the order in which they are offered; gold comes last."""

    unit: Unit
    copies: tuple[tuple[Kind, str], ...]

    def nbest(self) -> Nbest:
        return Nbest((*(text for _, text in self.copies), self.unit.gold), self.unit.due, self.unit.previous)


class Lost(msgspec.Struct, frozen=True):
    """A list of which gold was not chosen."""

    dialogue: str
    turn: int
    rule: str
    kinds: tuple[Kind, ...]  # of the copies that have as many points as gold, or more
    chosen: str
    gold: str
    missed: tuple[str, ...]  # gold's acts that gave no point


@dataclass(frozen=True)
class Trial:
    scores: list[Score]
    lost: list[Lost]
    lists: int


def trial(
    dialogues: Sequence[Dialogue],
    schema: Schema,
    nli: Nli,
    *,
    turns: int | None = 2000,
    seed: int = 0,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> Trial:
    """The share of lists of which gold is chosen, by the paper's rule and by the gated one, on `turns` lists."""
    made = lists(dialogues, schema, turns=turns, seed=seed)
    chosen = rerank_all([one.nbest() for one in made], nli, progress=progress)
    pairs = list(zip(made, chosen, strict=True))
    recipes = {rule: recipe(nli, gated=rule == "gated", ties="lose") for rule in RULES}
    lost = [gone for rule in RULES for one, choice in pairs for gone in _lost(one, choice, rule)]
    return Trial(list(_scores(pairs, recipes, seed, resamples)), lost, len(made))


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


def _points(candidate: Candidate, rule: str) -> int:
    return sum(act.entailed and (act.present or rule == "plain") for act in candidate.acts)


def _beaten(one: List, choice: Choice, rule: str) -> dict[Kind, bool]:
    """Whether gold has more points than the copy, by the copy's kind."""
    *others, gold = (_points(candidate, rule) for candidate in choice.reasons)
    return {kind: gold > other for (kind, _), other in zip(one.copies, others, strict=True)}


def _lost(one: List, choice: Choice, rule: str) -> Iterator[Lost]:
    beaten = _beaten(one, choice, rule)
    if all(beaten.values()):
        return
    points = [_points(candidate, rule) for candidate in choice.reasons]
    gold = choice.reasons[-1]
    missed = tuple(
        f"{act.act}({act.slot}={', '.join(act.values)})"
        for act in gold.acts
        if not (act.entailed and (act.present or rule == "plain"))
    )
    kinds = tuple(kind for kind, won in beaten.items() if not won)
    best = choice.reasons[points.index(max(points))].text
    yield Lost(one.unit.dialogue, one.unit.turn, rule, kinds, best, one.unit.gold, missed)


def _scores(
    pairs: Sequence[tuple[List, Choice]], recipes: dict[str, str], seed: int, resamples: int
) -> Iterator[Score]:
    labels: list[tuple[str, str]] = []
    cells: list[list[Counted]] = []
    for rule in RULES:
        told = [(one.unit.dialogue, _beaten(one, choice, rule)) for one, choice in pairs]
        labels.append((rule, "all"))
        cells.append([(name, float(all(beaten.values())), 1.0) for name, beaten in told])
        for kind in KINDS:
            labels.append((rule, f"kind:{kind}"))
            cells.append([(name, float(beaten[kind]), 1.0) for name, beaten in told if kind in beaten])
    for (rule, group), ratio in zip(labels, shares(cells, resamples=resamples), strict=True):
        marks = [METRIC.upper(), recipes[rule], f"lists:{len(pairs)}", f"seed:{seed}"]
        marks += [f"group:{group}"] if group != "all" else []
        signature = "|".join([*marks, f"n:{ratio.n}", f"v:{__version__}"])
        reason = None if ratio.value is not None else "nothing could be spoiled that way"
        yield Score(rule, METRIC, group, ratio.value, ratio.low, ratio.high, ratio.n, signature, reason)
