"""Metrics of whole dialogues on MultiWOZ: what each is, and how it comes from one system's judged dialogues."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from troth import stats
from troth.core.metric import Metric
from troth.core.names import parse_names
from troth.core.parts import Floats
from troth.core.registry import Registry
from troth.core.score import Estimate
from troth.responses import bleu
from troth.responses.multiwoz import richness
from troth.responses.multiwoz.corpus import pad_turns
from troth.responses.multiwoz.success import DomainOutcome
from troth.stats import intervals
from troth.stats.estimates import Resampling

ALWAYS = {"always": True}
NO_INTERVAL = "no interval: it depends on how much text there is, so resampled texts do not show its error"


@dataclass(frozen=True)
class JudgedDialogues:
    """One system's dialogues, judged: outcomes by dialogue and domain, and responses in mwzeval's form."""

    name: str
    outcomes: Mapping[str, Mapping[str, DomainOutcome]]
    responses: Mapping[str, Sequence[str]]
    references: Mapping[str, Sequence[str]]  # empty: none are given

    @property
    def dialogues(self) -> list[str]:
        return sorted(self.outcomes)

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """The responses as BLEU and richness read them."""
        return {name: [richness.detokenize(text) for text in self.responses[name]] for name in self.dialogues}

    @cached_property
    def tokens(self) -> dict[str, list[list[str]]]:
        return {name: [richness.tokenize(text) for text in texts] for name, texts in self.texts.items()}

    @cached_property
    def richness(self) -> richness.Richness:
        return richness.measure_richness([tokens for name in self.dialogues for tokens in self.tokens[name]])

    @cached_property
    def ngrams(self) -> Floats:
        """BLEU's counts, one row per dialogue in sorted order; a turn without a response counts as an empty one."""
        rows = []
        for name in self.dialogues:
            references = [richness.detokenize(text) for text in self.references[name]]
            texts = pad_turns(self.texts[name], len(references))
            rows.append(bleu.count_ngrams(texts, references).sum(axis=0))
        return np.array(rows)

    def count_responses(self) -> int:
        return sum(map(len, self.responses.values()))

    def inform(self, dialogue: str) -> bool:
        return all(outcome.inform for outcome in self.outcomes[dialogue].values())

    def success(self, dialogue: str) -> bool:
        return all(outcome.success for outcome in self.outcomes[dialogue].values())


@dataclass(frozen=True, kw_only=True)
class MultiwozRecipe:
    """What changes Inform and Success."""

    unit: str = field(default="dialogue", metadata=ALWAYS)
    states: str = field(metadata=ALWAYS)  # predicted, or gold
    domains: str = field(metadata=ALWAYS)  # predicted, or estimated from states
    missing: str = field(metadata=ALWAYS)
    set: str = ""  # a fingerprint of the dialogues, where a system's own predictions decide which count


class DialogueScoring(NamedTuple):
    """`Metric.compute` of a ratio of sums over dialogues."""

    part: Callable[[JudgedDialogues, str], tuple[float, float]]
    of_domain: Callable[[DomainOutcome], bool] | None = None  # the same for one domain of a dialogue


class WholeScoring(NamedTuple):
    """`Metric.compute` of a figure of all responses together (`unit="corpus"`)."""

    estimate: Callable[[JudgedDialogues, Resampling], Estimate]


def _length(system: JudgedDialogues, dialogue: str) -> tuple[float, float]:
    tokens = system.tokens[dialogue]
    return float(sum(map(len, tokens))), float(len(tokens))


def _rich(figure: Callable[[richness.Richness], float]) -> WholeScoring:
    def estimate(system: JudgedDialogues, _: Resampling) -> Estimate:
        return Estimate(float(figure(system.richness)), None, None, system.count_responses(), NO_INTERVAL)

    return WholeScoring(estimate)


def _bleu(system: JudgedDialogues, how: Resampling) -> Estimate:
    return bleu.estimate(system.ngrams, system.dialogues, how)


def _combined(system: JudgedDialogues, how: Resampling) -> Estimate:
    """(Inform + Success) / 2 + BLEU, with the interval of all three over the same resampled dialogues."""
    rates = np.array([[system.inform(name), system.success(name)] for name in system.dialogues], dtype=np.float64)
    table = np.concatenate([rates, system.ngrams], axis=1)
    count = len(table)
    value = _combine(table.mean(axis=0), count)
    resamples = intervals.enough_resamples(count, how.resamples)
    drawn = stats.bootstrap(table, np.ones_like(table), resamples=resamples, seed=how.seed)
    samples = [_combine(row, count) if row[-1] else math.nan for row in drawn]
    (bounds,) = intervals.expanded_percentile(value, samples, count)
    return Estimate(value, bounds.low, bounds.high, count, bounds.reason)


