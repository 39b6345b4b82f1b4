"""The verdict that comes with troth: a threshold of `faith`, fitted on six labelled sets and tried on eight others.

    python -m experiments.verdict --cache answers.sqlite --out src/troth/grounding/data/calibration.json

Of the unfaithful responses of the six sets at least 80 % are flagged, at the best precision that allows. The sets are
those of `experiments.faith`, which chose the weights; `--nli` names another entailment model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.common import arguments, publish, table
from experiments.faith import EACH, sets
from troth.core.records import Grounded
from troth.grounding.calibration import Calibration
from troth.grounding.metrics import Models, Unscored, grade, make_graders
from troth.meta.labels.evaluate import fit

FITTED = ("begin-wow", "audit", "wice", "attribution", "vitaminc", "halueval-qa")
RECALL = 0.8


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--cache", default="", help="file of the model's answers; the usual one without")
    parser.add_argument("--nli", default="embedded", help="entailment model")
    parser.add_argument("--out", type=Path, help="the calibration; it is replaced")
    parser.add_argument("--each", type=int, default=EACH, help="responses of a set")
    options = parser.parse_args()
    work = options.work / "verdict"
    work.mkdir(parents=True, exist_ok=True)
    labelled = sets(options.shared, options.each)
    data = work / "six-sets.jsonl"
    items = [(f"{name}-{number}", item) for name in FITTED for number, item in enumerate(labelled[name])]
    data.write_text("".join(_line(id, item) for id, item in items), encoding="utf-8")  # ids of sets repeat
    out = options.out or work / "calibration.json"
    out.unlink(missing_ok=True)
    models = {"nli": options.nli, "cache": options.cache}
    fitted = fit(data, metrics="faith", recall=RECALL, out=out, **models)
    (grader,) = make_graders("faith", Models(**models))
    rows = []
    for name in (*FITTED, *(name for name in labelled if name not in FITTED)):
        values = [None if isinstance(value, Unscored) else value for value in grade(grader, labelled[name])]
        rows.append([name, *flagged(fitted, values, [item.label or 0 for item in labelled[name]])])
    head = ["set", "unfaithful", "recall", "precision", "faithful ones flagged"]
    (metric,) = fitted.metrics
    threshold = metric.low + metric.threshold * (metric.high - metric.low)
    publish(options.work, "verdict", f"faith below {threshold:.3f} is flagged; {metric.at}\n\n{table(head, rows)}")


def flagged(fitted: Calibration, values: Sequence[float | None], labels: Sequence[int]) -> list[str]:
    """What the threshold does on a set: share of the unfaithful, recall, precision, false alarms."""
    known = [(value, label) for value, label in zip(values, labels, strict=True) if value is not None]
    scores, truth = np.array([value for value, _ in known]), np.array([bool(label) for _, label in known])
    unfaithful = ~fitted.metrics[0].faithful(scores)
    wrong, right = unfaithful[~truth], unfaithful[truth]
    hits, alarms = int(wrong.sum()), int(right.sum())
    return [
        f"{100 * len(wrong) / len(known):.0f} %",
        f"{hits / len(wrong):.2f}",
        f"{hits / (hits + alarms):.2f}",
        f"{100 * alarms / len(right):.0f} %",
    ]


def _line(id: str, item: Grounded) -> str:
    row = {"id": id, "document": item.document, "response": item.response, "history": item.history}
    return json.dumps(row | {"label": item.label}) + "\n"


if __name__ == "__main__":
    main()
