"""A language model behind an OpenAI-compatible server, as `http://HOST:PORT/v1#MODEL`.

Scoring needs the log-probabilities of a *prompt*. The API's old `echo` with `logprobs` gives them (vLLM, SGLang,
llama-cpp-python), and so does vLLM's own `prompt_logprobs`. A server that gives neither is refused, and so is one that
ignores `echo` and scores only its own text (llama.cpp's own server did at the time of writing).

The server tokenises, and gets the text in one piece: unlike in `hf`, pieces are not tokenised separately. A token that
reaches across the beginning of the continuation counts as its first. The server also decides about a token for the
beginning of a text; it is asked (vLLM's `add_special_tokens`) for what the request wants. A text that is too long is
refused by the server; it is not cut, and has no log-probabilities. What is no finite number of at most 0 is no
log-probability: it becomes NaN, which metrics count as not scored and the cache does not keep.
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
from troth.models.backends import Backend
from troth.models.batches import Batch, Room, by_length
from troth.models.client import MOST, Client, Refused, Silent
from troth.models.protocols import Continuation, Request

K = TypeVar("K")
V = TypeVar("V")
Scores = tuple[list[str], list[float | None]]  # the prompt's tokens and their log-probabilities

KEY = "OPENAI_API_KEY"
BROKEN = "\N{REPLACEMENT CHARACTER}"
PARALLEL = 8  # questions at a time; so many answers are stored together
TIMEOUT = 120.0  # seconds for the whole of an answer
ANSWER, PER_BYTE = 1_000_000, 500  # bytes that an answer may have, and more for each byte of the question
TOO_LONG = (400, 413)  # what servers answer to a text that is too long, once it is known that they take others
UNABLE = (400, 404, 422, 500, 501)  # what servers answer that give no log-probabilities of a prompt
ABSENT = (404, 405)  # what servers answer that have no such path
WAYS: tuple[dict[str, Any], ...] = (  # to ask for a prompt's log-probabilities, in the order in which they are tried
    {"echo": True, "logprobs": 1, "max_tokens": 1},  # 0 some refuse, and llama-cpp-python takes it for no limit
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
        self.client = Client(url, key_variable=key_variable, timeout=timeout or TIMEOUT)
        self.model, self.parallel = model, parallel
        self._way: Mapping[str, Any] | None = None
        self._chat: bool | None = True if chat else None
        self.chat = chat
        self.usage: Counter[str] = Counter()  # tokens of generated texts, as the server counts them

    @classmethod
    def named(cls, name: str, *, timeout: float | None = None, chat: bool = False) -> EndpointLm:
        """From `http://HOST:PORT/v1#MODEL`."""
        url, _, model = name.partition("#")
        if "@" in url or "?" in url:
            raise UserError("a key in a server's address would end up in results", hint=f"put it into {KEY}")
        if not model:
            raise UserError(f"'{name}' names no model of a server", hint="such as http://localhost:8000/v1#MODEL")
        return cls(url, model, timeout=timeout, chat=chat)

    @property
    def name(self) -> str:
        return f"{self.client.url}#{self.model}{'+chat' * self.chat}"

    def plan(self, items: Sequence[Request | str]) -> list[Batch]:
        """As many as are asked at the same time: when the server fails, all earlier answers are in the cache."""
        lengths = [len(one) if isinstance(one, str) else len("".join(one.context) + one.continuation) for one in items]
        return by_length(lengths, Room(items=self.parallel, units=max(1, self.parallel * max(lengths, default=0))))

    def logprobs(self, requests: Sequence[Request | tuple[str, str]]) -> list[Continuation]:
        return self._each(self._scored, [Request.of(one) for one in requests], known=self._way is not None)

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 128, temperature: float = 0.0, seed: int = 0
    ) -> list[str]:
        """By `/completions`; where the server has none, by `/chat/completions`, the prompt as the user's message."""
        options = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        return self._each(lambda prompt: self._generated(prompt, options), prompts, known=self._chat is not None)

    def _each(self, work: Callable[[K], V], items: Sequence[K], *, known: bool) -> list[V]:
        """Several at a time; the first alone where it is not known what the server can do. Equal ones once."""
        distinct = list(dict.fromkeys(items))
        if not distinct:
            return []
        with ThreadPoolExecutor(self.parallel) as pool:
            first = [] if known else [pool.submit(work, distinct[0]).result()]
            answers = dict(zip(distinct, [*first, *pool.map(work, distinct[len(first) :])], strict=True))
        return [answers[item] for item in items]

    def _scored(self, asked: Request) -> Continuation:
        if not asked.continuation:
            return Continuation((), ())
        prompt, known = "".join(asked.context) + asked.continuation, self._way is not None
        why = ""
        for way in WAYS if self._way is None else (self._way,):
            body = {"prompt": prompt, "temperature": 0.0, "add_special_tokens": asked.bos, **way}
            try:
                scored = scores(self._answer("/completions", body, TOO_LONG if known else UNABLE), prompt)
            except Refused as error:
                if known:
                    return self._unscored(asked)
                why = f" ({error}: {error.said})" if error.said else f" ({error})"
                continue
            if scored is not None:
                self._way = way
                return aligned(*scored, prompt, asked.continuation, self.name)
            if known:  # it has answered others
                return Continuation((asked.continuation,), (math.nan,))
        raise UserError(
            f"{self.name} gives no log-probabilities of a prompt{why}",
            hint="vLLM, SGLang and llama-cpp-python (with logits_all) do; or use embedded, hf:ORG/MODEL, a folder",
        )

    def _unscored(self, asked: Request) -> Continuation:
        """The tokens of a text that is too long, without log-probabilities: those that it has without the document."""
        rest = asked.context[: asked.shorten] + asked.context[asked.shorten + 1 :]
        if len(rest) == len(asked.context):
            return Continuation((asked.continuation,), (None,))
        tokens = self._scored(asked._replace(context=rest)).tokens
        return Continuation(tokens, (None,) * len(tokens))

    def _generated(self, prompt: str, options: Mapping[str, Any]) -> str:
        if not self._chat:
            try:
                answer = self._answer("/completions", {"prompt": prompt, **options}, ABSENT)
                self._chat = False
            except Refused:
                self._chat = True
        if self._chat:
            answer = self._answer("/chat/completions", {"messages": [{"role": "user", "content": prompt}], **options})
        try:
            self._count(answer)
            choice = answer["choices"][0]
            text = choice["message"]["content"] if "message" in choice else choice["text"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str):  # such as a model that only thinks, or calls a tool
            raise UserError(f"{self.name} answers without a text")
        return text

    def _count(self, answer: Any) -> None:
        usage = answer.get("usage") if isinstance(answer, dict) else None
        for name in ("prompt_tokens", "completion_tokens"):
            number = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(number, int) and 0 <= number < 10**9:
                self.usage[name] += number

    def _answer(self, path: str, body: Mapping[str, Any], expected: Sequence[int] = ()) -> Any:
        """The server's answer; raises Refused for a status that is expected, else UserError."""
        try:
            data = json.dumps({"model": self.model, **body}).encode()
            return json.loads(self.client.post(path, data, most=min(MOST, ANSWER + PER_BYTE * len(data))))
        except Refused as error:
            if error.status in expected:
                raise
            what = f"{self.name} answers {error.status}: {error.said or 'nothing more'}"
            raise UserError(what, hint=refusal_hint(error.status)) from error
        except Silent as error:
            longer = " with a longer --timeout" if str(error) == "timeout" else ""
            hint = f"answers so far are kept; try again{longer}"
            raise UserError(f"{self.name} does not answer: {error}", hint=hint) from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.name} answers what is not JSON, or too deeply nested") from error


