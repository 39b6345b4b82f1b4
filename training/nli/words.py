"""Which words of a claim are not supported: labels for the second head, found in the mixture itself.

    python -m training.nli.words --shared DIR --mixture mixture.jsonl --out marked.jsonl

Many wrong claims of the mixture stand beside a right one about the same premise that differs from it in a few words:
corruptions by rules, hallucinated answers beside true ones, tables. The words that differ are the ones that are not
supported, and all words of the right one are. WiCE's training claims have labels by people. A row whose words are
known gets `words`: the character positions of those that are not supported, empty where all are.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

SOURCES = frozenset(
    ("rule", "swap", "halueval-dialogue", "halueval-qa", "tabfact", "infotabs", "cad", "breaking", "binding")
)
ALIKE = 0.6  # of the words, at least, are those of the right claim
COMPARED = 20  # right claims about a premise, at most

Row = dict[str, Any]
Span = tuple[int, int]


def source_of(row: Row) -> str:
    return str(row["from"]).split(":")[0]


def differing(right: str, wrong: str) -> tuple[float, list[Span]]:
    """How alike both are, and the positions of the words that only the wrong one has."""
    words = list(re.finditer(r"\S+", wrong))
    matcher = SequenceMatcher(None, right.split(), [word.group() for word in words], autojunk=False)
    spans = [words[i].span() for _, _, _, first, last in _changes(matcher) for i in range(first, last)]
    return matcher.ratio(), spans


def _changes(matcher: Any) -> list[tuple[str, int, int, int, int]]:
    return [change for change in matcher.get_opcodes() if change[0] != "equal"]


def mark_pairs(rows: Iterable[Row]) -> None:
    """Marks wrong claims by the right claim most like them, and right claims as free of unsupported words."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if source_of(row) in SOURCES:
            groups[row["premise"]].append(row)
    for group in groups.values():
        right = list(dict.fromkeys(row["hypothesis"] for row in group if row["label"] == "entailment"))[:COMPARED]
        for row in group:
            if row["label"] == "entailment":
                row["words"] = []
            elif right:
                alike, spans = max(differing(one, row["hypothesis"]) for one in right)
                if alike >= ALIKE and spans:
                    row["words"] = spans


def labelled_words(tokens: Sequence[str], labels: Sequence[bool], text: str) -> list[Span] | None:
    """Positions in the text of the tokens that people call unsupported; None where a token is not found."""
    spans, at = [], 0
    for token, unsupported in zip(tokens, labels, strict=True):
        start = text.find(token.strip(), at)
        if start < 0:
            return None
        at = start + len(token.strip())
        if unsupported:
            spans.append((start, at))
    return spans


def mark_wice(rows: Iterable[Row], path: Path) -> None:
    by_claim = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_claim[row["claim"]] = labelled_words(row["claim_tokens"], row["non_supported_spans"], row["claim"])
    for row in rows:
        spans = by_claim.get(row["hypothesis"]) if source_of(row) == "wice" else None
        if spans is not None and row["label"] != "entailment":
            row["words"] = spans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder with data/wice")
    parser.add_argument("--mixture", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.mixture.read_text(encoding="utf-8").splitlines()]
    mark_pairs(rows)
    mark_wice(rows, options.shared / "data/wice/tokens_train.jsonl")
    with options.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    counts = Counter((source_of(row), "wrong" if row["words"] else "right") for row in rows if "words" in row)
    for (source, kind), count in sorted(counts.items()):
        print(source, kind, count)


if __name__ == "__main__":
    main()
