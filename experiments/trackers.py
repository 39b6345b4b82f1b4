"""The figures on the card of the bundled trackers: SGD test under all stresses, and MultiWOZ test.

    python -m experiments.trackers

The same dialogues for all sets. CheckDST's measures and the wordings of SGD-X are defined in docs/metrics.md. The set
`acts` has paraphrases from the user's acts, which replace twice as many words as those of PI.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import troth
from experiments.common import arguments, cell, publish, retell, table
from troth.core.score import Score
from troth.systems.track import TrackedSet, track

TRACKERS = ("troth-track", "troth-track-robust")
TWINS = ("NED", "SDI", "PI")
WORDINGS = "v1..v5"
GROUPS = ("all", "seen", "unseen")
Scores = dict[tuple[str, str], Score]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("trackers", nargs="*", default=TRACKERS, metavar="TRACKER")
    parser.add_argument("--dialogues", type=int, default=600, help="of SGD test")
    parser.add_argument("--multiwoz", type=int, default=400, help="dialogues of MultiWOZ test")
    options = parser.parse_args()
    sgd, work = options.shared / "data/sgd", options.work / "trackers"
    by_tracker: list[Scores] = []
    for name in options.trackers:
        out = work / Path(name).name
        by_tracker.append(on_sgd(name, sgd, out, options.dialogues))
        by_tracker[-1] |= on_multiwoz(name, options.shared / "data/multiwoz/test.json.zip", out, options.multiwoz)
    rows = [[*key, *(cell(scores.get(key)) for scores in by_tracker)] for key in by_tracker[0]]
    publish(options.work, "trackers", table(["metric", "group", *(Path(name).name for name in options.trackers)], rows))


def on_sgd(tracker: str, sgd: Path, out: Path, dialogues: int) -> Scores:
    sets = ",".join(("orig", *TWINS, WORDINGS))
    done = track(tracker, sgd / "test", out / "sgd", sets=sets, schemas=sgd / "sgd_x/data", limit=dialogues)
    by_name = {tracked.name: tracked for tracked in done}
    original, training = by_name["orig"], sgd / "train/schema.json"
    twins = retell(original.gold, out / "acts-data")
    (by_name["acts"],) = track(tracker, sgd / "test", out / "acts", sets=f"acts={twins}")
    scores = troth.dst(
        original.gold, original.predictions, profile="sgd", train_schema=training,
        metrics="jga,slot_f1,intent_accuracy,requested_f1",
    ).scores  # fmt: skip
    selected = select_scores(scores, GROUPS)
    variants = {name: tracked.predictions for name, tracked in by_name.items() if name.startswith("v")}
    worded = troth.sgdx(
        original.gold, variants | {"orig": original.predictions}, metrics="jga", by="seen", train_schema=training,
        schemas=out / "sgd/data",
    )  # fmt: skip
    selected |= {
        key: score for key, score in select_scores(worded.scores, GROUPS).items() if not key[0].startswith("jga_orig")
    }
    return selected | consistency(original, {name: by_name[name] for name in (*TWINS, "acts")})


def consistency(original: TrackedSet, twins: dict[str, TrackedSet]) -> Scores:
    pairs = {name: (twin.gold, twin.predictions) for name, twin in twins.items()}
    result = troth.checkdst((original.gold, original.predictions), pairs, profile="sgd", coref="patterns")
    scores = select_scores(result.scores, ("all",))
    return {key: score for key, score in scores.items() if key[0] != "jga"}  # of whole frames; `on_sgd` has the other


def on_multiwoz(tracker: str, data: Path, out: Path, dialogues: int) -> Scores:
    (done,) = track(tracker, data, out / "multiwoz", limit=dialogues)
    scores = troth.dst(done.gold, done.predictions, profile="trade", metrics="jga,slot_f1").scores
    return {(f"{metric}, MultiWOZ", group): score for (metric, group), score in select_scores(scores, ("all",)).items()}


def select_scores(scores: Sequence[Score], groups: Sequence[str]) -> Scores:
    return {(score.metric, score.group): score for score in scores if score.group in groups}


if __name__ == "__main__":
    main()
