"""SGD-X, tables 2 and 3, figure 4: JGA under other wordings of the schema, and after training on variants.

    python -m experiments.sgdx

Each condition trains a tracker further that has learned SGD's own schemas, for the same few steps. That tracker is
trained first, unless one is named: `--start .tracker/troth-track/best-jga`, after `make tracker`.

Claims of the paper: JGA falls under the variants, and tends to fall more from v1 to v5 (section 4.1, table 2, figure
4); SGP-DST loses more on seen services than on unseen ones (table 2: -24.3 % against -14.3 %), T5DST about equally
(-11.6 % against -12.0 %); training on variants that people wrote (oracle) helps more than back-translation, which helps
more than nothing (section 4.2, table 3); random corruption does not help (section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

import torch

import troth
from experiments.common import arguments, cell, publish, sgd, table
from troth.core.score import Score
from troth.stats import quantiles

AUGMENT = {"none": None, "back-translation": "backtranslate", "corruption": "corrupt", "oracle": "oracle"}
VARIANTS, EACH = "v1..v5", ("v1", "v2", "v3", "v4", "v5")
COLUMNS = [(metric, group) for metric in ("jga_orig", "jga_v1-5", "ss_jga") for group in ("all", "seen", "unseen")]
Scores = dict[tuple[str, str], Score]
FIT = {"batch": 32, "rate": 2.5e-4, "bfloat16": True, "save_every": 50}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--steps", type=int, default=300, help="of each training")
    parser.add_argument("--start", type=Path, help="a tracker that is trained further; default: one is trained first")
    parser.add_argument("--shots", default="25%", help="of the training dialogues")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--conditions", nargs="*", default=list(AUGMENT), choices=AUGMENT, help="default: all")
    parser.add_argument("--dialogues", type=int, default=500, help="of the test set")
    options = parser.parse_args()
    data, work = options.shared / "data/sgd", options.work / "sgdx"
    train = sgd(options.shared, options.work)
    start = options.start or work / "start"
    if options.start is None:
        troth.train_tracker(train, start, recipe="span", fit={**FIT, "rate": 5e-4, "steps": 2000})
        start = start / "last"
    rows, details = [], []
    runs: dict[str, list[Scores]] = {name: [] for name in options.conditions}
    wordings = data / "sgd_x/data"
    for seed in options.seeds:
        for name in options.conditions:
            augment = AUGMENT[name]
            folder = work / f"{name}-{seed}"
            troth.train_tracker(
                train, folder, recipe="span", augment=augment, schemas=wordings if augment == "oracle" else None,
                model=start, shots=options.shots, seeds=[seed], fit={**FIT, "steps": options.steps},
            )  # fmt: skip
            scores = score_tracker(folder, data, options.dialogues)
            rows.append([name, str(seed), *main_cells(scores)])
            details.append([name, str(seed), *(cell(scores.get((f"jga:{variant}", "all"))) for variant in EACH)])
            runs[name].append(scores)
            publish(options.work, "sgdx", _tables(rows, details) + "\n" + over_seeds(runs))


def score_tracker(folder: Path, data: Path, dialogues: int) -> Scores:
    """The scores of a tracker on the test set and its five variants, by metric and group."""
    sets, wordings = f"orig,{VARIANTS}", data / "sgd_x/data"
    with torch.autocast("cpu", torch.bfloat16):
        done = troth.track(folder, data / "test", folder / "test", sets=sets, schemas=wordings, limit=dialogues)
    paths = {tracked.name: tracked.predictions for tracked in done}
    result = troth.sgdx(done[0].gold, paths, metrics="jga", by="seen", train_schema=data / "train/schema.json",
                        schemas=folder / "test/data")  # fmt: skip
    return {(score.metric, score.group): score for score in result.scores}


def main_cells(scores: Scores) -> list[str]:
    return [cell(scores.get(column)) for column in COLUMNS]


def over_seeds(runs_by_name: dict[str, list[Scores]]) -> str:
    """The mean of each condition over the seeds, and its difference from the first one, with t intervals over seeds.

    Runs of the same seed learn from the same dialogues, so differences are paired by seed.
    """
    first, *_ = runs_by_name
    values = {
        name: [[_points(scores, column) for column in COLUMNS] for scores in runs]
        for name, runs in runs_by_name.items()
    }
    rows = [[name, *map(_mean, zip(*runs, strict=True))] for name, runs in values.items() if runs]
    for name, runs in values.items():
        if name != first and runs:
            pairs = zip(runs, values[first], strict=False)
            differences = [[one - other for one, other in zip(*pair, strict=True)] for pair in pairs]
            rows.append([f"{name} − {first}", *map(_mean, zip(*differences, strict=True))])
    return table(["mean over seeds", *_heads()], rows)


def _points(scores: Scores, column: tuple[str, str]) -> float:
    score = scores.get(column)
    return 100 * score.value if score is not None and score.value is not None else float("nan")


def _mean(values: Sequence[float]) -> str:
    middle = fmean(values)
    if len(values) < 2:
        return f"{middle:.1f}"
    half = quantiles.t(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return f"{middle:.1f} ({middle - half:.1f} … {middle + half:.1f})"


def _heads() -> list[str]:
    return [f"{name}, {group}" for name in ("JGA", "JGA v1–5", "SS") for group in ("all", "seen", "unseen")]


def _tables(rows: list[list[str]], details: list[list[str]]) -> str:
    return table(["trained on", "seed", *_heads()], rows) + "\n" + table(["trained on", "seed", *EACH], details)


if __name__ == "__main__":
    main()
