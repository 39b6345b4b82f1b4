"""The same turn in other words, its values word for word (CheckDST's PI).

Engines: `rules` (built in), `acts` (built in; says the annotated acts anew), `translate` (there and back by apertium
or by Marian models), `llm` (an OpenAI-compatible endpoint). With a language model (lm.py), several wordings of each
turn are asked of it, and of those that pass the one with most words replaced is taken; the engine is for turns without
any. The guard (guard.py) checks each paraphrase; if it is refused, the turn does not change and is counted by reason.
CheckDST's set was made by LAUG's paraphraser, a model trained on MultiWOZ; these engines know no corpus.

Figures, summed over changed turns: `words` of the originals, `words replaced` (words of the original that are not in
the paraphrase, ignoring order), `word edits` (Levenshtein distance in words). Shares are divided by `words`. With a
language model also the turns that it reworded, those by the engine, and its refused wordings by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import ClassVar

import msgspec
from rapidfuzz.distance import Levenshtein

from troth.core.records import Dialogue, Turn
from troth.models import Lm
from troth.perturb import lexicon
from troth.perturb.users import Family, Inventory, Twin, guard
from troth.perturb.users.engines import ENGINES, Failed, Paraphraser, Rewrite
from troth.perturb.users.lm import LmParaphraser, check_wording, share_replaced

IN_CONTEXT = "the text stands in the turn's context, too"
BAD_SPAN = "span outside the text"
BY_LM = "turns by the language model"
BY_ENGINE = "turns by the engine"
REJECTED = "wordings refused"
LONGEST = 1_000  # characters of a turn: the time of the rules grows with its square
TOO_LONG = f"longer than {LONGEST:,} characters"

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]  # for each pair: does the first entail the second?


class Paraphrase(Family, frozen=True):
    """The same turn in other words, its values word for word (CheckDST's PI)."""

    takes_nli: ClassVar[bool] = True
    takes_lm: ClassVar[bool] = True
    counts: ClassVar[tuple[str, ...]] = (BY_LM, BY_ENGINE, REJECTED)

    engine: str = "rules"
    speakers: tuple[str, ...] = ("USER",)
    share: float = 1.0  # of the turns, drawn
    tries: int = (
        3  # wordings asked for before a turn is refused, where the engine has more than one; of a language model, all
    )
    half: lexicon.Half = "all"  # rules: of the phrases to draw from
    pivots: tuple[str, ...] = ("eng-cat",)  # translate: apertium's pairs; of several, one is drawn for each turn
    model_there: str | None = None  # translate: Marian models (a folder or a name of the hub) in place of apertium
    model_back: str | None = None
    url: str | None = None  # llm: the endpoint's base, such as http://localhost:8000/v1
    model: str | None = None
    key_variable: str = "OPENAI_API_KEY"  # llm: the environment variable with the key; the key itself is never recorded
    temperature: float = 0.7  # llm, and a language model
    timeout: float = 60.0  # seconds for one answer
    parallel: int = 4  # requests at once
    cache: str | None = None  # llm: a JSON Lines file of answers, so that a killed run can be resumed

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"'engine' must be one of {', '.join(ENGINES)}")
        if not self.speakers or not set(self.speakers) <= {"USER", "SYSTEM"}:
            raise ValueError("'speakers' must be USER, SYSTEM or both")
        if not 0 <= self.share <= 1:
            raise ValueError("'share' must be from 0 to 1")
        for name in ("tries", "parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"'{name}' must be 1 or more")
        if not self.timeout > 0:
            raise ValueError("'timeout' must be more than 0")

    def perturb(
        self,
        dialogue: Dialogue,
        rng: Random,
        inventory: Inventory,
        *,
        entails: Entails | None = None,
        lm: Lm | None = None,
    ) -> Twin:
        """The dialogue with its turns in other words. With `entails`, old and new must entail each other.

        With `lm`, the language model's best wording is taken, and the engine's where it has none that passes.
        """
        del inventory  # not needed: what must not change is in the turn itself
        turns = list(dialogue.turns)
        refused: Counter[str] = Counter()
        drafts: dict[int, _Draft] = {}
        before: dict[str, dict[str, tuple[str, ...]]] = {}
        for index, turn in enumerate(turns):
            if turn.speaker in self.speakers and turn.text.strip():
                seeds = [rng.getrandbits(48) for _ in range(self.tries)]
                if rng.random() < self.share:
                    if (reason := _refusal_reason(turn)) is not None:
                        refused[reason] += 1
                    else:
                        drafts[index] = _Draft(turn, tuple(guard.find_protected(turn, before)), seeds)
            before.update((f.service, f.state.slot_values) for f in turn.frames if f.state is not None)
        wordings, rejected = ({}, Counter[str]()) if lm is None else self._ask(drafts, lm, entails)
        rest = {index: draft for index, draft in drafts.items() if index not in wordings}
        done = wordings | self._rewrite(rest, entails)
        refused.update(draft.reason for index, draft in drafts.items() if index not in done)
        for index, turn in done.items():
            turns[index] = turn
        figures = _figures([(dialogue.turns[index].text, turn.text) for index, turn in sorted(done.items())])
        if lm is not None:
            figures |= {BY_LM: len(wordings), BY_ENGINE: len(done) - len(wordings)}
            figures |= {f"{REJECTED}: {reason}": count for reason, count in sorted(rejected.items())}
        after = msgspec.structs.replace(dialogue, turns=tuple(turns)) if done else dialogue
        return Twin(after, tuple(sorted(done)), dict(sorted(refused.items())), figures)

    def _ask(
        self, drafts: Mapping[int, _Draft], lm: Lm, entails: Entails | None
    ) -> tuple[dict[int, Turn], Counter[str]]:
        """Of the language model's wordings that pass, those with most words replaced; and the reasons of the others."""
        engine, rejected = LmParaphraser(lm, self.temperature), Counter[str]()
        best: dict[int, Turn] = {}
        for attempt in range(self.tries if drafts else 0):
            requests = [Rewrite(draft.turn.text, draft.stretches, draft.seeds[attempt]) for draft in drafts.values()]
            fit: dict[int, Turn] = {}
            for (index, draft), answer in zip(drafts.items(), engine.rewrite(requests), strict=True):
                new = (
                    answer.reason if isinstance(answer, Failed) else check_wording(draft.turn, draft.stretches, answer)
                )
                if isinstance(new, Turn):
                    fit[index] = new
                else:
                    rejected[new] += 1
            same = _keep_entailed(drafts, fit, entails)
            rejected[guard.ENTAILED] += len(fit) - len(same)
            for index, turn in same.items():
                old = drafts[index].turn.text
                if index not in best or share_replaced(old, turn.text) > share_replaced(old, best[index].text):
                    best[index] = turn
        return best, +rejected

    def _rewrite(self, drafts: Mapping[int, _Draft], entails: Entails | None) -> dict[int, Turn]:
        """New turns by index. Drafts without one keep the reason of their last try."""
        engine = _engine(self)
        done: dict[int, Turn] = {}
        for attempt in range(self.tries if engine.varies else 1):
            open_ = {index: draft for index, draft in drafts.items() if index not in done}
            if not open_:
                break
            requests = [
                Rewrite(draft.turn.text, draft.stretches, draft.seeds[attempt], draft.turn) for draft in open_.values()
            ]
            fit: dict[int, Turn] = {}
            for (index, draft), answer in zip(open_.items(), engine.rewrite(requests), strict=True):
                if isinstance(answer, Failed):
                    draft.reason = answer.reason
                elif isinstance(new := guard.check_paraphrase(draft.turn, draft.stretches, answer), Turn):
                    fit[index], draft.reason = new, guard.ENTAILED  # unless it is entailed
                else:
                    draft.reason = new
            done.update(_keep_entailed(drafts, fit, entails))
        return done


class _Draft:
    """A turn to be paraphrased, and the reason of the last refusal."""

    def __init__(self, turn: Turn, stretches: tuple[guard.Stretch, ...], seeds: Sequence[int]) -> None:
        self.turn, self.stretches, self.seeds = turn, stretches, seeds
        self.reason = guard.UNCHANGED


def _refusal_reason(turn: Turn) -> str | None:
    if turn.context is not None:
        return IN_CONTEXT  # the text is also in the context, where it would not change
    if len(turn.text) > LONGEST:
        return TOO_LONG
    inside = all(0 <= span.start < span.exclusive_end <= len(turn.text) for span in guard.spans(turn))
    return None if inside else BAD_SPAN


def _keep_entailed(drafts: Mapping[int, _Draft], fit: dict[int, Turn], entails: Entails | None) -> dict[int, Turn]:
    if entails is None or not fit:
        return fit
    pairs = [(drafts[index].turn.text, new.text) for index, new in fit.items()]
    held = entails([*pairs, *((new, old) for old, new in pairs)])  # both directions
    return {index: new for i, (index, new) in enumerate(fit.items()) if held[i] and held[i + len(fit)]}


def _figures(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    figures = {"words": 0.0, "words replaced": 0.0, "word edits": 0.0}
    for old, new in pairs:
        before, after = guard.tokens(old), guard.tokens(new)
        figures["words"] += len(before)
        figures["words replaced"] += (Counter(before) - Counter(after)).total()
        figures["word edits"] += Levenshtein.distance(before, after)
    return figures


@lru_cache(maxsize=8)
def _engine(options: Paraphrase) -> Paraphraser:
    """The engine for these options; cached, since it may have a model or a cache."""
    return ENGINES.load(options.engine)(options)
