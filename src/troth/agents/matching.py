"""Calls matched to the calls that gold expects, by a named rule.

Under `order="any"` each gold call takes the first unused call that fits, as BFCL's checker does; under `order="kept"`
the longest run of calls in gold's order is taken. Gold calls that name a turn are matched within that turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from troth.agents import bfcl
from troth.agents.rules import MatchingRule
from troth.agents.tools import Toolbox, has_failed
from troth.core.trajectories import Call, Expected, LocatedCall, Message, Tool, Trajectory
from troth.text.normalize import compose

MISSING = object()


class MatchedCalls(NamedTuple):
    """The calls and gold calls that count under a rule, which of them belong together, and the verdict."""

    calls: list[LocatedCall]
    gold: list[Expected]
    pairs: dict[int, int]  # gold call to call, by their places in the two lists
    error: str | None  # why the whole is wrong; None: it is right

    @property
    def valid(self) -> bool:
        return self.error is None

    @property
    def extra(self) -> list[int]:
        """Calls that match no gold call."""
        return sorted(set(range(len(self.calls))) - set(self.pairs.values()))

    @property
    def missing(self) -> list[int]:
        """Gold calls that no call matches."""
        return [index for index in range(len(self.gold)) if index not in self.pairs]


def match_calls(
    trajectory: Trajectory,
    gold: Sequence[Expected],
    rule: MatchingRule,
    toolbox: Toolbox,
    composed: Trajectory | None = None,
) -> MatchedCalls:
    """Matches the calls of a trajectory with the gold calls.

    Values are composed (NFC), unless they are compared as the checkers of BFCL or τ-bench do. `composed`: the composed
    trajectory, where the caller has it.
    """
    if rule.values == "json":
        trajectory = compose_trajectory(trajectory) if composed is None else composed
        gold = [compose_expected(expected) for expected in gold]
    calls = [numbered for numbered in trajectory.calls() if _is_counted(trajectory, numbered, rule, toolbox)]
    wanted = [numbered for numbered in gold if rule.calls == "all" or toolbox.writes(numbered.tool)]

    def fits(index: int, number: int) -> bool:
        expected, numbered = wanted[index], calls[number]
        if expected.tool != numbered.call.tool or expected.turn not in (None, numbered.turn):
            return False
        return call_error(numbered.call, expected, rule, toolbox) is None

    pair = _pair_in_order if rule.order == "kept" else _pair_first_fit
    pairs = pair(len(wanted), len(calls), fits)
    return MatchedCalls(calls, wanted, pairs, _verdict(trajectory, calls, wanted, pairs, rule, toolbox))


def call_error(call: Call, expected: Expected, rule: MatchingRule, toolbox: Toolbox) -> str | None:
    """Why a call is not the expected one; None if it is."""
    if call.broken is not None:
        return "broken_arguments"
    if rule.lists == "any":
        call, expected = msgspec.structs.replace(call, arguments=sort_lists(call.arguments)), _sort_expected(expected)
    tool = toolbox.tools.get(expected.tool)
    if rule.values == "bfcl":
        return bfcl.error(call, expected, tool, checked=rule.schema == "checked")
    if call.tool != expected.tool:
        return "wrong_tool"
    schema = tool.parameters if tool is not None and rule.schema == "checked" else {}
    properties = schema.get("properties")
    if any(name not in call.arguments for name in schema.get("required") or ()):
        return "missing_argument"
    if isinstance(properties, dict) and any(name not in properties for name in call.arguments):
        return "unexpected_argument"
    return _arguments_error(call.arguments, expected, rule)


def _arguments_error(arguments: dict[str, Any], expected: Expected, rule: MatchingRule) -> str | None:
    present = {name: value for name, value in arguments.items() if value is not None}  # null is absent
    if not expected.open and any(name not in expected.arguments for name in present):
        return "unexpected_argument"
    for name in expected.arguments:
        wrong = argument_error(present.get(name, MISSING), expected, name, rule)
        if wrong is not None:
            return wrong
    return None


def argument_error(
    value: Any, expected: Expected, name: str, rule: MatchingRule, tool: Tool | None = None
) -> str | None:
    """Why the value of one argument is not accepted; None if it is. `MISSING` stands for an absent argument."""
    if rule.lists == "any" and value is not MISSING:
        value, expected = sort_lists(value), _sort_expected(expected)
    accepted = expected.arguments[name]
    if value is MISSING or value is None:
        return None if name in expected.optional or None in accepted else "missing_argument"
    if rule.values == "bfcl":
        properties = None if tool is None else tool.parameters.get("properties")
        detail = properties.get(name) if isinstance(properties, dict) else None
        return bfcl.value_error(value, bfcl.accepted_values(expected, name), detail)
    printed = rule.values == "printed"
    return None if any(_is_equal(value, option, printed, expected.nested) for option in accepted) else "wrong_value"


def sort_lists(value: Any) -> Any:
    """A value with everything in its lists sorted, so that lists in another order are equal."""
    if isinstance(value, dict):
        return {key: sort_lists(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    return sorted(
        map(sort_lists, value), key=lambda item: msgspec.json.encode(bfcl.normalize_text(item), order="sorted")
    )


def _sort_expected(expected: Expected) -> Expected:
    arguments = {name: tuple(map(sort_lists, values)) for name, values in expected.arguments.items()}
    return msgspec.structs.replace(expected, arguments=arguments)


def _is_equal(value: Any, gold: Any, printed: bool, nested: bool) -> bool:
    """Whether two JSON values are the same. `nested`: inside gold's objects stand lists of accepted values."""
    if isinstance(value, dict) and isinstance(gold, dict):
        if nested:
            known = all(
                any(_is_equal(v, option, printed, nested) for option in gold.get(key, ())) for key, v in value.items()
            )
            return known and all(key in value or "" in accepted for key, accepted in gold.items())
        return value.keys() == gold.keys() and all(_is_equal(v, gold[key], printed, nested) for key, v in value.items())
    if isinstance(value, list) and isinstance(gold, list):
        pairs = zip(value, gold, strict=False)
        return len(value) == len(gold) and all(_is_equal(v, option, printed, nested) for v, option in pairs)
    if printed or isinstance(value, bool) or isinstance(gold, bool):
        return type(value) is type(gold) and bool(value == gold)
    return bool(value == gold)


