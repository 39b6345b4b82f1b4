"""State tracking: gold and predicted states compared frame by frame, every metric's parts in one pass.

Papers: FGA (Dey et al. 2022) for JGA, SA, AGA and FGA; SGD (Rastogi et al. 2020) for the DSTC8 set. What is written
down here per frame is what all of them need; `aggregate` makes units and metrics of it.

FGA needs a state to be right or wrong. Under fuzzy matching a joint score J may lie between; then a unit is exact iff J
is 1, and its weight is J + (1 - J)·(1 - exp(-λ·lag)), which is the paper's where J is 0 or 1, equals JGA at λ = 0 in
every profile and grows with λ.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from troth.core.errors import PredictionError, UserError
from troth.core.records import Dialogue, Frame, Schema, Span, State, Turn
from troth.tracking.profiles import Profile
from troth.tracking.states import EMPTY, NAN, Comparer, Kinds, Side, Values

INF = float("inf")
LAST_TURN = 1 << 31  # numbers beyond are no numbers of turns, and floats would not hold them all
NOTHING: Side = (EMPTY, None)
ALL_RIGHT = (1.0,) * 8  # locally right, intent, requested slots, spans
UNSCORED = (NAN,) * 7  # intent, requested slots and spans of a frame that has none to score


class Column(IntEnum):
    """What is written down of each frame. NaN where it does not apply."""

    DIALOGUE = 0
    TURN = 1
    SERVICE = 2  # -1: a turn in which neither side has a frame, or a file without services
    JOINT = 3  # product of the slots' scores; JOINT_CAT and JOINT_NONCAT over one kind of slots
    JOINT_CAT = 4
    JOINT_NONCAT = 5
    RIGHT = 6  # sum of scores over the slots that gold has
    ACTIVE = 7  # how many slots gold has
    RIGHT_CAT = 8
    ACTIVE_CAT = 9
    WRONG = 10  # how much is wrong over all slots, a wrong value counted once; infinite for a missing prediction
    SIZE = 11  # slots of the service's schema
    LOCAL = 12  # 1 if what changed in this turn is right on both sides
    INTENT = 13
    REQUESTED_F1 = 14
    REQUESTED_PRECISION = 15
    REQUESTED_RECALL = 16
    TAGGING_F1 = 17
    TAGGING_PRECISION = 18
    TAGGING_RECALL = 19


class SlotColumn(IntEnum):
    """What is written down of each slot that gold or prediction has, when scores by slot are asked for."""

    DIALOGUE = 0
    TURN = 1
    SERVICE = 2
    SLOT = 3
    SCORE = 4
    ACTIVE = 5  # whether gold has it


@dataclass
class Counts:
    """What gold has and the predictions lack, and what was left aside; always shown."""

    dialogues: int = 0
    missing_dialogues: int = 0
    missing_turns: int = 0
    missing_frames: int = 0
    ignored_slots: int = 0
    ignored_frames: int = 0


class Scorer:
    """Takes pairs of dialogues one at a time and keeps the parts; `table` hands them over as arrays."""

    def __init__(
        self, profile: Profile, schema: Schema | None = None, *, by_slot: bool = False, strict: bool = True
    ) -> None:
        """`strict`: a predicted slot or service outside the schema is an error; else it is ignored and counted."""
        self.profile, self.by_slot = profile, by_slot
        self.comparer = Comparer(profile, schema, strict=strict)
        self.dialogues: list[str] = []
        self.services: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.gold_services: set[str] = set()
        self._counts = Counts()
        self._rows = array("d")
        self._slot_rows = array("d")
        self._spans_seen = self._intents_seen = self._requests_seen = False

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None:
        """Score one dialogue. Gold decides what is scored; what the prediction lacks counts as missing."""
        index = len(self.dialogues)
        self.dialogues.append(gold.id)
        if pred is None:
            self._counts.missing_dialogues += 1
        predicted = {} if pred is None else dict(_numbered(pred, PredictionError))
        if self.profile.match == "given":
            self._add_correctness(index, gold, predicted)
            return
        if any(turn.correct is not None for turn in predicted.values()):
            # Without values both states would be empty, and everything right.
            raise PredictionError(
                "has right or wrong per slot and no values", dialogue=gold.id, hint="--profile trippy"
            )
        before: dict[str, tuple[Values, Values]] = {}
        for number, turn in _numbered(gold, UserError):
            guess = predicted.pop(number, None)
            if guess is None and pred is not None:
                self._counts.missing_turns += 1
            try:
                before = self._add_turn(index, number, turn, guess, before)
            except UserError as error:
                raise error.at(dialogue=gold.id, turn=_place(gold, turn)) from error
        if predicted:
            hint = "do gold and prediction belong together?"
            raise PredictionError("gold has no such turn", dialogue=gold.id, turn=min(predicted), hint=hint)

    def merge(self, other: Scorer) -> None:
        """Take in what another scorer of the same profile has gathered from other dialogues."""
        for mine, theirs, numbered, kinds in (
            (self._rows, other._rows, ((Column.SERVICE, self.services, other.services),), Column),
            (
                self._slot_rows,
                other._slot_rows,
                (
                    (SlotColumn.SERVICE, self.services, other.services),
                    (SlotColumn.SLOT, self.slots, other.slots),
                ),
                SlotColumn,
            ),
        ):
            rows = np.array(theirs, dtype=np.float64).reshape(-1, len(kinds))
            rows[:, 0] += len(self.dialogues)
            for column, names, others in numbered:
                codes = np.array([*(names.setdefault(name, len(names)) for name in others), -1], dtype=np.float64)
                rows[:, column] = codes[rows[:, column].astype(np.int64)]
            mine.frombytes(rows.tobytes())
        self.dialogues += other.dialogues
        self.gold_services |= other.gold_services
        self._spans_seen |= other._spans_seen
        self._intents_seen |= other._intents_seen
        self._requests_seen |= other._requests_seen
        self.comparer.ignored_slots += other.comparer.ignored_slots
        for name, count in vars(other._counts).items():
            setattr(self._counts, name, getattr(self._counts, name) + count)

    def counts(self) -> Counts:
        self._counts.dialogues = len(self.dialogues)
        self._counts.ignored_slots = self.comparer.ignored_slots
        return self._counts

    # -- one turn, one frame -----------------------------------------------------------------------------------------

    def _add_turn(
        self, dialogue: int, number: int, gold: Turn, pred: Turn | None, before: dict[str, tuple[Values, Values]]
    ) -> dict[str, tuple[Values, Values]]:
        """Score the frames of a turn; returns each service's states, for the next turn to be compared with.

        In SGD a frame stands only where its service is talked about, so a service's history skips turns; where a
        turn's states are complete (`scope="state"`), the turn before is the history.
        """
        comparer, whole = self.comparer, self.profile.scope == "state"
        golds = comparer.sides(gold)
        self.gold_services.update(golds)
        preds = {} if pred is None else comparer.sides(pred)
        if not whole and preds.keys() != golds.keys():
            for service in preds.keys() - golds.keys():
                comparer.check_service(service)
                self._counts.ignored_frames += 1
        skip = self.profile.missing == "skip"
        quick = self.profile.norm == "none" and not self.by_slot
        after = {} if whole else before
        services: Collection[str] = golds
        if whole:
            # A service that neither side has anything of is not there, whether or not the file has a frame for it.
            every = dict.fromkeys((*golds, *preds))
            services = [s for s in every if _told(golds.get(s, NOTHING)) or preds.get(s, NOTHING)[0]]
        for service in services:
            missing = pred is None or (not whole and service not in preds)
            if missing and pred is not None:
                self._counts.missing_frames += 1
            if missing and skip:
                continue
            mine, theirs = golds.get(service, NOTHING), preds.get(service, NOTHING)
            was = before.get(service, (EMPTY, EMPTY))  # `after` may be `before`: looked up before it is written
            now = after[service] = (mine[0], theirs[0])
            row = self._right(dialogue, number, mine[1]) if quick and mine[1] == theirs[1] else None
            if row is not None:
                self._rows.extend(row)
                continue
            states = self._states(dialogue, number, service, was, now, missing)
            self._rows.extend((*states, *self._annotations(gold, mine[1], theirs[1], missing)))
        if whole and not services and not (pred is None and skip):
            # A turn in which nothing is asked for on either side is right, and counts.
            right = float(pred is not None)
            wrong = 0.0 if pred is not None else INF
            self._rows.extend((dialogue, number, -1, right, NAN, NAN, 0.0, 0, 0.0, 0, wrong, 0, right, *UNSCORED))
        return after

    def _right(self, dialogue: int, number: int, frame: Frame | None) -> tuple[float, ...] | None:
        """The row of a frame predicted just as gold has it, which most are; None if it takes a closer look."""
        if frame is None or frame.state is None or frame.spans is None:
            return None
        state, kinds = frame.state, self.comparer.kinds(frame.service)
        if kinds is None or state.active_intent is None or state.requested_slots is None:
            return None
        count, cat = len(state.slot_values), 0
        for slot in state.slot_values:
            kind = kinds.categorical.get(slot)
            if kind is None:
                return None
            cat += kind
        self._spans_seen = self._intents_seen = self._requests_seen = True
        code = self.services.setdefault(frame.service, len(self.services))
        joints = (1.0, kinds.cat_part, kinds.noncat_part)
        return (dialogue, number, code, *joints, count, count, cat, cat, 0.0, kinds.size, *ALL_RIGHT)

    def _states(
        self,
        dialogue: int,
        number: int,
        service: str,
        was: tuple[Values, Values],
        now: tuple[Values, Values],
        missing: bool,
    ) -> tuple[float, ...]:
        """The first part of a frame's row: everything that has to do with states."""
        compared = self.comparer.compare(now[0], now[1], service)
        kinds = self.comparer.kinds(service)
        if missing:
            compared = compared._replace(
                joint=0.0,
                joint_cat=compared.joint_cat * 0.0,  # NaN stays NaN
                joint_noncat=compared.joint_noncat * 0.0,
                right=0.0,
                right_cat=compared.right_cat * 0.0,
                wrong=INF,
                scores=dict.fromkeys(now[0], 0.0),
            )
        local = not missing and (compared.joint == 1.0 or self.comparer.local(was, now, compared.scores))
        code = self.services.setdefault(service, len(self.services))
        if self.by_slot:
            for slot, score in (compared.scores or dict.fromkeys(now[0], 1.0)).items():
                name = self.slots.setdefault(f"{service}.{slot}", len(self.slots))
                self._slot_rows.extend((dialogue, number, code, name, score, slot in now[0]))
        return (dialogue, number, code, *compared[:8], kinds.size if kinds else 0, local)

    # -- intents, requested slots, spans -----------------------------------------------------------------------------

    def _annotations(self, turn: Turn, gold: Frame | None, pred: Frame | None, missing: bool) -> tuple[float, ...]:
        """The second part of a frame's row: the rest of the DSTC8 set."""
        if gold is None or gold.state is None:
            return UNSCORED
        guess = None if pred is None else pred.state
        intent = self._intent(gold.state, guess)
        return (intent, *self._requested(gold.state, guess), *self._tagging(turn, gold, pred, missing))

    def _intent(self, gold: State, pred: State | None) -> float:
        if gold.active_intent is None:
            return NAN
        if pred is None or pred.active_intent is None:
            return 0.0
        self._intents_seen = True
        return float(gold.active_intent == pred.active_intent)

    def _requested(self, gold: State, pred: State | None) -> tuple[float, float, float]:
        if gold.requested_slots is None:
            return (NAN, NAN, NAN)
        if pred is None or pred.requested_slots is None:
            return (0.0, 0.0, 0.0)
        self._requests_seen = True
        # Both empty: 1.0 and averaged in, as in the public script, whose docstring says that it skips them.
        return f1(gold.requested_slots, pred.requested_slots)

    def _tagging(self, turn: Turn, gold: Frame, pred: Frame | None, missing: bool) -> tuple[float, float, float]:
        kinds = None if gold.spans is None else self.comparer.kinds(gold.service)
        if gold.spans is None or kinds is None:
            return (NAN, NAN, NAN)
        if pred is None or pred.spans is None:
            return (0.0, 0.0, 0.0) if missing else (NAN, NAN, NAN)
        self._spans_seen = True
        if gold.spans == pred.spans:
            return (1.0, 1.0, 1.0)
        text = turn.text
        tags = [
            tuple((s.slot, text[s.start : s.exclusive_end]) for s in spans if _tagged(s, kinds))
            for spans in (gold.spans, pred.spans)
        ]
        return f1(*tags)

    # -- correctness files -------------------------------------------------------------------------------------------

    def _add_correctness(self, dialogue: int, gold: Dialogue, predicted: Mapping[int, Turn]) -> None:
        """TripPy's files: a wrong turn is locally right iff its wrong slots are those of the last fresh error and the
        turn before was not right (compute_accuracy_trippy.py of the FGA repository)."""
        fresh: frozenset[str] | None = None
        before_right = True
        for number, _ in _numbered(gold, UserError):
            correct = _correctness(predicted.get(number), gold.id, number)
            wrong = frozenset(slot for slot, right in correct.items() if not right)
            local = not wrong or (not before_right and wrong == fresh)
            if not local:
                fresh = wrong
            before_right = not wrong
            states = (not wrong, NAN, NAN, NAN, NAN, NAN, NAN, len(wrong), len(correct), local)
            self._rows.extend((dialogue, number, -1, *states, *UNSCORED))
            if self.by_slot:
                for slot, right in correct.items():
                    name = self.slots.setdefault(slot, len(self.slots))
                    self._slot_rows.extend((dialogue, number, -1, name, right, NAN))

    # -- results -----------------------------------------------------------------------------------------------------

    def table(self) -> NDArray[np.float64]:
        """One row a frame, a `Column` each; what no prediction carries is NaN throughout, not 0."""
        rows = np.frombuffer(self._rows, dtype=np.float64).reshape(-1, len(Column)).copy()
        for seen, columns in (
            (self._intents_seen, (Column.INTENT,)),
            (self._requests_seen, (Column.REQUESTED_F1, Column.REQUESTED_PRECISION, Column.REQUESTED_RECALL)),
            (self._spans_seen, (Column.TAGGING_F1, Column.TAGGING_PRECISION, Column.TAGGING_RECALL)),
        ):
            if not seen:
                rows[:, list(columns)] = np.nan
        return rows

    def slot_table(self) -> NDArray[np.float64]:
        """One row a slot that gold or prediction has, a `SlotColumn` each."""
        return np.frombuffer(self._slot_rows, dtype=np.float64).reshape(-1, len(SlotColumn)).copy()


