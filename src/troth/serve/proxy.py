"""An OpenAI-compatible server behind this one: its answers are checked before they are passed on.

A chat request is forwarded as it is. Each answer is checked by the rules of `/agent`, and its text by `/ground` against
the tool results and passages of its conversation. The verdict is a header, or an answer that is found unfaithful is
blocked. An answer that cannot be checked is passed on as `unknown`. What is streamed is collected first, since a header
comes before the text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import httpx
import msgspec
from fastapi import HTTPException, Request, Response

from troth.core.decode import DECODING_ERRORS
from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.readers.grounded import chat
from troth.readers.source import Document
from troth.serve.answering import JSON, Desk, Handler, internal_error, refuse_misfits, unless_left
from troth.serve.faithfulness import GroundAnswer, GroundRequest
from troth.serve.tasks import NO_FAULT, AgentAnswer, AgentRequest, ServedTask, TalkFinding

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
VERDICT, FINDINGS = "X-Troth-Faithful", "X-Troth-Findings"
KEY = "TROTH_PROXY_KEY"  # environment variable: the key of the server behind this one
BLOCKED = "the answer is not supported by its conversation"
NO_EVIDENCE = "the conversation has no tool results or passages to check the answer against"
NO_MESSAGES = "'messages' is not a list"
NO_RULE = "needs a rule that gives verdicts"
NO_RULE_HINT = "give a calibration or a threshold, or leave out metrics for troth's own calibration"
NAMES = {True: "true", False: "false", None: "unknown"}


class CheckedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What both checks say of an answer. `faithful` is left out where a check that is needed gives no verdict."""

    faithful: bool | None = None
    talk: tuple[TalkFinding, ...] = ()  # findings of /agent about this answer
    document: GroundAnswer | None = None  # what /ground says, where there are results or passages
    reason: str | None = None  # why there is no verdict

    @property
    def number(self) -> int:
        """Number of findings."""
        return len(self.talk) + (0 if self.document is None else len(self.document.findings))


class Upstream(NamedTuple):
    """The server behind this one."""

    url: str
    key: str | None = None

    def headers(self, request: Request, own_key: str | None) -> dict[str, str]:
        """Its own key, else what the client sent; never the key of this service."""
        headers = {"Content-Type": JSON, "Accept-Encoding": "identity"}
        sent = request.headers.get("authorization") if own_key is None else None
        key = sent if self.key is None else f"Bearer {self.key}"
        return headers if key is None else headers | {"Authorization": key}


class Proxy:
    """Forwards chat requests and checks their answers."""

    def __init__(self, desk: Desk, tasks: Mapping[str, ServedTask], upstream: Upstream, *, block: bool) -> None:
        """`tasks`: by the names of their questions. `block`: refuse answers that are found unfaithful."""
        self.desk, self.ground, self.agent = desk, tasks["ground"], tasks["agent"]
        self.upstream, self.block = upstream, block
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
        self._http = None

    def answer_chat(self) -> Handler:
        async def work(request: Request, deadline: float) -> Response:
            body = await self.desk.read(request, deadline)
            asked = _decode_object(body)
            reply = await self._forward(request, body, deadline)
            if reply.status_code != 200:
                return _pass_on(reply)
            checked = [await self._check(request, asked, message, deadline) for message in answers_of(reply)]
            faithful = combine([one.faithful for one in checked])
            headers = {VERDICT: NAMES[faithful], FINDINGS: str(sum(one.number for one in checked))}
            if self.block and faithful is False:
                error = {"message": BLOCKED, "type": "unfaithful_answer", "param": None, "code": "unfaithful_answer"}
                return Response(encode_json({"error": error, "troth": checked}), 422, headers, JSON)
            return _pass_on(reply, headers)

        return self.desk.endpoint(CHAT, work)

    def answer_models(self) -> Handler:
        async def work(request: Request, deadline: float) -> Response:
            return _pass_on(await self._forward(request, None, deadline))

        return self.desk.endpoint(MODELS, work)

    async def _forward(self, request: Request, body: bytes | None, deadline: float) -> httpx.Response:
        """The answer of the server behind this one, if it comes in time and the client waits for it."""
        path = CHAT if body is not None else MODELS
        query = f"?{request.url.query}" if request.url.query else ""
        self._http = self._http or httpx.AsyncClient(timeout=None)  # noqa: S113 (the deadline holds for everything)
        asking = self._http.request(
            "GET" if body is None else "POST", self.upstream.url.rstrip("/") + path.removeprefix("/v1") + query,
            content=body, headers=self.upstream.headers(request, self.desk.settings.key),
        )  # fmt: skip
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                return await unless_left(request, asking)
        except TimeoutError as error:
            raise self.desk.out_of_time() from error
        except httpx.HTTPError as error:
            raise HTTPException(502, f"the server behind the proxy: {type(error).__name__}") from error

    async def _check(
        self, request: Request, asked: Mapping[str, Any], message: dict[str, Any], deadline: float
    ) -> CheckedAnswer:
        """What both checks say of one answer. A check that fails is a reason, and no verdict."""
        if not isinstance(earlier := asked.get("messages"), list):
            return CheckedAnswer(reason=NO_MESSAGES)
        messages = [*earlier, message]
        talk, document, reasons = AgentAnswer(), None, []
        try:
            with refuse_misfits():
                item = msgspec.convert({"messages": messages, "tools": asked.get("tools") or ()}, AgentRequest)
            talk = await self.desk.score_item(self.agent, item, deadline)
            with refuse_misfits():
                grounds = ground_request(messages)
            if grounds is not None:
                document = await self.desk.score_item(self.ground, grounds, deadline)
        except HTTPException as problem:
            reasons.append(str(problem.detail))
        except Exception:  # noqa: BLE001 (it is logged; the answer is passed on)
            reasons.append(str(internal_error(CHAT, request).detail))
        last = [finding for finding in talk.findings if finding.message == len(messages) - 1]
        own = tuple(finding for finding in last if finding.kind not in NO_FAULT)
        verdicts = [None if talk.faithful is None else not own]
        if not is_call(message):
            verdicts.append(None if document is None else document.faithful)
            if document is not None:
                reasons.append(document.reason or "")
            elif not reasons:
                reasons.append(NO_EVIDENCE)
        return CheckedAnswer(
            combine(verdicts), own, document, "; ".join(filter(None, [*reasons, talk.reason])) or None
        )  # fmt: skip


