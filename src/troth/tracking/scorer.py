"""Gold and predicted states compared frame by frame, everything that the metrics need in one pass.

Papers: FGA (Dey et al. 2022) for JGA, SA, AGA and FGA; SGD (Rastogi et al. 2020) for the DSTC8 set. A `Scorer` writes
one `FrameRow` per frame; `tracking.metrics` makes units and metrics of these rows.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from troth.core.errors import PredictionError, UserError
from troth.core.parts import Floats
from troth.core.records import Dialogue, Frame, Schema, Turn
from troth.text import normalize
from troth.tracking.annotations import ALL_KINDS, KINDS, Annotations
from troth.tracking.frames import COLUMN, NAN, SLOT_COLUMN, FrameRow, Frames, SlotRow
from troth.tracking.near_misses import difference
from troth.tracking.profiles import Profile
from troth.tracking.states import EMPTY, Compared, Comparer, GoldStates, Side, Values

INF = float("inf")
LAST_TURN = 1 << 31  # larger numbers are not numbers of turns, and floats would not hold them all
NOTHING: Side = (EMPTY, None)
ALL_RIGHT = (1.0,) * 8  # locally right, intent, requested slots, spans


@dataclass
class Counts:
    """Counts of missing and of ignored predictions; always shown."""

    dialogues: int = 0
    missing_dialogues: int = 0
    missing_turns: int = 0
    missing_frames: int = 0
    ignored_slots: int = 0
    ignored_frames: int = 0


class _Last(NamedTuple):
    """What a service's last frame came to, since most turns change nothing about a service."""

    was: tuple[Values, Values]
    now: tuple[Values, Values]
    compared: Compared
    local: bool
    near_misses: list[tuple[str, str]]


