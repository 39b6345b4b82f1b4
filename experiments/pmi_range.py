"""The range of PMI-Faith on BEGIN's dev set, by which the paper normalises (PMI-Faith, appendix B and table 9).

    python -m experiments.pmi_range [--limit 200]

The paper's range, -2.069 to 4.334, is that of its language model; another model has another one. `--limit` takes a
sample, whose range is at most that of all: it can only grow with more responses. The model's answers are cached, so a
run that was stopped continues where it was, and a larger sample computes what is new.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from experiments.common import arguments, publish, table
from troth.core.randomness import generator
from troth.core.records import Grounded
from troth.grounding.metrics import Models, Unscored
from troth.grounding.pmi import PMI_FAITH
from troth.readers import grounded

BATCH = 16  # responses after which the cache is complete


class Range(NamedTuple):
    name: str
    responses: int
    low: float
    high: float


def main() -> None:
    parser = arguments(__doc__ or "")
    add_options(parser)
    options = parser.parse_args()
    ranges = measure_ranges(options)
    rows = [[one.name, str(one.responses), f"{one.low:.3f}", f"{one.high:.3f}"] for one in ranges]
    whole = ranges[-1]
    text = table(["BEGIN dev", "responses", "lowest", "highest"], rows)
    publish(options.work, "pmi_range", f"{text}\ntroth generate sweep … --range {whole.low:.6g},{whole.high:.6g}\n")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=0, help="responses of each source, drawn; 0: all")
    parser.add_argument("--lm", default="embedded", help="the language model that scores")


def measure_ranges(options: argparse.Namespace) -> list[Range]:
    """The lowest and the highest PMI-Faith of each source of BEGIN dev; the last is over all of them."""
    work: Path = options.work / "pmi_range"
    work.mkdir(parents=True, exist_ok=True)
    grader = PMI_FAITH.compute(Models(lm=options.lm, cache=str(work / "cache.db")))
    ranges: list[Range] = []
    values: list[float] = []
    for path in sorted((options.shared / "data/begin").glob("*/begin_dev_*.tsv")):
        items = sample(list(grounded.read(str(path))), options.limit)
        own: list[float] = []
        for start in range(0, len(items), BATCH):
            own += [one for one in grader.score(items[start : start + BATCH]) if not isinstance(one, Unscored)]
        ranges.append(Range(path.stem.removeprefix("begin_dev_"), len(own), min(own), max(own)))
        values += own
    return [*ranges, Range("all", len(values), min(values), max(values))]


def sample(items: list[Grounded], limit: int) -> list[Grounded]:
    """Some responses, drawn by their ids: a larger sample contains the smaller one."""
    order = sorted(items, key=lambda one: generator(0, "range", one.id).random())
    return order[:limit] if limit else order


if __name__ == "__main__":
    main()
