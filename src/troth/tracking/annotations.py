"""Intents, requested slots and spans of a frame: what the DSTC8 set measures besides states."""

from __future__ import annotations

from collections import Counter

from troth.core.records import Frame, Span, State, Turn
from troth.tracking.frames import NAN
from troth.tracking.states import Comparer, Kinds

UNSCORED = (NAN,) * 7  # a frame that has none of them to score
KINDS = {
    "intents": ("intent",),
    "requests": ("requested_f1", "requested_precision", "requested_recall"),
    "spans": ("tagging_f1", "tagging_precision", "tagging_recall"),
}  # with the columns of `FrameRow` that they fill
ALL_KINDS = frozenset(KINDS)


class Annotations:
    """Scores them frame by frame, and knows which of them the predictions carry at all."""

    def __init__(self, comparer: Comparer) -> None:
        self.comparer = comparer
        self.seen: set[str] = set()  # names of `KINDS`

    def score(self, turn: Turn, gold: Frame | None, pred: Frame | None, *, missing: bool) -> tuple[float, ...]:
        """The columns of `KINDS`, in their order; NaN where there is nothing to score."""
        if gold is None or gold.state is None:
            return UNSCORED
        if gold.spans is None and gold.state.active_intent is None and gold.state.requested_slots is None:
            return UNSCORED
        guess = None if pred is None else pred.state
        intent = self._intent(gold.state, guess)
        return (intent, *self._requested(gold.state, guess), *self._tagging(turn, gold, pred, missing=missing))

    def _intent(self, gold: State, pred: State | None) -> float:
        if gold.active_intent is None:
            return NAN
        if pred is None or pred.active_intent is None:
            return 0.0
        self.seen.add("intents")
        return float(self.comparer.equal(gold.active_intent, pred.active_intent))

    def _requested(self, gold: State, pred: State | None) -> tuple[float, float, float]:
        if gold.requested_slots is None:
            return (NAN, NAN, NAN)
        if pred is None or pred.requested_slots is None:
            return (0.0, 0.0, 0.0)
        self.seen.add("requests")
        # Both empty: 1.0 and averaged in, as in the public script, whose docstring says that it skips them.
        return f1(gold.requested_slots, pred.requested_slots)

    def _tagging(self, turn: Turn, gold: Frame, pred: Frame | None, *, missing: bool) -> tuple[float, float, float]:
        kinds = None if gold.spans is None else self.comparer.kinds(gold.service)
        if gold.spans is None or kinds is None:
            return (NAN, NAN, NAN)
        if pred is None or pred.spans is None:
            return (0.0, 0.0, 0.0) if missing else (NAN, NAN, NAN)
        self.seen.add("spans")
        if gold.spans == pred.spans:
            return (1.0, 1.0, 1.0)
        text = turn.text
        tags = [
            tuple((s.slot, text[s.start : s.exclusive_end]) for s in spans if _is_tagged(s, kinds))
            for spans in (gold.spans, pred.spans)
        ]
        return f1(*tags)


def _is_tagged(span: Span, kinds: Kinds) -> bool:
    """Spans of non-categorical slots that stand in the text count."""
    return kinds.categorical.get(span.slot) is False and span.start >= 0


def f1(gold: tuple[object, ...], pred: tuple[object, ...]) -> tuple[float, float, float]:
    """F1, precision, recall of two multisets; an empty side has precision or recall 1, as in the public script."""
    if gold == pred:
        return (1.0, 1.0, 1.0)
    common = (Counter(gold) & Counter(pred)).total()
    precision = common / len(pred) if pred else 1.0
    recall = common / len(gold) if gold else 1.0
    both = precision + recall
    return (2.0 * precision * recall / both if both else 0.0, precision, recall)