class Scorer:
    """Takes pairs of dialogues one at a time and writes rows; `frames` hands them over as a table."""

    def __init__(
        self,
        profile: Profile,
        schema: Schema | None = None,
        *,
        by_slot: bool = False,
        strict: bool = True,
        gold: GoldStates | None = None,
    ) -> None:
        """`strict`: a predicted slot or service outside the schema is an error; else it is ignored and counted."""
        self.comparer = Comparer(profile, schema, strict=strict, gold=gold)
        self.profile, self.schema, self.by_slot = profile, self.comparer.schema, by_slot
        self.dialogues: list[str] = []
        self.missing: list[str] = []  # dialogues without a prediction
        self.services: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.gold_services: set[str] = set()
        # Whether gold, and the predictions, hold a state anywhere. Files of bare states need not: all may be empty.
        self.states_seen = [False, False]
        self.other_gold = 0  # turns in which gold that came with the predictions differs from this gold
        self.near_misses: Counter[tuple[str, str]] = Counter()  # by slot and difference in writing
        # Of the last dialogue: the slots that are not right, by turn and service, for a recorder that shows them.
        self.keeps_slot_scores = False
        self.slot_scores: dict[int, dict[str, Mapping[str, float]]] = {}
        self._last: dict[str, _Last] = {}  # by service
        self._counts = Counts()
        self._rows = array("d")
        self._slot_rows = array("d")
        self._annotations = Annotations(self.comparer)

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None:
        """Scores one dialogue. Gold decides what is scored; frames that the prediction lacks count as missing."""
        index = len(self.dialogues)
        self.dialogues.append(gold.id)
        self.slot_scores = {}
        if pred is None:
            self._counts.missing_dialogues += 1
            self.missing.append(gold.id)
        predicted = {} if pred is None else dict(_numbered_turns(pred, PredictionError))
        if self.profile.match == "given":
            self.states_seen = [True, True]
            self._add_correctness(index, gold, predicted)
            return
        for side, dialogue in enumerate((gold, pred)):
            if not self.states_seen[side] and dialogue is not None:
                frames = [frame for turn in dialogue.turns for frame in turn.frames]
                worded = any(turn.text for turn in dialogue.turns)
                self.states_seen[side] = not worded or any(frame.state is not None for frame in frames)
        if any(turn.correct is not None for turn in predicted.values()):
            # Without values both states would be empty, and everything right.
            raise PredictionError(
                "has right or wrong per slot and no values", dialogue=gold.id, hint="score it by the profile trippy"
            )
        before: dict[str, tuple[Values, Values]] = {}
        for number, turn in _numbered_turns(gold, UserError):
            guess = predicted.pop(number, None)
            if guess is None and pred is not None:
                self._counts.missing_turns += 1
            try:
                before = self._add_turn(index, number, turn, guess, before)
            except UserError as error:
                raise error.at(dialogue=gold.id, turn=number) from error
        if predicted:
            hint = "do gold and prediction belong together?"
            raise PredictionError("gold has no such turn", dialogue=gold.id, turn=min(predicted), hint=hint)

    def compare_gold(self, gold: Dialogue, other: Dialogue) -> None:
        """Counts the turns in which gold that came with the predictions differs from the gold scored against."""
        theirs = dict(other.user_turns())
        for number, turn in gold.user_turns():
            sides = [self.comparer.sides(one, gold=True) for one in (turn, theirs.get(number, turn))]
            states = [{service: side[0] for service, side in one.items() if side[0]} for one in sides]
            self.other_gold += states[0] != states[1]

    def merge(self, other: Scorer) -> None:
        """Merges another scorer of the same profile that has scored other dialogues."""
        services = _map_codes(self.services, other.services)
        for mine, theirs, column, slots in (
            (self._rows, other._rows, COLUMN, None),
            (self._slot_rows, other._slot_rows, SLOT_COLUMN, _map_codes(self.slots, other.slots)),
        ):
            rows = np.array(theirs, dtype=np.float64).reshape(-1, len(column))
            rows[:, column["dialogue"]] += len(self.dialogues)
            rows[:, column["service"]] = services[rows[:, column["service"]].astype(np.int64)]
            if slots is not None:
                rows[:, column["slot"]] = slots[rows[:, column["slot"]].astype(np.int64)]
            mine.frombytes(rows.tobytes())
        self.dialogues += other.dialogues
        self.missing += other.missing
        self.gold_services |= other.gold_services
        self.near_misses += other.near_misses
        self.states_seen = [mine or theirs for mine, theirs in zip(self.states_seen, other.states_seen, strict=True)]
        self.other_gold += other.other_gold
        self._annotations.seen |= other._annotations.seen
        self.comparer.ignored_slots += other.comparer.ignored_slots
        self.comparer.slots_seen |= other.comparer.slots_seen
        for name, count in vars(other._counts).items():
            setattr(self._counts, name, getattr(self._counts, name) + count)

    def counts(self) -> Counts:
        self._counts.dialogues = len(self.dialogues)
        self._counts.ignored_slots = self.comparer.ignored_slots
        return self._counts

    def _add_turn(
        self, dialogue: int, number: int, gold: Turn, pred: Turn | None, before: dict[str, tuple[Values, Values]]
    ) -> dict[str, tuple[Values, Values]]:
        """Score the frames of a turn; returns each service's states, for the next turn to be compared with.

        In SGD a turn has a frame only if its service is talked about, so a service's history skips turns; where a
        turn's states are complete (`scope="state"`), the turn before is the history.
        """
        comparer, whole = self.comparer, self.profile.scope == "state"
        golds = comparer.sides(gold, gold=True)
        self.gold_services.update(golds)
        preds = {} if pred is None else comparer.sides(pred)
        if not whole and preds.keys() != golds.keys():
            for service in preds.keys() - golds.keys():
                comparer.check_service(service)
                self._counts.ignored_frames += 1
        skip = self.profile.missing == "skip"
        quick = self.profile.norm == "none" and not self.by_slot and not self.profile.is_restricted
        after = {} if whole else before
        services: Collection[str] = golds
        if whole:
            # A service without values on either side does not count, whether or not the file has a frame for it.
            every = dict.fromkeys((*golds, *preds))
            services = [s for s in every if (s in preds and preds[s][0]) or _is_annotated(golds.get(s, NOTHING))]
        scores: dict[str, Mapping[str, float]] = {}
        for service in services:
            missing = pred is None or (not whole and service not in preds)
            if missing and pred is not None:
                self._counts.missing_frames += 1
            if missing and skip:
                continue
            if self.keeps_slot_scores:
                self.slot_scores[number] = scores
            mine, theirs = golds.get(service, NOTHING), preds.get(service, NOTHING)
            was = before.get(service, (EMPTY, EMPTY))  # `after` may be `before`: looked up before it is written
            now = after[service] = (mine[0], theirs[0])
            row = self._right_row(dialogue, number, mine[1]) if quick and mine[1] == theirs[1] else None
            if row is not None:
                self._rows.extend(row)
                continue
            states, scores[service] = self._states((dialogue, number, service), was, now, missing)
            self._rows.extend((*states, *self._annotations.score(gold, mine[1], theirs[1], missing=missing)))
        if whole and not services and not (pred is None and skip):
            self.slot_scores[number] = scores
            # A turn without values on either side is right, and counts.
            right = float(pred is not None)
            wrong = 0.0 if pred is not None else INF
            self._rows.extend(
                FrameRow(
                    dialogue, number, -1, right, NAN, NAN, right=0.0, active=0, right_cat=0.0, active_cat=0,
                    predicted=0, union=0, wrong=wrong, size=0, local=right,
                )
            )  # fmt: skip
        return after

    def _right_row(self, dialogue: int, number: int, frame: Frame | None) -> FrameRow | None:
        """The row of a frame that is predicted as in gold (most are); None if it must be compared slot by slot."""
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
        self._annotations.seen |= ALL_KINDS
        code = self.services.setdefault(frame.service, len(self.services))
        joints = (1.0, kinds.cat_part, kinds.noncat_part)
        counts = (count, count, cat, cat, count, count)
        return FrameRow(dialogue, number, code, *joints, *counts, 0.0, kinds.size, *ALL_RIGHT)

    def _states(
        self, place: tuple[int, int, str], was: tuple[Values, Values], now: tuple[Values, Values], missing: bool
    ) -> tuple[tuple[float, ...], Mapping[str, float]]:
        """The first part of a frame's row (scores of its states), and the score of each slot."""
        dialogue, number, service = place
        last = self._last.get(service)
        if last is None or last.now != now or last.was != was:
            last = self._last[service] = self._frame(service, was, now, last)
        compared, kinds = last.compared, self.comparer.kinds(service)
        if last.near_misses:
            self.near_misses.update(last.near_misses)
        if missing:
            compared = compared._replace(
                joint=0.0,
                joint_cat=compared.joint_cat * 0.0,  # NaN stays NaN
                joint_noncat=compared.joint_noncat * 0.0,
                right=0.0,
                right_cat=compared.right_cat * 0.0,
                predicted=0,
                union=compared.active,
                wrong=INF,
                scores=dict.fromkeys(now[0], 0.0),
            )
        code = self.services.setdefault(service, len(self.services))
        if self.by_slot:
            for slot, score in (compared.scores or dict.fromkeys(now[0], 1.0)).items():
                name = self.slots.setdefault(f"{service}.{slot}", len(self.slots))
                self._slot_rows.extend(SlotRow(dialogue, number, code, name, score, slot in now[0]))
        row = (dialogue, number, code, *compared[:10], kinds.size if kinds else 0, last.local and not missing)
        return row, compared.scores

    def _frame(self, service: str, was: tuple[Values, Values], now: tuple[Values, Values], last: _Last | None) -> _Last:
        """Compares both states of a service; the last frame's comparison if neither state has changed."""
        if last is not None and last.now == now:
            compared, near_misses = last.compared, last.near_misses
        else:
            compared = self.comparer.compare(now[0], now[1], service)
            differing = [s for s, score in compared.scores.items() if score < 1.0 and s in now[0] and now[1].get(s)]
            named = ((f"{service}.{slot}", difference(now[0][slot], now[1][slot][0])) for slot in differing)
            near_misses = [(slot, written) for slot, written in named if written is not None]
        local = compared.joint == 1.0 or self.comparer.is_local(was, now, compared.scores)
        return _Last(was, now, compared, local, near_misses)

    def _add_correctness(self, dialogue: int, gold: Dialogue, predicted: Mapping[int, Turn]) -> None:
        """TripPy's files: a wrong turn is locally right iff its wrong slots are those of the last fresh error and the
        turn before was not right (compute_accuracy_trippy.py of the FGA repository)."""
        fresh: frozenset[str] | None = None
        before_right = True
        for number, _ in _numbered_turns(gold, UserError):
            correct = _correctness(predicted.get(number), gold.id, number)
            wrong = frozenset(slot for slot, right in correct.items() if not right)
            local = not wrong or (not before_right and wrong == fresh)
            if not local:
                fresh = wrong
            before_right = not wrong
            self._rows.extend(
                FrameRow(
                    dialogue, number, -1, not wrong, NAN, NAN, right=NAN, active=NAN, right_cat=NAN, active_cat=NAN,
                    predicted=NAN, union=NAN, wrong=len(wrong), size=len(correct), local=local,
                )
            )  # fmt: skip
            if self.by_slot:
                for slot, right in correct.items():
                    name = self.slots.setdefault(slot, len(self.slots))
                    self._slot_rows.extend(SlotRow(dialogue, number, -1, name, right, NAN))

    def frames(self) -> Frames:
        """The table of frames; columns of annotations that no prediction has are NaN, not 0."""
        rows = np.frombuffer(self._rows, dtype=np.float64).reshape(-1, len(COLUMN)).copy()
        for kind, columns in KINDS.items():
            if kind not in self._annotations.seen:
                rows[:, [COLUMN[name] for name in columns]] = np.nan
        return Frames(rows, self.profile, self._ontology(), self.dialogues, list(self.services))

    def slot_table(self) -> Floats:
        """One row per slot that gold or prediction has, one column per field of `SlotRow`."""
        return np.frombuffer(self._slot_rows, dtype=np.float64).reshape(-1, len(SLOT_COLUMN)).copy()

    def _ontology(self) -> int | None:
        """Number of slots of the ontology, for slot accuracy over turns."""
        multiwoz = self.gold_services and self.gold_services <= normalize.MULTIWOZ_DOMAINS
        if multiwoz and not self.profile.is_restricted:
            return normalize.MULTIWOZ_SLOTS  # also where MultiWOZ 2.2's schema lists slots that nobody tracks
        return sum(len(service.slots) for service in self.schema.values()) if self.schema else None


