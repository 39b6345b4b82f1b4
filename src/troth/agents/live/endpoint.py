"""Assistants that can be asked live: a model behind an OpenAI-compatible server, or a Python function.

An assistant gets messages and tools in OpenAI's layout and returns the next message. A request that fails, times out
or gets a malformed answer is retried with growing pauses; after the last retry it raises `UnansweredError`, which the
caller counts and the next run asks again.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from troth.agents.live.budget import Budget, UnansweredError
from troth.core.errors import UserError, one_line
from troth.core.registry import import_path
from troth.core.trajectories import Message, Usage
from troth.models.client import (
    Client,
    MalformedAnswerError,
    NoResponseError,
    RefusedError,
    ServerError,
    parse_address,
    parse_completion,
    retry,
    run_in_background,
)  # fmt: skip
from troth.readers.trajectories.messages import messages as read_messages
from troth.readers.trajectories.messages import usage
from troth.storage.files import sha256

KEY = "OPENAI_API_KEY"
MAX_BYTES = 8_000_000  # of an answer
MAX_TOKENS = 512  # of an answer of a model in this process
SAID = 100  # characters of a refusal that are part of the reason
FORMS = "endpoint:http://HOST:PORT/v1#MODEL, gguf:FILE, or module:function"
BROKEN = "broken answer"

Chat = Sequence[Mapping[str, Any]]  # messages, or tools, in OpenAI's layout


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An assistant's next message, in OpenAI's layout, and what it has cost."""

    message: dict[str, Any]
    usage: Usage | None = None

    def read(self) -> Message:
        """The message as a record; UserError where it is none."""
        read = read_messages([{**self.message, "role": "assistant"}])
        if len(read) != 1:
            raise UserError("the answer is not a single message")
        return msgspec.structs.replace(read[0], usage=self.usage)


class Assistant(Protocol):
    """Anything that continues a conversation."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """What must be equal to resume a run: the name and, of a function, a digest of its code."""
        ...

    def ask(self, messages: Chat, tools: Chat, *, seed: int, budget: Budget) -> Reply:
        """The next message; raises UnansweredError. Every request is charged to the budget."""
        ...


class EndpointAssistant:
    """A model behind an OpenAI-compatible server. Timeouts and malformed answers are retried as well."""

    def __init__(self, url: str, model: str, *, temperature: float, timeout: float, retries: int, key: str) -> None:
        retry_on = (NoResponseError, MalformedAnswerError)
        self.client = Client(url, key_variable=key, timeout=timeout, retries=retries, retry_on=retry_on)
        self.model, self.temperature = model, temperature

    @property
    def name(self) -> str:
        return f"{self.client.url}#{self.model}"

    @property
    def identity(self) -> str:
        return self.name

    def ask(self, messages: Chat, tools: Chat, *, seed: int, budget: Budget) -> Reply:
        request: dict[str, Any] = {
            "model": self.model, "messages": messages, "temperature": self.temperature, "seed": seed,
        }  # fmt: skip
        body = json.dumps(request | ({"tools": tools} if tools else {}), ensure_ascii=False).encode()
        begun = time.monotonic()

        def parse(data: bytes) -> Reply:
            reply = None
            try:
                reply = _parse_reply(data, begun)
            finally:  # a broken answer has a price, too
                budget.settle(len(body), len(data), None if reply is None else reply.usage)
            return reply

        try:
            return self.client.chat(body, parse=parse, before=lambda: budget.charge(len(body)), max_bytes=MAX_BYTES)
        except ServerError as error:
            text = one_line(error.text)[:SAID] if isinstance(error, RefusedError) and not error.temporary else ""
            raise UnansweredError(f"{error}: {text}" if text else str(error)) from error


class CallableAssistant:
    """A Python function of (messages, tools) that returns a message in OpenAI's layout, or its text; also `async`."""

    def __init__(self, function: Callable[..., Any], name: str, *, retries: int) -> None:
        self.function, self.name, self.retries = function, name, retries

    @property
    def identity(self) -> str:
        return f"{self.name}#{_code_digest(self.function)}"

    def ask(self, messages: Chat, tools: Chat, *, seed: int, budget: Budget) -> Reply:
        del seed  # the function decides about randomness itself
        begun, sent = time.monotonic(), len(json.dumps([messages, tools], default=str))

        def attempt() -> Reply:
            budget.charge(sent)
            reply = self._call(messages, tools, begun)
            budget.settle(sent, len(json.dumps(reply.message)), reply.usage)
            return reply

        try:
            return retry(attempt, self.retries, (MalformedAnswerError,))
        except ServerError as error:
            raise UnansweredError(str(error)) from error

    def _call(self, messages: Chat, tools: Chat, begun: float) -> Reply:
        try:
            answer = self.function(list(messages), list(tools))
            if inspect.iscoroutine(answer):
                answer = run_in_background(answer)
        except UserError:
            raise
        except Exception as error:
            raise ServerError(type(error).__name__, temporary=True) from error
        message = {"content": answer} if isinstance(answer, str) else answer
        return _check_reply(message, Usage(seconds=time.monotonic() - begun))


