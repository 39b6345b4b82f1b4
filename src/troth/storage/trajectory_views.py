"""What a run keeps of each trajectory for people to look at: messages, calls, states, gold beside them, claims."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

CallVerdict = Literal["right", "wrong", "extra", "uncounted", "unknown"]
CALL_VERDICTS: dict[CallVerdict, str] = {
    "right": "gold expects this call",
    "wrong": "gold expects a call of this tool here, with other arguments",
    "extra": "gold expects no such call",
    "uncounted": "the matching rule does not count this call",
    "unknown": "there is no gold",
}


class ClaimView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of an answer that must rest on something: a number, a time, a name, or the claim of a done action."""

    start: int  # in the message's text
    end: int
    kind: str  # "number", "time", "name" or "action"
    supported: bool
    source: int | None = None  # index of the message that supports it; None: none does, or it is calculated


class CallView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call, what came of it, and what is found about it."""

    tool: str
    arguments: dict[str, Any] = {}
    broken: str | None = None  # the arguments as text, where they are not a JSON object
    result: int | None = None  # index of the message with its result
    writes: bool = False
    failed: bool = False
    verdict: CallVerdict = "unknown"
    gold: int | None = None  # the gold call that it matches, or that it stands for
    wrong: tuple[str, ...] = ()  # names of its arguments that are not gold's
    forbidden: str | None = None  # why the tools' definitions do not allow it
    repeats: bool = False
    unsourced: dict[str, str] = {}  # argument to value, where nobody said the value and no result held it


class MessageView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    index: int  # into the trajectory's messages
    role: str
    text: str = ""
    turn: int | None = None  # the user turn that it begins or follows; None: before the first
    tool: str = ""  # of a result
    error: bool = False  # of a result
    calls: tuple[CallView, ...] = ()
    claims: tuple[ClaimView, ...] = ()


class GoldCallView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A call that gold expects, and the one that was made in its place."""

    tool: str
    arguments: dict[str, tuple[Any, ...]] = {}  # accepted values
    turn: int | None = None
    message: int | None = None  # of the call that matches it or stands for it; None: it was not made
    matched: bool = False


class CallStates(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The states after one user turn: for each tool, the values of its arguments."""

    turn: int
    pred: dict[str, dict[str, tuple[str, ...]]] = {}
    gold: dict[str, dict[str, tuple[str, ...]]] | None = None
    right: bool | None = None  # None: there is no gold


class PartingView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where this trial parts from another trial of its task: the first call that changes something and differs."""

    trial: int  # the other one
    message: int | None = None  # of this trial's call; None: this trial makes no further one
    other: int | None = None  # message of the other trial's call
    turn: int | None = None  # of this trial's call; where it makes no further one, of the other's


class TrajectoryView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One trial of one task by one system."""

    system: str
    id: str
    task: str
    trial: int
    messages: tuple[MessageView, ...] = ()
    gold: tuple[GoldCallView, ...] | None = None  # None: there is no gold
    states: tuple[CallStates, ...] = ()
    solved: float | None = None
    reward: float | None = None
    error: str | None = None  # why the calls are not gold's, by the matching rule
    first_wrong_turn: int | None = None  # the first user turn after which the state is wrong,
    first_wrong_message: int | None = None  # and the message with the call that made it so; None: a call is missing
    partings: tuple[PartingView, ...] = ()
    usage: dict[str, float] = {}  # input_tokens, output_tokens, seconds, cost; what is known of them
