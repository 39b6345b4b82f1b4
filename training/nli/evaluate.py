"""How good an entailment model is on sentences and on SGD's acts: figures of its card. Documents: `experiments.faith`.

    python -m training.nli.evaluate --shared DIR --split dev --out figures.md [--model DIR] [--turns 2000]

Choices are made on dev. Test is for the figures that are published, and is touched once.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.nli.data import KEPT_OUT, VARIANTS
from troth import readers
from troth.core.result import Result
from troth.core.score import Score
from troth.meta.trials.wording import wording
from troth.models import Nli
from troth.models.backends import uncached_nli
from troth.models.cached import CachedNli
from troth.models.embedded import FOLDER, EmbeddedNli
from troth.responses.tamper import KINDS
from troth.storage.cache import Store

JUDGES = ("plain", "retry", "gated", "rule")
WORDINGS = ("original", *VARIANTS)


def accuracy(nli: Nli, lines: Sequence[str]) -> float:
    rows = [json.loads(line) for line in lines]
    verdicts = nli.probabilities([(row["premise"], row["hypothesis"]) for row in rows])
    named = [verdict._fields[max(range(3), key=verdict.__getitem__)] for verdict in verdicts]
    right = [bool(name == row["label"]) for name, row in zip(named, rows, strict=True)]
    return sum(right) / len(right)


def public(nli: Nli, folder: Path) -> dict[str, float]:
    """Accuracy on the lines of MultiNLI and SNLI that were kept out, and on ANLI's first round."""
    accuracies = {}
    for name in ("mnli", "snli"):
        lines = (folder / f"{name}_dev.jsonl").read_text(encoding="utf-8").splitlines()
        accuracies[f"{name} kept out"] = accuracy(nli, lines[-KEPT_OUT:])
    with gzip.open(folder / "dev_pairs.jsonl.gz", "rt", encoding="utf-8") as file:
        accuracies["anli, first round"] = accuracy(nli, [line for line in file if '"anli_r1_dev"' in line])
    return accuracies


def open_nli(name: str, cache: str | None) -> CachedNli:
    """The model in a folder that `export` wrote, or any that `--nli` takes."""
    own = (Path(name) / "model.onnx").is_file()
    return CachedNli(EmbeddedNli(Path(name)) if own else uncached_nli(name), Store.at(cache))


def sgd(nli: Nli, data: Path, split: str, turns: int, variants: Sequence[str]) -> Result:
    folders = {name: data / "sgd/sgd_x/data" / name / split for name in variants}
    return wording(
        data / "sgd" / split,
        nli=nli,
        variants={name: readers.schema(str(folder / "schema.json")) for name, folder in folders.items()},
        turns=turns,
        train_schema=data / "sgd/train/schema.json",
    )


def tables(result: Result) -> Iterator[str]:
    """Headline by wording and judge; then by sort of value, for the original schema and for v5."""
    scores = {(score.system, score.metric, str(score.group)): score for score in result.scores}

    def cell(system: str, metric: str, group: str) -> str:
        score: Score | None = scores.get((system, metric, group))
        return "–" if score is None or score.value is None else f"{score.value:.3f}"

    for group in ("all", "seen", "unseen"):
        yield f"\nF1 of true against tampered acts, {group} services\n"
        yield "| schema | " + " | ".join(JUDGES) + " |"
        yield "|---" * (len(JUDGES) + 1) + "|"
        for words in WORDINGS:
            yield f"| {words} | " + " | ".join(cell(f"{words}/{judge}", "f1", group) for judge in JUDGES) + " |"
    for side in ("", "unseen/"):
        for words in ("original", "v5"):
            yield f"\nBy sort of value, {words}, {'unseen' if side else 'all'} services: F1 (false accepts)\n"
            yield "| sort | n | " + " | ".join(JUDGES) + " |"
            yield "|---" * (len(JUDGES) + 2) + "|"
            for kind in KINDS:
                group = f"{side}kind:{kind}"
                any_score = scores.get((f"{words}/retry", "f1", group))
                systems = [f"{words}/{judge}" for judge in JUDGES]
                row = [f"{cell(system, 'f1', group)} ({cell(system, 'false_accepts', group)})" for system in systems]
                yield f"| {kind} | {any_score.n if any_score else 0} | " + " | ".join(row) + " |"
    yield "\n| schema | precision | recall | valid acts | valid turns |\n|---|---|---|---|---|"
    for words in WORDINGS:
        for judge in ("plain", "retry", "gated"):
            names = ("precision", "recall", "valid_acts", "valid_turns")
            row = [cell(f"{words}/{judge}", name, "all") for name in names]
            yield f"| {words}, {judge} | " + " | ".join(row) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder with data/nli and data/sgd")
    parser.add_argument("--split", choices=["dev", "test"], default="dev")
    parser.add_argument("--model", default=str(FOLDER), help="a folder that `export` wrote, or a name that --nli takes")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--variants", nargs="*", default=VARIANTS)
    parser.add_argument("--cache", help="a file that caches answers; the same command resumes an interrupted run")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    nli = open_nli(options.model, options.cache)
    lines = [f"{nli.name} on {options.turns} system turns of SGD {options.split}"]
    lines += [f"{name}: {value:.4f}" for name, value in public(nli, options.shared / "data/nli").items()]
    lines += tables(sgd(nli, options.shared / "data", options.split, options.turns, options.variants))
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
