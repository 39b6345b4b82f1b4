"""Results that say that a call failed or was refused, and dates that only seem to have a source."""

from __future__ import annotations

from typing import Any

import pytest

from troth.agents.claims import action_claims
from troth.agents.mentions import find_codes, find_mentions
from troth.agents.provenance import check_values
from troth.agents.sources import Sources
from troth.agents.support import find_details
from troth.agents.tools import Toolbox
from troth.core.trajectories import Call, Message, Tool, Trajectory


def is_supported(answer: str, tool: str, result: str) -> bool:
    call = Message("assistant", calls=(Call(tool, {"amount": 800}),))
    trial = Trajectory("t", (Message("user", "hi"), call, Message("tool", result), Message("assistant", answer)))
    (claim,) = action_claims(trial, Toolbox({tool: Tool(tool)}))
    return claim.supported


@pytest.mark.parametrize(
    "result",
    ['{"status": "pending_approval"}', '{"status": "requires_approval"}', '{"status": "aborted"}',
     '{"status": "timeout"}', '{"status": "not_executed"}', '{"status": "FAILURE"}', '{"status": 400}',
     '{"status_code": 500}', '{"code": 409, "message": "limit"}', '{"errors": ["limit"]}', '{"executed": false}',
     '{"transferred": false}', '{"success": "false"}', '{"data": {"error": "limit"}}', '[{"error": "limit"}]',
     '{"response": {"success": false}}', "Unable to transfer: limit", "Permission denied", "404 Not Found", "HTTP 500",
     "Transfer declined.", "Sorry, the transfer was rejected", "Transfer could not be executed: limit exceeded"],
)  # fmt: skip
def test_a_failed_or_refused_call_does_not_support_a_claim(result: str) -> None:
    assert not is_supported("I have transferred the money.", "transfer_money", result)


@pytest.mark.parametrize(
    "result",
    ['{"status": "executed"}', '{"status": "queued"}', '{"error": null}', '{"errors": [], "id": 1}', '{"status": 200}',
     '{"code": 0, "message": "ok"}', '{"refunded": false}', '{"items": {"error": 1}}', "ok", "No errors.", "404",
     "Failed transfers: 0. Transfer ok", "Errors: none", "Transfer 404 was sent."],
)  # fmt: skip
def test_a_successful_call_supports_a_claim(result: str) -> None:
    assert is_supported("I have transferred the money.", "transfer_money", result)


def test_what_waits_for_approval_has_been_requested() -> None:
    assert is_supported("I've submitted the request.", "submit_leave", '{"status": "pending_approval"}')


UPGRADED = '{"id": "Z1", "cabin": "basic_economy", "status": "pending"}'


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("Upgrade done: you're now in economy.", [False]),
        ("You are now in Economy!", [False]),
        ("Your cabin is now economy.", [False]),
        ("Upgrade done!", [True]),
        ("Your cabin is now basic economy.", [True]),
        ("You have been upgraded, and your cabin is now economy.", [True, False]),
        ("The status is now confirmed.", [False]),
        ("The status is now pending.", [True]),
        ("Su cabina es ahora economy.", [False]),
        ("Your seat is now by the window.", []),
        ("Are you now in economy?", []),
        ("Once you're now in economy, you may change it.", []),
        ("Well done!", []),
    ],
)
def test_what_holds_now_is_compared_with_the_result(answer: str, supported: list[bool]) -> None:
    first = Message("assistant", calls=(Call("get_booking", {"id": "Z1"}),))
    upgrade = Message("assistant", calls=(Call("update_booking", {"id": "Z1", "cabin": "economy"}),))
    results = [Message("tool", text) for text in ('{"id": "Z1", "status": "confirmed"}', UPGRADED)]
    trial = Trajectory("t", (first, results[0], upgrade, results[1], Message("assistant", answer)))
    claims = list(action_claims(trial, Toolbox({"update_booking": Tool("update_booking")})))
    assert [claim.supported for claim in claims] == supported
    assert all(claim.supported or "the result has" in claim.reason for claim in claims)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("It runs 13–17 July.", ["07-13", "07-17"]),
        ("from 6 to 8 June 2026", ["06-06", "06-08"]),
        ("vom 13.–17. Juli", ["07-13", "07-17"]),
        ("Del lunes 13 al viernes 17 de julio.", ["07-13", "07-17"]),
        ("am 17.07. um 9 Uhr", ["07-17"]),
        ("am 17.07.2026.", ["07-17"]),
        ("It costs 17.07.", []),
        ("version 1.5.10", []),
    ],
)
def test_days_before_their_month(text: str, dates: list[str]) -> None:
    mentions = find_mentions(text)
    assert [mention.value for mention in mentions if mention.kind == "date"] == dates
    if dates:
        assert not [mention for mention in mentions if mention.kind == "number"]
        assert not find_codes(text)


@pytest.mark.parametrize(
    ("answer", "unsupported"),
    [
        ("It arrives on Monday, July 13.", []),
        ("It arrives on Friday, July 17.", ["July 17"]),
        ("It arrives on July 17.", ["July 17"]),
        ("The next one is next Friday, July 17.", []),
    ],
)
def test_a_weekday_beside_a_date_is_no_source_of_it(answer: str, unsupported: list[str]) -> None:
    trial = Trajectory("t", (Message("tool", '{"eta": "2026-07-13"}'), Message("assistant", answer)))
    assert [detail.text for detail in find_details(trial, Sources(trial)) if not detail.supported] == unsupported


@pytest.mark.parametrize(
    ("said", "arguments", "lacking"),
    [
        ("answer me today", {"day": "2026-08-20"}, ["day"]),
        ("for 3 nights", {"start": "2026-08-20", "end": "2026-08-23"}, ["start", "end"]),
        ("the day after tomorrow", {"day": "2026-07-03"}, []),
        ("from tomorrow for 3 nights", {"start": "2026-07-02", "end": "2026-07-05"}, []),
        ("an hour at 10 am", {"start": "10:00", "end": "11:00"}, []),
        ("an hour", {"start": "10:00", "end": "11:00"}, ["start", "end"]),
    ],
)
def test_a_call_is_no_source_of_its_own_dates(said: str, arguments: dict[str, Any], lacking: list[str]) -> None:
    call = Message("assistant", calls=(Call("book", arguments),))
    trial = Trajectory("t", (Message("system", "Today is 2026-07-01."), Message("user", said), call))
    (made,) = trial.calls()
    assert [value.argument for value in check_values(made, Sources(trial), None)[1]] == lacking