def combine(verdicts: Sequence[bool | None]) -> bool | None:
    """The verdict on all answers of a reply: unfaithful where one is, unknown where one is not known."""
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


def is_call(message: Mapping[str, Any]) -> bool:
    """Whether a message calls tools and says nothing."""
    return bool(message.get("tool_calls") or message.get("function_call")) and not message.get("content")


def ground_request(messages: Sequence[Any]) -> GroundRequest | None:
    """The last message against all results and passages before it; None where there are none, or it has no text."""
    document = Document("request", msgspec.json.encode({"id": "request", "messages": messages}))
    records = [record for record in chat.read(document, ("tools",)) if record.id == f"request/{len(messages) - 1}"]
    if not records or not records[0].document:
        return None
    return GroundRequest(records[0].document, records[0].response, records[0].history)


def answers_of(reply: httpx.Response) -> list[dict[str, Any]]:
    """The messages of a reply, one for each choice; of a stream, put together from its pieces.

    None at all where one cannot be read: a verdict would not be about the whole reply.
    """
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        return _join_stream(reply.content)
    try:
        choices = msgspec.json.decode(reply.content, type=_Reply).choices
    except DECODING_ERRORS:
        return []
    return [{"role": "assistant", **choice.message} for choice in choices]


class _Choice(msgspec.Struct):
    message: dict[str, Any]


class _Reply(msgspec.Struct):
    choices: list[_Choice]


def _join_stream(data: bytes) -> list[dict[str, Any]]:
    messages: dict[int, dict[str, Any]] = {}
    for line in data.split(b"\n"):
        if not line.startswith(b"data:") or line.strip().endswith(b"[DONE]"):
            continue
        try:
            event = msgspec.json.decode(line.removeprefix(b"data:"), type=dict[str, Any])
            for choice in event.get("choices") or ():
                message = messages.setdefault(choice.get("index", 0), {"role": "assistant", "content": ""})
                delta = choice.get("delta") or {}
                message["content"] += delta.get("content") or ""
                for call in delta.get("tool_calls") or ():
                    _add_call(message.setdefault("tool_calls", []), call)
        except (*DECODING_ERRORS, AttributeError, TypeError, LookupError):
            return []
    return list(messages.values())


def _add_call(calls: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    place = piece.get("index", len(calls))
    while len(calls) <= min(place, 100):
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call, function = calls[place], piece.get("function") or {}
    call["id"] = piece.get("id") or call["id"]
    for name in ("name", "arguments"):
        call["function"][name] += function.get(name) or ""


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except DECODING_ERRORS as error:
        raise HTTPException(422, str(UserError(f"the request does not fit: {error}"))) from error


def _pass_on(reply: httpx.Response, headers: Mapping[str, str] | None = None) -> Response:
    kept = {name: reply.headers[name] for name in ("Retry-After",) if name in reply.headers}
    kind = reply.headers.get("content-type", JSON)
    return Response(reply.content, reply.status_code, {**kept, **(headers or {}), "Content-Type": kind})