def _map_codes(names: dict[str, int], others: Mapping[str, int]) -> Floats:
    """Maps codes of another scorer to ours; the last, at -1, stays unchanged."""
    return np.array([*(names.setdefault(name, len(names)) for name in others), -1], dtype=np.float64)


def _numbered_turns(dialogue: Dialogue, kind: type[UserError]) -> Iterator[tuple[int, Turn]]:
    """The user's turns. Their numbers (a file may give them) must rise, because earlier turns are a turn's history."""
    last = -1
    for number, turn in dialogue.user_turns():
        if not last < number <= LAST_TURN:
            what = f"a user turn has the number {number}" + (f" after {last}" if last >= 0 else "")
            raise kind(what, dialogue=dialogue.id, hint="numbers must rise, from 0 on")
        last = number
        yield number, turn


def _is_annotated(side: Side) -> bool:
    """Whether a gold frame says anything: a state, an intent, a request."""
    values, frame = side
    state = None if frame is None else frame.state
    return bool(values) or (state is not None and (state.active_intent, state.requested_slots) != (None, None))


def _correctness(turn: Turn | None, dialogue: str, number: int) -> Mapping[str, bool]:
    if turn is not None and turn.correct is not None:
        return turn.correct
    what = "correctness is missing" if turn is None else "has values and not correctness"
    hint = "is the file whole?" if turn is None else "the profile trade scores values"
    raise PredictionError(what, dialogue=dialogue, turn=number, hint=hint)
