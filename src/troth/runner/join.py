"""Gold and predictions joined by dialogue, while both are read.

Files are taken in turns from both sides, and a dialogue is handed on as soon as both sides of it have come, so that
memory holds a file of each (and what is waiting for its other side), not the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from troth import normalize, readers
from troth.errors import PredictionError, UserError, near
from troth.records import Dialogue, Pair

Batches = Iterator[tuple[str, list[Dialogue | Pair]]]


class Joined(NamedTuple):
    gold: Dialogue
    pred: Dialogue | None
    gold_file: str
    pred_file: str  # where the prediction is, or was looked for


def joined(
    gold: str, pred: str | None, *, gold_format: str | None = None, pred_format: str | None = None
) -> Iterator[Joined]:
    """Each gold dialogue with its prediction; `pred` None: one file that holds both."""
    if pred is None:
        return _together(readers.batches(gold, gold_format))
    return _join(readers.batches(gold, gold_format), readers.batches(pred, pred_format), pred)


def _together(batches: Batches) -> Iterator[Joined]:
    seen: set[str] = set()
    for name, items in batches:
        for item in items:
            if not isinstance(item, Pair):
                hint = "name the prediction's file after it"
                raise UserError("holds dialogues and no predictions", file=name, hint=hint)
            _unique(item.gold.id, seen, name)
            yield Joined(item.gold, item.pred, name, name)


def _join(gold: Batches, pred: Batches, pred_path: str) -> Iterator[Joined]:
    golds: dict[str, tuple[Dialogue, str]] = {}  # waiting for their prediction
    preds: dict[str, tuple[Dialogue, str]] = {}  # waiting for gold
    seen_gold: set[str] = set()
    seen_pred: set[str] = set()
    more_gold = more_pred = True
    while more_gold or more_pred:
        name, items = next(gold, ("", None))
        more_gold = items is not None
        for item in items or ():
            dialogue = item.gold if isinstance(item, Pair) else item
            key = _unique(dialogue.id, seen_gold, name)
            found = preds.pop(key, None)
            if found is None:
                golds[key] = (dialogue, name)
            else:
                yield _aligned(Joined(dialogue, found[0], name, found[1]))
        name, items = next(pred, ("", None))
        more_pred = items is not None
        for item in items or ():
            guess = item.pred if isinstance(item, Pair) else item
            if guess is None:
                continue
            key = _unique(guess.id, seen_pred, name)
            waiting = golds.pop(key, None)
            if waiting is None:
                preds[key] = (guess, name)
            else:
                yield _aligned(Joined(waiting[0], guess, waiting[1], name))
    for stray, (_, name) in preds.items():
        hint = near(stray, seen_gold) or "do gold and prediction belong together?"
        raise PredictionError("predicted, but gold has no such dialogue", file=name, dialogue=stray, hint=hint)
    for dialogue, name in golds.values():
        yield Joined(dialogue, None, name, pred_path)


def _unique(name: str, seen: set[str], file: str) -> str:
    """The key to join by: the id, with MultiWOZ's many spellings of its ids brought to one."""
    key = normalize.dialogue_id(name)
    if key in seen:
        raise UserError("comes twice", file=file, dialogue=name, hint="ids must be unique; remove one")
    seen.add(key)
    return key


def _aligned(pair: Joined) -> Joined:
    """Turns without numbers are joined by position, which is safe only if speakers and texts agree."""
    gold, pred = pair.gold, pair.pred
    if pred is None or any(turn.number is not None for turn in (*gold.turns[:1], *pred.turns[:1])):
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


def _plain(text: str) -> str:
    return "".join(text.lower().split())
