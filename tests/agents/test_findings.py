"""Every value that is not perfect has its findings, with their place: in the result, in files and over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.agents.labelled import read_half, trajectory
from troth import demo
from troth.agents.corpus import AgentCorpus, ReadTrials, join, load
from troth.agents.findings import findings_behind
from troth.agents.metrics import METRICS
from troth.agents.score import AgentSettings, score_corpus
from troth.core.trajectories import Call, Message, Tool, Trajectory
from troth.serve.tasks import AgentRequest, score_calls

FOUND_DIRECTLY = (
    "provenance", "claims_without_calls", "unsupported_numbers", "unsupported_times", "unsupported_names",
    "grounded_answers", "failed_calls", "forbidden_calls", "repeated_calls", "wavering_tasks",
)  # fmt: skip
COSTS = [name for name in METRICS.by_name() if name.endswith("_per_solved")]


def corpora() -> dict[str, AgentCorpus]:
    tools = demo.path("agents/tools.json")
    labelled = [trajectory(record) for record in read_half(development=True)]
    names = ("hasty", "sturdy")
    return {
        **{name: load([(name, demo.path(f"agents/{name}.jsonl"))], [], tools, None) for name in names},
        "labelled": join({"labelled": ReadTrials(labelled, "chat", "labelled")}),
    }


@pytest.mark.parametrize("name", ["hasty", "sturdy", "labelled"])
def test_a_value_that_is_not_perfect_has_findings(name: str) -> None:
    every = ",".join(["pass^1", "pass^2", *(one for one in METRICS.by_name() if not one.startswith("pass^"))])
    result = score_corpus(corpora()[name], AgentSettings(metrics=every, resamples=1))
    known = [score for score in result.scores if score.value is not None and score.metric not in COSTS]
    assert len(known) > 4
    for score in known:
        is_perfect = score.value == (1 if score.better == "higher" else 0)
        behind = findings_behind(result.findings, score.metric, score.system)
        assert is_perfect or behind, score.metric
        if score.metric in FOUND_DIRECTLY:
            assert is_perfect == (not behind), score.metric


def test_findings_have_their_place_and_reason() -> None:
    corpus = corpora()["labelled"]
    trials = {trial.id: trial for trial in corpus.systems[0].trials}
    result = score_corpus(corpus, AgentSettings(resamples=1))
    assert {"claim", "number", "time", "name", "value"} <= {finding.kind for finding in result.findings}
    for finding in result.findings:
        assert finding.reason
        if finding.kind in ("claim", "number", "time", "name"):
            text = trials[finding.conversation].messages[finding.message].text
            said = text[finding.start : finding.end]
            assert said in finding.text if finding.kind == "claim" else said == finding.text


def claim_of(*messages: Message, **fields: Any) -> Any:
    corpus = join({"x": ReadTrials([Trajectory("t", messages, **fields)], "chat", "x")})
    return [f for f in score_corpus(corpus, AgentSettings(resamples=1)).findings if f.kind == "claim"]


def test_a_contradicted_claim_names_the_result_that_contradicts_it() -> None:
    (finding,) = claim_of(
        Message("user", "Upgrade JG7FMM to economy."),
        Message("assistant", calls=(Call("update_cabin", {"id": "JG7FMM", "cabin": "economy"}),)),
        Message("tool", '{"id": "JG7FMM", "cabin": "basic_economy"}'),
        Message("assistant", "You have been upgraded to economy."),
    )
    assert (finding.message, finding.evidence, finding.reason) == (3, 2, "the result has cabin = basic_economy")


def test_the_reason_says_what_was_claimed_and_which_calls_there_were() -> None:
    said = "I have cancelled BK7100 and your room is booked."
    messages = (
        Message("user", "Cancel BK7100 and book a room."),
        Message("assistant", calls=(Call("book_room", {"hotel": "HT1200"}),)),
        Message("tool", '{"status": "booked"}'),
        Message("assistant", said),
    )
    (unknown,) = claim_of(*messages)
    calls = "(calls that change something: book_room)"
    assert unknown.reason == f"'cancelled' is said of BK7100, which no successful call has {calls}"
    (known,) = claim_of(*messages, tools=(Tool("book_room"), Tool("cancel_booking")))
    assert known.reason == f"no call did what 'cancelled' says {calls}"
    (alone,) = claim_of(Message("user", "Cancel BK7100."), Message("assistant", said[:23]))
    assert alone.reason == "no call did what 'cancelled' says (no call before it changes something)"


@pytest.mark.parametrize("id", ["LC-46003", "46003", "ORD-2025-00017", "ch_3Nxyz", "#W2378156", "555-0142", "web-03"])
def test_the_object_of_a_claim_is_compared(id: str) -> None:
    def claims(called: str) -> Any:
        return claim_of(
            Message("user", f"Cancel {id}."),
            Message("assistant", calls=(Call("cancel_order", {"id": called}),)),
            Message("tool", '{"status": "cancelled"}'),
            Message("assistant", f"I have cancelled {id} for you."),
        )

    assert claims(id) == []
    other = id[:-1] + ("5" if id[-1].isdigit() else "w")
    (finding,) = claims(other)
    assert f"'cancelled' is said of {id.lstrip('#')}, " in finding.reason


@pytest.mark.parametrize(
    "said", ["I went ahead and cancelled your order.", "I updated your address.", "I have reset your password.",
             "Order placed!", "Your refund is done."],
)  # fmt: skip
def test_a_claim_without_any_call_is_found(said: str) -> None:
    (finding,) = claim_of(Message("user", "Please help me with my order."), Message("assistant", said))
    assert finding.text in said
    assert finding.reason.endswith("says (no call before it changes something)")


def test_the_second_verb_of_a_sentence_needs_a_call_of_its_own() -> None:
    def claims(*calls: Call) -> Any:
        return claim_of(
            Message("user", "Cancel LC-46003."),
            Message("assistant", calls=calls),
            *(Message("tool", '{"status": "ok"}') for _ in calls),
            Message("assistant", "I have cancelled LC-46003 and sent a confirmation to your inbox."),
        )

    cancel, send = Call("cancel_order", {"id": "LC-46003"}), Call("send_email", {"subject": "Cancelled: LC-46003"})
    assert claims(cancel, send) == []
    (finding,) = claims(cancel)
    assert finding.reason == "no call did what 'sent' says (calls that change something: cancel_order)"


def test_the_service_gives_the_findings() -> None:
    messages = ({"role": "user", "content": "Cancel LC-1."}, {"role": "assistant", "content": "I cancelled LC-1."})
    answer = score_calls(AgentRequest(messages))
    (finding,) = [msgspec.to_builtins(finding) for finding in answer.findings]
    assert (finding["kind"], finding["message"], finding["start"], finding["end"]) == ("claim", 1, 0, 11)
