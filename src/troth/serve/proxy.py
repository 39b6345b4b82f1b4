"""An OpenAI-compatible server behind this one: its answers are checked before they are passed on.

A chat request is forwarded as it is. Each answer is checked against the tool results and passages of its conversation:
by the rules of `/agent`, and by `/ground` where the conversation has results or passages. The verdict is a header, or
an answer that is found unfaithful is blocked. An answer that cannot be checked is passed on as `unknown`. What is
streamed is collected first, since a header comes before the text.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import httpx
import msgspec
from fastapi import HTTPException, Request, Response

from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.readers.grounded import chat
from troth.readers.source import Document
from troth.serve.answering import JSON, Desk, Handler, internal_error, unless_left
from troth.serve.faithfulness import GroundAnswer, GroundRequest
from troth.serve.tasks import NO_FAULT, AgentAnswer, AgentRequest, ServedTask, TalkFinding

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
VERDICT, FINDINGS = "X-Troth-Faithful", "X-Troth-Findings"
KEY = "TROTH_PROXY_KEY"  # environment variable: the key of the server behind this one
LONGEST = 600.0  # seconds for an answer of the server behind this one
BLOCKED = "the answer is not supported by its conversation"
NAMES = {True: "true", False: "false", None: "unknown"}


class CheckedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What both checks say of an answer. `faithful` is left out where neither can tell."""

    faithful: bool | None = None
    talk: tuple[TalkFinding, ...] = ()  # findings of /agent about this answer
    document: GroundAnswer | None = None  # what /ground says, where there are results or passages
    reason: str | None = None  # why a check was not made

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
            reply = await unless_left(request, self._forward(request, body))
            if reply.status_code != 200:
                return _pass_on(reply)
            checked = [await self._check(request, asked, message) for message in answers_of(reply)]
            faithful = combine([one.faithful for one in checked])
            headers = {VERDICT: NAMES[faithful], FINDINGS: str(sum(one.number for one in checked))}
            if self.block and faithful is False:
                error = {"message": BLOCKED, "type": "unfaithful_answer", "param": None, "code": "unfaithful_answer"}
                return Response(encode_json({"error": error, "troth": checked}), 422, headers, JSON)
            return _pass_on(reply, headers)

        return self.desk.endpoint(CHAT, work)

    def answer_models(self) -> Handler:
        async def work(request: Request, _: float) -> Response:
            return _pass_on(await self._forward(request, None))

        return self.desk.endpoint(MODELS, work)

    async def _forward(self, request: Request, body: bytes | None) -> httpx.Response:
        path = CHAT if body is not None else MODELS
        self._http = self._http or httpx.AsyncClient(timeout=LONGEST)
        try:
            return await self._http.request(
                "GET" if body is None else "POST", self.upstream.url.rstrip("/") + path.removeprefix("/v1"),
                content=body, headers=self.upstream.headers(request, self.desk.settings.key),
            )  # fmt: skip
        except httpx.HTTPError as error:
            raise HTTPException(502, f"the server behind the proxy: {type(error).__name__}") from error

    async def _check(self, request: Request, asked: Mapping[str, Any], message: dict[str, Any]) -> CheckedAnswer:
        """What both checks say of one answer. A check that fails is a reason, and no verdict."""
        messages = [*asked.get("messages", ()), message]
        deadline = time.monotonic() + self.desk.settings.timeout
        talk, document, reasons = AgentAnswer(), None, []
        try:
            item = AgentRequest(tuple(messages), tuple(asked.get("tools") or ()))
            talk = await self.desk.score_item(self.agent, item, deadline)
            if (grounds := ground_request(messages)) is not None:
                document = await self.desk.score_item(self.ground, grounds, deadline)
        except HTTPException as problem:
            reasons.append(str(problem.detail))
        except (UserError, TypeError, ValueError) as error:  # a conversation of an unknown shape
            reasons.append(str(UserError(f"the conversation cannot be read: {error}")))
        except Exception:  # noqa: BLE001 (it is logged; the answer is passed on)
            reasons.append(str(internal_error(CHAT, request).detail))
        last = [finding for finding in talk.findings if finding.message == len(messages) - 1]
        own = tuple(finding for finding in last if finding.kind not in NO_FAULT)
        said = None if talk.faithful is None else not own
        verdicts = [said] if document is None else [said, document.faithful]
        known = [verdict for verdict in verdicts if verdict is not None]
        faithful = all(known) if known else None
        return CheckedAnswer(faithful, own, document, "; ".join(filter(None, [*reasons, talk.reason])) or None)


def combine(verdicts: Sequence[bool | None]) -> bool | None:
    """The verdict on all answers of a reply: unfaithful where one is, unknown where one is not known."""
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


def ground_request(messages: Sequence[dict[str, Any]]) -> GroundRequest | None:
    """The last message against everything before it; None where there is no result or passage, or no text."""
    if not any(message.get("role") in chat.RESULTS for message in messages[:-1]):
        return None
    document = Document("request", msgspec.json.encode({"id": "request", "messages": messages}))
    records = [record for record in chat.read(document) if record.id == f"request/{len(messages) - 1}"]
    if not records:
        return None
    return GroundRequest(records[0].document, records[0].response, records[0].history)


def answers_of(reply: httpx.Response) -> list[dict[str, Any]]:
    """The messages of a reply, one for each choice; of a stream, put together from its pieces."""
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        return _join_stream(reply.content)
    try:
        choices = msgspec.json.decode(reply.content, type=dict[str, Any]).get("choices")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    found = [choice.get("message") for choice in choices or () if isinstance(choice, dict)]
    return [{"role": "assistant", **message} for message in found if isinstance(message, dict)]


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
        except (msgspec.DecodeError, UnicodeDecodeError, AttributeError, TypeError, LookupError):
            return []
    return [message for _, message in sorted(messages.items())]


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(422, str(UserError(f"the request does not fit: {error}"))) from error


def _pass_on(reply: httpx.Response, headers: Mapping[str, str] | None = None) -> Response:
    kind = reply.headers.get("content-type", JSON)
    return Response(reply.content, reply.status_code, {**(headers or {}), "Content-Type": kind})
