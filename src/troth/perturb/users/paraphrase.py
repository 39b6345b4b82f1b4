"""The same turn in other words, its values word for word (CheckDST's PI).

Engines: `rules` (built in), `translate` (there and back by apertium or by Marian models), `llm` (an OpenAI-compatible
endpoint). Whatever an engine writes goes through the guard (guard.py); a turn that fails stays as it was and is counted
under the reason. CheckDST's set was made by LAUG's paraphraser, a model trained on MultiWOZ; these know no corpus.

Figures, summed over the turns changed: `words` of the originals, `words replaced` (those that do not come back in the
paraphrase, as a bag: order does not count), `word edits` (Levenshtein distance in words). Shares are these by `words`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

import msgspec
from rapidfuzz.distance import Levenshtein

from troth.core.errors import UserError
from troth.core.records import Dialogue, Turn
from troth.perturb import Changed, Inventory
from troth.perturb.users import guard
from troth.perturb.users.engine import Engine, Failed, Request, Rules

ENGINES = ("rules", "translate", "llm")
IN_CONTEXT = "the text stands in the turn's context, too"
BAD_SPAN = "span outside the text"

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]  # of each pair: does the first entail the second?


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which engine, on whose turns; the rest belongs to one engine each."""

    engine: str = "rules"
    speakers: tuple[str, ...] = ("USER",)
    share: float = 1.0  # of the turns, drawn
    tries: int = 3  # wordings asked for before a turn is refused, where the engine has more than one
    pivots: tuple[str, ...] = ("eng-cat",)  # translate: apertium's pairs; of several, one is drawn for each turn
    model_there: str | None = None  # translate: Marian models (a folder or a name of the hub) in place of apertium
    model_back: str | None = None
    url: str | None = None  # llm: the endpoint's base, such as http://localhost:8000/v1
    model: str | None = None
    key_variable: str = "OPENAI_API_KEY"  # llm: the environment variable with the key; the key itself is never recorded
    temperature: float = 0.7
    timeout: float = 60.0  # seconds for one answer
    parallel: int = 4  # requests at once
    cache: str | None = None  # llm: a JSON Lines file of answers, so that a killed run goes on

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
    dialogue: Dialogue, rng: Random, inventory: Inventory, options: Options, *, entails: Entails | None = None
) -> Changed:
    """The dialogue with its turns in other words. With `entails`, old and new must follow from each other."""
    del inventory  # part of the contract; what must stay is in the turn itself
    turns = list(dialogue.turns)
    refused: Counter[str] = Counter()
    asked: dict[int, tuple[guard.Kept, ...]] = {}
    before: dict[str, dict[str, tuple[str, ...]]] = {}
    seeds: dict[int, list[int]] = {}
    for index, turn in enumerate(turns):
        if turn.speaker in options.speakers and turn.text.strip():
            seeds[index] = [rng.getrandbits(48) for _ in range(options.tries)]
            reason = _unfit(turn)
            if rng.random() >= options.share:
                continue
            if reason is not None:
                refused[reason] += 1
            else:
                asked[index] = tuple(guard.protected(turn, before))
        before.update((f.service, f.state.slot_values) for f in turn.frames if f.state is not None)
    new, why = _rewritten(turns, asked, seeds, _engine(options), options.tries, entails)
    refused.update(why)
    for index, turn in new.items():
        turns[index] = turn
    figures = _figures([(dialogue.turns[index].text, turn.text) for index, turn in sorted(new.items())])
    after = msgspec.structs.replace(dialogue, turns=tuple(turns)) if new else dialogue
    return Changed(after, tuple(sorted(new)), dict(sorted(refused.items())), figures)


def _unfit(turn: Turn) -> str | None:
    if turn.context is not None:
        return IN_CONTEXT  # one text in two places: changing one alone would tear them apart
    inside = all(0 <= span.start < span.exclusive_end <= len(turn.text) for span in guard.spans(turn))
    return None if inside else BAD_SPAN


def _rewritten(
    turns: Sequence[Turn],
    asked: dict[int, tuple[guard.Kept, ...]],
    seeds: dict[int, list[int]],
    engine: Engine,
    tries: int,
    entails: Entails | None,
) -> tuple[dict[int, Turn], Counter[str]]:
    """New turns by index, and why the others have none: the reason of their last try."""
    done: dict[int, Turn] = {}
    why: dict[int, str] = dict.fromkeys(asked, guard.UNCHANGED)
    for attempt in range(tries if engine.varies else 1):
        open_ = [index for index in asked if index not in done]
        if not open_:
            break
        requests = [Request(turns[index].text, asked[index], seeds[index][attempt]) for index in open_]
        fit: dict[int, Turn] = {}
        for index, answer in zip(open_, engine.rewrite(requests), strict=True):
            judged = answer.reason if isinstance(answer, Failed) else guard.accepted(turns[index], asked[index], answer)
            if isinstance(judged, str):
                why[index] = judged
            else:
                fit[index] = judged
        kept = _entailed(turns, fit, entails)
        why.update((index, guard.ENTAILED) for index in fit if index not in kept)
        done.update(kept)
    return done, Counter(reason for index, reason in why.items() if index not in done)


def _entailed(turns: Sequence[Turn], fit: dict[int, Turn], entails: Entails | None) -> dict[int, Turn]:
    if entails is None or not fit:
        return fit
    there = [(turns[index].text, new.text) for index, new in fit.items()]
    held = entails([*there, *((b, a) for a, b in there)])  # both directions
    return {index: new for i, (index, new) in enumerate(fit.items()) if held[i] and held[i + len(fit)]}


def _figures(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    figures = {"words": 0.0, "words replaced": 0.0, "word edits": 0.0}
    for old, new in pairs:
        before, after = guard.words(old), guard.words(new)
        figures["words"] += len(before)
        figures["words replaced"] += (Counter(before) - Counter(after)).total()
        figures["word edits"] += Levenshtein.distance(before, after)
    return figures


@lru_cache(maxsize=8)
def _engine(options: Options) -> Engine:
    """An engine may hold a model or a cache: made once for the same options."""
    if options.engine == "rules":
        return Rules()
    if options.engine == "translate":
        from troth.perturb.translate import Apertium, Marian, Translate

        if (options.model_there is None) != (options.model_back is None):
            raise UserError("translation needs two models", hint="give both model_there and model_back")
        if options.model_there is not None and options.model_back is not None:
            return Translate([Marian(options.model_there, options.model_back)])
        return Translate([Apertium(pair, marks=True) for pair in options.pivots])
    from troth.perturb.users.llm import Endpoint

    if not options.url or not options.model:
        raise UserError("the engine 'llm' needs an endpoint", hint="set url and model")
    return Endpoint(
        url=options.url, model=options.model, key_variable=options.key_variable, temperature=options.temperature,
        timeout=options.timeout, parallel=options.parallel, cache=options.cache,
    )  # fmt: skip
