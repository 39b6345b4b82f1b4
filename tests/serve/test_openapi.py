"""Everything that the OpenAPI description allows, and more, asked by schemathesis: no answer is a fault of ours.

`python -m tests.serve.test_openapi 5000` asks that many; the tests ask some hundreds.
"""

from __future__ import annotations

import sys
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
PATHS = 5
EXAMPLES = int(sys.argv[1]) // PATHS if __name__ == "__main__" else 50

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


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
