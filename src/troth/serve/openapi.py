"""The OpenAPI description, made from the records that requests are decoded into and answers encoded from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from troth.core.groups import Group
from troth.serve.faithfulness import VerdictRule

JSON, LINES, EVENTS = "application/json", "application/x-ndjson", "text/event-stream"
LINES_ABOUT = "Lines of JSON: the first as in application/json, each further one a piece of the response."
SCHEME = {"type": "http", "scheme": "bearer", "description": "The key of the service, where it was started with one."}
REF = "#/components/schemas/{name}"
PROBLEMS = {
    401: "The key is missing or wrong.",
    403: "Pages of this site may not ask.",
    413: "The request is too long.",
    415: "The content type is not application/json.",
    421: "This is not a name of the service.",
    422: "The request does not fit; the line says why.",
    429: "Too many requests at a time.",
    503: "A model that is needed is not there, or not loaded yet.",
    504: "The time is up.",
}


class Problem(msgspec.Struct, frozen=True):
    """What went wrong, in one line."""

    detail: str


class ServiceState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of the service. `verdict`: what verdicts of /ground rest on; left out where it gives none."""

    status: str  # "ok", "ready" or "loading"
    version: str
    verdict: VerdictRule | None = None


def describe_state(otherwise: str | None = None) -> dict[str, Any]:
    """What FastAPI's description needs to know of a state of the service; `otherwise`: what 503 means."""
    refusal = {} if otherwise is None else {503: _content(ServiceState, otherwise)}
    return {"responses": {200: _content(ServiceState, "Yes."), **refusal}}


class ServedQuestion(NamedTuple):
    """Entry of one endpoint in the OpenAPI description.

    A question with `pieces` takes lines of JSON, first a request and then any number of pieces, and answers with
    server-sent events.
    """

    path: str
    about: str
    request: type
    answer: type
    pieces: type | None = None


def operation(question: ServedQuestion) -> dict[str, Any]:
    """What FastAPI's description needs to know of a question."""
    problems = {status: _content(Problem, about) for status, about in PROBLEMS.items()}
    body = {"required": True, **_content(question.request, question.request.__doc__ or "")}
    answer = _content(question.answer, "The answer.")
    if question.pieces is not None:
        line = {"anyOf": [{"$ref": REF.format(name=kind.__name__)} for kind in (question.request, question.pieces)]}
        body["content"][LINES] = {"schema": {"type": "string", "description": LINES_ABOUT}, "itemSchema": line}
        event = {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
        answer["content"] = {EVENTS: {"schema": event}}
    return {
        "operation_id": question.path.strip("/").replace("/", "_"),
        "responses": {200: answer, **problems},
        "openapi_extra": {"requestBody": body},
    }


def _content(kind: type, about: str) -> dict[str, Any]:
    return {"description": about, "content": {JSON: {"schema": {"$ref": REF.format(name=kind.__name__)}}}}


def _schema_of_group(kind: type) -> dict[str, Any]:
    if kind is Group:
        return {"type": "string"}
    raise NotImplementedError


def describe_api(app: FastAPI, questions: Sequence[ServedQuestion], *, key: bool) -> dict[str, Any]:
    """The whole description; it is made once. `key`: whether the service asks for one."""
    if app.openapi_schema is None:
        whole = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        kinds = [
            kind for question in questions for kind in (question.request, question.answer, question.pieces) if kind
        ]
        _, components = msgspec.json.schema_components(
            [*kinds, Problem, ServiceState], ref_template=REF, schema_hook=_schema_of_group
        )
        whole["components"] = {"schemas": components, "securitySchemes": {"key": SCHEME}}
        for operations in whole["paths"].values():
            for name, described in operations.items():
                described["security"] = [] if name == "get" else [{"key": []}] if key else [{}, {"key": []}]
        app.openapi_schema = whole
    return app.openapi_schema
