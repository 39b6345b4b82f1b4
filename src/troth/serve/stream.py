"""A response that is still being written, judged sentence by sentence: lines of JSON in, server-sent events out.

The first line is the document (and the history, and the beginning of the response, if there is one), each further line
`{"text": …}` adds to the response. A sentence is judged when the next one has begun. At the end the whole response is
judged, as `/ground` does it. Clients that cannot read while they write send one line.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
from fastapi import HTTPException, Request, Response
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from troth.core.decode import DECODING_ERRORS
from troth.core.encoding import encode_json
from troth.core.errors import UserError
from troth.serve.answering import Desk, Handler, check_key, internal_error
from troth.serve.faithfulness import GroundAnswer, GroundRequest
from troth.serve.observed import LEFT
from troth.serve.openapi import EVENTS
from troth.serve.tasks import ServedTask
from troth.text.courtesies import NO_CLAIM, claims_nothing
from troth.text.sentences import SentenceBuffer

PATH = "/ground/stream"


class StreamStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line: the document, what was said before, and the response as far as it is written."""

    document: str
    response: str = ""
    history: tuple[str, ...] = ()
    words: bool = False  # whether to say of every word if the document supports it
    signatures: bool = False  # whether to name the recipe of each score


class StreamPiece(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A further line: what was written next."""

    text: str


UNASKED = GroundAnswer((), reason=NO_CLAIM)


class SentenceEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence that is complete, where it starts in the response, and what `/ground` says of it."""

    sentence: str
    start: int
    answer: GroundAnswer


class EventStream(StreamingResponse):
    """Events that are sent while the body of the request is still read: nothing else may wait for messages."""

    media_type = EVENTS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await self.stream_response(send)


def answer_stream(desk: Desk, task: ServedTask) -> Handler:
    """The endpoint of responses that are still being written; `task`: that of /ground."""

    async def events(request: Request) -> AsyncIterator[bytes]:
        with desk.figures.accepted():
            try:
                async for event in judged(request):
                    yield event
            except HTTPException as problem:
                yield error_event(request, problem)
            except ClientDisconnect:
                request.state.status = LEFT
            except Exception:  # noqa: BLE001 (it is logged)
                yield error_event(request, internal_error(PATH, request))

    def error_event(request: Request, problem: HTTPException) -> bytes:
        request.state.status = problem.status_code  # for the log and the figures: the answer began with 200
        return _event("error", msgspec.json.encode({"status": problem.status_code, "detail": problem.detail}))

    async def judged(request: Request) -> AsyncIterator[bytes]:
        draft, start = SentenceBuffer(), None
        async for line in lines(request):
            try:
                if start is None:
                    start = msgspec.json.decode(line, type=StreamStart)
                    text = start.response
                else:
                    text = msgspec.json.decode(line, type=StreamPiece).text
            except DECODING_ERRORS as error:
                raise HTTPException(422, str(UserError(f"a line does not fit: {error}"))) from error
            for place, sentence in draft.add(text):
                yield await sentence_event(start, place, sentence)
        if start is None:
            raise HTTPException(422, "the request has no line")
        for place, sentence in draft.add("", last=True):
            yield await sentence_event(start, place, sentence)
        yield _event("end", encode_json(await ask(start, draft.text)))

    async def lines(request: Request) -> AsyncIterator[bytes]:
        async def chunks() -> AsyncIterator[bytes]:
            stream = request.stream()
            while True:
                try:
                    async with asyncio.timeout(desk.settings.timeout):
                        chunk = await anext(stream)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise HTTPException(504, f"nothing came for {desk.settings.timeout:g} seconds") from error
                request.state.bytes = getattr(request.state, "bytes", 0) + len(chunk)
                yield chunk

        async for line in _read_lines(chunks(), desk.settings.body):
            yield line

    async def sentence_event(start: StreamStart, place: int, sentence: str) -> bytes:
        return _sentence_event(sentence, place, UNASKED if claims_nothing(sentence) else await ask(start, sentence))

    async def ask(start: StreamStart, text: str) -> GroundAnswer:
        asked = GroundRequest(start.document, text, start.history, start.words, start.signatures)
        answer: GroundAnswer = await desk.score_item(task, asked, time.monotonic() + desk.settings.timeout)
        return answer

    async def answer(request: Request) -> Response:
        check_key(request, desk.settings.key)
        desk.check_room()
        return EventStream(events(request))

    return answer


def _sentence_event(sentence: str, place: int, answer: GroundAnswer) -> bytes:
    return _event("sentence", encode_json(SentenceEvent(sentence, place, answer)))


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def _read_lines(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The lines of a body as they come; blank ones are left out."""
    rest, size = b"", 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise HTTPException(413, f"the request is longer than {most} bytes")
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
    if rest.strip():
        yield rest
