"""A step for LangChain that asks `troth serve` whether an answer is faithful to the retrieved passages.

    chain = retrieve_and_answer | faithfulness_step(TrothClient())

It takes a mapping with the answer and the context (a text, documents, or a list of either), as retrieval chains give
it, and adds the service's answer under `troth`. LangChain is imported when the step is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from troth.client import AsyncTrothClient, ServiceAnswer, TrothClient
from troth.core.extras import require

KEY = "troth"  # of the service's answer in the output


class UnfaithfulError(Exception):
    """The answer is not supported by its context; `answer` lists the unsupported sentences."""

    def __init__(self, answer: ServiceAnswer) -> None:
        words = f": {' '.join(answer.unsupported)}" if answer.unsupported else ""
        super().__init__(f"the answer is not faithful to its context{words}")
        self.answer = answer


def faithfulness_step(
    client: TrothClient,
    async_client: AsyncTrothClient | None = None,
    *,
    context: str = "context",
    answer: str = "answer",
    block: bool = False,
) -> Any:
    """A runnable that adds the verdict on an answer. `context`, `answer`: the keys of the mapping that hold them.

    `block`: raise UnfaithfulError where the verdict is that the answer is not faithful. Without `async_client`,
    asynchronous chains ask in a thread.
    """
    runnables = require("langchain_core.runnables")

    def judge(given: Mapping[str, Any], found: ServiceAnswer) -> dict[str, Any]:
        if block and found.faithful is False:
            raise UnfaithfulError(found)
        return {**given, KEY: found}

    def check(given: Mapping[str, Any]) -> dict[str, Any]:
        return judge(given, client.ground(join_context(given[context]), _text(given[answer])))

    if async_client is None:
        return runnables.RunnableLambda(check, name="troth")

    async def check_later(given: Mapping[str, Any]) -> dict[str, Any]:
        return judge(given, await async_client.ground(join_context(given[context]), _text(given[answer])))

    return runnables.RunnableLambda(check, afunc=check_later, name="troth")


def join_context(context: Any) -> str:
    """The text of a context: a text, a document with `page_content`, or several of them."""
    if isinstance(context, str) or hasattr(context, "page_content") or not isinstance(context, Iterable):
        return _text(context)
    return "\n\n".join(map(_text, context))


def _text(value: Any) -> str:
    for name in ("page_content", "content"):  # a document; a message
        if isinstance(text := getattr(value, name, None), str):
            return text
    return str(value)
