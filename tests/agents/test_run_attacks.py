"""Live runs under attack: keys that come back, answers that are not JSON, budgets, and folders of other runs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.agents import server as servers
from tests.agents.conftest import Files
from troth.agents.live.run import run_agent
from troth.core.errors import UserError
from troth.models.keys import repeats_key

KEY = "sk-torture/0123456789AbCdEf-secret"
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in KEY)


def answer(content: str | None = "ok", **message: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content, **message}}]}).encode()


def written(folder: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


FORMS = {
    "as it is": answer(KEY),
    "slash": answer(KEY).replace(b"/", rb"\/"),
    "escapes": answer("@").replace(b"@", ESCAPED.encode()),
    "without its first letters": answer(KEY[3:]),
    "its middle": answer(f"key {KEY[12:24]} key"),
    "in arguments": answer(None, tool_calls=[{"function": {"name": "f", "arguments": f'{{"a": "{ESCAPED}"}}'}}]),
    "in another encoding": answer(KEY).decode().encode("utf-16"),
    "under another name": answer("ok", **{KEY[5:]: 1}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_no_form_of_the_key_is_stored_or_printed(
    files: Files, monkeypatch: pytest.MonkeyPatch, form: str, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    files.server.override = lambda _body: (status, FORMS[form])
    said = ""
    try:
        said = " ".join(str(note) for note in files.run(retries=0).notes)
    except UserError as error:
        said = str(error)
    stored = written(files.folder / "run").decode(errors="replace")
    for part in (KEY[start : start + 8] for start in range(len(KEY) - 7)):
        assert part not in stored
        assert part not in said
    assert not repeats_key(stored, KEY)
    if status == 200:
        assert "repeats the key" in said


def test_words_of_a_key_are_no_key() -> None:
    assert not repeats_key("local development of sk-proj- keys", "sk-proj-local-development-key")
    assert repeats_key("it is sk-proj-local-development-key", "sk-proj-local-development-key")
    assert not repeats_key("", "")
    assert not repeats_key("EMPTY", "EMPTY")


@pytest.mark.parametrize("kind", ["500", "429", "broken"])
def test_a_budget_counts_every_request(files: Files, kind: str) -> None:
    """A server that fails may bill what it got: repeated requests count."""
    files.server.trouble = lambda _body, _times: kind
    files.run(budget=2, retries=5, parallel=3)
    assert len(files.server.asked) == 2
    assert {item["reason"] for item in files.missing} == {"budget"}


@pytest.mark.parametrize("usage", [{}, {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, {"usage": {"x": 1}}])
def test_tokens_that_are_not_reported_are_estimated(files: Files, usage: dict[str, Any]) -> None:
    reply = {"choices": [{"message": {"content": "word " * 40}}], **usage}
    files.server.override = lambda _body: (200, json.dumps(reply).encode())
    files.run(budget="1000 tokens", parallel=1)
    sent = sum(len(json.dumps(body)) for body in files.server.asked)
    received = len(files.server.asked) * len(json.dumps(reply))
    assert 1 < len(files.server.asked) < 6, "each question and its answer have some 250 tokens"
    assert (sent + received) / 4 < 2 * 1000


NOT_JSON = {
    "half a surrogate pair": answer("half \ud800"),
    "NaN": answer("@").replace(b'"@"', b"NaN"),
    "Infinity in arguments": answer(None, tool_calls=[{"function": {"name": "f", "arguments": {"a": 7}}}]).replace(
        b"7", b"Infinity"
    ),
    "too large a number": answer(None, tool_calls=[{"function": {"name": "f", "arguments": {"a": 7}}}]).replace(
        b"7", b"1e999"
    ),
}


@pytest.mark.parametrize("form", NOT_JSON)
def test_an_answer_that_is_not_json_costs_one_conversation(files: Files, form: str) -> None:
    """The others are finished, and the next run asks for it again."""
    files.server.override = lambda body: (200, NOT_JSON[form]) if "order 10" in str(body["messages"][1]) else None
    result = files.run(retries=1)
    assert [(item["task"], item["reason"]) for item in files.missing] == [("t0", "broken answer")]
    assert result["finished"].value == pytest.approx(2 / 3)
    files.server.override = lambda _body: None
    assert files.run()["finished"].value == 1.0


def test_an_async_function_is_an_assistant(files: Files) -> None:
    loops = set()

    async def agent(messages: list[Any], tools: list[Any]) -> Any:
        await asyncio.sleep(0)
        loops.add(id(asyncio.get_running_loop()))
        return servers.policy(messages, tools)

    result = run_agent(agent, files.folder / "tasks.json", tools=files.folder / "tools.json", out=files.folder / "run")
    assert result["call_recall"].value == 1.0
    assert len(loops) == 1, "a client that the function keeps belongs to one loop"


def test_two_runs_in_one_folder(files: Files) -> None:
    hanging, done = threading.Event(), threading.Event()

    def wait(_body: Any) -> None:
        hanging.set()
        done.wait(30)

    files.server.override = wait
    command = [sys.executable, "-m", "troth", "agent", "run", f"endpoint:{files.server.url}#m", "tasks.json"]
    with subprocess.Popen(
        [*command, "--tools", "tools.json", "--out", "run"], cwd=files.folder, stdout=subprocess.DEVNULL
    ) as first:
        assert hanging.wait(60)
        asked = len(files.server.asked)
        with pytest.raises(UserError, match="another process is working in this folder"):
            files.run()
        done.set()
        assert first.wait(60) == 0
    assert len(files.server.asked) == 12 >= asked
    files.server.override = lambda _body: None
    files.run()
    assert len(files.server.asked) == 12


@pytest.fixture
def log(files: Files) -> Path:
    """The tasks as one file each, under names that a glob matches."""
    folder = files.folder / "log"
    folder.mkdir()
    for number, task in enumerate(servers.tasks(3)):
        (folder / f"{number}.json").write_text(json.dumps([task]))
    return folder


@pytest.mark.parametrize("glob", ["log", "log/*.json"])
def test_a_run_is_resumed_with_the_same_files_only(files: Files, log: Path, glob: str) -> None:
    def run(**options: Any) -> Any:
        given = {"tools": files.folder / "tools.json", "out": files.folder / "run"}
        return run_agent(f"endpoint:{files.server.url}#m", files.folder / glob, **{**given, **options})

    run()
    asked = len(files.server.asked)
    (log / "0.json").rename(log / "9.json")
    run()
    assert len(files.server.asked) == asked, "names and order of files do not count"
    text = (log / "1.json").read_text()
    (log / "1.json").write_text(text.replace("because late", "because broken"))
    with pytest.raises(UserError, match=r"run: holds a run of an assistant with another tasks \(name another folder"):
        run()
    (log / "1.json").write_text(text)
    (files.folder / "gold.json").write_text(json.dumps(servers.tasks(3)))
    with pytest.raises(UserError, match="another gold"):
        run(gold=files.folder / "gold.json")
    tools = files.folder / "tools.json"
    tools.write_text(tools.read_text().replace("cancels", "ends"))
    with pytest.raises(UserError, match="another tools"):
        run()
    assert len(files.server.asked) == asked


def test_a_function_whose_code_changed_is_another_assistant(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    module = files.folder / "assistant.py"
    module.write_text("def reply(messages, tools):\n    return 'no'\n")
    monkeypatch.chdir(files.folder)
    monkeypatch.syspath_prepend(str(files.folder))
    run_agent("assistant:reply", "tasks.json", out="run")
    module.write_text("def reply(messages, tools):\n    return 'yes'\n")
    with pytest.raises(UserError, match="with another agent"):
        run_agent("assistant:reply", "tasks.json", out="run")