def _combine(means: Floats, count: int) -> float:
    return float(means[0] + means[1]) / 2 + bleu.bleu((means[2:] * count).tolist())


TEXT = ("sacremoses",)
REFERENCES = ("references", "sacrebleu", "sacremoses")
INFORM = Metric(
    "inform", "Inform", "share of dialogues that offer venues which fit the user's goal in all domains",
    unit="dialogue", headline=True,
    compute=DialogueScoring(lambda system, name: (float(system.inform(name)), 1.0), lambda domain: domain.inform),
)  # fmt: skip
SUCCESS = Metric(
    "success", "Success", "share of dialogues with Inform that give everything the user asks for",
    unit="dialogue", headline=True,
    compute=DialogueScoring(lambda system, name: (float(system.success(name)), 1.0), lambda domain: domain.success),
)  # fmt: skip
COMBINED = Metric(
    "combined", "Combined", "(Inform + Success) / 2 + BLEU", unit="corpus", scale="percent", top=2.0,
    needs=REFERENCES, compute=WholeScoring(_combined),
)  # fmt: skip
BLEU = Metric(
    "bleu", "BLEU", "corpus BLEU of delexicalised responses against references, by sacreBLEU", unit="corpus",
    needs=REFERENCES, compute=WholeScoring(_bleu),
)  # fmt: skip
LENGTH = Metric(
    "length", "Response length", "tokens per response", unit="response", scale="number", top=math.inf, needs=TEXT,
    compute=DialogueScoring(_length),
)  # fmt: skip
MSTTR = Metric(
    "msttr", "MSTTR", f"mean share of distinct tokens in windows of {richness.WINDOW} tokens", unit="corpus",
    needs=TEXT, compute=_rich(lambda rich: rich.msttr),
)  # fmt: skip
UNIGRAMS = Metric(
    "unigrams", "Distinct unigrams", "number of distinct tokens in all responses", unit="corpus", scale="number",
    top=math.inf, needs=TEXT, compute=_rich(lambda rich: rich.unigrams),
)  # fmt: skip
BIGRAMS = Metric(
    "bigrams", "Distinct bigrams", "number of distinct pairs of neighbouring tokens in all responses", unit="corpus",
    scale="number", top=math.inf, needs=TEXT, compute=_rich(lambda rich: rich.bigrams),
)  # fmt: skip
TRIGRAMS = Metric(
    "trigrams", "Distinct trigrams", "number of distinct triples of neighbouring tokens in all responses",
    unit="corpus", scale="number", top=math.inf, needs=TEXT, compute=_rich(lambda rich: rich.trigrams),
)  # fmt: skip
ENTROPY = Metric(
    "entropy", "Entropy", "bits per token of all responses", unit="corpus", scale="number", top=math.inf, needs=TEXT,
    compute=_rich(lambda rich: rich.entropy),
)  # fmt: skip
CONDITIONAL_ENTROPY = Metric(
    "conditional_entropy", "Conditional entropy", "bits per token of all responses, given the token before",
    unit="corpus", scale="number", top=math.inf, needs=TEXT, compute=_rich(lambda rich: rich.conditional_entropy),
)  # fmt: skip

OURS = (
    INFORM, SUCCESS, COMBINED, BLEU, LENGTH, MSTTR, UNIGRAMS, BIGRAMS, TRIGRAMS, ENTROPY, CONDITIONAL_ENTROPY,
)  # fmt: skip
METRICS: Registry[Metric] = Registry(
    "metric of MultiWOZ dialogues", "troth.multiwoz_metrics", {metric.name: metric for metric in OURS}
)


def select_metrics(names: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of these names. None: all of ours."""
    return [METRICS.load(name) for name in parse_names(names) or METRICS.own]


def metric_recipe(metric: Metric, recipe: MultiwozRecipe) -> Any:
    """The rules that a metric's signature names: BLEU's own where it is part of it, no states where none counts."""
    texts = {"unit": metric.unit, "tok": "moses+lexical-diversity", "missing": recipe.missing, "set": recipe.set}
    if "sacrebleu" in metric.needs:
        rules = bleu.signature_rules() if bleu.is_installed() else {}
        return (recipe, rules) if metric is COMBINED else {**rules, "missing": recipe.missing, "set": recipe.set}
    return texts if metric.needs else recipe
