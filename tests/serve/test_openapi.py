"""Everything that the OpenAPI description allows, and more, asked by schemathesis: no answer is a fault of ours.

`TROTH_CASES=5000 pytest tests/serve/test_openapi.py` asks that many; without it, 250.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.importorskip("schemathesis", reason="needs schemathesis")
pytest.importorskip("fastapi", reason="needs the extra 'serve'")
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.test_service import SETTINGS
from troth.serve import service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PATHS = 7
EXAMPLES = int(os.environ.get("TROTH_CASES", "250")) // PATHS

APP = service(SETTINGS)
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)
SCHEMA.config.generation.update(modes=list(schemathesis.GenerationMode))


@SCHEMA.include(method="POST").parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_no_answer_is_a_fault_of_ours(case: schemathesis.Case[Any]) -> None:
    case.call_and_validate(checks=CHECKS)
