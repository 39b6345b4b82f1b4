"""The OpenAPI description, made from the records that requests are decoded into and answers encoded from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from troth.core.groups import Group
from troth.serve.tasks import ServedTask

REF = "#/components/schemas/{name}"
PROBLEMS = {
    401: "The key is missing or wrong.",
    413: "The request is too long.",
    422: "The request does not fit; the line says why.",
    429: "Too many requests at a time.",
    503: "A model that is needed is not there.",
    504: "The time is up.",
}


class Problem(msgspec.Struct, frozen=True):
    """What went wrong, in one line."""

    detail: str


class Health(msgspec.Struct, frozen=True):
    status: str  # "ok"; a service that stops takes no connections
    version: str


def operation(task: ServedTask | None) -> dict[str, Any]:
    """What FastAPI's description needs to know of a task; None: of /health."""
    if task is None:
        return {"responses": {200: _content(Health, "Up.")}}
    problems = {status: _content(Problem, about) for status, about in PROBLEMS.items()}
    body = {"required": True, **_content(task.request, task.request.__doc__ or "")}
    return {
        "operation_id": task.path.strip("/"),
        "responses": {200: _content(task.answer, "The answer."), **problems},
        "openapi_extra": {"requestBody": body},
    }


def _content(kind: type, about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": {"$ref": REF.format(name=kind.__name__)}}}}


def _schema_of_group(kind: type) -> dict[str, Any]:
    if kind is Group:
        return {"type": "string"}
    raise NotImplementedError


def describe_api(app: FastAPI, tasks: Sequence[ServedTask], *, key: bool) -> dict[str, Any]:
    """The whole description; it is made once."""
    if app.openapi_schema is None:
        whole = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        kinds = [kind for task in tasks for kind in (task.request, task.answer)]
        _, components = msgspec.json.schema_components(
            [*kinds, Problem, Health], ref_template=REF, schema_hook=_schema_of_group
        )
        whole["components"] = {"schemas": components}
        if key:
            whole["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            whole["security"] = [{"key": []}]
        app.openapi_schema = whole
    return app.openapi_schema
