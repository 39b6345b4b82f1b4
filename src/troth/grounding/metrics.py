"""Metrics of grounded responses: the registry, the protocol behind it, and the models that metrics ask.

A metric is a `Metric`, declared beside the class that computes it; its `compute` is a function from `Models` to a
`Grader`. Other packages add metrics through the entry point group `troth.grounding_metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from troth import models as backends
from troth.core.data_options import nli_option
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, format_count, parse_names
from troth.core.options import cache_file, option
from troth.core.records import Grounded
from troth.core.registry import Registry
from troth.models import Lm, Nli
from troth.text.layout import plain_document, plain_response

if TYPE_CHECKING:
    from troth.storage.cache import Store
    from troth.storage.explorer import ClaimSupport

METRICS: Registry[Metric] = Registry(
    "metric of grounded responses",
    "troth.grounding_metrics",
    {
        "faith": "troth.grounding.faith:FAITH",
        "u_f1": "troth.grounding.overlap:U_F1",
        "bleu": "troth.grounding.overlap:BLEU",
        "rouge_l": "troth.grounding.overlap:ROUGE_L",
        "coverage": "troth.grounding.overlap:COVERAGE",
        "facts": "troth.grounding.facts:FACTS",
        "nli": "troth.grounding.entailment:NLI",
        "contrast": "troth.grounding.contrast:CONTRAST",
        "pmi_faith": "troth.grounding.pmi:PMI_FAITH",
        "pmi_faith_sum": "troth.grounding.pmi:PMI_FAITH_SUM",
        "pmi_faith_windows": "troth.grounding.pmi:PMI_FAITH_WINDOWS",
        "upmi_faith": "troth.grounding.pmi:UPMI_FAITH",
        "blend": "troth.grounding.blend:BLEND",
        "judge": "troth.grounding.judge:JUDGE",
        "bertscore": "troth.grounding.bertscore:BERTSCORE",
        "faithcritic": "troth.grounding.critic:FAITHCRITIC",
        "faithcritic_soft": "troth.grounding.critic:FAITHCRITIC_SOFT",
        "q2": "troth.grounding.q2:Q2",
    },
)
DEFAULT = {"faith": "nli", "coverage": "text", "facts": ""}  # each with the extra that it needs
EXTRAS = {"nli": ("onnxruntime", "tokenizers"), "text": ("rouge_score", "nltk"), "": ()}  # what an extra installs
FAITHFUL = Metric(
    "faithful", "Faithful", "share of responses that a calibration calls faithful", unit="response", against="documents"
)

NO_DOCUMENT = "the document is empty"
NO_RESPONSE = "the response is empty"
NO_NUMBER = "the metric gives no finite number"


class Unscored(NamedTuple):
    """In place of a value that does not exist: the reason."""

    reason: str


Value = float | Unscored


class Grader(Protocol):
    """Gives each response a number; the higher, the more faithful the response."""

    @property
    def metric(self) -> Metric: ...

    @property
    def recipe(self) -> Any:
        """The rules that move its numbers, models with their revision; see `troth.core.signature`."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """Notes for the user after scoring, such as how many texts were longer than a model reads."""
        ...

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        """One value per item, in their order; a value does not depend on the other items.

        All items of a run come at once, so that a grader can make its own batches. Each has a document and a response.
        """
        ...


@runtime_checkable
class Explainer(Protocol):
    """A grader that can also say of single responses what its number rests on."""

    @property
    def metric(self) -> Metric: ...

    def explain(self, item: Grounded) -> Sequence[str]:
        """Lines for a reader, such as each claim with the passage that supports it best."""
        ...


@runtime_checkable
class ClaimJudge(Protocol):
    """A grader that also judges each sentence of a response: supported, contradicted, absent, or no claim."""

    def claims(self, item: Grounded) -> Sequence[ClaimSupport]: ...


BACKENDS = ("troth.models:BACKENDS",)  # names that shells complete


@dataclass(frozen=True)
class Models:
    """The models that metrics ask, by name. Each is opened once, when a metric first asks it.

    `nli` and `lm` may also be backends of your own (`troth.models.Nli`, `troth.models.Lm`). `cache` is the file that
    keeps models' answers; None keeps them for this process only.
    """

    nli: str | Nli = nli_option()
    lm: str | Lm = option("embedded", "Language model; see `troth ls backends`.", "NAME", complete=BACKENDS)
    encoder: str = option("embedded", "Encoder for BERTScore.", "NAME", complete=BACKENDS)
    critic: str = option(
        "hf:McGill-NLP/roberta-large-faithcritic", "Classifier for FaithCritic.", "NAME", complete=BACKENDS
    )
    questions: str = option(
        "hf:mrm8488/t5-base-finetuned-question-generation-ap", "Question generator for Q².", "NAME", complete=BACKENDS
    )
    answers: str = option(
        "hf:ktrapeznikov/albert-xlarge-v2-squad-v2", "Question answerer for Q².", "NAME", complete=BACKENDS
    )
    cache: Path | None = cache_file()
    timeout: float | None = option(
        None, "Longest time for one answer of a server (a language model or a checker).", "SECONDS", least=0, above=True
    )

    @cached_property
    def entailment_model(self) -> Nli:
        return backends.nli(self.nli, cache=self.cache) if isinstance(self.nli, str) else self.nli

    @cached_property
    def language_model(self) -> Lm:
        if not isinstance(self.lm, str):
            return self.lm
        return backends.lm(self.lm, cache=self.cache, timeout=self.timeout)

    @cached_property
    def chat_model(self) -> Lm:
        """The language model, asked as a chat where it can be. The embedded one was never measured so."""
        if self.lm == "embedded":
            what = "the metric judge needs a chat model, and the embedded language model is not meant for that"
            raise UserError(what, hint="name the model of a server: http://HOST/v1#MODEL")
        if not isinstance(self.lm, str):
            return self.language_model
        return backends.lm(backends.chat_name(self.lm), cache=self.cache, timeout=self.timeout)

    @cached_property
    def store(self) -> Store:
        """Cache for the results of models that are not backends."""
        from troth.storage.cache import Store

        return Store.at(self.cache)

    def names(self) -> dict[str, str]:
        """The names of `nli` and `lm`, and of the others that are not the default, for a run's record."""
        roles = {role.name: getattr(self, role.name) for role in fields(self) if role.name not in ("cache", "timeout")}
        usual = {role.name: role.default for role in fields(self) if role.name not in ("nli", "lm", "cache", "timeout")}
        return {role: getattr(model, "name", model) for role, model in roles.items() if model != usual.get(role)}


