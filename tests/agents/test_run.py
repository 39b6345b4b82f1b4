"""Live runs against a real HTTP server: replayed, reworded, interrupted, resumed, and what is found."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import troth
from tests.agents import server as servers
from tests.agents.conftest import Files
from troth.agents.live import users as run_users
from troth.agents.live.budget import Budget, UnansweredError
from troth.agents.live.endpoint import Reply
from troth.agents.live.journal import Journal
from troth.agents.live.replay import NO_OBJECT, NOT_RECORDED, call_key, make_recordings
from troth.agents.live.run import run_agent
from troth.agents.live.summary import RewordingEffect
from troth.core.errors import UserError
from troth.core.trajectories import Call, Trajectory, Usage
from troth.perturb import schemas
from troth.perturb.schemas import calls
from troth.readers import trajectories

HANG = 1.5  # seconds after which a server that hangs is given up; a busy machine is slow


def test_recorded_results_answer_the_calls(files: Files) -> None:
    result = files.run()
    assert result["call_recall"].value == 1.0
    assert result["finished"].value == 1.0
    assert result["unrecorded"].value == 0.0
    one = files.trial("original")[0]
    assert [message.role for message in one.messages] == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert one.messages[3].text == "result of find_order 10"
    assert one.messages[-1].text == "Done: result of cancel_order 10"
    assert [(call.call.tool, call.call.arguments) for call in one.calls()] == [
        ("find_order", {"id": 10}), ("cancel_order", {"id": 10, "reason": "late"}),
    ]  # fmt: skip
    assert one.expected is not None
    assert one.messages[2].usage is not None
    assert one.messages[2].usage.input_tokens == 10
    asked = files.server.asked[0]
    assert asked["model"] == "m"
    assert asked["tools"] == servers.TOOLS
    assert not files.missing


def test_perturb_run_score(files: Files, tmp_path: Path) -> None:
    function = {"names": ["stop purchase"], "descriptions": ["ends it"]}
    argument = {"names": ["key"], "descriptions": ["the number of it"]}
    wordings = {"cancel_order": {"intents": {"cancel_order": function}, "slots": {"id": argument}}}
    (tmp_path / "said.json").write_text(json.dumps(wordings))
    with_ = {"compose": {"paraphrases": str(tmp_path / "said.json"), "count": 1}}
    schemas.vary(tmp_path / "tools.json", tmp_path / "words", with_=with_)
    result = files.run(variants="v1", from_=tmp_path / "words", users="disfluency", trials=2)
    assert result.systems == ["original", "v1", "disfluency"]
    assert result.score("call_recall", system="v1").value == 0.5, "the policy does not recognise the new description"
    assert result.score("call_recall", "tool:cancel_order", "v1").value == 0.0
    assert result.score("call_recall", "tool:find_order", "v1").value == 1.0
    fragile = {
        one.metric: (one.original, one.share, one.difference)
        for one in result.findings
        if (one.tool, one.argument, one.set, one.reworded) == ("cancel_order", "", "", "tools")
    }
    assert fragile == dict.fromkeys(("call_recall", "tool_recall"), (1.0, 0.0, -1.0)), "the tool is not chosen any more"
    assert {one.name for one in result.findings} >= {"stop_purchase", "key"}
    sent = next(body for body in files.server.asked if body["tools"][0]["function"]["name"] == "stop_purchase")
    assert sent["messages"][0]["content"] == "Use find_order before stop_purchase.", "the system's text follows"
    assert sent["tools"][0]["function"]["parameters"]["required"] == ["key"]
    assert {one.trial for one in files.trial("v1", 1)} == {1}
    systems = [tmp_path / "run" / name for name in ("original", "v1")]
    scored = troth.agent(*systems, tools=tmp_path / "tools.json", metrics="all")
    assert scored.score("call_recall", system="original").value == 1.0
    assert scored.score("call_recall", system="v1").value == 0.5
    assert troth.open(tmp_path / "run/result")["call_recall"].value == 1.0


def test_rewordings_of_other_tools_are_refused(files: Files, tmp_path: Path) -> None:
    (tmp_path / "others.json").write_text(json.dumps([{"name": "f", "description": "another"}]))
    schemas.vary(tmp_path / "others.json", tmp_path / "words", with_={"corrupt": {"count": 1}})
    with pytest.raises(UserError, match="is a rewording of other tools"):
        files.run(variants="v1", from_=tmp_path / "words")


def test_calls_under_other_names_come_back(files: Files, tmp_path: Path) -> None:
    wordings = {"find_order": {"intents": {"find_order": {"names": ["look up"]}}, "slots": {"id": {"names": ["key"]}}}}
    (tmp_path / "said.json").write_text(json.dumps(wordings))
    with_ = {"compose": {"paraphrases": str(tmp_path / "said.json"), "count": 1}}
    schemas.vary(tmp_path / "tools.json", tmp_path / "words", with_=with_)
    result = files.run(variants=["v1"], from_=tmp_path / "words")
    assert result.score("call_recall", system="v1").value == 1.0
    assert result.score("unrecorded", system="v1").value == 0.0
    assert next(files.trial("v1")[0].calls()).call == Call("find_order", {"id": 10}, "c1")
    messages = next(b["messages"] for b in files.server.asked if "look_up" in str(b) and len(b["messages"]) == 4)
    assert messages[2]["tool_calls"][0]["function"]["name"] == "look_up", "the assistant sees its own words"
    assert messages[3]["name"] == "look_up"


@pytest.mark.parametrize("kind", ["429", "500", "broken", "empty", "hang"])
def test_trouble_that_passes_is_tried_again(files: Files, kind: str) -> None:
    files.server.trouble = lambda _body, times: kind if times == 0 else None
    result = files.run(timeout=HANG if kind == "hang" else 5.0, limit=1)
    assert result["finished"].value == 1.0
    assert result["call_recall"].value == 1.0
    assert len(files.server.asked) == 2 * 4


@pytest.mark.parametrize(("kind", "reason"), [("429", "status 429"), ("500", "status 500"), ("broken", "broken answer"),
                                              ("hang", "timeout"),
                                              ("400", 'status 400: {"error":  "too long"}')])  # fmt: skip
def test_trouble_that_stays_is_said_and_the_run_goes_on(files: Files, kind: str, reason: str) -> None:
    files.server.trouble = lambda body, _times: kind if "11" in body["messages"][-1]["content"] else None
    result = files.run(timeout=HANG if kind == "hang" else 5.0, retries=1)
    assert files.missing == [{"set": "original", "task": "t1", "trial": 0, "reason": reason}]
    assert result["finished"].value == pytest.approx(2 / 3)
    assert result["call_recall"].value == 1.0, "over what was finished"
    assert result.counts["original"]["missing"] == 1
    assert any(f"1 of 3 conversations are missing (1 {reason})" in str(note) for note in result.notes)
    before = len(files.server.asked)
    files.server.trouble = lambda _body, _times: None
    resumed = files.run(timeout=5.0, retries=1)
    assert resumed["finished"].value == 1.0
    assert not files.missing
    assert len(files.server.asked) == before + 4, "nothing is asked twice but the conversation that was missing"


def test_everything_at_once(files: Files) -> None:
    kinds = ["hang", "429", "500", "broken", None]

    def trouble(body: dict[str, Any], times: int) -> str | None:
        return kinds[len(str(body["messages"])) % len(kinds)] if times == 0 else None

    files.server.trouble = trouble
    result = files.run(users="disfluency", trials=2, timeout=HANG, retries=2, parallel=8)
    assert {kind for kind in kinds if kind} <= files.server.troubled
    assert result["finished"].value == 1.0
    assert result["call_recall"].value == 1.0


def test_a_finished_run_asks_nothing(files: Files) -> None:
    files.run(trials=2)
    before, asked = files.trial("original", 1), len(files.server.asked)
    result = files.run(trials=2)
    assert len(files.server.asked) == asked
    assert files.trial("original", 1) == before
    assert str(result.notes[0]).startswith("0 answers were asked for")


def test_a_torn_journal_asks_only_what_is_lost(files: Files) -> None:
    files.run()
    journal, asked = files.folder / "run/journal.jsonl", len(files.server.asked)
    journal.write_bytes(journal.read_bytes()[:-20])
    files.run()
    assert len(files.server.asked) == asked + 1
    files.run()
    assert len(files.server.asked) == asked + 1


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on(files: Files, sign: signal.Signals) -> None:
    """A server that hangs does not keep an interrupted run alive, and nothing that was answered is asked again."""
    hanging = threading.Event()

    def trouble(body: dict[str, Any], _times: int) -> str | None:
        if len(body["messages"]) < 5:
            return None
        hanging.set()
        return "hang"

    files.server.trouble = trouble
    command = [sys.executable, "-m", "troth", "agent", "run", f"endpoint:{files.server.url}#m", "tasks.json"]
    process = subprocess.Popen([*command, "--tools", "tools.json", "--out", "run"], cwd=files.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    assert hanging.wait(60)
    process.send_signal(sign)
    assert process.wait(20) in (130, -signal.SIGKILL)
    files.server.trouble = lambda _body, _times: None
    assert files.run()["call_recall"].value == 1.0
    answers = [json.loads(line)["key"] for line in (files.folder / "run/journal.jsonl").read_bytes().splitlines()]
    assert len(answers) == len(set(answers)) == 12, "each question was answered once"


def test_a_budget_ends_the_run_and_the_next_goes_on(files: Files) -> None:
    result = files.run(budget=5, parallel=1)
    assert len(files.server.asked) == 5
    assert [one["reason"] for one in files.missing] == ["budget", "budget"]
    assert any("2 of 3 conversations are missing (2 budget)" in str(note) for note in result.notes)
    assert result["finished"].value == pytest.approx(1 / 3)
    files.run(budget="105 tokens", parallel=1)
    assert len(files.server.asked) == 12, "15 tokens each, and 7 answers were left"
    assert not files.missing


def test_a_key_is_sent_and_never_written(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-123")
    files.run()
    written = b"".join(file.read_bytes() for file in (files.folder / "run").rglob("*") if file.is_file())
    assert b"secret-123" not in written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tools": None}, "with another tools"),
        ({"temperature": 0.5}, "with another temperature"),
        ({"variants": "v1"}, "there is no rewording 'v1' of the tools"),
        ({"variants": "v1", "tools": None}, "rewordings of the tools need the tools"),
        ({"users": "stammer"}, "stammer"),
        ({"budget": "many"}, "'many' is not a valid budget"),
        ({"trails": 2}, "there is no option 'trails' (did you mean 'trials'?)"),
    ],
)
def test_what_the_user_can_mend(files: Files, change: dict[str, Any], message: str) -> None:
    files.run()
    with pytest.raises(UserError) as error:
        files.run(**change)
    assert message in str(error.value)


def test_other_folders_are_left_alone(files: Files) -> None:
    (files.folder / "mine").mkdir()
    (files.folder / "mine/letter.txt").write_text("dear")
    with pytest.raises(UserError, match="is not a run of an assistant"):
        files.run(out=files.folder / "mine")
    assert not files.server.asked


@pytest.mark.parametrize("agent", ["endpoint:", "nothing", "no.such.module:f", "json:no_such", "json:__doc__"])
def test_no_assistant(files: Files, agent: str) -> None:
    with pytest.raises(UserError):
        run_agent(agent, files.folder / "tasks.json", out=files.folder / "run")


def test_a_wrong_key_or_model_ends_the_run_at_once(files: Files) -> None:
    with pytest.raises(UserError, match="no connection"):
        run_agent("endpoint:http://127.0.0.1:9/v1#m", files.folder / "tasks.json", out=files.folder / "run")


# -- Python functions --------------------------------------------------------------------------------------------------


def test_a_function_of_messages_and_tools(files: Files) -> None:
    tasks, tools = files.folder / "tasks.json", files.folder / "tools.json"
    result = run_agent(servers.policy, tasks, tools=tools, out=files.folder / "run")
    assert result["call_recall"].value == 1.0
    named = run_agent("tests.agents.server:policy", tasks, tools=tools, out=files.folder / "named")
    assert named["call_recall"].value == 1.0


def test_a_function_that_raises_is_counted(files: Files) -> None:
    def moody(messages: list[Any], tools: list[Any]) -> Any:
        raise ConnectionError("no")

    result = run_agent(moody, files.folder / "tasks.json", out=files.folder / "run", retries=1)
    assert "there are tasks without tools; give their definitions" in [*map(str, result.notes)]
    assert {one["reason"] for one in files.missing} == {"ConnectionError"}
    assert result["call_recall"].value is None
    assert result["finished"].value == 0.0


def test_what_was_not_recorded_is_said(files: Files) -> None:
    calls = [
        {"function": {"name": "find_order", "arguments": '{"id": 99}'}},
        {"function": {"name": "launch_rocket", "arguments": "{}"}},
        {"function": {"name": "find_order", "arguments": "{broken"}},
    ]

    def agent(messages: list[Any], tools: list[Any]) -> Any:
        return {"tool_calls": calls} if messages[-1]["role"] == "user" else "<b>\x1b[31mdone</b>"

    result = run_agent(agent, files.folder / "tasks.json", out=files.folder / "run")
    one = files.trial("original")[0]
    assert [m.text for m in one.messages[3:6]] == [NOT_RECORDED, NOT_RECORDED, NO_OBJECT]
    assert [m.call_id for m in one.messages[3:6]] == ["call_0", "call_1", "call_2"]
    assert result["unrecorded"].value == pytest.approx(2 / 3)
    assert one.messages[6].text == "<b>\x1b[31mdone</b>"


def test_an_assistant_that_never_stops_calling_is_cut(files: Files) -> None:
    def eager(messages: list[Any], tools: list[Any]) -> Any:
        return {"tool_calls": [{"function": {"name": "find_order", "arguments": '{"id": 10}'}}]}

    result = run_agent(eager, files.folder / "tasks.json", out=files.folder / "run", steps=3, limit=1)
    assert result.counts["original"]["turns_cut"] == 2
    assert result.counts["original"]["calls"] == 6


# -- parts -------------------------------------------------------------------------------------------------------------


def test_recordings_are_the_best_trial_and_know_the_results_of_the_others() -> None:
    def trial(number: int, reward: float, result: str) -> Any:
        call = {"id": "a", "function": {"name": "f", "arguments": {"x": number, "y": None}}}
        messages = [
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": result},
            {"role": "user", "content": "thanks ###STOP###"},
        ]
        return Trajectory(f"t/{number}", trajectories.messages.messages(messages), "t", number, reward=reward)

    (one,) = make_recordings([trial(0, 0.0, "zero"), trial(1, 1.0, "one"), trial(2, 1.0, "two")])
    assert one.users == ("go",)
    assert [message.text for message in one.opening] == ["Hello"]
    assert one.result(Call("f", {"x": 1.0}), 5) == "one"
    assert one.result(Call("f", {"x": 0}), 0) == "zero"
    assert one.result(Call("f", {"x": 3}), 0) is None
    assert call_key(Call("f", {"a": {"c": 1, "b": 2.0}})) == call_key(Call("f", {"a": {"b": 2, "c": 1}, "n": None}))


def test_reworded_users_keep_the_values_of_calls(files: Files) -> None:
    read = make_recordings(trajectories.read(str(files.folder / "tasks.json")))
    said = run_users.reword_users(read, {"disfluency": {"scale": 10}}, seed=3)["disfluency"]
    changed = [(a, b) for one in read for a, b in zip(one.users, said[one.task], strict=True) if a != b]
    assert changed
    for one in read:
        for before, after in zip(one.users, said[one.task], strict=True):
            values = [word for word in before.split() if word.isdigit() or word == "late"]
            assert all(value in after for value in values)
    assert run_users.reword_users(read, None, seed=0) == {}


def test_equal_questions_at_the_same_time_are_asked_once(tmp_path: Path) -> None:
    journal, asked, ready = Journal(tmp_path / "j"), [], threading.Event()

    def ask() -> Reply:
        asked.append(1)
        ready.wait(5)
        return Reply({"content": "x"})

    threads = [threading.Thread(target=journal.answer, args=({"q": 1}, ask)) for _ in range(5)]
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert Journal(tmp_path / "j").answer({"q": 1}, ask).message == {"content": "x"}


@pytest.mark.parametrize(("text", "calls"), [("3", 3), ("3 calls", 3), ("0.003k", 3), ("30 tokens", 2), (None, 9)])
def test_budgets(text: str | None, calls: int) -> None:
    budget = Budget(text)
    done = 0
    for _ in range(9):
        try:
            budget.charge(sent=100)
            budget.settle(100, 20, Usage(10, 6))
            done += 1
        except UnansweredError:
            break
    assert done == calls
    budget.stop()
    with pytest.raises(UnansweredError):
        budget.charge(1)


def test_findings_are_json(files: Files) -> None:
    result = files.run(users="disfluency")
    assert result.findings
    assert msgspec.json.decode(msgspec.json.encode(result.findings), type=list[RewordingEffect]) == result.findings


def test_real_recordings(shared: Path, tmp_path: Path) -> None:
    """An assistant that says what was recorded gets all recorded results, under any names."""
    folder = shared / "data/agents/tau_airline"
    tasks, tools = folder / "gpt-4o-airline.json", folder / "tools.json"
    schemas.vary(tools, tmp_path / "words", with_={"corrupt": {"count": 1, "rate": 0.5}})
    names = calls.load(tmp_path / "words/v1/names.json")
    read = [one for one in trajectories.read(str(tasks)) if one.unit in ("0", "1", "10", "11")]
    script = [one.messages for one in sorted(read, key=lambda one: (-(one.reward or 0.0), one.trial))]

    def actor(messages: list[Any], tools: list[Any]) -> Any:
        said = [message["content"] for message in messages if message["role"] == "user"]
        recorded = next(m for m in script if [one.text for one in m if one.role == "user"][: len(said)] == said)
        users = [place for place, one in enumerate(recorded) if one.role == "user"]
        spoken = sum(message["role"] == "assistant" for message in messages[_last_user(messages) :])
        after = [one for one in recorded[users[len(said) - 1] :] if one.role in ("user", "assistant")][1:]
        turn = after[spoken] if spoken < len(after) and after[spoken].role == "assistant" else None
        if turn is None or not turn.calls:
            return (turn.text if turn else "") or "Yes."
        renames = {} if tools[0]["function"]["name"] == "book_reservation" else names
        made = [calls.rename_call(renames, call.tool, call.arguments) for call in turn.calls]
        listed = [{"function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in made]
        return {"tool_calls": listed}

    result = run_agent(actor, tasks, tools=tools, variants="v1", from_=tmp_path / "words", out=tmp_path / "run",
                       limit=4, steps=30)  # fmt: skip
    assert result.systems == ["original", "v1"]
    for system in ("original", "v1"):
        assert result.score("finished", system=system).value == 1.0
        assert result.score("unrecorded", system=system).value == 0.0
    assert result.score("call_recall", system="v1").value == result["call_recall"].value
    assert result["call_recall"].value == pytest.approx(2 / 5), "as in the recordings"


def test_real_users_in_other_words(shared: Path) -> None:
    read = make_recordings(trajectories.read(str(shared / "data/agents/tau_airline/gpt-4o-airline.json")))
    said = run_users.reword_users(read, "disfluency,paraphrase", seed=0)
    for name, users in said.items():
        changed = sum(a != b for one in read for a, b in zip(one.users, users[one.task], strict=True))
        assert changed > 30, name
    ids = [
        (one.task, call.arguments["user_id"]) for one in read for call in one.recorded if "user_id" in call.arguments
    ]
    before = {one.task: " ".join(one.users) for one in read}
    for task, id in ids:
        if id in before[task]:
            assert id in " ".join(said["paraphrase"][task]), "what a call needs is still said"


def _last_user(messages: list[Any]) -> int:
    return max(place for place, message in enumerate(messages) if message["role"] == "user")
