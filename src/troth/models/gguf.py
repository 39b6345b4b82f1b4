"""Language models in a GGUF file, run by llama.cpp: `gguf:FILE`, or `gguf:NAME` of one that `troth models` lists.

Quantised to about four bits, a model of a billion parameters answers on a laptop, without a server and without torch
(extra `local`). With `+chat` a context is the user's message, in the template of the file, and what is generated or
scored is the assistant's answer. Texts that share a beginning are read one after the other, and what they share is
read once. With a grammar (GBNF), only texts of its form are written.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.core.errors import UserError, one_line
from troth.core.extras import require
from troth.models.backends import Backend
from troth.models.batches import common_length, replace_surrogates
from troth.models.hf import TokenRow
from troth.models.protocols import Continuation, Request
from troth.storage.files import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "gguf:"
LIMIT = 4096  # tokens that are read, where the model reads more: logits of each take a megabyte
CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
# Around a call without marks, where an answer begins with it: Qwen's coders double the braces, as their template does.
OPENING, CLOSING = re.compile(r"(?:```\w*\s*)?\{{1,2}(?=\s*\")"), re.compile(r"\}?\s*(?:```\s*)?")


class GgufLm:
    """A model file. It is loaded for the first request."""

    takes_grammar = True

    def __init__(self, file: Path, label: str, identity: str, *, chat: bool = False) -> None:
        self.file, self.chat_only = file, chat
        self.name, self.identity = label + "+chat" * chat, identity + "+chat" * chat
        self.usage: Counter[str] = Counter()  # tokens of generated texts

    @classmethod
    def from_name(cls, name: str, *, chat: bool = False) -> GgufLm:
        from troth.models import catalog

        label = name.removeprefix(PREFIX)
        known = {model.name: model for model in catalog.all_models() if model.joined.endswith(".gguf")}
        if model := known.get(label):
            file = catalog.ready(model) / model.joined
            return cls(file, f"{model.name}@{model.revision}", catalog.identity(model), chat=chat)
        file = Path(label)
        if not file.is_file():
            hint = f"a file, or one of: {', '.join(known)}; see troth models"
            raise UserError(f"no GGUF model is called '{label}'", hint=hint)
        digest = sha256(file)
        return cls(file, f"{file.stem}@{digest[:8]}", digest, chat=chat)

    @property
    def scores_answers(self) -> bool:
        """Whether a continuation is scored as an answer in a chat."""
        return self.chat_only

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        rows = {asked: self._row(asked) for asked in map(Request.parse, requests)}
        answers = {asked: self._score(row) for asked, row in sorted(rows.items(), key=lambda pair: pair[1].ids)}
        return [answers[Request.parse(request)] for request in requests]

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0,
        grammar: str = "",
    ) -> list[str]:  # fmt: skip
        """Continues each prompt, or answers it as a user's message in a chat."""
        options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        if grammar:
            llama_cpp = require("llama_cpp", extra="local")
            options["grammar"] = llama_cpp.LlamaGrammar.from_string(grammar, verbose=False)
        return [self._generate(replace_surrogates(prompt), options) for prompt in prompts]

    def chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), **options: Any
    ) -> dict[str, Any]:
        """The next message of a chat, in OpenAI's layout; `usage` beside it has the tokens that were read and written.

        Calls are read in the form that Qwen and Hermes write them, JSON between <tool_call> marks. Small models forget
        the marks: an answer that begins with calls of the tools counts, too. Anything else stays text.
        """
        with self._answering():
            answer = self._llama.create_chat_completion(
                messages=[_template_message(message) for message in messages],
                **({"tools": list(tools)} if tools else {}),
                **options,
            )
        self._count(answer)
        names = {tool["function"]["name"] for tool in tools}
        message = parse_calls(answer["choices"][0]["message"].get("content") or "", names)
        return message | {"usage": answer.get("usage")}

    def _generate(self, prompt: str, options: Mapping[str, Any]) -> str:
        if self.chat_only:
            return str(self.chat([{"role": "user", "content": prompt}], **options)["content"])
        with self._answering():
            answer = self._llama.create_completion(prompt, **options)
        self._count(answer)
        return str(answer["choices"][0]["text"])

    def _count(self, answer: Mapping[str, Any]) -> None:
        self.usage.update({name: answer["usage"][name] for name in ("prompt_tokens", "completion_tokens")})

    def _row(self, asked: Request) -> TokenRow:
        own = self._tokens(asked.continuation)
        context = [self._tokens(piece) for piece in asked.context]
        frame = self._frame if self.chat_only else (self._bos * asked.bos, [])
        return TokenRow.build(context, own, self._texts(own, asked.continuation), asked.shorten, self._limit, *frame)

    def _score(self, row: TokenRow) -> Continuation:
        """Log-probabilities of the continuation; the context that the last text shared is not read again."""
        llama, begin = self._llama, max(row.start, 1)
        if len(row.ids) <= begin:
            return row.answer([])
        llama.n_tokens = min(common_length(row.ids, llama.input_ids[: llama.n_tokens].tolist()), begin - 1)
        with self._answering():
            self._read(row.ids[llama.n_tokens : begin - 1], logits=False)
            self._read(row.ids[begin - 1 :], logits=True)
        logits = np.asarray(llama.scores[begin - 1 : len(row.ids) - 1], dtype=np.float64)
        top = logits.max(axis=1, keepdims=True)
        totals = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
        scored = logits[np.arange(len(logits)), row.ids[begin:]]
        return row.answer((scored - totals).tolist())

    def _read(self, ids: Sequence[int], *, logits: bool) -> None:
        """Evaluates tokens. Computing their logits can cost as much as half of a small model."""
        if ids:
            self._llama._logits_all = logits  # the public option reserves the memory, and cannot be changed later
            self._llama.eval(ids)
            self._llama._logits_all = False

    def _tokens(self, text: str) -> list[int]:
        encoded = replace_surrogates(text).encode()
        return list(self._llama.tokenize(encoded, add_bos=False, special=False)) if encoded else []

    def _texts(self, tokens: Sequence[int], text: str) -> tuple[str, ...]:
        """Each token's part of the text; a character of several tokens belongs to the last of them."""
        parts, done = [], 0
        for end in range(1, len(tokens) + 1):
            whole = self._llama.detokenize(list(tokens[:end])).decode(errors="ignore") if end < len(tokens) else text
            parts.append(whole[done:])
            done = max(done, len(whole))
        return tuple(parts)

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        """The tokens of the chat's template before and after a user's message."""
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise UserError(f"{self.name} has no chat template", hint="leave out +chat")
        formatter = Jinja2ChatFormatter(template, eos_token="", bos_token="")
        mark = "\N{OBJECT REPLACEMENT CHARACTER}"
        prompt = formatter(messages=[{"role": "user", "content": mark}]).prompt
        before, _, after = prompt.partition(mark)
        first, last = (
            list(self._llama.tokenize(part.encode(), add_bos=False, special=True)) for part in (before, after)
        )
        return first, last

    @property
    def _bos(self) -> list[int]:
        return [int(self._llama.token_bos())]

    @property
    def _limit(self) -> int:
        return int(self._llama.n_ctx())

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, RuntimeError) as error:  # a prompt that is too long, a template that refuses the messages
            raise UserError(f"{self.name}: {one_line(str(error))}") from error

    @cached_property
    def _llama(self) -> Any:
        llama_cpp = require("llama_cpp", extra="local")
        try:
            llama = llama_cpp.Llama(
                str(self.file), n_ctx=LIMIT, n_threads=os.cpu_count(), logits_all=True, verbose=False
            )
        except (ValueError, OSError) as error:
            raise UserError(f"cannot be loaded: {one_line(str(error))}", file=str(self.file)) from error
        llama._logits_all = False
        return llama


