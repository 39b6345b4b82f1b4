"""Evaluation of a tracker during training: JGA, CheckDST's measures on perturbed twins (its figure 2), and JGA under
other wordings of the schema.

Least slack: the slack of a checkpoint is the mean over the measures of its distance from the best checkpoint, over the
measures that all checkpoints have: one that predicts no name has no NoHF, and must not win by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.parts import Parts, join
from troth.core.records import Dialogue, Schema
from troth.perturb.schemas.renaming import rename_dialogue
from troth.systems.augmentation import SEED
from troth.systems.data import TrackerCorpus, Wording
from troth.systems.sets import parse_sets, perturb_dialogues, reword
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
JGA_WORDINGS = "jga_wordings"  # the mean of JGA over the wordings of the schema


class TrackerEvaluation:
    """Measures a tracker on dialogues, on twins of them and under wordings of the schema, which are made once.

    `schemas`: where the wordings v1, v2, … come from (`variants_from`). Corrupted ones differ from those of training.
    """

    def __init__(
        self, corpus: TrackerCorpus, sets: str | Sequence[str] = (), *, schemas: Path | None = None, seed: int = 0
    ) -> None:
        self.corpus = corpus
        plan = parse_sets(sets)
        if plan.folders:
            hint = "NED, SDI, PI, v1..v5, or a family of perturbations"
            raise UserError(f"cannot be '{next(iter(plan.folders))}=…' while training", option="sets", hint=hint)
        self.twins: dict[str, Sequence[Dialogue]] = {
            name: perturb_dialogues(corpus.dialogues, corpus.schema, family, seed)
            for name, family in plan.families.items()
        }
        self.wordings = reword(corpus, plan.variants, None if schemas is None else path_of(schemas), SEED + seed)
        self.profile: Profile = profile("trade" if corpus.complete else "sgd")

    @property
    def has_sets(self) -> bool:
        """Whether there are other sets than the dialogues as they are."""
        return bool(self.twins or self.wordings)

    def slacks(self, points: Sequence[Mapping[str, float]]) -> list[float]:
        """The slack of each checkpoint over the columns that all have, of CheckDST's table 2 and the wordings."""
        names = [JGA, "coref_jga", *(f"cjga:{name}" for name in self.twins), "nohf", "nohf:NED", JGA_WORDINGS]
        columns = [name for name in names if all(name in point for point in points)]
        best = {name: max(point[name] for point in points) for name in columns}
        return [fmean(best[name] - point[name] for name in columns) if columns else 0.0 for point in points]

    def __call__(self, tracker: Tracker) -> dict[str, float]:
        """JGA, NoHF and coreference JGA on the dialogues, JGA, cJGA and NoHF on each set of twins, JGA by wording."""
        original, turns = self._score(tracker, self.corpus.dialogues, self.corpus.schema)
        metrics = {JGA: _value(original), "nohf": _value(hallucination_parts(turns))}
        metrics["coref_jga"] = _value(coreference_parts(original, turns))
        for name, dialogues in self.twins.items():
            twin, turns = self._score(tracker, dialogues, self.corpus.schema)
            pair = join({"": original, name: twin}).parts
            metrics[f"jga:{name}"] = _value(twin)
            metrics[f"cjga:{name}"] = _value(conditional_parts(pair[""], pair[name]))
            metrics[f"nohf:{name}"] = _value(hallucination_parts(turns))
        worded = {f"jga:{wording.name}": self._jga_under(wording, tracker) or 0.0 for wording in self.wordings}
        metrics |= {**worded, JGA_WORDINGS: fmean(worded.values())} if worded else {}
        return {name: value for name, value in metrics.items() if value is not None}

    def _jga_under(self, wording: Wording, tracker: Tracker) -> float | None:
        dialogues = [rename_dialogue(dialogue, wording.renaming) for dialogue in self.corpus.dialogues]
        return _value(self._score(tracker, dialogues, wording.schema)[0])

    def _score(self, tracker: Tracker, dialogues: Sequence[Dialogue], schema: Schema) -> tuple[Parts, UserTurns]:
        scorer, turns = Scorer(self.profile, schema, strict=False), UserTurns(CheckdstRecipe(coref="patterns"))
        states = tracker.states(dialogues, schema, complete=self.corpus.complete, spell=self.corpus.spell)
        for gold, pred in zip(dialogues, states, strict=True):
            scorer.add(gold, pred)
            turns.add(gold, pred)
        return exact_parts(scorer.frames()), turns


def _value(parts: Parts) -> float | None:
    total = float(parts.den.sum())
    return float(parts.num.sum()) / total if total else None
