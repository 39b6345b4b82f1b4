"""What can be asked: a request and an answer for each question, by the names that `--json` and `--rows` use.

A task checks a request (`prepare`, where everything that is wrong with it is an error), and scores many at once
(`score`) by the function that scores files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from troth.agents.corpus import ReadTrials, join
from troth.agents.score import AgentFinding, AgentSettings, score_corpus
from troth.core.errors import UserError
from troth.core.records import Act, Schema, Service
from troth.core.score import Score
from troth.integrations.evaluate import load
from troth.readers.source import Document
from troth.readers.trajectories import chat
from troth.responses.explorer import judged_acts
from troth.responses.judge import judge
from troth.responses.rerank import Choice, Nbest, due_acts, rerank_all
from troth.responses.sgsacc import SystemTurn
from troth.serve.faithfulness import GroundAnswer, GroundRequest, GroundTask
from troth.serve.settings import ServeSettings
from troth.tracking import metrics as tracking

NO_SCHEMA = "no schema is known"
NO_SCHEMA_HINT = "send 'schema' with the request, or start the service with one"


class ServedTask(NamedTuple):
    """A question that the service answers."""

    path: str
    about: str
    request: type
    answer: type
    prepare: Callable[[Any], Any]  # a decoded request to an item; a UserError is the client's mistake
    score: Callable[[Sequence[Any]], Sequence[Any]]
    fault: int = 503  # status where `score` raises a UserError: a model that is not there, or the client's mistake


class ActsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A response, and the acts that it is to express, by service. `previous`: what was said right before."""

    response: str
    acts: dict[str, tuple[Act, ...]]
    previous: str = ""
    schema: tuple[Service, ...] | None = None  # in the layout of SGD's schema.json; None: the service's own


class ActVerdictAnswer(msgspec.Struct, frozen=True):
    """What the model says of one act, as `troth nlg --acts` has it."""

    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    kind: str
    reference: str | None
    plain: dict[str, float] | None
    augmented: dict[str, float] | None
    helped: bool
    entailed: bool
    entailed_plain: bool
    present: bool
    missed: tuple[str, ...]  # values that must stand in the response word for word, and do not


class ActsAnswer(msgspec.Struct, frozen=True):
    """`faithful`: every act that has a rule is entailed; None where no act has one."""

    faithful: bool | None
    acts: tuple[ActVerdictAnswer, ...]


class RerankRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Responses to choose from, and the acts to express. `scores`: their likelihoods, higher is likelier."""

    candidates: tuple[str, ...]
    acts: dict[str, tuple[Act, ...]]
    previous: str = ""
    scores: tuple[float, ...] | None = None
    schema: tuple[Service, ...] | None = None


class _Said(NamedTuple):
    """A response to judge, with its turn."""

    turn: SystemTurn
    response: str


@dataclass(frozen=True)
class ActsTask:
    """Does a response say what its acts say, and which of several says it best?"""

    settings: ServeSettings

    def prepare(self, asked: ActsRequest) -> _Said:
        acts = due_acts(asked.acts, self._schema(asked.schema))
        return _Said(SystemTurn("", 0, acts, "", asked.previous), asked.response)

    def prepare_choice(self, asked: RerankRequest) -> Nbest:
        return Nbest(asked.candidates, due_acts(asked.acts, self._schema(asked.schema)), asked.previous, asked.scores)

    def _schema(self, own: tuple[Service, ...] | None) -> Schema:
        schema = self.settings.services if own is None else {service.name: service for service in own}
        if not schema:
            raise UserError(NO_SCHEMA, hint=NO_SCHEMA_HINT)
        return schema

    def score(self, items: Sequence[_Said]) -> list[ActsAnswer]:
        nli = self.settings.open_models.entailment_model
        judged = judge([item.turn for item in items], [item.response for item in items], nli)
        answers = []
        for answered in judged:
            verdicts = judged_acts({"": [answered]}, validated=False)
            acts = tuple(
                msgspec.convert(msgspec.structs.asdict(verdict) | {"missed": act.missed}, ActVerdictAnswer)
                for verdict, act in zip(verdicts, answered.answer.acts, strict=True)
            )
            ruled = [act.entailed for act in acts if act.reference is not None]
            answers.append(ActsAnswer(all(ruled) if ruled else None, acts))
        return answers

    def choose(self, items: Sequence[Nbest]) -> list[Choice]:
        return rerank_all(items, self.settings.open_models.entailment_model)


State = dict[str, Any]  # {service: {slot: value}} or {slot: value}


class DstRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The states of one dialogue, turn by turn: gold's (`references`) and predicted ones, None where there is none."""

    references: tuple[State, ...]
    predictions: tuple[State | None, ...]
    metrics: tuple[str, ...] = ()  # none named: all
    profile: str | None = None
    schema: tuple[Service, ...] | None = None


