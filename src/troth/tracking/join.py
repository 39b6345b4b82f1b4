"""Gold and predictions joined by dialogue, while both are read.

Files are taken in turns from both sides, and a dialogue is handed on as soon as both sides of it have come, so that
memory holds a file of each (and what is waiting for its other side), not the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from troth.core import normalize
from troth.core.errors import PredictionError, UserError, near
from troth.core.records import Dialogue, Pair

Batches = Iterator[tuple[str, list[Dialogue | Pair]]]
Waiting = dict[str, tuple[Dialogue, str]]  # by the key that is joined by: the dialogue and its file


class Joined(NamedTuple):
    gold: Dialogue
    pred: Dialogue | None
    gold_file: str
    pred_file: str  # where the prediction is, or was looked for


class Join:
    """One side's dialogues waiting for the other's; shares of a corpus can be joined apart and brought together."""

    def __init__(self) -> None:
        self.golds: Waiting = {}
        self.preds: Waiting = {}
        self.seen_gold: dict[str, str] = {}  # key to file, of everything that came
        self.seen_pred: dict[str, str] = {}

    def pairs(self, gold: Batches, pred: Batches) -> Iterator[Joined]:
        """Every pair whose both sides come."""
        more = True
        while more:
            gold_file, golds = next(gold, ("", None))
            for item in golds or ():
                dialogue = item.gold if isinstance(item, Pair) else item
                key = _new(dialogue.id, self.seen_gold, gold_file)
                found = self.preds.pop(key, None)
                if found is None:
                    self.golds[key] = (dialogue, gold_file)
                else:
                    yield _aligned(Joined(dialogue, found[0], gold_file, found[1]))
            pred_file, preds = next(pred, ("", None))
            for item in preds or ():
                guess = item.pred if isinstance(item, Pair) else item
                if guess is None:
                    continue
                key = _new(guess.id, self.seen_pred, pred_file)
                waiting = self.golds.pop(key, None)
                if waiting is None:
                    self.preds[key] = (guess, pred_file)
                else:
                    yield _aligned(Joined(waiting[0], guess, waiting[1], pred_file))
            more = golds is not None or preds is not None

    def merge(self, other: Join) -> Iterator[Joined]:
        """Take in another share: pairs whose sides came apart, then both shares' waiting ones together."""
        for mine, theirs in ((self.seen_gold, other.seen_gold), (self.seen_pred, other.seen_pred)):
            for key in theirs.keys() & mine.keys():
                raise _twice(key, theirs[key])
            mine.update(theirs)
        self.golds.update(other.golds)
        self.preds.update(other.preds)
        for key in list(self.golds.keys() & self.preds.keys()):
            (dialogue, gold_file), (guess, pred_file) = self.golds.pop(key), self.preds.pop(key)
            yield _aligned(Joined(dialogue, guess, gold_file, pred_file))

    def rest(self, pred_path: str) -> Iterator[Joined]:
        """Gold that nothing was predicted for. A prediction that gold lacks is an error."""
        for key, (stray, file) in self.preds.items():
            hint = near(key, self.seen_gold) or "do gold and prediction belong together?"
            raise PredictionError("predicted, but gold has no such dialogue", file=file, dialogue=stray.id, hint=hint)
        for dialogue, file in self.golds.values():
            yield Joined(dialogue, None, file, pred_path)


def together(batches: Batches) -> Iterator[Joined]:
    """The pairs of a file that holds both sides."""
    seen: dict[str, str] = {}
    for name, items in batches:
        for item in items:
            if not isinstance(item, Pair):
                hint = "name the prediction's file after it"
                raise UserError("holds dialogues and no predictions", file=name, hint=hint)
            _new(item.gold.id, seen, name)
            yield Joined(item.gold, item.pred, name, name)


def _new(name: str, seen: dict[str, str], file: str) -> str:
    """The key to join by: the id, with MultiWOZ's many spellings of its ids brought to one."""
    key = normalize.dialogue_id(name)
    if key in seen:
        raise _twice(name, file)
    seen[key] = file
    return key


def _twice(name: str, file: str) -> UserError:
    return UserError("comes twice", file=file, dialogue=name, hint="ids must be unique; remove one")


def _aligned(pair: Joined) -> Joined:
    """Turns without numbers are joined by position, which is safe only if speakers and texts agree."""
    gold, pred = pair.gold, pair.pred
    if pred is None or _numbered(gold) or _numbered(pred):
        return pair
    ours, theirs = gold.turns, pred.turns
    if not any(turn.speaker == "SYSTEM" for turn in theirs):
        ours = tuple(turn for turn in ours if turn.speaker == "USER")
    for position, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a.speaker != b.speaker:
            what = f"{b.speaker} speaks where gold has {a.speaker}"
        elif a.text != b.text and a.text and b.text and _plain(a.text) != _plain(b.text):
            what = f"the text is not gold's: '{b.text[:40]}' for '{a.text[:40]}'"
        else:
            continue
        hint = "is a turn missing or doubled?"
        raise PredictionError(what, file=pair.pred_file, dialogue=gold.id, turn=position, hint=hint)
    return pair


def _numbered(dialogue: Dialogue) -> bool:
    return any(turn.number is not None for turn in dialogue.turns[:2])


def _plain(text: str) -> str:
    return "".join(text.lower().split())