def parse_calls(text: str, names: Collection[str] = ()) -> dict[str, Any]:
    """A message in OpenAI's layout from a text with calls in it; `names`: tools that are called without marks, too."""
    calls: list[dict[str, Any]] = []

    def take(match: re.Match[str]) -> str:
        try:
            call = json.loads(match[1])
            name, arguments = call["name"], call.get("arguments", {})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return match[0]
        if not isinstance(name, str):
            return match[0]
        calls.append(_call(len(calls), name, arguments))
        return ""

    content = CALL.sub(take, text).strip()
    while not CALL.search(text) and (opening := OPENING.match(content)):
        try:
            call, end = json.JSONDecoder().raw_decode(content, opening.end() - 1)
        except (ValueError, RecursionError):
            break
        if call.keys() != {"name", "arguments"} or not isinstance(call["name"], str) or call["name"] not in names:
            break
        calls.append(_call(len(calls), call["name"], call["arguments"]))
        closing = CLOSING.match(content, end)
        content = content[closing.end() if closing else end :]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _call(number: int, name: str, arguments: Any) -> dict[str, Any]:
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": f"call_{number + 1}", "type": "function", "function": {"name": name, "arguments": encoded}}


def _template_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as chat templates expect it: texts that are texts, arguments of calls as objects."""
    shown = dict(message, content=message.get("content") or "")
    calls = []
    for call in message.get("tool_calls") or ():
        function = dict(call["function"])
        with suppress(ValueError, TypeError):
            function["arguments"] = json.loads(function["arguments"])
        calls.append({**call, "function": function})
    return shown | ({"tool_calls": calls} if calls else {})


BACKEND = Backend(
    "gguf:FILE",
    "a language model in a GGUF file, or one that `troth models` lists, through llama.cpp",
    lm=GgufLm.from_name,
    modifiers={"chat": "asked as a chat, in the file's template"},
)
