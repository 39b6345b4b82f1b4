"""Assistants that can be asked live: a model behind an OpenAI-compatible server, or a Python function.

An assistant gets messages and tools in OpenAI's layout and gives the next message. A server that is busy, fails, does
not answer in time or answers what is not JSON is asked again, waiting longer each time; after the last try the question
is `UnansweredError`, which the caller counts and the next run asks again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from troth.core.errors import UserError, one_line
from troth.core.registry import imported
from troth.core.trajectories import Message, Usage
from troth.models.client import Client, Refused, Silent
from troth.readers.trajectories.messages import messages as read_messages
from troth.readers.trajectories.messages import usage

KEY = "OPENAI_API_KEY"
PATH = "/chat/completions"
PAUSE = 1.0  # seconds before a question is asked again, doubled each time
MOST = 8_000_000  # bytes of an answer
SAID = 100  # characters of a refusal that are part of the reason
FORMS = "endpoint:http://HOST:PORT/v1#MODEL, or module:function"
BROKEN = "broken answer"

Chat = Sequence[Mapping[str, Any]]  # messages, or tools, in OpenAI's layout


class UnansweredError(Exception):
    """No usable answer after all tries; the text is the reason, in a few words."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An assistant's next message, in OpenAI's layout, and what it has cost."""

    message: dict[str, Any]
    usage: Usage | None = None

    def read(self) -> Message:
        """The message as a record; UserError where it is none."""
        read = read_messages([{**self.message, "role": "assistant"}])
        if len(read) != 1:
            raise UserError("the answer is not one message")
        return msgspec.structs.replace(read[0], usage=self.usage)


class Assistant(Protocol):
    """Anything that continues a conversation."""

    @property
    def name(self) -> str: ...

    def ask(self, messages: Chat, tools: Chat, *, seed: int) -> Reply:
        """The next message; raises UnansweredError."""
        ...


class EndpointAssistant:
    """A model behind an OpenAI-compatible server; `retries` come on top of those that the client makes by itself."""

    def __init__(self, url: str, model: str, *, temperature: float, timeout: float, retries: int, key: str) -> None:
        self.client = Client(url, key_variable=key, timeout=timeout)
        self.model, self.temperature, self.retries = model, temperature, retries

    @property
    def name(self) -> str:
        return f"{self.client.url}#{self.model}"

    def ask(self, messages: Chat, tools: Chat, *, seed: int) -> Reply:
        asked: dict[str, Any] = {
            "model": self.model, "messages": messages, "temperature": self.temperature, "seed": seed,
        }  # fmt: skip
        body = json.dumps(asked | ({"tools": tools} if tools else {}), ensure_ascii=False).encode()
        begun = time.monotonic()
        return _again(lambda: self._asked(body, begun), self.retries)

    def _asked(self, body: bytes, begun: float) -> Reply:
        try:
            data = self.client.post(PATH, body, most=MOST)
        except Refused as refused:
            if refused.status == 404:
                hint = f"is the model's name right? {FORMS}"
                raise UserError(f"{self.client.url}{PATH} answers 404", hint=hint) from refused
            if refused.status == 429 or refused.status >= 500:
                raise _AgainError(str(refused)) from refused
            said = one_line(refused.said)[:SAID]
            raise UnansweredError(f"{refused}: {said}" if said else str(refused)) from refused
        except Silent as silent:
            raise _AgainError(str(silent)) from silent
        return _reply(data, time.monotonic() - begun)


class CallableAssistant:
    """A Python function of (messages, tools) that returns a message in OpenAI's layout, or its text."""

    def __init__(self, function: Callable[..., Any], name: str, *, retries: int) -> None:
        self.function, self.name, self.retries = function, name, retries

    def ask(self, messages: Chat, tools: Chat, *, seed: int) -> Reply:
        del seed  # the function's own affair
        begun = time.monotonic()
        return _again(lambda: self._asked(messages, tools, begun), self.retries)

    def _asked(self, messages: Chat, tools: Chat, begun: float) -> Reply:
        try:
            answer = self.function(list(messages), list(tools))
        except UserError:
            raise
        except Exception as error:
            raise _AgainError(f"{type(error).__name__}") from error
        message = {"content": answer} if isinstance(answer, str) else answer
        seconds = time.monotonic() - begun
        return _checked(Reply(message, Usage(seconds=seconds)) if isinstance(message, dict) else None)


def assistant(
    name: str | Callable[..., Any], *, temperature: float, timeout: float, retries: int, key: str = KEY
) -> Assistant:
    """The assistant that a name stands for: `endpoint:URL#MODEL`, `module:function`; or a Python function."""
    if callable(name):
        return CallableAssistant(name, getattr(name, "__qualname__", type(name).__name__), retries=retries)
    address = name.removeprefix("endpoint:")
    if address.startswith(("http://", "https://")):
        url, _, model = address.partition("#")
        if "@" in url or "?" in url:
            raise UserError("a key in a server's address would end up in results", hint=f"put it into {key}")
        return EndpointAssistant(
            url, model or "default", temperature=temperature, timeout=timeout, retries=retries, key=key
        )
    return CallableAssistant(_function(name), name, retries=retries)


def _function(name: str) -> Callable[..., Any]:
    if ":" not in name or name.startswith("endpoint:"):
        raise UserError(f"'{name}' names no assistant", hint=FORMS)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a module beside the user, as with `python -m`
    try:
        function = imported(name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"'{name}' cannot be imported: {error}", hint=FORMS) from error
    if not callable(function):
        raise UserError(f"'{name}' is not a function", hint=FORMS)
    return function  # type: ignore[no-any-return]


class _AgainError(Exception):
    """Worth another try."""


def _again(ask: Callable[[], Reply], retries: int) -> Reply:
    reason = ""
    for attempt in range(retries + 1):
        try:
            return ask()
        except _AgainError as error:
            reason = str(error)
        if attempt < retries:
            time.sleep(PAUSE * 2**attempt)
    raise UnansweredError(reason)


def _reply(data: bytes, seconds: float) -> Reply:
    try:
        answer = json.loads(data)
        message = answer["choices"][0]["message"]
        spent = usage({"usage": answer.get("usage"), "seconds": seconds})
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise _AgainError(BROKEN) from error
    return _checked(Reply(message, spent) if isinstance(message, dict) else None)


def _checked(reply: Reply | None) -> Reply:
    """A reply that can be read as one message with text or calls."""
    try:
        if reply is not None and ((message := reply.read()).text or message.calls):
            return reply
    except UserError:
        pass
    raise _AgainError(BROKEN)