def _numbered(dialogue: Dialogue, kind: type[UserError]) -> Iterator[tuple[int, Turn]]:
    """The user's turns, whose numbers (a file may give them) must rise: what came before is a turn's history."""
    if not any(turn.number is not None for turn in dialogue.turns):
        return dialogue.user_turns()
    return _rising(dialogue, kind)


def _rising(dialogue: Dialogue, kind: type[UserError]) -> Iterator[tuple[int, Turn]]:
    last = -1
    for number, turn in dialogue.user_turns():
        if not last < number <= LAST_TURN:
            what = f"a user turn has the number {number}" + (f" after {last}" if last >= 0 else "")
            raise kind(what, dialogue=dialogue.id, hint="numbers must rise, from 0 on")
        last = number
        yield number, turn


def _told(side: Side) -> bool:
    """Whether a gold frame says anything: a state, an intent, a request."""
    values, frame = side
    state = None if frame is None else frame.state
    return bool(values) or (state is not None and (state.active_intent, state.requested_slots) != (None, None))


def _tagged(span: Span, kinds: Kinds) -> bool:
    """Spans of non-categorical slots that stand in the text count."""
    return kinds.categorical.get(span.slot) is False and span.start >= 0


def _place(dialogue: Dialogue, turn: Turn) -> int:
    """What a turn is called in errors: its number where the file gives one, else its index among all turns."""
    if turn.number is not None:
        return turn.number
    return next(index for index, one in enumerate(dialogue.turns) if one is turn)


def _correctness(turn: Turn | None, dialogue: str, number: int) -> Mapping[str, bool]:
    if turn is not None and turn.correct is not None:
        return turn.correct
    what = "correctness is missing" if turn is None else "has values and not correctness"
    hint = "is the file whole?" if turn is None else "--profile trade scores values"
    raise PredictionError(what, dialogue=dialogue, turn=number, hint=hint)


def f1(gold: tuple[object, ...], pred: tuple[object, ...]) -> tuple[float, float, float]:
    """F1, precision, recall of two multisets; an empty side has precision or recall 1, as in the public script."""
    if gold == pred:
        return (1.0, 1.0, 1.0)
    common = (Counter(gold) & Counter(pred)).total()
    precision = common / len(pred) if pred else 1.0
    recall = common / len(gold) if gold else 1.0
    both = precision + recall
    return (2.0 * precision * recall / both if both else 0.0, precision, recall)
