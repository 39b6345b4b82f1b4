"""Schema-Guided Semantic Accuracy (SGSAcc, section 2): whether a response expresses its acts, by entailment.

Each act of a system turn becomes candidate sentences (`references`). A response is true to the act if entailment is the
most probable class for (response, reference), and faithful if it is true to all its acts. The paper published no code.
The rules of the paper, and our choices where the paper leaves something open:

- Reference: the candidate that the gold utterance entails with the highest probability, entailed ones first. If gold
  alone entails none and gold in its context does, the context decides; so gold itself is faithful wherever validation
  passes. Without gold, as for the reranker, any candidate may match.
- Retry: where the utterance alone fails, the premise is `{previous turn} {description}. {utterance}`, for gold, for
  negatives and for responses alike. The verdict without the retry is kept beside it.
- Validation: gold entails a candidate of every act, and no candidate of its tampered twins (`tamper`): one per act,
  drawn by seed, dialogue, turn and the act's place.
- A hypothesis that the context entails alone is not expressed by the utterance: such a retry counts only where the
  utterance makes entailment more probable.
- A response that is empty, or has only fillers and strings that are not words, is true to nothing, and no model
  is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from troth.core.errors import UserError, suggest_name
from troth.core.progress import bar
from troth.core.randomness import generator
from troth.core.records import Act, Dialogue, Schema, Service, Speaker
from troth.models import Entailment, Nli
from troth.models.embedded import vocabulary
from troth.responses import references, tamper
from troth.responses.references import Refs
from troth.text.lexicon import word_set

Augment = Literal["retry", "never"]
T = TypeVar("T")
_WORD = re.compile(r"\w+")

CHUNK = 256  # turns whose pairs are asked together: sorted by length they fill batches, and memory stays small
NOTHING = Entailment(0.0, 1.0, 0.0)  # the verdict on every empty text
PSEUDO = {
    ("INFORM_COUNT", references.COUNT.name),
    ("OFFER_INTENT", references.INTENT),
    ("INFORM_INTENT", references.INTENT),
}


class DueAct(NamedTuple):
    """An act that a turn is to express, with its service."""

    act: Act
    service: Service


class SystemTurn(NamedTuple):
    """A system turn of gold: its acts, its text, and the user's utterance right before it."""

    dialogue: str
    turn: int  # index into the dialogue's turns
    acts: tuple[DueAct, ...]
    gold: str
    previous: str
    before: Speaker = "USER"  # who said `previous`

    @property
    def key(self) -> tuple[str, int]:
        return self.dialogue, self.turn


def system_turns(dialogue: Dialogue, schema: Schema) -> Iterator[SystemTurn]:
    """The system turns of a dialogue. A service or slot that the schema lacks is an error."""
    previous: str = ""
    before: Speaker = "USER"
    for number, turn in enumerate(dialogue.turns):
        if turn.speaker == "SYSTEM":
            try:
                acts = tuple(due_act(act, frame.service, schema) for frame in turn.frames for act in frame.acts)
            except UserError as error:
                raise error.at(dialogue=dialogue.id, turn=number) from error
            yield SystemTurn(dialogue.id, number, acts, turn.text, previous, before)
        previous, before = turn.text, turn.speaker


def due_act(act: Act, service: str, schema: Schema) -> DueAct:
    """An act with its service; a service or slot that the schema lacks is an error."""
    declared = schema.get(service)
    if declared is None:
        hint = suggest_name(service, schema) or "is it the right schema?"
        raise UserError(f"service '{service}' is not in the schema", hint=hint)
    if act.slot and (act.act, act.slot) not in PSEUDO and references.find_slot(act, declared) is None:
        hint = suggest_name(act.slot, (slot.name for slot in declared.slots)) or "is it the right schema?"
        raise UserError(f"slot '{act.slot}' of act {act.act} is not in the schema of {service}", hint=hint)
    return DueAct(act, declared)


def batches(items: Sequence[T], what: str) -> Iterator[Sequence[T]]:
    """The items in chunks of `CHUNK`, with a progress bar named `what`."""
    with bar(what) as progress:
        for start in range(0, len(items), CHUNK):
            yield items[start : start + CHUNK]
            progress(min(start + CHUNK, len(items)), len(items))


class Question(NamedTuple):
    """Sentences put to a text, and to the same text in its context."""

    hypotheses: tuple[str, ...]
    text: str
    augmented: str
    context: str = ""  # without the text

    @property
    def says_nothing(self) -> bool:
        return is_empty_talk(self.text, " ".join(self.hypotheses))


def is_empty_talk(text: str, about: str) -> bool:
    """Whether a text has only fillers ("Okay.") and strings of letters that are not words ("asdf").

    Words of `about` count, and so do numbers and words in other scripts than Latin.
    """
    known, wanted = vocabulary(), set(_WORD.findall(about.lower()))
    return not any(
        word in wanted or (word in known and word not in word_set("fillers")) or not (word.isascii() and word.isalpha())
        for word in _WORD.findall(text.lower())
    )