def refusal_hint(status: int) -> str:
    """What to do about a server's refusal, after the retries."""
    if status == 429:
        return "it limits how much it is asked; answers so far are kept: wait, and run the same again"
    if status >= 500:
        return "the server fails; answers so far are kept: run the same again when it is well"
    return "is the model's name right?"


def scores(answer: Any, prompt: str) -> Scores | None:
    """The prompt's tokens and log-probabilities from an answer in either form; None where it has none of them."""
    try:
        choice = answer["choices"][0]
        if listed := choice.get("prompt_logprobs"):
            # vLLM lists for each place the token that stands there, then likelier ones; nothing for the first place.
            places = [
                next(iter(place.values())) if place else {"decoded_token": "", "logprob": None} for place in listed
            ]
            return [str(one["decoded_token"]) for one in places], _numbers([one.get("logprob") for one in places])
        logprobs = choice["logprobs"]
        tokens, values = [str(token) for token in logprobs["tokens"]], _numbers(logprobs["token_logprobs"])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, StopIteration):
        return None
    # What the server generated after the prompt is at the end, a token at most; its text may be empty.
    for count in (len(tokens) - 1, len(tokens)):
        if any(tokens[:count]) and len(tokens) == len(values) and spans(tokens[:count], prompt):
            return tokens[:count], values[:count]
    return None


