"""What a live run shows: which tool is fragile under other words, which argument is lost, and what to rename.

Every expected call of every finished conversation is looked up among the calls that were made: was its tool called, and
were its arguments right? Sets (the original, each rewording of the tools, each rewording of the users) are compared
with the original over the same tasks. Conversations that could not be finished are left out here, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from troth.agents.live.replay import Recording, Replayed, ToolWording
from troth.agents.matching import MISSING, argument_error, match_calls
from troth.agents.metrics import metric
from troth.agents.rules import find_rule
from troth.agents.states import pair_nearest
from troth.agents.tools import Toolbox
from troth.core.groups import Group
from troth.core.metric import Metric
from troth.core.parts import NONE, Parts
from troth.core.registry import Registry
from troth.core.result import Finding
from troth.core.trajectories import Expected
from troth.stats import paired
from troth.stats.estimates import Cell

ORIGINAL = "original"
RULE = find_rule("exact").with_choices(order="any", extra="allowed")
LEVEL = 0.05  # of p-values, after Holm's correction over everything that is looked at


class ReplayKey(NamedTuple):
    """Which conversation: the set (original, a rewording of tools or of users), the task and the trial."""

    set: str
    task: str
    trial: int


class CallOutcome(NamedTuple):
    """Outcome of one expected call in one conversation."""

    key: ReplayKey
    place: int  # of the call among the expected ones
    tool: str
    called: bool
    arguments: dict[str, str | None]  # of a called tool: why an expected argument is not right; None: it is

    @property
    def right(self) -> bool:
        return self.called and not any(self.arguments.values())


def outcomes(key: ReplayKey, replayed: Replayed, expected: Sequence[Expected]) -> Iterator[CallOutcome]:
    """Every expected call of a conversation, and the call that comes closest to it."""
    matched = match_calls(replayed.trajectory, expected, RULE, Toolbox())
    near = pair_nearest(matched, RULE)
    for index, gold in enumerate(matched.gold):
        number = near.pairs.get(index)
        arguments: dict[str, str | None] = {}
        if number is not None:
            arguments_sent = matched.calls[number].call.arguments
            arguments = {
                name: argument_error(arguments_sent.get(name, MISSING), gold, name, RULE) for name in gold.arguments
            }
            arguments |= {name: "unexpected" for name in near.wrong.get(index, ()) if name not in gold.arguments}
        yield CallOutcome(key, index, gold.tool, number is not None, arguments)


def reference(recording: Recording) -> tuple[Expected, ...]:
    """The calls that are expected of a task: gold's, or, where there is no gold, those that were recorded."""
    if recording.expected is not None:
        return recording.expected
    return tuple(Expected(call.tool, {name: (v,) for name, v in call.arguments.items()}) for call in recording.recorded)


class LiveSet(NamedTuple):
    """The conversations of one set, or the reason why one is missing, and what became of the expected calls.

    What metrics of live runs compute from.
    """

    outcomes: Sequence[CallOutcome]
    replays: Mapping[ReplayKey, Replayed | str]

    def of_calls(self, fraction: Callable[[CallOutcome], tuple[float, float]]) -> Parts:
        """Parts with one unit per expected call."""
        keys = [
            (outcome.key.task, NONE, f"trial {outcome.key.trial}, call {outcome.place}") for outcome in self.outcomes
        ]
        return Parts.from_fractions(map(fraction, self.outcomes), keys)

    def of_replays(self, fraction: Callable[[Replayed | str], tuple[float, float]]) -> Parts:
        """Parts with one unit per conversation."""
        keys = [(key.task, NONE, f"trial {key.trial}") for key in self.replays]
        return Parts.from_fractions(map(fraction, self.replays.values()), keys)


def _unrecorded(live_set: LiveSet) -> Parts:
    def fraction(replayed: Replayed | str) -> tuple[float, float]:
        if isinstance(replayed, str):
            return 0.0, 0.0
        return float(replayed.unrecorded), float(len(list(replayed.trajectory.calls())))

    return live_set.of_replays(fraction)


