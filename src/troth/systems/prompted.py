"""Trackers without training: a language model is asked for the state as JSON, with the schema in the prompt.

The schema comes first and is the same for all turns of its services. A local model reads it once and reuses the cached
keys and values of attention for every turn. A server is asked for JSON with a schema of the answer, or for tool calls,
and caches prompts itself. Answers that are not valid JSON are repaired as far as possible (`repair_json`).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Literal

from troth.core.records import Service, State
from troth.models import backends, hub
from troth.models.batches import group_indexes, padded_tensors, replace_surrogates
from troth.models.endpoint import EndpointLm
from troth.models.protocols import Lm
from troth.storage.files import digest_tree
from troth.systems.data import TrackerTurn
from troth.systems.recipe import Recipe, StatelessTracker, TrackerModel
from troth.systems.states import dialogue_text, restrict_state

Form = Literal["prompt", "tools"]
ASK = (
    "Track what the user wants. Answer with one line of JSON: for each service the active intent, the values of slots "
    "that the user has given or accepted so far, and the slots that the user asks for in the last turn. "
    'Values are copied from the dialogue; "dontcare" where the user has no preference.'
)
CACHED = 4  # prefixes whose keys and values are cached
BATCH = 8  # turns per batch


class PromptedModel(StatelessTracker):
    """A tracker that asks a language model; nothing is trained."""

    def __init__(self, lm: Lm | SharedPrefixLm | EndpointLm, form: Form, answer: int) -> None:
        self.lm, self.form, self.answer = lm, form, answer

    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        asked = [(prefix(turn.services, self.form), question(turn)) for turn in turns]
        if isinstance(self.lm, EndpointLm):
            with ThreadPoolExecutor(self.lm.parallel) as pool:
                answers = list(pool.map(self._ask_server, turns))
        elif isinstance(self.lm, SharedPrefixLm):
            answers = self.lm.answers(asked, self.answer)
        else:
            answers = self.lm.generate(["".join(parts) for parts in asked], max_tokens=self.answer)
        return [states_of(repair_json(text), turn.services) for text, turn in zip(answers, turns, strict=True)]

    def _ask_server(self, turn: TrackerTurn) -> str:
        """A server's answer as text: JSON by its schema, or calls of tools as one JSON object."""
        assert isinstance(self.lm, EndpointLm)
        messages = [
            {"role": "system", "content": ASK if self.form == "tools" else prefix(turn.services, "prompt")},
            {"role": "user", "content": dialogue_text(turn)},
        ]
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": self.answer}
        if self.form == "tools":
            options |= {"tools": tools(turn.services), "tool_choice": "required"}
        else:
            layout = {"name": "states", "schema": answer_schema(turn.services)}
            options["response_format"] = {"type": "json_schema", "json_schema": layout}
        message = self.lm.chat(messages, **options)
        return _join_calls(message) or str(message.get("content") or "")


def _join_calls(message: Mapping[str, Any]) -> str:
    """The tool calls of a message as one JSON object; empty if there are none."""
    states: dict[str, Any] = {}
    for call in message.get("tool_calls") or ():
        function = call.get("function", {}) if isinstance(call, dict) else {}
        states[str(function.get("name"))] = repair_json(str(function.get("arguments", "")))
    return json.dumps(states) if states else ""


def prefix(services: Sequence[Service], form: Form) -> str:
    """The instruction and the schema: the same for all turns of these services."""
    if form == "tools":
        return f"{ASK}\nTools: {json.dumps(tools(services), ensure_ascii=False)}\n"
    lines = [ASK]
    for service in services:
        lines.append(f"Service {service.name}: {service.description}")
        lines += [f"  intent {intent.name}: {intent.description}" for intent in service.intents]
        for slot in service.slots:
            values = f" (one of: {', '.join(slot.possible_values)})" if slot.is_categorical else ""
            lines.append(f"  slot {slot.name}: {slot.description}{values}")
    example = {service.name: {"intent": "…", "slots": {"…": "…"}, "requested": ["…"]} for service in services}
    return "\n".join([*lines, f"Layout: {json.dumps(example, ensure_ascii=False)}", ""])