def plain_texts(items: Iterable[Grounded]) -> list[Grounded]:
    """The responses and documents without their layout, for metrics of troth's own; see `troth.text.layout`."""
    return [
        msgspec.structs.replace(item, document=plain_document(item.document), response=plain_response(item.response))
        for item in items
    ]


def faithfulness(
    name: str,
    title: str,
    about: str,
    *,
    needs: tuple[str, ...],
    compute: Callable[[Models], Grader],
    top: float | None = None,
    low: float | None = None,
) -> Metric:
    """A metric of grounded responses: the mean over responses of a number that is not a share.

    `top`, `low`: the highest possible value; the lowest one, of a metric that can be below 0.
    """
    return Metric(
        name, title, about, scale="number", unit="response", needs=needs, against="documents", top=top, low=low,
        compute=compute,
    )  # fmt: skip


def cut_remarks(items: Set[str], noun: str, reader: str) -> list[str]:
    """A remark on texts that lost their end, if there are any; `items`: the ids of their items."""
    return [f"longer than {reader} reads, and cut at the end: {format_count(len(items), noun)}"] if items else []


def default_metrics() -> tuple[str, ...]:
    """The metrics that are scored where none is named: those whose packages are installed."""
    return tuple(name for name, extra in DEFAULT.items() if all(find_spec(pkg) is not None for pkg in EXTRAS[extra]))


def make_graders(names: str | Iterable[str], models: Models) -> list[Grader]:
    """The graders of these metrics, each once, in their order."""
    if not (wanted := parse_names(names)):
        raise UserError("no metric is named", hint="for example u_f1,rouge_l")
    return [METRICS.load(name).compute(models) for name in wanted]


def grade(grader: Grader, items: Sequence[Grounded]) -> list[Value]:
    """The value of each item. What has no document or no response has a reason, and NaN is never a value."""
    values: list[Value] = [_explain_unscorable(item) or 0.0 for item in items]
    able = [index for index, value in enumerate(values) if not isinstance(value, Unscored)]
    scores = grader.score([items[index] for index in able]) if able else []
    if len(scores) != len(able):
        raise ValueError(f"{grader.metric.name} gave {len(scores)} values for {len(able)} responses")
    for index, value in zip(able, scores, strict=True):
        finite = isinstance(value, Unscored) or math.isfinite(value)
        values[index] = value if finite else Unscored(NO_NUMBER)
    return values


def _explain_unscorable(item: Grounded) -> Unscored | None:
    if not item.document.strip():
        return Unscored(NO_DOCUMENT)
    return None if item.response.strip() else Unscored(NO_RESPONSE)
