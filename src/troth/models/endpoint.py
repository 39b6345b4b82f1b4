"""A language model behind an OpenAI-compatible server, as `http://HOST:PORT/v1#MODEL`.

Scoring needs the log-probabilities of a *prompt*. The API's old `echo` with `logprobs` gives them (vLLM, SGLang,
llama-cpp-python), and so does vLLM's own `prompt_logprobs`. A server that gives neither is refused, and so is one that
ignores `echo` and scores only its own text (llama.cpp's own server did at the time of writing).

The server tokenises the whole text at once: unlike in `hf`, the pieces of a request are not tokenised separately. A
token that crosses the start of the continuation counts as its first token. The server also decides whether a text
starts with a special token; it is asked (vLLM's `add_special_tokens`) for what the request wants. A text that is too
long is refused by the server; it is not cut, and has no log-probabilities. A value that is not a finite number of at
most 0 becomes NaN, which metrics count as not scored and the cache does not keep.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from troth.core.errors import UserError
from troth.models import client
from troth.models.backends import Backend
from troth.models.batches import Batch, Room, batch_by_length
from troth.models.protocols import Continuation, Request

K = TypeVar("K")
V = TypeVar("V")
Scores = tuple[list[str], list[float | None]]  # the prompt's tokens and their log-probabilities

KEY = "OPENAI_API_KEY"
BROKEN = "\N{REPLACEMENT CHARACTER}"
PARALLEL = 8  # concurrent requests; this number of answers is stored together
TIMEOUT = 120.0  # seconds for a whole answer
ANSWER, PER_BYTE = 1_000_000, 500  # size limit of an answer in bytes, and what each byte of the request adds to it
TOO_LONG = (400, 413)  # status for a text that is too long, from a server that has scored other texts
UNABLE = (400, 404, 422, 500, 501)  # status of servers that give no log-probabilities of a prompt
ABSENT = (404, 405)  # status of servers that do not have a path
WAYS: tuple[dict[str, Any], ...] = (  # to ask for a prompt's log-probabilities, in the order in which they are tried
    {"echo": True, "logprobs": 1, "max_tokens": 1},  # some refuse 0, and llama-cpp-python reads it as unlimited
    {"prompt_logprobs": 1, "max_tokens": 1},
)


class EndpointLm:
    """One server and model. A revision is whatever the server has under that name."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_variable: str = KEY,
        timeout: float | None = None,
        parallel: int = PARALLEL,
        chat: bool = False,
    ) -> None:
        """`chat`: generate texts only through `/chat/completions`."""
        self.client = client.Client(url, key_variable=key_variable, timeout=timeout or TIMEOUT)
        self.model, self.parallel = model, parallel
        self._way: Mapping[str, Any] | None = None
        self._uses_chat: bool | None = True if chat else None
        self.chat_only = chat
        self.usage: Counter[str] = Counter()  # tokens of generated texts, as the server counts them

    @classmethod
    def from_name(cls, name: str, *, timeout: float | None = None, chat: bool = False) -> EndpointLm:
        url, model = client.parse_address(name, KEY)
        if not model:
            raise UserError(f"'{name}' has no name of a model", hint="such as http://localhost:8000/v1#MODEL")
        return cls(url, model, timeout=timeout, chat=chat)

    @property
    def name(self) -> str:
        return f"{self.client.url}#{self.model}{'+chat' * self.chat_only}"

    def plan(self, items: Sequence[Request | str]) -> list[Batch]:
        """Batches of concurrent requests: when the server fails, all earlier answers are in the cache."""
        lengths = [
            len(item) if isinstance(item, str) else len("".join(item.context) + item.continuation) for item in items
        ]
        return batch_by_length(
            lengths, Room(items=self.parallel, units=max(1, self.parallel * max(lengths, default=0)))
        )

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        return self._map(self._score, [Request.parse(request) for request in requests], known=self._way is not None)

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """By `/completions`; on a server without it by `/chat/completions`, with the prompt as the user's message."""
        options = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        return self._map(lambda prompt: self._generate(prompt, options), prompts, known=self._uses_chat is not None)

    def chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> dict[str, Any]:
        """The server's next message in a chat, in OpenAI's layout."""
        message = self._ask(client.CHAT, {"messages": messages, **options}).message
        if not message:
            hint = "is the server OpenAI-compatible?"
            raise UserError(f"{self.name} does not answer as OpenAI's API does", hint=hint)
        return message

    def _map(self, work: Callable[[K], V], items: Sequence[K], *, known: bool) -> list[V]:
        """Results of concurrent requests, one per distinct item.

        The first request is sent by itself until it is `known` what the server supports.
        """
        distinct = list(dict.fromkeys(items))
        if not distinct:
            return []
        with ThreadPoolExecutor(self.parallel) as pool:
            first = [] if known else [pool.submit(work, distinct[0]).result()]
            answers = dict(zip(distinct, [*first, *pool.map(work, distinct[len(first) :])], strict=True))
        return [answers[item] for item in items]

    def _score(self, request: Request) -> Continuation:
        if not request.continuation:
            return Continuation((), ())
        prompt, known = "".join(request.context) + request.continuation, self._way is not None
        reason = ""
        for way in WAYS if self._way is None else (self._way,):
            body = {"prompt": prompt, "temperature": 0.0, "add_special_tokens": request.bos, **way}
            try:
                scores = parse_scores(self._ask("/completions", body, TOO_LONG if known else UNABLE).choice, prompt)
            except client.RefusedError as error:
                if known:
                    return self._without_scores(request)
                reason = f" ({error}: {error.text})" if error.text else f" ({error})"
                continue
            if scores is not None:
                self._way = way
                return align(*scores, prompt, request.continuation, self.name)
            if known:  # the server has scored other texts
                return Continuation((request.continuation,), (math.nan,))
        raise UserError(
            f"{self.name} gives no log-probabilities of a prompt{reason}",
            hint="vLLM, SGLang and llama-cpp-python (with logits_all) do; or use embedded, hf:ORG/MODEL, a folder",
        )

    def _without_scores(self, request: Request) -> Continuation:
        """Tokens of a text that is too long, without log-probabilities: the tokens are those without the document."""
        rest = request.context[: request.shorten] + request.context[request.shorten + 1 :]
        if len(rest) == len(request.context):
            return Continuation((request.continuation,), (None,))
        tokens = self._score(request._replace(context=rest)).tokens
        return Continuation(tokens, (None,) * len(tokens))

    def _generate(self, prompt: str, options: Mapping[str, Any]) -> str:
        if not self._uses_chat:
            try:
                answer = self._ask("/completions", {"prompt": prompt, **options}, ABSENT)
                self._uses_chat = False
            except client.RefusedError:
                self._uses_chat = True
        if self._uses_chat:
            answer = self._ask(client.CHAT, {"messages": [{"role": "user", "content": prompt}], **options})
        self._count(answer)
        if answer.text is None:  # such as a model that only thinks, or calls a tool
            raise UserError(f"{self.name} answers without a text")
        return answer.text

    def _count(self, answer: client.Completion) -> None:
        for name in ("prompt_tokens", "completion_tokens"):
            number = answer.usage.get(name)
            if isinstance(number, int) and 0 <= number < 10**9:
                self.usage[name] += number

    def _ask(self, path: str, body: Mapping[str, Any], expected: Sequence[int] = ()) -> client.Completion:
        """The server's answer; raises client.RefusedError for an expected status, UserError for all other problems."""
        data = json.dumps({"model": self.model, **body}).encode()
        limit = min(client.MAX_BYTES, ANSWER + PER_BYTE * len(data))
        try:
            return self.client.post(path, data, parse=client.parse_completion, max_bytes=limit)
        except client.ServerError as error:
            if isinstance(error, client.RefusedError) and error.status in expected:
                raise
            raise client.user_error(error, self.name) from error


