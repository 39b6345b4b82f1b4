"""Gold and predictions joined by dialogue, while both are read.

Files are taken in turns from both sides, and a dialogue is handed on as soon as both sides of it have come, so that
memory holds one file of each side (and dialogues that wait for their other side), not the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from troth.core.errors import PredictionError, UserError, suggest_name
from troth.core.records import Dialogue, Pair
from troth.text import normalize

Items = Iterable[Dialogue | Pair]


class JoinedPair(NamedTuple):
    """A gold dialogue, its prediction, and the files that both come from."""

    gold: Dialogue
    pred: Dialogue | None
    gold_file: str
    pred_file: str  # where the prediction is, or was looked for
    other_gold: Dialogue | None = None  # gold that came with the prediction, where its file holds both


class Join:
    """One system's predictions and gold, waiting for each other; shares of a corpus can be joined apart and merged."""

    def __init__(self) -> None:
        self.golds: dict[str, tuple[Dialogue, str]] = {}  # by key: waiting for a prediction
        self.preds: dict[str, tuple[Dialogue, str]] = {}  # waiting for gold
        self.other_golds: dict[str, Dialogue] = {}  # gold that came with predictions
        self.gold_predictions = 0  # predictions that came with gold, which are not scored
        self.gold_files: dict[str, str] = {}  # key to file, of all dialogues that came
        self.pred_files: dict[str, str] = {}

    def add_gold(self, file: str, items: Items) -> Iterator[JoinedPair]:
        """Takes gold dialogues; yields the pairs that they complete."""
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            self.gold_predictions += isinstance(item, Pair) and item.pred is not None
            key = _new_key(dialogue.id, self.gold_files, file)
            waiting = self.preds.pop(key, None)
            if waiting is None:
                self.golds[key] = (dialogue, file)
            else:
                yield _align_turns(JoinedPair(dialogue, waiting[0], file, waiting[1], self.other_golds.pop(key, None)))

    def add_pred(self, file: str, items: Items) -> Iterator[JoinedPair]:
        """Takes predicted dialogues; yields the pairs that they complete."""
        for item in items:
            guess = item.pred if isinstance(item, Pair) else item
            if guess is None:
                continue
            key = _new_key(guess.id, self.pred_files, file)
            waiting = self.golds.pop(key, None)
            other = item.gold if isinstance(item, Pair) else None
            if waiting is None:
                self.preds[key] = (guess, file)
                self.other_golds |= {} if other is None else {key: other}
            else:
                yield _align_turns(JoinedPair(waiting[0], guess, waiting[1], file, other))

    def merge(self, other: Join) -> Iterator[JoinedPair]:
        """Merges another share, and yields the pairs with one side in each share."""
        for mine, theirs in ((self.gold_files, other.gold_files), (self.pred_files, other.pred_files)):
            for key in theirs.keys() & mine.keys():
                raise _duplicate(key, theirs[key])
            mine.update(theirs)
        self.golds.update(other.golds)
        self.preds.update(other.preds)
        self.other_golds.update(other.other_golds)
        self.gold_predictions += other.gold_predictions
        for key in list(self.golds.keys() & self.preds.keys()):
            (dialogue, gold_file), (guess, pred_file) = self.golds.pop(key), self.preds.pop(key)
            yield _align_turns(JoinedPair(dialogue, guess, gold_file, pred_file, self.other_golds.pop(key, None)))

    def rest(self, pred_path: str, *, common: bool = False) -> Iterator[JoinedPair]:
        """Gold without a prediction. A prediction without gold is an error, unless only `common` ones are wanted."""
        matched = len(self.pred_files) - len(self.preds)
        if self.preds and not matched:
            what = f"0 of {len(self.preds)} dialogue ids are in gold"
            raise PredictionError(what, file=pred_path, hint="do gold and prediction belong to the same split?")
        for key, (stray, file) in () if common else self.preds.items():
            hint = suggest_name(key, self.gold_files) or "do gold and prediction belong together?"
            raise PredictionError("predicted, but gold has no such dialogue", file=file, dialogue=stray.id, hint=hint)
        for dialogue, file in self.golds.values():
            yield JoinedPair(dialogue, None, file, pred_path)


def split_pairs(batches: Iterable[tuple[str, list[Dialogue | Pair]]]) -> Iterator[JoinedPair]:
    """The pairs of a file that holds both sides."""
    files: dict[str, str] = {}
    for name, items in batches:
        for item in items:
            if not isinstance(item, Pair):
                hint = "name the prediction's file after it"
                raise UserError("holds dialogues and no predictions", file=name, hint=hint)
            _new_key(item.gold.id, files, name)
            yield JoinedPair(item.gold, item.pred, name, name)


def _new_key(name: str, files: dict[str, str], file: str) -> str:
    """The key to join by: the id, with MultiWOZ's many spellings of its ids brought to one."""
    key = normalize.dialogue_id(name)
    if key in files:
        raise _duplicate(name, file)
    files[key] = file
    return key


def _duplicate(name: str, file: str) -> UserError:
    return UserError("duplicate dialogue id", file=file, dialogue=name, hint="ids must be unique; remove one")


def _align_turns(pair: JoinedPair) -> JoinedPair:
    """Turns without numbers are matched by position, which is safe only if speakers and texts agree."""
    gold, pred = pair.gold, pair.pred
    if pred is None or _has_numbers(gold) or _has_numbers(pred):
        return pair
    ours, theirs = gold.turns, pred.turns
    if not any(turn.speaker == "SYSTEM" for turn in theirs):
        ours = tuple(turn for turn in ours if turn.speaker == "USER")
    for position, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a.speaker != b.speaker:
            what = f"{b.speaker} speaks where gold has {a.speaker}"
        elif a.text != b.text and a.text and b.text and _letters(a.text) != _letters(b.text):
            what = f"the text is not gold's: '{b.text[:40]}' for '{a.text[:40]}'"
        else:
            continue
        hint = "is a turn missing or doubled?"
        raise PredictionError(what, file=pair.pred_file, dialogue=gold.id, turn=position, hint=hint)
    return pair


def _has_numbers(dialogue: Dialogue) -> bool:
    return any(turn.number is not None for turn in dialogue.turns[:2])


def _letters(text: str) -> str:
    return "".join(text.lower().split())
