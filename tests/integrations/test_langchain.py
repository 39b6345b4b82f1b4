"""The step for LangChain, with a stand-in for its runnables: LangChain need not be installed."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest

from tests.eventloop import finished
from troth.client import AsyncTrothClient, TrothClient
from troth.core.errors import UserError
from troth.integrations.langchain import UnfaithfulError, faithfulness_step, join_context


class Page(NamedTuple):
    page_content: str


class _Step:
    def __init__(self, func: Callable[[Any], Any], afunc: Callable[[Any], Any] | None = None, name: str = "") -> None:
        self.invoke, self.ainvoke, self.name = func, afunc, name


@pytest.fixture
def _langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("langchain_core.runnables")
    module.RunnableLambda = _Step  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain_core", types.ModuleType("langchain_core"))
    monkeypatch.setitem(sys.modules, "langchain_core.runnables", module)


def respond(request: httpx.Request) -> httpx.Response:
    wrong = b"noon" in request.content
    return httpx.Response(200, json={"faithful": not wrong, "unsupported": ["noon"] if wrong else [], "scores": []})


TRANSPORT = httpx.MockTransport(respond)


@pytest.mark.usefixtures("_langchain")
def test_the_verdict_is_added() -> None:
    step = faithfulness_step(TrothClient(transport=TRANSPORT), AsyncTrothClient(transport=TRANSPORT))
    given = {"question": "When?", "context": [Page("Until ten."), "No pets."], "answer": "Until ten."}
    assert step.invoke(given) | {"troth": None} == given | {"troth": None}
    assert step.invoke(given)["troth"].faithful is True
    later = finished(lambda: step.ainvoke(given | {"answer": "Until noon."}))
    assert later["troth"].unsupported == ("noon",)


@pytest.mark.usefixtures("_langchain")
def test_an_unfaithful_answer_is_blocked_where_asked() -> None:
    step = faithfulness_step(TrothClient(transport=TRANSPORT), context="docs", answer="text", block=True)
    assert step.ainvoke is None
    with pytest.raises(UnfaithfulError, match="not faithful to its context: noon"):
        step.invoke({"docs": "Until ten.", "text": "Until noon."})
    assert step.invoke({"docs": Page("Until ten."), "text": "Until ten."})["troth"].faithful is True


def test_contexts() -> None:
    assert join_context("a") == join_context(Page("a")) == "a"
    assert join_context([Page("a"), "b"]) == "a\n\nb"


def test_without_langchain_it_says_what_to_install() -> None:
    if "langchain_core" in sys.modules:
        pytest.skip("LangChain is installed")
    with pytest.raises(UserError, match="pip install langchain_core"):
        faithfulness_step(TrothClient(transport=TRANSPORT))
