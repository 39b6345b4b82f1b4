"""CheckDST, tables 2 and 5, figures 2 and 3: consistency over training, for a tracker that points and one that writes.

    python -m experiments.checkdst

Claims of the paper: generative trackers are far more robust than span-based ones of similar JGA (abstract, section 4.1,
table 2); with more training JGA rises and consistency under unknown names falls, while that under paraphrases and
disfluencies is flat (section 4.2, figures 2 and 3). The paper trains on MultiWOZ 2.3; here both trackers learn SGD.
"""

from __future__ import annotations

import argparse
import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import troth
from experiments.common import arguments, cell, publish, retell, sgd, table
from troth.core.result import Result
from troth.systems.runs import curve
from troth.systems.tracker import Tracker, open_tracker
from troth.systems.train import gains

WEIGHTS = "model.safetensors"
SETS = ("NED", "SDI", "PI")
ACTS = "acts"  # paraphrases that replace as many words as CheckDST's; measured on the test set alone
MEASURES = ("jga", *(f"cjga:{name}" for name in SETS), "nohf", "nohf:NED", "coref_jga")


def main() -> None:
    parser = few_shot(__doc__ or "")
    parser.add_argument("--dialogues", type=int, default=500, help="of the test set, for the tracker that points")
    parser.add_argument("--trackers", default="span,simpletod")
    parser.add_argument("--models", type=Path, nargs="*", help="measure these folders of trackers; train nothing")
    options = parser.parse_args()
    if options.models:
        publish(options.work, "checkdst-models", final(options.models, options, options.dialogues))
        return
    for name in options.trackers.split(","):
        text = pointing(options) if name == "span" else generative(name, options)
        publish(options.work, f"checkdst-{name}", text)


def few_shot(what: str) -> argparse.ArgumentParser:
    """Options of a generative tracker."""
    parser = arguments(what)
    parser.add_argument("--few", type=int, default=100, help="dialogues of the test set, for trackers that write")
    parser.add_argument("--steps", type=int, default=600, help="of 8 turns")
    parser.add_argument("--points", type=int, default=4, help="how often it is measured while it learns")
    parser.add_argument("--dev", type=int, default=15, help="dialogues that it is measured on then")
    return parser


def pointing(options: argparse.Namespace) -> str:
    fit = settings(1500, 32, 5e-4, 250)
    return measured(options, "span", options.dialogues, dev_limit=60, fit=fit)


def generative(recipe: str, options: argparse.Namespace, **more: Any) -> str:
    fit = settings(options.steps, 8, 2e-4, options.steps // options.points)
    return measured(options, recipe, options.few, shots="5%", dev_limit=options.dev, fit=fit, **more)


def measured(options: argparse.Namespace, recipe: str, count: int, **how: Any) -> str:
    """A tracker, trained unless it was before: its measures on dev while it learns, and on test."""
    data, folder = options.shared / "data/sgd", options.work / "checkdst" / recipe
    train = sgd(options.shared, options.work)
    troth.train_tracker(train, folder, recipe=recipe, dev=data / "dev", sets=SETS, **how)
    text = [f"\n`{recipe}`, while it learns (dev)\n\n{over_training(folder)}"]
    kept = ["best-jga", "least-slack"]
    if filecmp.cmp(folder / kept[0] / WEIGHTS, folder / kept[1] / WEIGHTS, shallow=False):
        kept = kept[:1]
    text.append(f"\n`{recipe}` (test)\n\n{final([folder / one for one in kept], options, count)}")
    return "".join(text)


def settings(steps: int, batch: int, rate: float, every: int) -> dict[str, Any]:
    return {"steps": steps, "batch": batch, "rate": rate, "evaluate_every": every, "save_every": 50,
            "bfloat16": True}  # fmt: skip


def over_training(folder: Path) -> str:
    """The measures at each evaluation (figure 2), and the best checkpoint minus the first (figure 3)."""
    points = [point for point in curve(folder) if "jga" in point]
    rows = [_row(str(int(point["step"])), point) for point in points]
    return table(["step", *MEASURES], [*rows, _row("best over first", gains(folder))])


def _row(name: str, values: dict[str, float]) -> Sequence[str]:
    return [name, *(f"{100 * values[one]:.1f}" if one in values else "–" for one in MEASURES)]


def final(models: Sequence[Path], options: argparse.Namespace, count: int) -> str:
    """CheckDST's columns on the test set, a row for each model; also under paraphrases from acts."""
    test, twins = options.shared / "data/sgd/test", options.work / "checkdst" / f"{ACTS}-{count}"
    return columns([scored(open_tracker(model), test, count, twins) for model in models], (*MEASURES, f"cjga:{ACTS}"))


def scored(tracker: Tracker, test: Path, count: int | None = None, twins: Path | None = None) -> Result:
    """The scores of a tracker on dialogues and perturbed twins of them; `twins`: a folder for those from acts."""
    model = Path(tracker.name)
    out = model.parent / "test" / model.name
    with torch.autocast("cpu", torch.bfloat16):  # as in training
        done = troth.track(tracker, test, out / "sets", sets=["orig", *SETS], limit=count)
        if twins:
            done += troth.track(tracker, test, out / ACTS, sets=f"{ACTS}={retell(done[0].gold, twins)}")
    original, *others = done
    return troth.checkdst(
        (original.gold, original.predictions), {one.name: (one.gold, one.predictions) for one in others},
        profile="sgd", coref="patterns", name=model.name,
    )  # fmt: skip


def columns(results: Sequence[Result], measures: Sequence[str] = MEASURES) -> str:
    rows = []
    for result in results:
        scores = {score.metric: score for score in result.scores if score.group == "all"}
        rows.append([result.systems[0], *(cell(scores.get(one)) for one in measures)])
    return table(["model", *measures], rows)


if __name__ == "__main__":
    main()