def aligned(
    tokens: Sequence[str], logprobs: Sequence[float | None], prompt: str, continuation: str, name: str
) -> Continuation:
    """The tokens that have a part in the continuation; their texts are those parts."""
    places = spans(tokens, prompt)
    if places is None:
        hint = "use another backend for it"
        raise UserError(f"the tokens of {name} are not those of the text that it was given", hint=hint)
    begin = len(prompt) - len(continuation)
    own = [(max(start, begin), end, value) for (start, end), value in zip(places, logprobs, strict=True) if end > begin]
    return Continuation(tuple(prompt[start:end] for start, end, _ in own), tuple(value for _, _, value in own))


def spans(tokens: Sequence[str], prompt: str) -> list[tuple[int, int]] | None:
    """Where each token stands in the prompt; None if they are not the prompt's tokens.

    Offsets that servers give are not used: some count special tokens, some say -1. Of a character that is split into
    several tokens, which servers show as U+FFFD, the first token has it all and the others nothing. A first token that
    is not in the text marks its beginning, or has no text: it gets what is left. The search goes from last to first.
    """
    places: list[tuple[int, int]] = []
    at, index = len(prompt), len(tokens) - 1
    while index >= 0:
        token = tokens[index]
        if prompt.endswith(token, 0, at) and (token or index):
            places.append((at - len(token), at))
            at, index = at - len(token), index - 1
        elif BROKEN in token:
            first = index
            while first > 0 and BROKEN in tokens[first - 1]:
                first -= 1
            before = prompt.rfind(tokens[first - 1], 0, at) + len(tokens[first - 1]) if first else 0
            if before > at or (first and not prompt[:before].endswith(tokens[first - 1])):
                return None
            places += [(at, at)] * (index - first) + [(before, at)]
            at, index = before, first - 1
        elif index == 0 and (not token or not at):
            places.append((0, at))
            at, index = 0, -1
        else:
            return None
    return places[::-1] if at == 0 else None


def _numbers(values: Sequence[Any]) -> list[float | None]:
    """Log-probabilities; NaN for what is none. Only the first token of a text may be without one."""
    return [None if value is None and not place else _number(value) for place, value in enumerate(values)]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -sys.float_info.max <= value <= 0:
        return math.nan
    return float(value)


BACKEND = Backend(
    "http://HOST/v1#MODEL",
    "language models only: an OpenAI-compatible server that gives prompt log-probabilities",
    lm=EndpointLm.named,
    timed=True,
    modifiers={"chat": "servers: generate by /chat/completions alone, as `judge` does"},
)
