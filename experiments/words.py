"""Which words of a claim are not supported: WiCE's labels of words against troth's doubt, coverage and PMI-Faith.

    python -m experiments.words [--split dev] [--lm embedded]

`doubt` is what the product marks words by: rules, and the entailment model's second head where `faith` was asked. A
second table says what marking costs and finds, with the model and by rules alone: the share of words marked in
supported answers, and how often a changed word of a corrupted answer is marked (sets of `experiments.faith`).

PMI-Faith reads the two windows that `doubt` reads, since most documents are longer than the language model can read. A
word's score is the logarithm of how many times likelier the document makes it; where the document says nothing about a
word, that is near 0. The threshold of F1 is chosen on half of the claims and used on the other, and the other way
round.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.common import arguments, publish, table
from experiments.faith import corrupted
from experiments.faith import sets as faith_sets
from troth import models, stats
from troth.core.records import Grounded
from troth.grounding import doubts
from troth.grounding.evidence import passages
from troth.grounding.faith import make_faith
from troth.grounding.pmi import measure
from troth.grounding.words import measure_words
from troth.models import Lm, Nli
from troth.storage.explorer import ClaimSupport
from troth.text.words import stem_words

SUPPORTED = ("wice", "begin-wow", "qa_feedback", "vitaminc")
CHANGED = ("name", "number", "date", "negation", "relation", "addition")
NO_MODEL: tuple[tuple[ClaimSupport, ...], ...] = ((),) * 1000  # more than any set has


class Claim(NamedTuple):
    """A claim by words, with the document and what people say of each word: 1 for not supported."""

    words: list[str]
    document: str
    labels: list[int]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--split", default="dev", choices=("train", "dev"))
    parser.add_argument("--lm", default="embedded", help="language model of PMI-Faith")
    parser.add_argument("--cache", help="file of the model's answers")
    options = parser.parse_args()
    claims = list(read_claims(options.shared / f"data/wice/tokens_{options.split}.jsonl"))
    nli, lm = models.nli("embedded", cache=options.cache), models.lm(options.lm, cache=options.cache)
    learnt = learnt_doubts([Grounded("", claim.document, claim.text) for claim in claims], nli)
    columns = {
        "`doubt`": [
            [word.doubt for word in doubts.doubted_words(claim.document, claim.text, supports)]
            for claim, supports in zip(claims, learnt, strict=True)
        ],
        "rules alone": [[word.doubt for word in doubts.doubted_words(claim.document, claim.text)] for claim in claims],
        "the model alone": [[doubt for support in supports for doubt in support.doubts] for supports in learnt],
        "not in the document (`coverage`)": [absent(claim) for claim in claims],
        "PMI-Faith's words": [[-ratio for ratio in row] for row in ratios(claims, lm)],
        "always “not supported”": [[1.0] * len(claim.words) for claim in claims],
    }
    rows = [[name, *rate_words(values, claims)] for name, values in columns.items()]
    text = table(["words that are not supported", "AUROC", "F1"], rows)
    publish(options.work, f"words-{options.split}", f"{text}\n{table(*marking(options.shared, nli))}")


def marking(shared: Path, nli: Nli) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the second table."""
    rows = []
    every, broken = faith_sets(shared, 300), corrupted(faith_sets(shared, 700), 80)
    for name in SUPPORTED:
        items = [item for item in every[name] if item.label]
        supports = learnt_doubts(items, nli)
        rows.append([f"supported answers: {name}", *(marked_share(items, claims) for claims in (supports, NO_MODEL))])
    for kind in CHANGED:
        supports = learnt_doubts(broken[kind][1::2], nli)
        rows.append([f"changed: {kind}", *(found_share(broken[kind], claims) for claims in (supports, NO_MODEL))])
    return ["marked", "with the model", "rules alone"], rows


def read_claims(path: Path) -> Iterator[Claim]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        words = ["_".join(word.split()) or "_" for word in row["claim_tokens"]]  # white space is between words alone
        yield Claim(words, "\n\n".join(row["evidence"]), [int(label) for label in row["non_supported_spans"]])


def learnt_doubts(items: Sequence[Grounded], nli: Nli) -> list[tuple[ClaimSupport, ...]]:
    """The claims that `faith` finds in each answer, with the doubt of their words."""
    faith = make_faith(nli)
    faith.score(items)
    return [faith.claims(item) for item in items]


def marked_share(items: Sequence[Grounded], claims: Iterable[tuple[ClaimSupport, ...]]) -> str:
    """The share of words that are marked."""
    marked = [
        word.unsupported
        for item, supports in zip(items, claims, strict=False)
        for word in doubts.doubted_words(item.document, item.response, supports)
    ]
    return f"{100 * sum(marked) / len(marked):.1f} % of {len(marked)}"


def found_share(pairs: Sequence[Grounded], claims: Iterable[tuple[ClaimSupport, ...]]) -> str:
    """The share of corrupted answers in which a changed word is marked; each follows the answer it was made from."""
    right, wrong = pairs[::2], pairs[1::2]
    caught = 0
    for before, after, supports in zip(right, wrong, claims, strict=False):
        known = set(before.response.split())
        words = doubts.doubted_words(after.document, after.response, supports)
        marked = {word.text for word in words if word.unsupported}
        changed = {word for word in after.response.split() if word not in known} or set(after.response.split())
        caught += bool(marked & changed)
    return f"{100 * caught / len(wrong):.0f} % of {len(wrong)}"


def absent(claim: Claim) -> list[float]:
    known = passages(claim.document)
    return [float(any(part not in known for part in stem_words(word))) for word in claim.words]


def ratios(claims: Sequence[Claim], lm: Lm) -> list[list[float]]:
    items = []
    for number, claim in enumerate(claims):
        best = passages(claim.document).best(claim.text, doubts.WINDOW, doubts.WINDOWS)
        items.append(Grounded(str(number), "\n".join(window.text for window in best), claim.text))
    return [
        [word.ratio or 0.0 for word in measure_words(claim.text, faith)]
        for claim, faith in zip(claims, measure(items, lm), strict=True)
    ]


def rate_words(values: Sequence[Sequence[float]], claims: Sequence[Claim]) -> list[str]:
    flat = [(value, label) for row, claim in zip(values, claims, strict=True) for value, label in
            zip(row, claim.labels, strict=True)]  # fmt: skip
    area = stats.auroc([value for value, _ in flat], [label for _, label in flat])
    assert area is not None
    halves = [
        [pair for row, claim in zip(values[i::2], claims[i::2], strict=True) for pair in
         zip(row, claim.labels, strict=True)] for i in (0, 1)
    ]  # fmt: skip
    right = marked = wanted = 0
    for dev, test in (halves, halves[::-1]):
        at = max(sorted({value for value, _ in dev}), key=lambda t: f1(dev, t))
        labels = [label for value, label in test if value >= at]
        right, marked = right + sum(labels), marked + len(labels)
        wanted += sum(label for _, label in test)
    return [f"{area:.3f}", f"{2 * right / (marked + wanted):.3f}"]


def f1(pairs: Sequence[tuple[float, int]], at: float) -> float:
    labels = [label for value, label in pairs if value >= at]
    return 2 * sum(labels) / (len(labels) + sum(label for _, label in pairs))


if __name__ == "__main__":
    main()