CALL_RECALL = metric("call_recall").derive(
    "call_recall", of="", about="share of expected calls that were made with right arguments", headline=True,
    compute=lambda live_set: live_set.of_calls(lambda call: (float(call.right), 1.0)),
)  # fmt: skip
TOOL_RECALL = Metric(
    "tool_recall", "Expected tools called", "share of expected calls whose tool was called", unit="call",
    headline=True, compute=lambda live_set: live_set.of_calls(lambda call: (float(call.called), 1.0)),
)  # fmt: skip
ARGUMENT_RECALL = Metric(
    "argument_recall", "Expected arguments right", "share of arguments that are right where their tool was called",
    unit="argument", headline=True, compute=lambda live_set: live_set.of_calls(
        lambda call: (float(sum(why is None for why in call.arguments.values())), float(len(call.arguments)))
    ),
)  # fmt: skip
METRICS: Registry[Metric] = Registry(
    "metric of live runs",
    "troth.agent_run_metrics",
    {
        one.name: one
        for one in (
            CALL_RECALL, TOOL_RECALL, ARGUMENT_RECALL,
            Metric("finished", "Conversations finished", "share of conversations that were replayed to their end",
                   unit="conversation",
                   compute=lambda live_set: live_set.of_replays(lambda item: (float(isinstance(item, Replayed)), 1.0))),
            Metric("unrecorded", "Calls without a recorded result",
                   "share of calls that the recording has no result for", better="lower", unit="call",
                   compute=_unrecorded),
        )
    },
)  # fmt: skip


def cells(live_set: LiveSet, recipe: Any) -> Iterator[Cell]:
    """The metrics of one set: over everything, by tool, and by argument."""
    metrics = [METRICS.load(name) for name in METRICS]
    for member in metrics:
        yield Cell(member, member.compute(live_set), recipe)
    for tool in sorted({call.tool for call in live_set.outcomes}):
        calls_of_tool = LiveSet([call for call in live_set.outcomes if call.tool == tool], {})
        for member in metrics:
            yield Cell(member, member.compute(calls_of_tool), recipe, Group("tool", tool))
        for argument in sorted({name for call in calls_of_tool.outcomes for name in call.arguments}):
            parts = ARGUMENT_RECALL.compute(_select_argument(calls_of_tool, argument))
            yield Cell(ARGUMENT_RECALL, parts, recipe, f"argument:{tool}.{argument}")


def _select_argument(live_set: LiveSet, argument: str) -> LiveSet:
    """The calls that have an argument, with nothing else in them."""
    calls = [call for call in live_set.outcomes if argument in call.arguments]
    return LiveSet([call._replace(arguments={argument: call.arguments[argument]}) for call in calls], {})


OF_TOOL, OF_ARGUMENT = (CALL_RECALL, TOOL_RECALL), (ARGUMENT_RECALL,)  # what findings compare


class RewordingEffect(Finding, frozen=True, tag="rewording"):
    """A tool, or an argument, under other words against the original ones."""

    reworded: Literal["tools", "users"]  # what was said in other words
    tool: str
    argument: str = ""  # "": the tool as a whole
    metric: str = CALL_RECALL.name  # what is compared; a tool's choice and its calls as a whole are two findings
    set: str = ""  # "": all rewordings together
    name: str = ""  # what the tool or the argument is called there, where it has another name
    n: int = 0  # expected calls, or arguments, under the original words
    original: float | None = None  # share that is right under the original words,
    share: float | None = None  # and under the others
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None  # of the randomisation test, corrected by Holm
    lost: int = 0  # arguments: how many were absent under the other words,
    wrong: int = 0  # and how many had another value

    @property
    def element(self) -> str:
        """The tool, or its argument, by its original name."""
        return f"{self.tool}.{self.argument}" if self.argument else self.tool

    @property
    def certain(self) -> bool:
        """Whether the difference is beyond noise."""
        return self.p is not None and self.p < LEVEL


