"""What answers rest on: claims of done actions, numbers, times and names; and where arguments come from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from troth.agents.claims import action_claims
from troth.agents.forbidden import schema_violation
from troth.agents.mentions import find_mentions
from troth.agents.provenance import check_values
from troth.agents.sources import Sources
from troth.agents.support import find_details
from troth.agents.tools import Toolbox
from troth.core.trajectories import Call, Message, Tool, Trajectory
from troth.readers import trajectories
from troth.readers.tools import load

TOOLS = Toolbox({name: Tool(name) for name in ("book_room", "cancel_booking", "get_booking", "send_mail")})


def trajectory(*messages: Message) -> Trajectory:
    return Trajectory("t", messages)


def done(tool: str, result: str = "{}", **arguments: Any) -> tuple[Message, Message]:
    return Message("assistant", calls=(Call(tool, arguments),)), Message("tool", result)


def claims(answer: str, *before: Message) -> list[tuple[str, bool]]:
    one = trajectory(Message("user", "hi"), *before, Message("assistant", answer))
    return [(claim.verb, claim.supported) for claim in action_claims(one, TOOLS)]


BOOKED = done("book_room", '{"booking_id": "BK1001"}', room="R12")


@pytest.mark.parametrize(
    "answer",
    ["Your room has been booked.", "Your room has been successfully booked!", "I have booked your room.",
     "I've booked it.", "Your room is now booked.", "I just booked it.", "Your room is booked.", "Great, it's booked!",
     "Your room for May 24th has been booked.", "Thank you! You're all booked for Friday."],
)  # fmt: skip
def test_a_claim_takes_a_call_that_succeeded(answer: str) -> None:
    assert claims(answer) == [("booked", False)]
    assert claims(answer, *BOOKED) == [("booked", True)]
    assert claims(answer, *done("book_room", "Error: no such room", room="R12")) == [("booked", False)]
    assert claims(answer, *done("get_booking", "{}", id="BK1")) == [("booked", False)]
    assert claims(answer, *done("cancel_booking", "{}", id="BK1")) == [("booked", False)]


@pytest.mark.parametrize(
    "answer",
    ["Once your room has been booked, I will write.", "Has your room been booked?", "Your room will be booked.",
     "It has not been booked.", "I haven't booked it.", "Shall I go on?", "If it has been cancelled, call us.", "",
     "It may have been booked.", "Please ensure that your room is booked.", "Rooms are booked by phone.",
     "Your room is booked in your name by the hotel."],
)  # fmt: skip
def test_conditions_questions_plans_and_denials_are_no_claims(answer: str) -> None:
    assert claims(answer) == []


def test_a_claim_that_names_an_id_takes_a_call_with_it() -> None:
    assert claims("BK1001 has been booked.", *BOOKED) == [("booked", True)], "the result has the id"
    assert claims("BK2002 has been booked.", *BOOKED) == [("booked", False)]
    both = "I have cancelled BK2002 and your room is now booked."
    assert claims(both, *BOOKED) == [("cancelled", False), ("booked", True)]


def test_verbs_of_any_action_and_reported_states() -> None:
    assert claims("Your payment has been processed.") == [("processed", False)]
    assert claims("Your payment has been processed.", *BOOKED) == [("processed", True)]
    status = done("get_booking", '{"status": "cancelled"}', id="BK1")
    assert claims("It has been canceled.", *status) == [("canceled", True)], "the result says so"
    assert claims("I have cancelled it.", *status) == [("cancelled", False)], "which is not what the assistant did"


def test_a_verb_without_a_tool_of_its_family_is_supported_by_any_writing_call() -> None:
    assert claims("It has been exchanged.") == [("exchanged", False)]
    assert claims("It has been exchanged.", *BOOKED) == [("exchanged", True)]


@pytest.mark.shared
def test_claims_of_real_conversations(shared: Path) -> None:
    """Results contradict 27 claims, mostly of a changed cabin; without the writing calls, nearly all are found."""
    folder = shared / "data/agents/tau_airline"
    tools = Toolbox({tool.name: tool for tool in load(str(folder / "tools.json"))})
    made: Counter[bool] = Counter()
    left: Counter[bool] = Counter()
    for one in trajectories.read(str(folder / "gpt-4o-airline.json")):
        made.update(claim.supported for claim in action_claims(one, tools))
        writing = {i for n in one.calls() if tools.writes(n.call.tool) for i in (n.message, n.result)}
        messages = (
            Message(m.role, "" if m.role == "tool" else m.text) if i in writing else m
            for i, m in enumerate(one.messages)
        )
        left.update(claim.supported for claim in action_claims(trajectory(*messages), tools))
    assert made == {True: 156, False: 27}
    assert left == {False: 178, True: 5}


# -- numbers, times and names ------------------------------------------------------------------------------------------


def test_tokens() -> None:
    text = "On May 20th, 2024 at 7:00 PM, 19:00:00, 07:00 or 7pm; 11:30; $1,250.00, 3.5%, HAT136, 2024-05-21, 5/20."
    assert [(token.kind, token.value) for token in find_mentions(text)] == [
        ("date", "05-20"), ("time", "07:00p"), ("time", "07:00p"), ("time", "07:00a"), ("time", "07:00p"),
        ("time", "11:30"), ("number", "1250"), ("number", "3.5"), ("date", "05-21"), ("date", "05-20"),
    ]  # fmt: skip


def unsupported(answer: str, *before: Message, context: tuple[str, ...] = ("tools", "user", "system")) -> list[str]:
    one = trajectory(*before, Message("assistant", answer))
    return [detail.text for detail in find_details(one, Sources(one), context) if not detail.supported]


RESULT = Message("tool", '{"flight": "HAT136", "price": 152, "departs": "19:00:00", "date": "2024-05-20", "to": "Ulm"}')


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("HAT136 leaves on May 20 at 7:00 PM for $152.", []),
        ("HAT137 leaves on May 21 at 7:00 AM for $153.", ["May 21", "7:00 AM", "$153", "HAT137"]),
        ("It flies to Ulm, not to Bonn.", ["Bonn"]),
        ("Two of them cost $304.", []),  # a multiple of a number that was seen
        ("Two of them cost $303.", ["$303"]),
        ("Two at $152 cost $304.", []),  # calculated from a number that is supported
        ("1. One\n2. Two\n11. Three", []),  # list marks
        ("It has 3 seats left.", ["3"]),
    ],
)
def test_details_of_answers(answer: str, expected: list[str]) -> None:
    assert unsupported(answer, RESULT) == expected


def test_context_chooses_what_answers_may_rest_on() -> None:
    said = Message("user", "My budget is $700.")
    assert unsupported("You have $700.", said) == []
    assert unsupported("You have $700.", said, context=("tools",)) == ["$700"]
    assert unsupported("You have $700.", Message("assistant", "You have $700.")) == ["$700", "$700"]


def test_parts_of_ids_and_last_digits() -> None:
    card = Message("tool", '{"id": "credit_card_4421486"}')
    assert unsupported("I use card 4421486, ending in 1486.", card) == []
    assert unsupported("I use the card ending in 1487.", card) == ["1487"]


# -- where arguments come from -----------------------------------------------------------------------------------------

SCHEMA = {"properties": {"cabin": {"enum": ["economy"]}, "who": {"properties": {"born": {"type": "string"}}}}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"name": "Mia", "date": "2024-05-20", "sum": 250, "bags": 3}, []),
        ({"name": "Eva"}, [("name", "Eva")]),
        ({"date": "2024-05-21"}, [("date", "2024-05-21")]),
        ({"sum": 251, "cabin": "economy", "sure": True}, [("sum", "251")]),  # choices and truth values are not checked
        ({"who": {"born": "1990-01-01"}, "cards": ["visa_1"]}, [("who.born", "1990-01-01"), ("cards.0", "visa_1")]),
        ({"note": "a text of more than six words is the assistant's own"}, []),
        ({"card": "visa_7788"}, [("card", "visa_7788")]),  # the assistant's own words are no source
    ],
)
def test_provenance(arguments: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    call = Message("assistant", calls=(Call("book", arguments),))
    said = Message("user", "I am Mia, on May 20, and pay 250.")
    one = trajectory(said, Message("assistant", "With visa_7788?"), call, Message("tool", "Eva visa_1 251"))
    (made,) = one.calls()
    tool = Tool("book", parameters=SCHEMA)
    checked, lacking = check_values(made, Sources(one), tool)
    assert [tuple(value) for value in lacking] == expected
    assert checked >= len(expected)


@pytest.mark.parametrize(
    ("order", "lacking"),
    [("LC-46003", 0), ("LC46003", 0), ("#46003", 0), ("46003", 0), ("LC-46004", 1), ("LC-4600", 1)],
)
def test_a_number_that_was_said_may_get_a_prefix(order: str, lacking: int) -> None:
    call = Message("assistant", calls=(Call("find_order", {"order_id": order}),))
    one = trajectory(Message("user", "Where is my order 46003?"), call)
    (made,) = one.calls()
    assert len(check_values(made, Sources(one), None)[1]) == lacking


# -- what tools do not allow -------------------------------------------------------------------------------------------

LIMITED = Toolbox({
    "f": Tool("f", parameters={
        "type": "dict", "properties": {"x": {"type": "float"}, "y": {"type": "STRING", "nullable": True},
                                       "z": {"type": "any"}, "p": {"$ref": "#/$defs/p"}},
        "required": ["x"], "additionalProperties": False,
        "$defs": {"p": {"type": "tuple", "items": {"type": "integer"}}},
    }),
    "chosen": Tool("chosen", parameters={"properties": {"x": {"enum": ["a"]}}}),
    "remote": Tool("remote", parameters={"$ref": "http://localhost:9/never-fetched.json"}),
    "endless": Tool("endless", parameters={"$ref": "#"}),
    "no_schema": Tool("no_schema", parameters={"type": "object", "properties": 7}),
})  # fmt: skip


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("f", {"x": 1, "y": None, "z": [1], "p": [1]}), None),
        (Call("f", {}), "'x' is a required property"),
        (Call("f", {"x": "one"}), "x: 'one' is not of type 'number'"),
        (Call("f", {"x": 1, "p": ["a"]}), "p.0: 'a' is not of type 'integer'"),
        (Call("f", {"x": 1, "q": 1}), "Additional properties are not allowed"),
        (Call("chosen", {"x": "b"}), "x: 'b' is not one of ['a']"),
        (Call("remote", {"x": "b"}), None),
        (Call("endless", {"x": "b"}), None),
        (Call("g", {}), "there is no tool 'g'"),
        (Call("f", {}, broken="{"), "the arguments are not a JSON object"),
        (Call("no_schema", {"x": 1}), None),
    ],
)
def test_calls_that_the_definitions_forbid(call: Call, reason: str | None) -> None:
    found = schema_violation(call, LIMITED)
    assert found is None if reason is None else found is not None and reason in found


def test_without_definitions_nothing_but_broken_arguments_is_forbidden() -> None:
    assert schema_violation(Call("f", {"x": 1}), Toolbox()) is None
    assert schema_violation(Call("f", {}, broken="{"), Toolbox()) is not None
