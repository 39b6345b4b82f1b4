"""`faith`, the default metric of `troth ground`: its form and weights, chosen by the worst of several labelled sets.

    python -m experiments.faith --cache answers.sqlite

Dev data of different kinds: BEGIN's dev sets, FaithDial's audit, WiCE, FM2 (claims that training did not see),
COVID-Fact, Climate-FEVER, VitaminC, cited answers (attribution), sentences of answers (QA feedback), edited summaries
(SummEdits), HaluEval's dialogue and QA, and corruptions of supported answers of these. BEGIN's test set is not read.
The entailment model's answers are cached, so that another form is tried in seconds; with another model everything is
asked again, which takes some minutes on two quiet cores.

Weights are taken from a grid: those whose worst set has the highest AUROC; of those that are near it (0.04, about the
standard error of a set) the one with the highest mean. The lowest sentence has a share of a quarter at least: in a long
response one wrong sentence must not be lost in the mean. Then bias and scale are fitted on all sets together, each with
the same weight, so that the value is a probability. Each set is also scored by weights, bias and scale that were chosen
without it: AUROC, and balanced accuracy at a probability of 0.5. Form and rules were settled after a look at all sets,
so that this is not of untouched data.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from training.nli.documents import fm2
from training.nli.evaluate import open_nli

from experiments.common import arguments, publish, table
from troth import stats
from troth.core.records import Grounded
from troth.grounding.entailment import EVIDENCE, SentenceEntailment
from troth.grounding.faith import FaithWeights, combine_odds, compute_features, log_odds
from troth.grounding.metrics import Models, Unscored, grade, make_graders
from troth.perturb.answers import KINDS, corruptions
from troth.readers import grounded

SEED = 15
EACH = 300  # responses of a set
POOL = 700  # responses of a set, whose supported ones are corrupted
PAIRS = 80  # corruptions of a kind
NEAR = 0.04  # of AUROC: about the standard error of a set, no difference
NAMES = ("entailment", "contradiction", "words", "facts", "places")
GRID = {
    "entailment": (1.0,), "contradiction": (0.0, 0.25, 0.5, 1.0), "words": (0.0, 2.0, 4.0, 8.0, 12.0),
    "facts": (0.0, 1.0, 2.0, 4.0, 8.0), "places": (0.0, 2.0, 4.0, 8.0), "worst": (0.25, 0.5, 0.75),
}  # fmt: skip
REFUTED, UNKNOWN = ("REFUTES", "REFUTED"), ("NOT_ENOUGH_INFO", "not_supported")
EXCHANGED = {"name", "number", "date", "roles"}  # the document's own words put together wrongly: a set of its own
OTHERS = "coverage,facts,u_f1,rouge_l,nli"


class Judged(NamedTuple):
    """A labelled response: for each sentence its features, and how far contradiction is above neutral."""

    label: int
    sentences: list[list[float]]
    opposed: float
    kind: str


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--cache", default="", help="file of the model's answers; the usual one without")
    parser.add_argument("--nli", default="embedded", help="entailment model, or the folder of an embedded one")
    parser.add_argument("--each", type=int, default=EACH, help="responses of a set")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="corruptions of a kind")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    chosen_sets = sets(options.shared, options.each)
    kinds = corrupted(sets(options.shared, POOL), options.pairs)
    nli = open_nli(options.nli, options.cache)
    entailment = SentenceEntailment(nli, evidence=EVIDENCE)
    judged = {name: judge(items, entailment) for name, items in (chosen_sets | kinds).items()}
    weights, report = choose({name: judged[name] for name in chosen_sets}, {name: judged[name] for name in kinds})
    others = make_graders(OTHERS, Models(nli=nli, cache=options.cache))
    head = ["AUROC", "n", "supported", *(one.metric.name for one in others), "faith", "without it", "balanced accuracy"]
    rows = []
    for name, items in (chosen_sets | kinds).items():
        labels = [one.label for one in items]
        values = [grade(one, items) for one in others]
        cells = [_auroc(column, labels) for column in values]
        rows.append([name, str(len(items)), str(sum(label or 0 for label in labels)), *cells, *report[name]])
    caught = [
        [kind, str(len(judged[kind]) // 2), f"{100 * pairs_caught(judged[kind], weights):.0f} %"] for kind in kinds
    ]
    text = f"{weights}\n\n{table(head, rows)}\n{table(['caught', 'pairs', 'faith'], caught)}"
    publish(options.work, "faith", text)


def judge(items: Sequence[Grounded], entailment: SentenceEntailment) -> list[Judged]:
    """What the weights are chosen by, of each response."""
    found = []
    for item, supports in zip(items, entailment.supports(items), strict=True):
        claims = [one for one in supports if one.claims]
        rows = [compute_features(item.document, one) for one in claims]
        worst = claims[0].answers[claims[0].against]
        apart = log_odds(worst.contradiction) - log_odds(worst.neutral)
        found.append(Judged(item.label or 0, [[row[name] for name in NAMES] for row in rows], apart, item.source))
    return found


def odds(judged: Sequence[Judged], weights: Mapping[str, float]) -> list[float]:
    """The log odds of each response, before bias and scale."""
    each = np.array([weights[name] for name in NAMES])
    sums = [np.array(one.sentences) @ each for one in judged]
    return [weights["worst"] * float(own.min()) + (1 - weights["worst"]) * float(own.mean()) for own in sums]


def choose(
    labelled: Mapping[str, Sequence[Judged]], kinds: Mapping[str, Sequence[Judged]]
) -> tuple[FaithWeights, dict[str, list[str]]]:
    """The weights, and for each set AUROC by them and by weights that were chosen without the set."""
    tried = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    found = [{name: _area(judged, weights) for name, judged in labelled.items()} for weights in tried]
    for weights, areas in zip(tried, found, strict=True):
        for name, some in (("exchanged", EXCHANGED), ("corrupted", set(kinds) - EXCHANGED)):
            areas[name] = float(np.mean([_area(kinds[kind], weights) for kind in sorted(some)]))
    best = _best(found)
    report = {}
    for name, judged in labelled.items():
        place = _best(found, name)
        others = {other: rows for other, rows in labelled.items() if other != name}
        correct = balanced_accuracy(judged, tried[place], *_fit(others, tried[place]))
        report[name] = [f"{found[best][name]:.3f}", f"{found[place][name]:.3f}", f"{correct:.3f}"]
    report |= {kind: [f"{_area(judged, tried[best]):.3f}", "", ""] for kind, judged in kinds.items()}
    bias, scale = _fit(labelled, tried[best])
    apart = {name: [one for one in judged if one.kind in (*REFUTED, *UNKNOWN)] for name, judged in labelled.items()}
    opposed = [(one.opposed, int(one.kind in REFUTED)) for judged in apart.values() for one in judged]
    values, labels = (np.array(side, dtype=float) for side in zip(*opposed, strict=True))
    balance = np.where(labels > 0, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    contradicted_bias, contradicted = logistic(values, labels, balance)
    each = {name: round(scale * tried[best][name], 3) for name in NAMES}
    return FaithWeights(
        bias=round(bias, 3), **each, worst=tried[best]["worst"], contradicted_bias=round(contradicted_bias, 3),
        contradicted=round(contradicted, 3),
    ), report  # fmt: skip


def _best(found: Sequence[Mapping[str, float]], without: str = "") -> int:
    """The place of the weights with the best worst set; of those that are near it, the one with the best mean."""
    kept = [[value for name, value in areas.items() if name != without] for areas in found]
    top = max(map(min, kept))
    able = [place for place, areas in enumerate(kept) if min(areas) >= top - NEAR]
    return max(able, key=lambda place: float(np.mean(kept[place])))


def _area(judged: Sequence[Judged], weights: Mapping[str, float]) -> float:
    return stats.auroc(odds(judged, weights), [one.label for one in judged]) or math.nan


def _fit(labelled: Mapping[str, Sequence[Judged]], weights: Mapping[str, float]) -> tuple[float, float]:
    """Bias and scale on all sets, each set and each of its labels with the same weight."""
    values, labels, shares = [], [], []
    for judged in labelled.values():
        own = np.array([one.label for one in judged], dtype=float)
        values += odds(judged, weights)
        labels += own.tolist()
        shares += np.where(own > 0, 0.5 / own.sum(), 0.5 / (1 - own).sum()).tolist()
    return logistic(np.array(values), np.array(labels), np.array(shares) * len(shares) / len(labelled))


def balanced_accuracy(judged: Sequence[Judged], weights: Mapping[str, float], bias: float, scale: float) -> float:
    """The mean of the shares of supported and of unsupported responses that are told right at a probability of 0.5."""
    right = {0: [0, 0], 1: [0, 0]}
    for value, one in zip(odds(judged, weights), judged, strict=True):
        right[one.label][int((bias + scale * value > 0) == bool(one.label))] += 1
    return float(np.mean([correct / (wrong + correct) for wrong, correct in right.values()]))


def logistic(values: Any, labels: Any, weights: Any) -> tuple[float, float]:
    """Bias and scale of the logistic regression of labels on values, by Newton's method."""
    design, beta = np.column_stack([np.ones(len(values)), values]), np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ beta))
        slope = design.T @ (weights * (labels - chance))
        curve = (design * (weights * chance * (1 - chance))[:, None]).T @ design + 1e-9 * np.eye(2)
        beta += np.linalg.solve(curve, slope)
    return float(beta[0]), float(beta[1])