def findings(
    seen: Sequence[CallOutcome], wordings: Sequence[ToolWording], users: Sequence[str], *, seed: int
) -> list[RewordingEffect]:
    """Tools and arguments under other words, those that lose most first; each rewording of the tools by itself, too."""
    effects: list[RewordingEffect] = []
    variants = [effect.name for effect in wordings if effect.name != ORIGINAL]
    for reworded, sets in (("tools", variants), ("users", list(users))):
        if sets:
            effects += _compare_sets(seen, reworded, sets, {}, seed)  # type: ignore[arg-type]
    for effect in wordings:
        if effect.name != ORIGINAL:
            renamed = _new_names(effect)
            effects += [effect for effect in _compare_sets(seen, "tools", [effect.name], renamed, seed) if effect.name]
    corrected = paired.holm([1.0 if effect.p is None else effect.p for effect in effects])
    judged = [
        effect if effect.p is None else msgspec.structs.replace(effect, p=float(p))
        for effect, p in zip(effects, corrected, strict=True)
    ]
    return sorted(
        judged, key=lambda effect: (effect.set != "", effect.difference if effect.difference is not None else 0.0)
    )


def _compare_sets(
    seen: Sequence[CallOutcome],
    reworded: Literal["tools", "users"],
    sets: Sequence[str],
    names: Mapping[tuple[str, str], str],
    seed: int,
) -> Iterator[RewordingEffect]:
    before = [one for one in seen if one.key.set == ORIGINAL]
    after = [one for one in seen if one.key.set in sets]
    tasks = {one.key.task for one in before} & {one.key.task for one in after}
    before, after = ([one for one in side if one.key.task in tasks] for side in (before, after))
    elements = sorted({(one.tool, name) for one in before for name in ("", *one.arguments)})
    measured = [(*element, one) for element in elements for one in (OF_ARGUMENT if element[1] else OF_TOOL)]
    for tool, argument, measure in measured:
        sides = [LiveSet([one for one in side if one.tool == tool], {}) for side in (before, after)]
        if argument:
            sides = [_select_argument(side, argument) for side in sides]
        first, second = (measure.compute(side) for side in sides)
        reasons = [one.arguments[argument] for one in sides[1].outcomes] if argument else []
        yield RewordingEffect(
            reworded, tool, argument, measure.name, sets[0] if names else "", names.get((tool, argument), ""),
            int(first.den.sum()), lost=reasons.count("missing_argument"),
            wrong=sum(why not in (None, "missing_argument") for why in reasons),
            **_difference(first, second, len(sets), seed),
        )  # fmt: skip


def _difference(before: Parts, after: Parts, sets: int, seed: int) -> dict[str, Any]:
    """The paired comparison; `sets`: how many rewordings are pooled, which then weigh as much as the original does."""
    tasks = sorted({*before.units.dialogues, *after.units.dialogues})
    (num_a, den_a), (num_b, den_b) = before.sums(tasks), after.sums(tasks)
    num_b, den_b = num_b / sets, den_b / sets
    if not den_a.sum() or not den_b.sum():
        return {}
    (comparison,) = paired.compare(
        num_a[:, None], den_a[:, None], num_b[:, None], den_b[:, None], seed=seed, resamples=1000
    )
    shares = {"original": float(num_a.sum() / den_a.sum()), "share": float(num_b.sum() / den_b.sum())}
    return shares | {
        "difference": comparison.difference,
        "low": comparison.low,
        "high": comparison.high,
        "p": comparison.p_randomization,
    }


def _new_names(wording: ToolWording) -> dict[tuple[str, str], str]:
    """Tool and top-level argument, by their original names, to what they are called in a wording; "" is the tool."""
    names: dict[tuple[str, str], str] = {}
    for new, function in wording.names.items():
        if new != function.name:
            names[function.name, ""] = new
        for after, before in function.arguments.items():
            if "." not in before and before != after:
                names[function.name, before] = after
    return names