def parse_scores(choice: Mapping[str, Any], prompt: str) -> Scores | None:
    """The prompt's tokens and log-probabilities from an answer in either form; None if it has none."""
    try:
        if positions := choice.get("prompt_logprobs"):
            # vLLM lists for each position its own token, then likelier ones; nothing for the first position.
            empty = {"decoded_token": "", "logprob": None}
            entries = [next(iter(position.values())) if position else empty for position in positions]
            return [str(entry["decoded_token"]) for entry in entries], _logprobs([e.get("logprob") for e in entries])
        logprobs = choice["logprobs"]
        tokens, values = [str(token) for token in logprobs["tokens"]], _logprobs(logprobs["token_logprobs"])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, StopIteration):
        return None
    # The token that the server generated after the prompt, if any, is at the end; its text may be empty.
    for count in (len(tokens) - 1, len(tokens)):
        if any(tokens[:count]) and len(tokens) == len(values) and find_spans(tokens[:count], prompt):
            return tokens[:count], values[:count]
    return None


def align(
    tokens: Sequence[str], logprobs: Sequence[float | None], prompt: str, continuation: str, name: str
) -> Continuation:
    """The tokens that overlap the continuation, each with the text of that overlap."""
    spans = find_spans(tokens, prompt)
    if spans is None:
        raise UserError(f"the tokens of {name} do not match the text that was sent", hint="use another backend")
    begin = len(prompt) - len(continuation)
    own = [(max(start, begin), end, value) for (start, end), value in zip(spans, logprobs, strict=True) if end > begin]
    return Continuation(tuple(prompt[start:end] for start, end, _ in own), tuple(value for _, _, value in own))


def find_spans(tokens: Sequence[str], prompt: str) -> list[tuple[int, int]] | None:
    """Start and end of each token in the prompt; None if they are not the prompt's tokens.

    Offsets sent by servers are not used: some count special tokens, some are -1. If a character is split into several
    tokens, which servers show as U+FFFD, the first token gets the whole character and the others an empty span. A first
    token that does not occur in the text is a special token, or has no text: it gets what remains. The search goes
    from last to first.
    """
    spans: list[tuple[int, int]] = []
    at, index = len(prompt), len(tokens) - 1
    while index >= 0:
        token = tokens[index]
        if prompt.endswith(token, 0, at) and (token or index):
            spans.append((at - len(token), at))
            at, index = at - len(token), index - 1
        elif BROKEN in token:
            first = index
            while first > 0 and BROKEN in tokens[first - 1]:
                first -= 1
            before = prompt.rfind(tokens[first - 1], 0, at) + len(tokens[first - 1]) if first else 0
            if before > at or (first and not prompt[:before].endswith(tokens[first - 1])):
                return None
            spans += [(at, at)] * (index - first) + [(before, at)]
            at, index = before, first - 1
        elif index == 0 and (not token or not at):
            spans.append((0, at))
            at, index = 0, -1
        else:
            return None
    return spans[::-1] if at == 0 else None


def _logprobs(values: Sequence[Any]) -> list[float | None]:
    """Log-probabilities; NaN for invalid values. Only the first token of a text may have none."""
    return [None if value is None and not index else _logprob(value) for index, value in enumerate(values)]


def _logprob(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -sys.float_info.max <= value <= 0:
        return math.nan
    return float(value)


BACKEND = Backend(
    "http://HOST/v1#MODEL",
    "language models only: an OpenAI-compatible server that gives prompt log-probabilities",
    lm=EndpointLm.from_name,
    timed=True,
    modifiers={"chat": "servers: generate by /chat/completions alone, as `judge` does"},
)
