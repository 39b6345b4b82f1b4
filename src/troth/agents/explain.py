"""Explains why two matching rules disagree: changes the choices that differ between them one at a time.

The steps add up: the first starts at one rule's score, the last ends at the other's. `alone` is the effect of one
choice by itself. Each step names the trials whose verdict it turns, and why they were wrong on the other side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from troth.agents.corpus import AgentCorpus, gold_files, load
from troth.agents.matching import match_calls
from troth.agents.rules import ABOUT, ORDER, MatchingRule, find_rule
from troth.core.errors import UserError
from troth.core.names import Path, name_paths, path_of
from troth.readers import trajectories


class VerdictFlip(msgspec.Struct, frozen=True):
    """A trial whose verdict one choice turns; None: its calls are right."""

    task: str
    trial: int
    before: str | None  # why the calls are wrong
    after: str | None


class ChoiceStep(msgspec.Struct, frozen=True):
    """One choice changed: the share of trials whose calls are right before and after it."""

    choice: str
    meaning: str
    old: str
    new: str
    before: float
    after: float
    alone: float  # what the choice does when it is the only one changed
    trials: int
    flips: list[VerdictFlip]


def explain_rules(
    transcripts: Path,
    *,
    start: str | MatchingRule | None = None,
    end: str | MatchingRule = "exact",
    gold: Path | Sequence[Path] | None = None,
    tools: Path | None = None,
    format: str | None = None,
) -> list[ChoiceStep]:
    """The choices that differ between two matching rules, and what each does to the share of trials that are right.

    `start`: without it, the rule that the format of the transcripts declares.

    >>> from troth import demo
    >>> steps = explain_rules(demo.path("agents/sturdy.jsonl"), start="exact", end="tau")
    >>> [(step.choice, len(step.flips)) for step in steps]
    [('values', 0), ('order', 0), ('failed', 0), ('calls', 1), ('outputs', 0)]
    """
    files = name_paths([transcripts], "file")
    corpus = load(files, gold_files(gold), None if tools is None else path_of(tools), format)
    if not corpus.has_gold:
        raise UserError("no gold calls are known", file=files[0][1], hint="give gold")
    declared = trajectories.FORMATS.load(corpus.systems[0].format).FORMAT.profile
    first, last = find_rule(start or declared or "exact"), find_rule(end)
    choices = [name for name in ORDER if getattr(first, name) != getattr(last, name)]
    rules = [first]
    for name in choices:
        rules.append(_change_choice(rules[-1], name, last))
    verdicts = [_verdicts(corpus, rule) for rule in rules]
    steps: list[ChoiceStep] = []
    for index, name in enumerate(choices):
        before, after = verdicts[index], verdicts[index + 1]
        alone = _share_right(_verdicts(corpus, _change_choice(first, name, last))) - _share_right(verdicts[0])
        flips = [
            VerdictFlip(*key, old, new) for key, old in before.items() if (old is None) != ((new := after[key]) is None)
        ]
        sides = getattr(first, name), getattr(last, name)
        steps.append(
            ChoiceStep(name, ABOUT[name], *sides, _share_right(before), _share_right(after), alone, len(before), flips)
        )
    return steps


def _change_choice(rule: MatchingRule, choice: str, end: MatchingRule) -> MatchingRule:
    change: dict[str, Any] = {choice: getattr(end, choice)}
    return replace(rule, **change)


def _verdicts(corpus: AgentCorpus, rule: MatchingRule) -> dict[tuple[str, int], str | None]:
    return {
        (trial.unit, trial.trial): match_calls(trial, gold, rule, corpus.toolbox(trial)).error
        for trial in corpus.systems[0].trials
        if (gold := corpus.gold(trial)) is not None
    }


def _share_right(verdicts: Mapping[tuple[str, int], str | None]) -> float:
    return sum(error is None for error in verdicts.values()) / max(len(verdicts), 1)
