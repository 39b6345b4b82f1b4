"""Calls as states, so that the metrics of state tracking apply: arguments fold into a state, turn by turn.

- A state has a service for each tool and a slot for each argument. A tool that is called without arguments has the
  slot `called`.
- The last call wins: an argument replaces the value that an earlier call of the tool gave it; an argument that a later
  call does not name stays. `null` removes it.
- Several calls of one tool after one user turn are kept apart: the second folds into `tool#2`, and so on. A call that
  matches a gold call has its number, so that the order of parallel calls does not matter.
- Which calls count, and when two values are equal, is the matching rule's. A value that the rule accepts is written as
  gold writes it.
- Where gold names no turns, a gold call is expected at the turn of the call that matches it or, if none does, of the
  call of the same tool that is nearest to it; if there is none, at the last turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from troth.agents.bfcl import normalize_text
from troth.agents.matching import MISSING, MatchedCalls, argument_error
from troth.agents.rules import MatchingRule
from troth.agents.tools import Toolbox
from troth.core.records import Dialogue, Frame, State, Turn
from troth.core.trajectories import Expected, Tool, Trajectory
from troth.tracking.profiles import Profile

CALLED = "called"
NO_TOOLS = Toolbox()
PROFILE = Profile(
    "calls", "arguments of calls as states, a whole turn at a time", unit="turn", match="exact", typed="no",
    case="keep", values="all", scope="state", average="turn",
)  # fmt: skip

Slots = dict[str, tuple[str, ...]]


class NearestPairs(NamedTuple):
    """Which call stands for which gold call: those that match, and those of the same tool that come closest."""

    pairs: dict[int, int]  # gold call to call
    wrong: dict[int, tuple[str, ...]]  # gold call to its arguments that are not right; all of them where none is paired


def pair_nearest(matched: MatchedCalls, rule: MatchingRule, toolbox: Toolbox = NO_TOOLS) -> NearestPairs:
    """Pairs the calls and gold calls that do not match: of the same tool, those with most arguments right first."""
    pairs = dict(matched.pairs)
    left = matched.extra
    options: list[tuple[int, int, int, tuple[str, ...]]] = []
    for index in matched.missing:
        gold = matched.gold[index]
        for number in left:
            call = matched.calls[number]
            if call.call.tool == gold.tool and gold.turn in (None, call.turn):
                wrong = wrong_arguments(call.call.arguments, gold, rule, toolbox.tools.get(gold.tool))
                options.append((len(wrong), index, -number, wrong))  # of equals, the last: the last call wins
    every = {index: tuple(matched.gold[index].arguments) for index in matched.missing}
    for _, index, backwards, wrong in sorted(options):
        if index not in pairs and -backwards not in pairs.values():
            pairs[index] = -backwards
            every[index] = wrong
    return NearestPairs(pairs, every)


def wrong_arguments(
    arguments: Mapping[str, Any], gold: Expected, rule: MatchingRule, tool: Tool | None = None
) -> tuple[str, ...]:
    """Gold's arguments that a call lacks or has wrong, and those that it has beyond gold's."""
    errors = {name: argument_error(arguments.get(name, MISSING), gold, name, rule, tool) for name in gold.arguments}
    wrong = [name for name, error in errors.items() if error is not None]
    extra = [name for name, value in arguments.items() if name not in gold.arguments and value is not None]
    return (*wrong, *(() if gold.open else extra))


class FoldedStates(NamedTuple):
    """Gold's states and the predicted ones after each user turn."""

    gold: list[dict[str, Slots]]
    pred: list[dict[str, Slots]]

    def dialogues(self, id: str, users: Sequence[str]) -> tuple[Dialogue, Dialogue]:
        """The two sides as state tracking takes them."""
        sides = []
        for states in self:
            turns = []
            for number, state in enumerate(states):
                frames = tuple(Frame(service, State(slot_values=dict(slots))) for service, slots in state.items())
                turns.append(Turn("USER", users[number] if number < len(users) else "", frames, number))
            sides.append(Dialogue(id, tuple(turns), tuple(dict.fromkeys(f.service for t in turns for f in t.frames))))
        return sides[0], sides[1]


class _Event(NamedTuple):
    turn: int
    order: float  # within the turn
    service: str
    slots: dict[str, tuple[str, ...] | None]  # None removes


