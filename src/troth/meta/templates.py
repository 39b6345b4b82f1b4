"""Templates at work: a response for every system turn, and how often references made from templates reject gold.

The paper (SGSAcc, section 1) says that Semantic Accuracy with T2G2's templates as references marks 25% of the gold
utterances as unfaithful, and that 3% fail with references made from the schema (section 2; there, an utterance that
entails a tampered act fails, too). `trial` counts both on the same turns with the same model: gold is rejected if it
does not entail every act's reference. From a template there is one reference, the sentence with its values; from the
schema there are appendix B's candidates, of which any will do. Each with the utterance alone and with the retry in its
context. Turns with an act that has no template or no rule are left out on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from troth.core.errors import UserError
from troth.core.records import Dialogue, Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.models import Nli
from troth.responses import references, sgsacc, templates
from troth.responses.sample import Counted, by_lot, descriptions, distinct, lacking, shares
from troth.responses.sgsacc import Answer, Due, Progress, Unit
from troth.responses.templates import Sentence, Templates
from troth.storage.files import new_file

METRIC = "gold_rejected"
SYSTEMS = ("template", "schema")
PREMISES = ("plain", "retry")


class Lacking(msgspec.Struct, frozen=True):
    """A template that is not there."""

    service: str
    key: str
    acts: int
    hint: str | None


class Written(msgspec.Struct, frozen=True):
    responses: int
    partial: int  # responses that leave out an act
    silent: int  # turns without any template: no response is written
    without_acts: int  # turns that say nothing by their acts
    acts: int
    lacking: list[Lacking]  # the most frequent first


def respond(gold: str, folder: str, out: str, *, format: str | None = None) -> Written:
    """A response for each of gold's system turns, written to the new file `out` as `troth nlg` reads it."""
    known = templates.read(folder)
    count = dict.fromkeys(("responses", "partial", "silent", "without_acts", "acts"), 0)
    lacking: Counter[tuple[str, str]] = Counter()
    with new_file(out) as file:
        for _, dialogue in distinct(gold, format):
            for number, turn in enumerate(dialogue.turns):
                if turn.speaker != "SYSTEM":
                    continue
                acts = sum(len(frame.acts) for frame in turn.frames)
                made = templates.response(turn, known)
                lacking.update((sentence.service, sentence.key) for sentence in made.lacking)
                count["acts"] += acts
                count["without_acts"] += not acts
                count["silent"] += bool(acts and not made.text)
                if made.text:
                    count["responses"] += 1
                    count["partial"] += bool(made.lacking)
                    row = {"dialogue": dialogue.id, "turn": number, "response": made.text}
                    file.write(msgspec.json.encode(row) + b"\n")
        if not count["responses"]:
            raise UserError("no act of its system turns has a template", file=gold, hint="are these its services?")
    ranked = sorted(lacking.items(), key=lambda item: (-item[1], item[0]))
    return Written(**count, lacking=[Lacking(*place, acts, templates.hint(*place, known)) for place, acts in ranked])


# -- the paper's observation -------------------------------------------------------------------------------------------


class Case(msgspec.Struct, frozen=True):
    """A turn with the sentences that its templates make of its acts, in the acts' order."""

    unit: Unit
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    scores: list[Score]  # systems: template, schema; metric: `gold_rejected`, for the premises plain and retry
    turns: int
    left_out: int  # drawn turns with an act that has no template or no rule
    examples: list[tuple[str, str]]  # gold, and a template's sentence that it does not entail
    notes: list[str] = field(default_factory=list)  # what the user should know besides


