"""What can be asked: a request and an answer for each question, by the names that `--json` and `--rows` use.

A task checks a request (`prepare`, where everything that is wrong with it is an error), and scores many at once
(`score`) by the function that scores files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from troth.agents.corpus import ReadTrials, join
from troth.agents.score import AgentFinding, AgentSettings, score_corpus
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.names import format_count
from troth.core.records import Act, Schema, Service
from troth.core.score import Score
from troth.integrations.evaluate import load
from troth.readers.source import Document
from troth.readers.trajectories import chat
from troth.responses.explorer import judged_acts
from troth.responses.judge import judge
from troth.responses.rerank import Choice, Nbest, due_acts, rerank_all
from troth.responses.sgsacc import SystemTurn
from troth.serve.faithfulness import GroundAnswer, GroundRequest, GroundTask, ServedScore
from troth.serve.settings import ServeSettings
from troth.tracking import metrics as tracking

# Findings that are no fault of the assistant's answers: a tool may fail, and asking it twice is merely slow.
NO_FAULT = frozenset(("failed call", "repeated call"))
NO_ASSISTANT = "the conversation has no message of the assistant"
NO_SCHEMA = "no schema is known"
NO_SCHEMA_HINT = "send 'schema' with the request, or start the service with one"


Lane = Literal["models", "rules"]  # requests of one lane never wait for those of the other
LANES: tuple[Lane, ...] = get_args(Lane)
MODELS, RULES = LANES


class ServedTask(NamedTuple):
    """A question that the service answers."""

    path: str
    lane: Lane
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


class ActVerdictAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the model says of one act, as `troth nlg --acts` has it."""

    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    kind: str
    entailed: bool
    entailed_plain: bool
    present: bool
    helped: bool = False
    reference: str | None = None
    plain: dict[str, float] | None = None
    augmented: dict[str, float] | None = None
    missed: tuple[str, ...] = ()  # values that must stand in the response word for word, and do not


class ActsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`faithful`: every act that has a rule is entailed; left out where no act has one."""

    acts: tuple[ActVerdictAnswer, ...]
    faithful: bool | None = None


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
            answers.append(ActsAnswer(acts, all(ruled) if ruled else None))
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
    signatures: bool = False  # whether to name the recipe of each score


class ScoresAnswer(msgspec.Struct, frozen=True):
    scores: tuple[ServedScore, ...]


def score_states(asked: DstRequest) -> ScoresAnswer:
    names = asked.metrics or tuple(metric.name for metric in tracking.select_metrics(None, tracking.DEFAULT_RATES))
    schema = None if asked.schema is None else {service.name: service for service in asked.schema}
    metrics = load(names, against="states", profile=asked.profile, schema=schema, resamples=1)
    metrics.add(prediction=list(asked.predictions), reference=list(asked.references))
    return ScoresAnswer(tuple(_served(score, asked.signatures) for score in metrics.scores()))


def _served(score: Score, signatures: bool) -> ServedScore:
    group = None if score.group == ALL else str(score.group)
    line = score.signature if signatures else None
    return ServedScore(score.metric, score.value, score.reason, group=group, n=score.n, signature=line)


class AgentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One conversation with calls of tools; `expected`: gold calls. All as in a chat transcript of `troth agent`."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    expected: tuple[dict[str, Any], ...] | None = None
    outputs: tuple[str, ...] = ()
    rule: str | None = None  # of matching calls; None: exact
    metrics: tuple[str, ...] = ()  # whose scores are wanted, by the names of `troth agent score`, or sets of them
    signatures: bool = False  # whether to name the recipe of each score


class TalkFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something in the conversation that lowers a score; what is not known of it is left out."""

    kind: str
    message: int | None = None  # index
    text: str | None = None  # the claim or the detail,
    start: int | None = None  # and its characters in the text of the message
    end: int | None = None
    tool: str | None = None
    argument: str | None = None
    value: str | None = None
    reason: str | None = None
    evidence: int | None = None  # index of the message that shows it


class AgentAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`faithful`: what is said and passed to tools has a source, every call is allowed, and gold's are made.

    Left out with a reason where the conversation has parts that were not read, or no message of the assistant.
    """

    faithful: bool | None = None
    reason: str | None = None
    findings: tuple[TalkFinding, ...] = ()
    scores: tuple[ServedScore, ...] = ()


def score_calls(asked: AgentRequest) -> AgentAnswer:
    fields = msgspec.to_builtins(asked)
    transcript = {name: value for name, value in fields.items() if name in ("messages", "tools", "expected", "outputs")}
    document = Document("request", msgspec.json.encode({"id": "request", "task": "request"} | transcript))
    trials = list(chat.read(document))
    corpus = join({"": ReadTrials(trials, "chat", "request")})
    result = score_corpus(corpus, AgentSettings(rule=asked.rule, metrics=asked.metrics or None, resamples=1))
    findings = [finding for finding in result.findings if isinstance(finding, AgentFinding)]
    unread = sum(counts.get("unread_blocks", 0) for counts in result.counts.values())
    faithful: bool | None = not any(finding.kind not in NO_FAULT for finding in findings)
    reason = f"{format_count(unread, 'block')} of the conversation could not be read" if unread else None
    if faithful and not any(message.role == "assistant" for trial in trials for message in trial.messages):
        reason = reason or NO_ASSISTANT
    return AgentAnswer(
        faithful if reason is None else None,
        reason,
        tuple(_talk_finding(finding) for finding in findings),
        tuple(_served(score, asked.signatures) for score in result.scores if asked.metrics),
    )


def _talk_finding(finding: AgentFinding) -> TalkFinding:
    """The finding without what only several conversations have, and without what is empty."""
    known = {name: getattr(finding, name) for name in TalkFinding.__struct_fields__}
    return TalkFinding(**{name: value for name, value in known.items() if value not in (None, "")})


def tasks(settings: ServeSettings, lane: Lane | None = None) -> list[ServedTask]:
    """The tasks of the service, or of one lane. Caches are cleared after each batch."""

    def forgetting(task: ServedTask) -> ServedTask:
        def score(items: Sequence[Any]) -> Sequence[Any]:
            try:
                return task.score(items)
            finally:
                settings.forget()

        return task._replace(score=score)

    asked = [] if lane == RULES else _model_tasks(settings)
    return [forgetting(task) for task in (*asked, *(() if lane == MODELS else RULE_TASKS))]


def score_each(score: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """Scores items one at a time; the answer to an invalid item is its error."""

    def scored_or_error(item: Any) -> Any:
        try:
            return score(item)
        except Exception as error:  # noqa: BLE001 (whoever asked gets it)
            return error

    return lambda items: [scored_or_error(item) for item in items]


def _model_tasks(settings: ServeSettings) -> list[ServedTask]:
    ground, acts = GroundTask(settings), ActsTask(settings)
    ground.check()
    return [
        ServedTask("/ground", MODELS, "Is this response faithful to its document, and which words are not supported?",
                   GroundRequest, GroundAnswer, ground.prepare, ground.score),
        ServedTask("/nlg", MODELS, "Does this response say what the acts say?",
                   ActsRequest, ActsAnswer, acts.prepare, acts.score),
        ServedTask("/rerank", MODELS, "Which of these candidates says best what the acts say?",
                   RerankRequest, Choice, acts.prepare_choice, acts.choose),
    ]  # fmt: skip


RULE_TASKS = (
    ServedTask("/dst", RULES, "How right are the predicted states of this dialogue?",
               DstRequest, ScoresAnswer, lambda asked: asked, score_each(score_states), 422),
    ServedTask("/agent", RULES, "Does this conversation rest on its tool results, and are its calls right?",
               AgentRequest, AgentAnswer, lambda asked: asked, score_each(score_calls), 422),
)  # fmt: skip