def question(turn: TrackerTurn) -> str:
    return f"Dialogue: {dialogue_text(turn)}\nJSON: "


def answer_schema(services: Sequence[Service]) -> dict[str, Any]:
    each = {service.name: _state_schema(service) for service in services}
    return {"type": "object", "properties": each, "required": list(each), "additionalProperties": False}


def _state_schema(service: Service) -> dict[str, Any]:
    slots: dict[str, Any] = {}
    for slot in service.slots:
        slots[slot.name] = {"type": "string", "description": slot.description}
        if slot.is_categorical:
            slots[slot.name]["enum"] = [*dict.fromkeys((*slot.possible_values, "dontcare"))]
    names = {"type": "string", "enum": [slot.name for slot in service.slots]}
    fields = {
        "intent": {"type": "string", "enum": [*(intent.name for intent in service.intents), "NONE"]},
        "slots": {"type": "object", "properties": slots, "additionalProperties": False},
        "requested": {"type": "array", "items": names},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def tools(services: Sequence[Service]) -> list[dict[str, Any]]:
    """The services as function definitions: one tool each, whose arguments are the state."""
    return [
        {"type": "function", "function": {"name": service.name, "description": service.description,
                                          "parameters": _state_schema(service)}}
        for service in services
    ]  # fmt: skip


def states_of(answer: object, services: Sequence[Service]) -> dict[str, State]:
    """The states in an answer, restricted to the schema."""
    whole = answer if isinstance(answer, dict) else {}
    states = {}
    for service in services:
        # A model that is asked about one service may omit its name.
        part = whole.get(service.name, whole if len(services) == 1 else {})
        part = part if isinstance(part, dict) else {}
        slots = part.get("slots", part)
        slots = slots if isinstance(slots, dict) else {}
        values = {str(name): _text(value) for name, value in slots.items()}
        requested = part.get("requested")
        asked = [str(slot) for slot in requested] if isinstance(requested, list) else []
        states[service.name] = restrict_state(service, values, intent=str(part.get("intent", "")), requested=asked)
    return states


def _text(value: object) -> str:
    value = value[0] if isinstance(value, list) and value else value
    return str(value) if isinstance(value, str | int | float | bool) else ""


def repair_json(text: str) -> Any:
    """Parses the JSON object in a text that may have prose around it, wrong quotes, extra commas, or be cut off."""
    start = text.find("{")
    if start < 0:
        return {}
    body = text[start:]
    for attempt in (body, _close_brackets(body), _close_brackets(_plain_quotes(body))):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(re.sub(r",\s*([}\]])", r"\1", attempt))
        except (ValueError, RecursionError):
            continue
        return value
    return {}


def _plain_quotes(text: str) -> str:
    curly = text.translate(str.maketrans("“”‘’", "\"\"''"))
    named = {"True": "true", "False": "false", "None": "null"}
    words = re.sub(r"\b(True|False|None)\b(?=\s*[,}\]])", lambda word: named[word[0]], curly)
    return re.sub(r"(?<=[{\[,:\s])'|'(?=\s*[}\],:])", '"', words)


def _close_brackets(text: str) -> str:
    """The text cut after the last complete member, with all open brackets closed."""
    closing: list[str] = []
    quoted = escaped = False
    whole = ""  # the longest prefix that ends with a complete member, closed
    for index, character in enumerate(text):
        if quoted:
            escaped = character == "\\" and not escaped
            if character == '"' and not escaped:
                quoted = False
            continue
        if character == '"':
            quoted = True
        elif character in "{[":
            closing.append("}" if character == "{" else "]")
            whole = text[: index + 1] + "".join(reversed(closing))
        elif character in "}]" and closing:
            closing.pop()
            whole = text[: index + 1] + "".join(reversed(closing))
            if not closing:
                return whole
        elif character == ",":
            whole = text[:index] + "".join(reversed(closing))
    return whole


class SharedPrefixLm:
    """A decoder that reads the beginning of its prompts once and takes it up for each of them."""

    def __init__(self, folder: Path, *, share: bool = True) -> None:
        files = hub.ModelFiles(str(folder), lambda: folder)
        self.tokenizer, self.module = hub.load(files, "AutoModelForCausalLM")
        self.share = share  # whether the prefix is read once; False only for benchmarks
        self._cached: dict[str, tuple[list[int], Any]] = {}
        line = self.tokenizer("\n", add_special_tokens=False)["input_ids"]
        ends = [self.tokenizer.eos_token_id, *(line if len(line) == 1 else [])]
        self.ends = [token for token in ends if token is not None]

    def answers(self, asked: Sequence[tuple[str, str]], most: int) -> list[str]:
        """One line of text after each (prefix, question)."""
        answers = [""] * len(asked)
        for indexes in group_indexes(prefix for prefix, _ in asked):
            prefix = asked[indexes[0]][0]
            indexes.sort(key=lambda index: len(asked[index][1]))  # questions of similar length need little padding
            for start in range(0, len(indexes), BATCH):
                batch = indexes[start : start + BATCH]
                for index, text in zip(batch, self._answers(prefix, [asked[i][1] for i in batch], most), strict=True):
                    answers[index] = text
        return answers

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(replace_surrogates(text), add_special_tokens=False)["input_ids"]
        return ids

    def _answers(self, prefix: str, questions: Sequence[str], most: int) -> list[str]:
        import torch
        from transformers import GenerationConfig

        begin, cache = self._read(prefix)
        padding = self.tokenizer.pad_token_id or 0
        ends, mask = padded_tensors([self._ids(question) for question in questions], padding, left=True)
        before = torch.tensor([begin] * len(questions))
        ids = torch.cat([before, ends], dim=1)
        # The padding stands between the prefix and the question, and is not read.
        read = torch.cat([torch.ones_like(before), mask], dim=1)
        shared: dict[str, Any] = {}
        if cache is not None:
            past = copy.deepcopy(cache)
            past.batch_repeat_interleave(len(questions))
            shared = {"past_key_values": past}
        config = GenerationConfig(max_new_tokens=most, do_sample=False, pad_token_id=padding, eos_token_id=self.ends)
        with torch.inference_mode():
            out = self.module.generate(input_ids=ids, attention_mask=read, generation_config=config, **shared)
        texts: list[str] = self.tokenizer.batch_decode(out[:, ids.shape[1] :], skip_special_tokens=True)
        return texts

    def _read(self, prefix: str) -> tuple[list[int], Any]:
        """The tokens of a prefix and its cached keys and values."""
        import torch
        from transformers import DynamicCache

        if prefix not in self._cached:
            ids, cache = self._ids(prefix), None
            if self.share:
                cache = DynamicCache(config=self.module.config)
                with torch.inference_mode():
                    self.module(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True, logits_to_keep=1)
            while len(self._cached) >= CACHED:
                self._cached.pop(next(iter(self._cached)))
            self._cached[prefix] = ids, cache
        return self._cached[prefix]


class Prompted(Recipe, frozen=True, kw_only=True):
    """Any language model, asked for the state as JSON with the schema in the prompt or as tools; no training."""

    base: ClassVar[str] = "smollm2-135m-instruct"
    trains: ClassVar[bool] = False

    form: Form = "prompt"  # the schema as text, or as definitions of tools
    answer: int = 160  # tokens of an answer

    def open(self, model: str, *, trained: bool) -> TrackerModel:  # noqa: ARG002
        if model.startswith(("http://", "https://")):
            return PromptedModel(EndpointLm.from_name(model), self.form, self.answer)
        if self._has_files(model):
            return PromptedModel(SharedPrefixLm(self.files(model)), self.form, self.answer)
        return PromptedModel(backends.lm(model, cache=None), self.form, self.answer)

    def digest(self, model: str) -> str:
        return digest_tree(self.files(model)) if self._has_files(model) else ""

    def _has_files(self, model: str) -> bool:
        if model.startswith(("http://", "https://")):
            return False
        return model == "embedded" or backends.backend_for(model).files is not None
