"""Schema-Guided Semantic Accuracy (SGSAcc, section 2): does a response say what it was to say, by entailment?

Each act of a system turn becomes candidate sentences (`references`). A response is true to the act iff an entailment
model finds entailment the most probable class for (response, reference); it is faithful iff it is true to all its acts.
The paper published no code. What its text says, and what is chosen where it leaves something open:

- Reference (`select:gold`): the candidate that the gold utterance entails with the highest probability. Candidates
  that are entailed come before those that are not. If gold alone entails none and gold in its context does, the context
  decides; so gold itself is faithful wherever validation passes. Without gold (`select:any`), as for the reranker: any
  candidate will do.
- Retry (`augment:retry`): where the utterance alone fails, the premise is `{previous turn} {description}. {utterance}`,
  for gold, for negatives and for responses alike. What the verdict would be without it is kept beside it.
- Validation: gold entails a candidate of every act, and no candidate of its tampered twins (`tamper`). How many twins
  an act has the paper does not say: one, drawn by seed, dialogue, turn and the act's place.
- An empty response is true to nothing, and no model is asked.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from troth.core.errors import UserError, near
from troth.core.records import Act, Dialogue, Schema, Service, Speaker
from troth.models import Nli, Verdict
from troth.responses import references, tamper

Augment = Literal["retry", "never"]
Select = Literal["gold", "any"]
Progress = Callable[[int, int], None]  # units done, units there are

CHUNK = 256  # units whose pairs are asked together: sorted by length they fill batches, and memory stays small
NOTHING = Verdict(0.0, 1.0, 0.0)  # what an empty text says of anything
PSEUDO = {
    ("INFORM_COUNT", references.COUNT.name),
    ("OFFER_INTENT", references.INTENT),
    ("INFORM_INTENT", references.INTENT),
}


class Due(NamedTuple):
    """An act that a turn is to realise."""

    act: Act
    service: Service


class Unit(NamedTuple):
    """A system turn: what is to be said in it, what gold says, and what was said right before."""

    dialogue: str
    turn: int  # index into the dialogue's turns
    due: tuple[Due, ...]
    gold: str
    previous: str
    before: Speaker = "USER"  # who said that


def units(dialogue: Dialogue, schema: Schema) -> Iterator[Unit]:
    """The system turns of a dialogue. A service or slot that the schema lacks is an error."""
    previous: str = ""
    before: Speaker = "USER"
    for number, turn in enumerate(dialogue.turns):
        if turn.speaker == "SYSTEM":
            due = tuple(
                _declared(act, frame.service, schema, dialogue.id, number)
                for frame in turn.frames
                for act in frame.acts
            )
            yield Unit(dialogue.id, number, due, turn.text, previous, before)
        previous, before = turn.text, turn.speaker


def _declared(act: Act, service: str, schema: Schema, dialogue: str, turn: int) -> Due:
    found = schema.get(service)
    if found is None:
        what, hint = f"service '{service}' is not in the schema", near(service, schema) or "is it the right schema?"
        raise UserError(what, dialogue=dialogue, turn=turn, hint=hint)
    if act.slot and (act.act, act.slot) not in PSEUDO and references.slot_of(act, found) is None:
        hint = near(act.slot, (slot.name for slot in found.slots)) or "is it the right schema?"
        what = f"slot '{act.slot}' of act {act.act} is not in the schema of {service}"
        raise UserError(what, dialogue=dialogue, turn=turn, hint=hint)
    return Due(act, found)


def augmented(due: Due, text: str, previous: str) -> str:
    """The premise with its context, as in figure 1; the text itself where there is no context."""
    description = references.description(*due)
    return " ".join(filter(None, (previous.strip(), f"{description}." if description else "", text)))


# -- asking ------------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """Sentences put to a text, and to the same text in its context."""

    hypotheses: tuple[str, ...]
    text: str
    augmented: str


class Answer(NamedTuple):
    """One verdict a hypothesis; the second ones only where they were asked for."""

    plain: tuple[Verdict, ...]
    augmented: tuple[Verdict, ...] = ()

    @property
    def entailed_plain(self) -> bool:
        return any(verdict.entailed for verdict in self.plain)

    @property
    def entailed(self) -> bool:
        return self.entailed_plain or any(verdict.entailed for verdict in self.augmented)


def question(due: Due, text: str, previous: str, hypotheses: Sequence[str] | None = None) -> Question:
    """An act put to a text: all its candidates, or the hypotheses given."""
    asked = references.candidates(*due) if hypotheses is None else tuple(hypotheses)
    return Question(asked, text, augmented(due, text, previous))


def ask(nli: Nli, questions: Sequence[Question], *, augment: Augment = "retry") -> list[Answer]:
    """All questions at once; then, in their context, those of which no hypothesis is entailed."""
    plain = _asked(nli, [(one.hypotheses, one.text) for one in questions])
    again: list[int] = []
    if augment == "retry":
        again = [
            number
            for number, (one, found) in enumerate(zip(questions, plain, strict=True))
            if one.text.strip() and one.augmented != one.text and not any(verdict.entailed for verdict in found)
        ]
    retried = _asked(nli, [(questions[number].hypotheses, questions[number].augmented) for number in again])
    second = dict(zip(again, retried, strict=True))
    return [Answer(found, second.get(number, ())) for number, found in enumerate(plain)]


def _asked(nli: Nli, asked: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[Verdict, ...]]:
    """Equal pairs are asked once, in one call, so that the backend can sort them into batches."""
    pairs = dict.fromkeys((text, one) for hypotheses, text in asked if text.strip() for one in hypotheses)
    found = dict(zip(pairs, nli.probabilities(list(pairs)), strict=True)) if pairs else {}
    return [tuple(found.get((text, one), NOTHING) for one in hypotheses) for hypotheses, text in asked]


# -- negatives ---------------------------------------------------------------------------------------------------------


def negatives(unit: Unit, pool: tamper.Pool, *, count: int = 1, seed: int = 0) -> list[tuple[Due, ...]]:
    """For each act its tampered twins, up to `count` different ones; none where no other value is known."""
    made = []
    for place, (act, service) in enumerate(unit.due):
        said = [other.act for other in unit.due if other.service.name == service.name]
        rng = generator(seed, unit.dialogue, unit.turn, place)
        twins: list[Act] = []
        for _ in range(count):
            twin = tamper.tampered(act, service, pool, rng, said=[*said, *twins])
            if twin is None or twin in twins:  # a boolean has one other value
                break
            twins.append(twin)
        made.append(tuple(Due(twin, service) for twin in twins))
    return made


def generator(seed: int, *place: object) -> random.Random:
    """Randomness of its own for each place: neither order nor chunks move a draw."""
    key = hashlib.sha256("\n".join(map(str, (seed, "sgsacc", *place))).encode()).digest()
    return random.Random(int.from_bytes(key, "big"))  # noqa: S311 (nothing here is secret)


# -- gold's part: references and validation ----------------------------------------------------------------------------

NO_RULE = "no rule for the act"
NO_GOLD = "no gold utterance"
NOT_ENTAILED = "gold entails no candidate"
NEGATIVE = "gold entails a negative"
REASONS = (NO_RULE, NO_GOLD, NOT_ENTAILED, NEGATIVE)  # a turn is counted under the first that one of its acts has


class Reference(NamedTuple):
    """What a response is held against for one act. The same for every system."""

    due: Due
    hypotheses: tuple[str, ...]  # one, chosen by gold; all candidates without gold; none where no rule applies
    plain: tuple[str, ...]  # the same had gold been read without its context
    excluded: str | None  # why validation leaves the act out; None also where there was no validation


def prepare(
    units: Sequence[Unit],
    nli: Nli,
    *,
    pool: tamper.Pool,
    select: Select = "gold",
    augment: Augment = "retry",
    validate: bool = True,
    count: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[tuple[Reference, ...]]:
    """For each unit the references of its acts. `select="any"` asks nothing: every candidate will do.

    `validate`: also ask whether gold entails one of `count` tampered twins of each act, whose values come from `pool`.
    """
    made: list[tuple[Reference, ...]] = []
    for start in range(0, len(units), CHUNK):
        part = units[start : start + CHUNK]
        chosen = [select if unit.gold.strip() else "any" for unit in part]
        asked = [(unit, due) for unit, how in zip(part, chosen, strict=True) if how == "gold" for due in unit.due]
        answers = iter(ask(nli, [question(due, unit.gold, unit.previous) for unit, due in asked], augment=augment))
        twins = [
            negatives(unit, pool, count=count, seed=seed) if validate and how == "gold" else []
            for unit, how in zip(part, chosen, strict=True)
        ]
        tricked = _entailed_negatives(part, twins, nli, augment)
        for number, (unit, how) in enumerate(zip(part, chosen, strict=True)):
            mine = tuple(
                _by_gold(due, next(answers), (number, place) in tricked) if how == "gold" else _any(due)
                for place, due in enumerate(unit.due)
            )
            made.append(mine if validate else tuple(one._replace(excluded=None) for one in mine))
        if progress is not None:
            progress(min(start + CHUNK, len(units)), len(units))
    return made


def _entailed_negatives(
    part: Sequence[Unit], twins: Sequence[Sequence[Sequence[Due]]], nli: Nli, augment: Augment
) -> set[tuple[int, int]]:
    """The acts, by unit and place, that have a twin which gold entails."""
    where = [
        (number, place, twin) for number, mine in enumerate(twins) for place, some in enumerate(mine) for twin in some
    ]
    questions = [question(twin, part[number].gold, part[number].previous) for number, _, twin in where]
    found = zip(where, ask(nli, questions, augment=augment), strict=True)
    return {(number, place) for (number, place, _), answer in found if answer.entailed}


def _by_gold(due: Due, answer: Answer, tricked: bool) -> Reference:
    candidates = references.candidates(*due)
    if not candidates:
        return Reference(due, (), (), NO_RULE)
    plain = _best(candidates, answer.plain)
    in_context = answer.entailed and not answer.entailed_plain
    chosen = _best(candidates, answer.augmented) if in_context else plain
    excluded = NOT_ENTAILED if not answer.entailed else NEGATIVE if tricked else None
    return Reference(due, (chosen,), (plain,), excluded)


def _any(due: Due) -> Reference:
    candidates = references.candidates(*due)
    return Reference(due, candidates, candidates, NO_GOLD if candidates else NO_RULE)


def _best(hypotheses: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    """The hypothesis with the highest probability of entailment, entailed ones first, the earlier one of equals."""
    ranks = [(verdict.entailed, verdict.entailment) for verdict in verdicts]
    return hypotheses[ranks.index(max(ranks))]


# -- a system's part ---------------------------------------------------------------------------------------------------


class ActVerdict(msgspec.Struct, frozen=True):
    """One act of one response: what an engineer reads."""

    dialogue: str
    turn: int
    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    kind: str
    reference: str | None  # None: no rule for such an act, and no verdict
    plain: Verdict | None  # the response alone
    augmented: Verdict | None  # the response in its context; None: not asked
    helped: bool  # entailed in its context only
    entailed: bool
    entailed_plain: bool  # what the verdict would be without the retry
    present: bool  # every value that is said as it is stands in the response
    excluded: str | None  # why validation leaves the act out


def verdicts(
    units: Sequence[Unit],
    prepared: Sequence[Sequence[Reference]],
    responses: Sequence[str | None],
    nli: Nli,
    *,
    augment: Augment = "retry",
    progress: Progress | None = None,
) -> list[tuple[ActVerdict, ...]]:
    """For each unit a verdict on every act. A response that is None or empty is true to nothing."""
    made: list[tuple[ActVerdict, ...]] = []
    for start in range(0, len(units), CHUNK):
        rows = list(zip(*(some[start : start + CHUNK] for some in (units, prepared, responses)), strict=True))
        flat = [(unit, one, response or "") for unit, mine, response in rows for one in mine]
        asked = [question(one.due, text, unit.previous, one.hypotheses) for unit, one, text in flat]
        answers = ask(nli, asked, augment=augment)
        other = [one.plain != one.hypotheses for _, one, _ in flat]
        again = [
            Question(one.plain, text, text) for (_, one, text), is_other in zip(flat, other, strict=True) if is_other
        ]
        second = iter(ask(nli, again, augment="never"))
        plains = [next(second) if is_other else answer for is_other, answer in zip(other, answers, strict=True)]
        judged = iter([_verdict(*row, answer, plain) for row, answer, plain in zip(flat, answers, plains, strict=True)])
        made += [tuple(next(judged) for _ in mine) for _, mine, _ in rows]
        if progress is not None:
            progress(min(start + CHUNK, len(units)), len(units))
    return made


def _verdict(unit: Unit, one: Reference, text: str, answer: Answer, plain: Answer) -> ActVerdict:
    act, service = one.due
    shown: int | None = None
    if one.hypotheses:
        deciding = answer.augmented if answer.entailed and not answer.entailed_plain else answer.plain
        shown = one.hypotheses.index(_best(one.hypotheses, deciding))
    return ActVerdict(
        unit.dialogue, unit.turn, service.name, act.act, act.slot, act.values, tamper.kind(act, service),
        reference=None if shown is None else one.hypotheses[shown],
        plain=None if shown is None else answer.plain[shown],
        augmented=answer.augmented[shown] if shown is not None and answer.augmented else None,
        helped=answer.entailed and not answer.entailed_plain,
        entailed=answer.entailed,
        entailed_plain=plain.entailed_plain,
        present=bool(text.strip()) and tamper.present(act, service, text),
        excluded=one.excluded,
    )  # fmt: skip