class Answer(NamedTuple):
    """One entailment per hypothesis; those in context only where they were asked for."""

    plain: tuple[Entailment, ...]
    augmented: tuple[Entailment, ...] = ()  # `NOTHING` where the context alone entails the hypothesis

    @property
    def entailed_plain(self) -> bool:
        return any(entailment.entailed for entailment in self.plain)

    @property
    def entailed(self) -> bool:
        return self.entailed_plain or any(entailment.entailed for entailment in self.augmented)


def add_context(due: DueAct, text: str, previous: str) -> str:
    """The premise with its context, as in figure 1; the text itself where there is no context."""
    description = references.slot_description(*due)
    return " ".join(filter(None, (previous.strip(), f"{description}." if description else "", text)))


def build_question(
    due: DueAct, text: str, previous: str, hypotheses: Sequence[str] | None = None, *, refs: Refs = "b"
) -> Question:
    """An act put to a text: all its candidates, or the given hypotheses."""
    asked = references.candidates(*due, refs) if hypotheses is None else tuple(hypotheses)
    return Question(asked, text, add_context(due, text, previous), add_context(due, "", previous))


def ask(nli: Nli, questions: Sequence[Question], *, augment: Augment = "retry") -> list[Answer]:
    """Answers to all questions; a question without an entailed hypothesis is asked again in its context."""
    plain = _ask_pairs(nli, [(q.hypotheses, "" if q.says_nothing else q.text) for q in questions])
    answers = [Answer(entailments) for entailments in plain]
    again: list[int] = []
    if augment == "retry":
        again = [
            number
            for number, (q, answer) in enumerate(zip(questions, answers, strict=True))
            if q.augmented != q.text and not answer.entailed_plain and not q.says_nothing
        ]
    retried = _ask_pairs(nli, [(questions[number].hypotheses, questions[number].augmented) for number in again])
    entailed = [
        tuple(h for h, answer in zip(questions[number].hypotheses, row, strict=True) if answer.entailed)
        for number, row in zip(again, retried, strict=True)
    ]
    alone = _ask_pairs(nli, [(row, questions[number].context) for number, row in zip(again, entailed, strict=True)])
    for number, row, asked, context in zip(again, retried, entailed, alone, strict=True):
        given = {h: answer.entailment for h, answer in zip(asked, context, strict=True) if answer.entailed}
        augmented = tuple(
            NOTHING if given.get(h, -1.0) >= answer.entailment else answer  # the text adds nothing to the context
            for h, answer in zip(questions[number].hypotheses, row, strict=True)
        )
        answers[number] = Answer(plain[number], augmented)
    return answers


def _ask_pairs(nli: Nli, asked: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[Entailment, ...]]:
    """Equal pairs are asked once, in one call, so that the backend can sort them into batches."""
    pairs = dict.fromkeys((text, hypothesis) for hypotheses, text in asked if text.strip() for hypothesis in hypotheses)
    answers = dict(zip(pairs, nli.probabilities(list(pairs)), strict=True)) if pairs else {}
    return [tuple(answers.get((text, hypothesis), NOTHING) for hypothesis in hypotheses) for hypotheses, text in asked]


def best_hypothesis(hypotheses: Sequence[str], answers: Sequence[Entailment]) -> str:
    """The hypothesis with the highest probability of entailment: entailed ones first, the earlier one of equals."""
    ranks = [(answer.entailed, answer.entailment) for answer in answers]
    return hypotheses[ranks.index(max(ranks))]


def make_negatives(turn: SystemTurn, pool: tamper.Pool, *, count: int = 1, seed: int = 0) -> list[tuple[DueAct, ...]]:
    """The tampered twins of each act, up to `count` different ones; none where no other value is known."""
    by_act = []
    for index, (act, service) in enumerate(turn.acts):
        turn_acts = [other.act for other in turn.acts if other.service.name == service.name]
        rng = generator(seed, "sgsacc", f"{turn.dialogue}\n{turn.turn}\n{index}")
        twins: list[Act] = []
        for _ in range(count):
            twin = tamper.tamper_act(act, service, pool, rng, acts=[*turn_acts, *twins])
            if twin is None or twin in twins:  # a boolean has one other value
                break
            twins.append(twin)
        by_act.append(tuple(DueAct(twin, service) for twin in twins))
    return by_act


NO_RULE = "no rule for the act"
NO_GOLD = "no gold utterance"
NOT_ENTAILED = "gold entails no candidate"
NEGATIVE = "gold entails a negative"
REASONS = (NO_RULE, NO_GOLD, NOT_ENTAILED, NEGATIVE)  # a turn is counted under the first that one of its acts has


class ActReference(NamedTuple):
    """What a response is compared with for one act. The same for every system."""

    due: DueAct
    hypotheses: tuple[str, ...]  # one, chosen by gold; all candidates without gold; none where no rule applies
    plain: tuple[str, ...]  # the same if gold is read without its context
    excluded: str | None  # why validation leaves the act out; None also where there was no validation


