"""What was not read of transcripts is said wherever scores are, and nobody is accused because of it."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import troth
from tests.readers.shapes import LITELLM, OPENAI
from troth import demo
from troth.agents.score import AgentSettings
from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Trajectory
from troth.readers import trajectories

PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
CLAIM: list[dict[str, Any]] = [
    {"role": "user", "content": "Cancel order 7 for $99."},
    {"role": "assistant", "content": "Order 7 has been cancelled, and $42 will be refunded."},
]
UNREAD = {"role": "assistant", "content": [{"type": "hologram"}, {"type": "hologram"}, {"type": "image", "data": "x"}]}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "bot.jsonl"
    path.write_text("\n".join(json.dumps({"messages": messages}) for messages in (CLAIM, [*CLAIM, UNREAD])))
    return str(path)


def test_a_trial_with_unread_blocks_has_no_findings(file: str) -> None:
    result = troth.agent(file, metrics="default,details")
    assert {(finding.kind, finding.task) for finding in result.findings} == {("claim", "0"), ("number", "0")}
    assert (result["claims_without_calls"].n, result["unsupported_numbers"].value) == (1, 0.5)
    assert {(count.metric, count.count) for count in result.unscored} == {
        (name, 1) for name in ("provenance", "claims_without_calls", "unsupported_numbers", "unsupported_times",
                               "unsupported_names", "grounded_answers")
    }  # fmt: skip


def test_a_writing_call_with_a_value_from_an_unread_block() -> None:
    messages = (
        Message("user", "See the picture."),
        Message("assistant", calls=(Call("cancel_order", {"id": "ZX93"}),)),
    )
    seen, unseen = (Trajectory("1", messages, unread=unread) for unread in ({}, {"image": 1}))
    assert troth.agent([seen], metrics="provenance")["provenance"].value == 0.0
    hidden = troth.agent([unseen], metrics="provenance")
    assert (hidden["provenance"].value, hidden.findings) == (None, [])
    assert hidden["provenance"].reason == "the transcript has blocks that were not read"


def test_unread_blocks_are_reported(file: str) -> None:
    result = troth.agent(file)
    assert result.counts["bot"]["unread_blocks"] == 3
    assert "3 blocks not read: 2 of type hologram, 1 of type image. 1 trial with such blocks" in str(result.notes[0])
    assert result["unread_blocks"].value == 1.5
    assert result.score("unread_blocks", group="block:hologram").value == 1.0
    assert "unread_blocks" not in {score.metric for score in troth.agent(demo.path("agents/hasty.jsonl")).scores}


def test_unread_blocks_are_on_the_page(file: str, tmp_path: Path) -> None:
    troth.agent(file, out=tmp_path / "run")
    troth.report(tmp_path / "run", out=tmp_path / "page.html")
    assert "3 blocks not read: 2 of type hologram, 1 of type image" in (tmp_path / "page.html").read_text()


def test_joined_and_skipped_rows_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*map(json.dumps, LITELLM), '{"messages": [']))
    result = troth.agent(path, on_error="skip")
    notes = [str(note) for note in result.notes]
    assert any("1 row skipped; the first: " in note and "line 4: broken JSON" in note for note in notes)
    assert "log: 3 rows of a log, one per model call, are joined into 1 conversation" in notes
    assert (result.counts["log"]["trials"], result.counts["log"]["skipped_rows"]) == (1, 1)
    with pytest.raises(UserError, match="line 4: broken JSON"):
        troth.agent(path)


def test_records_give_the_same_as_files() -> None:
    path, tools = demo.path("agents/hasty.jsonl"), demo.path("agents/tools.json")
    records = list(trajectories.read(path))
    files = troth.agent(path, tools=tools, resamples=20)
    memory = troth.agent({"hasty": records}, tools=tools, resamples=20)
    assert [*map(repr, memory.scores)] == [*map(repr, files.scores)]
    assert list(memory.findings) == list(files.findings)
    assert troth.agent(records, tools=tools, resamples=20).systems == ["trajectories"]


@pytest.mark.parametrize("given", [(["x.jsonl"], "x.jsonl"), ([], [])])
def test_several_lists_need_names(given: tuple[Any, ...]) -> None:
    with pytest.raises(UserError, match="files, or one list or mapping of trajectories"):
        troth.agent(*given)


def test_an_unread_count_is_written_and_read_back(tmp_path: Path) -> None:
    from troth.readers.trajectories import chat

    one = Trajectory("1", (Message("user", "x"),), unread={"image": 2})
    out = io.BytesIO()
    chat.write([one], out)
    (tmp_path / "t.jsonl").write_bytes(out.getvalue())
    assert list(trajectories.read(str(tmp_path / "t.jsonl"))) == [one]


def test_the_adapter_of_the_documentation_runs() -> None:
    section = PAGE.partition("### Anything else")[2]
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", section, re.DOTALL)
    assert match is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(match[1], {})  # noqa: S102 (the documentation's own example)
    assert printed.getvalue() == match[2]
    body = match[1].partition("def convert")[2].partition("\n\n\n")[0]
    assert len(body.strip().splitlines()) <= 10


def test_settings_have_the_option() -> None:
    assert AgentSettings().on_error == "stop"


def test_openai_messages_have_nothing_unread(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(OPENAI))
    assert "unread_blocks" not in troth.agent(path).counts["log"]
