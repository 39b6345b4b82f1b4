"""PrefineDST: a generative tracker with and without a first phase on other tasks, at the same budget.

    python -m experiments.prefine

Claim of the paper: the first phase makes the tracker more robust. Here: SmolLM2, 5 % of SGD's dialogues, and the tasks
at hand (MRPC, WNLI, SQuAD, WikiSQL).
"""

from __future__ import annotations

from typing import Any

import troth
from experiments.checkdst import SETS, final, settings
from experiments.common import arguments, publish, sgd

TASKS = {
    "mrpc": "mrpc_train.txt",
    "wnli": "wnli_train.tsv",
    "squad": "squad_dev_v2.0.json",
    "wikisql": "wikisql_dev.jsonl",
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--dialogues", type=int, default=100, help="of the test set")
    options = parser.parse_args()
    data, tasks = options.shared / "data/sgd", options.shared / "data/prefinetune"
    train, work = sgd(options.shared, options.work), options.work / "prefine"
    first = [f"{name}={tasks / file}" for name, file in TASKS.items()]
    text = []
    recipes: dict[str, dict[str, Any]] = {
        "simpletod": {},
        "prefinedst": {"first": first, "first_fit": settings(300, 8, 2e-4, 100)},
    }
    for name, how in recipes.items():
        folder = work / name
        troth.train_tracker(
            train, folder, recipe=name, shots="5%", dev=data / "dev", dev_limit=15, sets=SETS,
            fit=settings(600, 8, 2e-4, 150), **how,
        )  # fmt: skip
        text.append(f"\n`{name}` (test)\n\n{final(folder / 'best-jga', data, options.dialogues)}")
        publish(options.work, "prefine", "".join(text))


if __name__ == "__main__":
    main()
