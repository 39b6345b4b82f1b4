"""Evaluation of a tracker during training: JGA, and CheckDST's measures on perturbed twins (its figure 2).

Least slack: the slack of a checkpoint is the mean over the measures of its distance from the best checkpoint, over the
measures that all checkpoints have: one that predicts no name has no NoHF, and must not win by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from troth.core.parts import Parts, join
from troth.core.records import Dialogue, Schema
from troth.systems.data import TrackerCorpus
from troth.systems.sets import PERTURBED, perturb_dialogues
from troth.systems.tracker import Tracker
from troth.tracking.consistency import (
    CheckdstRecipe,
    UserTurns,
    conditional_parts,
    coreference_parts,
    exact_parts,
    hallucination_parts,
)
from troth.tracking.profiles import Profile, profile
from troth.tracking.scorer import Scorer

JGA, SLACK = "jga", "least-slack"


class TrackerEvaluation:
    """Measures a tracker on dialogues and on twins of them, which are made once."""

    def __init__(self, corpus: TrackerCorpus, sets: Sequence[str] = (), *, seed: int = 0) -> None:
        self.corpus = corpus
        self.sets: dict[str, Sequence[Dialogue]] = {"": corpus.dialogues}
        for name in sets:
            self.sets[name] = perturb_dialogues(corpus.dialogues, corpus.schema, PERTURBED.get(name, name), seed)
        self.profile: Profile = profile("trade" if corpus.complete else "sgd")

    def slacks(self, points: Sequence[Mapping[str, float]]) -> list[float]:
        """The slack of each checkpoint over the columns of CheckDST's table 2 that all of them have."""
        twins = [name for name in self.sets if name]
        names = [JGA, "coref_jga", *(f"cjga:{name}" for name in twins), "nohf", "nohf:NED"]
        columns = [name for name in names if all(name in point for point in points)]
        best = {name: max(point[name] for point in points) for name in columns}
        return [fmean(best[name] - point[name] for name in columns) if columns else 0.0 for point in points]

    def __call__(self, tracker: Tracker) -> dict[str, float]:
        """JGA, NoHF and coreference JGA on the dialogues, JGA, cJGA and NoHF on each set of twins."""
        scored = {name: self._score(tracker, dialogues) for name, dialogues in self.sets.items()}
        original, turns = scored.pop("")
        metrics = {JGA: _value(original), "nohf": _value(hallucination_parts(turns))}
        metrics["coref_jga"] = _value(coreference_parts(original, turns))
        for name, (twin, turns) in scored.items():
            pair = join({"": original, name: twin}).parts
            metrics[f"jga:{name}"] = _value(twin)
            metrics[f"cjga:{name}"] = _value(conditional_parts(pair[""], pair[name]))
            metrics[f"nohf:{name}"] = _value(hallucination_parts(turns))
        return {name: value for name, value in metrics.items() if value is not None}

    def _score(self, tracker: Tracker, dialogues: Sequence[Dialogue]) -> tuple[Parts, UserTurns]:
        schema: Schema = self.corpus.schema
        scorer, turns = Scorer(self.profile, schema, strict=False), UserTurns(CheckdstRecipe(coref="patterns"))
        states = tracker.states(dialogues, schema, complete=self.corpus.complete, spell=self.corpus.spell)
        for gold, pred in zip(dialogues, states, strict=True):
            scorer.add(gold, pred)
            turns.add(gold, pred)
        return exact_parts(scorer.frames()), turns


def _value(parts: Parts) -> float | None:
    total = float(parts.den.sum())
    return float(parts.num.sum()) / total if total else None
