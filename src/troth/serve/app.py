"""The application: the questions, the pages and what stands before them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from starlette.middleware.cors import CORSMiddleware

from troth.core.errors import UserError
from troth.core.names import parse_names
from troth.core.version import __version__
from troth.serve import batch, stream
from troth.serve.answering import Desk, answer_task
from troth.serve.batch import answer_batch
from troth.serve.faithfulness import GroundTask
from troth.serve.observed import Observed
from troth.serve.openapi import ServedQuestion, describe_api, operation
from troth.serve.origin import OriginCheck
from troth.serve.pages import add_pages
from troth.serve.process import Scorers, warm
from troth.serve.proxy import CHAT, MODELS, NO_RULE, NO_RULE_HINT, Proxy, Upstream
from troth.serve.settings import ServeSettings
from troth.serve.stream import answer_stream
from troth.serve.tasks import LANES, tasks
from troth.serve.watch import LOG, Figures

NO_DEFAULT = "troth's own calibration does not fit the default metrics and this model; /ground leaves out 'faithful'"
BATCH = ServedQuestion(batch.PATH, "Many questions in one request.", batch.BatchRequest, batch.BatchAnswer)
STREAM = ServedQuestion(
    stream.PATH, "Is this response faithful, sentence by sentence, while it is being written? Answers with events.",
    stream.StreamStart, stream.SentenceEvent, stream.StreamPiece,
)  # fmt: skip


def service(settings: ServeSettings | None = None, scorers: Scorers | None = None) -> FastAPI:
    """The service as an ASGI application.

    `scorers`: processes that score, which whoever made them starts and closes; None: threads of this process, which
    nothing can end. Then the application starts when its models are loaded.
    """
    own = settings or ServeSettings()
    desk = Desk(own, Figures(), scorers)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if scorers is None:
            for lane in LANES:
                await asyncio.to_thread(warm, own, lane)
        if rule is None and not parse_names(own.metrics):
            LOG.warning("no verdicts", extra={"fields": {"reason": NO_DEFAULT}})
        yield
        for batcher in desk.batchers.values():
            await batcher.close()
        if proxy is not None:
            await proxy.close()

    app = FastAPI(
        title="troth", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Tells whether responses, states and calls of a dialogue system can be trusted.",
    )  # fmt: skip
    served = [desk.serve(task) for task in tasks(own)]  # what is wrong with the settings is an error now
    by_name = {task.path.strip("/"): task for task in served}
    questions = [
        (ServedQuestion(task.path, task.about, task.request, task.answer), answer_task(desk, task)) for task in served
    ]
    questions += [(BATCH, answer_batch(desk, by_name)), (STREAM, answer_stream(desk, by_name["ground"]))]
    for question, handler in questions:
        app.add_api_route(
            question.path, handler, methods=["POST"], summary=question.about, response_class=Response,
            **operation(question),
        )  # fmt: skip
    proxy, rule = None, GroundTask(own).rule
    if own.proxy is not None:
        if own.block and rule is None:
            raise UserError(NO_RULE, option="block", hint=NO_RULE_HINT)
        proxy = Proxy(desk, by_name, Upstream(own.proxy, own.proxy_key), block=own.block)
        app.add_api_route(CHAT, proxy.answer_chat(), methods=["POST"], include_in_schema=False)
        app.add_api_route(MODELS, proxy.answer_models(), include_in_schema=False)
    add_pages(app, desk, rule)
    origins = parse_names(own.origins)
    if origins:
        app.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=["POST"], allow_headers=["*"])
    app.add_middleware(OriginCheck, hosts=parse_names(own.hosts), origins=origins)
    app.add_middleware(Observed, figures=desk.figures)
    app.openapi = lambda: describe_api(  # type: ignore[method-assign]
        app, [question for question, _ in questions], key=own.key is not None
    )
    app.state.figures = desk.figures
    return app