def compose_trajectory(trajectory: Trajectory) -> Trajectory:
    """The trajectory with composed texts and values of arguments; names of tools and arguments are as they were."""
    messages = tuple(map(_compose_message, trajectory.messages))
    return msgspec.structs.replace(trajectory, messages=messages, outputs=compose(trajectory.outputs))


def _compose_message(message: Message) -> Message:
    if message.text.isascii() and not message.calls:
        return message
    calls = tuple(msgspec.structs.replace(call, arguments=compose(call.arguments)) for call in message.calls)
    return msgspec.structs.replace(message, text=compose(message.text), calls=calls)


def compose_expected(expected: Expected) -> Expected:
    """The expected call with composed values."""
    return msgspec.structs.replace(expected, arguments=compose(expected.arguments))


def _is_counted(trajectory: Trajectory, numbered: LocatedCall, rule: MatchingRule, toolbox: Toolbox) -> bool:
    if rule.calls == "writing" and not toolbox.writes(numbered.call.tool):
        return False
    return rule.failed == "counted" or not has_failed(trajectory, numbered)


def _verdict(
    trajectory: Trajectory,
    calls: Sequence[LocatedCall],
    gold: Sequence[Expected],
    pairs: dict[int, int],
    rule: MatchingRule,
    toolbox: Toolbox,
) -> str | None:
    wrong = _bfcl_error(calls, gold, pairs, rule, toolbox) if rule.values == "bfcl" else None
    if wrong is None and len(pairs) < len(gold):
        wrong = "missing_call"
    if wrong is None and rule.extra == "wrong" and len(calls) > len(pairs):
        wrong = "extra_call"
    if wrong is None and rule.outputs == "needed" and not says_outputs(trajectory):
        wrong = "missing_output"
    return wrong


def _bfcl_error(
    calls: Sequence[LocatedCall], gold: Sequence[Expected], pairs: dict[int, int], rule: MatchingRule, toolbox: Toolbox
) -> str | None:
    """The error type as the public checker of BFCL names it, which depends on how many calls and tools there are."""
    if len(gold) > 1:
        checker = "parallel_function_checker_no_order"
    else:
        checker = f"{'multiple' if len(toolbox.tools) > 1 else 'simple'}_function_checker"
    if len(calls) != len(gold) and rule.extra == "wrong":
        return f"{checker}:wrong_count"
    if len(pairs) == len(gold):
        return None
    if len(gold) == 1 and len(calls) == 1:
        return call_error(calls[0].call, gold[0], rule, toolbox)
    return f"{checker}:cannot_find_match"


def says_outputs(trajectory: Trajectory) -> bool:
    """Whether every text that gold expects stands in some answer; τ-bench ignores case and the commas of the answer."""
    answers = [m.text.lower().replace(",", "") for m in trajectory.messages if m.role == "assistant" and m.text]
    return all(any(output.lower() in answer for answer in answers) for output in trajectory.outputs)


def _pair_first_fit(golds: int, calls: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    unused = list(range(calls))
    pairs: dict[int, int] = {}
    for index in range(golds):
        number = next((number for number in unused if fits(index, number)), None)
        if number is not None:
            unused.remove(number)
            pairs[index] = number
    return pairs


def _pair_in_order(golds: int, calls: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """The longest common subsequence, earliest calls first."""
    equal = [[fits(index, number) for number in range(calls)] for index in range(golds)]
    longest = [[0] * (calls + 1) for _ in range(golds + 1)]
    for index in reversed(range(golds)):
        for number in reversed(range(calls)):
            skipped = max(longest[index + 1][number], longest[index][number + 1])
            longest[index][number] = (
                max(skipped, 1 + longest[index + 1][number + 1]) if equal[index][number] else skipped
            )
    pairs: dict[int, int] = {}
    index = number = 0
    while index < golds and number < calls:
        if equal[index][number] and longest[index][number] == 1 + longest[index + 1][number + 1]:
            pairs[index] = number
            index, number = index + 1, number + 1
        elif longest[index + 1][number] >= longest[index][number + 1]:
            index += 1
        else:
            number += 1
    return pairs