def pairs_caught(judged: Sequence[Judged], weights: FaithWeights) -> float:
    """The share of corrupted answers that score lower than the answer before them."""
    each = np.array([getattr(weights, name) for name in NAMES])
    values = [
        combine_odds([weights.bias + float(np.array(row) @ each) for row in one.sentences], weights.worst)
        for one in judged
    ]
    return float(np.mean([low < high for high, low in zip(values[::2], values[1::2], strict=True)]))


def _auroc(values: Sequence[Any], labels: Sequence[int | None]) -> str:
    known = [(value, label) for value, label in zip(values, labels, strict=True) if not isinstance(value, Unscored)]
    area = stats.auroc(*zip(*known, strict=True)) if known else None
    return "–" if area is None else f"{area:.3f}"


def sets(shared: Path, each: int) -> dict[str, list[Grounded]]:
    """Labelled responses by set, at most `each` of each, drawn by the seed."""
    data = shared / "data"
    begin = {"wow": "wow/begin_dev_wow", "cmu": "cmu-dog/begin_dev_cmu", "topical": "topicalchat/begin_dev_tc"}
    found = {f"begin-{name}": _read(data / f"begin/{path}.tsv") for name, path in begin.items()}
    found["audit"] = [item for path in sorted((data / "faithdial_audit").glob("*.csv")) for item in _read(path)]
    found["wice"] = _claims(data / "wice/claims_dev.jsonl", ("supported",))
    found["fm2"] = [
        Grounded(f"fm2-{i}", _text(list(one.evidence)), one.text, (), int(one.label == "entailment"),
                 "SUPPORTS" if one.label == "entailment" else "REFUTES")
        for i, one in enumerate(fm2(data, kept_apart=True))
    ]  # fmt: skip
    found["covid"] = _claims(data / "factcheck/covidfact.jsonl.gz", ("SUPPORTED",))
    found["climate"] = _claims(data / "factcheck/climate_fever.jsonl.gz", ("SUPPORTS",))
    for name in ("vitaminc", "attribution", "qa_feedback", "summedits"):
        found[name] = _read(data / f"grounding_dev/{name}_dev.jsonl.gz")
    for name in ("dialogue", "qa"):
        found[f"halueval-{name}"] = _read(data / f"halueval/{name}_dev.jsonl.gz")
    return {name: _drawn(items, each, name) for name, items in found.items()}


