"""PrefineDST: a generative tracker with and without a first phase on other tasks, at the same budget.

    python -m experiments.prefine

Claim of the paper (section 4.4, tables 2, 3 and 5): PrefineDST has a higher JGA than BART-DST, and comparable or better
results in all CheckDST metrics. Here: SmolLM2, 5 % of SGD's dialogues, and four of its eight tasks (MRPC, WNLI, SQuAD,
WikiSQL). The tracker without the first phase is the one of `experiments.checkdst`.
"""

from __future__ import annotations

from experiments.checkdst import few_shot, generative, settings
from experiments.common import publish

TASKS = {
    "mrpc": "mrpc_train.txt",
    "wnli": "wnli_train.tsv",
    "squad": "squad_dev_v2.0.json",
    "wikisql": "wikisql_dev.jsonl",
}


def main() -> None:
    parser = few_shot(__doc__ or "")
    parser.add_argument("--first-steps", type=int, default=300, help="of the first phase")
    parser.add_argument("--recipes", default="simpletod,prefinedst")
    options = parser.parse_args()
    tasks = options.shared / "data/prefinetune"
    first = {
        "first": [f"{name}={tasks / file}" for name, file in TASKS.items()],
        "first_fit": settings(options.first_steps, 8, 2e-4, options.first_steps // 3),
    }
    for name in options.recipes.split(","):
        text = generative(name, options, **(first if name == "prefinedst" else {}))
        publish(options.work, f"prefine-{name}", text)


if __name__ == "__main__":
    main()
