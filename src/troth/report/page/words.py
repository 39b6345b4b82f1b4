"""Numbers and names in plain words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from troth.core.score import Score

SHARES = (  # (share, in words); the nearest is taken
    (0.05, "one in twenty"),
    (0.1, "a tenth"),
    (0.2, "a fifth"),
    (0.25, "a quarter"),
    (1 / 3, "a third"),
    (0.4, "two fifths"),
    (0.5, "half"),
    (0.6, "three fifths"),
    (2 / 3, "two thirds"),
    (0.75, "three quarters"),
    (0.8, "four fifths"),
    (0.9, "nine tenths"),
)

NAMES = {
    "jga": ("Joint goal accuracy", "the whole state is right"),
    "jga_cat": ("JGA, categorical", "every slot with a closed list of values is right"),
    "jga_noncat": ("JGA, free values", "every slot with free values is right"),
    "aga": ("Average goal accuracy", "share of gold's slots that are right; extra slots go unpunished"),
    "aga_cat": ("AGA, categorical", "the same over slots with a closed list of values"),
    "aga_noncat": ("AGA, free values", "the same over slots with free values"),
    "sa": ("Slot accuracy", "share of all the ontology's slots that are right; always high"),
    "turn_match": ("Turn match", "right, or wrong only through an earlier mistake"),
    "intent_accuracy": ("Active intent", "what the user wants is recognised"),
    "requested_f1": ("Requested slots, F1", "what the user asks to know"),
    "requested_precision": ("Requested slots, precision", ""),
    "requested_recall": ("Requested slots, recall", ""),
    "tagging_f1": ("Values in the text, F1", "spans of free values"),
    "tagging_precision": ("Values in the text, precision", ""),
    "tagging_recall": ("Values in the text, recall", ""),
    "cjga": ("cJGA", "right in both sets, of those right in at least one"),
    "cjga_all": ("cJGA, all pairs", "right in both sets, of all pairs"),
    "nohf": ("No hallucination", "named entities predicted that stand in what was said"),
    "coref_jga": ("Coreference JGA", "turns whose state rests on a reference"),
    "ser": ("Slot error rate", "responses that lack a value; lower is better"),
    "ser_applicable": ("Slot error rate, applicable", "the same, of the turns that have such values"),
    "bleu": ("BLEU", "overlap with gold's wording"),
    "sgsacc": ("SGSAcc", "responses from which every act follows"),
    "sgsacc_plain": ("SGSAcc, alone", "the same, judged without context"),
    "sgsacc_validated": ("SGSAcc, validated", "over turns on which the judge is to be trusted"),
    "u_f1": ("U-F1", "words that response and document share"),
    "rouge_l": ("ROUGE-L", "longest common run of words with the document"),
    "nli": ("Entailment", "the document entails every sentence of the response"),
    "pmi_faith": ("PMI-Faith", "how much likelier the document makes the response, for each token"),
    "pmi_faith_sum": ("PMI-Faith, sum", "the same, summed over tokens"),
    "pmi_faith_windows": ("PMI-Faith, windows", "the same, over parts of a long document"),
    "upmi_faith": ("U-PMI-Faith", "the same, without what was said before"),
    "bertscore": ("BERTScore", "likeness of response and document, word by word"),
    "faithcritic": ("FaithCritic", "a classifier's verdict"),
    "faithcritic_soft": ("FaithCritic, soft", "the same as a probability"),
    "q2": ("Q²", "answers to questions about the response, from the document"),
    "sgsacc_gated": ("SGSAcc, gated", "every act follows, and every value is there"),
}


def percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def figure(score: Score | None) -> str:
    """Value and half-width, as tables show it."""
    if score is None or score.value is None:
        return "–"
    if is_rate(score.metric):
        return f"{score.value:.2f}" + ("" if score.low is None else f" ±{((score.high or 0) - score.low) / 2:.2f}")
    half = "" if score.low is None or score.high is None else f" ±{percent((score.high - score.low) / 2)}"
    return percent(score.value) + half


def is_rate(metric: str) -> bool:
    """Whether a metric is no fraction of a whole: a coefficient of variation."""
    return metric.startswith("ss_")


def lower_is_better(metric: str) -> bool:
    return metric.startswith(LOWER)


def share(value: float) -> str:
    """A share in words: 0.66 is "two thirds". Only nothing is none, and only everything is all."""
    if value <= 0.0 or value >= 1.0:
        return "none" if value <= 0.0 else "all"
    if value < 0.025:
        return "hardly any"
    if value > 0.95:
        return "nearly all"
    return min(SHARES, key=lambda known: abs(known[0] - value))[1]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def name(metric: str) -> str:
    """A metric's name for a reader: `fga@0.5` is "FGA, λ = 0.5", `cjga:NED` "cJGA under NED"."""
    base, _, variant = metric.partition(":")
    if base == "faithful":
        return f"Faithful by {inline(variant)}"
    if metric.startswith(("coverage:", "act_coverage:")):
        covering = {"ser": "SER covers", "sgsacc": "SGSAcc covers", "validated": "validation leaves"}
        return f"{'Acts' if base == 'act_coverage' else 'Turns'} that {covering.get(variant, variant)}"
    if base.startswith("ss_"):
        return f"Schema sensitivity of {short(base.removeprefix('ss_'))}"
    if base.startswith("all_wrong_"):
        return "Wrong under every wording"
    if base.endswith("_orig"):
        return f"{short(base.removesuffix('_orig'))}, original schema"
    if base.endswith("_drop"):
        return f"{short(base.removesuffix('_drop'))}, relative change"
    averaged = over_wordings(base)
    if averaged:
        return f"{short(averaged)} over the wordings"
    known = f"FGA, λ = {base.removeprefix('fga@')}" if base.startswith("fga@") else NAMES.get(base, (base, ""))[0]
    return f"{known} under {variant}" if variant else known


def over_wordings(metric: str) -> str:
    """The metric whose mean over a schema's wordings this is (`jga_v1-5`: `jga`); empty if it is no such mean."""
    if metric in NAMES:
        return ""
    fga = metric.partition("_")[0]
    heads = [fga] if fga.startswith("fga@") else [known for known in NAMES if metric.startswith(f"{known}_")]
    head = max(heads, key=len, default="")
    return head if head and re.fullmatch(r"v\d.*|.*\+.*", metric[len(head) + 1 :]) else ""


def inline(metric: str) -> str:
    """A metric's name within a sentence."""
    if metric.startswith("faithful:"):
        return f"the share that {inline(metric.removeprefix('faithful:'))} finds faithful"
    known = name(metric)
    return known if known[:2].isupper() or not known[1:2].islower() else known[0].lower() + known[1:]


def about(metric: str) -> str:
    if metric.startswith("fga@"):
        return "an inherited mistake is forgiven, the sooner the larger λ"
    if metric.startswith("faithful:"):
        return "share of responses above the calibration's threshold"
    if metric.startswith("ss_"):
        return "how much a unit's score varies over the wordings; lower is steadier"
    return NAMES.get(metric.partition(":")[0], ("", ""))[1]


def short(metric: str) -> str:
    return metric.upper() if metric.isalpha() else name(metric)


def unit(signature: str, number: int = 2) -> str:
    """What the score is over: turns or frames."""
    found = re.search(r"\|unit:([a-z]+)", signature)
    word = found[1] if found else "unit"
    return word if number == 1 else f"{word}s"


def profile(signature: str) -> str:
    found = re.search(r"\|profile:([^|]+)", signature)
    return found[1] if found else ""
