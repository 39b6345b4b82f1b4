"""History matters: PMI-Faith, which reads the history, against UPMI-Faith, which does not, on all labelled sets.

    python -m experiments.history

Claim of the paper (section 5.2): conditioning on the history raises agreement with people. Sets: BEGIN (three sources)
and the audited gold responses of WoW, CMU-DoG and Topical-Chat (`faithdial_audit`), which are a benchmark of their own.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from experiments.common import arguments, cell, publish, table
from troth.core.randomness import generator
from troth.meta.labels.evaluate import evaluate
from troth.readers import grounded

METRICS = ("pmi_faith", "upmi_faith", "nli", "coverage", "blend")
MEASURES = ("auroc", "spearman")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--limit", type=int, default=0, help="responses of each set; 0: all")
    parser.add_argument("--metrics", default=",".join(METRICS))
    options = parser.parse_args()
    rows: list[list[str]] = []
    for name, path in sets(options.shared / "data").items():
        result = evaluate(draw_sample(path, options.work / "history", options.limit), metrics=options.metrics)
        scores = {score.metric: score for score in result.scores if score.group == "all"}
        for metric in options.metrics.split(","):
            measured = [scores.get(f"{measure}:{metric}") for measure in MEASURES]
            count = str(measured[0].n) if measured[0] is not None else "–"
            rows.append([name, metric, *(cell(score, percent=False, digits=3) for score in measured), count])
        publish(options.work, "history", table(["set", "metric", *MEASURES, "n"], rows))


def draw_sample(path: Path, work: Path, limit: int) -> Path:
    """A random sample of the responses of a set, in our own layout; the file itself for 0."""
    if not limit:
        return path
    items = [item for item in grounded.read(str(path)) if item.label is not None]
    sample = sorted(items, key=lambda item: generator(0, "history", item.id).random())[:limit]
    work.mkdir(parents=True, exist_ok=True)
    out = work / f"{path.stem}-{limit}.jsonl"
    out.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in sample))
    return out


def sets(data: Path) -> dict[str, Path]:
    begin = {path.stem.replace("_", " "): path for path in sorted((data / "begin").glob("*/begin_*.tsv"))}
    return {f"audit, {path.stem}": path for path in sorted((data / "faithdial_audit").glob("*.csv"))} | begin


if __name__ == "__main__":
    main()
