"""Processor time of the metrics of grounded responses, from the bundled documents, on one thread.

`OMP_NUM_THREADS=1 python -m benchmarks.costs`: processor time hardly depends on what else the machine does.
"""

from __future__ import annotations

import time

from benchmarks import timing
from troth import demo
from troth.grounding.metrics import Models, grade, graders
from troth.models.backends import uncached_lm, uncached_nli
from troth.readers import grounded

METRICS = "u_f1,coverage,nli,faith,pmi_faith"


def main() -> None:
    items = [one for _, found in grounded.batches(demo.path("documents/careful.jsonl")) for one in found]
    opened = Models(nli=uncached_nli("embedded"), lm=uncached_lm("embedded"), cache=None)
    rows = []
    for grader in graders(METRICS, opened):
        grade(grader, items[:1])  # loads its models
        begin = time.process_time()
        grade(grader, items[1:])
        each = (time.process_time() - begin) / len(items[1:])
        rows.append(
            (grader.metric.name, f"{1000 * each:.2f} ms a response, {each * 1e6 / 3600:.2f} core-hours for a million")
        )
    timing.show("processor time of metrics of grounded responses, one thread", rows)


if __name__ == "__main__":
    main()
