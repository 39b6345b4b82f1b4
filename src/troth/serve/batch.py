"""Many questions in one request. Each has its own status, so that a wrong one fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from fastapi import HTTPException, Request, Response

from troth.core.encoding import encode_json
from troth.core.errors import UserError, suggest_name
from troth.serve.answering import JSON, Desk, Handler, decode_request, internal_error, refuse_misfits, unless_left
from troth.serve.tasks import ServedTask

PATH = "/batch"


class BatchItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question by its path without the slash, such as `ground`, and the request that would be sent there."""

    question: str
    request: msgspec.Raw


class BatchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions of any kinds. Each counts as one request at a time."""

    items: tuple[BatchItem, ...]


class ItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The status that the question would have had alone, and its answer, or one line that says what is wrong."""

    status: int
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    detail: str | None = None


class BatchAnswer(msgspec.Struct, frozen=True):
    """The answers in the order of the questions."""

    answers: tuple[ItemAnswer, ...]


def answer_batch(desk: Desk, tasks: Mapping[str, ServedTask]) -> Handler:
    """The endpoint of many questions; `tasks` by the names of their questions."""

    async def answer_item(request: Request, item: BatchItem, deadline: float) -> ItemAnswer:
        try:
            if (task := tasks.get(item.question)) is None:
                hint = suggest_name(item.question, tasks) or f"one of: {', '.join(tasks)}"
                raise HTTPException(422, str(UserError(f"no question '{item.question}'", hint=hint)))
            answer = await desk.score(task, bytes(item.request), deadline)
            return ItemAnswer(200, msgspec.Raw(encode_json(answer)))
        except HTTPException as problem:
            return ItemAnswer(problem.status_code, detail=str(problem.detail))
        except Exception:  # noqa: BLE001 (of this question alone; it is logged)
            own = internal_error(PATH, request)
            return ItemAnswer(own.status_code, detail=str(own.detail))

    async def work(request: Request, deadline: float) -> Response:
        body = await desk.read(request, deadline)
        with refuse_misfits():
            asked = decode_request(body, BatchRequest)
        most = desk.settings.concurrency
        if not 0 < len(asked.items) <= most:
            raise HTTPException(422, f"a batch has 1 to {most} items, not {len(asked.items)}")
        further = len(asked.items) - 1  # the request itself is counted
        desk.check_room(further)
        with desk.figures.accepted(further):
            answers = await unless_left(request, answer_items(request, asked.items, deadline))
        return Response(encode_json(BatchAnswer(answers)), media_type=JSON)

    async def answer_items(request: Request, items: Sequence[BatchItem], deadline: float) -> tuple[ItemAnswer, ...]:
        return tuple(await asyncio.gather(*(answer_item(request, item, deadline) for item in items)))

    return desk.endpoint(PATH, work)
