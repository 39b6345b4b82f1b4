"""How often references made from templates reject gold, against references made from the schema.

The paper (SGSAcc, section 1) says that Semantic Accuracy with T2G2's templates as references marks 25% of the gold
utterances as unfaithful, and that 3% fail with references made from the schema (section 2; there, an utterance that
entails a tampered act fails, too). Both are counted here on the same turns with the same model: gold is rejected if it
does not entail every act's reference. From a template there is one reference, the sentence with its values; from the
schema there are appendix B's candidates, and any of them may match. Each with the utterance alone and with the retry in
its context. Turns with an act that has no template or no rule are left out on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.core.options import keywords, resolve
from troth.core.parts import Parts
from troth.core.records import Gold
from troth.core.result import Finding, Result
from troth.meta.trials.trial import Trial, TrialSettings
from troth.responses import references, sgsacc, templates
from troth.responses.sgsacc import Answer, SystemTurn
from troth.stats.estimates import Cell

REJECTED = Metric(
    "gold_rejected",
    "Gold rejected",
    "share of gold utterances that do not entail a reference of each of their acts",
    better="lower",
    unit="turn",
    compute=lambda answers: not all(answer.entailed for answer in answers),
)
REJECTED_PLAIN = REJECTED.on("plain", lambda answers: not all(answer.entailed_plain for answer in answers))


class RejectedGold(Finding, frozen=True, tag="rejected gold"):
    """A gold utterance that does not entail the sentence of a template."""

    gold: str
    sentence: str


class _Case(NamedTuple):
    """A turn with the sentences that its templates make of its acts, in the acts' order."""

    turn: SystemTurn
    sentences: tuple[str, ...]


@keywords(TrialSettings)
def template_references(gold: Gold, folder: Path | templates.Templates, **options: Any) -> Result:
    """The share of gold utterances that references from templates reject, and references from the schema.

    `gold`: a path, or dialogues in memory. `folder`: the templates' folder, or the templates. The options are those of
    `TrialSettings`. Systems of the result are `template` and `schema`; its details are sentences that gold does not
    entail.
    """
    known = folder if isinstance(folder, dict) else templates.read(path_of(folder))
    trial = Trial("meta templates", gold, resolve(TrialSettings, options))
    cases, left_out = _draw_cases(trial, known)
    if not cases:
        raise UserError("no system turn has a template for each of its acts", hint="are these gold's services?")
    by_template: list[list[Answer]] = []
    by_schema: list[list[Answer]] = []
    for part in sgsacc.batches(cases, "judging"):
        flat = [(case.turn, *pair) for case in part for pair in zip(case.turn.acts, case.sentences, strict=True)]
        for answered, hypotheses in ((by_template, True), (by_schema, False)):
            questions = [
                sgsacc.build_question(
                    due, t.gold, t.previous, (text,) if hypotheses else None, refs=trial.settings.refs
                )
                for t, due, text in flat
            ]
            answers = iter(sgsacc.ask(trial.nli, questions))
            answered += [[next(answers) for _ in case.sentences] for case in part]
    examples = [
        RejectedGold(case.turn.gold, sentence)
        for case, answers in zip(cases, by_template, strict=True)
        for sentence, answer in zip(case.sentences, answers, strict=True)
        if not answer.entailed
    ]
    refs = {
        "template": f"template@{templates.fingerprint(known)}",
        "schema": references.rules_name(trial.settings.refs),
    }
    systems = {
        name: _cells(trial, cases, answered, refs[name])
        for name, answered in (("template", by_template), ("schema", by_schema))
    }
    return trial.result(systems, {"turns": len(cases), "turns_left_out": left_out}, findings=examples)


def _draw_cases(trial: Trial, known: templates.Templates) -> tuple[list[_Case], int]:
    """Turns in the order of the draw until there are enough, and how many were left out."""
    frames = {
        (dialogue.id, number): turn.frames
        for dialogue in trial.gold.dialogues
        for number, turn in enumerate(dialogue.turns)
    }
    cases: list[_Case] = []
    for seen, turn in enumerate(trial.turns()):
        if trial.settings.turns is not None and len(cases) == trial.settings.turns:
            return cases, seen - len(cases)
        sentences = [sentence for frame in frames[turn.key] for sentence in templates.render_frame(frame, known)]
        texts_by_act = {(sentence.service, sentence.act): sentence.text for sentence in sentences}
        texts = [texts_by_act[due.service.name, due.act] for due in turn.acts if references.candidates(*due)]
        whole = tuple(text for text in texts if text is not None)
        if len(whole) == len(turn.acts):
            cases.append(_Case(turn, whole))
    return cases, len(trial.turns()) - len(cases)


def _cells(trial: Trial, cases: Sequence[_Case], answered: Sequence[Sequence[Answer]], refs: str) -> list[Cell]:
    desc = "" if trial.descriptions == "schema" else trial.descriptions
    drawn = {"nli": trial.nli.name, "turns": len(cases), "seed": trial.settings.seed}
    keys = [(*case.turn.key, "") for case in cases]
    return [
        Cell(
            metric,
            Parts.from_fractions([(float(metric.compute(answers)), 1.0) for answers in answered], keys),
            {"refs": refs, "desc": desc, "augment": augment, **drawn},
        )
        for metric, augment in ((REJECTED_PLAIN, "never"), (REJECTED, "retry"))
    ]