def fold(
    trajectory: Trajectory, matched: MatchedCalls, near: NearestPairs, rule: MatchingRule, toolbox: Toolbox = NO_TOOLS
) -> FoldedStates:
    """The states of a trajectory and of its gold calls, turn by turn."""
    named = [gold.turn for gold in matched.gold if gold.turn is not None]
    turns = max(1, len(trajectory.users()), *(turn + 1 for turn in named), *(call.turn + 1 for call in matched.calls))
    golds, numbers = _gold_events(matched, near, turns - 1)
    preds = _pred_events(matched, near, rule, numbers, toolbox)
    return FoldedStates(_states(golds, turns), _states(preds, turns))


def _gold_events(matched: MatchedCalls, near: NearestPairs, last: int) -> tuple[list[_Event], dict[int, str]]:
    """Gold's calls as events, and the service of each gold call."""
    positions: list[tuple[int, float, int]] = []
    for index, gold in enumerate(matched.gold):
        number = near.pairs.get(index)
        turn = gold.turn if gold.turn is not None else last if number is None else matched.calls[number].turn
        positions.append((turn, float("inf") if number is None else number, index))
    events: list[_Event] = []
    services: dict[int, str] = {}
    count: dict[tuple[int, str], int] = {}
    for turn, order, index in sorted(positions):
        gold = matched.gold[index]
        position = count[turn, gold.tool] = count.get((turn, gold.tool), 0) + 1
        services[index] = service = gold.tool if position == 1 else f"{gold.tool}#{position}"
        number = near.pairs.get(index)
        arguments = None if number is None else matched.calls[number].call.arguments
        slots: dict[str, tuple[str, ...] | None] = {}
        for name, values in gold.arguments.items():
            if name in gold.optional and (arguments is None or arguments.get(name) is None):
                continue  # left out, as gold allows
            texts = tuple(dict.fromkeys(to_text(value) for value in values if value is not None and value != ""))
            slots[name] = texts or (None if None in values else ("",))
        events.append(_Event(turn, order, service, slots or {CALLED: ("yes",)}))
    return events, services


def _pred_events(
    matched: MatchedCalls, near: NearestPairs, rule: MatchingRule, services: dict[int, str], toolbox: Toolbox
) -> list[_Event]:
    by_call = {number: index for index, number in near.pairs.items()}
    taken: dict[tuple[int, str], set[str]] = {}
    for number, index in by_call.items():
        call = matched.calls[number]
        taken.setdefault((call.turn, call.call.tool), set()).add(services[index])
    events: list[_Event] = []
    for number, numbered in enumerate(matched.calls):
        tool, gold_index = numbered.call.tool, by_call.get(number)
        if gold_index is not None:
            service, gold = services[gold_index], matched.gold[gold_index]
        else:
            used = taken.setdefault((numbered.turn, tool), set())
            names = [tool, *(f"{tool}#{position}" for position in range(2, len(used) + 3))]
            service, gold = next(name for name in names if name not in used), None
            used.add(service)
        slots: dict[str, tuple[str, ...] | None] = {
            argument: None if value is None else (_write_value(value, argument, gold, rule, toolbox.tools.get(tool)),)
            for argument, value in numbered.call.arguments.items()
        }
        if numbered.call.broken is not None:
            slots = {"arguments": (numbered.call.broken,)}
        events.append(_Event(numbered.turn, number, service, slots or {CALLED: ("yes",)}))
    return events


def _write_value(value: Any, name: str, gold: Expected | None, rule: MatchingRule, tool: Tool | None) -> str:
    """A value as text: as gold writes it where the rule accepts it, and never so where it does not."""
    accepted = gold.arguments.get(name, ()) if gold is not None else ()
    if gold is not None and accepted and argument_error(value, gold, name, rule, tool) is None:
        return to_text(next((option for option in accepted if option not in (None, "")), value))
    written = to_text(normalize_text(value) if rule.values == "bfcl" else value)
    return msgspec.json.encode(value).decode() if written in map(to_text, accepted) else written  # "3" is not 3


def to_text(value: Any) -> str:
    """A value as the text of a slot: texts as they are, anything else as JSON with sorted keys."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def _states(events: list[_Event], turns: int) -> list[dict[str, Slots]]:
    state: dict[str, Slots] = {}
    ordered = sorted(events, key=lambda event: (event.turn, event.order))
    states: list[dict[str, Slots]] = []
    at = 0
    for turn in range(turns):
        while at < len(ordered) and ordered[at].turn == turn:
            service = state.setdefault(ordered[at].service, {})
            for name, value in ordered[at].slots.items():
                if value is None:
                    service.pop(name, None)
                else:
                    service[name] = value
            at += 1
        states.append({name: dict(slots) for name, slots in state.items() if slots})
    return states