class LocalAssistant:
    """A model in a GGUF file, asked in this process, one request at a time."""

    def __init__(self, name: str, *, temperature: float) -> None:
        from troth.models.gguf import GgufLm

        self.model, self.temperature, self._lock = GgufLm.from_name(name), temperature, threading.Lock()
        self.name, self.identity = self.model.name, self.model.identity

    def ask(self, messages: Chat, tools: Chat, *, seed: int, budget: Budget) -> Reply:
        begun, sent = time.monotonic(), len(json.dumps([messages, tools]))
        budget.charge(sent)
        with self._lock:
            message = self.model.chat(messages, tools, temperature=self.temperature, seed=seed, max_tokens=MAX_TOKENS)
        spent = usage({"usage": message.pop("usage"), "seconds": time.monotonic() - begun})
        budget.settle(sent, len(json.dumps(message)), spent)
        try:
            return _check_reply(message, spent)
        except ServerError as error:
            raise UnansweredError(str(error)) from error


def open_assistant(
    name: str | Callable[..., Any], *, temperature: float, timeout: float, retries: int, key: str = KEY
) -> Assistant:
    """The assistant of a name: `endpoint:URL#MODEL`, `gguf:FILE`, `module:function`; or a Python function."""
    if callable(name):
        return CallableAssistant(name, getattr(name, "__qualname__", type(name).__name__), retries=retries)
    address = name.removeprefix("endpoint:")
    if address.startswith(("http://", "https://")):
        url, model = parse_address(address, key)
        return EndpointAssistant(
            url, model or "default", temperature=temperature, timeout=timeout, retries=retries, key=key
        )
    if name.startswith("gguf:"):
        return LocalAssistant(name, temperature=temperature)
    return CallableAssistant(_function(name), name, retries=retries)


def _code_digest(function: Callable[..., Any]) -> str:
    """A digest of the file that defines a function, or the class of a callable object; "" where there is no file."""
    definition = function if inspect.isroutine(function) else type(function)
    with suppress(OSError, TypeError):
        if file := inspect.getsourcefile(inspect.unwrap(definition)):
            return sha256(Path(file))[:16]
    return ""


def _function(name: str) -> Callable[..., Any]:
    if ":" not in name or name.startswith("endpoint:"):
        raise UserError(f"'{name}' is not the name of an assistant", hint=FORMS)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a module beside the user, as with `python -m`
    try:
        function = import_path(name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"'{name}' cannot be imported: {error}", hint=FORMS) from error
    if not callable(function):
        raise UserError(f"'{name}' is not a function", hint=FORMS)
    return function  # type: ignore[no-any-return]


def _parse_reply(data: bytes, begun: float) -> Reply:
    try:
        answer = parse_completion(data)
        spent = usage({"usage": answer.usage or None, "seconds": time.monotonic() - begun})
    except (ServerError, ValueError, TypeError, AttributeError) as error:
        raise MalformedAnswerError(BROKEN) from error
    return _check_reply(answer.message, spent)


def _check_reply(message: Any, spent: Usage | None) -> Reply:
    """A reply that can be read as one message with text or calls; raises MalformedAnswerError for any other."""
    if isinstance(message, dict):
        reply = Reply(message, spent)
        with suppress(UserError, ValueError, RecursionError, TypeError):
            json.dumps(message, allow_nan=False)  # NaN is not JSON, and the journal would store it as null
            msgspec.json.encode(reply)  # as the journal stores it; half a surrogate pair has no UTF-8
            if (read := reply.read()).text or read.calls:
                return reply
    raise MalformedAnswerError(BROKEN)
