"""Whether the reranker chooses the faithful response: gold among copies of itself (`troth.meta.trials.corrupt`).

A list holds one corrupted copy for each kind of corruption that applies, and gold. There are no likelihoods, and gold
comes last, so where the model sees no difference it loses. By kind, gold competes with the copy of that kind alone.
What is scored is the reranker's own choice, by four rules:

- `entailed`: the paper's, the response alone;
- `retry`: with the retry in context;
- `gated`: an act's values must stand in the response, too;
- `rule`: the gate alone, with no model. A copy with a wrong or a missing value is only made if the gate fails it, so on
  these kinds the last two rows measure how the copies were made. What the model is worth shows in the first two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.options import keywords, option, resolve
from troth.core.parts import Parts
from troth.core.randomness import generator
from troth.core.records import Gold
from troth.core.result import Finding, Result
from troth.meta.trials.corrupt import KINDS, CorruptionKind, corrupt
from troth.meta.trials.trial import Trial, TrialSettings
from troth.models import Entailment, Nli
from troth.models.cached import CachedNli
from troth.models.fake import FakeNli
from troth.responses import tamper
from troth.responses.rerank import Choice, Nbest, RerankRecipe, rerank_all
from troth.responses.sgsacc import Augment, SystemTurn
from troth.stats.estimates import Cell
from troth.storage.cache import Store

CHOSEN = Metric("faithful_chosen", "Gold chosen", "share of lists in which gold is chosen", unit="list")


@dataclass(frozen=True)
class RerankSettings(TrialSettings):
    augment: Augment = option(
        "never", "Whether the rule `gated` tries an act again in context if the response alone does not entail it.",
        choices=("never", "retry"),
    )  # fmt: skip


class CorruptedList(NamedTuple):
    """A turn with its corrupted copies, in the order in which they are offered; gold comes last."""

    turn: SystemTurn
    copies: tuple[tuple[CorruptionKind, str], ...]

    def nbest(self, kind: CorruptionKind | None = None) -> Nbest:
        """All copies and gold, or gold and the copy of one kind."""
        texts = (text for copy_kind, text in self.copies if kind in (None, copy_kind))
        return Nbest((*texts, self.turn.gold), self.turn.acts, self.turn.previous)


@keywords(RerankSettings)
def rerank(gold: Gold, **options: Any) -> Result:
    """The share of lists in which gold is chosen, by each rule; the lost lists are the result's details.

    `gold`: a path, or dialogues in memory. The options are those of `RerankSettings`.
    """
    settings = resolve(RerankSettings, options)
    trial = Trial("meta rerank", gold, settings)
    lists = corrupted_lists(trial)
    nbest = [one.nbest(kind) for one in lists for kind in (None, *(kind for kind, _ in one.copies))]
    model = CachedNli(trial.nli, Store.at(None))  # most pairs are the same for all rules
    gate_alone = FakeNli(lambda *_: Entailment(1.0, 0.0, 0.0), listen=False)
    ways: list[tuple[str, Nli, Augment]] = [
        ("entailed", model, "never"), ("retry", model, "retry"), ("gated", model, settings.augment),
        ("rule", gate_alone, "never"),
    ]  # fmt: skip
    systems: dict[str, list[Cell]] = {}
    lost: list[LostList] = []
    for rule, nli, augment in ways:
        gated = rule in ("gated", "rule")
        choices = iter(rerank_all(nbest, nli, gated=gated, augment=augment, refs=settings.refs))
        judged = [_Judged(one, next(choices), {kind: next(choices) for kind, _ in one.copies}) for one in lists]
        recipe = RerankRecipe.for_model(
            nli, gated=gated, augment=augment, descriptions=trial.descriptions, refs=settings.refs
        )
        if nli is gate_alone:
            recipe = RerankRecipe(rule="present", refs="", ties="")
        systems[rule] = _cells(judged, (recipe, {"lists": len(lists), "seed": settings.seed}))
        lost += [one.lost(rule) for one in judged if not _is_gold(one.whole)]
    return trial.result(systems, {"lists": len(lists)}, findings=lost)


def corrupted_lists(trial: Trial) -> list[CorruptedList]:
    """The first turns by the order of the draw that can be corrupted."""
    pool = tamper.collect_values(trial.gold.dialogues)
    lists: list[CorruptedList] = []
    for turn in trial.turns():
        if trial.settings.turns is not None and len(lists) == trial.settings.turns:
            break
        rng = generator(trial.settings.seed, "sgsacc", f"rerank\n{turn.dialogue}\n{turn.turn}")
        copies = list(corrupt(turn.gold, turn.acts, pool, rng).items())
        rng.shuffle(copies)
        if copies:
            lists.append(CorruptedList(turn, tuple(copies)))
    if not lists:
        raise UserError("no system turn has acts with values that stand in its text", hint="SGD's layout holds acts")
    return lists


class LostList(Finding, frozen=True, tag="lost list", omit_defaults=False):
    """A list in which gold is not chosen."""

    dialogue: str
    turn: int
    rule: str
    kinds: tuple[str, ...]  # copies that are chosen before gold
    chosen: str
    gold: str
    missed: tuple[str, ...]  # acts of gold that gave no point


class _Judged(NamedTuple):
    """What a rule chose from a list, and from gold and each copy alone."""

    corrupted: CorruptedList
    whole: Choice
    kinds: dict[CorruptionKind, Choice]

    def lost(self, rule: str) -> LostList:
        turn, points = self.corrupted.turn, self.whole.reasons[-1].acts
        missed = tuple(f"{act.act}({act.slot}={', '.join(act.values)})" for act in points if not act.faithful)
        kinds = tuple(kind for kind, choice in self.kinds.items() if not _is_gold(choice))
        return LostList(turn.dialogue, turn.turn, rule, kinds, self.whole.response, turn.gold, missed)


def _is_gold(choice: Choice) -> bool:
    return choice.choice == len(choice.reasons) - 1


def _cells(judged: Sequence[_Judged], recipe: Any) -> list[Cell]:
    choices: dict[Group, Any] = {ALL: [(row.corrupted.turn, row.whole) for row in judged]}
    for kind in KINDS:
        choices[Group("kind", kind)] = [(row.corrupted.turn, row.kinds[kind]) for row in judged if kind in row.kinds]
    cells = []
    for group, members in choices.items():
        keys = [(*turn.key, "") for turn, _ in members]
        parts = Parts.from_fractions([(float(_is_gold(choice)), 1.0) for _, choice in members], keys)
        cells.append(Cell(CHOSEN, parts, recipe, group))
    return cells