def corrupted(sets: dict[str, list[Grounded]], number: int) -> dict[str, list[Grounded]]:
    """By kind: supported answers of all sets (label 1), each followed by its corruption (label 0)."""
    made: dict[str, list[Grounded]] = {kind: [] for kind in KINDS}
    supported = [item for items in sets.values() for item in items if item.label]
    for item in _drawn(supported, len(supported), "corrupted"):
        for one in corruptions(item.document, item.response, seed=SEED, id=item.id):
            pairs = made[one.kind]
            if len(pairs) < 2 * number:
                wrong = Grounded(f"{item.id}#{one.kind}", item.document, one.text, item.history, 0, one.kind)
                pairs += [item, wrong]
    return made


def _read(path: Path) -> list[Grounded]:
    return [item for item in grounded.read(str(path)) if item.label is not None]


def _claims(path: Path, supported: Iterable[str]) -> list[Grounded]:
    """Claims with their evidence, a text or a list of sentences."""
    return [
        Grounded(
            f"{path.stem}-{number}",
            _text(row["evidence"]),
            row["claim"],
            (),
            int(row["label"] in supported),
            row["label"],
        )
        for number, row in enumerate(_rows(path))
    ]


def _text(evidence: str | list[str]) -> str:
    return evidence if isinstance(evidence, str) else "\n\n".join(evidence)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    yield from map(json.loads, (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines())


def _drawn(items: list[Grounded], number: int, purpose: str) -> list[Grounded]:
    return random.Random(f"{SEED} {purpose}").sample(items, min(number, len(items)))  # noqa: S311


if __name__ == "__main__":
    main()