class ScoresAnswer(msgspec.Struct, frozen=True):
    scores: tuple[Score, ...]


def score_states(asked: DstRequest) -> ScoresAnswer:
    names = asked.metrics or tuple(metric.name for metric in tracking.select_metrics(None, tracking.DEFAULT_RATES))
    schema = None if asked.schema is None else {service.name: service for service in asked.schema}
    metrics = load(names, against="states", profile=asked.profile, schema=schema, resamples=1)
    metrics.add(prediction=list(asked.predictions), reference=list(asked.references))
    return ScoresAnswer(tuple(metrics.scores()))


class AgentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One conversation with calls of tools; `expected`: gold calls. All as in a chat transcript of `troth agent`."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    expected: tuple[dict[str, Any], ...] | None = None
    outputs: tuple[str, ...] = ()
    rule: str | None = None  # of matching calls; None: exact
    metrics: tuple[str, ...] = ()  # none named: those of `troth agent score`


class AgentAnswer(msgspec.Struct, frozen=True):
    """`findings`: everything that lowers a score, with its message, characters, reason and evidence."""

    scores: tuple[Score, ...]
    findings: tuple[AgentFinding, ...]


def score_calls(asked: AgentRequest) -> AgentAnswer:
    fields = msgspec.to_builtins(asked)
    transcript = {name: value for name, value in fields.items() if name in ("messages", "tools", "expected", "outputs")}
    document = Document("request", msgspec.json.encode({"id": "request", "task": "request"} | transcript))
    corpus = join({"": ReadTrials(list(chat.read(document)), "chat", "request")})
    result = score_corpus(corpus, AgentSettings(rule=asked.rule, metrics=asked.metrics or None, resamples=1))
    return AgentAnswer(tuple(result.scores), tuple(result.findings))


def tasks(settings: ServeSettings) -> list[ServedTask]:
    """All tasks of the service. Caches are cleared after each batch."""

    def forgetting(task: ServedTask) -> ServedTask:
        def score(items: Sequence[Any]) -> Sequence[Any]:
            try:
                return task.score(items)
            finally:
                settings.forget()

        return task._replace(score=score)

    return [forgetting(task) for task in _tasks(settings)]


def score_each(score: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """Scores items one at a time; the answer to an invalid item is its error."""

    def scored_or_error(item: Any) -> Any:
        try:
            return score(item)
        except Exception as error:  # noqa: BLE001 (whoever asked gets it)
            return error

    return lambda items: [scored_or_error(item) for item in items]


def _tasks(settings: ServeSettings) -> list[ServedTask]:
    ground, acts = GroundTask(settings), ActsTask(settings)
    ground.check()
    return [
        ServedTask("/ground", "Is this response faithful to its document, and which words are not supported?",
                   GroundRequest, GroundAnswer, ground.prepare, ground.score),
        ServedTask("/nlg", "Does this response say what the acts say?",
                   ActsRequest, ActsAnswer, acts.prepare, acts.score),
        ServedTask("/rerank", "Which of these candidates says best what the acts say?",
                   RerankRequest, Choice, acts.prepare_choice, acts.choose),
        ServedTask("/dst", "How right are the predicted states of this dialogue?",
                   DstRequest, ScoresAnswer, lambda asked: asked, score_each(score_states), 422),
        ServedTask("/agent", "How right are the calls of this conversation, and what do its answers rest on?",
                   AgentRequest, AgentAnswer, lambda asked: asked, score_each(score_calls), 422),
    ]  # fmt: skip