def trial(
    dialogues: Sequence[Dialogue],
    schema: Schema,
    known: Templates,
    nli: Nli,
    *,
    turns: int | None = 2000,
    seed: int = 0,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> Trial:
    """The share of gold utterances that references from templates reject, against those from the schema."""
    drawn = list(_drawn(dialogues, schema, known, turns, seed))
    cases = [case for case in drawn if case is not None]
    if not cases:
        raise UserError("no system turn has a template for each of its acts", hint="are these gold's services?")
    made: list[tuple[list[Answer], list[Answer]]] = []
    for start in range(0, len(cases), sgsacc.CHUNK):
        made += _asked(cases[start : start + sgsacc.CHUNK], nli)
        if progress is not None:
            progress(len(made), len(cases))
    examples = [
        (case.unit.gold, sentence)
        for case, (answers, _) in zip(cases, made, strict=True)
        for sentence, answer in zip(case.sentences, answers, strict=True)
        if not answer.entailed
    ]
    described = descriptions(schema)
    desc = f"|desc:{described}" if described != "schema" else ""
    refs = (f"template@{templates.fingerprint(known)}{desc}", references.RULES + desc)
    recipe = f"nli:{nli.name}|turns:{len(cases)}|seed:{seed}"
    scores = list(_scores(cases, made, refs, recipe, resamples))
    return Trial(scores, len(cases), len(drawn) - len(cases), examples, lacking(described))


def _drawn(
    dialogues: Iterable[Dialogue], schema: Schema, known: Templates, turns: int | None, seed: int
) -> Iterator[Case | None]:
    """Turns by lot until there are enough; None for each that is left out."""
    of_turn: dict[tuple[str, int], tuple[Sentence, ...]] = {}
    units: list[Unit] = []
    for dialogue in dialogues:
        for unit in sgsacc.units(dialogue, schema):
            if unit.due and unit.gold.strip():
                units.append(unit)
                frames = dialogue.turns[unit.turn].frames
                of_turn[unit.dialogue, unit.turn] = tuple(
                    sentence for frame in frames for sentence in templates.sentences(frame, known)
                )
    found = 0
    for unit in by_lot(units, seed):
        if turns is not None and found == turns:
            return
        case = _case(unit, of_turn[unit.dialogue, unit.turn])
        found += case is not None
        yield case


def _case(unit: Unit, sentences: Sequence[Sentence]) -> Case | None:
    if not all(references.candidates(*due) for due in unit.due):
        return None
    said = {(sentence.service, sentence.act): sentence.text for sentence in sentences}
    texts = [said[due.service.name, due.act] for due in unit.due]
    kept = tuple(text for text in texts if text is not None)
    return Case(unit, kept) if len(kept) == len(texts) else None


def _asked(cases: Sequence[Case], nli: Nli) -> list[tuple[list[Answer], list[Answer]]]:
    """For each case what gold says to its templates' sentences and to the schema's candidates, act by act."""
    flat: list[tuple[Unit, Due, str]] = [
        (case.unit, due, sentence)
        for case in cases
        for due, sentence in zip(case.unit.due, case.sentences, strict=True)
    ]
    by_template = sgsacc.ask(nli, [sgsacc.question(due, u.gold, u.previous, (text,)) for u, due, text in flat])
    by_schema = sgsacc.ask(nli, [sgsacc.question(due, u.gold, u.previous) for u, due, _ in flat])
    made, start = [], 0
    for case in cases:
        end = start + len(case.sentences)
        made.append((by_template[start:end], by_schema[start:end]))
        start = end
    return made


def _scores(
    cases: Sequence[Case],
    made: Sequence[tuple[list[Answer], list[Answer]]],
    refs: tuple[str, str],
    recipe: str,
    resamples: int,
) -> Iterator[Score]:
    labels, cells = [], list[list[Counted]]()
    for side, system in enumerate(SYSTEMS):
        for premise in PREMISES:
            labels.append((system, premise))
            cells.append([])
            for case, answers in zip(cases, made, strict=True):
                held = [a.entailed if premise == "retry" else a.entailed_plain for a in answers[side]]
                cells[-1].append((case.unit.dialogue, float(not all(held)), 1.0))
    for (system, premise), ratio in zip(labels, shares(cells, resamples=resamples), strict=True):
        named = refs[SYSTEMS.index(system)]
        augment = "retry" if premise == "retry" else "never"
        metric = METRIC if premise == "retry" else f"{METRIC}:{premise}"
        signature = f"{metric.upper()}|refs:{named}|augment:{augment}|{recipe}|n:{ratio.n}|v:{__version__}"
        yield Score(system, metric, "all", ratio.value, ratio.low, ratio.high, ratio.n, signature)
