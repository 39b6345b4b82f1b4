"""What the tools of an assistant do: which of them change something, and which of their calls failed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from troth.agents.sources import decode_json
from troth.core.decode import is_too_deep
from troth.core.text_cache import text_cache
from troth.core.trajectories import LocatedCall, Message, Tool, Trajectory
from troth.text.identifiers import split_identifier

# First words of names of tools that only look something up. What begins otherwise is taken to change something.
READING = frozenset((
    "ask", "browse", "calc", "calculate", "check", "compare", "compute", "convert", "count", "describe", "display",
    "download", "estimate", "explain", "fetch", "filter", "find", "get", "inspect", "is", "list", "load", "look",
    "lookup", "predict", "preview", "query", "read", "retrieve", "search", "show", "summarize", "think", "track",
    "validate", "verify", "view",
))  # fmt: skip
# The same of other languages, which often put the verb last: `bestellung_abrufen`.
READING_ELSEWHERE = frozenset((
    "abrufen", "anzeigen", "auflisten", "berechnen", "finden", "holen", "kontostand", "lesen", "pruefen", "prüfen",
    "suchen", "buscar", "calcular", "comprobar", "consultar", "listar", "mostrar", "obtener", "saldo", "ver",
))  # fmt: skip
HANDOFF = frozenset(("human", "agent", "agents", "operator"))  # `transfer_to_human_agents` changes nothing by itself

_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
# How the text of a failed call begins; "Failed transfers: 0" reports that none did.
_FAILED = re.compile(
    r"\s*(?:<[^>]{1,20}>\s*)?(?:errors?|exception|traceback|failed|invalid|unable to|cannot|can't|could not|"
    r"time(?:d )?out|(?:permission|access) denied|not found|http\s*[45]\d\d|"
    r"[45]\d\d (?:not found|bad request|unauthorized|forbidden|conflict|internal server error|service unavailable))\b"
    r"(?![\w ]{0,30}:\s*(?:0|none)\b)",
    re.IGNORECASE,
)
_WRAPPERS = ("data", "response", "result", "body", "output")  # fields that may hold the result itself
_HTTP_STATUS = ("status", "status_code", "statusCode", "http_status")
_ERROR_FIELDS = frozenset(("error", "errors", "isError", "success", "ok", "code", *_HTTP_STATUS))


def tool_words(name: str) -> list[str]:
    """The words and numbers in the name of a tool, in lower case; a prefix up to a double underscore counts."""
    return list(_tool_words(name))


@lru_cache(maxsize=4096)
def _tool_words(name: str) -> tuple[str, ...]:
    bare = name.rpartition(".")[2].replace("_", " ")
    return tuple(part for word in split_identifier(bare) for part in _LETTERS_OR_DIGITS.findall(word.lower()))


@dataclass(frozen=True)
class Toolbox:
    """The tools of one task by name; and, if the user says so, which of them change something."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    writing: Collection[str] | None = None  # None: as the definitions say, else by the first word of the name

    def writes(self, name: str) -> bool:
        """Whether a call of this tool changes something."""
        if self.writing is not None:
            return name in self.writing
        if (tool := self.tools.get(name)) is not None and tool.writes is not None:
            return tool.writes
        return _sounds_writing(name)

    @cached_property
    def schemas(self) -> dict[str, bytes | None]:
        """The schema of each tool's arguments as JSON; None if it is nested too deeply."""
        return {
            name: None if is_too_deep(tool.parameters) else msgspec.json.encode(tool.parameters)
            for name, tool in self.tools.items()
        }


@lru_cache(maxsize=4096)
def _sounds_writing(name: str) -> bool:
    """Whether a tool changes something, by the words of its name."""
    parts = tool_words(name)
    handoff = parts[:1] in (["transfer"], ["hand"], ["escalate"]) and not HANDOFF.isdisjoint(parts)
    reads = bool(parts and parts[0] in READING) or not READING_ELSEWHERE.isdisjoint(parts)
    return not reads and not handoff


def has_failed(trajectory: Trajectory, call: LocatedCall) -> bool:
    """Whether a call's result says that it failed. A call without a recorded result has not."""
    return call.result is not None and is_error(trajectory.messages[call.result])


def is_error(result: Message) -> bool:
    """Whether a tool's result is an error: marked as one, or by how it begins, or by an `error` in its JSON."""
    return result.error or _reports_error(result.text)


@text_cache
def _reports_error(text: str) -> bool:
    if _FAILED.match(text):
        return True
    value = decode_json(text)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return False
    return _has_error(value) or any(isinstance(value.get(key), dict) and _has_error(value[key]) for key in _WRAPPERS)


def _has_error(fields: Mapping[str, Any]) -> bool:
    """Whether the fields of a result say that the call failed."""
    if _ERROR_FIELDS.isdisjoint(fields):
        return False
    if fields.get("error") or fields.get("errors") or fields.get("isError") is True:
        return True
    if any(str(fields.get(key)).lower() == "false" for key in ("success", "ok")):
        return True
    codes = [fields.get(key) for key in _HTTP_STATUS] + ([fields.get("code")] if "message" in fields else [])
    return any(isinstance(code, int) and 400 <= code < 600 for code in codes)


def normalize_numbers(value: Any) -> Any:
    """A JSON value with integers in place of floats that equal them."""
    if isinstance(value, dict):
        return {name: normalize_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [normalize_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