def prepare(
    turns: Sequence[SystemTurn],
    nli: Nli,
    *,
    pool: tamper.Pool,
    augment: Augment = "retry",
    validate: bool = True,
    count: int = 1,
    seed: int = 0,
    refs: Refs = "b",
) -> list[tuple[ActReference, ...]]:
    """The references of each turn's acts. A turn without gold asks nothing: any candidate may match.

    `validate`: also ask whether gold entails one of `count` tampered twins of each act, whose values come from `pool`.
    """
    prepared: list[tuple[ActReference, ...]] = []
    for part in batches(turns, "references"):
        by_gold = {number: turn for number, turn in enumerate(part) if turn.gold.strip()}
        asked = [
            build_question(due, turn.gold, turn.previous, refs=refs) for turn in by_gold.values() for due in turn.acts
        ]
        answers = iter(ask(nli, asked, augment=augment))
        twins = [
            (number, index, build_question(twin, turn.gold, turn.previous, refs=refs))
            for number, turn in (by_gold.items() if validate else ())
            for index, act_twins in enumerate(make_negatives(turn, pool, count=count, seed=seed))
            for twin in act_twins
        ]
        twin_answers = ask(nli, [twin for _, _, twin in twins], augment=augment)
        believed = {
            (number, index) for (number, index, _), ref in zip(twins, twin_answers, strict=True) if ref.entailed
        }
        for number, turn in enumerate(part):
            own_refs = tuple(
                _reference_by_gold(due, refs, next(answers), (number, index) in believed)
                if number in by_gold
                else _any_reference(due, refs)
                for index, due in enumerate(turn.acts)
            )
            prepared.append(own_refs if validate else tuple(ref._replace(excluded=None) for ref in own_refs))
    return prepared


def _reference_by_gold(due: DueAct, refs: Refs, answer: Answer, believed: bool) -> ActReference:
    """`believed`: gold entails a tampered twin."""
    candidates = references.candidates(*due, refs)
    if not candidates:
        return ActReference(due, (), (), NO_RULE)
    plain = best_hypothesis(candidates, answer.plain)
    in_context = answer.entailed and not answer.entailed_plain
    chosen = best_hypothesis(candidates, answer.augmented) if in_context else plain
    excluded = NOT_ENTAILED if not answer.entailed else NEGATIVE if believed else None
    return ActReference(due, (chosen,), (plain,), excluded)


def _any_reference(due: DueAct, refs: Refs) -> ActReference:
    candidates = references.candidates(*due, refs)
    return ActReference(due, candidates, candidates, NO_GOLD if candidates else NO_RULE)


class ActVerdict(NamedTuple):
    """Judgement of the model on one act in one response."""

    reference: str | None  # None: no rule for such an act, and no verdict
    plain: Entailment | None  # of the response alone
    augmented: Entailment | None  # of the response in its context; None: not asked
    entailed: bool
    entailed_plain: bool  # the verdict without the retry
    present: bool  # every value that is said as it is stands in the response
    excluded: str | None  # why validation leaves the act out


def verdicts(
    turns: Sequence[SystemTurn],
    prepared: Sequence[Sequence[ActReference]],
    responses: Sequence[str | None],
    nli: Nli,
    *,
    augment: Augment = "retry",
) -> list[tuple[ActVerdict, ...]]:
    """A verdict on every act of each turn. A response that is None or empty is true to nothing."""
    return judge_responses(list(zip(turns, prepared, responses, strict=True)), nli, augment=augment)


def judge_responses(
    items: Sequence[tuple[SystemTurn, Sequence[ActReference], str | None]], nli: Nli, *, augment: Augment = "retry"
) -> list[tuple[ActVerdict, ...]]:
    """As `verdicts`, of turns that come with their references and response."""
    judged: list[tuple[ActVerdict, ...]] = []
    for rows in batches(items, "responses"):
        flat = [(turn, ref, response or "") for turn, refs, response in rows for ref in refs]
        asked = [build_question(ref.due, text, turn.previous, ref.hypotheses) for turn, ref, text in flat]
        answers = ask(nli, asked, augment=augment)
        other = [Question(ref.plain, text, text) for _, ref, text in flat if ref.plain != ref.hypotheses]
        second = iter(ask(nli, other, augment="never"))
        plain = [
            answer if ref.plain == ref.hypotheses else next(second)
            for (_, ref, _), answer in zip(flat, answers, strict=True)
        ]
        by_act = iter(
            [_judge_act(ref, text, *rest) for (_, ref, text), *rest in zip(flat, answers, plain, strict=True)]
        )
        judged += [tuple(next(by_act) for _ in refs) for _, refs, _ in rows]
    return judged


def _judge_act(reference: ActReference, text: str, answer: Answer, plain: Answer) -> ActVerdict:
    shown: int | None = None
    if reference.hypotheses:
        deciding = answer.augmented if answer.entailed and not answer.entailed_plain else answer.plain
        shown = reference.hypotheses.index(best_hypothesis(reference.hypotheses, deciding))
    return ActVerdict(
        reference=None if shown is None else reference.hypotheses[shown],
        plain=None if shown is None else answer.plain[shown],
        augmented=answer.augmented[shown] if shown is not None and answer.augmented else None,
        entailed=answer.entailed,
        entailed_plain=plain.entailed_plain,
        present=bool(text.strip()) and tamper.has_values(*reference.due, text),
        excluded=reference.excluded,
    )
