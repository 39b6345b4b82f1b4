"""CheckDST, tables 2 and 5, figures 2 and 3: consistency over training, for a tracker that points and one that writes.

    python -m experiments.checkdst

Claims of the paper: more training raises JGA and lowers consistency; trackers that point at spans are more robust than
generative ones. MultiWOZ's training part is not at hand: both trackers learn SGD.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import troth
from experiments.common import arguments, cell, publish, sgd, table
from troth.systems.runs import curve
from troth.systems.train import gains

SETS = ("NED", "SDI", "PI")
MEASURES = ("jga", *(f"cjga:{name}" for name in SETS), "nohf", "nohf:NED", "coref_jga")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--dialogues", type=int, default=500, help="of the test set, for the tracker that points")
    parser.add_argument("--few", type=int, default=100, help="of the test set, for the one that writes, which is slow")
    parser.add_argument("--trackers", default="span,simpletod")
    parser.add_argument("--steps", type=int, default=600, help="of the tracker that writes")
    options = parser.parse_args()
    data, work = options.shared / "data/sgd", options.work / "checkdst"
    train = sgd(options.shared, options.work)
    writes = settings(options.steps, 8, 2e-4, options.steps // 4)
    trackers: dict[str, tuple[int, dict[str, Any]]] = {
        "span": (
            options.dialogues,
            {"recipe": "span", "dev_limit": 60, "fit": settings(1500, 32, 5e-4, 250) | {"bfloat16": True}},
        ),
        "simpletod": (options.few, {"recipe": "simpletod", "shots": "5%", "dev_limit": 15, "fit": writes}),
    }
    for name in options.trackers.split(","):
        count, how = trackers[name]
        folder = work / name
        troth.train_tracker(train, folder, dev=data / "dev", sets=SETS, **how)
        text = [f"\n`{name}`, while it learns (dev)\n\n{over_training(folder)}"]
        kept = ("best-jga", "least-slack")
        text += [f"\n`{name}`, {one} (test)\n\n{final(folder / one, data, count)}" for one in kept]
        publish(options.work, f"checkdst-{name}", "".join(text))


def settings(steps: int, batch: int, rate: float, every: int) -> dict[str, Any]:
    return {"steps": steps, "batch": batch, "rate": rate, "evaluate_every": every, "save_every": 50,
            "bfloat16": True}  # fmt: skip


def over_training(folder: Path) -> str:
    """The measures at each evaluation (figure 2), and what the best checkpoint has over the first (figure 3)."""
    points = [point for point in curve(folder) if "jga" in point]
    rows = [_row(str(int(point["step"])), point) for point in points]
    return table(["step", *MEASURES], [*rows, _row("best over first", gains(folder))])


def _row(name: str, values: dict[str, float]) -> Sequence[str]:
    return [name, *(f"{100 * values[one]:.1f}" if one in values else "–" for one in MEASURES)]


def final(model: Path, data: Path, count: int) -> str:
    """CheckDST's columns on the test set."""
    done = troth.track(model, data / "test", model / "test", sets=["orig", *SETS], limit=count)
    original, *twins = done
    result = troth.checkdst(
        (original.gold, original.predictions), {one.name: (one.gold, one.predictions) for one in twins},
        profile="sgd", coref="patterns",
    )  # fmt: skip
    scores = {score.metric: score for score in result.scores if score.group == "all"}
    return table(list(MEASURES), [[cell(scores.get(one)) for one in MEASURES]])


if __name__ == "__main__":
    main()
