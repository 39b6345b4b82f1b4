"""Models in GGUF files: what is asked of llama.cpp, and what becomes of its answers. Its place takes a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from troth import models
from troth.agents.live.budget import Budget
from troth.agents.live.endpoint import open_assistant
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding.judge import Judge
from troth.models.gguf import GgufLm, parse_calls
from troth.models.protocols import takes_grammar

SIZE = 300
START, END = 290, 291  # tokens of the template


class Llama:
    """A model whose tokens are bytes: after a byte, the next one in the alphabet is likely."""

    made: list[Llama] = []  # noqa: RUF012
    metadata = {"tokenizer.chat_template": "<{{ messages[0].content }}>"}  # noqa: RUF012
    answer = "fine"

    def __init__(self, path: str, *, n_ctx: int, n_threads: int, logits_all: bool, verbose: bool) -> None:
        self._logits_all = logits_all
        assert not verbose
        assert n_threads
        if Path(path).read_bytes()[:4] != b"GGUF":
            raise ValueError(f"Failed to load model from file: {path}")
        self.limit, self.n_tokens, self.read = min(n_ctx, 120), 0, 0
        self.asked: list[dict[str, Any]] = []
        self.input_ids, self.scores = np.zeros(n_ctx, dtype=np.intc), np.zeros((n_ctx, SIZE), dtype=np.float32)
        Llama.made.append(self)

    def n_ctx(self) -> int:
        return self.limit

    def token_bos(self) -> int:
        return 299

    def tokenize(self, text: bytes, *, add_bos: bool, special: bool) -> list[int]:
        assert not add_bos
        marks = {ord("<"): START, ord(">"): END} if special else {}
        return [marks.get(byte, byte) for byte in text]

    def detokenize(self, tokens: list[int]) -> bytes:
        return bytes(tokens)

    def eval(self, tokens: list[int]) -> None:
        for token in tokens:
            self.input_ids[self.n_tokens] = token
            self.scores[self.n_tokens] = 0 if self._logits_all else np.nan  # nothing is computed that is not asked for
            self.scores[self.n_tokens, (token + 1) % SIZE] += 5
            self.n_tokens += 1
        self.read += len(tokens)

    def create_chat_completion(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        return {"choices": [{"message": {"role": "assistant", "content": self.answer}}], "usage": usage}

    def create_completion(self, prompt: str, **_: Any) -> dict[str, Any]:
        if len(prompt) > self.limit:
            raise ValueError("Requested tokens exceed context window")
        return {"choices": [{"text": "!"}], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}


class LlamaGrammar:
    @classmethod
    def from_string(cls, text: str, *, verbose: bool) -> str:
        assert not verbose
        return f"read: {text}"


class Formatter:
    def __init__(self, template: str, **_: str) -> None:
        self.template = template

    def __call__(self, messages: list[dict[str, str]]) -> Any:
        made = ModuleType("prompt")
        made.prompt = self.template.replace("{{ messages[0].content }}", messages[0]["content"])  # type: ignore[attr-defined]
        return made


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library, formats = ModuleType("llama_cpp"), ModuleType("llama_cpp.llama_chat_format")
    library.Llama, formats.Jinja2ChatFormatter = Llama, Formatter  # type: ignore[attr-defined]
    library.LlamaGrammar = LlamaGrammar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", library)
    monkeypatch.setitem(sys.modules, "llama_cpp.llama_chat_format", formats)
    monkeypatch.setattr(Llama, "made", [])
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF and weights")
    return tmp_path / "tiny.gguf"


LIKELY = 5 - np.log(np.exp(5) + SIZE - 1)
UNLIKELY = 0 - np.log(np.exp(5) + SIZE - 1)


def test_log_probabilities_are_those_of_the_logits(file: Path) -> None:
    first, second = models.lm(f"gguf:{file}", cache=None).logprobs([("ab", "cx"), ("", "ab")])
    assert first.tokens == ("c", "x")
    assert first.logprobs == pytest.approx((LIKELY, UNLIKELY))
    assert second.logprobs[0] is None
    assert second.logprobs[1] == pytest.approx(LIKELY)


def test_a_grammar_reaches_the_library_and_is_part_of_the_cache(file: Path, tmp_path: Path) -> None:
    lm = models.lm(f"gguf:{file}+chat", cache=tmp_path / "cache")
    assert takes_grammar(lm)
    grammars = ('root ::= "yes"', 'root ::= "no"', 'root ::= "yes"')
    for grammar in grammars:
        lm.generate(["hello"], grammar=grammar)
    lm.generate(["hello"])
    assert [asked.get("grammar") for asked in Llama.made[0].asked] == [
        'read: root ::= "yes"', 'read: root ::= "no"', None,
    ]  # fmt: skip


def test_what_texts_share_is_read_once(file: Path) -> None:
    lm = GgufLm.from_name(f"gguf:{file}")
    context = "a" * 50
    answers = lm.logprobs([(context, "ab"), (context, "zz"), (context, "ac")])
    assert [answer.logprobs[0] for answer in answers] == pytest.approx([UNLIKELY, UNLIKELY, UNLIKELY])
    assert answers[0].logprobs[1] == pytest.approx(LIKELY)
    assert Llama.made[0].read < 60


def test_a_context_that_ends_inside_the_last_one(file: Path) -> None:
    lm = GgufLm.from_name(f"gguf:{file}")
    longer, shorter = lm.logprobs([("a" * 50, "ab"), ("a" * 20, "bc")])  # asked in this order
    assert longer.logprobs == pytest.approx((UNLIKELY, LIKELY))
    assert shorter.logprobs == pytest.approx((LIKELY, LIKELY))


def test_a_document_that_is_too_long_loses_its_end(file: Path) -> None:
    lm = GgufLm.from_name(f"gguf:{file}")
    (answer,) = lm.logprobs([models.Request(("d" * 200, "q"), "rs", shorten=0)])
    assert answer.dropped == 83  # of 120 tokens, two are the continuation and one is the question
    assert answer.logprobs == pytest.approx((LIKELY, LIKELY))


def test_in_a_chat_the_context_stands_in_the_template(file: Path) -> None:
    lm = models.lm(f"gguf:{file}+chat", cache=None)
    assert lm.name.startswith("tiny@")
    assert lm.name.endswith("+chat")
    lm.logprobs([("hi", "yo")])
    assert Llama.made[0].input_ids[:6].tolist() == [START, *b"hi", END, *b"yo"]
    assert lm.generate(["hello"], max_tokens=3) == ["fine"]
    assert Llama.made[0].asked[0]["messages"] == [{"role": "user", "content": "hello"}]


def test_names_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no GGUF model is called 'nothing' \(a file, or one of: qwen2.5-coder-0.5b"):
        models.lm("gguf:nothing", cache=None)
    (tmp_path / "other.gguf").write_bytes(b"text")
    with pytest.raises(UserError, match=r"other\.gguf: cannot be loaded: Failed to load model"):
        models.lm(f"gguf:{tmp_path / 'other.gguf'}", cache=None).generate(["x"])


def test_a_prompt_that_is_too_long_is_one_line(file: Path) -> None:
    with pytest.raises(UserError, match="Requested tokens exceed context window"):
        models.lm(f"gguf:{file}", cache=None).generate(["x" * 500])


def test_the_judge_takes_the_probability_of_its_first_word(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = models.lm(f"gguf:{file}+chat", cache=None)
    monkeypatch.setattr(Llama, "n_ctx", lambda _: 4000)
    judge = Judge(lm)
    (value,) = judge.score([Grounded("1", "d", "r", (), None)])
    # of all letters of the three words, only the B of ABSENT follows its neighbour in the alphabet
    weights = np.exp([9 * UNLIKELY, 12 * UNLIKELY, 5 * UNLIKELY + LIKELY])
    assert value == pytest.approx(weights[0] / weights.sum())
    assert judge.recipe["answers"] == "scored"
    (line,) = judge.explain(Grounded("1", "d", "r", (), None))
    assert line.startswith(f"SUPPORTED {value:.2f}, CONTRADICTED ")


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("Hello.", "Hello.", []),
        ('<tool_call>\n{"name": "book", "arguments": {"seats": 2}}\n</tool_call>', "", [("book", {"seats": 2})]),
        ('One moment. <tool_call>{"name": "a"}</tool_call><tool_call>{"name": "b", "arguments": {}}', "One moment.",
         [("a", {}), ("b", {})]),
        ("<tool_call>{broken</tool_call>", "<tool_call>{broken</tool_call>", []),
        ("<tool_call>[1]</tool_call>", "<tool_call>[1]</tool_call>", []),
        ('<tool_call>{"name": 3}</tool_call>', '<tool_call>{"name": 3}</tool_call>', []),
    ],
)  # fmt: skip
def test_calls_in_a_text(text: str, content: str, calls: list[tuple[str, Any]]) -> None:
    message = parse_calls(text)
    found = [call["function"] for call in message.get("tool_calls", [])]
    assert message["content"] == content
    assert [(call["name"], json.loads(call["arguments"])) for call in found] == calls


@pytest.mark.parametrize(
    ("text", "called", "content"),
    [
        ('{"name": "book", "arguments": {"seats": 2}}', 1, ""),
        ('```json\n{"name": "book", "arguments": {"seats": 2}}\n```', 1, ""),
        ('{{"name": "book", "arguments": {"seats": 2}}}\n\nThis books a table.', 1, "This books a table."),
        ('{{"name": "book", "arguments": {}}}\n{{"name": "book", "arguments": {"seats": 2}}}', 2, ""),
        ('{"name": "book", "arguments": {}}\n{"name": "fly", "arguments": {}}', 1, '{"name": "fly", "arguments": {}}'),
        ('{"name": "fly", "arguments": {}}', 0, None),
        ('{"name": ["book"], "arguments": {}}', 0, None),
        ('Sure: {"name": "book", "arguments": {}}', 0, None),
        ('{"seats": 2}', 0, None),
        ('{"name": "book", "arguments": {}', 0, None),
        ("{" * 5000 + '"', 0, None),
    ],
)
def test_an_answer_may_begin_with_calls_without_marks(text: str, called: int, content: str | None) -> None:
    message = parse_calls(text, {"book"})
    assert [call["function"]["name"] for call in message.get("tool_calls", [])] == ["book"] * called
    assert message["content"] == (text if content is None else content)
    assert "tool_calls" not in parse_calls(text)


def test_as_an_assistant_with_tools(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assistant = open_assistant(f"gguf:{file}", temperature=0.0, timeout=1, retries=0)
    monkeypatch.setattr(Llama, "answer", '<tool_call>{"name": "book", "arguments": {"seats": 2}}</tool_call>')
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "a table"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"near": "me"}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "[]"},
    ]  # fmt: skip
    tools = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}]
    reply = assistant.ask(said, tools, seed=3, budget=Budget())
    assert [(call.tool, call.arguments) for call in reply.read().calls] == [("book", {"seats": 2})]
    assert reply.usage is not None
    assert reply.usage.input_tokens == 7
    asked = Llama.made[0].asked[0]
    assert asked["tools"] == tools
    assert asked["seed"] == 3
    assert asked["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"near": "me"}
    assert asked["messages"][1]["content"] == ""
